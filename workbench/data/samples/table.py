"""The data of a `Samples`: one frame, the roles of its columns, and its line numbers and faults."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.core.errors import SamplesError
from workbench.core.grade import ErrorKind
from workbench.core.grades import Grades
from workbench.core.python_text import cached_property
from workbench.data.samples.cells import (
    EMPTY,
    SPEAKERS,
    Built,
    CellFault,
    build,
    clean,
    no_answer,
)
from workbench.data.samples.columns import (
    batch_roles,
    check_names,
    every_role,
    metadata_columns,
    recognise,
    verdict_column,
)
from workbench.data.samples.envelopes import failed_request, unpacked
from workbench.data.samples.frame_columns import (
    FLOATS,
    ColumnData,
    FrameColumns,
    Rows,
    UnreadableRowsError,
)
from workbench.data.samples.old_grades import grades_of
from workbench.data.samples.plain import is_missing, plain, text
from workbench.data.samples.proposals import PEEKED
from workbench.data.samples.roles import (
    WRAPPED_REFERENCES,
    are_chat_texts,
    chat_cells,
    joined_prompts,
    reference_of_cell,
)
from workbench.data.samples.source_file import Loaded

SCAN_ROWS = 512
"""Rows of which conversations are built at a time."""
DECIDING_ROWS = 100
"""First rows that decide whether a column's texts are messages: the same number as for a lazily read file."""
_TURNS = ("messages", "system", "instruction", "prompt", "completion", "tools")
_OTHERS = ("metadata", "id", "group")


