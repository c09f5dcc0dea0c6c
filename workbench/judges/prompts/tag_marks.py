"""Makes the tags around the judged texts of a prompt unforgeable: no text can close its own tag.

A judged completion is untrusted, so it may contain "</completion>" and instructions after it. If any of a request's texts
contains the name of one of these tags, all tags of that request get a suffix that is in none of the texts:
`<completion-1f0c9a2e>`. The name alone triggers it: a model may read `<|/completion|>` or `&lt;/completion&gt;` as a tag too,
and a list of such brackets would be incomplete. The suffix depends on the texts alone, so that a request, and with it the key
of its stored reply, is the same in every run.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

__all__ = ["tag_mark"]

_TAG_NAMES = (
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
_CONTROL_BYTES = bytes([*range(9), *range(14, 32), 127])


def tag_mark(material: Mapping[str, Any]) -> str:
    """The suffix of the tags' names: "" unless a text of the material contains one of these names.

    Args:
        material: Texts, and lists of texts, by name.
    """
    texts = list(_texts(material.values()))
    if not any(map(_has_tag_name, texts)):
        return ""
    all_texts = "\0".join(texts).encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(all_texts).hexdigest()[:8]
    while any(digest in text for text in texts):
        digest = hashlib.sha256(digest.encode() + all_texts).hexdigest()[:8]
    return f"-{digest}"


def _texts(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, list):
            yield from value
        else:
            yield str(value)


def _has_tag_name(text: str) -> bool:
    """Whether a tag's name is in a text: in any letter case, in full-width letters, or with invisible characters."""
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    # Dropping all that is not ASCII at this point also drops zero-width characters.
    folded = plain.encode("ascii", "ignore").translate(None, _CONTROL_BYTES).lower().decode()
    return any(name in folded for name in _TAG_NAMES)
