"""One row to read: its turns, its reference, each grader's score and reasoning. Long texts are sent in pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.app.session.row_texts import arguments_name, documents_of, sample_of, texts_of
from workbench.app.view.cells import score_text
from workbench.app.view.conditions import shown_name
from workbench.app.view.pieces import Finder, pieces, words_finder
from workbench.core.display_text import one_line
from workbench.core.grade import Grade
from workbench.data.samples import Sample
from workbench.report import Report
from workbench.report.selection import Rows, part_name

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
    labelled_by: str = "",
) -> dict[str, Any]:
    """A row as `ReaderData`.

    Args:
        report: Grades of the rows.
        row: Its number.
        rows: The rows of the table, in order, for its position among them.
        find: What is marked in the completion.
        labels: Label of each row; None if there are none.
        parts: The part of each row by grader.
        labelled_by: Who added the label.
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
        "labelled_by": labelled_by,
        "said": [_said(report, name, row, at, texts, parts[name]) for at, name in enumerate(grades)],
    }


def thread_data(sample: Sample, texts: Mapping[str, str], find: Finder) -> dict[str, Any]:
    """A conversation with its parts: turns, documents, reference, metadata.

    Args:
        sample: The row.
        texts: Its texts by the names of their parts, see `row_texts.texts_of`.
        find: What is marked in the completion.
    """
    expected = texts["reference"]
    turns = [_turn(sample, at, texts) for at in range(len(sample.thread.get_turns()))]
    marked = False
    if turns and turns[-1]["role"] == "answer":
        part = turns[-1]["part"]
        spans = list(find(texts[part][:FIRST], expected))
        turns[-1]["text"] = pieces(texts[part][:FIRST], spans)
        marked = bool(spans)
    return {
        "turns": turns,
        "documents": [_part(part, texts, "document", title) for part, title in documents_of(sample)],
        "expected": _part("reference", texts, "expected") if expected else None,
        "expected_note": _expected_note(texts, turns, expected) if expected else "",
        "metadata": _part("metadata", texts, "metadata") if texts["metadata"] else None,
        "marked": marked,
    }


def _turn(sample: Sample, at: int, texts: Mapping[str, str]) -> dict[str, Any]:
    turns = sample.thread.get_turns()
    role = turns[at].role
    is_answer = role == "assistant" and at == len(turns) - 1
    is_prompt = role == "user" and at == 0 and len(turns) <= 2
    name = "answer" if is_answer else "prompt" if is_prompt else one_line(role, 40)
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
    if not turns or turns[-1]["role"] != "answer":
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


# ---- long texts


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
