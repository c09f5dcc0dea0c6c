"""The README is true: its code runs, its commands exist, its files are there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.readme_tables import TABLES, between

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_python_blocks_run(block, tmp_path):
    """A block pasted into a file runs as it stands, without a word on stderr."""
    script = tmp_path / "block.py"
    script.write_text(block, "utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", script.name], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    if "wb.save" in block:
        assert (tmp_path / "graders.json").exists()


def test_links_to_files_resolve():
    """Every relative link leads to a file of the repository."""
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_ci_runs_the_test_command():
    """CI calls the very command the README gives."""
    command = re.findall(r"```console\n(.*pytest.*)\n```", README)[0]
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    assert command.replace("pip install", "pip install -q") in script


def test_commands_exist():
    """Every `workbench ...` subcommand the README names is known to the command line."""
    from workbench.cli import main

    for name in sorted(set(re.findall(r"workbench (demo|lab|run|sandbox|validate|\w+ing)\b", README))):
        with pytest.raises(SystemExit) as stopped:
            main([name, "--help"])
        assert stopped.value.code == 0


@pytest.mark.parametrize("name", TABLES)
def test_generated_tables_are_current(name):
    """The tables of kinds and conversions are what the code gives; `python -m tests.readme_tables` writes them."""
    assert between(README, name).strip() == TABLES[name]().strip()
