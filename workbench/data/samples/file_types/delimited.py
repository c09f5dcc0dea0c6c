"""CSV and tab-separated files: every cell is literal text."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterator, Sequence
from io import StringIO
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pandas as pd

from workbench.core.display_text import counted
from workbench.core.errors import SamplesError
from workbench.data.samples.columns import recognise
from workbench.data.samples.file_types import reader
from workbench.data.samples.plain import is_missing
from workbench.data.samples.source_file import Loaded, SourceFile

_SEPARATORS = ("\t", ";", ",", "|")
"""Possible separators; of those that split the header into most names the first one is used."""

_DECLARED = re.compile(r"sep=(.)\r?\n")
"""The first line with which Excel declares the separator."""


@reader(".tsv", example=b"prompt\tcompletion\n2+2?\t4\n")
@reader(".csv", example=b"prompt,completion\n2+2?,4\n")
def read_delimited(file: SourceFile) -> Loaded:
    """Every cell as literal text, so that "04" stays "04" and "None" stays "None"; a cell that is empty is missing.

    So is the error of a formula, in a column whose other cells are numbers.

    The separator is the one of the header (comma, semicolon, tab, vertical bar), or that of a first line `sep=;`.
    """
    text = file.text()
    declared = _DECLARED.match(text)
    skipped = declared.end() if declared else 0
    separator = declared[1] if declared else _separator(text, file.suffix)
    with _any_field_size():
        records: Iterator[tuple[int, list[str]]] = _records(
            file.path, text[skipped:], separator, first=2 if declared else 1
        )
        first = list(islice(records, MAX_ABOVE + 1))
        if not first:
            raise SamplesError(
                "the file is empty", where=str(file.path), found="0 rows", expected="a line of column names"
            )
        place = header_place([record for _, record in first])
        names, rows, lines = first[place][1], [], []
        records = chain(first[place + 1 :], records)
        for line, record in records:
            if len(record) != len(names):
                raise _ragged(file.path, line, len(record), names, (separator, first[place][0]))
            rows.append([cell or None for cell in record])
            lines.append(line)
    empty = [at for at, name in enumerate(names) if not name.strip() and all(row[at] is None for row in rows)]
    if empty:  # separators at the end of each line
        kept = [at for at in range(len(names)) if at not in empty]
        names, rows = [names[at] for at in kept], [[row[at] for at in kept] for row in rows]
    rows, lines, notes = _without_headers(names, rows, lines)
    notes = (*above_header(place), *notes, *_without_errors(names, rows))
    return Loaded(pd.DataFrame(rows, columns=pd.Index(names, dtype=object), dtype=object), lines, notes=notes)


_ERRORS = frozenset({"#DIV/0!", "#ERROR!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"})
"""What spreadsheets write for cells whose formula failed."""
_NUMBER = re.compile(r"\s*[-+]?[\d.,]*\d[\d.,]*(?:[eE][-+]?\d+)?\s*%?\s*")


def _without_errors(names: Sequence[str], rows: list[list[str | None]]) -> Iterator[str]:
    """Make the errors of formulas missing in columns whose other cells are numbers; a note on these columns."""
    found, errors = [], 0
    for at, name in enumerate(names):
        wrong = [row for row in rows if row[at] in _ERRORS]
        if not wrong:
            continue
        others = [cell for row in rows if (cell := row[at]) is not None and cell not in _ERRORS]
        if others and all(map(_NUMBER.fullmatch, others)):
            found.append(repr(name))
            errors += len(wrong)
            for row in wrong:
                row[at] = None
    if found:
        yield (
            f"read {counted(errors, 'cell')} with an error of a spreadsheet, such as '#N/A', as missing, in columns of numbers: "
            f"{', '.join(found)}"
        )


MAX_ABOVE = 10
"""Maximum lines above the header."""


def header_place(records: Sequence[Sequence[Any]]) -> int:
    """The place of the header among the first records: below lines with at most one cell each, such as a title.

    Also below a line that has no name for some of the columns, if it has one for each, and below a title that contains the
    separator. Only if its names are those of known roles and all different; else 0. A single word without further cells is a
    header itself.

    Args:
        records: The first records, of cells that may be missing or blank.
    """
    for place, record in enumerate(records):
        names = [str(cell).strip() for cell in record if not is_missing(cell) and str(cell).strip()]
        if len(names) > 1:
            below = (
                [str(cell).strip() for cell in records[place + 1] if not is_missing(cell)]
                if place + 1 < len(records)
                else []
            )
            if len(names) < len(record) == len(set(below) - {""}) and _have_roles(
                below, ("prompt", "completion")
            ):
                return place + 1
            if title := _header_below(records, place, names):
                return title
            return place if place and len(set(names)) == len(names) and _have_roles(names) else 0
        if len(record) == 1 and names and " " not in names[0]:
            return 0
    return 0


def _header_below(records: Sequence[Sequence[Any]], place: int, names: Sequence[str]) -> int:
    """The place of the header below a title of several cells, which has another number of them and no known name; 0 if it is none."""
    below = place + 1
    if below >= len(records) or len(records[below]) == len(records[place]) or _have_roles(names):
        return 0
    found = [str(cell).strip() for cell in records[below]]
    is_table = all(len(record) == len(found) for record in records[below + 1 : below + 2])
    return below if is_table and len(set(found)) == len(found) > 1 and _have_roles(found) else 0


def _have_roles(names: Sequence[str], needs: Sequence[str] = ()) -> bool:
    try:
        return set(needs) <= recognise(names).keys()
    except SamplesError:
        return False


def above_header(n_lines: int) -> tuple[str, ...]:
    """The note on lines above the header; none if there are none."""
    return (f"skipped {counted(n_lines, 'line')} above the header",) if n_lines else ()


def _without_headers(
    names: Sequence[str], rows: list[list[str | None]], lines: list[int]
) -> tuple[list[list[str | None]], list[int], tuple[str, ...]]:
    """The rows without headers among them, of files that were put together or of Qualtrics' two further ones; their lines; notes."""
    imported = next(
        (
            at
            for at, row in enumerate(rows[:2])
            if row and all((cell or "").startswith('{"ImportId"') for cell in row)
        ),
        -1,
    )
    headers = {at for at, row in enumerate(rows) if at <= imported or (len(names) > 1 and row == list(names))}
    if not headers:
        return rows, lines, ()
    kept = [at for at in range(len(rows)) if at not in headers]
    note = f"skipped {counted(len(headers), 'further line')} of headers"
    return [rows[at] for at in kept], [lines[at] for at in kept], (note,)


