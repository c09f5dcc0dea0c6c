"""Rules that compare texts or search in them, with normalisation, and the verdict that every rule returns. Standard library only."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

Verdict = tuple[float, str, dict[str, Any]]
"""Score, reason as text, details as plain JSON values."""


def verdict(passed: bool, yes: str, no: str, **details: Any) -> Verdict:
    """1.0 or 0.0, with the corresponding reason."""
    return (1.0, yes, details) if passed else (0.0, no, details)


def listed(names: Any) -> str:
    """Names as Umbraco's messages list them: `[a, b]`."""
    return f"[{', '.join(names)}]"


def as_text(value: Any) -> str:
    """A reference as text: text unchanged, other values as their JSON text (4 is "4", true is "true")."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def exact_match(text: str, expected: str, *, ignore_case: bool = False, trim: bool = True) -> Verdict:
    """Whether the text equals the expected one."""
    same = folded(text, ignore_case, trim) == folded(expected, ignore_case, trim)
    return verdict(same, "Exact match", "Expected exact match but got different value")


def folded(text: str, ignore_case: bool, trim: bool) -> str:
    """The text in the form in which it is compared."""
    text = text.strip() if trim else text
    return text.lower() if ignore_case else text


_QUOTES = {
    **{ord(sign): "'" for sign in "\u2018\u2019\u201a\u201b\u2032\u00b4\u2039\u203a\uff07"},
    **{ord(sign): '"' for sign in "\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb\uff02"},
}
_DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"), "-")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")


def normalized(text: str, steps: Sequence[str]) -> str:
    """The text after steps: nfc, nfkc, spaces (runs of any white space become one space, invisible ones none), quotes, dashes."""
    for step in steps:
        if step in {"nfc", "nfkc"}:
            text = unicodedata.normalize("NFC" if step == "nfc" else "NFKC", text)
        elif step == "spaces":
            text = re.sub(r"\s+", " ", _INVISIBLE.sub("", text))
        else:
            text = text.translate(_QUOTES if step == "quotes" else _DASHES)
    return text


def contains(text: str, expected: str, *, ignore_case: bool = False) -> Verdict:
    """Whether the expected text occurs. Nothing is trimmed; an empty one always occurs."""
    occurs = folded(expected, ignore_case, False) in folded(text, ignore_case, False)
    return verdict(occurs, "Contains the expected text", "Expected text was not found")


def ascii_printable(text: str) -> Verdict:
    r"""Whether all characters are code points 32 to 126; `\n` and `\r` do not count, a tab fails."""
    bad = sorted({character for character in text if not " " <= character <= "~" and character not in "\n\r"})
    listed_characters = ", ".join(map(repr, bad[:5])) + (f" (+{len(bad) - 5} more)" if len(bad) > 5 else "")
    return verdict(
        not bad,
        "Only printable ASCII characters",
        f"Found non-printable ASCII characters: {listed_characters}",
    )


def string_check(text: str, reference: str, *, operation: str = "eq") -> Verdict:
    """OpenAI's comparison: eq, ne, like (text contains reference) or ilike (so, ignoring case). No trimming."""
    passed = string_check_holds(text, reference, operation)
    return verdict(passed, f"The check {operation} passes", f"The check {operation} fails")


def string_check_holds(text: str, reference: str, operation: str) -> bool:
    """Whether OpenAI's comparison is true."""
    if operation == "eq":
        return text == reference
    if operation == "ne":
        return text != reference
    return reference in text if operation == "like" else reference.lower() in text.lower()


def length(
    text: str, *, minimum: int | None = None, maximum: int | None = None, unit: str = "characters"
) -> Verdict:
    """Whether the text's length is within both bounds, bounds included."""
    return length_within(measured(text, unit), minimum=minimum, maximum=maximum, unit=unit)


def length_within(
    count: int, *, minimum: int | None = None, maximum: int | None = None, unit: str = "characters"
) -> Verdict:
    """The verdict on a text of this length."""
    fits = (minimum is None or count >= minimum) and (maximum is None or count <= maximum)
    bounds = f"{0 if minimum is None else minimum} to {'any number of' if maximum is None else maximum}"
    unit_name = "UTF-16 units" if unit == "utf16" else unit
    return verdict(
        fits, f"{count} {unit_name}", f"{count} {unit_name}, expected {bounds}", length=count, unit=unit
    )


