"""A text in pieces, with matches marked, so that the page does not interpret text as markup."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from workbench.core.display_text import visible
from workbench.core.patterns import Pattern, PatternError, python_spelling
from workbench.graders import Entry, Grader
from workbench.graders.text.contains import Contains
from workbench.graders.text.regex import Regex

__all__ = ["Finder", "around", "finder_of", "pieces", "words_finder"]

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
        return words_finder(rule.expected) if rule.ignore_case else _exact_finder(rule.expected)
    if isinstance(rule, Regex) and rule.pattern is not None:
        text = python_spelling(rule.pattern) if rule.flavor == "dotnet" else rule.pattern
        return _pattern_finder(Pattern(text, rule.ignore_case, rule.multiline, timeout=_SECONDS))
    return lambda text, expected: _occurrences(text, expected) if expected else ()


def _exact_finder(words: str) -> Finder:
    return lambda text, _: _occurrences(text, words)


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
