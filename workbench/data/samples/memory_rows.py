"""Rows in memory as a frame: frames and tables of any library, lists of dicts, conversations, models and records."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

from workbench.core.errors import SamplesError
from workbench.core.thread import StringThread
from workbench.data.samples.chats import chat_of
from workbench.data.samples.documents import rows_of
from workbench.data.samples.frame_columns import DaskColumns, is_dask_frame
from workbench.data.samples.parquet_columns import to_frame
from workbench.data.samples.source_file import Loaded

_EXPECTED = (
    "a frame (pandas, Polars, Dask), an Arrow table, a DuckDB relation, a Hugging Face Dataset, "
    "a list of dicts or of StringThreads, or a path"
)


def load(data: Any, source: str = "") -> Loaded:
    """In-memory rows as a frame.

    Args:
        data: A frame of pandas, Polars or Dask, anything with the Arrow PyCapsule interface, a Dataset, a dict of columns, an
            iterable of dicts, StringThreads, lists of messages, models or records, or the result of `load_file`.
        source: For error messages.

    Raises:
        SamplesError: Another type; its name, or that of the first invalid row, is given.
    """
    if isinstance(data, Loaded):
        return data
    if isinstance(data, pd.DataFrame) or is_dask_frame(data):
        return Loaded(data if isinstance(data, pd.DataFrame) else DaskColumns(data))
    if isinstance(data, Mapping):
        return _of_mapping(data, source)
    return _of_tables(data, source)


def _of_tables(data: Any, source: str) -> Loaded:
    if _is_dataset(data):
        return load(list(data.with_format(None) if hasattr(data, "with_format") else data), source)
    if hasattr(data, "__arrow_c_stream__"):
        return Loaded(_of_arrow(data, source))
    for name in (
        "collect",
        "fetch_arrow_table",
        "to_pandas",
    ):  # Polars' LazyFrame, DuckDB's relation, results of evaluators
        method = getattr(data, name, None)
        if callable(method) and not isinstance(data, type):
            return load(method(), source)
    if isinstance(data, Iterable) and not isinstance(data, str | bytes | StringThread):
        return Loaded(frame_of([_row(number, row, source) for number, row in enumerate(data)]))
    raise SamplesError(
        "these data cannot be read as samples", where=source, found=type(data).__name__, expected=_EXPECTED,
        hint="pass a list of dicts, one per row: [{'prompt': ..., 'completion': ...}]",
    )  # fmt: skip


def _of_mapping(data: Mapping[Any, Any], source: str) -> Loaded:
    """The rows of a dict: of its only split, of columns, or of a document."""
    splits = {
        str(name): part for name, part in data.items() if _is_dataset(part) or isinstance(part, pd.DataFrame)
    }
    if not splits or len(splits) < len(data):
        return load(rows_of(data, source), source)
    if len(splits) == 1:
        return load(next(iter(splits.values())), source)
    raise SamplesError(
        "the data have several splits", where=source, found=", ".join(map(repr, splits)), expected="the rows of one",
        hint=f"pass one of them: wb.read_samples(data[{next(iter(splits))!r}])",
    )  # fmt: skip


def _is_dataset(data: Any) -> bool:
    """Whether data are a Dataset or an IterableDataset of Hugging Face."""
    return hasattr(data, "features") and hasattr(data, "column_names") and not isinstance(data, Mapping)


def _of_arrow(data: Any, source: str) -> pd.DataFrame:
    try:
        table = data if isinstance(data, pa.Table) else pa.table(data)
        return to_frame(_without_views(table))
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise SamplesError(
            "these data cannot be read through Arrow", where=source, found=f"{type(data).__name__}: {str(error)[:200]}",
            expected=_EXPECTED, hint="pass a pandas DataFrame, such as data.to_pandas()",
        ) from error  # fmt: skip


def _without_views(table: pa.Table) -> pa.Table:
    """The table with texts of Arrow's older type, which every version converts to pandas."""
    is_view: Callable[[pa.DataType], bool] = getattr(pa.types, "is_string_view", lambda _: False)
    fields = [field.with_type(pa.large_string()) if is_view(field.type) else field for field in table.schema]
    return table.cast(pa.schema(fields)) if any(is_view(field.type) for field in table.schema) else table


def _row(number: int, row: Any, source: str) -> dict[str, Any]:
    if isinstance(row, StringThread):
        return _thread_row(row)
    if isinstance(row, Mapping):
        return {str(key): value for key, value in row.items()}
    if isinstance(row, list) and chat_of([_fields(one) or one for one in row]) is not None:
        return {"messages": [_fields(one) or one for one in row]}
    fields = _fields(row)
    if fields is not None:
        return fields
    raise SamplesError(
        f"row {number} cannot be read",
        where=", ".join(part for part in (source, f"row {number}") if part),
        found=f"{type(row).__name__} {str(row)[:60]!r}",
        expected="a dict, a StringThread or a list of messages",
        hint="pass a dict for each row: {'prompt': ..., 'completion': ...}",
    )


def _fields(row: Any) -> dict[str, Any] | None:
    """The fields of a pydantic model, a dataclass, a named tuple, a row of SQLite, or an object with `to_dict`."""
    if isinstance(row, Mapping):
        return dict(row)
    if isinstance(row, type):
        return None
    if dataclasses.is_dataclass(row) and not isinstance(row, type):
        return dataclasses.asdict(row)
    for name in ("model_dump", "_asdict", "to_dict"):
        method = getattr(row, name, None)
        if callable(method):
            found = method()
            return {str(key): value for key, value in found.items()} if isinstance(found, Mapping) else None
    names = getattr(row, "keys", None)
    if callable(names) and hasattr(row, "__getitem__"):
        return {str(name): row[name] for name in names()}
    return None


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
