"""Reads rows of a tool's shape: its prompts, completions and references under these names, with their old scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from workbench.core.display_text import counted, one_line
from workbench.core.errors import SamplesError
from workbench.core.grade import ErrorKind
from workbench.data.samples.cells import CellFault
from workbench.data.samples.chats import chat_of
from workbench.data.samples.column_names import ROLES
from workbench.data.samples.columns import frame_roles, recognise
from workbench.data.samples.old_grades import are_scores, column_scores, is_scored
from workbench.data.samples.parquet_columns import ParquetColumns
from workbench.data.samples.plain import NotPlainError, is_missing
from workbench.data.samples.repeated_rows import cells_as_column
from workbench.data.samples.roles import CellError, are_chat_texts, completion_of, prompt_of
from workbench.data.samples.shapes import (
    LOOKED_AT,
    SHAPES,
    Row,
    Score,
    Shape,
    ShapedRow,
    free_name,
    regrouped,
    shape_of,
)
from workbench.data.samples.source_file import Loaded
from workbench.data.samples.table import DECIDING_ROWS

Columns = Mapping[str, str | None] | None
"""Role to column name, as given by the user."""

_ROLES = ("id", "group", "system", "messages", "prompt", "completion", "tools", "reference")
_SHOWN = 6
"""Maximum graders that a note names."""
_MISREAD = (KeyError, TypeError, ValueError, AttributeError, IndexError)
"""What a reader of a shape raises for a row that is none."""


def shaped(loaded: Loaded, columns: Columns, source: str) -> tuple[Loaded, Columns, tuple[str, ...]]:
    """The rows of a known shape, the roles of their columns, and notes for the user; plain rows unchanged.

    Rows stay unchanged if the user maps a column that the shape does not have. Lazily read data stay unchanged, with a note
    if they can be read by the names of their columns.

    Args:
        loaded: The result of a reader.
        columns: Role to column name, as given by the user.
        source: Origin of the rows, for errors.

    Raises:
        SamplesError: Rows of a shape without completions, of which none has a prompt; or lazily read rows that need their
            shape.
    """
    frame = loaded.frame
    if isinstance(frame, ParquetColumns) and not columns:
        return loaded, columns, _notes_on_lazy(frame, source)
    if (
        not isinstance(frame, pd.DataFrame)
        or not isinstance(columns, Mapping | None)
        or frame.columns.nlevels > 1
    ):
        return loaded, columns, ()
    names = unique_names(frame.columns)
    first = list(records(frame.head(LOOKED_AT), names))
    found, is_flat = _shape_of_flat(names, first)
    if found is None:
        return loaded, columns, ()
    whole = list(map(regrouped, records(frame, names)) if is_flat else records(frame, names))
    read = _Read(found, len(whole))
    read.add(found.prepare(whole) if found.prepare else whole, loaded, keeps_lines=found.prepare is None)
    if not read.rows and len(frame):
        raise SamplesError(
            f"these are {found.name}, and none of them has a completion", where=source, found=f"{len(frame):,} rows: {found.left}",
            expected="at least one completion of a model", hint="export the rows with the model's completions, or map columns: columns={'completion': ...}",
        )  # fmt: skip
    result, roles = read.loaded()
    wanted = [name for name in (columns or {}).values() if name is not None]
    own = result.frame
    assert isinstance(own, pd.DataFrame)
    if any(name not in own.columns for name in wanted):
        return loaded, columns, ()
    if _has_pair(frame, own):
        return loaded, columns, ()
    if found.no_completions and not _has_roles(own, roles):
        raise found.refusal(len(own), source)
    return result, {**roles, **(columns or {})}, tuple(read.notes())


def _has_pair(frame: pd.DataFrame, own: pd.DataFrame) -> bool:
    """Whether a shape does not expand the columns of a preference pair, so that the rejected completions would not be graded."""
    sides = [name for name in ("chosen", "rejected") if name in frame.columns and name in own.columns]
    return len(sides) == 2 and all(
        isinstance(cell, str | list)
        for name in sides
        for cell in frame[name].head(LOOKED_AT)
        if not is_missing(cell)
    )


def _shape_of_flat(names: Sequence[str], rows: Sequence[Row]) -> tuple[Shape | None, bool]:
    """The shape of some rows, and whether they have it only with their dotted names as objects."""
    found = shape_of(names, rows)
    if found is not None or not any("." in name for name in names):
        return found, False
    nested = [regrouped(row) for row in rows]
    return shape_of(list(dict.fromkeys(name for row in nested for name in row)), nested), True


def _notes_on_lazy(frame: ParquetColumns, source: str) -> tuple[str, ...]:
    """A note on lazily read rows of a tool's shape, whose prompts and completions are texts; none for plain rows.

    Raises:
        SamplesError: Their prompts or completions are inside objects, which only reading them in memory finds.
    """
    names = [str(name) for name in frame.names]
    if not any(one.could_be_of(names) for one in SHAPES.values()):
        return ()
    found = shape_of(names, list(records(frame.frame(slice(0, LOOKED_AT)), names)))
    if found is None:
        return ()
    try:
        roles = recognise(names)
    except SamplesError:
        roles = {}
    told = [roles[role] for role in ("prompt", "completion") if role in roles]
    if "completion" in roles and all(map(frame.is_text, told)):
        why = "because they are read on demand: past scores are not read"
        return (f"rows of {found.name} are read by the names of their columns, {why}",)
    raise SamplesError(
        f"these are {found.name}, which can be read in memory only", where=source, found="rows that are read on demand",
        hint=f"convert them once: wb.read_samples({source!r}).frame.to_parquet('rows.parquet'), or map columns of text: "
        "columns={'prompt': ..., 'completion': ...}",
    )  # fmt: skip


def _has_roles(frame: pd.DataFrame, roles: Mapping[str, str | None]) -> bool:
    try:
        recognise(list(frame.columns), roles)
    except SamplesError:
        return False
    return True


def unique_names(names: Iterable[Any]) -> list[str]:
    """The names of columns as text; the second "Status" is "Status#2"."""
    taken: dict[str, None] = {}
    for name in names:
        taken[free_name(str(name), taken)] = None
    return list(taken)


def records(frame: pd.DataFrame, names: Sequence[str]) -> Iterator[Row]:
    """The rows as objects, without their missing cells."""
    cells = [_plain_lists(frame.iloc[:, place].tolist()) for place in range(len(names))]
    for row in zip(*cells, strict=True):
        yield {name: cell for name, cell in zip(names, row, strict=True) if not is_missing(cell)}


def _plain_lists(cells: list[Any]) -> list[Any]:
    """Cells whose arrays, also inside objects, are lists: Parquet reads lists as arrays."""
    if not any(isinstance(cell, np.ndarray | dict | list) for cell in cells):
        return cells
    return [_as_list(cell) if isinstance(cell, np.ndarray | dict | list) else cell for cell in cells]


def _as_list(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list):
        return (
            [_as_list(one) for one in value]
            if any(isinstance(one, np.ndarray | dict | list) for one in value)
            else value
        )
    if isinstance(value, dict):
        return {
            key: _as_list(one) if isinstance(one, np.ndarray | dict | list) else one
            for key, one in value.items()
        }
    return value


@dataclass
class _Read:
    """Rows of a shape while they are read.

    Attributes:
        shape: The shape.
        total: Rows of the file.
        rows: What they are.
        lines: Their line numbers; None if unknown.
        faults: Row to what is wrong with its line.
        n_left: Rows that were left out.
    """

    shape: Shape
    total: int
    rows: list[ShapedRow] = field(default_factory=list)
    lines: list[int] | None = None
    faults: dict[int, CellFault] = field(default_factory=dict)
    n_left: int = 0

    def add(self, records: Sequence[Row], loaded: Loaded, *, keeps_lines: bool) -> None:
        """Read all rows of a file."""
        lines = loaded.lines if keeps_lines else None
        self.lines = None if lines is None else []
        for number, record in enumerate(records):
            if keeps_lines and number in loaded.faults:
                self._append([ShapedRow()], number, lines, loaded.faults[number])
                continue
            try:
                read = self.shape.read(record)
                rows = [] if read is None else [read] if isinstance(read, ShapedRow) else list(read)
            except _MISREAD as error:
                self._append([ShapedRow()], number, lines, _misread(self.shape, record, error))
                continue
            self.n_left += not rows
            self._append(rows, number, lines)

    def _append(
        self,
        rows: Sequence[ShapedRow],
        number: int,
        lines: Sequence[int] | None,
        fault: CellFault | None = None,
    ) -> None:
        for row in rows:
            if fault is not None:
                self.faults[len(self.rows)] = fault
            elif (
                row.error
                and is_missing(row.completion)
                and is_missing(row.messages)
                and not self.shape.no_completions
            ):
                self.faults[len(self.rows)] = CellFault(
                    "", row.error, "a completion", ErrorKind.NO_COMPLETION
                )
            if self.lines is not None and lines is not None:
                self.lines.append(lines[number])
            self.rows.append(row)

    def loaded(self) -> tuple[Loaded, dict[str, str | None]]:
        """The rows as a frame, and the column of each role; not of roles without cells, which names may still have."""
        if any(not is_missing(row.messages) for row in self.rows):
            self.rows = [_as_chat(row) for row in self.rows]
        used = [role for role in _ROLES if any(not is_missing(getattr(row, role)) for row in self.rows)]
        if "completion" not in used and "messages" not in used and not self.shape.no_completions:
            used.append("completion")  # so that a run reports that every row lacks one
        cells: dict[str, list[Any]] = {role: [getattr(row, role) for row in self.rows] for role in used}
        for role in {"prompt", "completion"} & set(used):
            cells[role] = _as_texts(cells[role], role)
        names = dict.fromkeys(name for row in self.rows for name in row.columns)
        for name in names:
            own = name if name not in cells else free_name(f"row.{name}", cells)
            cells[own] = [row.columns.get(name) for row in self.rows]
        frame = pd.DataFrame(
            {name: as_column(column) for name, column in cells.items()}, index=range(len(self.rows))
        )
        roles: dict[str, str | None] = dict.fromkeys(ROLES)
        roles |= {role: role for role in used}
        open_roles = (
            {"reference"}
            if "prompt" in used or "messages" in used
            else {"reference", "prompt", "instruction"}
        )
        given = {role: name for role, name in roles.items() if name is not None or role not in open_roles}
        return Loaded(frame, self.lines, self.faults, self._old(), self.shape), given

    def _old(self) -> dict[str, list[Score | None]]:
        graders = dict.fromkeys(name for row in self.rows for name in row.scores)
        found = {name: [row.scores.get(name) for row in self.rows] for name in graders}
        return {name: scores for name, scores in found.items() if is_scored(scores)}

    def notes(self) -> Iterator[str]:
        """What was taken for what, and what was left."""
        left = f" of {self.total:,}; {self.n_left:,} left out ({self.shape.left})" if self.n_left else ""
        lacking = sum(fault.kind is ErrorKind.NO_COMPLETION for fault in self.faults.values())
        lacks = f"; {lacking:,} without a completion" if lacking else ""
        yield f"read as {self.shape.name}: {counted(len(self.rows), 'row')}{left}{lacks}{_taken(self.shape)}"
        old = self._old()
        others = [
            name
            for name in dict.fromkeys(name for row in self.rows for name in row.scores)
            if name not in old
        ]
        if others:
            yield f"results that are not numbers are not read as old scores: {_listed(others)}"


_PARTS = {"role", "content"}
_SPEAKER = {"prompt": "user", "completion": "assistant"}


def _as_texts(cells: list[Any], role: str) -> list[Any]:
    """Cells with the text of those that are one message of the role's speaker: columns of texts are read ten times faster.

    Unchanged if such texts would be read as messages themselves.
    """
    texts = [_text_of_message(cell, _SPEAKER[role]) for cell in cells]
    return cells if are_chat_texts(texts[:DECIDING_ROWS], role) else texts


def _text_of_message(cell: Any, speaker: str) -> Any:
    message = cell[0] if isinstance(cell, list) and len(cell) == 1 else cell
    if not isinstance(message, dict) or len(message) != len(_PARTS):
        return cell
    if "role" not in message:
        message = (chat_of(message) or [{}])[0]  # another tool's names of its parts
    if message.keys() != _PARTS or message["role"] != speaker:
        return cell
    return message["content"] if isinstance(message["content"], str) else cell


def _as_chat(row: ShapedRow) -> ShapedRow:
    """A row whose prompt and completion are messages, because other rows of its file are."""
    if not is_missing(row.messages) or (is_missing(row.prompt) and is_missing(row.completion)):
        return row
    try:
        chat = [*(prompt_of(row.prompt) or ()), *(completion_of(row.completion) or ())]
    except (CellError, NotPlainError):
        chat = []
    return replace(row, prompt=None, completion=None, messages=chat or None)


def _taken(shape: Shape) -> str:
    return f"; {shape.takes}" if shape.takes else ""


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(one_line(name, 60) for name in names[:_SHOWN]) + more


def _misread(shape: Shape, record: Row, error: Exception) -> CellFault:
    return CellFault(
        "",
        f"keys {', '.join(list(record)[:10])} ({type(error).__name__}: {str(error)[:100]})",
        f"a row of {shape.name}",
    )


def as_column(cells: Sequence[Any]) -> pd.Series[Any]:
    """Cells as separate objects; numbers of one kind become numpy's."""
    series = cells_as_column(cells, pd.RangeIndex(len(cells)))
    kinds = set(map(type, cells))
    return series.infer_objects() if len(kinds) == 1 and kinds <= {bool, int, float} else series


def with_column_scores(loaded: Loaded, columns: Columns) -> Loaded:
    """Plain rows with the scores in their columns as old grades; the columns stay."""
    frame = loaded.frame
    if (
        not isinstance(frame, pd.DataFrame)
        or loaded.shape is not None
        or frame.columns.has_duplicates
        or frame.columns.nlevels > 1
    ):
        return loaded
    roles = frame_roles(frame, columns, n_cells=LOOKED_AT)
    if not roles:
        return loaded
    names = {str(name): name for name in frame.columns}
    taken = {*roles.values(), *loaded.old}
    free = {name: frame[own] for name, own in names.items() if name not in taken and are_scores(name)}
    return replace(loaded, old={**loaded.old, **column_scores(free)}) if free else loaded
