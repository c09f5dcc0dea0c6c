"""Rows encoded for the sandbox: `marshal` bytes, in batches that are cached, or encoded again each time they are sent.

A dataset that fits is encoded once, and every run shares the bytes (`Packed`). A larger one is encoded while it is graded,
a few thousand rows at a time, so that it takes no memory in addition to its frame (`Stream`).
`marshal` is safe in this direction only: the host writes, the worker reads.
"""

from __future__ import annotations

import itertools
import marshal
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import Any

from workbench.core.thread import StringThread

BATCH_ROWS = 1000
"""Rows per batch: speed is constant between 100 and 2,500 rows within noise; page faults cost more above 5,000."""

_PLAIN = frozenset({str, int, float, bool, bytes, NoneType})

BATCH_BYTES = 8 * 1024 * 1024
"""Bytes at which a batch is closed early, so that rows of 1 MB do not make one batch of 1 GB."""


_serials = itertools.count()


@dataclass(frozen=True, eq=False)
class Packed:
    """A dataset in batches.

    Attributes:
        batches: Input of `row_columns.loaded`, each.
        counts: Rows in each batch.
        extras: The rows contain more than threads: the reference, its key in the metadata and the id.
        serial: A number that is unique among all datasets of this process.
    """

    batches: tuple[bytes, ...]
    counts: tuple[int, ...]
    extras: bool = False
    serial: int = field(default_factory=_serials.__next__)

    @property
    def rows(self) -> int:
        """Rows in all batches."""
        return sum(self.counts)

    @property
    def nbytes(self) -> int:
        """Bytes in all batches."""
        return sum(map(len, self.batches))


@dataclass(frozen=True, eq=False)
class Stream:
    """A dataset that is encoded while it is graded.

    Attributes:
        rows: Rows in all.
        encode: From the first row and the one past the last to their bytes, which `row_columns.loaded` reads.
        extras: As in `Packed`.
        serial: As in `Packed`.
    """

    rows: int
    encode: Callable[[int, int], bytes]
    extras: bool = False
    serial: int = field(default_factory=_serials.__next__)


def packed_ranges(
    encode: Callable[[int, int], bytes], rows: int, *, most_bytes: int, extras: bool = False
) -> Packed | None:
    """Encode a dataset in batches; None if it exceeds the maximum size.

    Args:
        encode: As in `Stream`.
        rows: Rows in all.
        most_bytes: Bytes of all batches together.
        extras: As in `Packed`.
    """
    batches: list[bytes] = []
    counts: list[int] = []
    for data, count in _batches(encode, rows, BATCH_ROWS):
        batches.append(data)
        counts.append(count)
        most_bytes -= len(data)
        if most_bytes < 0:
            return None
    return Packed(tuple(batches), tuple(counts), extras)


def _batches(encode: Callable[[int, int], bytes], rows: int, batch_rows: int) -> Iterator[tuple[bytes, int]]:
    """All rows in batches of the maximum size, with the number of rows of each."""
    for start in range(0, rows, batch_rows):
        yield from _encoded(encode, start, min(start + batch_rows, rows))


def _encoded(encode: Callable[[int, int], bytes], start: int, stop: int) -> Iterator[tuple[bytes, int]]:
    """Rows in parts that take at most `BATCH_BYTES` each, or have one row, with the number of rows of each.

    By halving until they fit: rows differ in size, so a fixed number of rows would not work.
    """
    data = encode(start, stop)
    if len(data) <= BATCH_BYTES or stop - start == 1:
        yield data, stop - start
        return
    middle = (start + stop) // 2
    yield from _encoded(encode, start, middle)
    yield from _encoded(encode, middle, stop)


def pack(
    threads: Iterable[StringThread | Sequence[Any]], *, batch_rows: int = BATCH_ROWS, extras: bool = False
) -> Packed:
    """Encode threads, or their wire tuples, in batches.

    Args:
        threads: Threads in row order; metadata must be plain values (JSON types, plus bytes). Wire
            tuples are from the package and are not checked.
        batch_rows: Maximum rows per batch.
        extras: As in `Packed`.

    Raises:
        TypeError: A thread contains a value that `marshal` does not support; the row is named.
    """
    wires = [_wire(row, index) for index, row in enumerate(threads)]
    parts = list(_batches(lambda start, stop: marshal.dumps(wires[start:stop]), len(wires), batch_rows))
    return Packed(tuple(data for data, _ in parts), tuple(count for _, count in parts), extras)


def _wire(row: StringThread | Sequence[Any], index: int) -> Sequence[Any]:
    if not isinstance(row, StringThread):
        return row
    wire = row.to_wire()
    for value in wire[1:]:
        _check_plain(value, index)
    return wire


def _check_plain(value: Any, index: int) -> None:
    """Refuse what `marshal` would refuse, and what it would silently convert to bytes, such as numpy numbers."""
    kind = type(value)
    if kind in (list, tuple):
        for item in value:
            _check_plain(item, index)
    elif kind is dict:
        for key, item in value.items():
            _check_plain(key, index)
            _check_plain(item, index)
    elif kind not in _PLAIN:
        raise TypeError(
            f"row {index} contains a {kind.__module__}.{kind.__qualname__}, which is not plain data "
            "(text, number, list, dict)"
        )
