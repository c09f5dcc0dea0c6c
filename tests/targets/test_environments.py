"""Environments are made once, whole, and only where they are wanted."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.targets import environments
from tests.targets.environments import MEGABYTES, READY, REQUIREMENTS, made, python_of, python_with, wanted


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for environments of this test alone."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("WORKBENCH_TARGETS", str(tmp_path / "kept"))
    return tmp_path / "kept"


def test_skipped_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """A skipped test states how to create its environment, and its size."""
    monkeypatch.delenv("WORKBENCH_TARGETS")
    with pytest.raises(pytest.skip.Exception, match="set WORKBENCH_TARGETS=1 to install 470 MB of trainers"):
        python_of("evaluate")


def test_wanted_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    """CI creates every environment; elsewhere the largest one is created only if everything is requested."""
    monkeypatch.delenv("WORKBENCH_TARGETS")
    monkeypatch.setenv("CI", "true")
    assert (wanted(), wanted(everything=True)) == (True, True)
    monkeypatch.delenv("CI")
    monkeypatch.setenv("WORKBENCH_TARGETS", "/somewhere")
    assert (wanted(), wanted(everything=True)) == (True, False)
    monkeypatch.setenv("WORKBENCH_TARGETS", "all,/somewhere")
    assert wanted(everything=True)
    assert environments.folder() == Path("/somewhere")


def test_made_once(kept: Path) -> None:
    """An existing environment is not created again, even by concurrent requests."""
    calls: list[Path] = []

    with ThreadPoolExecutor(4) as pool:
        places = set(pool.map(lambda _: made("one", calls.append), range(8)))
    assert places == {kept / "one"}
    assert calls == [kept / "one"]


def test_half_made_is_made_again(kept: Path) -> None:
    """Remains of a failure are removed before the next attempt."""

    def fails(place: Path) -> None:
        (place / "half").touch()
        raise OSError

    with pytest.raises(OSError):
        made("one", fails)
    place = made("one", lambda place: (place / "whole").touch())
    assert {file.name for file in place.iterdir()} == {"whole", READY}


def test_an_environment_has_no_workbench(tmp_path: Path) -> None:
    """A new environment has what its requirements list and nothing else; other requirements make another."""
    listed = tmp_path / "none.txt"
    listed.write_text("# nothing\n")
    python = python_with(listed)
    script = "import importlib.util as found; print(found.find_spec('workbench'), found.find_spec('pytest'))"
    done = subprocess.run([python, "-P", "-c", script], cwd=tmp_path, env={}, capture_output=True, text=True)
    assert done.stdout == "None None\n", done.stderr
    listed.write_text("# nothing else\n")
    assert python_with(listed) != python


def test_a_failure_of_pip_is_a_failure(tmp_path: Path) -> None:
    """A package that cannot be installed fails the test that needs it, and leaves no environment."""
    listed = tmp_path / "missing.txt"
    listed.write_text("./nowhere\n")
    with pytest.raises(subprocess.CalledProcessError):
        python_with(listed)


@pytest.mark.parametrize("environment", MEGABYTES)
def test_requirements_are_pinned(environment: str) -> None:
    """Every package is listed with its version, and no file names a server."""
    lines = (REQUIREMENTS / f"{environment}.txt").read_text(encoding="utf-8").splitlines()
    assert all(line.count("==") == 1 and "/" not in line and "+" not in line for line in lines)
