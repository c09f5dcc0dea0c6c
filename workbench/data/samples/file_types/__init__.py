"""Rows in memory or in a file as a frame, and the register of readers; one module per kind of file adds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from workbench.core.discovery import refuse_taken
from workbench.core.display_text import one_line
from workbench.core.errors import SamplesError
from workbench.core.files import STANDARD_INPUT, check_regular
from workbench.core.thread import StringThread
from workbench.data.samples.frame_columns import DaskColumns, is_dask_frame
from workbench.data.samples.parquet_columns import ParquetColumns
from workbench.data.samples.table import Loaded

ReadFile = Callable[[Path, bool], Loaded]


class FileReader(NamedTuple):
    """The reader of the files with one suffix.

    Attributes:
        read: From a path, and whether a broken line is an error, to rows; raises `SamplesError`.
        example: Content that it can read, for the tests over all readers.
    """

    read: ReadFile
    example: bytes | Callable[[], bytes]


READERS: dict[str, FileReader] = {}
"""Every reader by its suffix."""


def reader(suffix: str, *, example: bytes | Callable[[], bytes]) -> Callable[[ReadFile], ReadFile]:
    """Register a function as the reader of the files with a suffix; the modules of `file_types` are loaded by themselves.

    Args:
        suffix: In lower case, with its dot.
        example: Content that it can read: at least one row with a column `completion`.

    Raises:
        ValueError: Another function reads these files.
    """

    def register(read: ReadFile) -> ReadFile:
        taken = READERS.get(suffix)
        refuse_taken("reader", suffix, taken and taken.read, read)
        READERS[suffix] = FileReader(read, example)
        return read

    return register


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
        return Loaded(frame_of([_row(number, row, source) for number, row in enumerate(data)]))
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
    if suffix not in READERS:
        raise SamplesError(
            f"files of kind {path.suffix!r} cannot be read as samples",
            where=str(path),
            found=repr(path.suffix),
            expected="one of " + ", ".join(READERS),
            hint="read it with pandas and pass the DataFrame",
        )
    try:
        return Loaded(ParquetColumns(path)) if lazy else READERS[suffix].read(path, strict)
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


def frame_of(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
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
