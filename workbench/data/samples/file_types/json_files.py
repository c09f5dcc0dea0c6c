"""JSON Lines, one object per line, and JSON, a list of objects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from workbench.core.errors import SamplesError
from workbench.core.files import STANDARD_INPUT, read_bytes, standard_input
from workbench.data.samples.cells import CellFault
from workbench.data.samples.file_types import frame_of, load, reader
from workbench.data.samples.table import Loaded


@reader(".ndjson", example=b'{"completion": "4"}\n')
@reader(".jsonl", example=b'{"completion": "4"}\n')
def read_json_lines(path: Path, strict: bool) -> Loaded:
    """One object per line; blank lines are omitted."""
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
    return Loaded(frame_of(rows), lines, faults)


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


@reader(".json", example=b'[{"completion": "4"}]')
def read_json(path: Path, _: bool) -> Loaded:
    """A list of objects."""
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


def _start(line: bytes) -> str:
    text = line[:60].decode("utf-8", "replace").strip()
    return repr(text + ("…" if len(line) > 60 else ""))
