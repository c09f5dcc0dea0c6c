"""Data as samples: DataFrame, dicts, threads, JSON Lines, JSON, CSV and Parquet."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.core.discovery import load_modules
from workbench.core.errors import SamplesError, SamplesWarning
from workbench.data.samples import file_types, shapes
from workbench.data.samples.file_types import load_file
from workbench.data.samples.joined_rows import joined
from workbench.data.samples.memory_rows import load
from workbench.data.samples.sample import Sample
from workbench.data.samples.source_file import Loaded
from workbench.data.samples.view import Samples

# Every module in these packages registers its readers, or shapes, when it is loaded.
load_modules(file_types)
load_modules(shapes)

__all__ = ["Sample", "Samples", "as_samples", "read_samples"]


def read_samples(
    path_or_data: Any,
    *,
    columns: Mapping[str, str | None] | None = None,
    strict: bool = True,
    lazy: bool = False,
    encoding: str | None = None,
    join: Any = None,
) -> Samples:
    """Read samples from a file or from data in memory.

    Args:
        path_or_data: A path, or rows in memory. Files: JSON in every form (lines, a list, one document), CSV with any separator,
            Parquet, Arrow, Excel, inspect logs, also as .gz, .bz2 or .zst; a folder of Parquet files (in the order of their paths; folders
            named `key=value` make a column); "-" is standard input, JSON Lines. CSV cells are read as text without
            conversion; an empty one is missing. Only regular files are read. In memory: a frame of pandas, Polars or Dask, an
            Arrow table, a DuckDB relation, a Hugging Face Dataset, a dict of columns, or an iterable of dicts, StringThreads,
            lists of messages or models. Results of other tools are read with their old scores (`samples.old_grades`).
        columns: Role to column name, overriding what `Samples` recognises; None switches a role off.
        strict: Whether a broken line of a JSON Lines file is an error. If not, its row is included, listed in
            `Samples.problems`, and fails in a run.
        lazy: Whether the rows of a Parquet file or folder are read on demand, part of a column at a time: for
            data larger than memory. Results are the same; `samples.frame` and the conditions of `samples.where` read
            everything. Its notes describe the first 10,000 rows.
        encoding: The encoding of a text file, such as "cp1252". None: UTF-8, or UTF-16 and UTF-32 by their byte order mark.
        join: Rows with further columns, a path or data in memory, or a list of several: those with the same `custom_id`, `id`,
            `question_id` or the like are joined, such as the requests of a batch or the items of an eval.

    Warns:
        SamplesWarning: Prompts that are empty, or one prompt for all rows; see `Samples.notes`.

    Raises:
        SamplesError: The data cannot be read; the error gives file, line, column, found and expected.
    """
    samples = _read(path_or_data, columns, join, strict=strict, lazy=lazy, encoding=encoding)
    for note in samples.notes:
        warnings.warn(note, SamplesWarning, stacklevel=2)
    return samples


def _read(
    path_or_data: Any,
    columns: Mapping[str, str | None] | None = None,
    join: Any = None,
    *,
    strict: bool = True,
    lazy: bool = False,
    encoding: str | None = None,
) -> Samples:
    loaded, source = _loaded(path_or_data, strict, lazy, encoding)
    for other in _others(join):
        further, name = _loaded(other, strict, False, encoding)  # lazily read rows cannot be joined
        loaded = joined(loaded, further, source or "the rows", name or "the joined rows")
    return Samples(loaded, columns=columns, source=source)


def _others(join: Any) -> Sequence[Any]:
    """The paths and data to join: a list of paths is several, any other list is data."""
    if join is None:
        return []
    are_paths = isinstance(join, list | tuple) and all(isinstance(one, str | os.PathLike) for one in join)
    return join if are_paths else [join]


def _loaded(data: Any, strict: bool, lazy: bool, encoding: str | None) -> tuple[Loaded, str]:
    """Rows as a frame, and the path that they are from; "" for data in memory."""
    if isinstance(data, str | os.PathLike):
        path = Path(data)
        return load_file(path, strict=strict, lazy=lazy, encoding=encoding), str(path)
    if lazy:
        raise SamplesError(
            "only Parquet can be read lazily", found=type(data).__name__, expected="the path of a Parquet file or folder"
        )  # fmt: skip
    return load(data), ""


def as_samples(data: Any) -> Samples:
    """`data` itself if it is a `Samples`, else the result of `read_samples`; the report shows its notes."""
    return data if isinstance(data, Samples) else _read(data)
