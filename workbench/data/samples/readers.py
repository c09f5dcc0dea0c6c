"""Readers of files and in-memory rows as frames, one per file type; errors name the unreadable line."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd

from workbench.core.display_text import one_line
from workbench.core.errors import SamplesError
from workbench.core.files import STANDARD_INPUT, check_regular, read_bytes, standard_input
from workbench.core.thread import StringThread
from workbench.data.samples.cells import CellFault
from workbench.data.samples.dask_columns import DaskColumns, is_dask_frame
from workbench.data.samples.parquet_bounds import read_table
from workbench.data.samples.parquet_columns import ParquetColumns, parquet_dataset, to_frame
from workbench.data.samples.table import Loaded


def load(data: Any, source: str = "") -> Loaded:
    """In-memory rows as a frame.

    Args:
        data: A DataFrame of pandas or Dask, a list of dicts, a list of StringThreads, or the result of `load_file`.
        source: For error messages.

    Raises:
        SamplesError: Another type; its name, or that of the first invalid row, is given.
    """
    if isinstance(data, Loaded):
        return data
    if isinstance(data, pd.DataFrame):
        return Loaded(data)
    if is_dask_frame(data):
        return Loaded(DaskColumns(data))
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return Loaded(_frame([_row(number, row, source) for number, row in enumerate(data)]))
    raise SamplesError(
        "these data cannot be read as samples",
        where=source,
        found=type(data).__name__,
        expected="a DataFrame of pandas or Dask, a list of dicts, a list of StringThreads or a path",
        hint="convert a dict of columns with pandas.DataFrame(...), an iterator with list(...)",
    )


def load_file(path: Path, *, strict: bool = True, lazy: bool = False) -> Loaded:
    """A file as a frame, by its suffix; a folder of Parquet files as one.

    Args:
        path: The file or folder; `-` reads JSON Lines from standard input.
        strict: Whether a broken line of a JSON Lines file is an error.
        lazy: Whether rows are read on demand, which only Parquet supports.

    Raises:
        SamplesError: A missing file, an unknown suffix, or unreadable content; the line is named.
    """
    is_standard_input = str(path) == STANDARD_INPUT
    if not is_standard_input and not path.exists():
        raise SamplesError("the file cannot be opened", where=str(path), found="No such file or folder")
    check_regular(path, SamplesError)
    if path.is_dir() and not any(path.rglob("*.parquet")):
        raise SamplesError(
            "a folder cannot be read as samples", where=str(path), found="no file that ends in .parquet",
            expected="a folder of Parquet files, or a file", hint="pass one file of it",
        )  # fmt: skip
    suffix = ".parquet" if path.is_dir() else ".jsonl" if is_standard_input else path.suffix.lower()
    if lazy and suffix != ".parquet":
        raise SamplesError(
            "only Parquet can be read lazily", where=str(path), found=repr(path.suffix), expected="'.parquet'",
            hint="convert it to Parquet once: pandas.read_json(path, lines=True, chunksize=...) and to_parquet, one file per chunk, into one folder",
        )  # fmt: skip
    reader = _lazy_parquet if lazy else _READERS.get(suffix)
    if reader is None:
        raise SamplesError(
            f"files of kind {path.suffix!r} cannot be read as samples",
            where=str(path),
            found=repr(path.suffix),
            expected="one of " + ", ".join(SUFFIXES),
            hint="read it with pandas and pass the DataFrame",
        )
    try:
        return reader(path, strict)
    except SamplesError:
        raise
    except (RecursionError, ValueError, TypeError, LookupError, AttributeError, MemoryError) as error:
        # The column metadata of a file is untrusted text, which pandas and Arrow do not validate.
        raise SamplesError(
            "the file cannot be read", where=str(path), found=f"{type(error).__name__}: {one_line(str(error))[:200]}",
            expected="a file that is not damaged or manipulated",
        ) from error  # fmt: skip
    except OSError as error:
        raise SamplesError(
            "the file cannot be opened", where=str(path), found=error.strerror or str(error)
        ) from error


def _row(number: int, row: Any, source: str) -> dict[str, Any]:
    if isinstance(row, StringThread):
        return _thread_row(row)
    if isinstance(row, Mapping):
        return {str(key): value for key, value in row.items()}
    raise SamplesError(
        f"row {number} cannot be read",
        where=", ".join(part for part in (source, f"row {number}") if part),
        found=f"{type(row).__name__} {str(row)[:60]!r}",
        expected="a dict or a StringThread",
    )


def _thread_row(thread: StringThread) -> dict[str, Any]:
    turns, metadata, calls, tools, answers = thread.to_wire()
    messages: list[dict[str, Any]] = [{"role": role, "content": content} for role, content in turns]
    for index, tool_calls in (calls or {}).items():
        messages[index]["tool_calls"] = tool_calls
    for index, call_id in (answers or {}).items():
        messages[index]["tool_call_id"] = call_id
    row: dict[str, Any] = {"messages": messages}
    if metadata is not None:
        row["metadata"] = metadata
    if tools:
        row["tools"] = tools
    return row


def _frame(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows as columns of Python objects, so that 4 stays 4 in a column with a missing cell; pure numbers become numpy's."""
    names = dict.fromkeys(name for row in rows for name in row)
    frame = pd.DataFrame(
        {name: pd.Series([row.get(name) for row in rows], dtype=object) for name in names},
        index=range(len(rows)),
    )
    for name in names:
        kinds = set(map(type, frame[name]))
        if len(kinds) == 1 and kinds <= {bool, int, float}:
            frame[name] = frame[name].infer_objects()
    return frame


