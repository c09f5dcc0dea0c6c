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

__all__ = ["labelled_case"]


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
    given = report.labels if labels is None else label_column(report.samples, labels)
    known, mark = read_labels(given, len(report)), pass_mark(report.threshold, report.scale)
    return Case(grader, report.grades[grader], groups, known, mark, report.scale)
