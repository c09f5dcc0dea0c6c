"""The columns of the table: their cells in each row, and the keys for sorting."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.app.view.texts import Finder, around, pieces
from workbench.core.display_text import one_line
from workbench.core.grades import SCORED, Grades
from workbench.core.thread import StringThread
from workbench.data.samples import Samples
from workbench.data.samples.plain import is_missing
from workbench.data.samples.row_drawing import WrittenColumn, row_words
from workbench.report.frames import row_texts
from workbench.report.selection import Rows, part_name

Keys = tuple[NDArray[Any], NDArray[np.bool_]]

_CELL = 260  # characters: two lines of the widest column
_FIELD = 120
_QUESTION, _ANSWER, _REFERENCE = 1, 2, 3  # indices in `row_texts`


class TableColumn(Protocol):
    """One column of the table.

    Attributes:
        key: Its name in messages.
        title: The text in its header.
        kind: How it is drawn: "text", "number", "label", "score" or "row".
        width: Initial width in pixels; 0 for the remaining width.
    """

    key: str
    title: str
    kind: str
    width: int

    def cells(self, rows: Rows) -> list[dict[str, Any]]:
        """The cells of these rows, as `Cell`."""
        ...

    def keys(self, rows: Rows) -> Keys:
        """The sort keys of these rows, (m,), and which rows have one, (m,)."""
        ...


@dataclass
class TextWindow:
    """Texts of the visible rows, read once for all columns that show one."""

    samples: Samples
    _last: tuple[bytes, list[tuple[Any, ...]]] | None = field(default=None, repr=False)

    def of(self, rows: Rows) -> list[tuple[Any, ...]]:
        """Id, prompt, completion and reference of each row, (m,)."""
        key = rows.tobytes()
        if self._last is None or self._last[0] != key:
            self._last = (key, row_texts(self.samples, rows, last_question))
        return self._last[1]


@dataclass
class IdColumn:
    """The rows' ids; sorted by row number."""

    samples: Samples
    key: str = "id"
    title: str = "row"
    kind: str = "row"
    width: int = 96

    def cells(self, rows: Rows) -> list[dict[str, Any]]:
        """The ids of these rows."""
        ids = self.samples.ids
        return [{"t": [[one_line(ids[row], 60), ""]]} for row in rows]

    def keys(self, rows: Rows) -> Keys:
        """The row numbers."""
        return rows, np.ones(len(rows), bool)


@dataclass
class TextColumn:
    """Prompts, completions or references, cut around the first mark.

    Attributes:
        window: The source of the texts.
        place: 1 prompt, 2 completion, 3 reference.
        find: What is marked.
    """

    window: TextWindow
    place: int
    find: Finder
    key: str
    title: str
    kind: str = "text"
    width: int = 0

    def cells(self, rows: Rows) -> list[dict[str, Any]]:
        """The texts of these rows, in pieces."""
        return [self._cell(texts) for texts in self.window.of(rows)]

    def _cell(self, texts: tuple[Any, ...]) -> dict[str, Any]:
        value, expected = texts[self.place], texts[_REFERENCE]
        text = _plain(value).strip()
        if not text:
            return {"t": [["(empty)", ""]]}
        spans = list(self.find(text, expected if isinstance(expected, str) else ""))
        part, spans, cut = around(text, spans, _CELL)
        return {"t": pieces(part, spans), "cut": cut}

    def keys(self, rows: Rows) -> Keys:
        """The texts, or numbers in a column of numeric references."""
        texts = self._texts(rows)
        has_value = np.array([bool(text) for text in texts], dtype=bool)
        if self.place == _REFERENCE:  # numbers are often written as text, and are aligned right
            numbers = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").to_numpy(float)
            if np.isfinite(numbers[has_value]).all():
                return numbers, has_value
        return np.array(texts, dtype=object), has_value

    def _texts(self, rows: Rows) -> list[str]:
        samples = self.window.samples
        if self.place == _REFERENCE:
            return [_plain(reference) for reference in samples.references[rows]]
        words = row_words(samples)
        texts = words.questions if self.place == _QUESTION else words.answers
        return [texts[row] for row in rows]


@dataclass
class LabelColumn:
    """The labels of the rows.

    Attributes:
        labels: True good, False bad, None unknown, (n,).
        ids: The rows' ids, (n,).
        is_changed: Whether a user's label of a sample differs from the data's.
    """

    labels: Sequence[bool | None]
    ids: Any
    is_changed: Callable[[str], bool]
    key: str = "label"
    title: str = "label"
    kind: str = "label"
    width: int = 64

    def cells(self, rows: Rows) -> list[dict[str, Any]]:
        """The labels of these rows."""
        return [{"label": self.labels[row], "changed": self.is_changed(str(self.ids[row]))} for row in rows]

    def keys(self, rows: Rows) -> Keys:
        """Bad before good."""
        values = np.array(
            [math.nan if self.labels[row] is None else float(self.labels[row] or 0) for row in rows]
        )
        return values, ~np.isnan(values)


