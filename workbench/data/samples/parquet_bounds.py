"""Limits on the unpacked size of a Parquet file. Its metadata are not trusted; decoded bytes are counted as well.

One text in a dictionary can occur in any number of rows, at a few bits each: a file of 2 kB can unpack to gigabytes although
its metadata are correct. So rows are decoded in steps small enough that each row could be the whole dictionary, and the
decoded bytes are summed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from workbench.core.errors import SamplesError

MAX_UNPACKED = 256 * 1024 * 1024
"""Bytes to which a file, or a row group of a lazily read file, may always unpack."""
MAX_RATIO = 1000
"""Maximum unpacked bytes per packed byte beyond that. Natural text compresses to a fifth up to a fiftieth."""
MAX_PAGE = 256 * 1024 * 1024
"""Maximum bytes of one page, which is unpacked as a whole."""
MAX_PAGE_HEADER = 1024 * 1024
"""Maximum bytes of a page's header: it has the smallest and the largest value, which writers cut to a few hundred bytes."""
_HEADER = 512
"""Bytes in which nearly every header ends."""
_DICTIONARY_PAGE = 2
_WHOLE, _BINARY, _STRUCT, _DEPTH = frozenset({4, 5, 6}), 8, 12, 8
"""Types of values in Thrift's compact protocol, and the maximum nesting of structs."""
MAX_STEP = 64 * 1024 * 1024
"""Bytes decoded at a time if each row could be the whole dictionary. Dictionaries have at most a megabyte."""


def limit_of(size: int) -> int:
    """Maximum unpacked bytes for a file size."""
    return max(MAX_UNPACKED, MAX_RATIO * size)


class Unpacked:
    """Sums the decoded bytes.

    Args:
        path: The file.
        size: Its bytes, or those of the row group.
    """

    def __init__(self, path: str, size: int) -> None:
        self._path, self._limit, self._bytes = path, limit_of(size), 0

    def add(self, part: Any) -> None:
        """Count an array or a batch.

        Raises:
            SamplesError: The sum exceeds the limit.
        """
        self._bytes += (
            sum(map(_plain_bytes, part.columns)) if isinstance(part, pa.RecordBatch) else _plain_bytes(part)
        )
        if self._bytes > self._limit:
            raise _too_much(self._path, self._bytes, self._limit)


def _plain_bytes(array: Any) -> int:
    """Bytes of an array with the texts stored in every row, not once in a dictionary."""
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
        "the file unpacks to more than the limit", where=path, found=f"{found:,} bytes and more", expected=f"at most {limit:,}: {MAX_UNPACKED:,}, or {MAX_RATIO:,} times its size",
        hint="read it with pandas and pass the DataFrame, if you trust the file",
    )  # fmt: skip


def check_metadata(path: str, metadata: Any) -> None:
    """Refuse a file that exceeds the limit according to its metadata or first pages.

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
    """Bytes of a column's dictionary, and of all its unpacked pages, according to the pages' headers.

    Raises:
        SamplesError: A page is too large, or its header.
    """
    offsets = [offset for offset in (chunk.dictionary_page_offset, chunk.data_page_offset) if offset]
    at = max(0, min(offsets, default=0))
    end, unpacked, dictionary = at + max(0, chunk.total_compressed_size), 0, 0
    with open(path, "rb") as file:  # noqa: PTH123 (of each column; only the headers are read)
        while at < end:
            page = _page_at(path, file, at)
            if page is None:
                break  # not a header: Arrow will report that the file is damaged
            if page.unpacked > MAX_PAGE:
                raise _too_much(path, page.unpacked, MAX_PAGE)
            dictionary = max(dictionary, page.unpacked if page.is_dictionary else 0)
            unpacked += page.unpacked
            at += page.length
    return dictionary, unpacked


@dataclass(frozen=True)
class _Page:
    """Content of a page's header: unpacked bytes, bytes in the file with the header, whether it is a dictionary."""

    unpacked: int
    length: int
    is_dictionary: bool


