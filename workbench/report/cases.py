"""What a report knows of one grader, with the labels it is held against."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.diagnostics import Case
from workbench.diagnostics.labels import read_labels
from workbench.diagnostics.registry import pass_mark
from workbench.errors import ReportError
from workbench.report.settings import label_column

if TYPE_CHECKING:
    from workbench.report.report import Report

__all__ = ["label_codes", "labelled_case", "read_weights"]

_SAME = 1e-9  # of the largest: weights that differ in rounding


def label_codes(report: Report) -> NDArray[np.int8]:
    """A report's own labels as 1 good, 0 bad, -1 unknown, (n,); read once and kept with the report.

    Raises:
        ReportError: Labels that cannot be read.
    """
    held: NDArray[np.int8] | None = report.__dict__.get("_label_codes")
    if held is None:
        held = report.__dict__["_label_codes"] = read_labels(report.labels, len(report))
    return held


def labelled_case(report: Report, grader: str, groups: NDArray[np.intp], labels: Any = None) -> Case:
    """One grader's grades with prompts, labels and pass mark.

    Args:
        report: Where they are.
        grader: Its name, which the report has.
        groups: Prompt of each row as an integer code, (n,).
        labels: Other labels than the report's own, in any form it takes; None for these.

    Raises:
        ReportError: Labels that cannot be read.
    """
    known = (
        label_codes(report)
        if labels is None
        else read_labels(label_column(report.samples, labels), len(report))
    )
    mark = pass_mark(report.pass_threshold, report.scale)
    return Case(grader, report.grades[grader], groups, known, mark, report.scale)


def read_weights(weights: Any, rows: NDArray[np.intp], n: int) -> NDArray[np.float64] | None:
    """How many rows each of these stands for, (m,); None where all count alike.

    Args:
        weights: As in `Report.agreement`: one entry a row of the report, or None.
        rows: Numbers of the rows that have a label and a verdict, (m,).
        n: Rows of the report.

    Raises:
        ReportError: Not one entry a row, or one of these rows has no number above 0.
    """
    if weights is None:
        return None
    try:
        given = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ReportError("weights must be numbers", found=str(error)[:120]) from None
    if given.shape != (n,):
        found = f"{given.size:,} entries"
        raise ReportError("weights must have one entry a row", found=found, expected=f"{n:,}")
    used = given[rows]
    wrong = ~(np.isfinite(used) & (used > 0))
    if wrong.any():
        where, expected = f"row {rows[wrong][0]}", "how many rows it stands for, a number above 0"
        raise ReportError(
            "a labelled row has no weight", where=where, found=str(used[wrong][0]), expected=expected
        )
    return used if len(used) and np.ptp(used) > _SAME * used.max() else None
