"""Citations of a row's documents: numbers in brackets, and quoted spans. Standard library only."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.graders.rules.numbers import after_thinking
from workbench.graders.rules.text import Verdict, normalized

_MARKER = re.compile(r"\[(\d{1,4}(?:\s*(?:,|-|\u2013)\s*\d{1,4})*)\](?!\()")
_QUOTE = re.compile(
    r"\u201c([^\u201c\u201d]{1,2000})\u201d|\u00ab([^\u00ab\u00bb]{1,2000})\u00bb|\u201e([^\u201c\u201d\u201e]{1,2000})[\u201c\u201d]|\"([^\"\n]{1,2000})\""
)
_GAP = re.compile(r"\s*(?:\[\s*(?:\.{3}|\u2026)\s*\]|\(\s*(?:\.{3}|\u2026)\s*\)|\.{3}|\u2026)\s*")
_MAX_RANGE = 50
"""Documents that one range such as [1-3] may cite."""


def documents_of(value: Any) -> list[str]:
    """The texts of documents: a list of texts or of objects with their text, one text, or texts by name."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, str):
        return [value] if value.strip() else []
    if not isinstance(value, list | tuple):
        return []
    return [_text_of(one) for one in value]


def _text_of(document: Any) -> str:
    if isinstance(document, Mapping):
        names = ("text", "content", "page_content", "contents", "passage", "body", "snippet")
        document = next((document[name] for name in names if name in document), "")
    return "\n".join(map(_text_of, document)) if isinstance(document, list | tuple) else str(document)


def _numbers(marker: str) -> list[int]:
    found: list[int] = []
    for part in marker.split(","):
        first, *rest = (int(number) for number in re.findall(r"\d+", part))
        found += range(first, min(rest[-1], first + _MAX_RANGE) + 1) if rest else [first]
    return found


def _plain(text: str) -> str:
    return normalized(text, ("nfkc", "spaces", "quotes", "dashes")).casefold().strip()


def _is_in(quote: str, document: str) -> bool:
    """Whether a quote occurs, with gaps where it has dots; a full stop or comma at its end does not count."""
    at = 0
    for part in _GAP.split(quote):
        piece = _plain(part).strip(" .,;:!?")
        place = document.find(piece, at)
        if place < 0:
            return False
        at = place + len(piece)
    return True


def citations(
    text: str, documents: Any, *, minimum: int = 1, min_words: int = 3, first: int = 1, measure: str = "all"
) -> Verdict:
    """Whether a text's citations exist: numbers of documents, and quoted spans inside documents.

    Args:
        text: The completion.
        documents: See `documents_of`.
        minimum: Number of citations that are required.
        min_words: Minimum number of words per quote.
        first: Number of the first document.
        measure: "all" or "share".

    Raises:
        ValueError: There are no documents.
    """
    texts = documents_of(documents)
    if not texts:
        raise ValueError("this row has no documents")
    text = after_thinking(text)
    plain = [_plain(one) for one in texts]
    wrong: list[str] = []
    marks = [(found.start(), number) for found in _MARKER.finditer(text) for number in _numbers(found[1])]
    wrong += [f"[{number}]" for _, number in marks if not first <= number < first + len(texts)]
    quotes = [(found.end(), next(filter(None, found.groups()))) for found in _QUOTE.finditer(text)]
    quotes = [(end, quote) for end, quote in quotes if len(quote.split()) >= min_words]
    for end, quote in quotes:
        # A number directly after a quote names its document.
        named = re.match(r"[\s.,;]*\[(\d{1,4})\]", text[end : end + 12])
        numbers = [int(named[1]) - first] if named else range(len(plain))
        if not any(0 <= at < len(plain) and _is_in(quote, plain[at]) for at in numbers):
            wrong.append(quote[:80])
    total = len(marks) + len(quotes)
    details: dict[str, Any] = {"citations": total, **({"wrong": wrong[:20]} if wrong else {})}
    if total < max(minimum, 1) and minimum:
        return 0.0, f"{total} citations, expected at least {minimum}", {**details, "failure": "missing"}
    reason = f"Not in the documents: {'; '.join(wrong)}"[:300] if wrong else f"All {total} citations exist"
    if measure == "share":
        return ((total - len(wrong)) / total if total else 1.0), reason, details
    return float(not wrong), reason, details


def column_of(thread: Any, names: Sequence[str]) -> Any:
    """The first of these columns that a thread's metadata has, None without one."""
    columns = thread.metadata if isinstance(thread.metadata, dict) else {}
    return next((columns[name] for name in names if name in columns), None)
