"""Build threads (as wire tuples) from columns of cells: a bad cell fails its row, never the run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, repeat
from types import NoneType
from typing import Any, TypeVar

import numpy as np

from workbench.core.grade import ErrorKind
from workbench.core.thread import StringThread
from workbench.core.user_functions import attempt
from workbench.data.row_columns import dicts, turns_of
from workbench.data.samples.chats import MESSAGE_ROLES, images_of, without_no_answer
from workbench.data.samples.plain import NotPlainError, plain, text
from workbench.data.samples.roles import (
    CellError,
    completion_of,
    mapping_of,
    messages_of,
    prompt_of,
    system_of,
    tools_of,
)

T = TypeVar("T")
Wire = tuple[Any, ...]
"""(turns, metadata, calls, tools, tool results), as returned by `StringThread.to_wire`."""

EMPTY: Wire = ([], {}, None, None, None)
"""The thread of an unreadable row; packed, never returned for modification."""

_SAFE = frozenset({str, int, bool, NoneType})
_SAFE_OR_NAN = _SAFE | {float}
_CONTENT = ("messages", "system", "prompt", "completion", "tools")
SPEAKERS = {"system": "system", "prompt": "user", "completion": "assistant"}
"""Roles of columns that are one turn each, in the order of a conversation, with the role of the turn."""


@dataclass(frozen=True, slots=True)
class CellFault:
    """Why one row cannot be read.

    Attributes:
        column: The invalid column; "" if the whole line is invalid.
        found: The actual content.
        expected: The required content.
        kind: Error kind of the failed grade.
    """

    column: str
    found: str
    expected: str
    kind: ErrorKind = ErrorKind.SAMPLE

    def __str__(self) -> str:
        place = f"column {self.column!r}: " if self.column else ""
        return f"{place}found {self.found}, expected {self.expected}"


class CellProblem(str):  # noqa: SLOT000 (a text with a kind)
    """Why a row is not graded, as text.

    Attributes:
        kind: Error kind of its failed grade.
    """

    kind: ErrorKind = ErrorKind.SAMPLE

    @classmethod
    def of(cls, fault: CellFault, place: str) -> CellProblem:
        """The problem of a fault at a location."""
        # Problems that many rows share have identical texts, so that they are counted together.
        problem = cls(
            f"no completion to grade: {fault}"
            if fault.kind is ErrorKind.NO_COMPLETION
            else f"{place}: {fault}"
        )
        problem.kind = fault.kind
        return problem


def no_answer(turns: Sequence[Sequence[str]]) -> CellFault | None:
    """Why a conversation contains nothing to grade; None if its last turn is the assistant's."""
    if turns and turns[-1][0] == "assistant":
        return None
    found = f"a last turn of the role {turns[-1][0]!r:.80}" if turns else "no turn"
    return CellFault("", found, "a completion: a last turn of the role 'assistant'", ErrorKind.NO_COMPLETION)


def is_silent(turns: Sequence[Sequence[str]]) -> bool:
    """Whether the assistant has no text and no tool call after the last user turn."""
    last = next((role for role, _ in reversed(turns) if role in ("assistant", "user")), "user")
    return last == "user"


@dataclass(frozen=True)
class Built:
    """Threads of some rows.

    Attributes:
        wires: One wire tuple per row; an empty thread if the row has a fault.
        faults: Index among these rows to its fault.
    """

    wires: list[Wire]
    faults: dict[int, CellFault] = field(default_factory=dict)


@dataclass
class Conversations:
    """The turns of some rows, without metadata.

    Attributes:
        turns: Pairs of a role and a text, one list per row.
        rest: Row to (tool calls, tools, tool results), for rows that have any.
        images: Row to the images in its messages, for rows that have any.
    """

    turns: list[list[Any]]
    rest: dict[int, tuple[Any, Any, Any]] = field(default_factory=dict)
    images: dict[int, list[Any]] = field(default_factory=dict)


def build(
    cells: Mapping[str, Sequence[Any]],
    metadata: Mapping[str, Sequence[Any]],
    *,
    names: Mapping[str, str],
    rows: int,
) -> Built:
    """Build the threads of `rows` rows, a column at a time.

    Args:
        cells: Role to its column's cells.
        metadata: Column name to cells, for the columns that become metadata.
        names: Role to column name, for the faults.
        rows: Number of rows.
    """
    faults: dict[int, CellFault] = {}
    for role in ("id", "group"):
        if role in cells:
            clean(cells[role], text, names[role], faults=faults)
    metas = metadata_of(cells.get("metadata"), metadata, names.get("metadata", ""), rows, faults)
    found = conversations(cells, names, rows, faults)
    wires: list[Wire] = list(zip(found.turns, metas, repeat(None), repeat(None), repeat(None), strict=False))
    for row, rest in found.rest.items():
        wires[row] = (*wires[row][:2], *rest)
    for row, images in found.images.items():
        # For judges, which send them; a column of this name has its own meaning.
        turns, meta, *parts = wires[row]
        wires[row] = (turns, {"images": images, **meta}, *parts)
    for row in faults:
        wires[row] = EMPTY
    return Built(wires, dict(sorted(faults.items())))


