"""Texts of the view: names as shown, conditions on rows as chips and titles, and texts in pieces with marks."""

from __future__ import annotations

import re
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from rapidfuzz import fuzz
from rapidfuzz.distance import LCSseq

from workbench.analysis.finding import short_verdict
from workbench.core.display_text import capital, one_line, visible
from workbench.core.errors import SamplesError
from workbench.core.patterns import Pattern, PatternError, python_spelling
from workbench.data.samples.row_drawing import written_column
from workbench.graders import Entry, Grader
from workbench.graders.text import Contains, Regex
from workbench.report.where import Condition, condition_text, end_text

Pieces = list[list[str]]
Span = tuple[int, int]
Finder = Callable[[str, str], Sequence[Span]]
"""From a text and its row's reference to the marked ranges, in order, without overlap."""

_MAX_MARKS = 200  # maximum marks in one text
_SECONDS = 0.05  # per cell for a pattern, because the table waits for it
_SLOW_CELLS = 2  # consecutive timeouts after which a pattern is not tried again
_SEARCHED = 20_000  # maximum characters of a text in which a pattern is searched


def pieces(text: str, spans: Iterable[Span], mark: str = "found") -> Pieces:
    """A text cut at the marked ranges: [text, mark] each, "" for no mark.

    Hidden characters are written as their code points.
    """
    parts: Pieces = []
    at = 0
    for start, stop in spans:
        if start > at:
            parts.append([visible(text[at:start]), ""])
        if stop > max(start, at):
            parts.append([visible(text[max(start, at) : stop]), mark])
        at = max(at, stop)
    if at < len(text) or not parts:
        parts.append([visible(text[at:]), ""])
    return parts


def around(text: str, spans: Sequence[Span], limit: int, before: int = 60) -> tuple[str, list[Span], bool]:
    """The part of a text that a cell shows, cut around its first mark and never before it.

    Args:
        text: The text.
        spans: Its marks.
        limit: Characters to show.
        before: Characters before the first mark, if the part does not start with the text.

    Returns:
        The part, its marks, and whether anything is omitted.
    """
    first = spans[0][0] if spans else 0
    start = 0
    if first > limit // 2:
        start = first - before
        blank = text.find(" ", start, first)
        start = blank + 1 if blank >= 0 else start
    part = text[start : start + limit]
    lead = "… " if start else ""
    shifted = [
        (max(lo - start, 0) + len(lead), min(hi - start, limit) + len(lead))
        for lo, hi in spans
        if hi > start and lo < start + limit
    ]
    return lead + part, shifted, bool(start) or len(text) > start + limit


def words_finder(words: str) -> Finder:
    """Marks these words wherever they occur, ignoring case."""
    needle = words.lower()  # not case-folded: that would change the text's length, and with it the positions

    def find(text: str, _: str) -> Sequence[Span]:
        return _occurrences(text.lower(), needle) if len(text.lower()) == len(text) else ()

    return find


def finder_of(grader: Grader | Entry | None) -> Finder:
    """Marks what a rule matched; for other graders the reference, wherever it occurs."""
    rule = grader.grader if isinstance(grader, Entry) else grader
    if isinstance(rule, Contains) and rule.expected is not None:
        exact = rule.expected
        return words_finder(exact) if rule.ignore_case else lambda text, _: _occurrences(text, exact)
    if isinstance(rule, Regex) and rule.pattern is not None:
        text = python_spelling(rule.pattern) if rule.flavor == "dotnet" else rule.pattern
        return _pattern_finder(Pattern(text, rule.ignore_case, rule.multiline, timeout=_SECONDS))
    return lambda text, expected: _occurrences(text, expected) if expected else ()


def _pattern_finder(pattern: Pattern) -> Finder:
    slow = 0

    def find(text: str, _: str) -> Sequence[Span]:
        nonlocal slow
        if slow >= _SLOW_CELLS:
            return ()
        start = time.monotonic()
        try:
            match = pattern.search(text[:_SEARCHED])
        except (PatternError, TimeoutError):
            match = None
        slow = slow + 1 if time.monotonic() - start >= _SECONDS / 2 else 0
        return [match.span()] if match is not None and match.end() > match.start() else ()

    return find


def _occurrences(text: str, words: str) -> list[Span]:
    spans: list[Span] = []
    at = text.find(words) if words else -1
    while at >= 0 and len(spans) < _MAX_MARKS:
        spans.append((at, at + len(words)))
        at = text.find(words, at + len(words))
    return spans


