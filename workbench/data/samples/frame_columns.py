"""Columns of a dataset: of a frame in memory, and of a Dask DataFrame, computed a partition at a time. Parquet has its own."""

from __future__ import annotations

import datetime as dt
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from workbench.core.display_text import encodable, one_line
from workbench.core.errors import SamplesError
from workbench.core.user_functions import attempt
from workbench.data.samples.plain import is_missing

Rows = NDArray[np.intp]

FLOATS = {np.dtype(np.float32): 2**24, np.dtype(np.float64): 2**53}
"""Bound below which each float type represents every whole number."""
_FIRST = 100
"""Cells of an object column checked at a time."""


class UnreadableRowsError(SamplesError):
    """Rows of a file that can no longer be read.

    Attributes:
        rows: Their positions.
    """

    rows = range(0)


class ColumnData(Protocol):
    """Columns of n rows each. Rows are positions (m,), a slice, or None for all.

    Methods that read rows raise `UnreadableRowsError` if a file was changed or damaged since it was opened.
    """

    @property
    def names(self) -> Sequence[Any]:
        """Names of the columns, not converted to text."""

    @property
    def is_lazy(self) -> bool:
        """Whether the rows are read on demand, so that reading all of a column takes time."""

    def __len__(self) -> int: ...

    def series(self, column: str, rows: Rows | slice | None) -> pd.Series[Any]:
        """A column of `frame`, (m,)."""

    def cells(self, column: str, rows: Rows | slice | None) -> list[Any]:
        """The cells of some rows, (m,)."""

    def is_text(self, column: str) -> bool:
        """Whether a column is Arrow text, so that `text` returns it."""

    def text(self, column: str, rows: Rows | slice | None) -> pa.ChunkedArray:
        """The cells of some rows as Arrow's large strings, (m,)."""

    def codes(self, column: str) -> NDArray[np.intp]:
        """An integer for each different text of a text column, (n,); -1 for a missing cell."""

    def is_number(self, column: str) -> bool:
        """Whether a column contains only numbers or truth values of numpy's types."""

    def floats(self, column: str) -> Iterator[NDArray[Any]]:
        """A numpy float column in pieces, NaN for a missing cell; no pieces for a column of another type."""

    def are_days(self, column: str) -> bool:
        """Whether a column contains times without a time of day, that is days."""

    def frame(self, rows: Rows | slice | None) -> pd.DataFrame:
        """All columns of some rows, as a copy."""


class FrameColumns:
    """The columns of a frame.

    Args:
        data: The frame, which is copied; a meaningful index becomes columns.
        source: Origin of the data, for errors.

    Raises:
        SamplesError: A level of the index has the name of a column with other values.
    """

    is_lazy = False

    def __init__(self, data: pd.DataFrame, source: str = "") -> None:
        self._frame = _with_index(data, source)
        self._position = {str(name): position for position, name in enumerate(self._frame.columns)}
        self._texts: dict[str, pa.ChunkedArray | None] = {}

    @property
    def names(self) -> Sequence[Any]:
        """Names of the columns, not converted to text."""
        return list(self._frame.columns)

    def __len__(self) -> int:
        return len(self._frame)

    def _series(self, column: str) -> pd.Series[Any]:
        return self._frame.iloc[:, self._position[column]]

    def series(self, column: str, rows: Rows | slice | None) -> pd.Series[Any]:
        """A column of `frame`, (m,)."""
        series = self._series(column)
        return series.copy() if rows is None else series.iloc[rows].copy()

    def cells(self, column: str, rows: Rows | slice | None) -> list[Any]:
        """The cells of some rows, (m,)."""
        series = self._series(column)
        return list((series if rows is None else series.iloc[rows]).tolist())

    def is_text(self, column: str) -> bool:
        """Whether a column is Arrow text, so that `text` returns it."""
        return self._text(column) is not None

    def text(self, column: str, rows: Rows | slice | None) -> pa.ChunkedArray:
        """The cells of some rows as Arrow's large strings, (m,); nothing is copied if rows are a slice."""
        text = self._text(column)
        assert text is not None
        if rows is None:
            return text
        return text[rows] if isinstance(rows, slice) else text.take(pa.array(rows))

    def _text(self, column: str) -> pa.ChunkedArray | None:
        if column not in self._texts:
            self._texts[column] = _arrow_text(self._series(column))
        return self._texts[column]

    def codes(self, column: str) -> NDArray[np.intp]:
        """An integer for each different text of a text column, (n,); -1 for a missing cell."""
        return codes_of_texts(self.text(column, None))

    def is_number(self, column: str) -> bool:
        """Whether a column contains only numbers or truth values of numpy's types."""
        return self._series(column).dtype.kind in "iufb"

    def floats(self, column: str) -> Iterator[NDArray[Any]]:
        """A numpy float column in one piece, NaN for a missing cell."""
        series = self._series(column)
        if series.dtype in FLOATS:
            yield series.to_numpy()

    def are_days(self, column: str) -> bool:
        """Whether a column contains times without a time of day, that is days."""
        series = self._series(column)
        if series.dtype.kind == "M":
            times = series.dropna()
            return len(times) > 0 and times.dt.tz is None and bool((times == times.dt.normalize()).all())
        if series.dtype != object or not any(isinstance(cell, dt.datetime) for cell in series.head(_FIRST)):
            return False
        return all(_is_day(cell) for cell in series if not is_missing(cell))

    def frame(self, rows: Rows | slice | None) -> pd.DataFrame:
        """All columns of some rows, as a copy; lists and dicts inside cells are shared, as in pandas."""
        return self._frame.copy() if rows is None else self._frame.iloc[rows].copy()


