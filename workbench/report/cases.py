"""One grader's part of a report, with the labels for its verdicts, as the input of diagnostics."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.diagnostics import Case
from workbench.analysis.diagnostics.labels import read_labels
from workbench.analysis.diagnostics.registry import threshold_on_scale
from workbench.core.errors import ReportError
from workbench.report.protocols import ReportLike
from workbench.report.settings import label_column

__all__ = ["label_codes", "labelled_case", "read_weights"]

_WEIGHT_TOLERANCE = 1e-9  # share of the largest weight: smaller differences are rounding errors


def label_codes(report: ReportLike) -> NDArray[np.int8]:
    """A report's labels as 1 good, 0 bad, -1 unknown, (n,); computed once and stored in the report.

    Raises:
        ReportError: Labels that cannot be read.
    """
    codes: NDArray[np.int8] | None = report.__dict__.get("_label_codes")
    if codes is None:
        codes = report.__dict__["_label_codes"] = read_labels(report.labels, len(report))
    return codes


def labelled_case(report: ReportLike, grader: str, groups: NDArray[np.intp], labels: Any = None) -> Case:
    """One grader's grades with prompts, labels and pass threshold.

    Args:
        report: The report.
        grader: Name of a grader of the report.
        groups: Prompt of each row as an integer code, (n,).
        labels: Labels to use instead of the report's, in any form that `Report` takes; None for the report's.

    Raises:
        ReportError: Labels that cannot be read.
    """
    codes = (
        label_codes(report)
        if labels is None
        else read_labels(label_column(report.samples, labels), len(report))
    )
    mark = threshold_on_scale(report.pass_threshold, report.scale)
    return Case(grader, report.grades[grader], groups, codes, mark, report.scale)


def read_weights(weights: Any, rows: NDArray[np.intp], n: int) -> NDArray[np.float64] | None:
    """How many rows each labelled row represents, (m,); None if all have equal weight.

    Args:
        weights: As in `Report.agreement`: one entry per row of the report, or None.
        rows: Numbers of the rows with a label and a verdict, (m,).
        n: Rows of the report.

    Raises:
        ReportError: Not one entry for each row, or the entry of a labelled row is not a number above 0.
    """
    if weights is None:
        return None
    try:
        column = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ReportError("weights must be numbers", found=str(error)[:120]) from None
    if column.shape != (n,):
        entries = f"{column.size:,} entries"
        raise ReportError("weights must have one entry per row", found=entries, expected=f"{n:,}")
    row_weights = column[rows]
    is_wrong = ~(np.isfinite(row_weights) & (row_weights > 0))
    if is_wrong.any():
        raise ReportError(
            "a labelled row has no weight",
            where=f"row {rows[is_wrong][0]}",
            found=str(row_weights[is_wrong][0]),
            expected="the number of rows it represents, above 0",
        )
    are_unequal = len(row_weights) and np.ptp(row_weights) > _WEIGHT_TOLERANCE * row_weights.max()
    return row_weights if are_unequal else None
