"""Rows packed once for the sandbox: batches of `marshal` bytes that every run shares.

Encoding a row costs more than grading it, so a dataset is encoded a single time and the bytes are kept.
`marshal` is safe in this direction only: the host writes, the worker reads.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from workbench.thread import StringThread

__all__ = ["BATCH_ROWS", "Packed", "pack"]

BATCH_ROWS = 1000
"""Rows a batch: flat between 100 and 2,500 rows within noise; page faults cost more above 5,000."""

BATCH_BYTES = 8 * 1024 * 1024
"""A batch closes early here, so that rows of 1 MB do not make one batch of 1 GB."""


@dataclass(frozen=True, eq=False)
class Packed:
    """A dataset in batches.

    Attributes:
        batches: One `marshal` text of a list of wire tuples each.
        counts: Rows in each batch.
    """

    batches: tuple[bytes, ...]
    counts: tuple[int, ...]

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
        threads: Threads in row order; metadata must be plain values (what JSON knows, plus bytes).
        batch_rows: Most rows a batch.

    Raises:
        TypeError: A thread holds a value that `marshal` does not know; the row is named.
    """
    batches: list[bytes] = []
    counts: list[int] = []
    rows = iter(threads)
    while chunk := [
        row.to_wire() if isinstance(row, StringThread) else row for row in islice(rows, batch_rows)
    ]:
        for part in _parts(chunk, sum(counts)):
            batches.append(part[0])
            counts.append(part[1])
    return Packed(tuple(batches), tuple(counts))


def _parts(chunk: list[Any], first: int) -> list[tuple[bytes, int]]:
    data = _dumps(chunk, first)
    if len(data) <= BATCH_BYTES or len(chunk) == 1:
        return [(data, len(chunk))]
    middle = len(chunk) // 2
    return _parts(chunk[:middle], first) + _parts(chunk[middle:], first + middle)


def _dumps(chunk: list[Any], first: int) -> bytes:
    try:
        return marshal.dumps(chunk)
    except ValueError:
        for offset, row in enumerate(chunk):
            _check_row(row, first + offset)
        raise


def _check_row(row: Any, index: int) -> None:
    try:
        marshal.dumps(row)
    except ValueError as error:
        raise TypeError(
            f"row {index} holds a value that is not plain data (text, number, list, dict)"
        ) from error
