"""Repeated grading of the same rows: the order, the graders that are repeated, and the reduction to one grade.

In every *repeat* a row is graded again by graders that may be non-deterministic: a judge, an endpoint, a user function.
The workbench's rules are deterministic and are graded once; noise that is known to be 0 is not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import ReportError
from workbench.core.grade import Grade
from workbench.core.grades import SCORED, Grades
from workbench.graders.base import Grader

_SEED = 13
"""Seed of the row orders of all repeats: a resumed run grades the rows in the same order as the first run."""
_MAX_REPEATS = 1_000

Matrix = NDArray[np.float64]


def check_repeats(repeats: object, reduce: object) -> None:
    """Refuse an invalid number of repeats or reducer.

    Raises:
        ReportError: With what was found and what is expected.
    """
    if not _is_whole(repeats) or not 1 <= repeats <= _MAX_REPEATS:  # type: ignore[operator]
        raise ReportError(
            "repeats must be a whole number", found=repr(repeats), expected=f"1 to {_MAX_REPEATS:,}",
            hint="repeats=3 grades every row three times; omit it to grade once",
        )  # fmt: skip
    if reduce not in REDUCERS:
        names = ", ".join(map(repr, REDUCERS))
        raise ReportError(f"reduce must be one of {names}", found=repr(reduce), hint="reduce='mean'")


def check_workers(workers: object) -> None:
    """Refuse an invalid number of sandbox processes; None means one less than there are cores.

    Raises:
        ReportError: With what was found and what is expected.
    """
    if workers is not None and (not _is_whole(workers) or workers < 1):  # type: ignore[operator]
        raise ReportError(
            "workers must be 1 or more", found=repr(workers), expected="a whole number, or None",
            hint="omit it for one less than there are cores",
        )  # fmt: skip


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_deterministic(grader: Grader) -> bool:
    """Whether a grader, and every grader inside it, is deterministic."""
    inner = [entry.grader for entry in getattr(grader, "entries", ())]
    wrapped = getattr(grader, "grader", None)
    inner += [wrapped] if isinstance(wrapped, Grader) else []
    return all(map(is_deterministic, inner)) if inner else grader.deterministic


def shuffled_rows(n: int, repeat: int, block: int | None = None) -> NDArray[np.intp]:
    """The order in which a repeat grades n rows, (n,): the given order in the first (0), shuffled in all others.

    In blocks of the given size if rows are read lazily from a file, so that each repeat reads it once.

    A grader that counts its calls or remembers earlier rows would repeat its scores exactly if the order were the
    same again.
    """
    rows = np.arange(n, dtype=np.intp)
    if repeat == 0:
        return rows
    rng = np.random.default_rng([_SEED, repeat])
    size = block or max(n, 1)
    return np.concatenate([rows[:0], *(rng.permutation(rows[at : at + size]) for at in range(0, n, size))])


def reduce_repeats(passes: Sequence[Grades], reduce: str = "first") -> Grades:
    """One grade per row from its repeats, which the result contains.

    "first" is the first repeat's grade, scored or not. For the others a failed repeat has no score: a row is scored
    if at least half of its repeats are, using only those; else it has the most frequent status of the others.
    Time, tokens and cost are those of all repeats together.

    Args:
        passes: Grades of the same n rows, in the samples' order; one or more.
        reduce: One of `REDUCERS`.
    """
    first = passes[0]
    if len(passes) == 1:
        return first
    reducer = REDUCERS[reduce]
    chosen = first if reducer is None else _reduced(passes, reducer, by_verdict=reduce == "majority")
    totals: dict[str, Any] = {name: _total(passes, name) for name in ("seconds", "tokens", "cost")}
    unpriced = np.any([~np.isnan(one.tokens) & np.isnan(one.cost) for one in passes], axis=0)
    totals["cost"][unpriced] = np.nan  # known only if every paid repeat has a price
    return replace(chosen, **totals, repeats=tuple(passes), reduced=reduce)


def _total(passes: Sequence[Grades], column: str) -> NDArray[np.float64]:
    values = np.array([getattr(one, column) for one in passes])
    known = ~np.isnan(values)
    return np.where(known.any(axis=0), np.where(known, values, 0.0).sum(axis=0), np.nan)


def _reduced(passes: Sequence[Grades], reducer: Callable[[Matrix], Matrix], *, by_verdict: bool) -> Grades:
    """The first pass's columns with score, verdict and notes of each row computed from all passes."""
    kept = {
        name: getattr(passes[0], name) for name in ("isolation", "ended", "code", "graded_again", "unstable")
    }
    result = replace(Grades.empty(len(passes[0])), **kept)
    scores = np.array([np.where(one.codes == SCORED, one.scores, np.nan) for one in passes])
    verdicts = np.where(np.isnan(scores), -1, np.array([one.passed for one in passes]))
    passed = _majority_verdicts(verdicts)
    if by_verdict:  # the score is one of those with the winning verdict
        scores = np.where((passed >= 0) & (verdicts >= 0) & (verdicts != passed), np.nan, scores)
    values = reducer(scores)
    for row in range(len(result)):
        result.put(row, _grade_of(passes, row, scores[:, row], values[row]))
    result.passed[:] = np.where(result.codes == SCORED, passed, result.passed)
    return result


