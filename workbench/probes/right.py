"""When two short texts are the same answer, and when they surely are not."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from typing import Any

__all__ = ["apart", "as_text", "mentions", "number_in", "parsed_json", "plainly", "same"]

_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:[eE][-+]?\d+)?")
_FAR = 0.1
"""Share of the larger number by which two numbers differ at least that no tolerance takes for one. Ours."""


def as_text(value: Any) -> str:
    """A reference as one would write it as an answer; "" for none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, bool | list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def number_in(text: str) -> float | None:
    """The number that a text is, such as 1234.5 for "1,234.5"; None where it is anything else."""
    text = text.strip().replace("\u2212", "-")
    if not any(character.isdigit() for character in text) or not _NUMBER.fullmatch(text):
        return None
    try:
        number = float(text.replace(",", ""))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def plainly(text: str) -> str:
    """A text in small letters, without accents of typing, outer punctuation and repeated space."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.split()).strip(" .,:;!?\"'`*$()[]")


def parsed_json(text: str) -> Any:
    """The object or list that a text is in JSON; None where it is anything else."""
    if text[:1] not in {"{", "["}:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def same(one: str, other: str) -> bool:
    """Whether two texts are one answer, written differently at most."""
    if plainly(one) == plainly(other):
        return True
    numbers = number_in(one), number_in(other)
    if None not in numbers:
        return numbers[0] == numbers[1]
    values = parsed_json(one), parsed_json(other)
    return None not in values and values[0] == values[1]


def apart(one: str, other: str) -> bool:
    """Whether two texts are surely different answers: neither holds the other, and numbers are a tenth apart."""
    numbers = number_in(one), number_in(other)
    if numbers[0] is not None and numbers[1] is not None:
        far = abs(numbers[0] - numbers[1]) > _FAR * max(abs(numbers[0]), abs(numbers[1]))
        return far and one not in other and other not in one
    if same(one, other):
        return False
    a, b = plainly(one), plainly(other)
    return bool(a and b) and a not in b and b not in a


def mentions(text: str, answer: str) -> bool:
    """Whether an answer stands in a text, in any case; one or two characters count as a word of their own only."""
    needle = plainly(answer)
    if not needle:
        return False
    if len(needle) > 2:
        return needle in plainly(text) or needle.replace(",", "") in plainly(text)
    return (
        re.search(rf"(?<!\w){re.escape(needle)}(?!\w)", unicodedata.normalize("NFKC", text).casefold())
        is not None
    )
