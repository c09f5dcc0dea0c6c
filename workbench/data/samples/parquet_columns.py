"""Lazily read columns of Parquet files: memory contains only the rows being read."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from workbench.core.display_text import one_line
from workbench.core.errors import SamplesError
from workbench.data.samples.frame_columns import (
    FLOATS,
    Rows,
    UnreadableRowsError,
    codes_of_pieces,
    large_text,
)
from workbench.data.samples.parquet_bounds import Unpacked, check_metadata, step_rows

if TYPE_CHECKING:
    import pyarrow.dataset as ds


_BATCH = 8_192
"""Maximum rows decoded at a time."""
_BATCH_BYTES = 16 * 1024 * 1024
"""Uncompressed bytes of a row group's columns above which fewer rows are decoded at a time."""
_BUFFER = 1 << 20
"""Bytes of a column that are read from the file at a time."""
_CURSORS = 3
"""Maximum open reading positions of one column: for the rows being sent, for a repeated range, and for a reader."""
_OPEN = 192
"""Maximum open positions of all columns together; beyond it each column keeps only its last one, since each opens a file."""


def parquet_dataset(path: Path) -> ds.Dataset:
    """A Parquet file, or a folder of them in the order of their paths; folders named `key=value` make a column.

    Raises:
        SamplesError: The file is not Parquet, or the files' columns are incompatible.
    """
    import pyarrow.dataset as ds

    if not path.exists():
        raise FileNotFoundError(2, "No such file or folder", str(path))
    files = sorted(file for file in path.rglob("*.parquet") if file.is_file()) if path.is_dir() else [path]
    if not files:
        raise SamplesError(
            "the folder contains no Parquet file", where=str(path), expected="files that end in .parquet"
        )
    folders = {"partitioning": "hive", "partition_base_dir": str(path)} if path.is_dir() else {}
    try:
        return ds.dataset([str(file) for file in files], format="parquet", **folders)
    except (pa.ArrowException, OSError) as error:
        raise SamplesError(
            "the file is not Parquet" if path.is_file() else "the folder's files are not Parquet of one kind",
            where=str(path), found=str(error)[:200], expected="a Parquet file, or a folder of Parquet files",
        ) from error  # fmt: skip


def to_frame(table: pa.Table) -> pd.DataFrame:
    """A table as pandas data."""
    # integer_object_nulls: 4 stays 4 in a column with a missing cell.
    frame: pd.DataFrame = table.to_pandas(integer_object_nulls=True)
    return frame