class Table:
    """Columns that have roles. Every view of one dataset shares it."""

    def __init__(
        self,
        loaded: Loaded,
        columns: Mapping[str, str | None] | None,
        source: str,
        *,
        notes: tuple[str, ...] = (),
        text_chats: frozenset[str] | None = None,
    ) -> None:
        frame = loaded.frame
        self.data: ColumnData = FrameColumns(frame, source) if isinstance(frame, pd.DataFrame) else frame
        names = check_names(self.data.names, source)
        self.roles = recognise(names, columns, source=source, peek=self.first_cells)
        self.given: Mapping[str, str | None] = dict(columns or {})
        self.reading_notes = notes
        self.metadata = metadata_columns(names, self.roles)
        self.source = source
        self._text_chats = text_chats  # of the data of which these rows are a part
        self._lines = loaded.lines
        self._old = loaded.old
        self.shape = loaded.shape
        self._names = names
        self._whole: dict[str, bool] = {}
        self._days: dict[str, bool] = {}
        self.is_answered = False
        self._faults = {**self._failed_requests(), **loaded.faults}

    def __len__(self) -> int:
        return len(self.data)

    def first_cells(self, column: str) -> list[Any]:
        """The first cells of a column, to detect its content; none if the file cannot be read."""
        try:
            return self.data.cells(column, slice(0, PEEKED))
        except UnreadableRowsError:
            return []

    @cached_property
    def verdict_column(self) -> str:
        """The column that is not used as the reference because it contains verdicts; "" if there is none."""
        if "reference" in self.given or "reference" in self.roles:
            return ""
        found = (verdict_column({**self.roles, "reference": name}, self.first_cells) for name in self._names)
        return next(filter(None, found), "")

    @cached_property
    def old_grades(self) -> dict[str, Grades]:
        """The grades that the rows came with, by grader, n rows each."""
        return {name: grades_of(scores) for name, scores in self._old.items()}

    def part(self, rows: Rows) -> Table:
        """Some rows as a separate table, in memory and numbered from 0."""
        places = {row: at for at, row in enumerate(rows.tolist())} if self._faults else {}
        faults = {places[row]: fault for row, fault in self._faults.items() if row in places}
        lines = None if self._lines is None else [self._lines[row] for row in rows.tolist()]
        frame = self.data.frame(rows).reset_index(drop=True)
        old = {name: [scores[row] for row in rows.tolist()] for name, scores in self._old.items()}
        return Table(
            Loaded(frame, lines, faults, old, self.shape),
            every_role(self.roles),
            self.source,
            text_chats=self.text_chats,
        )

    def cells(self, column: str, rows: Rows | slice | None) -> list[Any]:
        """The cells of one column, of all or the requested rows."""
        cells = self.data.cells(column, rows)
        if column not in self._whole:
            self._whole[column] = _are_whole_with_gaps(self.data.floats(column))
            self._days[column] = self.data.are_days(column)
        if self._days[column]:
            return [
                cell.date() if isinstance(cell, dt.datetime) and not is_missing(cell) else cell
                for cell in cells
            ]
        # NaN differs from itself.
        return [int(cell) if cell == cell else None for cell in cells] if self._whole[column] else cells  # noqa: PLR0124

    def role(self, role: str, rows: Rows | slice | None) -> list[Any] | None:
        """The cells of a role's column; None if the role has no column."""
        return self.cells(self.roles[role], rows) if role in self.roles else None

    @cached_property
    def is_batch(self) -> bool:
        """Whether the rows are OpenAI's batch output."""
        return bool(batch_roles(self._names)) and "response" in self._names

    def _failed_requests(self) -> dict[int, CellFault]:
        """The rows of OpenAI's batch output whose request got no response."""
        if not self.is_batch or "error" not in self._names:
            return {}
        answers = zip(*(map(unpacked, self.cells(name, None)) for name in ("response", "error")), strict=True)
        reasons = {row: failed_request(*answer) for row, answer in enumerate(answers)}
        return {row: CellFault("response", why, "a response") for row, why in reasons.items() if why}

    @property
    def prompt_column(self) -> str:
        """Name of the column with the prompt, or its first part; "" if there is none."""
        return self.roles.get("instruction") or self.roles.get("prompt") or ""

    def readable(self, rows: Rows) -> Rows:
        """The given rows without those whose line could not be read."""
        return rows[~np.isin(rows, list(self._faults))] if self._faults else rows

    def prompts(self, rows: Rows | slice | None) -> list[Any] | None:
        """The cells of the prompts; None if there are none."""
        prompts, instructions = self.role("prompt", rows), self.role("instruction", rows)
        return prompts if instructions is None else joined_prompts(instructions, prompts)

    @property
    def reference_is_float(self) -> bool:
        """Whether all references are whole numbers in a column of floats, more than the 0.0 and 1.0 of labels."""
        return "reference" in self.roles and _are_whole(self.data.floats(self.roles["reference"]))

    @cached_property
    def text_turns(self) -> dict[str, str] | None:
        """Role to column if each turn is a whole text column; None if conversations are built in another way."""
        roles = {role: name for role, name in self.roles.items() if role in _TURNS}
        if not roles.keys() <= SPEAKERS.keys() or self._wraps_answers:
            return None
        if not all(map(self.data.is_text, roles.values())):
            return None
        if self.text_chats:
            return None
        return {role: roles[role] for role in SPEAKERS if role in roles}

    @cached_property
    def text_chats(self) -> frozenset[str]:
        """The roles, among prompt and completion, whose texts are messages, as JSON or as Python's repr.

        Decided once for the whole column, by its first rows, independent of how the rows are read: otherwise a
        single completion that looks like a conversation would change the prompt.
        """
        if self._text_chats is not None:
            return self._text_chats
        roles = ("prompt", "completion")
        return frozenset(role for role in roles if are_chat_texts(self.deciding_cells(role), role))

    def deciding_cells(self, role: str) -> Sequence[Any]:
        """The cells of a prompt or completion in the first rows; none if the column is missing or unreadable."""
        rows = slice(0, DECIDING_ROWS)
        try:
            return (self.prompts(rows) if role == "prompt" else self._answers(rows)) or ()
        except UnreadableRowsError:
            return ()

    @cached_property
    def reads_without_looking(self) -> bool:
        """Whether every cell is readable given the type of its column, so that only whole lines can be invalid."""
        texts = {self.roles[role] for role in ("id", "group") if role in self.roles} | set(self.metadata)
        return (
            self.text_turns is not None
            and "metadata" not in self.roles
            and all(self.data.is_text(name) or self.data.is_number(name) for name in texts)
        )

    @property
    def no_answer(self) -> CellFault:
        """The fault of a row without a completion, if each turn is a column."""
        turns = self.text_turns or {}
        last = next((SPEAKERS[role] for role in ("prompt", "system") if role in turns), "")
        fault = no_answer([(last, "")] if last else [])
        assert fault is not None
        return fault

    @property
    def names(self) -> dict[str, str]:
        """Role to column, for error messages: the prompt may start in another column than its own."""
        return {**self.roles, "prompt": self.prompt_column}

    @property
    def _wraps_answers(self) -> bool:
        """Whether completions are inside API responses."""
        return self.is_batch and self.roles.get("completion") == "response"

    def conversation_cells(self, rows: Rows | slice | None) -> dict[str, Any]:
        """Role to cells, for the roles from which conversations are built."""
        apart = ("instruction", "prompt", "completion")
        cells: dict[str, Any] = {
            role: self.cells(name, rows)
            for role, name in self.roles.items()
            if role in _TURNS and role not in apart
        }
        spoken = {"prompt": self.prompts(rows), "completion": self._answers(rows)}
        cells |= {role: column for role, column in spoken.items() if column is not None}
        has_prompt = bool(self.roles.keys() & {"messages", "instruction", "prompt"})
        for role in self.text_chats & cells.keys():
            cells[role] = chat_cells(cells[role], role, has_prompt=has_prompt)
        return cells

    def _answers(self, rows: Rows | slice | None) -> list[Any] | None:
        """The cells of the completions, for batch output parsed from its JSON text; None if there are none."""
        cells = self.role("completion", rows)
        return list(map(unpacked, cells)) if cells is not None and self._wraps_answers else cells

    def build(self, rows: Rows | slice | None) -> Built:
        """The threads of some rows, and the faults among them."""
        return self.read(rows)[0]

    def read(
        self, rows: Rows | slice | None, *, references: bool = False
    ) -> tuple[Built, NDArray[np.object_]]:
        """The threads of some rows, and their references if requested (else None, as for unreadable rows).

        Rows in a part of a file that can no longer be read have a fault; the others are read.
        """
        try:
            return self._built(rows), self._references(rows, wanted=references)
        except UnreadableRowsError as error:
            return self._read_rest(
                np.arange(len(self))[rows if rows is not None else slice(None)], error, references
            )

    def _read_rest(
        self, rows: Rows, error: UnreadableRowsError, references: bool
    ) -> tuple[Built, NDArray[np.object_]]:
        is_lost = (rows >= error.rows.start) & (rows < error.rows.stop)
        if not is_lost.any():
            is_lost[:] = True  # decisions on a whole column are impossible without the unreadable rows
        left = np.flatnonzero(~is_lost)
        built, found = self.read(rows[left], references=references)
        wires, answers = [EMPTY] * len(rows), np.full(len(rows), None, object)
        for at, wire in zip(left.tolist(), built.wires, strict=True):
            wires[at] = wire
        answers[left] = found
        fault = CellFault("", f"{error.found} ({error.what})", error.expected)
        faults = {
            **dict.fromkeys(np.flatnonzero(is_lost).tolist(), fault),
            **{int(left[at]): one for at, one in built.faults.items()},
        }
        return Built(wires, dict(sorted(faults.items()))), answers

    def _references(self, rows: Rows | slice | None, *, wanted: bool) -> NDArray[np.object_]:
        return self.references(rows) if wanted else np.full(self.n_rows(rows), None, object)

    def _built(self, rows: Rows | slice | None) -> Built:
        others = {role: self.cells(self.roles[role], rows) for role in _OTHERS if role in self.roles}
        metadata = {name: self.cells(name, rows) for name in self.metadata}
        cells = {**others, **self.conversation_cells(rows)}
        built = build(cells, metadata, names=self.names, rows=self.n_rows(rows))
        return self._with_line_faults(built, rows) if self._faults else built

    def n_rows(self, rows: Rows | slice | None) -> int:
        """The number of some rows."""
        if rows is None:
            return len(self)
        return len(range(len(self))[rows]) if isinstance(rows, slice) else len(rows)

    def line_faults(self, rows: Rows | slice | None) -> dict[int, CellFault]:
        """Index among these rows to what is wrong with its line, or with its request."""
        if not self._faults:
            return {}
        numbers = np.arange(len(self))[slice(None) if rows is None else rows].tolist()
        return {at: self._faults[row] for at, row in enumerate(numbers) if row in self._faults}

    def _with_line_faults(self, built: Built, rows: Rows | slice | None) -> Built:
        faults = self.line_faults(rows)
        wires = [EMPTY if at in faults else wire for at, wire in enumerate(built.wires)]
        return Built(wires, dict(sorted({**built.faults, **faults}.items())))

    def ids_at(self, rows: Rows | slice) -> list[str]:
        """The ids of some rows; if there is no id column, they are generated for these rows only."""
        if "id" in self.roles:
            return list(self.ids[rows])
        return [str(row) for row in (range(len(self))[rows] if isinstance(rows, slice) else rows.tolist())]

    @property
    def column_names(self) -> list[str]:
        """The names of all columns."""
        return list(self._names)

    @cached_property
    def ids(self) -> NDArray[np.object_]:
        """Text (n,), unique: the second row called "a" is "a#2"; a row without an id has its number."""
        cells = self.role("id", None)
        if cells is None:
            return objects([str(row) for row in range(len(self))])
        names = [str(row) if name is None else name for row, name in enumerate(clean(cells, text, ""))]
        return objects(_unique(names))

    def references(self, rows: Rows | slice | None) -> NDArray[np.object_]:
        """Plain values (n,), None if missing."""
        cells = self.role("reference", rows)
        if cells is None:
            return objects([None] * self.n_rows(rows))
        name = self.roles["reference"]
        # Only objects are unwrapped: texts are left unchanged, in an eighth of the time.
        is_wrapped = name.casefold() in WRAPPED_REFERENCES and set(map(type, cells)) != {str}
        return objects(clean(cells, partial(reference_of_cell, column=name) if is_wrapped else plain, ""))

    def place(self, row: int, column: str = "") -> str:
        """The location of a row as text: file, row, line, column."""
        line = f" (line {self._lines[row]})" if self._lines is not None else ""
        parts = (self.source, f"row {row}{line}", f"column {column!r}" if column else "")
        return ", ".join(part for part in parts if part)

    def error(self, row: int, fault: CellFault) -> SamplesError:
        """The error to raise for one row's fault."""
        names = ", ".join(map(repr, self._names[:30]))
        has_none = fault.kind is ErrorKind.NO_COMPLETION
        start = "read rows that have a completion" if has_none else "fix the cell"
        return SamplesError(
            f"row {row} cannot be read", where=self.place(row, fault.column), found=fault.found, expected=fault.expected,
            hint=f"{start}, or map another column; there are {names}",
        )  # fmt: skip

    def check_some_row_reads(self) -> None:
        """Refuse a dataset without a single readable row.

        Stops at the first good row, so that a valid dataset costs one slice.

        Raises:
            SamplesError: The first row's fault.
        """
        first: CellFault | None = None
        self.text_chats  # noqa: B018 (decided before the file can change; its first rows are read here anyway)
        for start in range(0, len(self), SCAN_ROWS):
            rows = np.arange(start, min(start + SCAN_ROWS, len(self)), dtype=np.intp)
            built = self.build(rows)
            faults = built.faults
            self.is_answered = any(turn[0] == "assistant" for wire in built.wires for turn in wire[0])
            if len(faults) < len(rows):
                return
            first = first or faults[0]
        if first is not None:
            raise self._nothing_reads(first)

    def _nothing_reads(self, first: CellFault) -> SamplesError:
        error = self.error(0, first)
        return SamplesError(
            f"none of the {len(self)} rows can be read" if len(self) > 1 else error.what,
            where=error.where,
            found=error.found,
            expected=error.expected,
            hint=error.hint,
        )


