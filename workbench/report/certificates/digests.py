"""Digests of the contents of a certificate: the rows, the settings of graders, and its own fields.

A digest detects changes. It is not a signature: an attacker who changes a text can compute its digest, too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.display_text import one_line
from workbench.core.errors import ReportError, WorkbenchError
from workbench.graders import Grader
from workbench.graders.combine import Entry
from workbench.graders.combine.entry import as_entry
from workbench.graders.serialization import is_data_field, spec_of

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
    of_entry = {name: value for name, value in entry.spec().items() if name != "grader"}
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
