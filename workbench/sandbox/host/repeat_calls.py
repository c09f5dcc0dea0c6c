"""Determinism check: the test rows graded again, in the same worker and in another order in a fresh one.

A grader with state between rows, or with random draws, may give a row another score the second time. A third worker
that gets exactly the same calls separates the causes: state reproduces the same scores, chance does not.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from workbench.sandbox.child.protocol import NOT_SCORED, SKIPPED
from workbench.sandbox.host.answers import read_checks
from workbench.sandbox.host.limits import CHECKS, Program
from workbench.sandbox.host.worker import Worker, WorkerLostError

__all__ = ["CHANCE", "STATE", "repeat_calls"]

STATE = "it keeps state between rows: a score depends on which rows its worker graded before"
CHANCE = "it is random or reads the clock: the same row gets different scores"

_CALLS = 12
"""Total calls for few rows: detects a fair coin with probability 0.999, and a counter up to ten."""
_SECONDS = 0.4
"""Seconds for the second calls; rows that took longer than this are not graded again."""

_TIMED_OUT = ""
"""Outcome of a call that timed out, possibly because the machine was busy: it is ignored."""

Row = tuple[str, Sequence[Any]]
Outcome = float | str
"""A score; "skipped", or "failed" for a call without one."""


def repeat_calls(
    worker: Worker,
    fresh: Callable[[], Worker],
    program: Program,
    rows: Sequence[Row],
    scores: Sequence[Outcome],
) -> list[str]:
    """A warning if a row's score changes when it is graded again; none for a grader that depends on its row only.

    Args:
        worker: The worker that graded the rows once, in order.
        fresh: Creates another worker.
        program: The grader.
        rows: Labels and wire tuples.
        scores: Results of the first calls, one per row.
    """
    first = list(zip((label for label, _ in rows), scores, strict=True))
    order = _sequence(rows)
    try:
        again = _calls(worker, program, order)
        if label := _changed([*first, *again]):
            return [
                _warning(
                    [*first, *again], label, _repeated(fresh, program, [*rows, *order]), [*first, *again]
                )
            ]
        other = _in_fresh_worker(fresh, program, order)
        if label := _changed([*first, *other]):
            return [_warning([*first, *other], label, _repeated(fresh, program, order), other)]
    except WorkerLostError:
        return []  # out of time or memory: caused by the row, and the second call gives no evidence
    return []


def _sequence(rows: Sequence[Row]) -> list[Row]:
    """The rows in reverse order, then in order, and so on until there are enough calls."""
    order: list[Row] = []
    while len(order) < max(_CALLS, len(rows)):
        order += list(reversed(rows)) if not len(order) // len(rows) % 2 else list(rows)
    return order


def _calls(worker: Worker, program: Program, rows: Sequence[Row]) -> list[tuple[str, Outcome]]:
    """Scores of rows in a loaded worker, in sequence, until the time is over."""
    until, outcomes = time.monotonic() + _SECONDS, []
    for label, wire in rows:
        if time.monotonic() > until:
            break
        outcome = _call(worker, program, (label, wire))
        if outcome == _TIMED_OUT:
            break
        outcomes.append((label, outcome))
    return outcomes


def _call(worker: Worker, program: Program, row: Row) -> Outcome:
    worker.bits[0] = NOT_SCORED
    command, seconds = program.limits.test_command(row), program.limits.hard_row_seconds
    ((_, passed, message, _),) = read_checks(worker.answer(command, seconds), CHECKS[4:])
    if passed and worker.bits[0] == SKIPPED:
        return "skipped"
    if not passed and "timed out" in message:
        return _TIMED_OUT
    score = float(worker.scores[0])
    return score if passed and math.isfinite(score) else "failed"


def _in_fresh_worker(
    fresh: Callable[[], Worker], program: Program, rows: Sequence[Row]
) -> list[tuple[str, Outcome]]:
    worker = fresh()
    try:
        program.require(worker.level)
        checks = read_checks(
            worker.answer(program.load_command("load"), program.limits.hard_load_seconds), CHECKS[:4]
        )
        return _calls(worker, program, rows) if all(passed for _, passed, _, _ in checks) else []
    finally:
        worker.close()


def _repeated(
    fresh: Callable[[], Worker], program: Program, rows: Sequence[Row]
) -> list[tuple[str, Outcome]]:
    try:
        return _in_fresh_worker(fresh, program, rows)
    except WorkerLostError:
        return []


def _changed(outcomes: Sequence[tuple[str, Outcome]]) -> str:
    """The first label with two outcomes; "" if each has one."""
    seen: dict[str, Outcome] = {}
    return next((label for label, outcome in outcomes if seen.setdefault(label, outcome) != outcome), "")


def _warning(
    outcomes: Sequence[tuple[str, Outcome]],
    label: str,
    repeated: Sequence[tuple[str, Outcome]],
    original: Any,
) -> str:
    """The warning on a row whose score changed; `original` is from a worker with the same calls as `repeated`."""
    first, other = list(dict.fromkeys(outcome for name, outcome in outcomes if name == label))[:2]
    known = min(len(repeated), len(original))
    cause = STATE if known and list(repeated[:known]) == list(original[:known]) else CHANCE
    return f"{label} {_verb(first)} at first and {_verb(other)} when it is graded again, so {cause}"


def _verb(outcome: Outcome) -> str:
    return (
        f"scores {outcome:.6g}"
        if isinstance(outcome, float)
        else f"is {outcome}"
        if outcome == "skipped"
        else "fails"
    )