def _grade_of(passes: Sequence[Grades], row: int, scores: NDArray[np.float64], value: float) -> Grade:
    """The row's grade: texts of the repeat with the nearest score, or of the first with the most frequent other status."""
    codes = [int(one.codes[row]) for one in passes]
    if 2 * codes.count(SCORED) >= len(codes):
        nearest = int(np.nanargmin(np.abs(scores / 2 - value / 2)))
        return replace(passes[nearest][row], score=float(value))
    others = [code for code in codes if code != SCORED]
    commonest = max(others, key=others.count)
    return passes[codes.index(commonest)][row]


def _majority_verdicts(verdicts: NDArray[np.int8]) -> NDArray[np.int8]:
    """1, 0, or -1 if there is no verdict or a tie, (n,) from (r, n)."""
    balance = (verdicts == 1).sum(axis=0) - (verdicts == 0).sum(axis=0)
    return np.where(balance > 0, 1, np.where(balance < 0, 0, -1)).astype(np.int8)


def _mean(scores: Matrix) -> Matrix:
    known = ~np.isnan(scores)
    # Scaled by a thousandth for huge scores: their sum may be infinite, though their mean is not.
    factor = 2.0**-10 if np.abs(scores[known]).max(initial=0.0) > 1e300 else 1.0
    small = np.where(known, scores * factor, 0.0)
    means = small.sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    # Equal scores have exactly that score as their mean, without rounding errors.
    low, high = np.where(known, small, np.inf).min(axis=0), np.where(known, small, -np.inf).max(axis=0)
    return np.where(known.any(axis=0), np.clip(means, low, np.maximum(low, high)), np.nan) / factor


def _median(scores: Matrix) -> Matrix:
    return np.array([_middle(np.sort(column[~np.isnan(column)])) for column in scores.T])


def _middle(ordered: NDArray[np.float64]) -> float:
    if not len(ordered):
        return float("nan")
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    # Halved before they are added: the sum of two finite scores may be infinite.
    return float(low if low == high else low / 2 + high / 2)


def _commonest(scores: Matrix) -> Matrix:
    """The most frequent score of the repeats; in a tie the first one."""
    values = []
    for column in scores.T:
        known = column[~np.isnan(column)].tolist()
        values.append(max(known, key=known.count) if known else np.nan)
    return np.array(values)


REDUCERS: Mapping[str, Callable[[Matrix], Matrix] | None] = {
    "first": None,
    "mean": _mean,
    "median": _median,
    "majority": _commonest,
}
"""How a row's repeats are reduced to its grade. "first": the grade of the first pass, which equals a run without repeats,
and to which all other findings then refer. The mean or the median of the scores. "majority": the most frequent verdict,
with the most frequent score among its repeats."""