@dataclass
class TagColumn:
    """The tags of the rows' labels.

    Attributes:
        tags_of: Returns the tags of a sample.
        ids: The rows' ids, (n,).
    """

    tags_of: Callable[[str], Sequence[str]]
    ids: Any
    key: str = "tags"
    title: str = "tags"
    kind: str = "text"
    width: int = 140

    def _text(self, row: int) -> str:
        return one_line(", ".join(self.tags_of(str(self.ids[row]))), _CELL)

    def cells(self, rows: Rows) -> list[dict[str, Any]]:
        """The tags of these rows."""
        return [{"t": [[self._text(int(row)), ""]]} for row in rows]

    def keys(self, rows: Rows) -> Keys:
        """The texts."""
        texts = [self._text(int(row)) for row in rows]
        return np.array(texts, dtype=object), np.array([bool(text) for text in texts], dtype=bool)


@dataclass
class ScoreColumn:
    """One grader's scores.

    Attributes:
        grades: Its grades, n rows.
        parts: The part of each row, (n,); see `bins.parts_of`.
        before: Its grades before an edit, shown before the new ones; None without an edit.
    """

    grades: Grades
    parts: NDArray[np.int8]
    key: str
    title: str
    before: Grades | None = None
    kind: str = "score"
    width: int = 84

    def cells(self, rows: Rows) -> list[dict[str, Any]]:
        """The scores of these rows."""
        return [self._cell(int(row)) for row in rows]

    def _cell(self, row: int) -> dict[str, Any]:
        error = self.grades.errors.get(row)
        cell = {"score": score_text(self.grades, row), "part": part_name(self.parts[row])}
        if error is not None:
            cell["tip"] = one_line(error, 200)
        if self.before is not None:
            cell["was"] = score_text(self.before, row)
        return cell

    def keys(self, rows: Rows) -> Keys:
        """The scores."""
        scores = self.grades.scores[rows]
        return scores, ~np.isnan(scores)


@dataclass
class ReasonColumn:
    """A grader's reasoning or error message."""

    grades: Grades
    key: str = "why"
    title: str = "why"
    kind: str = "text"
    width: int = 200

    def cells(self, rows: Rows) -> list[dict[str, Any]]:
        """The reasoning of these rows."""
        return [{"t": [[one_line(self._reason(int(row)), _CELL), ""]]} for row in rows]

    def _reason(self, row: int) -> str:
        error = self.grades.errors.get(row)
        return str(error) if error is not None else self.grades.reasoning.get(row) or ""

    def keys(self, rows: Rows) -> Keys:
        """The texts."""
        reasons = [self._reason(int(row)) for row in rows]
        return np.array(reasons, dtype=object), np.array([bool(reason) for reason in reasons], dtype=bool)


@dataclass
class FieldColumn:
    """A column of the data.

    Attributes:
        values: Its cells, (n,).
        written: Returns the same as text: reading all of them takes long for many rows.
    """

    values: pd.Series[Any]
    written: Callable[[], WrittenColumn]
    key: str
    title: str
    kind: str = "text"
    width: int = 110

    def __post_init__(self) -> None:
        types = pd.api.types
        is_number = types.is_numeric_dtype(self.values) and not types.is_complex_dtype(self.values)
        if is_number and not types.is_bool_dtype(self.values):
            self.kind, self.width = "number", 80

    def cells(self, rows: Rows) -> list[dict[str, Any]]:
        """The values of these rows."""
        texts = ["" if is_missing(cell) else one_line(cell, _FIELD) for cell in self.values.iloc[rows]]
        if self.kind == "number":
            return [{"n": text} for text in texts]
        return [{"t": [[text, ""]]} for text in texts]

    def keys(self, rows: Rows) -> Keys:
        """The values: numbers and times by their size, also if they are text."""
        written = self.written()
        if written.scale is not None:
            points = written.scale.points[rows]
            return points, ~np.isnan(points)
        has_value = written.codes[rows] >= 0
        return np.array([str(cell) for cell in self.values.iloc[rows]], dtype=object), has_value


def score_text(grades: Grades, row: int) -> str:
    """A row's score as text; its status if it has none, "" if the grader never reached it."""
    if grades.codes[row] == SCORED:
        score = float(grades.scores[row])
        return f"{score:.0f}" if score in {0.0, 1.0} else f"{score:.3g}"
    status = str(grades.statuses[row])
    return "" if status == "missing" else status


def last_question(thread: StringThread) -> str:
    """The prompt in short: the last user turn that is not a tool result, else the last turn.

    A system prompt is the same in every row, and would leave no space for what differs.
    """
    turns = thread.messages()
    questions = [
        turn for at, turn in enumerate(turns) if turn.role == "user" and thread.turn_answers(at) is None
    ]
    return str((questions or turns)[-1].content) if turns else ""


def _plain(value: Any) -> str:
    return "" if value is None else str(value)


def sorted_rows(rows: Rows, keys: Callable[[Rows], Keys], *, descending: bool) -> Rows:
    """Rows in the order of a column; those without a value come last either way, equal ones retain their order.

    Args:
        rows: Row numbers in their natural order, (m,).
        keys: Of the column.
        descending: The largest first.
    """
    values, has_value = keys(rows)
    with_value, without_value = rows[has_value], rows[~has_value]
    present = values[has_value]
    if present.dtype == object:
        # Sorted by Python: numpy compares objects three times slower.
        texts = present.tolist()
        order = np.array(sorted(range(len(texts)), key=texts.__getitem__, reverse=descending), dtype=np.intp)
    else:
        order = np.argsort(-present if descending else present, kind="stable")
    return np.concatenate([with_value[order], without_value])
