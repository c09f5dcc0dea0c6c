"""The selected rows as the other parts of the view show them: a share of every bar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.case import Case
from workbench.app.view.chosen import MAX_VALUES, places_of
from workbench.app.view.texts import shown_name
from workbench.report.selection import BINS, counts_of

if TYPE_CHECKING:
    from workbench.app.view.rail import GradedRows
    from workbench.app.view.table import RowsTable


_MAX_ORIGIN = 20_000  # rows: counting the values of a column in more would delay every click


def picked_data(
    graded: GradedRows, chosen: str, table: RowsTable, origin: dict[str, Any] | None
) -> dict[str, Any] | None:
    """The selected rows in every other part of the view, as `Picked`; None if all rows are shown.

    Args:
        graded: The report that is shown.
        chosen: The selected grader; "" for none.
        table: The rows.
        origin: Where the evidence rows of its finding come from, as `From`.
    """
    if not (table.where or table.search) or not graded.report.grades:
        return None
    is_picked = np.zeros(len(graded.report), bool)
    is_picked[table.rows] = True
    rows = np.flatnonzero(is_picked)
    lines = origin["lines"] if origin and len(is_picked) <= _MAX_ORIGIN else []
    return {
        "graders": {shown_name(name): counts_of(parts, rows) for name, parts in graded.all_parts.items()},
        "scores": picked_scores(graded.case(chosen), is_picked) if chosen in graded else [],
        "origin": [int(is_picked[graded.report.row_numbers(*line["where"])].sum()) for line in lines],
    }


def picked_scores(case: Case, is_picked: NDArray[np.bool_]) -> list[list[int]]:
    """How many of some rows each bar of `scores_data` contains: those not known bad, and the known bad.

    Args:
        case: A grader's grades with labels and pass threshold.
        is_picked: Which rows, (n,).
    """
    values, places = np.unique(case.grades.scores[case.rows], return_inverse=True)
    few = len(values) <= MAX_VALUES
    places = len(values) - 1 - places if few else places_of(case)  # bars of values go from high to low
    picked, is_bad = is_picked[case.rows], case.labels[case.rows] == 0
    n_bars = len(values) if few else BINS
    sides = [np.bincount(places[picked & side], minlength=n_bars).tolist() for side in (~is_bad, is_bad)]
    return [[int(up), int(down)] for up, down in zip(*sides, strict=True)]
