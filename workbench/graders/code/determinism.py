"""Determinism check of a run: some rows are graded again in another order, to detect scores that depend on more than the row.

A grader that counts its calls or remembers earlier rows gives other scores with another number of workers, since each
worker grades other rows; a random one gives other scores in every run. Without the check both would appear as results.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import SandboxError
from workbench.core.grades import SCORED, Grades
from workbench.data.samples import Samples

_ROWS = 20
"""Rows graded again. If state changes 16 % of a grader's scores, the lowest share measured, one is found with 0.97."""
_SECONDS, _SHARE = 0.5, 0.05
"""Time limit: these seconds, or this share of the run's time, whichever is more."""
_SEED = 13
_SAME = 1e-9  # maximum difference of equal scores, as in `workbench.analysis.statistics`

_STATE = (
    "keeps state between rows: {changed} of {tried} rows graded again in another order got another score, so a score "
    "depends on which rows its worker graded before, and the result on the number of workers."
)
_CHANCE = "is random or reads the clock: {changed} of {tried} rows graded again got another score, and would in every run."


def check_determinism(grade: Callable[[Samples], Grades], samples: Samples, grades: Grades) -> str:
    """Grade some scored rows twice more in one fresh worker, each time in another order, and compare.

    Args:
        grade: Grades rows in one fresh worker, in order.
        samples: All rows of the run.
        grades: Their grades; `graded_again` and `unstable` are set.

    Returns:
        A sentence for users if a score changed; "" if none did, or no row was graded again.
    """
    rows = _chosen(grades)
    if not len(rows):
        return ""
    order = np.random.default_rng([_SEED, len(grades)]).permutation(rows)
    twice = np.concatenate([order, order[::-1]])
    try:
        again = grade(samples.take(twice))
        changed = _changed(grades, again, twice)
        if changed.any():
            repeated = _same(again.scores, grade(samples.take(twice)).scores)
            grades.unstable = "state" if repeated.all() else "chance"
    except SandboxError:
        return ""  # the rows have their grades; only the check is missing
    rows_changed = set(twice[changed].tolist())
    grades.graded_again = {int(row): int(row) in rows_changed for row in np.sort(rows)}
    sentence = {"": "", "state": _STATE, "chance": _CHANCE}[grades.unstable]
    return sentence.format(changed=len(rows_changed), tried=len(rows))


def _chosen(grades: Grades) -> NDArray[np.intp]:
    """The rows to grade again: as many as the time limit allows, drawn with a fixed seed."""
    scored = np.flatnonzero(grades.codes == SCORED)
    seconds = grades.seconds[scored]
    known = seconds[~np.isnan(seconds)]
    total, mean = float(known.sum()), float(known.mean()) if len(known) else 0.0
    allowed = max(_SECONDS, _SHARE * total)
    most = _ROWS if mean <= 0 else int(min(_ROWS, allowed / (2 * mean)))
    if most >= len(scored):
        return scored
    return np.random.default_rng(_SEED).choice(scored, most, replace=False)


def _changed(grades: Grades, again: Grades, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which of the second grades are other scores. A row that failed this time is ignored: the machine may be busy."""
    scored = again.codes == SCORED
    changed: NDArray[np.bool_] = scored & ~_same(grades.scores[rows], again.scores)
    return changed


def _same(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.bool_]:
    close: NDArray[np.bool_] = np.isclose(a, b, rtol=_SAME, atol=_SAME, equal_nan=True)
    return close