_SHOWN = 300  # maximum characters of a text to show
_BEFORE = 60  # of these, before the first difference
_COMPARED = 1_000  # maximum characters for a similarity: whole books would take seconds
_SHORT = 30  # texts below this length are compared by character
_WORD = re.compile(r"\d+(?:\.\d+)?|[^\W\d]+|\s+|[^\w\s]|_")


def similarity(a: str, b: str) -> float:
    """The share of their beginnings that two texts have in common, 0 to 1."""
    return fuzz.ratio(a[:_COMPARED], b[:_COMPARED]) / 100


def cut(text: str) -> Pieces:
    """The beginning of a text, without marks."""
    return [[visible(text[:_SHOWN]) + ("…" if len(text) > _SHOWN else ""), ""]]


def marked(a: str, b: str) -> tuple[Pieces, Pieces]:
    """Two texts cut around their first difference, with marks "gone" in the first and "new" in the second.

    There are no marks if the two share at most half of their text: everything would be marked.
    """
    shared = _n_shared(a, b)
    start = max(shared - _BEFORE, 0) if max(len(a), len(b)) > _SHOWN else 0
    parts = (a[start : start + _SHOWN], b[start : start + _SHOWN])
    gone, new, n_same = _differences(*parts)
    # The text before the cut is the same in both.
    if 2 * (n_same + start) <= 0.5 * (len(parts[0]) + len(parts[1]) + 2 * start):
        gone, new = [[parts[0], ""]], [[parts[1], ""]]
    return _ends(gone, a, start), _ends(new, b, start)


def _n_shared(a: str, b: str) -> int:
    """Length of the common prefix of two texts."""
    lengths = range(1, min(len(a), len(b)) + 1)
    return bisect_left(lengths, 1, key=lambda length: int(a[:length] != b[:length]))


def _differences(a: str, b: str) -> tuple[Pieces, Pieces, int]:
    """Both texts in pieces, and how many characters they share."""
    by_character = len(a) < _SHORT and len(b) < _SHORT
    words = [list(text) if by_character else _WORD.findall(text) for text in (a, b)]
    gone: Pieces = []
    new: Pieces = []
    n_same = 0
    for part in LCSseq.opcodes(*words):
        old = "".join(words[0][part.src_start : part.src_end])
        now = "".join(words[1][part.dest_start : part.dest_end])
        same = part.tag == "equal"
        n_same += len(old) * same
        _add(gone, old, "" if same else "gone")
        _add(new, now, "" if same else "new")
    return _joined(gone), _joined(new), n_same


def _add(pieces: Pieces, text: str, mark: str) -> None:
    """Append a piece; blanks are never marked."""
    if text:
        pieces.append([text, mark if text.strip() else ""])


def _joined(pieces: Pieces) -> Pieces:
    """Neighbours of one mark as one piece, and blanks between two marked pieces as part of them."""
    bridged = [list(piece) for piece in pieces]
    for (before, at), (_, after) in zip(pairwise(bridged), pairwise(bridged[1:]), strict=False):
        if before[1] and before[1] == after[1] and not at[0].strip():
            at[1] = before[1]
    joined: Pieces = []
    for text, mark in bridged:
        if joined and joined[-1][1] == mark:
            joined[-1][0] += text
        else:
            joined.append([text, mark])
    return joined


def _ends(pieces: Pieces, text: str, start: int) -> Pieces:
    """The pieces as shown, with dots if the text continues."""
    shown = [[visible(part), mark] for part, mark in pieces] or [["", ""]]
    before, after = [["… ", ""]] if start > 0 else [], [["…", ""]] if len(text) > start + _SHOWN else []
    return [*before, *shown, *after]


_MAX_NAME = 200  # the longest name a store accepts


def shown_name(name: str) -> str:
    """A grader's name on the page and in its messages: on one line, hidden characters as code points."""
    return one_line(name, _MAX_NAME)


def find_name(shown: str, names: Iterable[str]) -> str | None:
    """The name with this text on the page; None if there is none."""
    known = list(names)
    if shown in known:
        return shown
    return next((name for name in known if shown_name(name) == shown), None)