def _is_day(cell: Any) -> bool:
    """Whether a cell is a date, or a time at midnight without a zone."""
    if not isinstance(cell, dt.datetime):
        return isinstance(cell, dt.date)
    return cell.tzinfo is None and cell.time() == dt.time() and not getattr(cell, "nanosecond", 0)


def codes_of_pieces(pieces: Iterable[tuple[int, pa.Array]], rows: int) -> NDArray[np.intp]:
    """`ColumnData.codes` of a column in pieces, by a 64-bit hash of each text: the texts themselves may exceed memory.

    Args:
        pieces: The number of the first row and the texts of each piece.
        rows: Of the whole column.
    """
    hashes, missing = np.zeros(rows, np.int64), np.zeros(rows, np.bool_)
    for first, piece in pieces:
        # Once for each text of a piece: rollouts of one prompt are usually consecutive.
        texts, part = piece.dictionary_encode(), slice(first, first + len(piece))
        codes = texts.indices.fill_null(-1).to_numpy()
        own = np.array([hash(text) for text in texts.dictionary.to_pylist()] or [0], np.int64)
        hashes[part], missing[part] = own[codes], codes < 0
    found = pd.factorize(hashes)[0].astype(np.intp)
    return np.where(missing, -1, found)


def codes_of_texts(texts: pa.ChunkedArray) -> NDArray[np.intp]:
    """An integer for each different text, (n,); -1 for a missing one."""
    encoded = pc.dictionary_encode(texts).unify_dictionaries()
    indices = [pc.fill_null(chunk.indices, -1).to_numpy() for chunk in encoded.chunks]
    return np.concatenate([np.empty(0, np.intp), *indices]).astype(np.intp)


def hashes_of(texts: Sequence[str]) -> NDArray[np.uint64]:
    """A 64-bit hash per text (n,), the same in every process: 3 % collision probability for a billion texts."""
    column = np.empty(len(texts), object)
    column[:] = texts
    try:
        return pd.util.hash_array(column, categorize=False)
    except UnicodeEncodeError:  # a lone surrogate
        column[:] = list(map(encodable, texts))
        return pd.util.hash_array(column, categorize=False)


