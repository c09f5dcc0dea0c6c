"""Rows of a dataset as this package reads them: `RowView`, of which users see `Samples`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from workbench.core.thread import StringThread
from workbench.data.packed import Packed, Stream
from workbench.data.samples.cells import (
    Built,
    CellFault,
    CellProblem,
    rewritten,
)
from workbench.data.samples.column_errors import no_answers, no_completion
from workbench.data.samples.encoding import Encoder
from workbench.data.samples.frame_columns import (
    DaskColumns,
    Rows,
    UnreadableRowsError,
)
from workbench.data.samples.memory_rows import load
from workbench.data.samples.row_drawing import RowWords, WrittenColumn
from workbench.data.samples.row_texts import RowTexts
from workbench.data.samples.shapes import refusal_of
from workbench.data.samples.table import Table

ANY_ROW = "any"
"""For `RowView.needing`: graders also get rows without a completion, to test how they handle them."""


class RowView:
    """Some rows of a table, the change of their threads, and what graders need in each of them."""

    __slots__ = (
        "_codes",
        "_encoder",
        "_faults",
        "_need",
        "_needing",
        "_notes",
        "_rewrite",
        "_rows",
        "_table",
        "_words",
        "_written",
    )

    @classmethod
    def _view(cls, table: Table, rows: Rows | None) -> Self:
        # Bypasses `__init__`, which would read and check the data again.
        view = cls.__new__(cls)
        view._set(table, rows)  # noqa: SLF001 (its own class)
        return view

    @classmethod
    def of_part(
        cls,
        data: Any,
        columns: Mapping[str, str | None] | None = None,
        *,
        text_chats: frozenset[str] = frozenset(),
    ) -> Self:
        """Rows that are a part of a dataset: here it is not an error if none of them can be read.

        Args:
            data: The rows.
            columns: Role to column.
            text_chats: `text_chats` of the whole dataset; without them, texts stay texts.
        """
        return cls._view(Table(load(data), columns, "", text_chats=text_chats), None)

    def _set(self, table: Table, rows: Rows | None) -> None:
        self._table = table
        self._rows = rows
        self._rewrite: Callable[[StringThread], StringThread] | None = None
        self._encoder: Encoder | None = None
        self._codes: NDArray[np.intp] | None = None
        self._faults: dict[int, CellFault] | None = None
        self._need = ""
        self._needing: dict[str, Self] = {}
        self._notes: tuple[str, ...] | None = None
        self._words: RowWords | None = None
        self._written: dict[str, WrittenColumn] = {}

    def __len__(self) -> int:
        return len(self._table) if self._rows is None else len(self._rows)

    def _numbers(self) -> Rows:
        """Positions in the original frame (n,), counted from 0."""
        return np.arange(len(self), dtype=np.intp) if self._rows is None else self._rows

    @property
    def text_chats(self) -> frozenset[str]:
        """Those of the roles prompt and completion whose texts are read as messages."""
        return self._table.text_chats

    def part(self, first: int, last: int) -> Self:
        """Consecutive rows as a separate dataset: in memory, and numbered from 0."""
        return self._view(self._table.part(self._numbers()[first:last]), None)

    def references_at(self, rows: Rows | slice) -> NDArray[np.object_]:
        """The references at these positions of this view (m,), as in `references`."""
        return self._table.references(self._of_table(rows))

    def needing(self, need: str) -> Self:
        """The same rows; those without a completion are included in `problems`.

        Args:
            need: "completion" if the last turn must be the assistant's, "turn" if any turn after the last user turn must
                be, "" for neither; `ANY_ROW` for neither, and later requirements of graders are ignored.
        """
        if self._need in (need, ANY_ROW):
            return self
        if need not in self._needing:
            view = self._view(self._table, self._rows)
            view._rewrite, view._need, view._encoder = self._rewrite, need, self._encoding  # noqa: SLF001 (its own class)
            self._needing[need] = view
        return self._needing[need]

    @property
    def group_hashes(self) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """An integer for each row's prompt (n,), the same in any process and any part of the data; see `RowTexts.group_hashes`."""
        return self._texts.group_hashes(self._rows)

    @property
    def metadata_names(self) -> tuple[str, ...]:
        """Columns that are keys of every thread's metadata, including the reference's."""
        return self._table.metadata

    def require_completion(self) -> None:
        """Require a column with completions.

        Raises:
            SamplesError: Neither messages nor a completion column was recognised or mapped.
        """
        table = self._table
        if len(self) and not {"messages", "completion"} & table.roles.keys():
            # Otherwise every grader would score empty text, and a column of zeros would look like a result.
            refusal = refusal_of(table.shape, len(self), table.source)
            raise refusal or no_completion(table.column_names, table.roles, table.source, table.first_cells)

    def require_answers(self) -> None:
        """Require at least one row with a completion.

        Raises:
            SamplesError: As `require_completion`, or no row has assistant content.
        """
        self.require_completion()
        if self._need == ANY_ROW:
            return
        table = self._table
        try:
            is_known = not len(self) or (table.is_answered and self._rows is None)
            is_answered = is_known or self._texts.has_answer(self._numbers())
        except UnreadableRowsError:
            return  # each of its rows fails with its reason
        if not is_answered:
            refusal = refusal_of(table.shape, len(self), table.source)
            raise refusal or no_answers(len(self), table.column_names, table.roles, table.source)

    @property
    def dask_columns(self) -> DaskColumns | None:
        """The data of a whole Dask DataFrame; None for other data, and for some rows of one."""
        is_whole, data = self._rows is None and self._rewrite is None, self._table.data
        return data if is_whole and isinstance(data, DaskColumns) else None

    def rewrite(self, change: Callable[[StringThread], StringThread]) -> Self:
        """The same rows with every thread changed by a function, such as an extractor's choice of text.

        Ids, references and groups stay. A row whose thread cannot be changed is included in `problems`.

        Args:
            change: From a thread to another; it may raise.
        """
        view = self._view(self._table, self._rows)
        before = self._rewrite
        view._rewrite = change if before is None else lambda thread: change(before(thread))  # noqa: SLF001
        view._need = self._need  # noqa: SLF001
        return view

    def packed(self, *, extras: bool = False) -> Packed | Stream:
        """The rows for the sandbox: encoded once and cached or, if there are many, encoded while they are sent.

        Args:
            extras: Include the reference, its key in the metadata, and the id, for graders that use them.
        """
        return self._encoding.packed(extras=extras)

    def stream(self, *, extras: bool = False) -> Stream:
        """The rows for the sandbox, encoded while they are sent; see `packed`."""
        return self._encoding.stream(extras=extras)

    def content_digest(self) -> str:
        """SHA-256 of turns, tools and metadata: equal for rows read in the same way from the same contents."""
        return self._encoding.digest()

    @property
    def _encoding(self) -> Encoder:
        if self._encoder is None:
            self._encoder = Encoder(self._table, self._rows, self._rewrite)
        return self._encoder

    def faults_at(self, start: int, stop: int) -> dict[int, CellProblem]:
        """`problems` of the rows from `start` up to `stop`, by their positions in this view."""
        return self._described(self._encoding.faults_at(start, stop, self._asked))

    @property
    def known_problems(self) -> dict[int, CellProblem]:
        """`problems` of the rows that have been sent to graders: no row is read."""
        return self._described(self._encoding.known_faults(self._asked))

    def _described(self, faults: Mapping[int, CellFault]) -> dict[int, CellProblem]:
        # Without `row_numbers`, an array as long as the dataset.
        numbers = range(len(self)) if self._rows is None else self._rows
        return {
            row: CellProblem.of(fault, self._table.place(int(numbers[row]))) for row, fault in faults.items()
        }

    @property
    def _asked(self) -> str:
        """What rows must contain, in the encoder's form."""
        return "" if self._need == ANY_ROW else self._need

    @property
    def _texts(self) -> RowTexts:
        return RowTexts(self._table)

    def _build(self) -> Built:
        return self._built(self._rows)

    def _built(self, rows: Rows | None) -> Built:
        built = self._table.build(rows)
        return built if self._rewrite is None else rewritten(built, self._rewrite)

    def _of_table(self, rows: Rows | slice | None) -> Rows | slice | None:
        if self._rows is None or rows is None:
            return self._rows if rows is None else rows
        return self._rows[rows]