def with_real_names(message: Mapping[str, Any], graders: Iterable[str]) -> Mapping[str, Any]:
    """A message with graders' real names, if the page has a name without its hidden characters."""
    names = {shown_name(name): name for name in graders if shown_name(name) != name}
    return _renamed(message, names) if names else message


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """A message with names replaced wherever they are complete values."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, Mapping):
        return {key: _renamed(item, names) for key, item in value.items()}
    return [_renamed(item, names) for item in value] if isinstance(value, list) else value


_MAX_VALUES = 60
"""Number of listed values, the most frequent first; the others are found by search."""

_MAX_CHOICES = 12  # maximum distinct numbers to list as choices rather than as a range


def field_values(samples: Any, field: str) -> dict[str, Any]:
    """The values of a column as `FieldValues`: choices with their counts, or the ends of a range of numbers.

    Args:
        samples: The `Samples`.
        field: The column, by its name in the table.

    Raises:
        SamplesError: Unknown column.
    """
    frame = samples.frame
    by_name = {one_line(name, 80): name for name in frame.columns}  # by their names in the table
    if field not in by_name:
        raise SamplesError(f"the rows have no column {field!r}", expected=", ".join(map(repr, by_name))[:300])
    cells, field = frame[by_name[field]], str(by_name[field])
    column = written_column(samples, cells.name)
    numbered = np.bincount(column.codes + 1, minlength=len(column.texts) + 1).tolist()
    counts = sorted(zip([None, *column.texts], numbered, strict=True), key=lambda each: -each[1])
    counts = [(text, count) for text, count in counts if count]
    scale = None if pd.api.types.is_bool_dtype(cells) else column.scale
    finite = np.empty(0) if scale is None else scale.points[np.isfinite(scale.points)]
    if scale is not None and scale.kind == "time" and len(finite):
        ends = [f"{np.datetime64(int(end), 's')}" for end in (finite.min(), finite.max())]
        return {"kind": "times", "column": field, "values": [], "lo": ends[0], "hi": ends[1]}
    as_range = len(counts) > _MAX_CHOICES and len(finite) > 0
    return {
        "kind": "numbers" if as_range else "values",
        "column": field,
        "values": [] if as_range else [_value(field, text, count) for text, count in counts[:_MAX_VALUES]],
        "lo": float(finite.min()) if as_range else 0.0,
        "hi": float(finite.max()) if as_range else 0.0,
    }


def _value(field: str, text: str | None, count: int) -> dict[str, Any]:
    shown = "(empty)" if text is None else one_line(text, 80)
    return {"text": shown, "count": count, "where": [{"column": field, "is": text}]}


CHANGED = {
    "bad_refused": "known bad, rejected since the edit", "bad_accepted": "known bad, accepted since the edit",
    "good_refused": "known good, lost by the edit", "good_accepted": "known good, won by the edit",
    "refused": "rejected since the edit", "accepted": "accepted since the edit", "no_score": "without a score since the edit",
    "moved": "another score, same verdict", "": "changed by the edit",
}  # fmt: skip
"""Parts of rows that an edit changed, as text. `{"changed": part}` is a condition of the view only, because its rows
change with every keystroke."""

_LABELS = {True: "known good", False: "known bad", None: "unlabelled"}


def chip_text(condition: Condition, chosen: str = "") -> str:
    """The text of a condition's chip; without the grader's name if it is the selected one."""
    return one_line(_chip_words(condition, chosen), 60)


def _chip_words(condition: Condition, chosen: str) -> str:
    for key, words in _CHIP_WORDS.items():
        if key in condition:
            grader = condition.get("grader", "")
            beside = f"{grader}: " if grader and grader != chosen else ""
            return beside + words(condition)
    return condition_text(condition)


_CHIP_WORDS: dict[str, Callable[[Condition], str]] = {
    "label": lambda condition: _LABELS[condition["label"]],
    "passed": lambda condition: "accepted" if condition["passed"] else "rejected",
    "status": lambda condition: str(condition["status"]),
    "score": lambda condition: _range("score", condition["score"]),
    "finding": lambda condition: short_verdict(str(condition["finding"][1])),
    "text": lambda condition: f"“{condition['text']}”",
    "tag": lambda condition: f"tag: {condition['tag']}",
    "rows": lambda condition: f"{len(condition['rows']):,} rows",
    "changed": lambda condition: CHANGED[condition["changed"]],
    "is": lambda condition: (
        f"{condition['column']}: {'(empty)' if condition['is'] is None else condition['is']}"
    ),
    "between": lambda condition: _range(str(condition["column"]), condition["between"]),
}


def _range(name: str, ends: Sequence[float]) -> str:
    low, high = map(end_text, ends)
    return f"{name} {low}" if low == high else f"{name} {low} to {high}"


def chip_id(condition: Condition) -> str:
    """The id of a chip in messages."""
    return f"{hash(repr(dict(condition))) & 0xFFFFFFFF:x}"


def title_of(conditions: Sequence[Condition], chosen: str, everything: str) -> str:
    """The title of the rows that meet all of these conditions.

    Args:
        conditions: The conditions.
        chosen: The chosen grader.
        everything: The title if there are none.
    """
    words = [chip_text(condition, chosen) for condition in conditions]
    title = ", ".join(words)
    return capital(title) or everything
