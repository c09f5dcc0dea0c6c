"""Rows of a report as a table asks for them: a window at a time, sorted on demand."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.display_text import one_line
from workbench.errors import SamplesError
from workbench.grade import Grade
from workbench.grades import Grades
from workbench.report import Report
from workbench.report.frames import row_texts
from workbench.samples import Sample
from workbench.session.row_reader import read_row, whole_text
from workbench.session.row_source import Column
from workbench.thread import StringThread

__all__ = ["ReportRows", "last_question", "sample_of"]

Rows = NDArray[np.intp]

_CELL = 200
_TEXTS = {"prompt": 1, "completion": 2, "reference": 3}


class ReportRows:
    """Some rows of a report, in an order that can change.

    Args:
        report: Whose rows.
        rows: Row numbers (m,) in their natural order.
        graders: Names of the graders with a column; all by default.
        reasons: Whose reasoning and error stand in a column; none by default.
        labels: True, False or None for each row of the report (n,); None for no such column.
    """

    def __init__(
        self,
        report: Report,
        rows: Rows,
        *,
        graders: Sequence[str] | None = None,
        reasons: str | None = None,
        labels: Any = None,
    ) -> None:
        self._report, self._rows, self._order = report, rows, rows
        self._graders = list(report.graders if graders is None else graders)
        self._reasons, self._labels = reasons, labels
        self._last_window: tuple[bytes, list[tuple[Any, ...]]] | None = None
        self._cells: dict[str, _Cells] = self._make_columns()
        self.columns: list[Column] = [part.column for part in self._cells.values()]

    def _make_columns(self) -> dict[str, _Cells]:
        report = self._report
        cells: list[_Cells] = [_Ids(report)]
        cells += [_Text(name, self._texts_of, at) for name, at in list(_TEXTS.items())[:2]]
        cells += [_Scores(f"score {at}", name, report.grades[name]) for at, name in enumerate(self._graders)]
        cells += [_Labels(self._labels)] if self._labels is not None else []
        cells += [_Text("reference", self._texts_of, _TEXTS["reference"])]
        if self._reasons is not None:
            cells += [_Reasons(report.grades[self._reasons])]
        return {column.column.key: column for column in cells}

    def __len__(self) -> int:
        return len(self._order)

    @property
    def rows(self) -> Rows:
        """Row numbers in the current order, (m,)."""
        return self._order

    def window(self, start: int, stop: int) -> list[list[Any]]:
        """Cells of a window; see `RowSource.window`."""
        rows = self._order[start:stop]
        return [
            list(cells_of_row)
            for cells_of_row in zip(*(part.cells(rows) for part in self._cells.values()), strict=True)
        ]

    def sort(self, key: str, descending: bool) -> None:
        """Order by a column; rows without a value come last either way."""
        self._order = self._rows if not key else self._sorted(key, descending=descending)

    def _sorted(self, key: str, *, descending: bool) -> Rows:
        values, has_value = self._cells[key].keys(self._rows)
        with_value, without_value = self._rows[has_value], self._rows[~has_value]
        # Ranks can be negated where texts cannot, so that a descending order is stable as well.
        ranks = np.unique(values[has_value], return_inverse=True)[1]
        order = np.argsort(-ranks if descending else ranks, kind="stable")
        return np.concatenate([with_value[order], without_value])

    def detail(self, at: int) -> dict[str, Any]:
        """What the reader shows of a row; see `row_reader.read_row`."""
        sample, grades = self._read(at)
        row = int(self._order[at])
        return read_row(sample, grades, label=None if self._labels is None else self._labels[row])

    def more(self, at: int, part: str) -> str:
        """The whole of a text that was cut; see `row_reader.whole_text`."""
        return whole_text(*self._read(at), part)

    def _read(self, at: int) -> tuple[Sample, Mapping[str, Grade]]:
        row = int(self._order[at])
        grades = {name: columns[row] for name, columns in self._report.grades.items()}
        return sample_of(self._report.samples, row), grades

    def _texts_of(self, rows: Rows) -> list[tuple[Any, ...]]:
        """Texts of a window, read once for its three columns."""
        key = rows.tobytes()
        if self._last_window is None or self._last_window[0] != key:
            self._last_window = (key, row_texts(self._report.samples, rows, last_question))
        return self._last_window[1]


def sample_of(samples: Any, row: int) -> Sample:
    """A row, or in place of one that cannot be read a thread that says why."""
    try:
        sample: Sample = samples[row]
    except SamplesError as error:
        return Sample(str(samples.ids[row]), StringThread([("unreadable row", error.what)]), None, "")
    return sample


def last_question(thread: StringThread) -> str:
    """What the completion answers, in short: the last turn of the user that is no tool's answer, else the last turn.

    A system prompt is the same in every row, and would leave no room for what differs.
    """
    turns = thread.messages()
    questions = [
        turn for at, turn in enumerate(turns) if turn.role == "user" and thread.turn_answers(at) is None
    ]
    return str((questions or turns)[-1].content) if turns else ""


_LABELS: dict[bool | None, Any] = {
    True: {"text": "good", "kind": "good"},
    False: {"text": "bad", "kind": "bad"},
    None: None,
}


class _Cells(Protocol):
    column: Column

    def cells(self, rows: Rows) -> list[Any]:
        """What stands in these rows."""
        ...

    def keys(self, rows: Rows) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """What these rows are sorted by, and which have it."""
        ...


class _Ids:
    def __init__(self, report: Report) -> None:
        self.column = Column("row", "row", "row")
        self._ids = report.samples.ids

    def cells(self, rows: Rows) -> list[Any]:
        return [one_line(self._ids[row], 60) for row in rows]

    def keys(self, rows: Rows) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        return rows, np.ones(len(rows), bool)


class _Text:
    def __init__(self, name: str, texts: Callable[[Rows], list[tuple[Any, ...]]], at: int) -> None:
        self.column = Column(name, name, "text")
        self._texts, self._at = texts, at

    def cells(self, rows: Rows) -> list[Any]:
        return [one_line(texts[self._at], _CELL) for texts in self._texts(rows)]

    def keys(self, rows: Rows) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        texts = ["" if line[self._at] is None else str(line[self._at]) for line in self._texts(rows)]
        return np.array(texts, dtype=object), np.array([bool(text) for text in texts], dtype=bool)


class _Scores:
    def __init__(self, key: str, name: str, grades: Grades) -> None:
        self.column = Column(key, name, "score")
        self._grades = grades

    def cells(self, rows: Rows) -> list[Any]:
        return [self._cell(int(row)) for row in rows]

    def _cell(self, row: int) -> Any:
        score = self._grades.scores[row]
        if self._grades.codes[row] == 1:
            return float(score)
        error = self._grades.errors.get(row)
        if error is not None:
            return {"text": str(error.kind), "kind": "failed"}
        return {"text": str(self._grades.statuses[row]), "kind": "skipped"}

    def keys(self, rows: Rows) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        scores = self._grades.scores[rows]
        return scores, ~np.isnan(scores)


class _Labels:
    def __init__(self, labels: Sequence[bool | None]) -> None:
        self.column = Column("label", "label", "verdict")
        self._labels = labels

    def cells(self, rows: Rows) -> list[Any]:
        return [_LABELS[self._labels[row]] for row in rows]

    def keys(self, rows: Rows) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        values = np.array(
            [math.nan if self._labels[row] is None else float(self._labels[row] or 0) for row in rows]
        )
        return values, ~np.isnan(values)


class _Reasons:
    def __init__(self, grades: Grades) -> None:
        self.column = Column("reasoning", "reasoning", "text")
        self._grades = grades

    def cells(self, rows: Rows) -> list[Any]:
        return [one_line(self._reason(int(row)), _CELL) for row in rows]

    def _reason(self, row: int) -> str:
        error = self._grades.errors.get(row)
        return str(error) if error is not None else self._grades.reasoning.get(row) or ""

    def keys(self, rows: Rows) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        reasons = [self._reason(int(row)) for row in rows]
        return np.array(reasons, dtype=object), np.array([bool(reason) for reason in reasons], dtype=bool)