def _are_whole_with_gaps(pieces: Iterable[NDArray[Any]]) -> bool:
    """Whether floats are whole numbers that a gap made floats: pandas reads [3, None] as [3.0, NaN]."""
    gaps, present = False, 0
    for values in pieces:
        numbers = values[~np.isnan(values)]
        gaps, present = gaps or len(numbers) < len(values), present + len(numbers)
        if not ((np.abs(numbers) < FLOATS[values.dtype]) & (numbers == np.floor(numbers))).all():
            return False
    return gaps and present > 0


def _are_whole(pieces: Iterable[NDArray[Any]]) -> bool:
    """Whether floats are whole numbers without a gap, and not only 0 or 1."""
    others = False
    for values in pieces:
        if not (values == np.floor(values)).all():
            return False
        others = others or bool(((values != 0) & (values != 1)).any())
    return others


def objects(values: Sequence[Any]) -> NDArray[np.object_]:
    """An array of these values, (n,)."""
    if set(map(type, values)) <= {str}:
        return np.array(values, dtype=object)
    # Filled one by one: numpy would make a table of equally long lists.
    result = np.empty(len(values), dtype=object)
    for row, value in enumerate(values):
        result[row] = value
    return result


def _unique(names: Sequence[str]) -> list[str]:
    if len(set(names)) == len(names):
        return list(names)
    originals, used, count = set(names), set[str](), dict[str, int]()
    result = []
    for name in names:
        fresh = name
        # A generated name must differ from the ids of other rows.
        while fresh in used or (fresh != name and fresh in originals):
            count[name] = count.get(name, 1) + 1
            fresh = f"{name}#{count[name]}"
        used.add(fresh)
        result.append(fresh)
    return result
