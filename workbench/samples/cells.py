"""Make threads (as wire tuples) from columns of cells: a bad cell makes its row fail, never the run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from types import NoneType
from typing import Any

from workbench.samples.plain import NotPlainError, plain, text
from workbench.samples.roles import CellError, completion_of, mapping_of, messages_of, prompt_of, tools_of
from workbench.thread import StringThread

__all__ = ["EMPTY", "Built", "Fault", "Wire", "build", "clean", "prompt_key", "rewritten"]

Wire = tuple[Any, ...]
"""(turns, metadata, calls, tools, answers), as `StringThread.to_wire` makes it."""

EMPTY: Wire = ([], {}, None, None, None)
"""The thread of a row that cannot be read; packed, never handed out to be changed."""

_SAFE = frozenset({str, int, bool, NoneType})
_SAFE_OR_NAN = _SAFE | {float}
_CONTENT = ("messages", "system", "prompt", "completion", "tools")


@dataclass(frozen=True, slots=True)
class Fault:
    """Why one row cannot be read.

    Attributes:
        column: The column at fault; "" when the whole line is.
        found: What is there.
        expected: What should be.
    """

    column: str
    found: str
    expected: str

    def __str__(self) -> str:
        place = f"column {self.column!r}: " if self.column else ""
        return f"{place}found {self.found}, expected {self.expected}"


@dataclass(frozen=True)
class Built:
    """Threads of some rows.

    Attributes:
        wires: One wire tuple a row; an empty thread where the row has a fault.
        faults: Position among these rows to what is wrong there.
    """

    wires: list[Wire]
    faults: dict[int, Fault] = field(default_factory=dict)


def build(
    cells: Mapping[str, Sequence[Any]],
    metadata: Mapping[str, Sequence[Any]],
    *,
    names: Mapping[str, str],
    rows: int,
) -> Built:
    """Make the threads of `rows` rows, a column at a time.

    Args:
        cells: Role to its column's cells.
        metadata: Column name to cells, for the columns that become metadata.
        names: Role to column name, for the faults.
        rows: How many.
    """
    faults: dict[int, Fault] = {}
    for role in ("id", "group"):
        if role in cells:
            clean(cells[role], text, names[role], faults=faults)
    metas = _metadata(cells.get("metadata"), metadata, names.get("metadata", ""), rows, faults)
    wires = _simple(cells, metas, rows) if _is_simple(cells) else _by_row(cells, metas, names, faults)
    for row in faults:
        wires[row] = EMPTY
    return Built(wires, dict(sorted(faults.items())))


def clean(
    values: Sequence[Any],
    convert: Callable[[Any], Any],
    column: str,
    *,
    faults: dict[int, Fault] | None = None,
) -> list[Any]:
    """Convert every cell of a column; a cell that cannot be becomes None and is noted in `faults`."""
    if convert in (text, plain) and set(map(type, values)) == {str}:
        return list(values)  # both leave text as it is
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
    """What the rollouts of one prompt share: everything before the completion, as text; None if nothing comes before it."""
    turns, _, calls, _, _ = wire
    before = turns[:-1] if turns and turns[-1][0] == "assistant" else turns
    if not before:
        return None
    if len(before) == 1 and before[0][0] == "user":
        return (
            str(before[0][1]) if before[0][1].strip() else None
        )  # an empty prompt is none that rows could share
    prompt_calls = {index: call for index, call in (calls or {}).items() if index < len(before)}
    return json.dumps([before, prompt_calls] if prompt_calls else before, default=repr)


def rewritten(built: Built, change: Callable[[StringThread], StringThread]) -> Built:
    """The same rows with changed threads; a row whose change fails has a fault."""
    wires, faults = list(built.wires), dict(built.faults)
    for row, wire in enumerate(wires):
        if row not in faults:
            try:
                wires[row] = change(StringThread.from_wire(wire)).to_wire()
            except Exception as error:  # noqa: BLE001 (an extractor of somebody's own)
                wires[row] = EMPTY
                faults[row] = Fault("the conversation", f"{type(error).__name__}: {error}", "a text to grade")
    return Built(wires, dict(sorted(faults.items())))


def _fault(error: Exception, column: str) -> Fault:
    if isinstance(error, CellError):
        return Fault(column, error.found, error.expected)
    return Fault(column, str(error), "text, numbers, lists or dicts")


def _metadata(
    base: Sequence[Any] | None,
    columns: Mapping[str, Sequence[Any]],
    name: str,
    rows: int,
    faults: dict[int, Fault],
) -> list[dict[str, Any]]:
    values = [_plain_column(cells, column, faults) for column, cells in columns.items()]
    keys = tuple(columns)
    # strict=False: every column has the same length, and zip's check costs a third of the time.
    metas = [dict(zip(keys, row, strict=False)) for row in zip(*values, strict=True)] if keys else []
    metas = metas or [{} for _ in range(rows)]
    if base is None:
        return metas
    bases = clean(base, mapping_of, name, faults=faults)
    return [_merged(own, meta) for own, meta in zip(bases, metas, strict=True)]


def _merged(base: dict[str, Any] | None, meta: dict[str, Any]) -> dict[str, Any]:
    """Columns win over the metadata dict, except where the column says nothing."""
    if not base:
        return meta
    return {**base, **{key: value for key, value in meta.items() if value is not None or key not in base}}


def _plain_column(values: Sequence[Any], column: str, faults: dict[int, Fault]) -> Sequence[Any]:
    kinds = set(map(type, values))
    if kinds <= _SAFE:
        return values
    if kinds <= _SAFE_OR_NAN:
        return [None if value != value else value for value in values]  # noqa: PLR0124 (NaN differs from itself)
    return clean(values, plain, column, faults=faults)


def _is_simple(cells: Mapping[str, Sequence[Any]]) -> bool:
    """Whether the rows are a prompt and a completion of text or numbers, the common case worth a fast path."""
    roles = [role for role in _CONTENT if role in cells]
    return set(roles) <= {"prompt", "completion"} and all(
        set(map(type, cells[role])) <= _SAFE_OR_NAN for role in roles
    )


def _simple(cells: Mapping[str, Sequence[Any]], metas: list[dict[str, Any]], rows: int) -> list[Wire]:
    prompts, completions = (_texts(cells.get(role), rows) for role in ("prompt", "completion"))
    turns: list[list[Any]]
    if None in prompts or None in completions:
        turns = [_turns(p, c) for p, c in zip(prompts, completions, strict=True)]
    else:
        turns = [[("user", p), ("assistant", c)] for p, c in zip(prompts, completions, strict=True)]
    return list(zip(turns, metas, repeat(None), repeat(None), repeat(None), strict=False))


def _texts(values: Sequence[Any] | None, rows: int) -> Sequence[str | None]:
    if values is None:
        return [None] * rows
    return values if set(map(type, values)) <= {str} else [text(value) for value in values]


def _turns(prompt: str | None, completion: str | None) -> list[Any]:
    turns = (("user", prompt), ("assistant", completion))
    return [turn for turn in turns if turn[1] is not None]


def _by_row(
    cells: Mapping[str, Sequence[Any]],
    metas: list[dict[str, Any]],
    names: Mapping[str, str],
    faults: dict[int, Fault],
) -> list[Wire]:
    def column(role: str, convert: Callable[[Any], Any]) -> Iterable[Any]:
        return (
            clean(cells[role], convert, names[role], faults=faults)
            if role in cells
            else repeat(None, len(metas))
        )

    parts = zip(
        column("system", text),
        column("messages", messages_of),
        column("prompt", prompt_of),
        column("completion", partial(completion_of, column=names.get("completion", ""))),
        column("tools", tools_of),
        metas,
        strict=True,
    )
    return [_wire(*row) for row in parts]


def _wire(
    system: str | None,
    messages: list[Any] | None,
    prompt: list[Any] | None,
    completion: list[Any] | None,
    tools: list[Any] | None,
    metadata: dict[str, Any],
) -> Wire:
    before = messages if messages is not None else prompt or []
    system_turns = [] if system is None else [{"role": "system", "content": system}]
    chat = [*system_turns, *before, *_new(before, completion or [])]
    return StringThread.from_messages(chat, metadata, tools=tools).to_wire()


def _new(before: list[Any], completion: list[Any]) -> list[Any]:
    """The completion, unless it merely repeats the assistant turn the messages end with."""
    ending = StringThread.from_messages(before[-1:]).completion() if before else None
    answer = StringThread.from_messages(completion).completion() if len(completion) == 1 else None
    return [] if ending is not None and ending == answer else completion
