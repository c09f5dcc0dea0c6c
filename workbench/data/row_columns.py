"""Encoding of rows for the sandbox: whole columns in, conversations out.

The host encodes columns, which costs a tenth of encoding rows, and the worker builds rows from them. `marshal` is safe in
this direction only: the host writes, the worker reads. Standard library only; the worker loads this file by its path.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise, repeat
from typing import Any

REFERENCE_NAMES = (
    "reference",
    "expected",
    "ground_truth",
    "label",
    "answer",
    "target",
    "ideal",
    "gold",
    "gold_answer",
    "expected_output",
    "reference_answer",
    "correct_answer",
    "expected_answer",
    "ground_truths",
    "golden_answer",
    "expected_response",
    "reference_response",
    "reference_output",
    "referenceResponse",
    "solution",
    "gts",
    "expectations",
    "answers",
    "reward_model",
)
"""Column names that samples recognise as the reference; a row's metadata contains it under its column's name."""

_MAX_KEYS = 200
"""Maximum number of columns for which the code that builds dicts of them is written out."""

Column = Any
"""The cells of one column, (n,): a list of plain values, or the result of `text_column`; in a batch that was read, bytes
in `marshal` until they are used."""


def text_column(data: Any, offsets: Any, missing: Sequence[int]) -> Column:
    """A column of text as UTF-8 in one piece: quick to encode, but decoding takes three times as long as that of a list.

    Args:
        data: The bytes of all cells, concatenated.
        offsets: Start of each cell, and the end of the last one: 64-bit integers (n + 1,) as bytes.
        missing: Indices of the cells that are None.
    """
    return (data, offsets, list(missing))


def cells(column: Column) -> list[Any]:
    """The cells of a column, (n,)."""
    if type(column) is not list and type(column) is not tuple:
        column = marshal.loads(column)  # noqa: S302 (see `_read`)
    if type(column) is list:
        return column
    data, offsets, missing = column
    places = memoryview(offsets).cast("q").tolist()
    try:
        # Then a character is a byte, and slicing text is cheaper than decoding pieces.
        text = str(data, "ascii")
        values: list[Any] = [text[start:stop] for start, stop in pairwise(places)]
    except UnicodeDecodeError:
        data = bytes(data)
        values = [data[start:stop].decode("utf-8", "surrogatepass") for start, stop in pairwise(places)]
    for place in missing:
        values[place] = None
    return values


def dumped(
    rows: int,
    turns: Any,
    metadata: Any,
    *,
    rest: dict[int, Any] | None = None,
    empty: Sequence[int] = (),
    extras: tuple[str, Column, Column] | None = None,
) -> bytes:
    """A batch of rows as bytes: a head, then the columns, so that a worker decodes only those that its grader uses.

    Args:
        rows: Number of rows.
        turns: Pairs of a role and a column, as a tuple: each row gets a turn unless its cell is None; or the
            turns of each row, as a list.
        metadata: Pairs of a key and a column, as a tuple; or one dict per row, as a list.
        rest: Index to (tool calls, tools, tool results), for the rows that have any.
        empty: Indices of unreadable rows: their conversation is empty.
        extras: For graders that take more than a thread: the column of the reference, the references and the ids.
    """
    columns: list[Any] = []

    def placed(column: Column) -> Any:
        """The column's length in bytes; of text in one piece the lengths of its parts, which are copied only once."""
        if type(column) is tuple:
            columns.extend(column[:2])
            return (len(column[0]), len(column[1]), column[2])
        columns.append(marshal.dumps(column))
        return len(columns[-1])

    def all_placed(value: Any) -> Any:
        """Names and lengths of several columns; the length of a value per row."""
        return [(name, placed(column)) for name, column in value] if type(value) is tuple else placed(value)

    named = None if extras is None else (extras[0], placed(extras[1]), placed(extras[2]))
    parts = (named, all_placed(turns), all_placed(metadata))
    head = (rows, *parts, rest or {}, list(empty), sum(map(len, columns)))
    return b"".join([marshal.dumps(head), *columns])


def _read(data: Any) -> Any:
    """The arguments of `dumped` in its order, each column as a view of `data`; or a list of wire tuples.

    `marshal` is safe here: the host wrote the data.
    """
    head = marshal.loads(data)  # noqa: S302 (see above)
    if type(head) is list:
        return head
    rows, extras, turns, metadata, rest, empty, size = head
    view = memoryview(data)
    at = len(view) - size  # `marshal` does not return where the head ends

    def placed(value: Any) -> Any:
        nonlocal at
        if type(value) is list:
            return tuple([(name, placed(length)) for name, length in value])
        if type(value) is tuple:
            return (placed(value[0]), placed(value[1]), value[2])
        at += value
        return view[at - value : at]

    named = extras and (extras[0], placed(extras[1]), placed(extras[2]))
    return rows, placed(turns), placed(metadata), rest, empty, named


