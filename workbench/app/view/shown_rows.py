"""The shown rows: the table, the row in the reader, and the search index of large datasets, built in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.app.session.code_lines import rows_code
from workbench.app.view.changes import Change
from workbench.app.view.conditions import Condition
from workbench.app.view.graded import GradedRows
from workbench.app.view.pieces import Finder, finder_of, words_finder
from workbench.app.view.reader import reader_data
from workbench.app.view.table import RowsTable, TableSource
from workbench.core import background
from workbench.core.display_text import one_line
from workbench.data.samples.search import known_words, row_words

if TYPE_CHECKING:
    from workbench.app.session.session import Session

__all__ = ["ShownRows"]


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

    def table_data(self, graded: GradedRows, chosen: str, change: Change | None) -> dict[str, Any]:
        """The table as `Table`.

        Args:
            graded: The report that is shown.
            chosen: The chosen grader.
            change: The effect of its edit; None for none.
        """
        self._change = change
        has_grades = bool(graded.report.grades)
        self._follow_results()
        if change is None:
            self.table.where = tuple(each for each in self.table.where if "changed" not in each)
        self.table.show(
            TableSource(
                graded.report, chosen if chosen in graded else "", graded.labels, graded.all_parts,
                None if change is None else change.grades, self._finder(chosen),
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
        return reader_data(
            graded.report, row,
            rows=self.table.rows,
            find=words_finder(self.table.search) if self.table.search else self._finder(chosen),
            labels=graded.labels,
            parts=graded.all_parts,
            labelled_by=self._labelled_by(graded, row),
        )  # fmt: skip

    def look(self, graded: GradedRows, conditions: tuple[Condition, ...]) -> None:
        """Show the rows that meet all of these conditions.

        Raises:
            ReportError: A condition that is not supported.
        """
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
        if any("changed" in condition for condition in self.table.where):
            self._session.code.text = (
                "app.selected"  # no condition of a report expresses which rows an edit changed
            )
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

    def resolved(self, condition: Condition) -> Condition:
        """A condition of the view in the report's form."""
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