def _jsonl(path: Path, strict: bool) -> Loaded:
    rows: list[dict[str, Any]] = []
    lines: list[int] = []
    faults: dict[int, CellFault] = {}
    # As bytes: text would also be split at U+2028 inside a string, and one bad byte would invalidate the file.
    for number, line in enumerate(_bytes(path).removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        row, fault = _json_object(line)
        if fault is not None:
            if strict:
                raise _line_error(path, number, fault)
            faults[len(rows)] = fault
        rows.append(row)
        lines.append(number)
    return Loaded(_frame(rows), lines, faults)


def _bytes(path: Path) -> bytes:
    is_stdin = str(path) == STANDARD_INPUT
    return standard_input(SamplesError) if is_stdin else read_bytes(path, SamplesError)


def _json_object(line: bytes) -> tuple[dict[str, Any], CellFault | None]:
    expected = "one JSON object, in UTF-8"
    try:
        value = json.loads(line.decode())
    except (ValueError, RecursionError) as error:
        return {}, CellFault("", f"{_start(line)} ({error})", expected)
    if not isinstance(value, dict):
        return {}, CellFault("", f"{_start(line)} ({type(value).__name__})", expected)
    return value, None


def _line_error(path: Path, line: int, fault: CellFault) -> SamplesError:
    return SamplesError(
        f"line {line} cannot be read",
        where=f"{path}, line {line}",
        found=fault.found,
        expected=fault.expected,
        hint="fix the line, or pass strict=False: the row then fails and the others are graded",
    )


def _json(path: Path, _: bool) -> Loaded:
    expected = "a JSON list of objects, in UTF-8"
    try:
        value = json.loads(read_bytes(path, SamplesError).removeprefix(b"\xef\xbb\xbf").decode())
    except (ValueError, RecursionError) as error:
        hint = (
            "one JSON object per line is JSON Lines: name the file .jsonl"
            if "Extra data" in str(error)
            else ""
        )
        raise SamplesError(
            "the file is not JSON", where=str(path), found=str(error), expected=expected, hint=hint
        ) from error
    if not isinstance(value, list):
        keys = f" with keys {', '.join(list(value)[:10])}" if isinstance(value, dict) else ""
        raise SamplesError(
            "the file contains no list",
            where=str(path),
            found=f"{type(value).__name__}{keys}",
            expected=expected,
        )
    return load(value, str(path))


def _csv(path: Path, _: bool) -> Loaded:
    """Every cell as literal text, so that "04" stays "04" and "None" stays "None"; an empty cell is missing."""
    text = _decoded(path)
    with _any_field_size():
        records = _records(path, text)
        header = next(records, None)
        if header is None:
            raise SamplesError(
                "the file is empty", where=str(path), found="0 rows", expected="a line of column names"
            )
        names, rows, lines = header[1], [], []
        for line, record in records:
            if len(record) != len(names):
                raise _ragged(path, line, len(record), names)
            rows.append([cell or None for cell in record])
            lines.append(line)
    return Loaded(pd.DataFrame(rows, columns=pd.Index(names, dtype=object), dtype=object), lines)


def _decoded(path: Path) -> str:
    data = read_bytes(path, SamplesError)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SamplesError(
            "the file is not UTF-8",
            where=f"{path}, line {line}",
            found=f"byte 0x{data[error.start]:02x} at position {error.start}",
            expected="UTF-8 text",
            hint="save it as UTF-8, or read it with pandas.read_csv(encoding=...) and pass the DataFrame",
        ) from error


def _records(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """Start line and cells of each record; blank lines are omitted."""
    # newline="" leaves line ends inside quoted cells unchanged.
    reader = csv.reader(
        StringIO(text, newline=""), strict=True, delimiter="\t" if path.suffix.lower() == ".tsv" else ","
    )
    start = 1
    try:
        for record in reader:
            if record:
                yield start, record
            start = reader.line_num + 1
    except csv.Error as error:
        raise SamplesError(
            f"line {start} cannot be read",
            where=f"{path}, line {start}",
            found=str(error),
            expected='comma-separated cells, those with commas, quotes or line ends in "double quotes"',
        ) from error


class _any_field_size:  # noqa: N801 (used like a function)
    """The csv module refuses cells above 128 KiB by default; the limit is global, so it is restored."""

    def __enter__(self) -> None:
        self._old = csv.field_size_limit(sys.maxsize)

    def __exit__(self, *_: object) -> None:
        csv.field_size_limit(self._old)


def _ragged(path: Path, line: int, cells: int, names: Sequence[str]) -> SamplesError:
    return SamplesError(
        f"line {line} has another number of cells than the header",
        where=f"{path}, line {line}",
        found=f"{cells} cells",
        expected=f"{len(names)}: {', '.join(names[:30])}",
        hint='a cell with a comma or a line end needs "double quotes" around it',
    )


def _parquet(path: Path, _: bool) -> Loaded:
    import pyarrow as pa

    if path.is_file():
        path.open("rb").close()
    try:
        files = [path] if path.is_file() else list(path.rglob("*.parquet"))
        return Loaded(to_frame(read_table(parquet_dataset(path), sum(one.stat().st_size for one in files))))
    except pa.ArrowException as error:
        raise SamplesError(
            "the file is not Parquet", where=str(path), found=str(error)[:200], expected="a Parquet file"
        ) from error


def _lazy_parquet(path: Path, _: bool) -> Loaded:
    return Loaded(ParquetColumns(path))


def _start(line: bytes) -> str:
    text = line[:60].decode("utf-8", "replace").strip()
    return repr(text + ("…" if len(line) > 60 else ""))


_READERS: dict[str, Callable[[Path, bool], Loaded]] = {
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".json": _json,
    ".csv": _csv,
    ".tsv": _csv,
    ".parquet": _parquet,
}

SUFFIXES = tuple(_READERS)
"""The file kinds that can be read."""
