"""Columns of the samples of a report that diagnostics may read: coded, and each read once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.coded_column import CodedColumn
from workbench.data.samples.plain import is_missing
from workbench.report.settings import SamplesLike

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
