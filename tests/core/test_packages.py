"""What works without the packages of notebooks, and what is said where one is missing."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

from workbench.core.discovery import OPTIONAL, missing, named, needed_packages
from workbench.core.errors import MissingPackageError

ROOT = Path(__file__).resolve().parents[2]
BLOCKED = (
    "plotly",
    "ipywidgets",
    "anywidget",
    "traitlets",
    "IPython",
    "openai",
    "sqlalchemy",
    "rapidfuzz",
    "quickjs",
    "dask",
)
BLOCK = f"""
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {BLOCKED!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
"""


def run(source, folder):
    """What a program without these packages prints."""
    program = BLOCK + textwrap.dedent(source)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A reward and labelled rows."""
    folder = tmp_path_factory.mktemp("light")
    (folder / "reward.py").write_text(
        "def same(completions, answer, **kwargs):\n    return [float(c == a) for c, a in zip(completions, answer)]\n"
    )
    rows = [
        {"id": n, "prompt": f"{n}?", "completion": str(n), "answer": str(n), "label": "good"}
        for n in range(11, 41)
    ]
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def test_a_grader_is_captured_run_diagnosed_probed_and_exported_without_them(folder):
    """Everything that a trainer needs works."""
    source = """
        import workbench as wb
        text = "async def grade(thread):\\n    return float((thread.metadata or {}).get('answer') == thread.completion())\\n"
        grader = wb.FunctionGrader.from_source(text, name="same")
        grader.validate().raise_for_failure()
        report = grader.run("rows.jsonl", labels="label", progress=False)
        print(report.summary.loc["same", "scored"], len(report.findings) > 0, bool(report._repr_html_()))
        print(wb.probe(grader, "rows.jsonl", progress=False).ok)
        report.to_html("report.html")
        wb.save([grader], "graders.json")
        wb.export(grader, "trl_reward.py", "trl")
        print(len(wb.load("graders.json").entries))
    """
    assert run(source, folder).split() == ["30", "True", "True", "True", "1"]


@pytest.mark.parametrize(
    ("expression", "command"),
    [
        (
            "wb.FunctionGrader.from_source('async def grade(thread):\\n    return 1.0\\n').run('rows.jsonl', progress=False).plot()",
            "pip install plotly",
        ),
        ("wb.Workbench('rows.jsonl')", "pip install "),
        ("wb.open_store('sqlite://')", "pip install sqlalchemy"),
        (
            "wb.export(wb.StringCheck(input='{{sample.output_text}}', reference='{{item.answer}}'), 'x.json', 'openai')",
            "openai[aiohttp]",
        ),
    ],
)
def test_what_is_missing_is_named_with_its_command(expression, command, folder):
    """The error has the feature and the command, instead of a module's name alone."""
    source = f"""
        import workbench as wb
        try:
            {expression}
        except wb.errors.MissingPackageError as error:
            print(error)
    """
    assert command in run(source, folder)


@pytest.mark.parametrize(
    "command",
    ["check reward.py rows.jsonl", "probe reward.py --samples rows.jsonl", "doctor", "doctor --json"],
)
def test_commands_work_without_them(command, folder):
    """Exit code 0 or a verdict, never a traceback."""
    source = f"""
        from workbench.cli import main
        print("code", main({command.split()!r}))
    """
    said = run(source, folder)
    assert said.split()[-1] in {"0", "1"}
    if "doctor" in command:
        assert "plotly" in said


def test_other_missing_modules_keep_pythons_error():
    """Only packages of the table are named."""
    error = ModuleNotFoundError("No module named 'zuborek'", name="zuborek")
    assert named(error) is error
    with pytest.raises(ModuleNotFoundError, match="zuborek"), needed_packages():
        raise error


def test_a_submodule_names_its_package():
    """And the error is both ours and Python's."""
    error = named(ModuleNotFoundError("No module named 'plotly.graph_objects'", name="plotly.graph_objects"))
    assert isinstance(error, MissingPackageError)
    assert isinstance(error, ModuleNotFoundError)
    assert named(error) is error


@pytest.mark.parametrize("package", OPTIONAL, ids=lambda package: package.module)
def test_an_extra_exists(package):
    """Each extra that a command names is one of the project."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    hint = missing(package).hint
    assert (
        "[" not in package.install
        or "openai" in hint
        or package.install.partition("[")[2].rstrip("]'") in extras
    )


def test_the_small_list_has_the_versions_of_the_project():
    """`docs/light.txt` names dependencies of the project, or of its extra for serving."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    known = {*project["dependencies"], *project["optional-dependencies"]["serve"]}
    listed = {
        line
        for line in (ROOT / "docs" / "light.txt").read_text("utf-8").splitlines()
        if line and not line.startswith("#")
    }
    assert listed <= known
    assert not any(line.startswith(BLOCKED) for line in listed)
