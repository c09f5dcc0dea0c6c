"""How much a Parquet file may unpack to. Its metadata is a claim; what is decoded is counted as well.

One text in a dictionary can stand in any number of rows, at a few bits for each: a file of 2 kB unpacks to gigabytes although
its metadata are right. So few enough rows are decoded at a time that each could be the whole dictionary, and what they come
to is added up.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from workbench.errors import SamplesError

__all__ = [
    "MAX_PAGE",
    "MAX_RATIO",
    "MAX_STEP",
    "MAX_UNPACKED",
    "Unpacked",
    "check_metadata",
    "could_unpack_to",
    "read_table",
    "step_rows",
]

MAX_UNPACKED = 256 * 1024 * 1024
"""Bytes that a file, or a row group of one that is read lazily, may always unpack to."""
MAX_RATIO = 1000
"""Bytes that each of its own may unpack to beyond that. Texts of people and models compress to a fifth up to a fiftieth."""
MAX_PAGE = 256 * 1024 * 1024
"""Bytes of one page, which is unpacked as a whole."""
MAX_STEP = 64 * 1024 * 1024
"""Bytes that are decoded at a time where each row could be the whole dictionary. Dictionaries are of a megabyte at most."""


def limit_of(size: int) -> int:
    """Bytes that so many bytes of a file may unpack to."""
    return max(MAX_UNPACKED, MAX_RATIO * size)


class Unpacked:
    """Adds up what is decoded.

    Args:
        path: The file.
        size: Its bytes, or those of the row group.
    """

    def __init__(self, path: str, size: int) -> None:
        self._path, self._limit, self._bytes = path, limit_of(size), 0

    def add(self, part: Any) -> None:
        """Count an array or a batch.

        Raises:
            SamplesError: It is too much.
        """
        self._bytes += (
            sum(map(_plain_bytes, part.columns)) if isinstance(part, pa.RecordBatch) else _plain_bytes(part)
        )
        if self._bytes > self._limit:
            raise _too_much(self._path, self._bytes, self._limit)


def _plain_bytes(array: Any) -> int:
    """Bytes of an array whose texts stand in every row, and not once in a dictionary."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        import pyarrow.compute as pc

        texts = array.dictionary
        if not (
            pa.types.is_string(texts.type)
            or pa.types.is_large_string(texts.type)
            or pa.types.is_binary(texts.type)
        ):
            return int(array.nbytes) + len(array) * 8
        total = pc.sum(pc.take(pc.cast(pc.binary_length(texts), pa.int64()), array.indices)).as_py()
        return int(array.nbytes) + (total or 0)
    if pa.types.is_struct(kind):
        return sum(map(_plain_bytes, array.flatten()))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _plain_bytes(array.flatten()) + 8 * len(array)
    return int(array.nbytes)


def _too_much(path: str, found: int, limit: int) -> SamplesError:
    return SamplesError(
        "the file unpacks to more than it may", where=path, found=f"{found:,} bytes and more", expected=f"at most {limit:,}: {MAX_UNPACKED:,}, or {MAX_RATIO:,} times its size",
        hint="read it with pandas and pass the DataFrame, if you know the file",
    )  # fmt: skip


def check_metadata(path: str, metadata: Any) -> None:
    """Refuse a file whose own metadata, or first pages, say that it unpacks to too much.

    Raises:
        SamplesError: It does.
    """
    size = Path(path).stat().st_size
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        chunks = list(_chunks(group, None))
        claimed = sum(max(0, chunk.total_uncompressed_size) for chunk in chunks)
        limit = limit_of(min(size, sum(max(0, chunk.total_compressed_size) for chunk in chunks)))
        if claimed > limit:
            raise _too_much(path, claimed, limit)


def _chunks(group: Any, column: str | None) -> Iterator[Any]:
    for number in range(group.num_columns):
        chunk = group.column(number)
        if column is None or f"{chunk.path_in_schema}.".startswith(f"{column}."):
            yield chunk


def _pages(path: str, chunk: Any) -> tuple[int, int]:
    """Bytes of a column's dictionary and of its first page of values, by the pages' own headers."""
    with open(path, "rb") as file:  # noqa: PTH123 (twice for every column)
        at = chunk.dictionary_page_offset
        return (0 if at is None else _page_bytes(file, at)), _page_bytes(file, chunk.data_page_offset)


def _page_bytes(file: Any, at: int) -> int:
    """The uncompressed size in a page's header: the second field of a struct in Thrift's compact form."""
    file.seek(max(0, at))
    head = file.read(32)
    try:
        place = _after_number(head, 0)[1]
        return _after_number(head, place)[0]
    except IndexError:
        return 0  # no header there: Arrow says that the file is damaged


def _after_number(head: bytes, place: int) -> tuple[int, int]:
    """A field's number, after the byte that says which field it is, and where it ends."""
    value, shift = 0, 0
    while True:
        place += 1
        value |= (head[place] & 0x7F) << shift
        shift += 7
        if head[place] < 0x80:
            return (value >> 1) ^ -(value & 1), place + 1


def step_rows(path: str, group: Any, column: str | None, most: int) -> int:
    """How many rows of a row group to decode at a time, at most so many.

    Args:
        path: The file.
        group: Metadata of the row group.
        column: The column; None for all of them.
        most: As many where nothing speaks against it.

    Raises:
        SamplesError: A single page is too large.
    """
    together = 0
    for chunk in _chunks(group, column):
        dictionary, page = _pages(path, chunk)
        if max(dictionary, page) > MAX_PAGE:
            raise _too_much(path, max(dictionary, page), MAX_PAGE)
        # A list has several values a row.
        together += max(0, dictionary) * -(-chunk.num_values // max(1, group.num_rows))
    return max(1, min(most, MAX_STEP // max(1, together)))


def could_unpack_to(path: str, metadata: Any) -> int:
    """The most that a file could unpack to: each value the whole dictionary."""
    total = 0
    for number in range(metadata.num_row_groups):
        for chunk in _chunks(metadata.row_group(number), None):
            total += max(0, chunk.total_uncompressed_size) + chunk.num_values * (_pages(path, chunk)[0] + 8)
    return total


def read_table(dataset: Any, total: int) -> pa.Table:
    """All rows of a dataset, decoded in steps where they could be too much.

    Raises:
        SamplesError: They are.
    """
    fragments = list(dataset.get_fragments())
    for fragment in fragments:
        check_metadata(fragment.path, fragment.metadata)
    if sum(could_unpack_to(one.path, one.metadata) for one in fragments) <= MAX_UNPACKED:
        return dataset.to_table()
    unpacked = Unpacked(fragments[0].path, total)
    batches = []
    for fragment in fragments:
        for part in fragment.split_by_row_group():
            group = fragment.metadata.row_group(part.row_groups[0].id)
            rows = step_rows(fragment.path, group, None, 65_536)
            for batch in part.to_batches(
                schema=dataset.schema, batch_size=rows, batch_readahead=1, use_threads=False
            ):
                unpacked.add(batch)
                batches.append(batch)
    return pa.Table.from_batches(batches, schema=dataset.schema)
