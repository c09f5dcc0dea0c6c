"""Rows of a dataset as this package reads them: `RowTexts` of a table, and `RowView`, of which users see `Samples`.

Texts of prompts and completions are read from whole columns where these are text, without building threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from workbench.core.thread import StringThread
from workbench.data.packed import Packed, Stream
from workbench.data.samples.cells import (
    Built,
    CellFault,
    CellProblem,
    clean,
    completions_of,
    conversations,
    prompt_key,
    rewritten,
)
from workbench.data.samples.columns import no_answers, no_completion
from workbench.data.samples.encoding import Encoder
from workbench.data.samples.frame_columns import (
    DaskColumns,
    Rows,
    UnreadableRowsError,
    codes_of_texts,
    hashes_of,
)
from workbench.data.samples.memory_rows import load
from workbench.data.samples.plain import is_missing, text
from workbench.data.samples.row_drawing import RowWords, WrittenColumn
from workbench.data.samples.shapes import refusal_of
from workbench.data.samples.table import SCAN_ROWS, Table, objects

ANY_ROW = "any"
"""For `RowView.needing`: graders also get rows without a completion, to test how they handle them."""
_TEXTS_AT_ONCE = 16_384  # rows of a text column in memory


class RowTexts:
    """The texts of a table's rows. Rows are positions (m,), a slice, or None for all."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def groups(self, rows: Rows | None) -> NDArray[np.object_]:
        """Text (n,): the group column, else the prompt, else the row's id."""
        ids = self._table.ids if rows is None else self._table.ids[rows]
        keys = self._group_keys(rows)
        return objects([name if key is None else key for key, name in zip(keys, ids, strict=True)])

    def group_codes(self, rows: Rows | slice | None) -> NDArray[np.intp]:
        """The prompt of each row as an integer (n,), counted from 0 in the order of the rows.

        Equivalent to `groups`, computed from whole columns if these are text; a row without a prompt is a separate group.
        """
        count = self._table.n_rows(rows)
        codes = np.full(count, -1, np.intp)
        if "group" in self._table.roles:
            codes = self._codes(self._table.roles["group"], rows)
        numbers = np.arange(len(self._table))[rows if rows is not None else slice(None)]
        without = np.flatnonzero(codes < 0)
        if len(without):
            prompts = self._prompt_codes(rows if len(without) == count else numbers[without])
            codes[without] = np.where(prompts < 0, -1, prompts + codes.max(initial=-1) + 1)
        without = np.flatnonzero(codes < 0)
        # By row number: a row that a view repeats is one prompt.
        codes[without] = codes.max(initial=-1) + 1 + pd.factorize(numbers[without])[0]
        return pd.factorize(codes)[0].astype(np.intp)

    def group_hashes(self, rows: Rows | None) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """An integer for each row's prompt (n,), the same for the same prompt in any part of the data and any process.

        Equivalent to `groups`; the second array is whether a row has a prompt at all (n,).
        """
        keys = self._prompt_texts(rows)
        if keys is None:
            keys = self._group_keys(rows)
        has_prompt = np.array([key is not None for key in keys], np.bool_)
        return hashes_of([key or "" for key in keys]), has_prompt

    def prompt_keys(self, rows: Rows) -> Iterator[str | None]:
        """What the rollouts of one prompt share, row by row; threads are built in batches of rows."""
        for start in range(0, len(rows), SCAN_ROWS):
            yield from map(prompt_key, self._table.build(rows[start : start + SCAN_ROWS]).wires)

    def _prompt_texts(self, rows: Rows | None) -> list[str | None] | None:
        """The keys of the prompts if these are the texts of one column; None if other columns are needed."""
        turns = self._table.text_turns
        if turns is None or "prompt" not in turns or "system" in turns or "group" in self._table.roles:
            return None
        return [
            prompt if prompt and prompt.strip() else None
            for prompt in self._text_cells(turns["prompt"], rows)
        ]

    def _group_keys(self, rows: Rows | None) -> list[str | None]:
        cells = self._table.role("group", rows)
        keys = [None] * self._table.n_rows(rows) if cells is None else clean(cells, text, "")
        if None in keys:
            found = map(prompt_key, self._table.build(rows).wires)
            keys = [prompt if key is None else key for key, prompt in zip(keys, found, strict=True)]
        return keys

    def _codes(self, column: str, rows: Rows | slice | None) -> NDArray[np.intp]:
        """An integer for each different text of a column (n,), -1 for a missing cell."""
        if not self._table.data.is_text(column):
            return pd.factorize(objects(clean(self._table.cells(column, rows), text, "")))[0].astype(np.intp)
        if rows is not None and not self._table.data.is_lazy:
            return codes_of_texts(self._table.data.text(column, rows))
        codes = self._table.data.codes(column)
        return codes if rows is None else codes[rows]

    def _prompt_codes(self, rows: Rows | slice | None) -> NDArray[np.intp]:
        """An integer for each different `prompt_key` (n,); -1 if there is none."""
        turns = self._table.text_turns
        if turns is None:
            return self._codes_of_conversations(rows)
        count = self._table.n_rows(rows)
        codes = self._codes(turns["prompt"], rows) if "prompt" in turns else np.full(count, -1, np.intp)
        systems = self._codes(turns["system"], rows) if "system" in turns else np.full(count, -1, np.intp)
        if "prompt" in turns:
            # Rows cannot share an empty prompt.
            blank = np.concatenate([np.zeros(0, np.bool_), *map(_blank, self._texts(turns["prompt"], rows))])
            codes[(systems < 0) & blank] = -1
        both = codes + (systems + 1) * (codes.max(initial=-1) + 2)
        return np.where((codes < 0) & (systems < 0), -1, both + 1)

    def _codes_of_conversations(self, rows: Rows | slice | None) -> NDArray[np.intp]:
        numbers = np.arange(len(self._table))[rows if rows is not None else slice(None)]
        codes, known = np.full(len(numbers), -1, np.intp), dict[Any, int]()
        for at, key in enumerate(self.prompt_keys(numbers)):
            if key is not None:
                codes[at] = known.setdefault(key, len(known))
        return codes

    def blank_prompts(self, rows: Rows) -> int | None:
        """Number of these rows with a missing or blank prompt; None if no column contains prompts."""
        name = self._table.roles.get("prompt", "")
        if name and "instruction" not in self._table.roles and self._table.data.is_text(name):
            is_whole_table = len(rows) == len(self._table) and bool((np.diff(rows) == 1).all())
            pieces = self._texts(name, None if is_whole_table else rows)
            return sum(int(piece.null_count + _blank(piece).sum()) for piece in pieces)
        prompts = self._table.prompts(rows)
        if prompts is None:
            return None
        return sum(
            is_missing(prompt) or (isinstance(prompt, str) and not prompt.strip()) for prompt in prompts
        )

    def has_answer(self, rows: Rows) -> bool:
        """Whether at least one of these rows has assistant content or cannot be read. Stops at the first."""
        turns = self._table.text_turns
        if turns is not None and "completion" not in turns:
            return False
        for start in range(0, len(rows), _TEXTS_AT_ONCE):
            part = rows[start : start + _TEXTS_AT_ONCE]
            if turns is not None:
                if self._table.data.text(turns["completion"], part).null_count < len(part):
                    return True
            else:
                built = self._table.build(part)
                if built.faults or any(turn[0] == "assistant" for wire in built.wires for turn in wire[0]):
                    return True
        return False

    def completions(self, rows: Rows | slice | None) -> list[str | None]:
        """The text of each completion (n,), None if the last turn is not the assistant's or the row cannot be read."""
        turns = self._table.text_turns
        if turns is not None:
            if "completion" not in turns:
                return [None] * self._table.n_rows(rows)
            return self._text_cells(turns["completion"], rows)
        cells = self._table.conversation_cells(rows)
        texts = completions_of(cells)
        if texts is not None and not self._table.line_faults(rows):
            return list(texts)
        wires = self._conversations(rows)
        return [turn[-1][1] if turn and turn[-1][0] == "assistant" else None for turn in wires]

    def completion_lengths(self, rows: Rows | slice | None) -> NDArray[np.float64]:
        """Characters of each completion (n,), 0 if there is none."""
        turns = self._table.text_turns
        if turns is None or "completion" not in turns or self._table.line_faults(rows):
            parts = (self.completions(part) for part in self._parts(rows))
            return np.array([len(text or "") for part in parts for text in part], np.float64)
        lengths = (
            pc.fill_null(pc.utf8_length(part), 0).to_numpy()
            for part in self._texts(turns["completion"], rows)
        )
        return np.concatenate([np.zeros(0), *lengths]).astype(np.float64)

    def _text_cells(self, column: str, rows: Rows | slice | None) -> list[str | None]:
        """The cells of a text column, None for a missing one and if the line cannot be read."""
        # Missing cells are None, NaN or pd.NA, depending on the column's type; NA cannot be compared with anything.
        texts = [cell if type(cell) is str else None for cell in self._table.cells(column, rows)]
        for at in self._table.line_faults(rows):
            texts[at] = None
        return texts

    def _conversations(self, rows: Rows | slice | None) -> list[list[Any]]:
        """The turns of each row; none if it cannot be read."""
        faults: dict[int, CellFault] = {}
        turns = conversations(
            self._table.conversation_cells(rows), self._table.names, self._table.n_rows(rows), faults
        ).turns
        for at in {**faults, **self._table.line_faults(rows)}:
            turns[at] = []
        return turns

    def _texts(self, column: str, rows: Rows | slice | None) -> Iterator[pa.ChunkedArray]:
        """A text column in pieces, so that only one piece is in memory."""
        for part in self._parts(rows):
            yield self._table.data.text(column, part)

    def _parts(self, rows: Rows | slice | None) -> Iterator[Rows | slice]:
        """Rows in pieces."""
        if rows is None or isinstance(rows, slice):
            whole = range(len(self._table))[rows or slice(None)]
            yield from (
                slice(at, min(at + _TEXTS_AT_ONCE, whole.stop))
                for at in range(whole.start, whole.stop, _TEXTS_AT_ONCE)
            )
        else:
            yield from (rows[at : at + _TEXTS_AT_ONCE] for at in range(0, len(rows), _TEXTS_AT_ONCE))


def _blank(cells: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Which texts are white space or empty, (n,)."""
    # Text that starts with a printable ASCII character is not blank: only the few others need Python's test.
    is_text = pc.fill_null(pc.match_substring_regex(cells, r"^[!-~]"), False).to_numpy()
    blank = np.zeros(len(cells), np.bool_)
    for row in np.flatnonzero(~is_text):
        cell = cells[int(row)].as_py()
        blank[row] = cell is not None and not cell.strip()
    return blank


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
