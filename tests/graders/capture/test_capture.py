"""Capture: what travels scores the same by itself, and what cannot travel is refused by name."""

import ast
import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from capture_table import CASES, UNRECORDED, Case

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
EVERY = [*CASES, *UNRECORDED]
NAMES = [case.name for case in EVERY]


def run(script: str, payload: object, *options: str, arguments: tuple[str, ...] = ()) -> list:
    done = subprocess.run(
        [sys.executable, *options, str(HERE / script), *arguments],
        input=json.dumps(payload),
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def calls(case: Case) -> list[dict]:
    return [{"turns": [["user", "What is 2+2?"], ["assistant", answer]]} for answer in case.scores]


@pytest.fixture(scope="module")
def outcomes() -> dict[str, dict]:
    recorded = run("capture_cells.py", [dataclasses.asdict(case) for case in CASES])
    unrecorded = run("capture_cells.py", [dataclasses.asdict(case) for case in UNRECORDED])
    return dict(zip(NAMES, [*recorded, *unrecorded], strict=True))


@pytest.fixture(scope="module")
def scores(outcomes) -> dict[str, list]:
    cases = [case for case in EVERY if "text" in outcomes[case.name]]
    jobs = [{"text": outcomes[case.name]["text"], "calls": calls(case)} for case in cases]
    thread_file = str(ROOT / "workbench" / "core" / "thread.py")
    given = run("capture_scores.py", jobs, "-I", "-S", arguments=(thread_file,))
    return dict(zip([case.name for case in cases], given, strict=True))


def test_every_case_has_its_own_name():
    """Two cases of one name would hide each other's outcome."""
    assert len(set(NAMES)) == len(NAMES) >= 90


@pytest.mark.parametrize("case", [case for case in EVERY if case.refused], ids=lambda case: case.name)
def test_what_cannot_travel_is_refused(case, outcomes):
    """The refusal names the thing and gives the next step."""
    outcome = outcomes[case.name]
    assert "text" not in outcome, outcome["text"]
    assert case.refused in outcome["error"]
    assert "expected" in outcome["error"]
    assert "next step" in outcome["error"]


@pytest.mark.parametrize("case", [case for case in EVERY if not case.refused], ids=lambda case: case.name)
def test_what_travels_scores_the_same_by_itself(case, outcomes, scores):
    """The captured text alone, in a bare interpreter, gives the scores the notebook's function gives."""
    outcome = outcomes[case.name]
    assert "error" not in outcome, outcome["error"]
    assert scores[case.name] == list(case.scores.values()), outcome["text"]
    assert case.has in outcome["text"]
    assert not case.lacks or case.lacks not in outcome["text"]


def test_no_refusal_shows_a_credential(outcomes):
    """The value of a credential is in no message."""
    for name, secret in {
        "token by shape": "a1B2a1B2",
        "password": "hunter2",
        "key in a default": "AKIAABCD",
    }.items():
        assert secret not in outcomes[name]["error"]


def test_texts_parse_alike_on_every_python(outcomes):
    """A captured text is valid for the oldest Python that is supported."""
    for name, outcome in outcomes.items():
        if "text" in outcome:
            ast.parse(outcome["text"], feature_version=(3, 11)), name


def test_texts_read_like_written_ones(outcomes):
    """Two blank lines around definitions, one line end at the end, never three blank lines."""
    for outcome in outcomes.values():
        text = outcome.get("text", "\n")
        assert text.endswith("\n")
        assert not text.endswith("\n\n")
        assert "\n\n\n\n" not in text


def test_same_cells_same_text(outcomes):
    """Captured again in another process with another hash seed, every text is the same to the byte."""
    before = os.environ.get("PYTHONHASHSEED")
    os.environ["PYTHONHASHSEED"] = "7"
    try:
        again = run("capture_cells.py", [dataclasses.asdict(case) for case in CASES])
    finally:
        os.environ.pop("PYTHONHASHSEED") if before is None else os.environ.update(PYTHONHASHSEED=before)
    for case, outcome in zip(CASES, again, strict=True):
        assert outcome.get("text") == outcomes[case.name].get("text"), case.name


def test_fields_tell_what_was_carried(outcomes):
    """A source lists its imports, helpers and constants, and the cell it came from."""
    outcome = outcomes["without a record: helpers"]
    assert outcome["imports"] == ["import re"]
    assert outcome["helpers"] == ["h"]
    assert outcome["constants"] == ["K"]
    assert outcome["origin"] == "cell 3"
    assert outcome["function"] == "grade"
    assert outcomes["chosen name"]["function"] == "mine"


def test_a_whole_module_in_reading_order(outcomes):
    """Imports, constants, helpers, then the grader."""
    assert outcomes["without a record: helpers"]["text"] == (
        "import re\n\nK = 2\n\n\ndef h(s):\n    return K * len(re.findall('a', s))\n\n\n"
        "async def grade(thread):\n    return h(thread.completion())\n"
    )