def clean(
    values: Sequence[Any],
    convert: Callable[[Any], Any],
    column: str,
    *,
    faults: dict[int, CellFault] | None = None,
) -> list[Any]:
    """Convert every cell of a column; a cell that cannot be converted becomes None and is recorded in `faults`."""
    if convert in (text, plain) and set(map(type, values)) == {str}:
        return list(values)  # both leave text unchanged
    result = []
    for row, value in enumerate(values):
        try:
            result.append(convert(value))
        except (CellError, NotPlainError) as error:
            result.append(None)
            if faults is not None:
                faults.setdefault(row, _fault(error, column))
    return result


def prompt_key(wire: Wire) -> str | None:
    """The shared part of one prompt's rollouts: everything before the completion, as text; None if there is none."""
    turns, _, calls, _, _ = wire
    before = turns[:-1] if turns and turns[-1][0] == "assistant" else turns
    if not before:
        return None
    if len(before) == 1 and before[0][0] == "user":
        return str(before[0][1]) if before[0][1].strip() else None  # rows cannot share an empty prompt
    prompt_calls = {index: call for index, call in (calls or {}).items() if index < len(before)}
    return json.dumps([before, prompt_calls] if prompt_calls else before, default=repr)


def changed(change: Callable[[], T], otherwise: T) -> tuple[T, Exception | None]:
    """A changed row; else a replacement and the error, which may be anything that a user's extractor raises."""
    result = attempt(change)
    return (otherwise, result) if isinstance(result, Exception) else (result, None)


def _changed_wire(wire: Wire, change: Callable[[StringThread], StringThread]) -> Wire:
    return change(StringThread.from_wire(wire)).to_wire()


def rewritten(built: Built, change: Callable[[StringThread], StringThread]) -> Built:
    """The same rows with changed threads; a row whose change fails has a fault."""
    wires, faults = list(built.wires), dict(built.faults)
    for row, wire in enumerate(wires):
        if row not in faults:
            wires[row], error = changed(partial(_changed_wire, wire, change), EMPTY)
            if error is not None:
                faults[row] = CellFault(
                    "the conversation", f"{type(error).__name__}: {error}", "a text to grade"
                )
    return Built(wires, dict(sorted(faults.items())))


def _fault(error: Exception, column: str) -> CellFault:
    if isinstance(error, CellError):
        return CellFault(column, error.found, error.expected)
    return CellFault(column, str(error), "text, numbers, lists or dicts")


def metadata_of(
    base: Sequence[Any] | None,
    columns: Mapping[str, Sequence[Any]],
    name: str,
    rows: int,
    faults: dict[int, CellFault],
) -> list[dict[str, Any]]:
    """The metadata of each row.

    Args:
        base: Cells of the metadata column; None without one.
        columns: Column name to cells, for the columns that become metadata.
        name: Name of the metadata column.
        rows: Number of rows.
        faults: Filled with the faults of unreadable cells.
    """
    values = [plain_cells(cells, column, faults) for column, cells in columns.items()]
    metas = dicts(tuple(columns), values) if columns else [{} for _ in range(rows)]
    if base is None:
        return metas
    bases = clean(base, mapping_of, name, faults=faults)
    return [_merged(own, meta) for own, meta in zip(bases, metas, strict=True)]


def _merged(base: dict[str, Any] | None, meta: dict[str, Any]) -> dict[str, Any]:
    """Columns override the metadata dict, except in rows where the column is missing."""
    if not base:
        return meta
    return {**base, **{key: value for key, value in meta.items() if value is not None or key not in base}}


def plain_cells(values: Sequence[Any], column: str, faults: dict[int, CellFault]) -> Sequence[Any]:
    """The cells of a column as plain values, None if one is missing or unreadable; `faults` gets the latter."""
    kinds = set(map(type, values))
    if kinds <= _SAFE:
        return values
    if kinds <= _SAFE_OR_NAN:
        return [None if value != value else value for value in values]  # noqa: PLR0124 (NaN differs from itself)
    return clean(values, plain, column, faults=faults)


def conversations(
    cells: Mapping[str, Sequence[Any]], names: Mapping[str, str], rows: int, faults: dict[int, CellFault]
) -> Conversations:
    """The turns of `rows` rows.

    Args:
        cells: Role to its column's cells.
        names: Role to column name, for the faults.
        rows: Number of rows.
        faults: Filled with the faults of unreadable cells.
    """
    if (columns := turn_columns(cells)) is not None:
        return Conversations(turns_of(columns, rows))
    found = Conversations([[]] * rows)
    hard = _quick(cells, rows, found)
    if hard:
        _by_row(
            {role: [column[row] for row in hard] for role, column in cells.items()},
            names,
            hard,
            found,
            faults,
        )
    return found


def completions_of(cells: Mapping[str, Sequence[Any]]) -> Sequence[str | None] | None:
    """The completion of each row if it is the text of a separate column, None for a missing one; None for other rows."""
    return _texts(cells["completion"]) if "completion" in cells and _is_simple(cells) else None


