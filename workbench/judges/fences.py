"""Tags round the material of a prompt, which nothing in the material can close.

A completion is written by whatever is being judged, so it may hold "</completion>" and instructions after it. Where
any of a question's texts holds something like one of our tags, all tags of that question get a mark that is in
none of the texts: `<completion-1f0c9a2e>`. The mark follows from the texts alone, so that a question's rendering, and
with it the key of its answer, is the same in every run.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

__all__ = ["mark"]

_TAG = re.compile(
    r"[<\uff1c][\s/]*(?:completion|context|conversation|document|question|reference|statements|answer_[ab])",
    re.IGNORECASE,
)
_OPENERS = "<\uff1c"


def mark(material: Mapping[str, Any]) -> str:
    """What to put behind the tags' names: "" unless a text of the material looks like one of them.

    Args:
        material: Texts, and lists of texts, by name.
    """
    texts = list(_texts(material.values()))
    if not any(_has_tag(text) for text in texts):
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


def _has_tag(text: str) -> bool:
    # Most texts have no opening bracket at all, and that is seen a hundred times faster.
    return any(opener in text for opener in _OPENERS) and _TAG.search(text) is not None