@dataclass(frozen=True)
class _RowGroup:
    """A row group."""

    fragment: Any
    first: int
    rows: int

    @property
    def stop(self) -> int:
        return self.first + self.rows

    @property
    def batch_rows(self) -> int:
        """Number of rows decoded at a time."""
        size = int(self.fragment.row_groups[0].total_byte_size)
        return max(1, min(_BATCH, _BATCH_BYTES * self.rows // max(size, 1)))


@dataclass
class _Cursor:
    """Reading position of one column: the last batch, and the batches after it in its row group."""

    group: _RowGroup
    batches: Iterator[pa.Array]
    first: int
    batch: pa.Array = field(default_factory=lambda: pa.nulls(0))

    @property
    def stop(self) -> int:
        return self.first + len(self.batch)


class ParquetColumns:
    """The columns of Parquet files. Reading continues where it ended, so that rows in order are read once.

    Args:
        path: A file, or a folder.

    Raises:
        SamplesError: The file is not Parquet.
    """

    is_lazy = True

    def __init__(self, path: Path) -> None:
        dataset = parquet_dataset(path)
        self._schema = dataset.schema
        groups = [group for file in dataset.get_fragments() for group in _row_groups(file)]
        firsts = accumulate((rows for _, rows in groups), initial=0)
        self._groups = [
            _RowGroup(part, first, rows) for (part, rows), first in zip(groups, firsts, strict=False) if rows
        ]
        self._rows = sum(group.rows for group in self._groups)
        self._fields = _fields(self._schema)
        self._numbers = _numbers(self._schema, self._rows)
        self._names = [*self._numbers, *self._fields]
        self._versions = {path: _version(path) for path in {str(part.path) for part, _ in groups}}
        self._cursors: dict[str, list[_Cursor]] = {}
        self._lock = threading.RLock()  # a run and concurrent readers of rows

    @property
    def names(self) -> Sequence[Any]:
        """Names of the columns, not converted to text."""
        return list(self._names)

    def __len__(self) -> int:
        return self._rows

    def series(self, column: str, rows: Rows | slice | None) -> pd.Series[Any]:
        """A column of `frame`, (m,)."""
        numbers = np.arange(self._rows)[rows] if isinstance(rows, slice) else rows
        if column in self._numbers:
            index = self._numbers[column]
            series = pd.Series(index if numbers is None else index[numbers], name=column)
        else:
            schema = pa.schema([self._fields[column]], metadata=self._schema.metadata)
            frame = to_frame(pa.Table.from_arrays([self._arrays(column, rows)], schema=schema))
            # A level of an index is also a level here.
            series = frame.iloc[:, 0] if len(frame.columns) else frame.index.to_series()
            series = series.reset_index(drop=True).rename(column)
        return series if numbers is None else series.set_axis(numbers)

    def cells(self, column: str, rows: Rows | slice | None) -> list[Any]:
        """The cells of some rows, (m,)."""
        return list(self.series(column, rows).tolist())

    def is_text(self, column: str) -> bool:
        """Whether a column is Arrow text, so that `text` returns it."""
        kind = self._kind(column)
        return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))

    def _kind(self, column: str) -> pa.DataType:
        return pa.int64() if column in self._numbers else self._fields[column].type

    def text(self, column: str, rows: Rows | slice | None) -> pa.ChunkedArray:
        """The cells of some rows as Arrow's large strings, (m,)."""
        text = large_text(self._arrays(column, rows))
        assert text is not None
        return text

    def codes(self, column: str) -> NDArray[np.intp]:
        """An integer for each different text of a text column, (n,); -1 for a missing cell."""
        return codes_of_pieces(self._batches(column), self._rows)

    def is_number(self, column: str) -> bool:
        """Whether a column contains only numbers or truth values of numpy's types."""
        kind = self._kind(column)
        return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind))

    def floats(self, column: str) -> Iterator[NDArray[Any]]:
        """A numpy float column in pieces, NaN for a missing cell."""
        if not pa.types.is_floating(self._kind(column)):
            return
        for _, batch in self._batches(column):
            values = batch.to_numpy(zero_copy_only=False)
            if values.dtype in FLOATS:
                yield values

    def are_days(self, column: str) -> bool:
        """Whether a column contains times without a time of day, that is days."""
        kind = self._kind(column)
        if not pa.types.is_timestamp(kind) or kind.tz is not None:
            return False
        pieces = (batch.drop_null() for _, batch in self._batches(column))
        return all(
            pc.all(pc.equal(times, pc.floor_temporal(times, unit="day")), min_count=0).as_py()
            for times in pieces
        )

    def frame(self, rows: Rows | slice | None) -> pd.DataFrame:
        """All columns of some rows, as a copy."""
        return pd.DataFrame({name: self.series(name, rows) for name in self._names})

    def _arrays(self, column: str, rows: Rows | slice | None) -> pa.ChunkedArray:
        """Some rows of a column as Arrow data of the file."""
        if isinstance(rows, np.ndarray):
            if not len(rows) or rows[-1] - rows[0] != len(rows) - 1 or (np.diff(rows) != 1).any():
                return self._scattered(column, rows)
            rows = slice(int(rows[0]), int(rows[-1]) + 1)
        whole = range(self._rows)[rows or slice(None)]
        if whole.step != 1:
            return self._scattered(column, np.array(whole))
        with self._lock:
            return pa.chunked_array(
                list(self._between(column, whole.start, whole.stop)), type=self._kind(column)
            )

    def _scattered(self, column: str, rows: Rows) -> pa.ChunkedArray:
        """Rows in any order, read in file order."""
        wanted, places = np.unique(rows, return_inverse=True)
        chunks, at = [], 0
        with self._lock:
            for group in self._groups:
                last = int(np.searchsorted(wanted, group.stop))
                while at < last:
                    cursor = self._cursor(column, group, int(wanted[at]))
                    end = min(int(np.searchsorted(wanted, cursor.stop)), last)
                    chunks.append(cursor.batch.take(pa.array(wanted[at:end] - cursor.first)))
                    at = end
        found = pa.chunked_array(chunks, type=self._kind(column))
        return found if np.array_equal(rows, wanted) else found.take(pa.array(places))

    def _between(self, column: str, start: int, stop: int) -> Iterator[pa.Array]:
        for group in self._groups:
            at = max(start, group.first)
            while at < min(stop, group.stop):
                cursor = self._cursor(column, group, at)
                end = min(stop, cursor.stop)
                yield cursor.batch.slice(at - cursor.first, end - at)
                at = end

    def _cursor(self, column: str, group: _RowGroup, row: int) -> _Cursor:
        """A cursor at the batch of a row: an open one at or before it, else a new one at the start of its row group."""
        cursors = self._cursors.setdefault(column, [])
        near = [cursor for cursor in cursors if cursor.group is group and cursor.first <= row]
        cursor = max(near, key=lambda one: one.first, default=None)
        if cursor is None:
            cursor = _Cursor(group, self._read(group, column), group.first)
        else:
            cursors.remove(cursor)
        cursors.insert(0, cursor)
        del cursors[_CURSORS if sum(map(len, self._cursors.values())) <= _OPEN else 1 :]
        try:
            while row >= cursor.stop:
                cursor.first, cursor.batch = cursor.stop, next(cursor.batches)
        except (pa.ArrowException, OSError, StopIteration, SamplesError) as error:
            cursors.remove(cursor)
            raise self._unreadable(error, range(cursor.stop, group.stop)) from error
        return cursor

    def _batches(self, column: str) -> Iterator[tuple[int, pa.Array]]:
        """A whole column in batches with the number of each first row, independent of other reading positions."""
        try:
            for group in self._groups:
                first = group.first
                for batch in self._read(group, column):
                    yield first, batch
                    first += len(batch)
        except (pa.ArrowException, OSError, SamplesError) as error:
            raise self._unreadable(error, range(first, group.stop)) from error

    def _read(self, group: _RowGroup, column: str) -> Iterator[pa.Array]:
        import pyarrow.dataset as ds

        options = ds.ParquetFragmentScanOptions(
            use_buffered_stream=True, buffer_size=_BUFFER, pre_buffer=False
        )
        path, name = str(group.fragment.path), self._fields[column].name
        metadata = group.fragment.metadata.row_group(group.fragment.row_groups[0].id)
        unpacked = Unpacked(path, min(Path(path).stat().st_size, metadata.total_byte_size))
        batches = group.fragment.to_batches(
            schema=self._schema, columns=[name], batch_size=step_rows(path, metadata, name, group.batch_rows), batch_readahead=1,
            fragment_readahead=1, fragment_scan_options=options, use_threads=False,
        )  # fmt: skip
        for batch in batches:
            if _version(path) != self._versions[path]:
                raise OSError(f"{path} was rewritten")
            unpacked.add(batch)
            if len(batch):
                yield batch.column(0)

    def _unreadable(self, error: BaseException, rows: range) -> UnreadableRowsError:
        unreadable = UnreadableRowsError(
            "the file cannot be read, or was changed since it was opened",
            where=self._file_of(rows), found=one_line(str(error))[:200] or type(error).__name__, expected="the unchanged Parquet file",
            hint="read the samples again, or raise the limit of open files (ulimit -n) if there are too many",
        )  # fmt: skip
        unreadable.rows = rows
        return unreadable

    def _file_of(self, rows: range) -> str:
        """The file that contains the first of some rows."""
        return next(
            str(group.fragment.path) for group in self._groups if group.first <= rows.start < group.stop
        )