def _is_simple(cells: Mapping[str, Sequence[Any]]) -> bool:
    """Whether each row consists of texts or numbers, one turn per column: the common case."""
    roles = {role for role in _CONTENT if role in cells}
    return roles <= SPEAKERS.keys() and all(set(map(type, cells[role])) <= _SAFE_OR_NAN for role in roles)


def turn_columns(cells: Mapping[str, Sequence[Any]]) -> tuple[tuple[str, list[str | None]], ...] | None:
    """Pairs of a turn's role and the column of its texts, if each row consists of texts or numbers; None for other rows."""
    if not _is_simple(cells):
        return None
    return tuple((SPEAKERS[role], list(_texts(cells[role]))) for role in SPEAKERS if role in cells)


def _texts(values: Sequence[Any]) -> Sequence[str | None]:
    return values if set(map(type, values)) <= {str} else [text(value) for value in values]


def _quick(cells: Mapping[str, Sequence[Any]], rows: int, found: Conversations) -> list[int]:
    """Fill in the rows whose messages contain only a role and a text; returns the others."""
    roles = {role for role in _CONTENT if role in cells}
    if "messages" not in roles or not roles <= {"messages", "system", "completion"}:
        return list(range(rows))
    columns = (cells.get(role, repeat(None, rows)) for role in ("system", "messages", "completion"))
    hard = []
    for row, parts in enumerate(zip(*columns, strict=True)):
        turns = _plain_turns(*parts)
        if turns is None:
            hard.append(row)
        else:
            found.turns[row] = turns
    return hard


def starts_with_system(messages: Any) -> bool:
    """Whether messages have a system prompt, so that one in another column repeats it."""
    first = messages[0] if len(messages) else None
    return isinstance(first, dict) and first.get("role") in ("system", "developer")


_MESSAGE = {"role", "content"}


def _plain_turns(system: Any, messages: Any, completion: Any) -> list[Any] | None:
    """The turns of a row that is only text, as built by `_wire`; None if there may be more to it."""
    if (type(messages) is not list and type(messages) is not np.ndarray) or (
        system is not None and starts_with_system(messages)
    ):
        return None
    turns: list[Any] = []
    if type(system) is str:
        turns.append(("system", system))
    elif system is not None:
        return None
    for message in messages:
        if type(message) is not dict or message.keys() != _MESSAGE:
            return None
        role, content = message["role"], message["content"]
        if type(content) is not str or type(role) is not str or role not in MESSAGE_ROLES:
            return None
        turns.append((role, content))
    if type(completion) is str:
        # Unless it merely repeats the last turn of the messages.
        if not len(messages) or turns[-1] != ("assistant", completion):
            turns.append(("assistant", completion))
    elif completion is not None:
        return None
    return turns


def _by_row(
    cells: Mapping[str, Sequence[Any]],
    names: Mapping[str, str],
    rows: Sequence[int],
    found: Conversations,
    faults: dict[int, CellFault],
) -> None:
    """Fill in rows of any kind.

    Args:
        cells: Role to the cells of these rows.
        names: Role to column name, for the faults.
        rows: Their row indices.
        found: The result to fill in.
        faults: Filled with the faults of unreadable cells, by row index.
    """
    own_faults: dict[int, CellFault] = {}

    def column(role: str, convert: Callable[[Any], Any]) -> Iterable[Any]:
        return (
            clean(cells[role], convert, names[role], faults=own_faults)
            if role in cells
            else repeat(None, len(rows))
        )

    parts = zip(
        column("system", system_of),
        column("messages", messages_of),
        column("prompt", prompt_of),
        column("completion", partial(completion_of, column=names.get("completion", ""))),
        column("tools", tools_of),
        strict=True,
    )
    for row, values in zip(rows, parts, strict=True):
        turns, _, *rest = _wire(*values)
        found.turns[row] = turns
        if images := images_of(chain.from_iterable(part for part in values[:4] if isinstance(part, list))):
            found.images[row] = images
        if any(part is not None for part in rest):
            found.rest[row] = (rest[0], rest[1], rest[2])
    for at, fault in own_faults.items():
        faults.setdefault(rows[at], fault)


def _wire(
    system: str | None,
    messages: list[Any] | None,
    prompt: list[Any] | None,
    completion: list[Any] | None,
    tools: list[Any] | None,
) -> Wire:
    before = messages if messages is not None else prompt or []
    is_said = (
        bool(before) and isinstance(before[0], dict) and before[0].get("role") in ("system", "developer")
    )
    system_turns = [] if system is None or is_said else [{"role": "system", "content": system}]
    chat = without_no_answer([*system_turns, *before, *_new(before, completion or [])])
    return StringThread.from_messages(chat, {}, tools=tools).to_wire()


def _new(before: list[Any], completion: list[Any]) -> list[Any]:
    """The completion, unless it merely repeats the assistant turn at the end of the messages."""
    ending = StringThread.from_messages(before[-1:]).completion() if before else None
    answer = StringThread.from_messages(completion).completion() if len(completion) == 1 else None
    return [] if ending is not None and ending == answer else completion
