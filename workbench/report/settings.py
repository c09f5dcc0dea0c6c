"""What a report is made with: its settings, checked before a run, and columns of the rows that diagnostics may read."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.coded_column import CodedColumn
from workbench.analysis.diagnostics import check_arguments
from workbench.analysis.finding import Finding
from workbench.analysis.labels import Votes, is_label, read_labels
from workbench.analysis.suite_case import SuiteParts
from workbench.core.errors import ReportError
from workbench.core.grades import Grades
from workbench.core.thread import StringThread
from workbench.data.samples.plain import is_missing
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
    """

    def __init__(self) -> None:
        self.claims: dict[Any, Any] = {}
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


TOPIC_COLUMN = "topic"
"""The column with each row's topic, as in vLLora's datasets."""


ANNOTATOR_COLUMNS = ("annotator", "annotator_id", "labeller", "labeler", "labelled_by", "labeled_by", "rater")
"""Columns with the annotator of each label; the first existing one is used."""

WRITER_COLUMNS = ("writer", "model", "model_name", "policy", "generator")
"""Columns with the model that wrote a completion; the first existing one is used."""

POSITION_COLUMNS = ("position", "answer_position", "slot", "shown_as")
"""Columns with the position at which a completion was shown; the first existing one is used."""


_MAX_VALUES = 50
"""Maximum number of values of a column that groups rows; one with more describes single rows."""


_TEXTS_AT_ONCE = 8_192
"""Number of rows whose texts are in memory at a time."""

_FIRST_ROWS = 1_000
"""Number of rows that reveal most columns with many values."""


def few_valued_columns(samples: SamplesLike) -> list[str]:
    """Names of the columns with 2 to 50 values, other than prompt, completion and reference."""
    texts = {name for role, name in getattr(samples, "columns", {}).items() if role != "group"}
    first: Any = samples.take(np.arange(min(len(samples), _FIRST_ROWS)))
    return [
        str(name)
        for name in samples.column_names
        # A sample of rows rules out texts and numbers, so that whole columns are read only if they probably qualify.
        if name not in texts
        and _distinct(first.column(name)) <= _MAX_VALUES
        and 1 < _distinct(samples.column(name)) <= _MAX_VALUES
    ]


def _distinct(column: Any) -> int:
    """Number of distinct values of a column; 0 for a column of lists or dicts."""
    try:
        return int(column.nunique())
    except TypeError:
        return 0


def _coded_texts(column: Any, missing: str | None) -> CodedColumn:
    """A column's cells as text; missing ones as this text, or as missing."""
    coded = CodedColumn.of_column(column, missing)
    if coded is None:
        coded = CodedColumn.of_texts(missing if is_missing(cell) else str(cell) for cell in column)
    return coded


