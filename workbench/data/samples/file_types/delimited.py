"""CSV and tab-separated files: every cell is literal text."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path

import pandas as pd

from workbench.core.errors import SamplesError
from workbench.core.files import read_bytes
from workbench.data.samples.file_types import reader
from workbench.data.samples.table import Loaded


@reader(".tsv", example=b"prompt\tcompletion\n2+2?\t4\n")
@reader(".csv", example=b"prompt,completion\n2+2?,4\n")
def read_delimited(path: Path, _: bool) -> Loaded:
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
            expected='separated cells, those with delimiters, quotes or line ends in "double quotes"',
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
        hint='a cell with a delimiter or a line end needs "double quotes" around it',
    )
