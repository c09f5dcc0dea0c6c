"""Which row is labelled next, and how it came to be that one. No widget is imported here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import WorkbenchError
from workbench.report.where import case_of, scaled_scores
from workbench.widgets.drawn import BALANCED, CHOSEN, DISAGREEING, RANDOM, of_stratum

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
        grader: Whose verdict balances the classes; the first one by default.
        shown: Rows that are looked at now, for "as shown".
    """

    def __init__(
        self,
        order: str,
        samples: Any,
        *,
        report: Report | None = None,
        grader: str | None = None,
        shown: Sequence[int] | Rows = (),
    ) -> None:
        if order not in ORDERS:
            raise WorkbenchError("there is no such order", found=repr(order), expected=", ".join(ORDERS))
        self.samples = samples
        graders = report.graders if report is not None else []
        name = grader if grader in graders else next(iter(graders), None)
        rows = np.asarray(shown, dtype=np.intp)
        self.order = _meant(order, len(graders), len(rows))
        self._verdicts = _verdicts(report, name) if self.order == BALANCED else np.empty(0, np.int8)
        self.rows: Rows = rows if self.order == CHOSEN else self._mixed(len(samples), report)
        ids = samples.ids  # a copy each time it is asked for
        self._ids = [str(ids[row]) for row in self.rows]

    def _mixed(self, n: int, report: Any) -> Rows:
        mixed = np.random.default_rng(_SEED).permutation(n).astype(np.intp)
        if self.order == RANDOM:
            return mixed
        return _balanced(mixed, self._verdicts) if self.order == BALANCED else _disagreements(mixed, report)

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


def _meant(order: str, graders: int, shown: int) -> str:
    """What an order comes to where there is no report, one grader only, or nothing shown."""
    if order == DISAGREEING and graders < 2:
        order = BALANCED
    if (order == BALANCED and not graders) or (order == CHOSEN and not shown):
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


def _disagreements(mixed: Rows, report: Any) -> Rows:
    """Rows on which the graders lie furthest apart, each on its own scale: a length would else decide alone."""
    scores = np.column_stack([scaled_scores(report, name) for name in report.graders])
    there = ~np.isnan(scores)
    high = np.where(there, scores, -np.inf).max(1)
    low = np.where(there, scores, np.inf).min(1)
    with np.errstate(invalid="ignore"):
        gap = np.where(there.sum(1) > 1, high - low, -1.0)
    return mixed[np.argsort(-gap[mixed], kind="stable")]


ORDERS = (RANDOM, BALANCED, DISAGREEING, CHOSEN)
"""Orders of a label queue; all are the same for the same report."""
