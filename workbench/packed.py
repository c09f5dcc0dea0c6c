"""Rows packed once for the sandbox: batches of `marshal` bytes that every run shares.

Encoding a row costs more than grading it, so a dataset is encoded a single time and the bytes are kept.
`marshal` is safe in this direction only: the host writes, the worker reads.
"""

from __future__ import annotations

import itertools
import marshal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from types import NoneType
from typing import Any

from workbench.thread import StringThread

__all__ = ["BATCH_ROWS", "Packed", "pack"]

BATCH_ROWS = 1000
"""Rows a batch: flat between 100 and 2,500 rows within noise; page faults cost more above 5,000."""

_PLAIN = frozenset({str, int, float, bool, bytes, NoneType})

BATCH_BYTES = 8 * 1024 * 1024
"""A batch closes early here, so that rows of 1 MB do not make one batch of 1 GB."""


@dataclass(frozen=True, eq=False)
class Packed:
    """A dataset in batches.

    Attributes:
        batches: One `marshal` text of a list of wire tuples each.
        counts: Rows in each batch.
        serial: A number no other dataset of this process has or had.
    """

    batches: tuple[bytes, ...]
    counts: tuple[int, ...]
    serial: int = field(default_factory=itertools.count().__next__)

    @property
    def rows(self) -> int:
        """Rows in all batches."""
        return sum(self.counts)

    @property
    def nbytes(self) -> int:
        """Bytes in all batches."""
        return sum(map(len, self.batches))


def pack(threads: Iterable[StringThread | Sequence[Any]], *, batch_rows: int = BATCH_ROWS) -> Packed:
    """Encode threads, or their wire tuples, in batches.

    Args:
        threads: Threads in row order; metadata must be plain values (what JSON knows, plus bytes). Wire
            tuples come from this side and are not looked at.
        batch_rows: Most rows a batch.

    Raises:
        TypeError: A thread holds a value that `marshal` does not know; the row is named.
    """
    batches: list[bytes] = []
    counts: list[int] = []
    rows = enumerate(threads)
    while chunk := [_wire(row, index) for index, row in islice(rows, batch_rows)]:
        for data, count in _parts(chunk):
            batches.append(data)
            counts.append(count)
    return Packed(tuple(batches), tuple(counts))


def _wire(row: StringThread | Sequence[Any], index: int) -> Sequence[Any]:
    if not isinstance(row, StringThread):
        return row
    wire = row.to_wire()
    for value in wire[1:]:
        _check_plain(value, index)
    return wire


def _check_plain(value: Any, index: int) -> None:
    """Refuse what `marshal` would refuse, and what it would quietly turn into bytes, such as numpy numbers."""
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
            f"row {index} holds a {kind.__module__}.{kind.__qualname__}, which is not plain data "
            "(text, number, list, dict)"
        )


def _parts(chunk: list[Any]) -> list[tuple[bytes, int]]:
    data = marshal.dumps(chunk)
    if len(data) <= BATCH_BYTES or len(chunk) == 1:
        return [(data, len(chunk))]
    # By halves until it fits: rows differ in size, so no number of rows would do.
    middle = len(chunk) // 2
    return _parts(chunk[:middle]) + _parts(chunk[middle:])
