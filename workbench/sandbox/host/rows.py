"""Rows for graders that are given more than a thread: the reference and the id are sent with it.

A thread's wire tuple has no place for a reference, and its metadata must not get one that the grader's
platform would not show. So these graders' rows are packed separately: the same tuples with three values more,
the reference, the metadata key under which samples keep it, and the id.
"""

from __future__ import annotations

import marshal
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.packed import Packed, pack
from workbench.thread import StringThread

__all__ = ["REFERENCE_NAMES", "PackedRows", "metadata_key", "pack_rows", "row_wire"]

REFERENCE_NAMES = ("reference", "expected", "ground_truth", "label", "answer")
"""Column names that samples take for the reference; a row's metadata holds it under its column's name."""


@dataclass(frozen=True, eq=False)
class PackedRows(Packed):
    """A dataset in batches whose wire tuples end with reference, its key in the metadata, and id."""


_KEPT: weakref.WeakKeyDictionary[Packed, dict[str, PackedRows]] = weakref.WeakKeyDictionary()


def row_wire(thread: StringThread, reference: Any, name: str, column: str = "") -> tuple[Any, ...]:
    """One row as nested plain values; the thread and the reference are plain already. See `pack_rows`."""
    return _row(thread.to_wire(), reference, name, column)


def pack_rows(
    packed: Packed, references: Iterable[Any], names: Iterable[str], column: str = ""
) -> PackedRows:
    """A packed dataset with references and ids; made once for each dataset, and kept while it is.

    Args:
        packed: The dataset's threads.
        references: One a row, plain data.
        names: One id a row.
        column: The column of the references; by default whichever of `REFERENCE_NAMES` holds the value.
    """
    columns = _KEPT.setdefault(packed, {})
    if column not in columns:
        wires = zip(_wires(packed), references, names, strict=True)
        rows = pack(_row(wire, reference, str(name), column) for wire, reference, name in wires)
        columns[column] = PackedRows(rows.batches, rows.counts)
    return columns[column]


def _wires(packed: Packed) -> Iterator[Sequence[Any]]:
    for batch in packed.batches:
        yield from marshal.loads(batch)  # noqa: S302 (written by this process)


def _row(wire: Sequence[Any], reference: Any, name: str, column: str) -> tuple[Any, ...]:
    return (*wire, reference, metadata_key(wire[1], reference, column), name)


def metadata_key(metadata: Any, reference: Any, column: str = "") -> str:
    """The metadata key that holds the reference, "" where none does."""
    if not isinstance(metadata, dict):
        return ""
    names = (column,) if column else REFERENCE_NAMES
    return next((name for name in names if name in metadata and metadata[name] == reference), "")
