"""Encodes the rows of a dataset as bytes for the sandbox: whole columns, a range of rows at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from workbench.core.thread import StringThread
from workbench.data.packed import BATCH_ROWS, Packed, Stream, packed_ranges
from workbench.data.row_columns import dumped, text_column
from workbench.data.samples.cells import (
    SPEAKERS,
    CellFault,
    clean,
    conversations,
    is_silent,
    metadata_of,
    no_answer,
    plain_cells,
    rewritten,
    turn_columns,
)
from workbench.data.samples.frame_columns import Rows, UnreadableRowsError
from workbench.data.samples.plain import text
from workbench.data.samples.table import Table

CACHED_ROWS = 160_000
"""Maximum rows whose bytes are cached between runs; the bytes of more are encoded again while they are sent."""
CACHED_BYTES = 256 * 1024 * 1024
"""Maximum cached bytes."""
Change = Callable[[StringThread], StringThread]


class Encoder:
    """Encodes the rows of a view, and records which of them cannot be read.

    Args:
        table: The dataset.
        rows: Rows of the view (n,), None for all.
        change: Applied to every thread, for example an extractor's choice of text.
    """

    def __init__(self, table: Table, rows: Rows | None, change: Change | None = None) -> None:
        self._table, self._rows, self._change = table, rows, change
        self._count = len(table) if rows is None else len(rows)
        self._faults: dict[int, CellFault] = {}
        self._unanswered: dict[int, CellFault] = {}
        self._silent: set[int] = set()
        self._seen = np.zeros(self._count, np.bool_)
        self._packed: dict[bool, Packed | Stream] = {}

    def packed(self, *, extras: bool = False) -> Packed | Stream:
        """The rows for the sandbox: encoded once and cached if few enough; else encoded while they are sent.

        Args:
            extras: Include the reference, its key in the metadata, and the id.
        """
        if extras not in self._packed:
            self._packed[extras] = self._pack(extras)
        return self._packed[extras]

    def stream(self, *, extras: bool = False) -> Stream:
        """The rows for the sandbox, encoded while they are sent.

        Args:
            extras: As in `packed`.
        """
        return Stream(self._count, partial(self.encode, extras=extras), extras)

    def _pack(self, extras: bool) -> Packed | Stream:
        stream, kept = self.stream(extras=extras), None
        if self._count <= CACHED_ROWS:
            kept = packed_ranges(stream.encode, self._count, most_bytes=CACHED_BYTES, extras=extras)
        return stream if kept is None else kept

    def faults(self, need: str = "") -> dict[int, CellFault]:
        """View row to why it cannot be read, ascending; `need` as in `faults_at`."""
        faults: dict[int, CellFault] = {}
        for start in range(0, self._count, BATCH_ROWS):
            faults |= self.faults_at(start, min(start + BATCH_ROWS, self._count), need)
        return faults

    def known_faults(self, need: str = "") -> dict[int, CellFault]:
        """`faults` of the rows encoded so far: no row is read."""
        return dict(sorted({**self._lacking(need), **self._faults}.items()))

    def faults_at(self, start: int, stop: int, need: str = "") -> dict[int, CellFault]:
        """View row to why it cannot be read, ascending, of the rows from `start` up to `stop`.

        Rows that no run has sent are read for it, unless the types of their columns guarantee that they are readable.

        Args:
            start: First row.
            stop: One past the last.
            need: What a readable row must also have: "completion" (its last turn is the assistant's), "turn" (a turn after
                the last user turn is the assistant's), "" for nothing.
        """
        if not self._seen[start:stop].all():
            if self._change is None and self._table.reads_without_looking:
                return self._faults_without_looking(start, stop, need)
            self.encode(start, stop)
        faults = {**self._lacking(need), **self._faults}
        return {row: faults[row] for row in range(start, stop) if row in faults} if faults else {}

    def _faults_without_looking(self, start: int, stop: int, need: str) -> dict[int, CellFault]:
        rows = slice(start, stop) if self._rows is None else self._rows[start:stop]
        faults = dict(self._table.line_faults(rows))
        if need:
            missing = self._missing_answers(rows, stop - start)
            faults = {**dict.fromkeys(missing, self._table.no_answer), **faults}
        return {start + at: fault for at, fault in sorted(faults.items())}

    def _missing_answers(self, rows: slice | Rows, count: int) -> list[int]:
        """Indices among these rows of those without a completion, if each turn is a text column."""
        name = (self._table.text_turns or {}).get("completion")
        if name is None:
            return list(range(count))
        cells = self._table.data.text(name, rows)
        return np.flatnonzero(cells.is_null().to_numpy()).tolist() if cells.null_count else []

    def _lacking(self, need: str) -> dict[int, CellFault]:
        """The encoded rows that lack the required part."""
        if need == "turn":
            return {row: self._unanswered[row] for row in self._silent}
        return self._unanswered if need else {}

    def _note_answers(self, start: int, turns: Sequence[Sequence[Sequence[str]]]) -> None:
        """Record which of some rows have no completion, and which have no assistant turn after the last user turn."""
        for row, conversation in enumerate(turns, start):
            if (fault := no_answer(conversation)) is not None:
                self._unanswered[row] = fault
                if is_silent(conversation):
                    self._silent.add(row)

    def _note_missing(self, start: int, turns: Any, count: int) -> None:
        """As `_note_answers`, if each turn is a column."""
        answers = turns[-1][1] if turns and turns[-1][0] == "assistant" else [None] * count
        missing = [at for at, answer in enumerate(answers) if answer is None] if None in answers else []
        if self._table.text_turns is not None:
            self._unanswered.update(dict.fromkeys([start + at for at in missing], self._table.no_answer))
            self._silent.update([start + at for at in missing])
            return
        for at in missing:
            self._note_answers(
                start + at, [[(role, cell) for role, column in turns if (cell := column[at]) is not None]]
            )

    def digest(self) -> str:
        """SHA-256 of turns, tools and metadata, 64 hexadecimal digits: the same for columns of the same content and type."""
        digest = hashlib.sha256()
        for start in range(0, self._count, BATCH_ROWS):
            digest.update(self.encode(start, min(start + BATCH_ROWS, self._count)))
        return digest.hexdigest()

    def encode(self, start: int, stop: int, *, extras: bool = False) -> bytes:
        """The rows from `start` up to `stop` as encoded by `row_columns.dumped`.

        Args:
            start: First row.
            stop: One past the last.
            extras: Include the reference, its key in the metadata, and the id.
        """
        rows = slice(start, stop) if self._rows is None else self._rows[start:stop]
        faults: dict[int, CellFault] = {}
        try:
            data = self._encoded(rows, start, stop, faults, extras=extras)
        except UnreadableRowsError:
            faults.clear()
            data = self._encoded_by_row(rows, start, faults, extras=extras)
        self._faults.update({start + row: fault for row, fault in faults.items()})
        self._seen[start:stop] = True
        return data

    def _encoded(
        self, rows: slice | Rows, start: int, stop: int, faults: dict[int, CellFault], *, extras: bool
    ) -> bytes:
        if self._change is not None:
            return self._encoded_by_row(rows, start, faults, extras=extras)
        count = stop - start
        turns, metadata, rest = self._columns(rows, count, faults)
        if type(turns) is list:
            self._note_answers(start, turns)
        else:
            self._note_missing(start, turns, count)
        return dumped(
            count,
            turns,
            metadata,
            rest=rest,
            empty=sorted(faults),
            extras=self._extras(rows) if extras else None,
        )

    def _encoded_by_row(
        self, rows: slice | Rows, start: int, faults: dict[int, CellFault], *, extras: bool
    ) -> bytes:
        """From the threads of the rows, for changed threads, and for a file of which a part can no longer be read."""
        built, references = self._table.read(rows, references=extras)
        self._note_answers(start, [wire[0] for wire in built.wires])
        if self._change is not None:
            built = rewritten(built, self._change)
        faults.update(built.faults)
        wires = built.wires
        rest = {row: wire[2:] for row, wire in enumerate(wires) if any(part is not None for part in wire[2:])}
        name = self._table.roles.get("reference", "")
        return dumped(
            len(wires), [wire[0] for wire in wires], [wire[1] for wire in wires], rest=rest, empty=sorted(faults),
            extras=(name, references.tolist(), self._table.ids_at(rows)) if extras else None,
        )  # fmt: skip

    def _columns(self, rows: slice | Rows, count: int, faults: dict[int, CellFault]) -> tuple[Any, Any, Any]:
        table = self._table
        for role in ("id", "group"):
            if role in table.roles and not table.data.is_text(table.roles[role]):
                clean(table.cells(table.roles[role], rows), text, table.roles[role], faults=faults)
        metadata = self._metadata(rows, count, faults)
        turns, rest = self._turns(rows, count, faults)
        faults.update(table.line_faults(rows))
        return turns, metadata, rest

    def _turns(
        self, rows: slice | Rows, count: int, faults: dict[int, CellFault]
    ) -> tuple[Any, dict[int, Any]]:
        table = self._table
        if table.text_turns is not None:
            # Prompts are long and most graders do not read them; nearly all read the completion.
            forms = {role: self._text if role == "completion" else self._whole_text for role in SPEAKERS}
            return tuple(
                (SPEAKERS[role], forms[role](name, rows)) for role, name in table.text_turns.items()
            ), {}
        cells = table.conversation_cells(rows)
        if (columns := turn_columns(cells)) is not None:
            return columns, {}
        found = conversations(cells, table.names, count, faults)
        return found.turns, found.rest

    def _metadata(self, rows: slice | Rows, count: int, faults: dict[int, CellFault]) -> Any:
        table = self._table
        if "metadata" in table.roles:
            base = table.role("metadata", rows)
            columns = {name: table.cells(name, rows) for name in table.metadata}
            return metadata_of(base, columns, table.roles["metadata"], count, faults)
        return tuple((name, self._plain(name, rows, faults)) for name in table.metadata)

    def _plain(self, name: str, rows: slice | Rows, faults: dict[int, CellFault]) -> Any:
        if self._table.data.is_text(name):
            return self._text(name, rows)
        return list(plain_cells(self._table.cells(name, rows), name, faults))

    def _text(self, name: str, rows: slice | Rows) -> list[Any]:
        cells: list[Any] = self._table.data.text(name, rows).to_pylist()
        return cells

    def _whole_text(self, name: str, rows: slice | Rows) -> Any:
        """A column of text without decoding, as returned by `text_column`."""
        column = self._table.data.text(name, rows)
        array = pa.concat_arrays(column.chunks) if column.num_chunks != 1 else column.chunk(0)
        _, places, data = array.buffers()
        offsets = _offsets(array, places)
        begin, end = int(offsets[0]), int(offsets[-1])
        content = b"" if data is None else memoryview(data)[begin:end]
        missing: Sequence[int] = (
            np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False)).tolist()
            if array.null_count
            else ()
        )
        return text_column(content, (offsets - begin).tobytes(), missing)

    def _extras(self, rows: slice | Rows) -> tuple[str, Any, Any]:
        name = self._table.roles.get("reference", "")
        ids = self._table.ids_at(rows)
        if name and self._table.data.is_text(name):
            return name, self._text(name, rows), ids
        return name, self._table.references(rows).tolist(), ids


def _offsets(array: pa.LargeStringArray, places: pa.Buffer | None) -> NDArray[np.int64]:
    if places is None or not len(array):
        return np.zeros(len(array) + 1, np.int64)
    return np.frombuffer(places, np.int64)[array.offset : array.offset + len(array) + 1]
