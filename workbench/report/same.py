"""Whether two sets of samples are the same rows: equal ids show little, since they are row numbers by default."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from workbench.core.display_text import one_line
from workbench.core.errors import ReportError, SamplesError
from workbench.data.packed import BATCH_ROWS
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
