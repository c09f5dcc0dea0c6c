"""Digests of rows, labels and settings of graders, and whether two reports are of the same rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.display_text import one_line
from workbench.core.errors import ReportError, SamplesError, WorkbenchError
from workbench.data.packed import BATCH_ROWS
from workbench.graders import Grader
from workbench.graders.combine import Entry
from workbench.graders.combine.entry import as_entry
from workbench.graders.serialization import is_data_field, spec_of
from workbench.report.settings import ReportLike, SampleLike, SamplesLike

_FIRST, _LAST = 1000, 100
"""Number of rows whose contents identify the rows of an earlier run; all rows of a large file would take minutes."""
COMPARED = _FIRST + _LAST
"""Maximum number of rows for which `digest_of_ends` covers all."""


def merged_fields(report: ReportLike, other: ReportLike, suffix: str) -> dict[str, Any]:
    """The fields of a report with the graders of both; see `Report.merge`.

    Raises:
        ReportError: Other samples, or a name that exists in both even with the suffix.
    """
    require_same_rows(report.samples, other.samples)
    names = _names_beside(report.grades, other.grades, suffix)
    fields = ("grades", "sources", "fingerprints")
    merged: dict[str, Any] = {
        name: {**getattr(report, name), **_renamed(getattr(other, name), names)} for name in fields
    }
    return {**merged, "labels": other.labels if report.labels is None else report.labels}


def _renamed(values: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Fields of graders, by their new names; fields of no grader are dropped."""
    return {names[name]: value for name, value in values.items() if name in names}


def _names_beside(names: Collection[str], others: Iterable[str], suffix: str) -> dict[str, str]:
    """The new name of each of the others: unchanged, or with the suffix if it is in `names`.

    Raises:
        ReportError: A name that is taken even with the suffix.
    """
    renamed = {name: f"{name}{suffix}" if name in names else name for name in others}
    for name, new in renamed.items():
        if new in names:
            raise ReportError(f"both reports have a grader {name!r}", hint="pass suffix=' v2'")
    return renamed


def require_same_rows(samples: SamplesLike, other: SamplesLike) -> None:
    """Refuse samples whose ids, threads or references differ anywhere.

    Raises:
        ReportError: The first row that differs is named, with both texts.
    """
    if samples is other:
        return
    if list(samples.ids) != list(other.ids):
        raise _different(f"{len(samples):,} and {len(other):,} rows with other ids")
    for row, (a, b) in enumerate(zip(contents(samples), contents(other), strict=True)):
        # Compared as text if unequal: a NaN in the metadata is not equal to itself.
        if a != b and repr(a) != repr(b):
            raise _different(_first_difference(repr(a), repr(b)), f"row {row}")


def _different(difference: str, where: str = "") -> ReportError:
    return ReportError(
        "reports over different samples cannot be merged",
        where=where,
        found=difference,
        expected="the same samples in the same order",
        hint="run both graders on the same samples",
    )


def contents(samples: SamplesLike) -> Iterator[Any]:
    """The thread (as a wire tuple) and reference of each row, in order; of an unreadable row, the reason."""
    for start in range(0, len(samples), BATCH_ROWS):
        rows = np.arange(start, min(start + BATCH_ROWS, len(samples)), dtype=np.intp)
        try:
            yield from [_content(sample) for sample in samples.take(rows)]
        except SamplesError:
            # An unreadable row fails its batch; alone it is compared by its error.
            yield from (_content_or_reason(samples, int(row)) for row in rows)


def _content_or_reason(samples: SamplesLike, row: int) -> Any:
    try:
        return _content(samples[row])
    except SamplesError as error:
        return error.what, error.found


def _content(sample: SampleLike) -> Any:
    return sample.thread.to_wire(), sample.reference


def _first_difference(a: str, b: str) -> str:
    """Excerpts of two texts around the first character that differs."""
    equal_length = next(
        (at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )
    at = max(0, equal_length - 20)
    return " and ".join(one_line(f"…{text[at : at + 60]}…") for text in (a, b))


def data_digest(samples: SamplesLike) -> str:
    """SHA-256 of all that graders saw: id, turns, tool calls, tools, metadata and reference of each row, in order.

    It is the same on every machine, and for every order of columns. An unreadable row is represented by its error.

    Raises:
        ReportError: A row contains something other than plain data.
    """
    sha256 = hashlib.sha256()
    encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=_bytes_as_text).encode
    try:
        for name, content in zip(samples.ids, contents(samples), strict=True):
            # One line each: JSON contains no line ends, so that no two lists of rows have the same text.
            sha256.update(f"{encode([name, content])}\n".encode("ascii"))
    except TypeError as error:
        raise ReportError(
            "a row contains something other than plain data",
            found=str(error)[:200],
            expected="text, numbers, lists or dicts",
        ) from None
    return sha256.hexdigest()


