"""The documents an answer was written from, and whether a quote stands in them."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.samples import Sample

__all__ = ["Evidence", "documents", "sentences"]

_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\n+")
_NO_END = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|vs|etc|e\.g|i\.e|cf|fig|no|approx|inc|ltd)|\b[a-z])\.\Z", re.IGNORECASE
)
_SPACELESS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Thai, Lao, Burmese, Khmer, Japanese and Chinese, which put no spaces between words: there each letter is one."""
_WORD = re.compile(rf"[{_SPACELESS}]|[^\W_{_SPACELESS}]+")
_TEXTS = ("content", "text", "page_content")
_ELLIPSIS = re.compile(r"\.{3,}|\u2026|\[\s*\]")


def sentences(text: str) -> list[str]:
    """The sentences of a text: at . ! ? before a space, and at line ends; not after "Dr." or an initial.

    Example:
        >>> sentences("Dr. No is a film. It is from 1962.")
        ['Dr. No is a film.', 'It is from 1962.']
    """
    found: list[str] = []
    start = 0
    for end in _END.finditer(text):
        so_far = text[start : end.end()].strip()
        if "\n" in end[0] or not _NO_END.search(so_far):
            found, start = [*found, so_far], end.end()
    return [one for one in (*found, text[start:].strip()) if one]


def documents(sample: Sample, rules: str = "") -> list[str]:
    """What was found for a question: the thread's document turns, then `metadata["documents"]`.

    The latter is a list of texts or dicts (`content`, `text` or `page_content`), the same as JSON text (as a CSV file
    holds it), or the text of one document. Adaptive's own code looks at the metadata only, though its document
    prescribes turns; so do its rules here.
    """
    thread = sample.thread
    turns = [turn.content for turn in thread.get_turns() if turn.role == "document"]
    held = thread.metadata.get("documents") if isinstance(thread.metadata, Mapping) else None
    listed = [_document(one) for one in _listed(held)]
    return listed if rules == "adaptive" else turns + listed


def _listed(held: Any) -> list[Any]:
    if isinstance(held, list | tuple):
        return list(held)
    if isinstance(held, Mapping):
        return [held]
    if not isinstance(held, str) or not held.strip():
        return []
    try:
        told = json.loads(held) if held.lstrip().startswith(("[", "{")) else None
    except (ValueError, RecursionError):
        told = None
    return told if isinstance(told, list) else [told if isinstance(told, dict) else held]


def _document(one: Any) -> str:
    if isinstance(one, Mapping):
        return str(next((one[key] for key in _TEXTS if key in one), one))
    return str(one)


class Evidence:
    """The texts that a judge's quotes are looked for in.

    Whole words are compared, not spaces, letter case or punctuation; "..." in a quote stands for anything in
    between. A quote of less than two letters proves nothing.

    Args:
        found: The documents.
        said: The conversation.
    """

    def __init__(self, found: Sequence[str], said: str) -> None:
        self._documents = [_words(text) for text in found]
        self._said = _words(said)

    def of(self, document: Any, quote: Any) -> tuple[dict[str, Any] | None, bool]:
        """A judge's evidence as it is kept, and whether its quote stands anywhere.

        Args:
            document: The document's number as the judge gave it, from 0.
            quote: The words it gave.

        Returns:
            None where nothing was quoted, or a single letter; else `document` (the number of one that has the quote,
            the judge's own first; the judge's own where it stands nowhere; None for the conversation) and `quote`.
        """
        said = quote if isinstance(quote, str) else ""
        parts = [part for part in map(_words, _ELLIPSIS.split(said)) if part.strip()]
        if sum(len(part.replace(" ", "")) for part in parts) < 2:
            return None, False
        named = document if isinstance(document, int) and not isinstance(document, bool) else -1
        order = sorted(range(len(self._documents)), key=lambda at: at != named)
        spoken = _stands(parts, self._said)
        if document is None and spoken:
            return {"document": None, "quote": said[:2000]}, True
        at = next((at for at in order if _stands(parts, self._documents[at])), None)
        if at is None and not spoken and 0 <= named < len(self._documents):
            at = named  # where the judge says that it stands, though it does not
            return {"document": at, "quote": said[:2000]}, False
        return {"document": at, "quote": said[:2000]}, at is not None or spoken


def _words(text: str) -> str:
    """The words, a space before and after each: where one text is found in another, words are."""
    found = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    return f" {' '.join(found)} "


def _stands(parts: Sequence[str], text: str) -> bool:
    """Whether the parts follow each other in a text."""
    at = 0
    for part in parts:
        start = text.find(part, at)
        if start < 0:
            return False
        at = start + len(part) - 1  # the space behind is the one before the next
    return True
