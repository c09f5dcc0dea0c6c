"""JSON by its content, independent of the suffix: a list, one object per line, objects over several lines, one document."""

from __future__ import annotations

import json
import re
from typing import Any

from workbench.core.errors import SamplesError
from workbench.data.samples.cells import CellFault
from workbench.data.samples.documents import rows_of
from workbench.data.samples.file_types import reader
from workbench.data.samples.memory_rows import frame_of, load
from workbench.data.samples.source_file import Loaded, SourceFile

_NOT_BLANK = re.compile(r"\S")


@reader(".ndjson", example=b'{"completion": "4"}\n')
@reader(".jsonl", example=b'{"completion": "4"}\n')
def read_json_lines(file: SourceFile) -> Loaded:
    """One object per line; blank lines are omitted. A file of another form is read by its content."""
    data = file.utf8().replace(
        b"\x1e", b""
    )  # the separator of JSON text sequences, which no JSON text contains
    first = next((line for line in data.split(b"\n", 1_000) if line.strip()), b"{}")
    if _json_object(first)[1] is None:
        return _lines(file, data)
    values = _values(data)
    return _lines(file, data) if values is None else _loaded(file, values)


@reader(".json", example=b'[{"completion": "4"}]')
def read_json(file: SourceFile) -> Loaded:
    """A list of objects, or a document that contains one."""
    data = file.utf8()
    values = _values(data)
    if values is not None:
        return _loaded(file, values)
    first = next((line for line in data.split(b"\n", 1_000) if line.strip()), b"")
    if first and _json_object(first)[1] is None:
        return _lines(file, data)
    try:
        json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise SamplesError(
            "the file is not JSON", where=str(file.path), found=str(error)[:300], expected="JSON with a list of objects, in UTF-8",
            hint="correct the place: JSON has no comments, no comma before a closing bracket, and texts in double quotes",
        ) from error  # fmt: skip
    raise AssertionError  # unreachable: what is JSON has values


def _loaded(file: SourceFile, values: list[Any]) -> Loaded:
    """Rows of the values of a file: one document, or several objects."""
    source = str(file.path)
    if len(values) != 1:
        return load(values, source)
    value = values[0]
    if isinstance(value, list):
        return load(value, source)
    if isinstance(value, dict):
        return load(rows_of(value, source))
    raise SamplesError(
        "the file contains no list", where=source, found=type(value).__name__, expected="a JSON list of objects, in UTF-8",
        hint="write one JSON object per row, with its prompt and its completion",
    )  # fmt: skip


def _values(data: bytes) -> list[Any] | None:
    """The values of a file, of which there are several if objects follow each other; None if it is not JSON."""
    try:
        text = data.decode()
        return [json.loads(text)]
    except (ValueError, RecursionError) as error:
        if not isinstance(error, json.JSONDecodeError) or not error.msg.startswith("Extra data"):
            return None
    decoder, values = json.JSONDecoder(), []
    place = _blank_until(text, 0)
    try:
        while place < len(text):
            value, end = decoder.raw_decode(text, place)
            values.append(value)
            place = _blank_until(text, end)
    except (ValueError, RecursionError):
        return None
    return values


def _blank_until(text: str, place: int) -> int:
    """The place of the next character that is not white space."""
    found = _NOT_BLANK.search(text, place)
    return len(text) if found is None else found.start()


def _lines(file: SourceFile, data: bytes) -> Loaded:
    rows: list[dict[str, Any]] = []
    lines: list[int] = []
    faults: dict[int, CellFault] = {}
    # As bytes: text would also be split at U+2028 inside a string, and one bad byte would invalidate the file.
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        row, fault = _json_object(line)
        if fault is not None:
            if file.strict:
                raise _line_error(file, number, fault)
            faults[len(rows)] = fault
        rows.append(row)
        lines.append(number)
    return Loaded(frame_of(rows), lines, faults)


def _json_object(line: bytes) -> tuple[dict[str, Any], CellFault | None]:
    expected = "one JSON object, in UTF-8"
    try:
        value = json.loads(line.decode())
    except (ValueError, RecursionError) as error:
        return {}, CellFault("", f"{_start(line)} ({error})", expected)
    if not isinstance(value, dict):
        return {}, CellFault("", f"{_start(line)} ({type(value).__name__})", expected)
    return value, None


def _line_error(file: SourceFile, line: int, fault: CellFault) -> SamplesError:
    return SamplesError(
        f"line {line} cannot be read",
        where=f"{file.path}, line {line}",
        found=fault.found,
        expected=fault.expected,
        hint="fix the line, or pass strict=False: the row then fails and the others are graded",
    )


def _start(line: bytes) -> str:
    text = line[:60].decode("utf-8", "replace").strip()
    return repr(text + ("…" if len(line) > 60 else ""))
