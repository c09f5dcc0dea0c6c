"""The determinism check: rows are graded again in another order, to detect scores that depend on more than the row.

A grader that counts its calls or remembers earlier rows gives other scores with another number of workers, since each
worker grades other rows; a random one gives other scores in every run. Without the check both would appear as results.
`check_source` is part of a validation, `check_run` follows a run. What only the text shows is in `child.determinism`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import SandboxError
from workbench.core.grades import SCORED, Grades
from workbench.sandbox.child.protocol import NOT_SCORED, SKIPPED
from workbench.sandbox.host.program import CHECKS, Program, read_checks
from workbench.sandbox.host.worker import Worker, WorkerLostError

Row = TypeVar("Row", bound=Hashable)
Outcome = float | str
"""A score; "skipped", or "failed" for a call without one; "" for a call that shows nothing, see `_UNKNOWN`."""
_UNKNOWN = ""
"""Outcome of a call that was not made, or whose failure may be due to a busy machine: it is ignored."""


def _find_changes(
    first: Mapping[Row, Outcome],
    order: Sequence[Row],
    grade: Callable[[], Sequence[Outcome]],
    *,
    tolerance: float = 0.0,
) -> tuple[dict[Row, Outcome], str]:
    """Rows whose outcome changes when they are graded again, each with its first other outcome, and the cause.

    State gives the same outcomes to the same calls in another fresh worker, chance does not: that separates the two causes.

    Args:
        first: The first outcome of each row.
        order: The rows to grade again; one may occur several times.
        grade: Grades them in one fresh worker; returns an outcome for each, or fewer if it stopped before the end.
        tolerance: Maximum difference of equal scores, relative or absolute.

    Returns:
        The changes, and "state" or "chance"; "" without a change.
    """
    again = grade()
    changed: dict[Row, Outcome] = {}
    for row, outcome in zip(order, again, strict=False):
        if outcome != _UNKNOWN and not _is_same(first[row], outcome, tolerance):
            changed.setdefault(row, outcome)
    if not changed:
        return {}, ""
    known = [pair for pair in zip(again, grade(), strict=False) if _UNKNOWN not in pair]
    return changed, "state" if known and all(_is_same(*pair, tolerance) for pair in known) else "chance"


def _is_same(one: Outcome, other: Outcome, tolerance: float) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance)


_RUN_ROWS = 20
"""Rows of a run graded again. If state changes 16 % of a grader's scores, the lowest share measured, one is found with 0.97."""
_RUN_SECONDS, _RUN_SHARE = 0.5, 0.05
"""Time limit of the check of a run: these seconds, or this share of the run's time, whichever is more."""
_RUN_TOLERANCE = 1e-12
"""Maximum difference of equal scores in a run: rounding differs by less, two readings of the clock by more."""
_SEED = 13
_RUN_SENTENCES = {
    "": "",
    "state": "keeps state between rows: {changed} of {tried} rows graded again in another order got another score, so a score "
    "depends on which rows its worker graded before, and the result on the number of workers.",
    "chance": "is random or reads the clock: {changed} of {tried} rows graded again got another score, and would in every run.",
}


def check_run(grade: Callable[[NDArray[np.intp]], Grades], grades: Grades) -> str:
    """Grade some scored rows of a run twice more in one fresh worker, each time in another order, and compare.

    Args:
        grade: Grades rows, by index, in one fresh worker, in order.
        grades: The grades of the run; `graded_again` and `unstable` are set.

    Returns:
        A sentence for users if a score changed; "" if none did, or no row was graded again.
    """
    rows = _chosen(grades)
    if not len(rows):
        return ""
    permuted = np.random.default_rng([_SEED, len(grades)]).permutation(rows)
    order = np.concatenate([permuted, permuted[::-1]])

    def again() -> list[Outcome]:
        found = grade(order)
        # A row that failed this time shows nothing: the machine may be busy.
        scores = zip(found.scores.tolist(), found.codes == SCORED, strict=True)
        return [score if is_scored else _UNKNOWN for score, is_scored in scores]

    first: dict[int, Outcome] = dict(zip(rows.tolist(), grades.scores[rows].tolist(), strict=True))
    try:
        changed, grades.unstable = _find_changes(first, order.tolist(), again, tolerance=_RUN_TOLERANCE)
    except SandboxError:
        return ""  # the rows have their grades; only the check is missing
    grades.graded_again = {row: row in changed for row in sorted(first)}
    return _RUN_SENTENCES[grades.unstable].format(changed=len(changed), tried=len(rows))


