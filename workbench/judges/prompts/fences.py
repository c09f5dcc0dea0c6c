"""Tags round the material of a prompt, which nothing in the material can close.

A completion is written by whatever is being judged, so it may hold "</completion>" and instructions after it. Where
any of a question's texts holds the name of one of our tags, all tags of that question get a mark that is in none of
the texts: `<completion-1f0c9a2e>`. The name alone is enough: a model may read `<|/completion|>` or
`&lt;/completion&gt;` as a tag too, and nobody can list all such brackets. The mark follows from the texts alone, so
that a question's rendering, and with it the key of its answer, is the same in every run.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

__all__ = ["mark"]

_NAMES = (
    "completion",
    "context",
    "conversation",
    "document",
    "question",
    "reference",
    "statements",
    "answer_a",
    "answer_b",
)
_CONTROLS = bytes([*range(9), *range(14, 32), 127])


def mark(material: Mapping[str, Any]) -> str:
    """What to put behind the tags' names: "" unless a text of the material holds one of these names.

    Args:
        material: Texts, and lists of texts, by name.
    """
    texts = list(_texts(material.values()))
    if not any(map(_has_name, texts)):
        return ""
    whole = "\0".join(texts).encode("utf-8", "surrogatepass")
    found = hashlib.sha256(whole).hexdigest()[:8]
    while any(found in text for text in texts):
        found = hashlib.sha256(found.encode() + whole).hexdigest()[:8]
    return f"-{found}"


def _texts(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, list):
            yield from value
        else:
            yield str(value)


def _has_name(text: str) -> bool:
    """Whether a name stands in a text, in any case and width, and with characters inside that nobody sees."""
    # What is left beyond ASCII is dropped, zero-width characters with it.
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    folded = plain.encode("ascii", "ignore").translate(None, _CONTROLS).lower().decode()
    return any(name in folded for name in _NAMES)
