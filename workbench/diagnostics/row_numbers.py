"""Many row numbers in little memory: a finding keeps all its rows, also of a million."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

__all__ = ["RowNumbers"]


class RowNumbers(Sequence[int]):
    """Row numbers as a tuple of integers would hold them, four or eight bytes each.

    Equal to any tuple, list or array of the same numbers in the same order.

    Args:
        rows: Whole numbers from 0 on.

    Raises:
        ValueError: They are no flat sequence of whole numbers from 0 on.

    Example:
        >>> rows = RowNumbers([4, 2, 7])
        >>> len(rows), rows[0], rows[1:], rows == (4, 2, 7)
        (3, 4, RowNumbers([2, 7]), True)
    """

    __slots__ = ("_array",)

    def __init__(self, rows: Iterable[int] = ()) -> None:
        given = np.asarray(rows if isinstance(rows, np.ndarray) else list(rows))
        if given.ndim != 1 or (given.size and (given.dtype.kind not in "iu" or given.min() < 0)):
            raise ValueError("row numbers must be whole numbers from 0 on")
        wide = given.size and given.max() > np.iinfo(np.int32).max
        self._array: NDArray[Any] = given.astype(np.int64 if wide else np.int32)
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
        # copy= came with numpy 2; asarray is right for both.
        found = np.asarray(self._array, dtype=dtype)
        return found.copy() if copy else found

    def __eq__(self, other: object) -> bool:
        if isinstance(other, tuple | list):
            return bool(self._array.tolist() == list(other))
        return isinstance(other, RowNumbers) and bool(np.array_equal(self._array, other._array))

    def __hash__(self) -> int:
        return hash(tuple(self._array.tolist()))  # as equal tuples have

    def __repr__(self) -> str:
        shown = ", ".join(map(str, self._array[:10].tolist()))
        return f"RowNumbers([{shown}{', ...' if len(self) > 10 else ''}])"

    def __deepcopy__(self, _: Any) -> RowNumbers:
        return self  # nothing in it can change

    def packed(self) -> str:
        """The numbers as short text for a database: their steps, compressed."""
        steps = np.diff(self._array.astype(np.int64), prepend=0)
        return base64.b64encode(zlib.compress(steps.astype("<i8").tobytes())).decode()

    @classmethod
    def unpacked(cls, text: str, most: int) -> RowNumbers:
        """The numbers out of `packed`'s text.

        Args:
            text: What `packed` gave.
            most: Numbers there are at most; what holds more is refused, however little text it takes.

        Raises:
            ValueError: Anything else.
        """
        stream = zlib.decompressobj()
        try:
            data = stream.decompress(base64.b64decode(text, validate=True), 8 * most + 1)
        except zlib.error as error:
            raise ValueError(f"no packed row numbers: {error}") from None
        if len(data) > 8 * most:
            raise ValueError(f"more than {most} row numbers")
        if not stream.eof:
            raise ValueError("no packed row numbers: they are cut off")
        return cls(np.cumsum(np.frombuffer(data, "<i8")))
