"""Which row is labelled next, and how it was selected."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.app.session.labelled_texts import BALANCED, CHOSEN, DISAGREEING, RANDOM, of_stratum
from workbench.core.errors import WorkbenchError
from workbench.report.selection import Rows
from workbench.report.where import case_of, scaled_scores

if TYPE_CHECKING:
    from workbench.report import Report


# Fixed: a queue that is rebuilt, as after every run, must continue in the same order.
_SEED = 0


class LabelQueue:
    """The rows of a report, or of a dataset without one, in the order in which they are to be labelled.

    Args:
        order: Out of `ORDERS`.
        samples: The rows, n of them.
        report: Grades of these rows; None before a run.
        grader: Whose verdict balances the classes, and whose disagreements count; the first one by default.
        shown: Rows in the table, for "as shown".
        decided: Samples that are decided already: the classes are balanced over the others.
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
            raise WorkbenchError("unknown order", found=repr(order), expected=", ".join(ORDERS))
        self.samples = samples
        graders = report.graders if report is not None else []
        name = grader if grader in graders else next(iter(graders), None)
        shown_rows = np.asarray(shown, dtype=np.intp)
        has_labels = report is not None and report.labels is not None
        voters = len(graders) + (has_labels and bool(graders))
        self.order = _possible_order(order, voters, len(shown_rows))
        self._verdicts = _verdicts(report, name) if self.order == BALANCED else np.empty(0, np.int8)
        ids = [str(name) for name in samples.ids]
        rows = np.random.default_rng(_SEED).permutation(len(ids)).astype(np.intp)
        if self.order == CHOSEN:
            rows = shown_rows
        elif self.order == DISAGREEING:
            rows = _disagreements(rows, report, str(name))
        elif self.order == BALANCED:
            is_decided = np.array([ids[row] in decided for row in rows], bool)
            rows = np.concatenate(
                [_balanced(rows[part], self._verdicts) for part in (~is_decided, is_decided)]
            )
        self.rows: Rows = rows
        self._ids = [ids[row] for row in self.rows]

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, row: int) -> bool:
        return bool((self.rows == row).any())

    def next(self, decided: Mapping[str, Any], count: int = 1) -> list[int]:
        """The first `n` rows that are not decided, or fewer."""
        open_rows = (int(row) for row, name in zip(self.rows, self._ids, strict=True) if name not in decided)
        return list(islice(open_rows, count))

    def done(self, decided: Mapping[str, Any]) -> int:
        """Rows of the queue that are decided."""
        return sum(name in decided for name in self._ids)

    def drawn(self, row: int) -> str:
        """How a row was selected for labelling, as stored with its label."""
        if self.order != BALANCED:
            return self.order
        verdict = int(self._verdicts[row])
        return of_stratum(verdict, int((self._verdicts == verdict).sum()), len(self._verdicts))


def _possible_order(order: str, voters: int, n_shown: int) -> str:
    """The order used instead if there is no report, no second opinion, or nothing shown."""
    if order == DISAGREEING and voters < 2:
        order = BALANCED
    if (order == BALANCED and not voters) or (order == CHOSEN and not n_shown):
        return RANDOM
    return order


def _verdicts(report: Any, grader: Any) -> NDArray[np.int8]:
    """1 accepted, 0 rejected, -1 neither, of each row."""
    case = case_of(report, grader)
    verdict = np.full(len(report), -1, np.int8)
    verdict[case.rows] = case.accepted
    return verdict


def _balanced(rows: Rows, verdicts: NDArray[Any]) -> Rows:
    """Of every two rows one accepted and one rejected: each of the two error rates needs such rows.

    Which of the two comes first is random: strict alternation would reveal the grader's verdict to the labeller.
    """
    accepted, refused = (rows[verdicts[rows] == verdict] for verdict in (1, 0))
    n = min(len(accepted), len(refused))
    pairs = (
        np.random.default_rng(_SEED).permuted(np.column_stack([refused[:n], accepted[:n]]), axis=1).ravel()
    )
    return np.concatenate([pairs, accepted[n:], refused[n:], rows[verdicts[rows] < 0]])


def _disagreements(rows: Rows, report: Any, grader: str) -> Rows:
    """First rows on which a grader differs most from another one or from the label; then those where others differ."""
    scores = np.column_stack([scaled_scores(report, name) for name in report.graders])
    grader_scores = scaled_scores(report, grader)
    distances = np.abs(scores[:, [name != grader for name in report.graders]] - grader_scores[:, None])
    grader_distance = _largest(np.column_stack([distances, _wrong(report, grader)]))
    spread = _largest(scores) + _largest(-scores)
    return rows[np.lexsort((-spread[rows], -grader_distance[rows]))]


def _largest(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each line of (n, m) values; -1.0 if there is none."""
    has_value = ~np.isnan(values)
    return np.where(has_value.any(1), np.where(has_value, values, -np.inf).max(1, initial=-np.inf), -1.0)


def _wrong(report: Any, grader: str) -> NDArray[np.float64]:
    """1.0 if a grader differs from the known label, 0.0 if it agrees, NaN if one of the two is missing."""
    case, wrong = case_of(report, grader), np.full(len(report), np.nan)
    if report.labels is not None:
        labels = case.labels[case.rows]
        wrong[case.rows] = np.where(labels < 0, np.nan, case.accepted != (labels == 1))
    return wrong


ORDERS = (RANDOM, BALANCED, DISAGREEING, CHOSEN)
"""Orders of a label queue; all are the same for the same report."""
