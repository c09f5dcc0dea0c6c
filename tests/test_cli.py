"""The command line does the main job, and says what went wrong in words."""

import json
import subprocess
import sys

import pytest

from workbench.cli import main

GRADER = "async def grade(thread: StringThread) -> float:\n    return float('yes' in (thread.completion() or ''))\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "g.py").write_text(GRADER, "utf-8")
    rows = [{"prompt": str(i), "completion": "yes" if i % 3 else "no"} for i in range(60)]
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return tmp_path


def test_demo_does_the_main_job(tmp_path, capsys):
    """The demo validates, grades, prints findings and writes both files."""
    assert main(["demo", "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert said.count("✓ test_run") == 3
    assert "too lenient" in said
    assert "too strict" in said
    assert len(json.loads((tmp_path / "out" / "graders.json").read_text("utf-8"))["graders"]) == 3
    assert "<html" in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_validate_then_run(files, capsys):
    """A module is proved and saved, and the saved file grades samples."""
    assert main(["validate", str(files / "g.py"), "--out", str(files / "g.json")]) == 0
    command = ["run", str(files / "g.json"), str(files / "s.jsonl"), "--draw", "30", "--seed", "1"]
    assert main([*command, "--report", str(files / "r.html"), "--scores", str(files / "s.csv")]) == 0
    assert "1 grader on 30 rows" in capsys.readouterr().out
    assert len((files / "s.csv").read_text("utf-8").splitlines()) == 31
    assert (files / "r.html").exists()


def test_failed_validation_is_exit_one(files, capsys):
    """A cross is shown, nothing is written, and the exit code says so."""
    (files / "bad.py").write_text("def grade(t): return 1", "utf-8")
    assert main(["validate", str(files / "bad.py"), "--out", str(files / "bad.json")]) == 1
    assert "✗ structure" in capsys.readouterr().out
    assert not (files / "bad.json").exists()


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["run", "{}/none.py", "{}/s.jsonl"], "grader file cannot be read"),
        (["run", "{}/g.py", "{}/none.jsonl"], "none.jsonl"),
        (["validate", "{}/s.json"], "cannot be read"),
    ],
)
def test_errors_are_sentences(files, capsys, arguments, part):
    """A mistake ends in one message on stderr, without a traceback."""
    assert main([word.format(files) for word in arguments]) == 1
    said = capsys.readouterr().err
    assert said.startswith("workbench: ")
    assert part in said
    assert "Traceback" not in said


def test_sandbox_command(capsys):
    """The label of this machine is printed."""
    assert main(["sandbox"]) == 0
    assert "layers on" in capsys.readouterr().out


def test_module_form():
    """`python -m workbench` is the same command."""
    done = subprocess.run(
        [sys.executable, "-m", "workbench", "--version"], check=True, capture_output=True, text=True
    )
    assert done.stdout.startswith("workbench ")