class ColumnBatch:
    """Rows as columns, which are decoded and combined to conversations or metadata on demand.

    Args:
        data: The result of `dumped`.

    Attributes:
        answers: By row, the last turn's text if its role is `assistant`, else None; decoded on first use.
        whole: Row to its wire tuple, for the rows that have more, or less, than turns and metadata.
    """

    __slots__ = ("_metadata", "_parts", "_rows", "_turns", "answers", "whole")

    answers: list[Any]

    def __init__(self, data: Any) -> None:
        self._rows, self._turns, self._metadata, rest, empty, _ = _read(data)
        self._parts: dict[str, list[Any]] = {}
        self.whole = {
            row: (self.part(row, "_turns"), self.part(row, "metadata"), *parts) for row, parts in rest.items()
        } | dict.fromkeys(empty, ([], {}, None, None, None))

    def __len__(self) -> int:
        return int(self._rows)

    def __getattr__(self, name: str) -> Any:
        """Decode the completions when they are used first."""
        if name != "answers":
            raise AttributeError(name)
        self.answers = self._completions()
        return self.answers

    def _completions(self) -> list[Any]:
        if type(self._turns) is not tuple:
            return [
                turns[-1][1] if turns and turns[-1][0] == "assistant" else None
                for turns in self.parts("_turns")
            ]
        if not self._turns or self._turns[-1][0] != "assistant":
            return [None] * len(self)
        return cells(self._turns[-1][1])

    @property
    def asked(self) -> frozenset[str]:
        """The attributes that were used before."""
        return frozenset(self._parts)

    def part(self, row: int, name: str) -> Any:
        """An attribute of a row's thread: see `parts`."""
        return self.parts(name)[row]

    def parts(self, name: str) -> list[Any]:
        """An attribute of the threads of all rows: their turns, their metadata, or one that they do not need."""
        if name not in self._parts:
            self._parts[name] = self._made(name)
        return self._parts[name]

    def _made(self, name: str) -> list[Any]:
        if name == "_turns":
            return turns_of(self._turns, self._rows)
        if name == "metadata":
            return list(_metadata(self._metadata, self._rows))
        return [[] if name == "tools" else {} for _ in range(self._rows)]


def is_rows(data: Any) -> bool:
    """Whether a batch is a list of wire tuples in `marshal`, not columns."""
    return bool(data[0] & 0x7F == ord("["))  # without the flag of values that occur several times


def loaded(data: Any) -> list[tuple[Any, ...]]:
    """The rows of a batch as wire tuples, see `StringThread.to_wire`; with extras three values longer.

    Args:
        data: The result of `dumped`, or a list of wire tuples in `marshal`.
    """
    batch = _read(data)
    if type(batch) is list:
        return batch
    rows, turns, metadata, rest, empty, extras = batch
    columns = (turns_of(turns, rows), _metadata(metadata, rows))
    wires: list[tuple[Any, ...]] = list(zip(*columns, repeat(None), repeat(None), repeat(None), strict=False))
    for place, parts in rest.items():
        wires[place] = (*wires[place][:2], *parts)
    for place in empty:
        wires[place] = ([], {}, None, None, None)
    return wires if extras is None else _extended(wires, *extras)


def turns_of(turns: Any, rows: int) -> list[Any]:
    """The turns of each row from `dumped`'s `turns`."""
    if type(turns) is not tuple:
        return cells(turns)
    roles, columns = [role for role, _ in turns], [cells(column) for _, column in turns]
    if not roles:
        return [[] for _ in range(rows)]
    if not any(None in column for column in columns):
        if len(roles) == 2:  # the most common case, twice as fast as the general one
            first, second = roles
            return [[(first, one), (second, other)] for one, other in zip(*columns, strict=True)]
        return [list(zip(roles, row, strict=True)) for row in zip(*columns, strict=True)]
    return [
        [turn for turn in zip(roles, row, strict=True) if turn[1] is not None]
        for row in zip(*columns, strict=True)
    ]


def _metadata(metadata: Any, rows: int) -> Iterable[dict[str, Any]]:
    if type(metadata) is not tuple:
        return cells(metadata)
    if not metadata:
        return [{} for _ in range(rows)]
    keys = tuple(key for key, _ in metadata)
    return dicts(keys, [cells(column) for _, column in metadata])


def dicts(keys: tuple[str, ...], columns: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
    """A dict for each row from columns.

    Args:
        keys: One per column, at least one.
        columns: Cells, (n,) each.
    """
    if len(keys) > _MAX_KEYS or len(set(keys)) < len(keys):
        return [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]
    return _dict_maker(len(keys))(*keys, columns)  # type: ignore[no-any-return]


@cache
def _dict_maker(count: int) -> Any:
    """A function from this number of keys and columns to dicts: generated code takes a sixth of `dict(zip(...))`."""
    keys, cells_of_row = ([f"{letter}{place}" for place in range(count)] for letter in "kc")
    pairs = ", ".join(f"{key}: {cell}" for key, cell in zip(keys, cells_of_row, strict=True))
    row = ", ".join(cells_of_row)
    # Of numbered names only: this text contains nothing of a dataset.
    return eval(f"lambda {', '.join(keys)}, columns: [{{{pairs}}} for {row}, in zip(*columns, strict=True)]")  # noqa: S307


def _extended(wires: list[tuple[Any, ...]], column: str, references: Column, ids: Column) -> list[Any]:
    rows = zip(wires, cells(references), cells(ids), strict=True)
    return [_with_extras(wire, reference, name, column) for wire, reference, name in rows]


def _with_extras(wire: tuple[Any, ...], reference: Any, name: str, column: str) -> tuple[Any, ...]:
    return (*wire, reference, metadata_key(wire[1], reference, column), name)


def row_wire(thread: Any, reference: Any, name: str, column: str = "") -> tuple[Any, ...]:
    """One row with extras as a wire tuple.

    Args:
        thread: A `StringThread` of plain values.
        reference: Its reference, plain as well.
        name: Its id.
        column: The column of the references; see `metadata_key`.
    """
    return _with_extras(thread.to_wire(), reference, name, column)


def metadata_key(metadata: Any, reference: Any, column: str = "") -> str:
    """The metadata key of the reference, "" if there is none.

    Args:
        metadata: A row's metadata.
        reference: Its reference.
        column: The column of the references; by default the one of `REFERENCE_NAMES` with this value.
    """
    if not isinstance(metadata, dict):
        return ""
    names = (column,) if column else REFERENCE_NAMES
    return next((name for name in names if name in metadata and metadata[name] == reference), "")
