"""What a report is made with: its settings, checked before a run."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.diagnostics import check_arguments
from workbench.analysis.finding import Finding
from workbench.analysis.labels import Votes, is_label, read_labels
from workbench.analysis.suite_case import SuiteParts
from workbench.core.display_text import one_line
from workbench.core.errors import ReportError
from workbench.core.grades import Grades
from workbench.core.thread import StringThread
from workbench.report.validation_set import is_validation_set, read_validation_set

T = TypeVar("T")


class SampleLike(Protocol):
    """One row."""

    @property
    def id(self) -> str:
        """Its name, unique in the dataset."""

    @property
    def thread(self) -> StringThread:
        """The conversation."""

    @property
    def reference(self) -> Any:
        """What a correct completion looks like; None without a reference."""


class SamplesLike(Protocol):
    """Rows in a fixed order."""

    def __len__(self) -> int: ...

    def __getitem__(self, row: int, /) -> SampleLike: ...

    def take(self, rows: NDArray[np.intp], /) -> Iterable[SampleLike]:
        """The rows with these numbers, in this order."""

    @property
    def ids(self) -> Sequence[str] | NDArray[Any]:
        """Names, (n,)."""

    @property
    def groups(self) -> Sequence[Hashable] | NDArray[Any]:
        """The prompt of each row, (n,)."""

    @property
    def group_codes(self) -> NDArray[np.intp]:
        """`groups` as whole numbers from 0, (n,)."""

    def completions(self, rows: NDArray[np.intp] | None = None, /) -> Sequence[str | None]:
        """The texts of the completions of these rows, (m,), None if there is none."""

    def completion_lengths(self, rows: NDArray[np.intp] | None = None, /) -> NDArray[np.float64]:
        """Their number of characters, (m,), 0 if there is none."""

    def references_at(self, rows: NDArray[np.intp], /) -> NDArray[np.object_]:
        """The references of these rows, (m,), None if there is none."""

    @property
    def column_names(self) -> Sequence[Any]:
        """The names of the columns of `frame`."""

    def column(self, name: Any, /) -> pd.Series[Any]:
        """One column of `frame`."""

    @property
    def frame(self) -> pd.DataFrame:
        """The rows with all their columns, in the same order."""

    @property
    def columns(self) -> Mapping[str, str]:
        """Role to column name."""

    @property
    def notes(self) -> Sequence[str]:
        """Sentences about the rows that a user should read."""


class Analysis:
    """Values that were computed of one report, each once.

    Attributes:
        claims: Results of diagnostics by grader and kind, with the case they were computed for; see `diagnose`.
        summaries: Lines of the summary by grader, with the grades, prompts and scale they were computed of.
    """

    def __init__(self) -> None:
        self.claims: dict[Any, Any] = {}
        self.summaries: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {}
        self._values: dict[tuple[str, Hashable], Any] = {}

    def once(self, name: str, compute: Callable[[], T], *, of: Hashable = None) -> T:
        """The value of a name, computed at the first call.

        Args:
            name: The kind of value, such as "label codes".
            compute: Computes it.
            of: What it is computed of within the report, such as a grader's name.
        """
        if (name, of) not in self._values:
            self._values[name, of] = compute()
        value: T = self._values[name, of]
        return value


class ReportLike(Protocol):
    """Grades over samples, with labels, a pass threshold and findings: the interface of `Report` for modules that it imports."""

    def __len__(self) -> int: ...

    @property
    def samples(self) -> SamplesLike:
        """The rows, n of them."""

    @property
    def grades(self) -> Mapping[str, Grades]:
        """Grades by grader name, n rows each."""

    @property
    def labels(self) -> Sequence[bool | None] | str | None:
        """Label of each row, (n,): True known good, False known bad, None unknown. None without labels."""

    @property
    def groups(self) -> Sequence[Hashable] | NDArray[Any]:
        """The prompt of each row, (n,)."""

    @property
    def prompt_codes(self) -> NDArray[np.intp]:
        """`groups` as whole numbers from 0, (n,)."""

    @property
    def fingerprints(self) -> Mapping[str, Mapping[str, str]]:
        """Digests of the settings that each grader ran with, by its name."""

    @property
    def pass_threshold(self) -> float | None:
        """Pass threshold, on the scale; None for the middle of the scale."""

    @property
    def scale(self) -> tuple[float, float]:
        """Lowest and highest score of the graders' scale."""

    @property
    def suite(self) -> SuiteParts | None:
        """The suite that combines the graders; None if unknown."""

    @property
    def findings(self) -> Sequence[Finding]:
        """The findings, most severe first."""

    @property
    def analysis(self) -> Analysis:
        """What was computed of the report so far."""


