"""Rules for one text, or for a text and an expected text. Standard library only."""

from __future__ import annotations

import json
from typing import Any

from workbench.graders.rules.verdict import Verdict, verdict


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
) -> Verdict:
    """Whether the text is one of the labels, and one of those that pass."""
    text_folded = folded(text, ignore_case, trim)
    # Passing ones first: "A" and "a" may both be labels if case is ignored.
    match = next(
        (label for label in (*passing_labels, *labels) if folded(label, ignore_case, trim) == text_folded),
        None,
    )
    wrong = f"Not one of the labels: {text[:80]!r}" if match is None else f"The label {match!r} does not pass"
    return verdict(match in passing_labels, f"The label {match!r} passes", wrong, label=match)
