"""The table of rows: which rows are shown, in which order, with which columns; a window at a time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.app.session.action import rows_code
from workbench.app.view.cells import (
    FieldColumn,
    IdColumn,
    LabelColumn,
    ReasonColumn,
    ScoreColumn,
    TableColumn,
    TagColumn,
    TextColumn,
    TextWindow,
    sorted_rows,
)  # fmt: skip
from workbench.app.view.rail import Change, GradedRows
from workbench.app.view.reader import reader_data
from workbench.app.view.texts import Finder, chip_id, chip_text, finder_of, shown_name, title_of, words_finder
from workbench.core import background
from workbench.core.display_text import one_line
from workbench.core.grades import Grades
from workbench.data.samples.row_drawing import known_words, row_words, rows_with_text, written_column
from workbench.report import Report
from workbench.report.selection import Rows
from workbench.report.where import Condition

if TYPE_CHECKING:
    from workbench.app.session.session import Session


FIRST = 60
"""Rows sent with every state, so that a table is never blank: more than any screen shows."""

MAX_ROWS = 400
"""Maximum rows of one window."""

_SHOWN = ("completion", "expected", "label")
_MAX_WRITTEN = 20  # row numbers in a line of code
_SMALL = 5_000  # maximum rows that are indexed immediately rather than in the background


@dataclass(frozen=True)
class TableSource:
    """The content of a table.

    Attributes:
        report: Grades of the rows; one without graders before a run.
        chosen: The selected grader; "" for none.
        labels: Label of each row, (n,); None if there are none.
        parts: The part of each row by grader; see `bins.parts_of`.
        before: Grades of the selected grader before an edit; None without one.
        find: What is marked in the completions without a search.
        is_changed: Whether a user's label of a sample differs from the data's.
        tags_of: Returns the tags of a sample's label; None if no label has one.
    """

    report: Report
    chosen: str
    labels: Sequence[bool | None] | None
    parts: Mapping[str, NDArray[np.int8]]
    before: Grades | None
    find: Finder
    is_changed: Callable[[str], bool] = field(default=lambda _: False)
    tags_of: Callable[[str], Sequence[str]] | None = None


@dataclass
class RowsTable:
    """The rows of a report that meet the chips above them and the search.

    Attributes:
        resolve: Function from a condition of the view to one of the report.
        where: The chips: conditions that all apply.
        search: Words that the rows contain.
        sort: Key of the column they are sorted by, "" for the original order, and whether the largest come first.
        revision: Counts the states of the table: replies for an older one are dropped.
        waits: Whether its search or order waits for the search index.
    """

    resolve: Callable[[Condition], Condition]
    where: tuple[Condition, ...] = ()
    search: str = ""
    sort: tuple[str, bool] = ("", False)
    revision: int = 0
    waits: bool = False
    rows: Rows = field(default_factory=lambda: np.empty(0, np.intp))
    _source: TableSource | None = None
    _columns: dict[str, TableColumn] = field(default_factory=dict)
    _window: TextWindow | None = None
    _layout: dict[str, tuple[bool, int]] = field(default_factory=dict)  # the user's choice: shown, width

    def show(self, source: TableSource) -> None:
        """Use another source; chips it does not support are dropped."""
        self._source = source
        self.where = tuple(condition for condition in self.where if self._answers(condition))
        self.update()

    def update(self) -> None:
        """Find the rows again, after chips, search or order have changed."""
        source = self._required
        self._columns = {column.key: column for column in self._make_columns(source)}
        rows = source.report.row_numbers(*map(self.resolve, self.where))
        key, descending = self.sort
        by_text = isinstance(column := self._columns.get(key), TextColumn)
        self.waits = self._words_are_missing and (bool(self.search) or by_text)
        if self.search and not self.waits:
            found = rows_with_text(row_words(source.report.samples).searched, self.search)
            rows = rows[np.isin(rows, found)]
        if column is not None and not (by_text and self.waits):
            rows = sorted_rows(rows, column.keys, descending=descending)
        self.rows = rows
        self.revision += 1

    @property
    def _words_are_missing(self) -> bool:
        """Whether the search index is still being built: until then nothing is searched or sorted by text."""
        samples = self._required.report.samples
        return len(samples) > _SMALL and known_words(samples) is None

    @property
    def _required(self) -> TableSource:
        assert self._source is not None
        return self._source

    def _answers(self, condition: Condition) -> bool:
        try:
            self._required.report.row_numbers(self.resolve(condition))
        except (ValueError, KeyError):
            return False
        return True

    def place_of(self, row: int) -> int:
        """The position of a row in the table; -1 if it is not shown."""
        places = np.flatnonzero(self.rows == row)
        return int(places[0]) if len(places) else -1

    def _make_columns(self, source: TableSource) -> Iterable[TableColumn]:
        samples: Any = source.report.samples
        if self._window is None or self._window.samples is not samples:
            self._window = TextWindow(samples)  # cached over edits: they change scores, not texts
        window = self._window
        find = words_finder(self.search) if self.search else source.find
        nothing: Finder = lambda _text, _expected: ()  # noqa: E731 (a function that finds nothing)
        yield IdColumn(samples)
        yield TextColumn(
            window, 1, words_finder(self.search) if self.search else nothing, "prompt", "prompt", width=200
        )
        yield TextColumn(window, 2, find, "completion", "completion")
        if "reference" in samples.columns:
            yield TextColumn(window, 3, nothing, "expected", "reference", width=72)
        if source.labels is not None:
            yield LabelColumn(source.labels, samples.ids, source.is_changed)
        if source.tags_of is not None:
            yield TagColumn(source.tags_of, samples.ids)
        yield from self._score_columns(source)
        roles = set(samples.columns.values())
        frame = samples.frame
        keys = Counter[str]()
        for name in frame.columns:
            if name not in roles:
                title = one_line(name, 80)
                keys[title] += 1  # long names may look alike
                number = f" {keys[title]}" if keys[title] > 1 else ""
                yield FieldColumn(
                    frame[name], partial(written_column, samples, name), f"field {title}{number}", title
                )

    def _score_columns(self, source: TableSource) -> Iterable[TableColumn]:
        grades = source.report.grades
        if source.chosen in grades:
            title = "score" if source.before is None else "was, is"
            yield ScoreColumn(
                grades[source.chosen], source.parts[source.chosen], "score", title, source.before
            )
            yield ReasonColumn(grades[source.chosen])
        for name in grades:
            if name != source.chosen:
                title = shown_name(name)
                yield ScoreColumn(grades[name], source.parts[name], f"score {title}", title)

    def chosen_columns(self) -> dict[str, list[Any]]:
        """Columns that a user showed, hid or sized, by key: whether shown, and the width in pixels (0 for the remaining width)."""
        return {key: [shown, width] for key, (shown, width) in self._layout.items()}

    def choose_columns(self, columns: Mapping[str, Any]) -> None:
        """Show columns as in `chosen_columns`, and all others by default."""
        self._layout = {}
        self.layout({"key": key, "shown": shown, "width": width} for key, (shown, width) in columns.items())

    def _is_shown(self, column: TableColumn) -> bool:
        return self._layout.get(column.key, (column.key in _SHOWN or column.key == "score", 0))[0]

    def layout(self, columns: Iterable[Mapping[str, Any]]) -> None:
        """Show and size columns as a user chose; the completion cannot be hidden if no other column is shown.

        Args:
            columns: `key`, `shown` and `width` of each.
        """
        self._layout |= {str(each["key"]): (bool(each["shown"]), int(each["width"])) for each in columns}
        if not any(self._is_shown(column) for column in self._columns.values()):
            self._layout.pop("completion", None)
        self.revision += 1

    @property
    def _shown(self) -> list[TableColumn]:
        return [column for column in self._columns.values() if self._is_shown(column)]

    def window(self, start: int, stop: int) -> list[dict[str, Any]]:
        """Rows from one position to another in the current order, as `Row`."""
        rows = self.rows[max(start, 0) : min(stop, start + MAX_ROWS)]
        ids = self._required.report.samples.ids
        columns = [column.cells(rows) for column in self._shown]
        cells = zip(*columns, strict=True) if columns else ((),) * len(rows)
        return [
            {"row": int(row), "id": one_line(ids[row], 120), "cells": list(each)}
            for row, each in zip(rows, cells, strict=True)
        ]

    def data(self, everything: str = "All rows", note: str = "") -> dict[str, Any]:
        """The table as `Table`.

        Args:
            everything: Its title without chips.
            note: Text next to the title; "50 of 500 rows" by default.
        """
        source = self._required
        total = len(source.report)
        key, descending = self.sort
        return {
            "revision": self.revision,
            "title": title_of(self.where, source.chosen, everything),
            "note": note or f"{len(self.rows):,} of {total:,} rows",
            "count": len(self.rows),
            "total": total,
            "filters": [{"id": chip_id(each), "text": chip_text(each, source.chosen)} for each in self.where],
            "search": self.search,
            "busy": self.waits,
            "columns": [self._column_info(column) for column in self._columns.values()],
            "sort": {"key": key, "descending": descending},
            "first": self.window(0, FIRST),
            "fields": [column.title for column in self._columns.values() if isinstance(column, FieldColumn)],
            "has_tags": "tags" in self._columns,
        }

    def _column_info(self, column: TableColumn) -> dict[str, Any]:
        width = self._layout.get(column.key, (False, 0))[1] or column.width
        info = {"key": column.key, "title": column.title, "kind": column.kind}
        return {**info, "shown": self._is_shown(column), "width": width}


class ShownRows:
    """The rows part of the view.

    Args:
        session: The session.
        mark: Called with names of parts of the state that are out of date.

    Attributes:
        table: The rows that meet the chips and the search, in order.
    """

    def __init__(self, session: Session, mark: Callable[..., object]) -> None:
        self._session, self._mark = session, mark
        self.table = RowsTable(self.resolved)
        self._looked: tuple[Condition, ...] = ()  # the chips in the report's form
        self._indexed: Any = None
        self._change: Change | None = None
        self._samples: Any = None  # of the shown report, whose rows a tag names

    def table_data(self, graded: GradedRows, chosen: str, change: Change | None) -> dict[str, Any]:
        """The table as `Table`.

        Args:
            graded: The report that is shown.
            chosen: The chosen grader.
            change: The effect of its edit; None for none.
        """
        self._change, self._samples = change, graded.report.samples
        labels = self._session.labels
        has_grades = bool(graded.report.grades)
        self._follow_results()
        if change is None:
            self.table.where = tuple(each for each in self.table.where if "changed" not in each)
        self.table.show(
            TableSource(
                graded.report, chosen if chosen in graded else "", graded.labels, graded.all_parts,
                None if change is None else change.grades, self._finder(chosen), labels.is_changed,
                labels.tags_of if labels.has_tags else None,
            )
        )  # fmt: skip
        self._looked = tuple(map(self.resolved, self.table.where))
        if has_grades:
            self._session.results.where = (
                self._looked
            )  # the set of rows that an edit changed is different now
        return self.table.data("All rows" if has_grades else "Your rows", "" if has_grades else _note(graded))

    def reader_data(self, graded: GradedRows, chosen: str) -> dict[str, Any] | None:
        """The row in the reader as `ReaderData`; None for none."""
        row = self._session.results.row
        if row is None or row >= len(graded.report):
            return None
        tags = {"tags": list(self._session.labels.tags_of(str(graded.report.samples.ids[row])))}
        return tags | reader_data(
            graded.report, row,
            rows=self.table.rows,
            find=words_finder(self.table.search) if self.table.search else self._finder(chosen),
            labels=graded.labels,
            parts=graded.all_parts,
            label_origin=(self._labelled_by(graded, row), self._given(graded, row)),
        )  # fmt: skip

    def look(self, graded: GradedRows, conditions: tuple[Condition, ...]) -> None:
        """Show the rows that meet all of these conditions.

        Raises:
            ReportError: A condition that is not supported.
        """
        self._samples = graded.report.samples
        resolved = tuple(map(self.resolved, conditions))
        if graded.report.grades:
            self._session.results.look(*resolved)
        else:
            graded.report.row_numbers(*resolved)
        self.table.where, self._looked = conditions, resolved
        self.show_code()
        self._mark("chosen", "table", "reader")

    def find(self, words: str) -> None:
        """Narrow the rows to those that contain these words; "" for all."""
        self.table.search = words
        self.show_code()
        self._mark("table", "reader")

    def show_code(self) -> None:
        """Set the line for the shown rows, once there are grades."""
        if self._session.results.report is None:
            return
        self._follow_results()
        if any(
            {"changed", "tag"} & set(each) or len(each.get("rows", ())) > _MAX_WRITTEN
            for each in self.table.where
        ):
            self._session.code.text = "app.selected"  # no short condition of a report expresses these rows
        else:
            self._session.code.text = rows_code(self.conditions)

    def _follow_results(self) -> None:
        """Take over conditions that were set elsewhere, for example by a cell."""
        if self._session.results.report is not None and self._session.results.where != self._looked:
            self.table.where = self._looked = self._session.results.where

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions of the shown rows, including the search, in the report's form."""
        return (*map(self.resolved, self.table.where), *self.words)

    @property
    def words(self) -> tuple[Condition, ...]:
        """The search as a condition; none without a search."""
        return ({"text": self.table.search},) if self.table.search else ()

    def as_csv(self, graded: GradedRows) -> str:
        """The shown rows, with every grader's score, the labels, and the columns of the data, as CSV."""
        report = graded.report
        frame = report.rows(where=self.table.rows)
        numbers = frame.index.to_numpy()
        if graded.labels is not None:
            words = {True: "good", False: "bad", None: ""}
            frame["label"] = [words[graded.labels[row]] for row in numbers]
        samples: Any = report.samples
        if self._session.labels.has_tags:
            own_column = "tags" in map(str, samples.frame.columns)
            frame["label tags" if own_column else "tags"] = [
                "; ".join(self._session.labels.tags_of(str(samples.ids[row]))) for row in numbers
            ]
        data, roles = samples.frame.iloc[numbers], set(samples.columns.values())
        for name in data.columns:
            if name not in roles and str(name) not in frame.columns:
                frame[str(name)] = data[name].to_numpy()
        return str(frame.to_csv())

    def _finder(self, chosen: str) -> Finder:
        """What is marked in completions without a search."""
        return finder_of(self._session.graders.by_name.get(chosen))

    def _labelled_by(self, graded: GradedRows, row: int) -> str:
        label = self._session.labels.latest.get(str(graded.report.samples.ids[row]))
        return "" if label is None else one_line(label.labeller, 60)

    def _given(self, graded: GradedRows, row: int) -> bool | None:
        """The data's label of a row, if a user's differs from it."""
        name, labels = str(graded.report.samples.ids[row]), self._session.labels
        return labels.given_of(name) if labels.is_changed(name) else None

    def resolved(self, condition: Condition) -> Condition:
        """A condition of the view in the report's form."""
        if "tag" in condition and self._samples is not None:
            return {"rows": self._session.labels.rows_with_tag(self._samples, str(condition["tag"]))}
        if "changed" not in condition:
            return condition
        change, part, nothing = self._change, str(condition["changed"]), np.empty(0, np.intp)
        rows = nothing if change is None else change.parts.get(part, nothing) if part else change.rows
        return {"rows": rows.tolist()}

    def read_words(self, graded: GradedRows) -> None:
        """Build the search index in the background, and show the table again when it is complete.

        Reading blocks the interpreter: it waits until the rows are loaded and the first grading is
        complete, unless the table waits for the index.

        Args:
            graded: The report that is shown.
        """
        samples, live = graded.report.samples, self._session.live
        if not (self.table.waits or (live.active and live.idle)):
            return
        if samples is not self._indexed and (self.table.waits or known_words(samples) is None):
            self._indexed = samples
            background.then(background.submit(asyncio.to_thread(self._read, samples)), self._words_read)

    def _read(self, samples: Any) -> None:
        row_words(samples)
        _ = self._session.labels.dataset  # deriving the dataset's name may read all rows, too

    def _words_read(self, future: Future[Any]) -> None:
        with self._session.guard.locked("Rows"):
            future.result()
            if self.table.waits:
                self._mark("table")


def _note(graded: GradedRows) -> str:
    """A sentence about the dataset's rows, before the first run."""
    labels = [label for label in graded.labels or () if label is not None]
    note = f"{len(graded.report):,} completions of {graded.report.columns.n_prompts:,} prompts"
    return f"{note}; labels: {sum(labels):,} good, {len(labels) - sum(labels):,} bad" if labels else note