def _separator(text: str, suffix: str) -> str:
    """The separator of the header, which is outside of its quotes; also of one below a title."""
    if suffix == ".tsv":
        return "\t"
    line = next((line for line in text.splitlines() if line.strip()), "")
    bare = re.sub(r'"[^"]*"?', "", line)
    counts = {separator: bare.count(separator) for separator in _SEPARATORS}
    # A comma decides only if nothing else separates: it is also the most frequent mark inside names.
    found = max(_SEPARATORS, key=lambda separator: counts[separator])
    if counts[found] and _have_roles([name.strip() for name in line.split(found)]):
        return found
    first = [line for line in islice(text.splitlines(), MAX_ABOVE + 1) if line.strip()]
    below = next((one for one in _SEPARATORS if header_place([line.split(one) for line in first])), "")
    return below or (found if counts[found] else ",")


def _records(path: Path, text: str, separator: str, *, first: int) -> Iterator[tuple[int, list[str]]]:
    """Start line and cells of each record; blank lines are omitted."""
    # newline="" leaves line ends inside quoted cells unchanged.
    reader = csv.reader(StringIO(text, newline=""), strict=True, delimiter=separator)
    start = first
    try:
        for record in reader:
            if record:
                yield start, record
            start = reader.line_num + first
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


def _ragged(path: Path, line: int, cells: int, names: Sequence[str], header: tuple[str, int]) -> SamplesError:
    """The error for a line with another number of cells; a header without a known name may be a title above it.

    Args:
        path: The file.
        line: The line.
        cells: Its number of cells.
        names: The names of the header.
        header: Its separator, and its line.
    """
    separator, place = header
    title = "" if _have_roles(names) else f"; if line {place} is a title, and not the header, remove it"
    return SamplesError(
        f"line {line} has another number of cells than the header in line {place}",
        where=f"{path}, line {line}",
        found=f"{cells} cells",
        expected=f"{len(names)}: {', '.join(names[:30])}",
        hint=f'the header is separated by {separator!r}; a cell with it or with a line end needs "double quotes" around it{title}',
    )
