"""Grades as Arrow columns, one row per grade, and back: the form used in files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from workbench.core.display_text import encodable
from workbench.core.grade import ErrorKind, GradeError
from workbench.core.grades import Grades, RowNotes

_MAX_CHARACTERS = 10_000
"""Maximum characters of a value that is stored as text because JSON cannot represent it."""
_BATCH = 65_536
"""Maximum rows of a record."""

_STATUSES = ("missing", "scored", "failed", "skipped")
GRADE_COLUMNS: dict[str, pa.DataType] = {
    "status": pa.dictionary(pa.int8(), pa.string()),
    "score": pa.float64(),
    "passed": pa.bool_(),
    "reasoning": pa.string(),
    "error_kind": pa.string(),
    "error": pa.string(),
    "metadata": pa.string(),
    "seconds": pa.float64(),
    "tokens": pa.float64(),
    "cost": pa.float64(),
    "ungraded": pa.string(),
    "graded_again": pa.bool_(),
}
"""Stored columns of each grade; metadata as JSON."""
WORDS = ("isolation", "code", "ended", "reduced", "unstable")
"""Stored information about all grades of a grader."""


def grade_columns(grades: Grades, rows: slice) -> dict[str, pa.Array]:
    """The grades of a range of rows, an array for each of `GRADE_COLUMNS`."""
    passed = grades.passed[rows]
    statuses = pa.array(grades.codes[rows].astype(np.int8))
    again = (
        [grades.graded_again.get(row) for row in range(rows.start, rows.stop)] if grades.graded_again else []
    )
    return {
        "status": pa.DictionaryArray.from_arrays(statuses, pa.array(_STATUSES)),
        "score": _numbers(grades.scores[rows]),
        "passed": pa.array(passed == 1, mask=passed < 0),
        "reasoning": _texts(grades.reasoning, rows),
        "error_kind": _texts(grades.errors, rows, lambda error: str(error.kind)),
        "error": _texts(grades.errors, rows, lambda error: error.message),
        "metadata": _texts(grades.metadata, rows, _json),
        "seconds": _numbers(grades.seconds[rows]),
        "tokens": _numbers(grades.tokens[rows]),
        "cost": _numbers(grades.cost[rows]),
        "ungraded": _texts(grades.ungraded, rows),
        "graded_again": pa.array(again, pa.bool_()) if again else pa.nulls(len(statuses), pa.bool_()),
    }


def _numbers(values: NDArray[np.float64]) -> pa.Array:
    return pa.array(values, mask=np.isnan(values))


def _texts(notes: Mapping[int, Any], rows: slice, write: Callable[[Any], str] = str) -> pa.Array:
    """The notes of a range of rows as text; one that many rows share is stored once."""
    count = rows.stop - rows.start
    if not notes:
        return pa.nulls(count, pa.string())
    own = _own_notes(notes, rows)
    if not isinstance(notes, RowNotes):
        return pa.array([_written(own.get(at), write) for at in range(count)], pa.string())
    codes, note = notes.shared(np.arange(rows.start, rows.stop))
    distinct, places = np.unique(codes, return_inverse=True)
    texts = pa.array(
        [None if code < 0 else _written(note(code), write) for code in distinct.tolist()], pa.string()
    )
    column = texts.take(pa.array(places))
    if not own:
        return column
    return pa.array([_written(own[at], write) if at in own else text for at, text in enumerate(column.to_pylist())], pa.string())  # fmt: skip


def _own_notes(notes: Mapping[int, Any], rows: slice) -> Mapping[int, Any]:
    """Notes of single rows, by their indices in the range."""
    if isinstance(notes, RowNotes):
        return notes.own(np.arange(rows.start, rows.stop))
    return {row - rows.start: notes[row] for row in range(rows.start, rows.stop) if row in notes}


def _written(note: Any, write: Callable[[Any], str]) -> str | None:
    return None if note is None else encodable(write(note))


def _json(note: Mapping[str, Any]) -> str:
    """Metadata as JSON; values that JSON cannot represent become text."""
    try:
        return json.dumps(dict(note), default=str)
    except (TypeError, ValueError, RecursionError):  # keys of other kinds, a value that contains itself
        return json.dumps({str(key): repr(value)[:_MAX_CHARACTERS] for key, value in note.items()})


def fill(grades: Grades, start: int, part: Mapping[str, pa.Array]) -> None:
    """Add columns of `grade_columns` to grades, from a row on after which there are none yet."""
    rows = slice(start, start + len(part["score"]))
    for name, column in (
        ("score", grades.scores),
        ("seconds", grades.seconds),
        ("tokens", grades.tokens),
        ("cost", grades.cost),
    ):
        column[rows] = part[name].to_numpy(zero_copy_only=False)
    statuses = part["status"]
    of_file = np.array([_STATUSES.index(name) for name in statuses.dictionary.to_pylist()], np.uint8)
    grades.codes[rows] = of_file[statuses.indices.to_numpy()] if len(statuses) else []
    grades.passed[rows] = part["passed"].cast(pa.int8()).fill_null(-1).to_numpy(zero_copy_only=False)
    _put_texts(grades.reasoning, start, part["reasoning"])
    grades.ungraded.update(_present(start, part["ungraded"]))
    grades.graded_again.update(_present(start, part["graded_again"]))
    _put_texts(grades.metadata, start, part["metadata"], json.loads)
    kinds = _present(start, part["error_kind"])
    grades.errors.update({row: GradeError(ErrorKind(kinds[row]), message) for row, message in _present(start, part["error"]).items()})  # fmt: skip


def _present(start: int, column: pa.Array) -> dict[int, Any]:
    if column.null_count == len(column):
        return {}
    return {start + at: value for at, value in enumerate(column.to_pylist()) if value is not None}


def _put_texts(notes: Any, start: int, column: pa.Array, read: Callable[[str], Any] = str) -> None:
    """Texts that repeat, as one range, so that a million of two reasons take a megabyte."""
    encoded = column.dictionary_encode()
    texts = [read(text) for text in encoded.dictionary.to_pylist()]
    if isinstance(notes, RowNotes) and texts and len(texts) <= len(column) / 4:
        codes = encoded.indices.fill_null(-1).to_numpy().astype(np.int32)
        notes.put_stretch(start, codes, texts.__getitem__)
        return
    places = encoded.indices.to_pylist()
    notes.update({start + at: texts[place] for at, place in enumerate(places) if place is not None})


def records(rows: NDArray[np.intp], grades: Grades) -> Iterator[tuple[str, bytes]]:
    """Grades as plain data: information about all of them as JSON, and Arrow's bytes, of some thousand rows each.

    Args:
        rows: Their row numbers (m,).
        grades: The grades (m,).
    """
    schema = pa.schema([("row", pa.int64()), *GRADE_COLUMNS.items()])
    words = json.dumps({word: getattr(grades, word) for word in WORDS})
    for start in range(0, max(len(rows), 1), _BATCH):
        part = slice(start, min(start + _BATCH, len(rows)))
        columns = {"row": pa.array(rows[part], pa.int64()), **grade_columns(grades, part)}
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema) as stream:
            stream.write_batch(
                pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
            )
        yield words, sink.getvalue().to_pybytes()


def grades_of_record(words: str, data: bytes) -> tuple[NDArray[np.intp], Grades]:
    """The row numbers and grades of one of `records`."""
    with pa.ipc.open_stream(data) as stream:
        batch = stream.read_next_batch()
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    rows = columns.pop("row").to_numpy().astype(np.intp)
    grades = Grades.empty(len(rows))
    fill(grades, 0, columns)
    known = json.loads(words)
    for word in WORDS:
        setattr(grades, word, known[word])
    return rows, grades


GradeRecords = list[tuple[str, bytes]]
"""Grades of consecutive rows as plain data; see `records`."""


def pack_grades(grades: Grades) -> GradeRecords:
    """Grades as plain data, for another process."""
    return list(records(np.arange(len(grades), dtype=np.intp), grades))


def unpack_grades(packed: GradeRecords) -> Grades:
    """The grades of `pack_grades`."""
    return Grades.joined([grades_of_record(*one) for one in packed])
