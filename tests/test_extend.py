"""The examples of docs/extend.md and docs/architecture.md in a copy of this repository: each works, and nothing else has to change."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs_pages import CODE_PAGES

ROOT = Path(__file__).resolve().parents[1]
FILES = {
    block.splitlines()[0].removeprefix("# ").strip(): block
    for page in sorted(CODE_PAGES)
    for block in re.findall(
        r"```python\n(# \S+\.py\n.*?)```", (ROOT / "docs" / page).read_text("utf-8"), re.DOTALL
    )
}
"""Path in the repository to text, for every block of Python that starts with its file's name."""
CONTRACTS = (
    "tests/graders/test_contract.py",
    "tests/analysis/diagnostics/test_contract.py",
    "tests/formats/test_bad_input.py",
    "tests/formats/test_losses.py",
    "tests/formats/test_matrix.py",
    "tests/report/plots/test_figures.py",
    "tests/cli/test_cli.py",
    "tests/data/test_extractors.py",
    "tests/data/samples/test_reader_contract.py",
)
"""Tests that run over everything that is registered."""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the repository with the examples' files in it."""
    folder = tmp_path_factory.mktemp("extend") / "repository"
    for name in ("workbench", "tests", "docs"):
        shutil.copytree(
            # With what is compiled: it is as good as the files, whose times are copied, too.
            ROOT / name,
            folder / name,
            ignore=shutil.ignore_patterns("node_modules", "*.pyc.*"),
        )
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, folder / name)
    for name, text in FILES.items():
        assert not (folder / name).exists(), name
        (folder / name).write_text(text, "utf-8")
    return folder


def ran(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )


def test_there_are_seven_examples_of_two_files():
    """A kind, a finding, a figure, a format, a target, an extractor and a reader of files: a file and its test each."""
    assert len(FILES) == 14
    assert sum(name.startswith("tests/") for name in FILES) == 7


def test_the_examples_pass_their_own_tests(copy):
    """Each example does what its test says, from the one file it is."""
    tests = [name for name in FILES if name.startswith("tests/")]
    done = ran(copy, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *tests)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert "7 passed" in done.stdout


def test_the_tests_over_everything_find_the_examples(copy):
    """The contract tests take the new things up by themselves, and pass."""
    only = "mentions or halves or wordlist or offered or first_line or formats_are_listed or (failures and EveryFigure) or (EveryReader and txt)"
    done = ran(copy, "-m", "pytest", "-v", "-n", "0", "-p", "no:cacheprovider", "-k", only, *CONTRACTS)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    passed = [line for line in done.stdout.splitlines() if " PASSED " in line]
    assert all(
        any(name in line for line in passed)
        for name in ("[mentions]", "halves", "wordlist", "first_line", "failures", ".txt")
    )


def test_the_lists_show_the_examples(copy):
    """The command line and the generated pages have them without another edit."""
    code = "from tests.docs_tables import kinds_table; print(kinds_table())"
    assert "| text | `mentions` |" in ran(copy, "-c", code).stdout
    assert "wordlist" in ran(copy, "-m", "workbench", "formats").stdout
