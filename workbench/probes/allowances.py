"""What a prompt allows, by its text: tolerances, slips, extras, a part of a list, other capitals; and what it requires alone or first."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

WANTS_BARE = re.compile(
    r"\balone\b|\bonly\b|\bnothing (?:but|else)\b|\bjust (?:the|a|one)\b|\bno other\b|\bexactly\b|\bwithout any\b",
    re.IGNORECASE,
)
"""Terms of a prompt that requires the result and nothing else."""
_PERCENTS = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "ten": 10,
    "fifteen": 15,
    "twenty": 20,
    "thirty": 30,
}
_PERCENT = rf"(\d+(?:\.\d+)?|{'|'.join(_PERCENTS)})\s*(?:%|percent|per cent)"
_WITHIN_SHARE = re.compile(
    rf"(?:within|\u00b1|\+/-|plus or minus|tolerance (?:of|is)|margin of|up to|off by|error of|accurate to)[^.\d\n]{{0,25}}?{_PERCENT}|"
    rf"{_PERCENT}\s*(?:off|more or less|either way|up or down|deviation|tolerance|of error)\b",
    re.IGNORECASE,
)
_LOOSE = re.compile(
    r"\b(?:estimat\w+|approximat\w+|roughly|ballpark|give or take|order of magnitude)\b|\bround(?:ed|ing)? (?:\w+ )?to\b|\bnearest (?:ten|hundred|thousand|million)\b",
    re.IGNORECASE,
)
"""Terms of a prompt for whose numbers about a tenth more or less may be right."""
_ABOUT = 0.1
"""Relative difference that such words allow. Workbench limit."""
_WITHIN_NUMBER = re.compile(
    r"(?:within|\u00b1|\+/-|plus or minus|tolerance (?:of|is)|margin of|off by)[^.\d\n]{0,25}(\d+(?:\.\d+)?)(?![\d.]*\s*(?:%|percent|per cent))",
    re.IGNORECASE,
)
NO_MATTER = r"[^.\n]{0,60}(?:(?:do|does|will) not (?:matter|count)|(?:doesn't|don't) (?:matter|count)|(?:is|are) (?:ignored|irrelevant|not checked))"
"""Words after something that a prompt leaves free."""
CASE_IS_FREE = re.compile(
    rf"\b(?:case|capitals|capitali[sz]ation)\b(?! of){NO_MATTER}|\bcase[- ]insensitive|\bignor(?:e|es|ing) (?:the )?case\b",
    re.IGNORECASE,
)
_EXTRAS = r"\b(?:others?|further|extra|additional|more|wrong|superfluous|any others?)\b"
_COST_NOTHING = r"(?:costs? nothing|no (?:cost|penalty)|(?:do|does) no harm|(?:is|are) (?:free|harmless|allowed|fine|ignored)|(?:do|does) not (?:matter|count against|cost))"
_CONTAINS = r"\b(?:contains?|includes?|uses?|mentions?)\b[^.\n]{0,20}\b(?:each|all|every|both) (?:of )?(?:the(?:se)?|letters?|words?|them)\b"
EXTRAS_ARE_FREE = re.compile(
    rf"{_CONTAINS}|{_EXTRAS}[^.\n]{{0,60}}{_COST_NOTHING}|{_COST_NOTHING}[^.\n]{{0,40}}{_EXTRAS}",
    re.IGNORECASE,
)
"""Terms of a prompt by which what is added to a correct completion costs nothing."""
SLIPS_ARE_FREE = re.compile(
    r"\b(?:one|two|three|\d+) (?:words?|letters?|characters?) (?:in|of) \w+\b[^.\n]{0,30}\bwrong|\b(?:word|token) overlap\b|\bsimilar(?:ity)? (?:of|to|enough)\b|"
    r"\b(?:slips?|typos?|misspellings?|spelling (?:mistakes?|errors?))\b[^.\n]{0,40}(?:forgiven|fine|allowed|accepted|tolerated|not matter|not count|no harm)",
    re.IGNORECASE,
)
"""Terms of a prompt that allows some letters or words to differ."""
PART_IS_ENOUGH = re.compile(
    r"\b(?:one|two|some|any) (?:\w+ ){0,3}(?:may|can) be (?:missing|left out|omitted|skipped)\b|"
    r"\b(?:half|most|two|three|four|five|\d+) (?:out )?of (?:the |them|these|\w+)[^.\n]{0,30}\b(?:suffices?|enough|will do|do|pass|count)\b",
    re.IGNORECASE,
)
"""Terms of a prompt for which a part of a list is right."""
BEGINS_WITH = re.compile(
    r"(?<!that )(?<!which )\b(?:begin|start)(?:s|ning)? (?:(?:your|the|its) \w+ )?with\b([^.\n]*)",
    re.IGNORECASE,
)
"""What a prompt wants at the start of the completion."""
_TOLERANCE = re.compile(r"(?:^|_)(?:tol|tolerance|margin|slack|epsilon|eps|delta)(?:$|_)", re.IGNORECASE)
"""Names of columns with the difference that is allowed."""


def tolerance_of(prompt: str, reference: float, columns: Mapping[str, Any]) -> float:
    """Largest relative difference from a number that its prompt or a column allows, 0 for none."""
    stated = [(found[1] or found[2]).lower() for found in _WITHIN_SHARE.finditer(prompt)]
    allowed = [float(_PERCENTS.get(one, one)) / 100 for one in stated]
    if not allowed and _LOOSE.search(prompt):
        allowed.append(_ABOUT)
    allowed += [abs(float(found[1]) / reference) for found in _WITHIN_NUMBER.finditer(prompt)]
    for name, value in columns.items():
        if (
            _TOLERANCE.search(name)
            and isinstance(value, int | float)
            and not isinstance(value, bool)
            and value > 0
        ):
            allowed.append(value if value < 1 else min(value / 100, abs(value / reference)))
    return max(allowed, default=0.0)