AnyReport = TypeVar("AnyReport", bound=ReportLike)


def reuse(report: AnyReport, other: ReportLike) -> AnyReport:
    """Copy cached values of shared graders from another report over exactly the same rows.

    Args:
        report: The report; it is returned.
        other: The source; if its rows differ, nothing is copied.
    """
    if other.samples is report.samples:
        report.analysis.claims = other.analysis.claims
        report.analysis.summaries = other.analysis.summaries
        for name in ("columns", "prompt_codes"):
            report.__dict__.setdefault(name, getattr(other, name))
    return report


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
        ReportError: An unknown preset, invalid labels, ends of the scale not in order, or a pass threshold outside it.
    """
    label_values = label_column(samples, labels)
    check_arguments(
        len(samples), preset=preset, labels=label_values, pass_threshold=pass_threshold, scale=scale
    )


def label_column(samples: SamplesLike, labels: Any) -> Any:
    """Labels that are a column of the samples, passed by its name or as a Series; others are returned unchanged.

    Several names of columns, one per annotator, become `Votes`. The name of a file is read as a validation set of Inspect Scout.

    Raises:
        ReportError: The column does not exist, or one of several cannot be read as labels.
    """
    if _are_names(labels, samples):
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
    if labels not in frame and is_validation_set(labels):
        return read_validation_set(labels, samples)
    if labels not in frame:
        raise ReportError(f"unknown label column {labels!r}", found=", ".join(map(str, frame.columns[:30])))
    return frame[labels].tolist()


_LOOKED_AT = 500
"""Rows in which a column of labels is looked for. Workbench limit."""
_NAMED_AS_LABEL = re.compile(r"label|correct|verdict|human|annotat|passed|is_?good", re.IGNORECASE)
_CLEAR = frozenset(
    [
        "correct",
        "incorrect",
        "right",
        "wrong",
        "good",
        "bad",
        "pass",
        "fail",
        "passed",
        "failed",
        "accepted",
        "rejected",
    ]
)
"""Words that are labels under any name of their column; yes, true or 1 may state anything."""


_LABEL_CELLS = (str, bool, int, float, np.generic)
"""Types of cells that can be labels."""


def unused_labels(samples: SamplesLike, labels: Any) -> str:
    """One sentence on a column that seems to contain labels, for a report without any; "" if none or several do.

    Args:
        samples: The rows.
        labels: The labels of the report; "" if it has some.
    """
    if labels is not None:
        return ""
    frame = samples.frame.head(_LOOKED_AT)
    roles = set(map(str, samples.columns.values()))
    found = {
        name: words
        for name in frame.columns
        if str(name) not in roles and (words := _label_words(str(name), frame[name].tolist()))
    }
    if len(found) != 1:
        return ""
    ((name, words),) = found.items()
    shown = repr(one_line(name, 60))
    # `labels` takes names that are texts; one such as 5 would be refused as a single label.
    column = shown if isinstance(name, str) else f"report.samples.frame[{name!r}]"
    return (
        f"no labels were given; the column {shown} seems to contain some ({', '.join(words)}): "
        f"report.diagnose(labels={column})"
    )


def _label_words(name: str, cells: Sequence[Any]) -> list[str]:
    """The labels in a column whose cells are all good, bad or unlabelled; [] if it has others."""
    if not all(cell is None or cell is pd.NA or isinstance(cell, _LABEL_CELLS) for cell in cells):
        return []  # `isna` of a list is an array
    texts = list(dict.fromkeys(str(cell).strip() for cell in cells if not pd.isna(cell)))
    if not 1 < len(texts) <= 4 or not all(map(is_label, texts)):
        return []
    is_clear = bool(_CLEAR & {text.casefold() for text in texts}) or _NAMED_AS_LABEL.search(name) is not None
    codes = {int(code) for code in read_labels(texts, len(texts))}
    return texts[:3] if is_clear and {0, 1} <= codes else []


def _are_names(labels: Any, samples: SamplesLike) -> bool:
    """Whether these are names of columns rather than labels as text, such as "good"."""
    if not isinstance(labels, list | tuple) or not labels or len(labels) > _MAX_NAMES:
        return False
    if not all(isinstance(label, str) for label in labels):
        return False
    columns = samples.frame.columns
    if len(labels) != len(samples) and all(label in columns for label in labels):
        return True  # a column may be named "correct"
    is_column = len(labels) != len(samples) or any(label in columns for label in labels)
    return is_column and not any(is_label(label) for label in labels)


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
