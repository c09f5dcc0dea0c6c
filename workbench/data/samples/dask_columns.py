"""Columns of a Dask DataFrame: computed a partition at a time, on the configured scheduler."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from workbench.core.display_text import one_line
from workbench.core.errors import SamplesError
from workbench.data.samples.frame_columns import (
    FLOATS,
    FrameColumns,
    Rows,
    UnreadableRowsError,
    codes_of_pieces,
)

_KEPT, _KEPT_BYTES = 2, 64 * 1024 * 1024
"""Cached partitions: the one being graded and the one being displayed; more if they are small."""


def is_dask_frame(data: Any) -> bool:
    """Whether this is a Dask DataFrame; Dask is not loaded to find out."""
    kind = type(data)
    return kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] in {"dask", "dask_expr"}


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
        try:
            lengths = self._lengths()
        except Exception as error:  # any exception of the user's graph
            raise SamplesError(
                "the Dask DataFrame cannot be computed", found=one_line(f"{type(error).__name__}: {error}")[:300],
                expected="a DataFrame whose partitions can be computed", hint="[len(part) for part in frame.partitions] shows at which partition",
            ) from error  # fmt: skip
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
                self._pieces[partition] = self._computed(partition)
            self._pieces.move_to_end(partition)
            while len(self._pieces) > _KEPT and sum(size for _, size in self._pieces.values()) > _KEPT_BYTES:
                self._pieces.popitem(last=False)
            return self._pieces[partition][0]

    def _computed(self, partition: int) -> tuple[FrameColumns, int]:
        """A partition, and the bytes it takes."""
        try:
            found = self._parts[partition].compute()
        except Exception as error:  # any exception of the user's graph
            raise self._unreadable(partition, error) from error
        if len(found) != self.bounds[partition + 1] - self.bounds[partition]:
            raise self._unreadable(partition, f"{len(found):,} rows, a different number than before")
        return FrameColumns(found.reset_index(drop=True)), int(found.memory_usage(deep=True).sum())

    def _unreadable(self, partition: int, error: BaseException | str) -> UnreadableRowsError:
        found = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        unreadable = UnreadableRowsError(
            "a partition of the Dask DataFrame cannot be computed", where=f"partition {partition}",
            found=one_line(found)[:300], expected="unchanged rows", hint="frame.persist() fixes partitions that are computed differently each time",
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
