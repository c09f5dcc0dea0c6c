"""Rules with regular expressions: details of a match, and the handling of invalid patterns."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from workbench.graders.rules.text import utf16
from workbench.graders.rules.verdict import Verdict, verdict


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
