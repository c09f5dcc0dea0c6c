"""One row to read: its turns, its reference, each grader's score and reasoning. Long texts are sent in pieces."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.app.view.cells import score_text
from workbench.app.view.texts import Finder, pieces, shown_name, words_finder
from workbench.core.display_text import one_line
from workbench.core.errors import SamplesError
from workbench.core.grade import Grade
from workbench.core.thread import StringThread
from workbench.data.samples import Sample
from workbench.judges.claims import documents
from workbench.report import Report
from workbench.report.selection import Rows, part_name

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


PIECE = 8_000
"""Characters of a text that are sent and drawn at a time: a page with one node of a million characters freezes."""

FIRST = 4_000
"""Characters of a text that are sent without a request."""


def reader_data(
    report: Report,
    row: int,
    *,
    rows: Rows,
    find: Finder,
    labels: Sequence[bool | None] | None,
    parts: Mapping[str, NDArray[np.int8]],
    label_origin: tuple[str, bool | None] = ("", None),
) -> dict[str, Any]:
    """A row as `ReaderData`.

    Args:
        report: Grades of the rows.
        row: Its number.
        rows: The rows of the table, in order, for its position among them.
        find: What is marked in the completion.
        labels: Label of each row; None if there are none.
        parts: The part of each row by grader.
        label_origin: Who added the label, and the data's label if the shown one differs from it.
    """
    sample = sample_of(report.samples, row)
    grades = {name: each[row] for name, each in report.grades.items()}
    texts = texts_of(sample, grades)
    places = np.flatnonzero(rows == row)
    return {
        "row": row,
        "id": one_line(sample.id, 120),
        "at": int(places[0]) if len(places) else -1,
        "of": len(rows),
        **thread_data(sample, texts, find),
        "label": None if labels is None else labels[row],
        "labelled_by": label_origin[0],
        "given": label_origin[1],
        "said": [_said(report, name, row, at, texts, parts[name]) for at, name in enumerate(grades)],
    }


def thread_data(sample: Sample, texts: Mapping[str, str], find: Finder) -> dict[str, Any]:
    """A conversation with its parts: turns, documents, reference, metadata.

    Args:
        sample: The row.
        texts: Its texts by the names of their parts, see `texts_of`.
        find: What is marked in the completion.
    """
    expected = texts["reference"]
    turns = [_turn(sample, at, texts) for at in range(len(sample.thread.get_turns()))]
    marked = False
    if turns and turns[-1]["role"] == "completion":
        part = turns[-1]["part"]
        spans = list(find(texts[part][:FIRST], expected))
        turns[-1]["text"] = pieces(texts[part][:FIRST], spans)
        marked = bool(spans)
    return {
        "turns": turns,
        "documents": [_part(part, texts, "document", title) for part, title in documents_of(sample)],
        "expected": _part("reference", texts, "reference") if expected else None,
        "expected_note": _expected_note(texts, turns, expected) if expected else "",
        "metadata": _part("metadata", texts, "metadata") if texts["metadata"] else None,
        "marked": marked,
    }


def _turn(sample: Sample, at: int, texts: Mapping[str, str]) -> dict[str, Any]:
    turns = sample.thread.get_turns()
    role = turns[at].role
    is_answer = role == "assistant" and at == len(turns) - 1
    is_prompt = role == "user" and at == 0 and len(turns) <= 2
    name = "completion" if is_answer else "prompt" if is_prompt else one_line(role, 40)
    calls = [
        {
            "name": arguments_name(call),
            "arguments": _pieces(f"call-{at}-{n}", texts),
            **_rest(f"call-{at}-{n}", texts),
        }
        for n, call in enumerate(sample.thread.turn_calls(at))
    ]
    return {**_part(f"turn-{at}", texts, name), "calls": calls}


def _part(part: str, texts: Mapping[str, str], role: str, title: str = "") -> dict[str, Any]:
    named = {"title": title} if title else {}
    return {"role": role, **named, "text": _pieces(part, texts), **_rest(part, texts), "calls": []}


def _pieces(part: str, texts: Mapping[str, str]) -> list[list[str]]:
    return pieces(texts[part][:FIRST], ())


def _rest(part: str, texts: Mapping[str, str]) -> dict[str, Any]:
    return {"part": part, "more": max(len(texts[part]) - FIRST, 0)}


def _expected_note(texts: Mapping[str, str], turns: Sequence[Mapping[str, Any]], expected: str) -> str:
    if not turns or turns[-1]["role"] != "completion":
        return ""
    return "" if expected in texts[turns[-1]["part"]] else "not in the completion"


def _said(
    report: Report, name: str, row: int, at: int, texts: Mapping[str, str], parts: NDArray[np.int8]
) -> dict[str, Any]:
    """One grader's grade of the row."""
    part = f"error-{at}" if texts[f"error-{at}"] else f"reasoning-{at}"
    cut = len(texts[part]) - FIRST
    return {
        "grader": shown_name(name),
        "score": score_text(report.grades[name], row),
        "part": part_name(parts[row]),
        "why": _pieces(part, texts) if texts[part] else [],
        "raw": texts[f"raw-{at}"][:FIRST],
        "more": {"part": part, "count": cut} if cut > 0 else None,
    }


def piece_of_text(sample: Sample, grades: Mapping[str, Grade], part: str, start: int) -> dict[str, Any]:
    """A piece of a long text as `PieceOfText`; empty if there is no such part.

    Args:
        sample: The row.
        grades: Its grades by grader.
        part: Name of the text.
        start: Its first character.
    """
    text = texts_of(sample, grades).get(part, "")
    return _piece(text, max(0, min(start, len(text))), ())


def find_in_text(
    sample: Sample, grades: Mapping[str, Grade], part: str, words: str, nth: int
) -> dict[str, Any]:
    """The piece of a long text with the nth occurrence of words, as `FoundInText`; `nth` wraps around."""
    text = texts_of(sample, grades).get(part, "")
    lower, needle = text.lower(), words.lower()
    folded = len(lower) == len(text)
    searched, needle = (lower, needle) if folded else (text, words)
    count = searched.count(needle) if needle else 0
    if not count:
        return {**_piece(text, 0, ()), "count": 0, "nth": 0}
    nth %= count
    at = -1
    for _ in range(nth + 1):
        at = searched.find(needle, at + (len(needle) if at >= 0 else 1))
    start = max(0, at - PIECE // 2)
    spans = words_finder(words)(text[start : start + PIECE], "")
    return {**_piece(text, start, spans), "count": count, "nth": nth}


def _piece(text: str, start: int, spans: Sequence[tuple[int, int]]) -> dict[str, Any]:
    stop = min(start + PIECE, len(text))
    return {"text": pieces(text[start:stop], spans), "start": start, "stop": stop, "total": len(text)}
