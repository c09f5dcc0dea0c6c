"""One row as a thread reader shows it: plain JSON, every text visible and cut."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from workbench.display_text import one_line, visible
from workbench.grade import Grade
from workbench.judges.answers.documents import documents
from workbench.samples import Sample

__all__ = ["LIMIT", "MOST", "read_row", "whole_text"]

LIMIT = 4_000
"""Characters of a text that are shown at once."""

ONE_LINE = 72
"""Characters up to which a call's arguments stay as they were written."""

MOST = 1_000_000
"""Characters that are shown on demand."""


def read_row(sample: Sample, grades: Mapping[str, Grade], *, label: bool | None = None) -> dict[str, Any]:
    """What the reader shows of a row.

    Args:
        sample: The row.
        grades: By grader's name, in the order to show them.
        label: A human's verdict, where there is one.

    Returns:
        `id`, `turns` (role, text, more, part, calls; `title` where the turn is a document), `documents` (title, text,
        more, part), `reference`, `metadata` (JSON text), `grades`, `label`, and `cut`: characters left out by part,
        for the texts that are not in turns or documents. `more` counts the characters left out as well; `whole_text` gives
        the whole text of a `part`.
    """
    texts = _texts(sample, grades)
    cut = {part: len(text) - LIMIT for part, text in texts.items() if len(text) > LIMIT}
    return {
        "id": one_line(sample.id),
        "turns": _turns(sample, texts),
        "documents": _documents(sample, texts),
        "reference": _shown(texts["reference"]),
        "metadata": _shown(texts["metadata"]),
        "grades": [_grade(at, name, grade, texts) for at, (name, grade) in enumerate(grades.items())],
        "label": label,
        "cut": {
            part: n_cut for part, n_cut in cut.items() if not part.startswith(("turn", "document", "call"))
        },
    }


def whole_text(sample: Sample, grades: Mapping[str, Grade], part: str) -> str:
    """The whole text of one part, up to `MOST` characters; "" where there is no such part."""
    text = _texts(sample, grades).get(part, "")
    n_cut = len(text) - MOST
    return visible(text[:MOST]) + (f"\n… ({n_cut:,} more characters)" if n_cut > 0 else "")


def _texts(sample: Sample, grades: Mapping[str, Grade]) -> dict[str, str]:
    """Every long text of a row by the name of its part."""
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


def _turns(sample: Sample, texts: Mapping[str, str]) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = []
    n_documents = 0
    for at, turn in enumerate(sample.thread.get_turns()):
        calls = [_call(call, f"call-{at}-{n}", texts) for n, call in enumerate(sample.thread.turn_calls(at))]
        shown_turn = {"role": one_line(turn.role, 40), **_part(f"turn-{at}", texts), "calls": calls}
        if turn.role == "document":
            n_documents += 1
            shown_turn["title"] = f"Document {n_documents}"
        turns.append(shown_turn)
    return turns


def _documents(sample: Sample, texts: Mapping[str, str]) -> list[dict[str, Any]]:
    """Those of the metadata; those of the thread stand among its turns. Numbers go on."""
    first_number = sum(turn.role == "document" for turn in sample.thread.get_turns()) + 1
    return [
        {"title": f"Document {at + first_number}", **_part(f"document-{at}", texts)}
        for at in range(len(_metadata_documents(sample)))
    ]


def _metadata_documents(sample: Sample) -> list[str]:
    """The documents of the metadata."""
    return documents(sample, "adaptive")


def _call(call: Any, part: str, texts: Mapping[str, str]) -> dict[str, Any]:
    arguments = _part(part, texts)
    return {
        "name": one_line(_function(call).get("name") or "?", 100),
        "arguments": arguments.pop("text"),
        **arguments,
    }


def _function(call: Any) -> Mapping[str, Any]:
    function = call.get("function") if isinstance(call, Mapping) else None
    return function if isinstance(function, Mapping) else {}


def _arguments(call: Any) -> str:
    """A call's arguments, laid out where they are JSON; the whole call where it has another shape."""
    arguments = _function(call).get("arguments", call)
    if not isinstance(arguments, str):
        return _plain(arguments)
    try:
        parsed = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    # Short ones on one line: a call is seldom more.
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


def _grade(at: int, name: str, grade: Grade, texts: Mapping[str, str]) -> dict[str, Any]:
    return {
        "grader": one_line(name, 120),
        "status": str(grade.status),
        "score": grade.score,
        "passed": grade.passed,
        "seconds": grade.seconds,
        **{key: _shown(texts[f"{key}-{at}"]) for key in ("reasoning", "error", "raw")},
    }


def _part(part: str, texts: Mapping[str, str]) -> dict[str, Any]:
    text = texts[part]
    return {"text": _shown(text), "more": max(len(text) - LIMIT, 0), "part": part}


def _shown(text: str) -> str:
    return visible(text[:LIMIT])


def _plain(value: Any) -> str:
    """Text as it is, anything else as JSON laid out; None is empty."""
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return json.dumps(value, indent=2, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return repr(value)