def _row_groups(file: Any) -> list[tuple[Any, int]]:
    """The row groups of a file, each with its number of rows.

    Raises:
        SamplesError: The file is damaged.
    """
    try:
        check_metadata(str(file.path), file.metadata)
        return [(part, part.row_groups[0].num_rows) for part in file.split_by_row_group()]
    except (pa.ArrowException, OSError) as error:
        raise SamplesError(
            "the file cannot be read", where=str(file.path), found=one_line(str(error))[:200] or type(error).__name__,
            expected="a completely written Parquet file", hint="write it again, or remove it from the folder",
        ) from error  # fmt: skip


def _version(path: str) -> tuple[int, int]:
    """Identity of a file's content: its size and modification time."""
    found = Path(path).stat()
    return found.st_size, found.st_mtime_ns


def _fields(schema: pa.Schema) -> dict[str, pa.Field]:
    """Name to field of the columns, pandas' index levels first: as `FrameColumns` has them.

    An index of one level without a name carries no information and is not included.
    """
    described = schema.pandas_metadata or {}
    stored = [level for level in described.get("index_columns", ()) if isinstance(level, str)]
    names = {one.get("field_name"): one.get("name") for one in described.get("columns", ())}
    levels: dict[str, pa.Field] = {}
    for number, level in enumerate(stored):
        name = names.get(level)
        if level not in schema.names or (name is None and len(stored) == 1):
            continue
        levels[f"level_{number}" if name is None else str(name)] = schema.field(level)
    columns = {name: schema.field(name) for name in schema.names if name not in stored}
    return {**{name: level for name, level in levels.items() if name not in columns}, **columns}


def _numbers(schema: pa.Schema, rows: int) -> dict[str, pd.RangeIndex]:
    """Name to numbers of an index that pandas describes instead of writing it, if it has a name and covers these rows."""
    levels = (schema.pandas_metadata or {}).get("index_columns", ())
    ranges = {
        str(level["name"]): pd.RangeIndex(level["start"], level["stop"], level["step"])
        for level in levels
        if isinstance(level, dict) and level.get("name") is not None
    }
    return {
        name: numbers for name, numbers in ranges.items() if len(numbers) == rows and name not in schema.names
    }
