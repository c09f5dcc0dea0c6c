"""What a report knows of one grader, with the labels it is held against."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.diagnostics import Case
from workbench.diagnostics.labels import read_labels
from workbench.diagnostics.registry import pass_mark
from workbench.report.settings import label_column

if TYPE_CHECKING:
    from workbench.report.report import Report

__all__ = ["label_codes", "labelled_case"]


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
    mark = pass_mark(report.threshold, report.scale)
    return Case(grader, report.grades[grader], groups, known, mark, report.scale)
