"""When two short texts mean the same, and when they surely do not."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from typing import Any

__all__ = ["apart", "as_text", "mentions", "number_in", "parsed_json", "plainly", "same"]

_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:[eE][-+]?\d+)?")
_FAR = 0.1
"""Minimum relative difference of two numbers that no tolerance accepts. Workbench limit."""


def as_text(value: Any) -> str:
    """A reference as a model would write it in a completion; "" for none."""
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
    """The number that a text is, such as 1234.5 for "1,234.5"; None if it is not a number."""
    text = text.strip().replace("\u2212", "-")
    if not any(character.isdigit() for character in text) or not _NUMBER.fullmatch(text):
        return None
    try:
        number = float(text.replace(",", ""))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def plainly(text: str) -> str:
    """A text in lower case, without typographic accents, outer punctuation and repeated space."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.split()).strip(" .,:;!?\"'`*$()[]")


def parsed_json(text: str) -> Any:
    """The object or list that a text is in JSON; None if it is anything else."""
    if text[:1] not in {"{", "["}:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def same(one: str, other: str) -> bool:
    """Whether two texts are equal apart from notation."""
    if plainly(one) == plainly(other):
        return True
    numbers = number_in(one), number_in(other)
    if None not in numbers:
        return numbers[0] == numbers[1]
    values = parsed_json(one), parsed_json(other)
    return None not in values and values[0] == values[1]


def apart(one: str, other: str) -> bool:
    """Whether two texts surely differ in meaning: neither contains the other, and numbers differ by a tenth."""
    numbers = number_in(one), number_in(other)
    if numbers[0] is not None and numbers[1] is not None:
        far = abs(numbers[0] - numbers[1]) > _FAR * max(abs(numbers[0]), abs(numbers[1]))
        return far and one not in other and other not in one
    if same(one, other):
        return False
    a, b = plainly(one), plainly(other)
    return bool(a and b) and a not in b and b not in a


def mentions(text: str, answer: str) -> bool:
    """Whether a reference occurs in a text, in any case; one or two characters count only as a separate word."""
    needle = plainly(answer)
    if not needle:
        return False
    if len(needle) > 2:
        return needle in plainly(text) or needle.replace(",", "") in plainly(text)
    return (
        re.search(rf"(?<!\w){re.escape(needle)}(?!\w)", unicodedata.normalize("NFKC", text).casefold())
        is not None
    )
