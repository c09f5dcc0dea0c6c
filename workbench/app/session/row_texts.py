"""The texts of one row by the names of their parts: turns, calls, documents, reference, metadata, reasoning."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from workbench.core.display_text import one_line
from workbench.core.errors import SamplesError
from workbench.core.grade import Grade
from workbench.core.thread import StringThread
from workbench.data.samples import Sample
from workbench.judges.claims import documents

ONE_LINE = 72
"""Maximum characters of a call's arguments that are left as written."""


def sample_of(samples: Any, row: int) -> Sample:
    """A row; if it cannot be read, a thread with the reason."""
    try:
        sample: Sample = samples[row]
    except SamplesError as error:
        return Sample(str(samples.ids[row]), StringThread([("unreadable row", error.what)]), None, "")
    return sample


def texts_of(sample: Sample, grades: Mapping[str, Grade]) -> dict[str, str]:
    """Every long text of a row by the name of its part.

    Names: `turn-0`, `call-0-1` (the second call of the first turn), `document-0`, `reference`, `metadata`, and for each
    grader by its index `reasoning-0`, `error-0` and `raw-0`, a judge's whole reply.
    """
    thread = sample.thread
    texts = {f"turn-{at}": turn.content for at, turn in enumerate(thread.get_turns())}
    for at in range(len(texts)):
        for n, call in enumerate(thread.turn_calls(at)):
            texts[f"call-{at}-{n}"] = _arguments(call)
    texts |= {f"document-{at}": text for at, text in enumerate(_metadata_documents(sample))}
    texts |= {"reference": _plain(sample.reference), "metadata": _metadata(sample)}
    for at, grade in enumerate(grades.values()):
        texts |= {f"reasoning-{at}": grade.reasoning or "", f"raw-{at}": _plain(grade.metadata.get("raw"))}
        texts[f"error-{at}"] = str(grade.error or "")
    return texts


def documents_of(sample: Sample) -> list[tuple[str, str]]:
    """Part and title of each document in the metadata; the thread's documents are among its turns, and numbered first."""
    first_number = sum(turn.role == "document" for turn in sample.thread.get_turns()) + 1
    return [
        (f"document-{at}", f"Document {at + first_number}") for at in range(len(_metadata_documents(sample)))
    ]


def arguments_name(call: Any) -> str:
    """The name of the called function."""
    return one_line(_function(call).get("name") or "?", 100)


def _metadata_documents(sample: Sample) -> list[str]:
    return documents(sample, "adaptive")


def _function(call: Any) -> Mapping[str, Any]:
    function = call.get("function") if isinstance(call, Mapping) else None
    return function if isinstance(function, Mapping) else {}


def _arguments(call: Any) -> str:
    """A call's arguments, indented if they are JSON; the whole call if it has another structure."""
    arguments = _function(call).get("arguments", call)
    if not isinstance(arguments, str):
        return _plain(arguments)
    try:
        parsed = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    # Short ones on one line, which is usually enough.
    return _plain(parsed) if isinstance(parsed, dict | list) and len(arguments) > ONE_LINE else arguments


def _metadata(sample: Sample) -> str:
    metadata = sample.thread.metadata
    if not isinstance(metadata, Mapping):
        return _plain(metadata)
    count = len(_metadata_documents(sample))
    other_values = {key: value for key, value in metadata.items() if not (count and key == "documents")}
    return (
        _plain({**other_values, "documents": f"({count} shown above)"} if count else other_values)
        if metadata
        else ""
    )


def _plain(value: Any) -> str:
    """Text unchanged, anything else as indented JSON; None is empty."""
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return json.dumps(value, indent=2, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return repr(value)
