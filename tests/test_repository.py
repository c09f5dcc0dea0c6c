"""Files around the package: the source archive has everything, workflows run this repository's commands, versions agree."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

import workbench as wb
from tools import release

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
YAML = sorted([*(ROOT / ".github").rglob("*.yml"), ROOT / "action.yml", ROOT / "CITATION.cff"])
LOCAL = {".gitignore"}
"""Tracked files that a source archive does not need."""


def document(name):
    """A YAML file; `on` is a truth value there, as YAML 1.1 has it."""
    return yaml.safe_load((ROOT / name).read_text("utf-8"))


def test_the_source_archive_has_every_tracked_file():
    """A packager can build the page of the app and run the tests."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    first = {path.partition("/")[0] for path in listed.stdout.split()} - LOCAL - {"pyproject.toml"}
    included = {path.strip("/") for path in SETTINGS["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]}
    assert first - included == set()


@pytest.mark.parametrize("path", YAML, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_settings_file_is_yaml(path):
    """Each of them is a mapping."""
    assert isinstance(yaml.safe_load(path.read_text("utf-8")), dict)


def test_the_citation_has_the_version():
    """The version is that of the package."""
    assert document("CITATION.cff")["version"] == wb.__version__ == SETTINGS["project"]["version"]


def test_the_workflow_runs_the_test_command_on_every_supported_python():
    """The oldest Python is the lowest that the package accepts, and every classified one is tested."""
    jobs = document(".github/workflows/tests.yml")["jobs"]
    pythons = jobs["pythons"]["strategy"]["matrix"]["python"]
    classified = re.findall(r"Python :: (3\.\d+)", "\n".join(SETTINGS["project"]["classifiers"]))
    assert SETTINGS["project"]["requires-python"] == f">={pythons[0]}"
    assert set(classified) <= set(pythons)
    assert any("bash .ci/run" in step.get("run", "") for step in jobs["everything"]["steps"])


def test_the_site_is_built_without_warnings():
    """With the extras that its settings name."""
    (job,) = document(".github/workflows/docs.yml")["jobs"].values()
    commands = [step["run"] for step in job["steps"] if "run" in step]
    assert sum("sphinx -W" in command for command in commands) == 2
    extras = re.search(r"\[[\w,]+\]", commands[0])[0]
    assert extras in (ROOT / "docs" / "conf.py").read_text("utf-8")
    assert extras in (ROOT / ".ci" / "run").read_text("utf-8")


def test_workflows_have_no_permission_by_default():
    """Each job asks for what it needs; a release is built without the right to publish."""
    assert document(".github/workflows/tests.yml")["permissions"] == {"contents": "read"}
    release = document(".github/workflows/release.yml")
    assert release["permissions"] == {}
    assert release["jobs"]["build"]["permissions"] == {"contents": "read"}


def test_a_release_has_the_links_of_its_repository(tmp_path):
    """The archives are built after the links are written; every link of the README is then absolute, once."""
    steps = [
        step.get("run", "") for step in document(".github/workflows/release.yml")["jobs"]["build"]["steps"]
    ]
    at = next(place for place, step in enumerate(steps) if "python -m tools.release" in step)
    assert "python -m build" in steps[at + 1]
    for name in ("pyproject.toml", "README.md"):
        (tmp_path / name).write_text((ROOT / name).read_text("utf-8"), "utf-8")
    release.prepare(tmp_path, "https://example.org/a/b", "v1", "team@example.org")
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["urls"]["Changelog"] == "https://example.org/a/b/blob/v1/CHANGELOG.md"
    assert project["authors"] == [{**SETTINGS["project"]["authors"][0], "email": "team@example.org"}]
    same = SETTINGS["project"].keys() - {"urls", "authors"}
    assert {name: project[name] for name in same} == {name: SETTINGS["project"][name] for name in same}
    text = (tmp_path / "README.md").read_text("utf-8")
    assert "](https://example.org/a/b/raw/v1/docs/workbench.png)" in text
    assert "](https://example.org/a/b/blob/v1/docs/probe.md)" in text
    assert re.findall(r"\]\((?!https:)[^)]*\)", text) == []
    with pytest.raises(ValueError, match=r"project\.urls"):
        release.prepare(tmp_path, "https://example.org/a/b", "v1")


def test_the_action_calls_a_command_that_exists(capsys):
    """Every option in the action is one of `workbench check`; inputs reach the shell as variables, never as text."""
    from workbench.cli import main

    with pytest.raises(SystemExit):
        main(["check", "--help"])
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    steps = document("action.yml")["runs"]["steps"]
    used = set(re.findall(r"--[a-z-]+", steps[1]["run"]))
    assert used <= options
    assert not any("${{" in step["run"] for step in steps)


def test_the_container_copies_what_the_build_reads():
    """The wheel needs the package, the notebooks, the README and the licence."""
    copied = set(
        re.findall(
            r"[\w.]+",
            " ".join(re.findall(r"^COPY (.*)$", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE)),
        )
    )
    needed = {"workbench", "notebooks", "README.md", "LICENSE", "pyproject.toml"}
    assert needed <= copied