def large_text(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """A column as large strings; None if it is not text."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return None
    return column.cast(pa.large_string())


def _arrow_text(series: pd.Series[Any]) -> pa.ChunkedArray | None:
    """A text column as Arrow data; None if pandas stores it in another form, or it has another type."""
    values = series.array
    if not isinstance(values, pd.arrays.ArrowStringArray | pd.arrays.ArrowExtensionArray):
        return None
    column = values.__arrow_array__()  # nothing is copied
    return large_text(column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column]))


def _with_index(data: pd.DataFrame, source: str) -> pd.DataFrame:
    """A copy with a meaningful index as one or several columns: `set_index("id")` must not lose the ids.

    Raises:
        SamplesError: A level of the index has the name of a column with other values.
    """
    frame = data.copy()
    if isinstance(data.columns, pd.MultiIndex):
        return frame  # `check_names` refuses these columns
    levels = data.index.nlevels
    for level, name in enumerate(data.index.names):
        if levels == 1 and name is None:
            continue
        values, column = data.index.get_level_values(level), f"level_{level}" if name is None else name
        if column not in frame.columns:
            frame.insert(level, column, values)
        elif not isinstance(data.index, pd.RangeIndex) and not pd.Series(values).reset_index(
            drop=True
        ).equals(frame[column].reset_index(drop=True)):
            raise SamplesError(
                "the index and a column have the same name but different values",
                where=source, found=repr(column), expected="one of the two", hint="rename one, or drop the index: df.reset_index(drop=True)",
            )  # fmt: skip
    # Without names: pandas treats a name of both a column and a level as ambiguous.
    frame.index = frame.index.set_names([None] * levels)
    return frame


_KEPT, _KEPT_BYTES = 2, 64 * 1024 * 1024
"""Cached partitions: the one being graded and the one being displayed; more if they are small."""


def is_dask_frame(data: Any) -> bool:
    """Whether this is a Dask DataFrame; Dask is not loaded to find out."""
    kind = type(data)
    return kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] in {"dask", "dask_expr"}


def _computed(compute: Callable[[], Any], refusal: Callable[[str], SamplesError]) -> Any:
    """The result of a user's graph, whose functions may raise anything."""
    if isinstance(result := attempt(compute), Exception):
        raise refusal(one_line(f"{type(result).__name__}: {result}")[:300]) from result
    return result


class DaskColumns:
    """The columns of a Dask DataFrame, whose rows stay in their partitions until they are read.

    Args:
        frame: A Dask DataFrame; an index with a name is a column.

    Attributes:
        dask: The Dask DataFrame.
        bounds: The first row of each partition, and the total number of rows, (p + 1,).

    Raises:
        SamplesError: The partitions cannot be computed.
    """

    is_lazy = True

    def __init__(self, frame: Any) -> None:
        named = getattr(frame.index, "name", None) is not None and frame.index.name not in frame.columns
        self.dask = frame.reset_index() if named else frame
        self._kinds = FrameColumns(self.dask._meta.reset_index(drop=True))  # noqa: SLF001 (Dask's documented empty frame)
        self._parts = self.dask.to_delayed()
        lengths = _computed(self._lengths, lambda found: SamplesError(
            "the Dask DataFrame cannot be computed", found=found, expected="a DataFrame whose partitions can be computed",
            hint="[len(part) for part in frame.partitions] shows at which partition",
        ))  # fmt: skip
        self.bounds = np.concatenate([[0], np.cumsum(np.asarray(lengths, np.intp))]).astype(np.intp)
        self._pieces: OrderedDict[int, tuple[FrameColumns, int]] = OrderedDict()
        self._lock = threading.RLock()  # a run and concurrent readers of rows

    def _lengths(self) -> Sequence[int]:
        """Rows of each partition; computed from one column if that is sufficient."""
        import dask.base
        from dask.delayed import delayed

        first = self.dask[[self.dask.columns[0]]] if len(self.dask.columns) else self.dask
        # Dask merges small pieces of Parquet if few columns are requested: the partitions would differ.
        with dask.config.set({"dataframe.parquet.minimum-partition-size": 1}):
            lengths: Sequence[int] = first.map_partitions(len, meta=(None, np.int64)).compute()
        if len(lengths) == len(self._parts):
            return lengths
        compute: Any = dask.base.compute  # has no types
        counted: Sequence[int] = compute(*(delayed(len)(part) for part in self._parts))
        return counted

    def part(self, partition: int) -> Any:
        """One partition, to be computed: a `dask.delayed.Delayed` of a DataFrame."""
        return self._parts[partition]

    @property
    def names(self) -> Sequence[Any]:
        """Names of the columns, not converted to text."""
        return list(self.dask.columns)

    def __len__(self) -> int:
        return int(self.bounds[-1])

    def _piece(self, partition: int) -> FrameColumns:
        """One partition."""
        with self._lock:
            if partition not in self._pieces:
                self._pieces[partition] = self._partition(partition)
            self._pieces.move_to_end(partition)
            while len(self._pieces) > _KEPT and sum(size for _, size in self._pieces.values()) > _KEPT_BYTES:
                self._pieces.popitem(last=False)
            return self._pieces[partition][0]

    def _partition(self, partition: int) -> tuple[FrameColumns, int]:
        """A partition, and the bytes it takes."""
        found = _computed(self._parts[partition].compute, partial(self._unreadable, partition))
        if len(found) != self.bounds[partition + 1] - self.bounds[partition]:
            raise self._unreadable(partition, f"{len(found):,} rows, a different number than before")
        return FrameColumns(found.reset_index(drop=True)), int(found.memory_usage(deep=True).sum())

    def _unreadable(self, partition: int, found: str) -> UnreadableRowsError:
        unreadable = UnreadableRowsError(
            "a partition of the Dask DataFrame cannot be computed", where=f"partition {partition}",
            found=found, expected="unchanged rows", hint="frame.persist() fixes partitions that are computed differently each time",
        )  # fmt: skip
        unreadable.rows = range(int(self.bounds[partition]), int(self.bounds[partition + 1]))
        return unreadable

    def _places(self, rows: Rows | slice | None) -> Iterator[tuple[int, Rows | slice]]:
        """The partitions of some rows, in the rows' order, and the rows' indices in each."""
        if rows is None or isinstance(rows, slice):
            whole = range(len(self))[rows or slice(None)]
            if whole.step == 1:
                yield from self._stretches(whole.start, whole.stop)
                return
            rows = np.array(whole, np.intp)
        numbers = np.searchsorted(self.bounds, rows, side="right") - 1
        cuts = np.flatnonzero(np.diff(numbers)) + 1
        for part in np.split(np.arange(len(rows)), cuts):
            if len(part):
                partition = int(numbers[part[0]])
                yield partition, rows[part] - self.bounds[partition]

    def _stretches(self, start: int, stop: int) -> Iterator[tuple[int, slice]]:
        for partition, (first, last) in enumerate(zip(self.bounds, self.bounds[1:], strict=False)):
            if max(start, first) < min(stop, last):
                yield partition, slice(int(max(start, first) - first), int(min(stop, last) - first))

    def _ordered(self, rows: Rows | slice | None) -> tuple[Rows | slice | None, Rows | None]:
        """Rows in partition order, so that each partition is computed once, and the indices that restore the requested order."""
        if not isinstance(rows, np.ndarray) or len(rows) < 2 or (np.diff(rows) >= 0).all():
            return rows, None
        order = np.argsort(rows, kind="stable")
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return rows[order], back

    def series(self, column: str, rows: Rows | slice | None) -> pd.Series[Any]:
        """A column of `frame`, (m,)."""
        ordered, back = self._ordered(rows)
        pieces = [self._piece(partition).series(column, own) for partition, own in self._places(ordered)]
        series = pd.concat(pieces) if pieces else self._kinds.series(column, None)
        numbers = np.arange(len(self))[rows] if isinstance(rows, slice) else rows
        series = series if back is None else series.iloc[back]
        return series.set_axis(np.arange(len(series)) if numbers is None else numbers)

    def cells(self, column: str, rows: Rows | slice | None) -> list[Any]:
        """The cells of some rows, (m,)."""
        ordered, back = self._ordered(rows)
        found = [
            cell
            for partition, own in self._places(ordered)
            for cell in self._piece(partition).cells(column, own)
        ]
        return found if back is None else [found[place] for place in back.tolist()]

    def is_text(self, column: str) -> bool:
        """Whether a column is text, by Dask's type."""
        return pd.api.types.is_string_dtype(self._dtype(column)) and self._dtype(column) is not np.dtype(
            object
        )

    def _dtype(self, column: str) -> Any:
        return self._kinds.series(column, None).dtype

    def text(self, column: str, rows: Rows | slice | None) -> pa.ChunkedArray:
        """The cells of some rows as Arrow's large strings, (m,)."""
        ordered, back = self._ordered(rows)
        chunks = [
            chunk
            for partition, own in self._places(ordered)
            for chunk in self._piece(partition).text(column, own).chunks
        ]
        found = pa.chunked_array(chunks, type=pa.large_string())
        return found if back is None else found.take(pa.array(back))

    def codes(self, column: str) -> NDArray[np.intp]:
        """An integer for each different text of a text column, (n,); -1 for a missing cell."""
        pieces = (
            (int(first), self._piece(partition).text(column, None).combine_chunks())
            for partition, first in enumerate(self.bounds[:-1])
        )
        return codes_of_pieces(pieces, len(self))

    def is_number(self, column: str) -> bool:
        """Whether a column contains only numbers or truth values of numpy's types."""
        return getattr(self._dtype(column), "kind", "O") in "iufb"

    def floats(self, column: str) -> Iterator[NDArray[Any]]:
        """A numpy float column in pieces, NaN for a missing cell."""
        if self._dtype(column) not in FLOATS:
            return
        for partition, own in self._places(None):
            yield self._piece(partition).series(column, own).to_numpy()

    def are_days(self, column: str) -> bool:
        """Whether a column contains times without a time of day, for columns with Dask's type for times."""
        if getattr(self._dtype(column), "kind", "O") != "M":
            return False
        return all(self._piece(partition).are_days(column) for partition, _ in self._places(None))

    def frame(self, rows: Rows | slice | None) -> pd.DataFrame:
        """All columns of some rows, as a copy."""
        return pd.DataFrame({name: self.series(str(name), rows) for name in self.names})
