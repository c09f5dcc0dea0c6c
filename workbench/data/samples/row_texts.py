"""Texts of the rows of a table: prompts, groups and completions, read from whole columns where these are text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from workbench.data.samples.cells import (
    CellFault,
    clean,
    completions_of,
    conversations,
    prompt_key,
)
from workbench.data.samples.frame_columns import (
    Rows,
    codes_of_texts,
    hashes_of,
)
from workbench.data.samples.plain import is_missing, text
from workbench.data.samples.table import SCAN_ROWS, Table, objects

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