def _bytes_as_text(value: Any) -> Any:
    if isinstance(value, bytes):
        return ["bytes", value.hex()]  # marked, to differ from a text with the same digits
    raise TypeError(f"an object of type {type(value).__name__}")


def digest_of_ends(samples: Any) -> str:
    """`data_digest` of the first 1,000 and the last 100 rows, for data of any size; "" if they contain other than plain data."""
    rows = np.arange(len(samples), dtype=np.intp)
    try:
        return data_digest(samples.take(np.unique(np.concatenate([rows[:_FIRST], rows[-_LAST:]]))))
    except ReportError:
        return ""


SUITE = ""
"""Key of the suite's settings among fingerprints by name: no grader has an empty name."""

_SHORT = 16  # hexadecimal digits of a field's digest: 64 bits distinguish any two values
_SOURCES = ("source", "script")  # fields in which kinds of graders store their text


def digest(value: Any) -> str:
    """SHA-256 of plain data in canonical form: keys sorted, whole floats as integers, since JSON tools write 1.0 as 1.

    Raises:
        TypeError: Something in it is not plain data.
    """
    text = json.dumps(_one_spelling(value), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def short_digest(value: Any) -> str:
    """The first 16 digits of `digest`: enough to detect a change of one field."""
    return digest(value)[:_SHORT]


def _one_spelling(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _one_spelling(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_one_spelling(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def label_digest(codes: NDArray[np.int8]) -> str:
    """SHA-256 of labels, (n,): 1 good, 0 bad, -1 unknown."""
    return hashlib.sha256(codes.astype(np.int8).tobytes()).hexdigest()


def entries_of(graders: Any) -> tuple[Entry, ...]:
    """The entries of a suite, of one grader or entry, or of a list of these.

    Raises:
        TypeError: Something that is not a grader.
    """
    if isinstance(graders, Grader | Entry):
        return (as_entry(graders),)
    items = getattr(graders, "entries", graders)
    items = tuple(items) if isinstance(items, tuple | list) else (items,)
    for item in items:
        if not isinstance(item, Grader | Entry):
            raise TypeError(f"a certificate is for graders, not for {type(item).__name__}")
    return tuple(map(as_entry, items))


def fingerprint(entry: Entry) -> dict[str, str]:
    """A digest for every setting of a grader and its entry, by name; `source` has the SHA-256 of its text.

    The origin of a text, such as "cell 3", is not a setting: the same text from another cell is the same grader.

    Raises:
        CaptureError: It cannot be written as data, such as a function without an import path.
        ReportError: A field of it is not plain data.
    """
    try:
        return _fingerprint(entry)
    except (TypeError, ValueError, RecursionError) as error:
        if isinstance(error, WorkbenchError):
            raise
        raise ReportError(
            f"grader {one_line(repr(entry.name), 80)} cannot be written as data", found=str(error)[:200]
        ) from None


def _fingerprint(entry: Entry) -> dict[str, str]:
    spec = spec_of(entry.grader)
    source = getattr(entry.grader, "source", None)
    settings = {
        name: short_digest(value if is_data_field(name) else _without_origin(value))
        for name, value in spec.items()
        if name not in _SOURCES
    }
    if source is not None:
        settings["source"] = source.sha256
    # What a probe allows changes no score.
    of_entry = {name: value for name, value in entry.spec().items() if name not in {"grader", "allows"}}
    return settings | {f"entry.{name}": short_digest(value) for name, value in of_entry.items()}


def _without_origin(value: Any) -> Any:
    """A spec in which each source is replaced with its hash."""
    if isinstance(value, list | tuple):
        return [_without_origin(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    if {"text", "sha256"} <= set(value):
        return value["sha256"]
    return {name: item if is_data_field(name) else _without_origin(item) for name, item in value.items()}


def fingerprints_of(graders: Any) -> dict[str, dict[str, str]]:
    """`fingerprint` by name for all graders, the combined score and the suite's own settings (`SUITE`).

    A grader that cannot be written as data is omitted, so that it does not fail the run.
    """
    found = {}
    for entry in entries_of(graders):
        with suppress(Exception):  # `spec` of a custom kind may raise anything
            found[entry.name] = fingerprint(entry)
    return found | suite_fingerprints(graders)


def suite_fingerprints(graders: Any) -> dict[str, dict[str, str]]:
    """Digests of what a suite adds to its graders: its settings and, if it has a rule, those of the combined score."""
    if isinstance(graders, Grader | Entry) or not hasattr(graders, "entries"):
        return {SUITE: {}}
    values = {
        "combine": graders.combine and graders.combine.spec(),
        "gate": graders.gate and graders.gate.spec(),
        "name": graders.name,
        "description": graders.description,
    }
    settings = {name: short_digest(value) for name, value in values.items() if value}
    found = {SUITE: settings}
    if graders.combine is not None:
        names = short_digest([entry.name for entry in graders.entries])
        found[graders.column] = {"combine": settings["combine"], "graders": names}
    return found
