"""The settings of a report other than its grades, checked before a long run as well as after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from workbench.analysis.diagnostics.labels import is_label, read_labels
from workbench.analysis.diagnostics.registry import check_arguments
from workbench.analysis.diagnostics.votes import Votes
from workbench.core.errors import ReportError
from workbench.core.grades import Grades
from workbench.report.protocols import SamplesLike

__all__ = ["check_lengths", "check_settings", "label_column"]

_MAX_NAMES = 100  # annotators whose labels are columns: a longer list can only be labels


def check_settings(
    samples: SamplesLike,
    *,
    preset: str = "workbench",
    labels: Any = None,
    pass_threshold: float | None = None,
    scale: tuple[float, float] = (0.0, 1.0),
) -> None:
    """Raise the errors that a report over these samples would raise for its settings, before any row is graded.

    Args:
        samples: The rows to be graded.
        preset: As in `Report`.
        labels: As in `Report`.
        pass_threshold: As in `Report`.
        scale: As in `Report`.

    Raises:
        ReportError: An unknown preset, invalid labels or not one per row, a scale whose
            ends are not in order, or a pass threshold outside the scale.
    """
    label_values = label_column(samples, labels)
    check_arguments(
        len(samples), preset=preset, labels=label_values, pass_threshold=pass_threshold, scale=scale
    )


def label_column(samples: SamplesLike, labels: Any) -> Any:
    """Labels that are a column of the samples, passed by its name or as a Series; others are returned unchanged.

    Several names of columns, one per annotator, become `Votes`.

    Raises:
        ReportError: The column does not exist, or one of several cannot be read as labels.
    """
    if _are_names(labels) and (len(labels) != len(samples) or any(name in samples.frame for name in labels)):
        _refuse_repeated(labels)
        columns = [label_column(samples, name) for name in labels]
        codes = [read_labels(column, len(samples)) for column in columns]
        return Votes(tuple(labels), np.column_stack(codes))
    if not isinstance(labels, str | pd.Series):
        return labels
    frame = samples.frame
    if isinstance(labels, pd.Series):
        # With the frame's index they are in its order; `read_labels` refuses any other.
        return labels.tolist() if labels.index.equals(frame.index) else labels
    if labels not in frame:
        raise ReportError(
            f"unknown label column {labels!r}",
            found=", ".join(map(str, frame.columns[:30])),
        )
    return frame[labels].tolist()


def _are_names(labels: Any) -> bool:
    """Whether these are names of columns rather than labels as text, such as "good"."""
    if not isinstance(labels, list | tuple) or not labels or len(labels) > _MAX_NAMES:
        return False
    return all(isinstance(label, str) and not is_label(label) for label in labels)


def _refuse_repeated(names: Sequence[str]) -> None:
    """Refuse a duplicate column: an annotator would agree with itself."""
    repeated = next((name for name in names if list(names).count(name) > 1), None)
    if repeated is not None:
        raise ReportError("duplicate label column", found=repr(list(names)), expected=f"{repeated!r} once")


def check_lengths(grades: Mapping[str, Grades], n: int) -> None:
    """Refuse grades of another number of rows than the samples have.

    Raises:
        ReportError: The first grader whose grades are not n.
    """
    for name, columns in grades.items():
        if len(columns) != n:
            raise ReportError(
                "grades and samples do not match",
                where=f"grader {name!r}",
                found=f"{len(columns):,} grades",
                expected=f"{n:,}, one per sample",
            )