@dataclass(frozen=True)
class SampleColumns:
    """Columns of the samples of a report, for `diagnostics.case.RowContext`.

    Attributes:
        samples: The rows.
    """

    samples: SamplesLike

    @cached_property
    def topics(self) -> Sequence[Any] | None:
        """Topic of each row, (n,), None for a row without one; None without a column `topic`."""
        return self._named([TOPIC_COLUMN])

    @cached_property
    def coded_topics(self) -> CodedColumn | None:
        """`topics` as integers."""
        return self._coded([TOPIC_COLUMN])

    @cached_property
    def annotators(self) -> list[Any] | None:
        """Annotator of each label, (n,), None if unknown; None without such a column."""
        return self._named(ANNOTATOR_COLUMNS)

    @cached_property
    def writers(self) -> CodedColumn | None:
        """Model that wrote each completion, n cells, missing if unknown; None without such a column."""
        return self._coded(WRITER_COLUMNS)

    @cached_property
    def positions(self) -> CodedColumn | None:
        """Position at which each completion was shown, n cells, missing if unknown; None without such a column."""
        return self._coded(POSITION_COLUMNS)

    @cached_property
    def names(self) -> list[str]:
        """Columns that are not read into the thread and are neither prompt, completion nor reference."""
        roles = set(getattr(self.samples, "columns", {}).values())
        return [str(name) for name in self._all_names if name not in roles]

    @cached_property
    def n_prompts(self) -> int:
        """Number of distinct prompts."""
        return int(self.samples.group_codes.max(initial=-1)) + 1

    @cached_property
    def few_valued(self) -> dict[str, NDArray[Any]]:
        """Columns with 2 to 50 values, other than prompt, completion and reference: cells as text, (n,) each, "" for empty."""
        return {name: column.texts for name, column in self.coded.items()}

    @cached_property
    def coded(self) -> dict[str, CodedColumn]:
        """The columns of `few_valued` as integers."""
        names = few_valued_columns(self.samples)
        return {
            str(name): _coded_texts(self.samples.column(name), "")
            for name in self.samples.column_names
            if str(name) in names
        }

    @cached_property
    def _all_names(self) -> list[Any]:
        return list(self.samples.column_names)

    def _coded(self, names: Sequence[str]) -> CodedColumn | None:
        """The first of these columns that the samples have; None without."""
        name = next((name for name in names if name in self._all_names), None)
        return None if name is None else _coded_texts(self.samples.column(name), None)

    def _named(self, names: Sequence[str]) -> list[Any] | None:
        """The first of these columns that the samples have, as text, (n,)."""
        name = next((name for name in names if name in self._all_names), None)
        if name is None:
            return None
        cells = self.samples.column(name).tolist()
        if set(map(type, cells)) <= {
            str
        }:  # the usual case, and checking each value would dominate the run time
            return cells
        return [None if is_missing(cell) else str(cell) for cell in cells]

    @cached_property
    def lengths(self) -> NDArray[np.float64]:
        """Characters of each completion, (n,); 0 if there is none."""
        return self._lengths.copy()

    def lengths_of(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Characters of the completions of these rows, (m,); 0 if there is none. Each row is read once."""
        return self._lengths[rows]

    def hashes_of(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """A number for each of these rows, (m,), equal if completion and reference are. Each row is read once.

        A row without text, such as one that ends with a tool call, equals no other.
        """
        self._read(rows)
        return self._known_hashes[rows]

    def is_reference(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Whether the completions of these rows equal the reference exactly, (m,). Each row is read once."""
        self._read(rows)
        return self._known_references[rows]

    def column(self, name: str) -> Sequence[Any] | None:
        """The cells of a column of the samples, (n,); None if it does not exist."""
        return self.samples.column(name).tolist() if name in self._all_names else None

    def _read(self, rows: NDArray[np.intp]) -> None:
        unread = rows[~self._is_read[rows]]
        # In batches: all texts of a large dataset take more memory than everything else here.
        for start in range(0, len(unread), _TEXTS_AT_ONCE):
            part = unread[start : start + _TEXTS_AT_ONCE]
            texts = [text or "" for text in self.samples.completions(part)]
            wanted = self.samples.references_at(part).tolist()
            self._known_hashes[part] = [
                hash((text, str(reference))) if text else hash((row,))
                for row, text, reference in zip(part.tolist(), texts, wanted, strict=True)
            ]
            self._known_references[part] = [
                type(reference) is str and reference.strip() == text.strip() != ""
                for text, reference in zip(texts, wanted, strict=True)
            ]
        self._is_read[unread] = True

    @cached_property
    def _lengths(self) -> NDArray[np.float64]:
        return self.samples.completion_lengths()

    @cached_property
    def _is_read(self) -> NDArray[np.bool_]:
        return np.zeros(len(self.samples), np.bool_)

    @cached_property
    def _known_hashes(self) -> NDArray[np.int64]:
        return np.zeros(len(self.samples), np.int64)

    @cached_property
    def _known_references(self) -> NDArray[np.bool_]:
        return np.zeros(len(self.samples), np.bool_)
