"""The test rows graded again: in the same worker, and in another order in a fresh one.

A grader that keeps something between rows, or draws by chance, gives a row another score the second time. Whether it is
the one or the other is seen where a third worker is asked the very same: state comes out the same, chance does not.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from workbench.sandbox.child.protocol import NOT_SCORED, SKIPPED
from workbench.sandbox.host.answers import read_checks
from workbench.sandbox.host.limits import CHECKS, Program
from workbench.sandbox.host.worker import Death, Worker

__all__ = ["CHANCE", "STATE", "second_calls"]

STATE = "it keeps state between rows: a score depends on which rows its worker saw before"
CHANCE = "it draws by chance or reads the clock: the same row gets other scores"

_CALLS = 12
"""Calls in all, where rows are few: a coin is then found with 0.999, a counter that counts to ten as well."""
_SECONDS = 0.4
"""Time for the second calls; rows that took longer than this are not called again."""

_TIMED_OUT = ""
"""The outcome of a call that took too long, which a busy machine may be the reason of: nothing is made of it."""

Row = tuple[str, Sequence[Any]]
Outcome = float | str
"""A score; "skipped", or "failed" for a call without any."""


def second_calls(
    worker: Worker,
    fresh: Callable[[], Worker],
    program: Program,
    rows: Sequence[Row],
    scores: Sequence[Outcome],
) -> list[str]:
    """A warning where a row's score changes when it is graded again; none for a grader that reads its row alone.

    Args:
        worker: The one that graded the rows once, in order.
        fresh: Makes another worker.
        program: What is graded with.
        rows: Labels and wire tuples.
        scores: What the first calls gave, one a row.
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
    except Death:
        return []  # out of time or memory: that is the row's own fault, and nothing is known of the second call
    return []


def _sequence(rows: Sequence[Row]) -> list[Row]:
    """The rows backwards, then in order, and so on until there are enough calls."""
    order: list[Row] = []
    while len(order) < max(_CALLS, len(rows)):
        order += list(reversed(rows)) if not len(order) // len(rows) % 2 else list(rows)
    return order


def _calls(worker: Worker, program: Program, rows: Sequence[Row]) -> list[tuple[str, Outcome]]:
    """What rows score in a loaded worker, one after the other, until the time is over."""
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
    except Death:
        return []


def _changed(outcomes: Sequence[tuple[str, Outcome]]) -> str:
    """The first label with two outcomes; "" where each has one."""
    seen: dict[str, Outcome] = {}
    return next((label for label, outcome in outcomes if seen.setdefault(label, outcome) != outcome), "")


def _warning(
    outcomes: Sequence[tuple[str, Outcome]],
    label: str,
    repeated: Sequence[tuple[str, Outcome]],
    original: Any,
) -> str:
    """The sentence on a row whose score changed; `original` is what a worker gave that was asked as `repeated` was."""
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