def _chosen(grades: Grades) -> NDArray[np.intp]:
    """The rows to grade again: as many as the time limit allows, drawn with a fixed seed."""
    scored = np.flatnonzero(grades.codes == SCORED)
    seconds = grades.seconds[scored]
    known = seconds[~np.isnan(seconds)]
    total, mean = float(known.sum()), float(known.mean()) if len(known) else 0.0
    allowed = max(_RUN_SECONDS, _RUN_SHARE * total)
    n_rows = _RUN_ROWS if mean <= 0 else int(min(_RUN_ROWS, allowed / (2 * mean)))
    if n_rows >= len(scored):
        return scored
    return np.random.default_rng(_SEED).choice(scored, n_rows, replace=False)


TestRow = tuple[str, Sequence[Any]]
"""Label and wire tuple of a test run."""
_N_CALLS = 12
"""Calls of a validation with few rows: detects a fair coin with probability 0.999, and a counter up to ten."""
_CALLS_SECONDS = 0.4
"""Seconds for these calls; rows that took longer than this are not graded again."""
_CAUSES = {
    "state": "it keeps state between rows: a score depends on which rows its worker graded before",
    "chance": "it is random or reads the clock: the same row gets different scores",
}


def check_source(
    fresh: Callable[[], Worker],
    program: Program,
    rows: Sequence[TestRow],
    scores: Sequence[Outcome],
    *,
    discard: Callable[[Worker], object] = Worker.close,
) -> list[str]:
    """A warning if the score of a test row changes when it is graded again; none if scores depend on the row only.

    Args:
        fresh: Starts a worker.
        program: The grader.
        rows: The test rows.
        scores: Results of their first calls, in order.
        discard: Ends a worker.
    """
    order: list[TestRow] = []
    while len(order) < max(_N_CALLS, len(rows)):
        order += list(reversed(rows)) if not len(order) // len(rows) % 2 else rows
    first = {label: score for (label, _), score in zip(rows, scores, strict=True)}
    labels = [label for label, _ in order]
    changed, cause = _find_changes(first, labels, lambda: _calls(fresh, program, order, discard))
    return [
        f"{label} {_verb(first[label])} at first and {_verb(outcome)} when it is graded again, so {_CAUSES[cause]}"
        for label, outcome in list(changed.items())[:1]
    ]


def _calls(
    fresh: Callable[[], Worker],
    program: Program,
    rows: Sequence[TestRow],
    discard: Callable[[Worker], object],
) -> list[Outcome]:
    """Outcomes of rows in a fresh worker, in sequence, until the time is over or the worker ends."""
    worker, outcomes = fresh(), list[Outcome]()
    try:
        program.require(worker.level)
        load = worker.answer(program.load_command("load"), program.limits.hard_load_seconds)
        if not all(passed for _, passed, _, _ in read_checks(load, CHECKS[:4])):
            return []
        until = time.monotonic() + _CALLS_SECONDS
        while len(outcomes) < len(rows) and time.monotonic() <= until:
            outcomes.append(_call(worker, program, rows[len(outcomes)]))
            if outcomes[-1] == _UNKNOWN:
                break
    except WorkerLostError:
        pass  # out of time or memory: caused by the row, so the call gives no evidence
    finally:
        discard(worker)
    return outcomes


def _call(worker: Worker, program: Program, row: TestRow) -> Outcome:
    worker.bits[0] = NOT_SCORED
    command, seconds = program.limits.test_command(row), program.limits.hard_row_seconds
    ((_, passed, message, _),) = read_checks(worker.answer(command, seconds), CHECKS[4:])
    if not passed:
        return _UNKNOWN if "timed out" in message else "failed"
    if worker.bits[0] == SKIPPED:
        return "skipped"
    score = float(worker.scores[0])
    return score if math.isfinite(score) else "failed"


def _verb(outcome: Outcome) -> str:
    if isinstance(outcome, float):
        return f"scores {outcome:.6g}"
    return "is skipped" if outcome == "skipped" else "fails"
