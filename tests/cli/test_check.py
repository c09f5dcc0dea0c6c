"""`workbench check`: exit codes, files, and the pages whose commands servers run."""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pandas as pd
import pytest
import yaml

from workbench.cli import main

DOCS = Path(__file__).resolve().parents[2] / "docs"
REWARD = "def near(completions, answer, **kwargs):\n    return [1.0 if a in c else 0.0 for c, a in zip(completions, answer)]\n"
EXACT = REWARD.replace("a in c", "c.strip() == a")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    Path("reward.py").write_text(REWARD, "utf-8")
    rows = [
        {"id": f"r{n}", "prompt": f"{n}?", "completion": f"{n}" if n % 5 else "no", "answer": f"{n}", "label": "good" if n % 5 else "bad"}
        for n in range(11, 71)
    ]  # fmt: skip
    Path("golden.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    wrong = [{**row, "label": "bad"} if at == 3 else row for at, row in enumerate(rows)]
    Path("wrong.jsonl").write_text("\n".join(map(json.dumps, wrong)), "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["golden.jsonl"], 0),
        (["wrong.jsonl"], 1),
        (["golden.jsonl", "wrong.jsonl"], 1),
        (["golden.jsonl", "--max-error-rate", "0.04"], 4),
        (["golden.jsonl", "--max-error-rate", "0.04", "--inconclusive", "pass"], 0),
        (["golden.jsonl", "--max-error-rate", "0.04", "--inconclusive", "fail"], 1),
        (["golden.jsonl", "--labels", "nothing"], 3),
        (["none.jsonl"], 3),
        (["golden.jsonl", "--baseline", "none.json"], 3),
        ([], 2),
        (["golden.jsonl", "--scores", "s.html"], 2),
        (["golden.jsonl", "--scores", "-"], 2),
        (["-", "-"], 2),
    ],
)
def test_exit_codes(folder, words, code):
    """0 pass, 1 fail, 2 wrong usage, 3 could not run, 4 inconclusive."""
    assert main(["check", "reward.py", *words]) == code


@pytest.mark.parametrize(
    "option", [["--max-error-rate", "5"], ["--max-error-rate", "x"], ["--max-drop", "-1"], ["--fail-on", "x"]]
)
def test_wrong_values_are_usage(folder, option):
    with pytest.raises(SystemExit) as ended:
        main(["check", "reward.py", "golden.jsonl", *option])
    assert ended.value.code == 2


def test_a_failed_check_is_not_the_next_baseline(folder, capsys):
    """--save writes after a pass, and leaves the file after a failure."""
    assert main(["check", "reward.py", "golden.jsonl", "--save", "last.json"]) == 0
    assert (
        "compare the next run:  workbench check reward.py golden.jsonl --baseline last.json"
        in capsys.readouterr().out
    )
    before = Path("last.json").read_bytes()
    assert main(["check", "reward.py", "wrong.jsonl", "--save", "last.json"]) == 1
    assert "not saved: last.json, because the check failed" in capsys.readouterr().out
    assert Path("last.json").read_bytes() == before
    assert main(["open", "last.json"]) == 0
    said = capsys.readouterr().out
    assert "a baseline of workbench check" in said
    assert "workbench check reward.py golden.jsonl --baseline last.json" in said


def test_a_guard_from_probe_to_fix(folder, capsys):
    """Probe, save the holes, see them fail, fix the reward, see them pass, with the versions named."""
    assert (
        main(["probe", "reward.py", "--samples", "golden.jsonl", "--tries", "0", "--save", "holes.jsonl"])
        == 1
    )
    assert main(["check", "reward.py", "golden.jsonl", "--save", "last.json"]) == 0
    assert main(["check", "reward.py", "golden.jsonl", "holes.jsonl"]) == 1
    capsys.readouterr()
    Path("reward.py").write_text(EXACT, "utf-8")
    main(["check", "reward.py", "golden.jsonl", "holes.jsonl", "--baseline", "last.json"])
    said = capsys.readouterr().out
    assert re.search(r"near: regression: (\d+) of \1 holes? closed", said)
    assert "another version of the grader" in said


def test_files_for_servers(folder, capsys):
    """JUnit XML, Markdown and scores are written; stdout of --json is one document with the exit code."""
    words = ["--junit", "j.xml", "--summary", "s.md", "--scores", "s.parquet", "--json"]
    assert main(["check", "reward.py", "wrong.jsonl", *words]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out)["exit_code"] == 1
    assert said.err.count("wrote ") == 3
    assert ET.parse("j.xml").getroot().get("failures") == "1"
    assert Path("s.md").read_text("utf-8").startswith("## Grader check: fail")
    assert len(pd.read_parquet("s.parquet")) == 60


def test_github_gets_annotations_and_a_summary(folder, capsys, monkeypatch):
    """Inside GitHub Actions without an option; outside only if chosen."""
    main(["check", "reward.py", "wrong.jsonl"])
    assert "::error" not in capsys.readouterr().out
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    main(["check", "reward.py", "wrong.jsonl"])
    assert (
        "::error file=reward.py,title=near%3A labels fail::near: labels: 59 of 60" in capsys.readouterr().out
    )
    assert "❌ fail" in (folder / "summary.md").read_text("utf-8")
    main(["check", "reward.py", "wrong.jsonl", "--annotations", "none"])
    assert "::error" not in capsys.readouterr().out


def shell_commands(page):
    """The shell texts of a page's YAML that contain a command of the workbench."""
    text = re.findall(r"```yaml\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL)[0]
    jobs = yaml.safe_load(text)
    steps = [step.get("run", "") for job in jobs.get("jobs", {}).values() for step in job["steps"]]
    steps += [line for job in jobs.values() if isinstance(job, dict) for line in job.get("script", [])]
    return [step for step in steps if "workbench check" in step]


@pytest.mark.parametrize("page", ["github-actions.md", "gitlab.md"])
def test_commands_of_a_servers_page_run(folder, page):
    """The first run makes the baseline, the second compares with it, and one that fails keeps it."""
    Path("reward.py").write_text(EXACT, "utf-8")
    assert (
        main(["probe", "reward.py", "--samples", "golden.jsonl", "--tries", "0", "--save", "holes.jsonl"])
        == 0
    )
    (command,) = shell_commands(page)
    shell = f'workbench() {{ "{sys.executable}" -m workbench "$@"; }}\n{command}'

    def run():
        environment = {key: value for key, value in os.environ.items() if not key.startswith("GITHUB_")}
        return subprocess.run(
            ["sh", "-c", shell], capture_output=True, text=True, env=environment, check=False
        )

    first, second = run(), run()
    assert (first.returncode, second.returncode) == (0, 0), first.stdout + first.stderr + second.stdout
    assert "in the baseline of" not in first.stdout
    assert "60 of 60 rows are in the baseline of" in second.stdout
    kept = Path("last.json").read_bytes()
    Path("reward.py").write_text(REWARD.replace("1.0 if a in c else 0.0", "1.0"), "utf-8")
    assert run().returncode == 1
    assert Path("last.json").read_bytes() == kept
    assert ET.parse("graders.xml").getroot().get("failures") != "0"