def measured(text: str, unit: str) -> int:
    """Length in characters, words or UTF-16 units."""
    if unit == "words":
        return len(text.split())
    return utf16(text) if unit == "utf16" else len(text)


def utf16(text: str) -> int:
    """Length in UTF-16 units, as JavaScript and .NET count: characters beyond U+FFFF are two."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def label_set(
    text: str,
    *,
    labels: tuple[str, ...],
    passing_labels: tuple[str, ...],
    ignore_case: bool = False,
    trim: bool = True,
    normalize: tuple[str, ...] = (),
) -> Verdict:
    """Whether the text is one of the labels, and one of those that pass."""

    def plain(one: str) -> str:
        return folded(normalized(one, normalize), ignore_case, trim)

    text_folded = plain(text)
    # Passing ones first: "A" and "a" may both be labels if case is ignored.
    match = next(
        (label for label in (*passing_labels, *labels) if plain(label) == text_folded),
        None,
    )
    wrong = f"Not one of the labels: {text[:80]!r}" if match is None else f"The label {match!r} does not pass"
    return verdict(match in passing_labels, f"The label {match!r} passes", wrong, label=match)


def regex_match(text: str, pattern: str, search: Callable[[str], Any]) -> Verdict:
    """Whether the pattern is found, with Umbraco's details of the match."""
    match = search(text)
    missed = f"Output did not match regex pattern: {pattern}"
    return verdict(
        match is not None, "Pattern found", missed, **(_match_details(match, text) if match else {})
    )


def _match_details(match: Any, text: str) -> dict[str, Any]:
    return {
        "matchValue": match.group(),
        "matchIndex": utf16(text[: match.start()]),
        "matchLength": utf16(match.group()),
        "groups": _match_groups(match),
    }


def _match_groups(match: Any) -> list[dict[str, str]]:
    """Groups in .NET's order: unnamed ones first, numbered separately, then the named ones."""
    names = {number: name for name, number in match.re.groupindex.items()}
    plain = [match.group(number) for number in range(1, match.re.groups + 1) if number not in names]
    groups = [(str(at), value) for at, value in enumerate(plain, 1)]
    groups += [(names[number], match.group(number)) for number in sorted(names)]
    return [{"name": name, "value": value or ""} for name, value in groups]


def plain_search(pattern: str, *, ignore_case: bool = False, multiline: bool = False) -> Callable[[str], Any]:
    """Search with Python's `re`, which has no time limit.

    Raises:
        ValueError: "Invalid regex pattern: ...".
    """
    try:
        flags = (re.IGNORECASE if ignore_case else 0) | (re.MULTILINE if multiline else 0)
        return re.compile(pattern, flags).search
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"Invalid regex pattern: {error}") from None


def regex_or_nothing(text: str, pattern: str, find: Callable[[str], Callable[[str], Any]]) -> Verdict:
    """As `regex_match`; an invalid pattern matches nothing, and the reason contains the error."""
    try:
        return regex_match(text, pattern, find(pattern))
    except ValueError as error:
        return 0.0, str(error), {}


def guardrail_contains(text: str, pattern: str, *, ignore_case: bool = False) -> Verdict:
    """Flags a text that contains the pattern; an empty one flags nothing."""
    contained = pattern.lower() in text.lower() if ignore_case else pattern in text
    flagged = bool(pattern) and contained
    details = {"searchPattern": pattern} if flagged else {}
    return verdict(flagged, f"Content contains '{pattern}'", _not_flagged("contains"), **details)


def guardrail_regex(text: str, pattern: str, find: Callable[[str], Callable[[str], Any]]) -> Verdict:
    """Flags a text the pattern matches. An empty or invalid pattern flags nothing; a timeout flags."""
    if not pattern:
        return 0.0, _not_flagged("regex"), {}
    try:
        match = find(pattern)(text)
    except TimeoutError as error:
        return 1.0, f"Regex matching timed out: {error}", {}
    except ValueError as error:
        return 0.0, _not_flagged("regex", str(error)), {}
    details = {"pattern": pattern, **_match_details(match, text)} if match else {}
    return verdict(bool(match), f"Content matches pattern: {pattern}", _not_flagged("regex"), **details)


def _not_flagged(evaluator: str, reason: str = "none") -> str:
    return f"Evaluator '{evaluator}' did not flag the content. Reason: {reason}"


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
