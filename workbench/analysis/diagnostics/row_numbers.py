"""Compact storage of many row indices: a finding has all its rows, even a million."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

__all__ = ["RowNumbers"]


class RowNumbers(Sequence[int]):
    """Row indices, like a tuple of integers but four or eight bytes each.

    Equal to any tuple, list or array of the same numbers in the same order.

    Args:
        rows: Integers from 0 on.

    Raises:
        ValueError: Not a flat sequence of integers from 0 on.

    Example:
        >>> rows = RowNumbers([4, 2, 7])
        >>> len(rows), rows[0], rows[1:], rows == (4, 2, 7)
        (3, 4, RowNumbers([2, 7]), True)
    """

    __slots__ = ("_array",)

    def __init__(self, rows: Iterable[int] = ()) -> None:
        numbers = np.asarray(rows if isinstance(rows, np.ndarray) else list(rows))
        if numbers.ndim != 1 or (numbers.size and (numbers.dtype.kind not in "iu" or numbers.min() < 0)):
            raise ValueError("row numbers must be whole numbers from 0 on")
        needs_int64 = numbers.size and numbers.max() > np.iinfo(np.int32).max
        self._array: NDArray[Any] = numbers.astype(np.int64 if needs_int64 else np.int32)
        self._array.flags.writeable = False

    def __len__(self) -> int:
        return len(self._array)

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> RowNumbers: ...
    def __getitem__(self, at: int | slice) -> int | RowNumbers:
        return RowNumbers(self._array[at]) if isinstance(at, slice) else int(self._array[at])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        # copy= was added in numpy 2; asarray works for both.
        array = np.asarray(self._array, dtype=dtype)
        return array.copy() if copy else array

    def __eq__(self, other: object) -> bool:
        if isinstance(other, tuple | list):
            return bool(self._array.tolist() == list(other))
        return isinstance(other, RowNumbers) and bool(np.array_equal(self._array, other._array))

    def __hash__(self) -> int:
        return hash(tuple(self._array.tolist()))  # equal to that of equal tuples

    def __repr__(self) -> str:
        first_ten = ", ".join(map(str, self._array[:10].tolist()))
        return f"RowNumbers([{first_ten}{', ...' if len(self) > 10 else ''}])"

    def __deepcopy__(self, _: Any) -> RowNumbers:
        return self  # immutable

    def packed(self) -> str:
        """The numbers as short text for a database: their differences (small where sorted), compressed, in base64."""
        differences = np.diff(self._array.astype(np.int64), prepend=0)
        return base64.b64encode(zlib.compress(differences.astype("<i8").tobytes())).decode()

    @classmethod
    def unpacked(cls, text: str, most: int) -> RowNumbers:
        """The numbers from the text that `packed` returned.

        Args:
            text: The text.
            most: Maximum number of entries; text that unpacks to more is refused, however short it is.

        Raises:
            ValueError: Any other text.
        """
        stream = zlib.decompressobj()
        try:
            # One byte more than allowed shows that there are too many; a short text may unpack to gigabytes.
            data = stream.decompress(base64.b64decode(text, validate=True), 8 * most + 1)
        except zlib.error as error:
            raise ValueError(f"not packed row numbers: {error}") from None
        if len(data) > 8 * most:
            raise ValueError(f"more than {most} row numbers")
        if not stream.eof:
            raise ValueError("not packed row numbers: truncated")
        return cls(np.cumsum(np.frombuffer(data, "<i8")))