def _page_at(path: str, file: Any, at: int) -> _Page | None:
    """The page that starts at an offset of a file; None if none does.

    Raises:
        SamplesError: Its header is larger than any that a writer makes.
    """
    for size in (_HEADER, MAX_PAGE_HEADER):
        file.seek(at)
        head = file.read(size)
        try:
            fields, length = read_struct(head)
        except IndexError:
            if len(head) < size:
                return None
            continue
        kind, unpacked, packed = (fields.get(number) for number in (1, 2, 3))
        if kind is None or unpacked is None or packed is None or unpacked < 0 or packed < 0:
            return None
        return _Page(unpacked, length + packed, kind == _DICTIONARY_PAGE)
    raise SamplesError(
        "the header of a page is too large", where=path, found=f"more than {MAX_PAGE_HEADER:,} bytes",
        expected="a Parquet file of a common writer", hint="read it with pandas and pass the DataFrame, if you trust the file",
    )  # fmt: skip


def read_struct(data: bytes) -> tuple[dict[int, int], int]:
    """The integers of a struct in Thrift's compact protocol by field number, and where it ends; other fields are skipped.

    Source: the Apache Thrift compact protocol, in which Parquet writes its page headers.

    Raises:
        IndexError: It does not end within the data, or is not a struct.
    """
    numbers: dict[int, int] = {}
    place, field = 0, 0
    while data[place] != 0:
        delta, kind = data[place] >> 4, data[place] & 0x0F
        place += 1
        if delta:
            field += delta
        else:
            raw, place = _varint(data, place)
            field = _signed(raw)
        if kind in _WHOLE:
            raw, place = _varint(data, place)
            numbers[field] = _signed(raw)
        else:
            place = _after(data, place, kind, depth=0)
    return numbers, place + 1


def _after(data: bytes, place: int, kind: int, *, depth: int) -> int:
    """Where a value of a type ends."""
    if depth > _DEPTH:
        raise IndexError
    if kind in {1, 2}:  # truth values have no separate bytes
        return place
    if kind in {3, 7}:
        return _checked(data, place + (1 if kind == 3 else 8))
    if kind in _WHOLE:
        return _varint(data, place)[1]
    if kind == _BINARY:
        length, place = _varint(data, place)
        return _checked(data, place + length)
    if kind == _STRUCT:
        while data[place] != 0:
            inner, is_long = data[place] & 0x0F, not data[place] >> 4
            place = _varint(data, place + 1)[1] if is_long else place + 1
            place = _after(data, place, inner, depth=depth + 1)
        return place + 1
    raise IndexError  # page headers contain no lists or maps


def _checked(data: bytes, place: int) -> int:
    if place > len(data):
        raise IndexError
    return place


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[place] & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if data[place - 1] < 0x80:
            return value, place
        if shift > 63:
            raise IndexError


def _signed(value: int) -> int:
    return (value >> 1) ^ -(value & 1)


def step_rows(path: str, group: Any, column: str | None, most: int) -> int:
    """Number of rows of a row group to decode at a time.

    Args:
        path: The file.
        group: Metadata of the row group.
        column: The column; None for all.
        most: Maximum, used if no size limit requires fewer.

    Raises:
        SamplesError: A single page is too large.
    """
    together = 0
    for chunk in _chunks(group, column):
        dictionary, _ = _pages(path, chunk)
        # A list has several values per row.
        together += dictionary * -(-chunk.num_values // max(1, group.num_rows))
    return max(1, min(most, MAX_STEP // max(1, together)))


def could_unpack_to(path: str, metadata: Any) -> int:
    """Upper bound on the unpacked bytes of a file: each value is the whole dictionary."""
    total = 0
    for number in range(metadata.num_row_groups):
        for chunk in _chunks(metadata.row_group(number), None):
            dictionary, unpacked = _pages(path, chunk)
            total += max(0, chunk.total_uncompressed_size, unpacked) + chunk.num_values * (dictionary + 8)
    return total
