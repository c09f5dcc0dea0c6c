"""Which row is labelled next, and how it came to be that one. No widget is imported here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import WorkbenchError
from workbench.report.where import case_of, scaled_scores
from workbench.session.label_weights import BALANCED, CHOSEN, DISAGREEING, RANDOM, of_stratum

if TYPE_CHECKING:
    from workbench.report import Report

__all__ = ["ORDERS", "Queue"]

Rows = NDArray[np.intp]

_SEED = 0


class Queue:
    """The rows of a report, or of a dataset without one, in the order they are to be labelled.

    Args:
        order: Out of `ORDERS`.
        samples: The rows, n of them.
        report: Grades of these rows; None before a run.
        grader: Whose verdict balances the classes, and who disagrees; the first one by default.
        shown: Rows that are looked at now, for "as shown".
        decided: Samples that have been decided so far: the classes are balanced over the others.
    """

    def __init__(
        self,
        order: str,
        samples: Any,
        *,
        report: Report | None = None,
        grader: str | None = None,
        shown: Sequence[int] | Rows = (),
        decided: Collection[str] = (),
    ) -> None:
        if order not in ORDERS:
            raise WorkbenchError("there is no such order", found=repr(order), expected=", ".join(ORDERS))
        self.samples = samples
        graders = report.graders if report is not None else []
        name = grader if grader in graders else next(iter(graders), None)
        rows = np.asarray(shown, dtype=np.intp)
        known = report is not None and report.labels is not None
        self.order = _meant(order, len(graders) + (known and bool(graders)), len(rows))
        self._verdicts = _verdicts(report, name) if self.order == BALANCED else np.empty(0, np.int8)
        ids = [str(one) for one in samples.ids]
        mixed = np.random.default_rng(_SEED).permutation(len(ids)).astype(np.intp)
        if self.order == CHOSEN:
            mixed = rows
        elif self.order == DISAGREEING:
            mixed = _disagreements(mixed, report, str(name))
        elif self.order == BALANCED:
            there = np.array([ids[row] in decided for row in mixed], bool)
            mixed = np.concatenate([_balanced(mixed[part], self._verdicts) for part in (~there, there)])
        self.rows: Rows = mixed
        self._ids = [ids[row] for row in self.rows]

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, row: int) -> bool:
        return bool((self.rows == row).any())

    def next(self, decided: Mapping[str, Any], count: int = 1) -> list[int]:
        """The first rows nobody has decided, at most so many."""
        left = (int(row) for row, name in zip(self.rows, self._ids, strict=True) if name not in decided)
        return [row for row, _ in zip(left, range(count), strict=False)]

    def done(self, decided: Mapping[str, Any]) -> int:
        """Rows of the queue that are decided."""
        return sum(name in decided for name in self._ids)

    def drawn(self, row: int) -> str:
        """How a row comes to be labelled, as its label keeps it."""
        if self.order != BALANCED:
            return self.order
        verdict = int(self._verdicts[row])
        return of_stratum(verdict, int((self._verdicts == verdict).sum()), len(self._verdicts))


def _meant(order: str, voices: int, shown: int) -> str:
    """What an order comes to where there is no report, nobody to disagree with, or nothing shown."""
    if order == DISAGREEING and voices < 2:
        order = BALANCED
    if (order == BALANCED and not voices) or (order == CHOSEN and not shown):
        return RANDOM
    return order


def _verdicts(report: Any, grader: Any) -> NDArray[np.int8]:
    """1 accepted, 0 refused, -1 neither, of each row."""
    case = case_of(report, grader)
    verdict = np.full(len(report), -1, np.int8)
    verdict[case.rows] = case.accepted
    return verdict


def _balanced(mixed: Rows, verdict: NDArray[Any]) -> Rows:
    """Of every two rows one accepted and one refused: both kinds of mistakes need rows of their own.

    Which of the two comes first is drawn: a strict turn would tell the labeller what the grader said.
    """
    accepted, refused = (mixed[verdict[mixed] == one] for one in (1, 0))
    n = min(len(accepted), len(refused))
    pairs = (
        np.random.default_rng(_SEED).permuted(np.column_stack([refused[:n], accepted[:n]]), axis=1).ravel()
    )
    return np.concatenate([pairs, accepted[n:], refused[n:], mixed[verdict[mixed] < 0]])


def _disagreements(mixed: Rows, report: Any, grader: str) -> Rows:
    """Rows on which a grader lies furthest from another one or from the known label; then where others are apart."""
    scores = np.column_stack([scaled_scores(report, name) for name in report.graders])
    own = scaled_scores(report, grader)
    others = np.abs(scores[:, [name != grader for name in report.graders]] - own[:, None])
    mine = _largest(np.column_stack([others, _wrong(report, grader)]))
    apart = _largest(scores) + _largest(-scores)
    return mixed[np.lexsort((-apart[mixed], -mine[mixed]))]


def _largest(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each line of (n, m) values; -1.0 where there is none."""
    there = ~np.isnan(values)
    return np.where(there.any(1), np.where(there, values, -np.inf).max(1, initial=-np.inf), -1.0)


def _wrong(report: Any, grader: str) -> NDArray[np.float64]:
    """1.0 where a grader says other than the known label, 0.0 where the same, NaN where one of them says nothing."""
    case, found = case_of(report, grader), np.full(len(report), np.nan)
    if report.labels is not None:
        labels = case.labels[case.rows]
        found[case.rows] = np.where(labels < 0, np.nan, case.accepted != (labels == 1))
    return found


ORDERS = (RANDOM, BALANCED, DISAGREEING, CHOSEN)
"""Orders of a label queue; all are the same for the same report."""
