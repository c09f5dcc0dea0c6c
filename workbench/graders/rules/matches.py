"""Comparisons of a text with one or several others: normalisation, place, word boundaries. Standard library only."""

from __future__ import annotations

import json
import re

from workbench.graders.rules.text import Verdict, folded, normalized


def texts_in(expected: str) -> list[str]:
    """The texts of a JSON list.

    Raises:
        ValueError: It is not one.
    """
    try:
        values = json.loads(expected)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, list) or not values or any(isinstance(value, list | dict) for value in values):
        raise ValueError(f"the reference {expected[:60]!r} is not a list of texts, which several= requires")
    return [value if isinstance(value, str) else json.dumps(value) for value in values]


def matches(  # noqa: PLR0913 (the grader's settings)
    text: str,
    expected: str,
    *,
    how: str = "contains",
    ignore_case: bool = False,
    trim: bool = False,
    words: bool = False,
    normalize: tuple[str, ...] = (),
    several: str = "",
    negate: bool = False,
) -> Verdict:
    """Whether a text equals, contains, starts or ends with the expected text, or with any or all of several.

    Args:
        text: The text.
        expected: The expected text, or a JSON list of several.
        how: "equals", "contains", "starts" or "ends".
        ignore_case: Whether letters match either case.
        trim: Whether white space around both sides is ignored.
        words: Whether a match must begin and end at word boundaries.
        normalize: Steps of `normalized`, applied to both sides.
        several: "any" or "all" of a list; "" for one text.
        negate: Whether a match scores 0.0, and none 1.0.

    Raises:
        ValueError: Several are required, and the expected text is not a list.
    """
    wanted = texts_in(expected) if several else [expected]
    plain = folded(normalized(text, normalize), ignore_case, trim)
    found = [
        one
        for one in wanted
        if _occurs(plain, folded(normalized(one, normalize), ignore_case, trim), how, words)
    ]
    matched = bool(found) if several != "all" else len(found) == len(wanted)
    missing = [one for one in wanted if one not in found]
    details = {"matched": found, "missing": missing} if several else {}
    verb = {"equals": "equals", "contains": "contains", "starts": "starts with", "ends": "ends with"}[how]
    which = {"any": "one of the texts", "all": "all of the texts", "": "the expected text"}[several]
    reason = f"The text {verb if matched else f'does not match: {verb}'} {which}"
    return float(matched != negate), reason, details


def _occurs(text: str, expected: str, how: str, words: bool) -> bool:
    if how == "equals":
        return text == expected
    if not words:
        return {
            "contains": expected in text,
            "starts": text.startswith(expected),
            "ends": text.endswith(expected),
        }[how]
    # A boundary is required only next to a letter or digit of the expected text: "C++" ends with a plus sign.
    before = r"(?<!\w)" if expected[:1].isalnum() or expected[:1] == "_" else ""
    after = r"(?!\w)" if expected[-1:].isalnum() or expected[-1:] == "_" else ""
    pattern = f"{before}{re.escape(expected)}{after}"
    if how == "starts":
        return re.match(pattern, text) is not None
    return re.search(pattern + (r"\Z" if how == "ends" else ""), text) is not None
