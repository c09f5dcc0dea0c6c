"""The demo's rows through exported files, called by each target's own code: what is compared, and with what."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import workbench as wb
from tests.targets.calling import call
from workbench.data.demo import GRADERS

TYPED = '''from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass
class Found:
    numbers: list[str]
    last: str = ""


async def grade(thread: StringThread) -> float:
    """Whether the last number of the completion is the expected one."""
    found = Found(re.findall(r"\\d+", thread.completion() or ""))
    found.last = found.numbers[-1] if found.numbers else ""
    return float(found.last == (thread.metadata or {}).get("expected", "").strip())
'''
FAILING = "async def grade(thread):\n    return 1 / (len(thread.completion() or '') % 7)\n"
SKIPPING = (
    "import workbench as wb\n\n\nasync def grade(thread):\n    if len(thread.completion() or '') % 5 == 0:\n"
    "        raise wb.Skip('a multiple of five')\n    return wb.Grade(0.5, reasoning='no multiple of five')\n"
)
ROLES = {"system", "user", "assistant", "tool"}
STEP_OF_SLOW = 5
"""Rows from one to the next where a target's own code takes milliseconds a row: rows of every kind and writer, since a prompt of the
demo has six or eight answers."""
SLOW = {"mlflow", "inspect", "eval_protocol", "trl", "verifiers", "verl", "openrlhf"}


@cache
def suite() -> wb.Suite:
    """The demo's graders, rules, a typed one, one that fails on some rows and one that skips some."""
    graders = [
        *map(wb.grader, GRADERS),
        wb.FunctionGrader.from_source(TYPED, name="last number"),
        wb.FunctionGrader.from_source(FAILING, name="fails"),
        wb.FunctionGrader.from_source(SKIPPING, name="skips"),
        wb.Contains(name="contains"),
        wb.Length(maximum=20, name="short"),
        wb.TextSimilarity(metric="rouge_l", name="rouge"),
    ]
    weights = {"last number": 3.0, "fails": 0.5}
    entries = [wb.Entry(grader, weight=weights.get(grader.name, 1.0)) for grader in graders]
    return wb.Suite(entries, combine=wb.combine.Mean())


@cache
def expected() -> dict[str, list[float | None]]:
    """The workbench's own scores, by grader and combined; None for no score."""
    report = suite().run(wb.demo_samples(), progress=False)
    return {
        name: [None if math.isnan(score) else score for score in column]
        for name, column in report.scores.items()
    }


@cache
def rows() -> list[dict[str, Any]]:
    """The demo's 1,920 rows; a role that only the demo has is the system's, since targets know no other."""
    frame = wb.demo_samples().frame
    return [_row(row) for row in frame.to_dict("records")]


def _row(row: dict[str, Any]) -> dict[str, Any]:
    hidden = {"prompt", "completion", "id", "group"}
    columns = {name: value for name, value in row.items() if name not in hidden and _is_there(value)}
    prompt = row["prompt"]
    if not isinstance(prompt, str):
        prompt = [{**turn, "role": turn["role"] if turn["role"] in ROLES else "system"} for turn in prompt]
    plain = {
        name: value if isinstance(value, str | list | dict) else float(value)
        for name, value in columns.items()
    }
    return {
        "prompt": prompt,
        "completion": row["completion"],
        "reference_column": "expected",
        "columns": plain,
    }


def _is_there(value: Any) -> bool:
    return value is not None and not (isinstance(value, float) and math.isnan(value))


def found(target: str, folder: Path, chosen: slice) -> Any:
    """What the target's own code makes of the suite's file, on the chosen rows."""
    path = folder / "exported.py"
    written = wb.export(
        suite(), path, {"eval_protocol": "eval-protocol"}.get(target, target), allow_unvalidated=True
    )
    assert not written.losses
    work = folder / "work"
    work.mkdir()
    return call(target, path, rows()[chosen], work)


def differences(found: list[float | None], expected: list[float | None]) -> list[Any]:
    """Rows whose scores are not the same as float32, which trainers keep."""
    pairs = enumerate(zip(found, expected, strict=True))
    return [(row, *pair) for row, pair in pairs if not _same(*pair)]


def _same(found: float | None, expected: float | None) -> bool:
    if found is None or expected is None:
        return found is expected
    return math.isclose(found, expected, rel_tol=1e-6, abs_tol=1e-6)


def check(target: str, folder: Path, whole_of: Any, *, keeps: Any = None, keeps_all: bool = False) -> None:
    """Compare what a target's own code makes of the demo's rows with what was measured here.

    Args:
        target: A name of `calling.ENVIRONMENT`.
        folder: An empty folder.
        whole_of: From target and scores here to the score of each row there.
        keeps: The graders whose own scores the target keeps; None for all.
        keeps_all: Whether it keeps a grader's score where another has none.
    """
    chosen = slice(None, None, STEP_OF_SLOW if target in SLOW else None)
    told, here = found(target, folder, chosen), {name: column[chosen] for name, column in expected().items()}
    names = [entry.name for entry in suite().entries]
    whole = whole_of(target, here)
    assert len(whole) == len(range(1920)[chosen])
    assert not differences(told["scores"], whole)[:3]
    functions = {name: name.replace(" ", "_") for name in names}
    parts = {
        name: told["parts"][key] for name in names for key in (name, functions[name]) if key in told["parts"]
    }
    assert (set(names) if keeps is None else keeps) <= set(parts)
    for name, scores in parts.items():
        known = [None if score is None else here[name][row] for row, score in enumerate(scores)]
        assert not differences(scores, known)[:3], name
        if keeps_all:
            assert not differences(scores, here[name])[:3], name
