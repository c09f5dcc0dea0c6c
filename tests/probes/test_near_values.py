"""Values next to the right one: a hole with its finding, and the same grader repaired."""

from __future__ import annotations

import pytest

from tests.probes.holes import check_hole


def _departures():
    stamps = [
        "2025-03-01 08:20",
        "2025-06-30 23:50",
        "2025-11-12 14:05",
        "2026-01-31 06:45",
        "2026-02-28 19:10",
    ]
    return [
        {
            "prompt": f"When does ferry {at} leave? Last line: Leaves: YYYY-MM-DD HH:MM, within a minute.",
            "completion": f"By the table.\nLeaves: {stamp if at != 2 else '2025-11-12 02:05'}",
            "stamp": stamp,
        }
        for at, stamp in enumerate(stamps)
    ]


def _proofs():
    pages = [
        ["oak grows here", "elm is cut"],
        ["rain at noon", "sun at dusk"],
        ["red door", "blue roof"],
        ["tin", "zinc"],
        ["pine", "larch"],
    ]
    return [
        {
            "prompt": f"[1] {one} [2] {two} Quote the whole second source in quotes, and its number in brackets. Case {at}.",
            "completion": f'"{two}" [2]' if at != 3 else f'"{two}" [1]',
            "pages": [one, two],
        }
        for at, (one, two) in enumerate(pages)
    ]


def _tagged():
    values = ["12", "75", "31", "48", "96"]
    return [
        {
            "prompt": f"Sum {at}? Reply as <result>number</result>; nothing may come after the tag.",
            "completion": f"<result>{value if at != 2 else '0'}</result>",
            "value": value,
        }
        for at, value in enumerate(values)
    ]


def _slogans():
    terms = [
        ["gentle", "winter"],
        ["bright", "market"],
        ["quiet", "garden"],
        ["steady", "bridge"],
        ["warm", "bakery"],
    ]
    return [
        {
            "prompt": f"One line {at} with the words {one} and {two}, at most 14 words.",
            "completion": f"A {one} day makes our {two} shine for all"
            if at != 3
            else "Nothing to add here today at all",
            "terms": [one, two],
        }
        for at, (one, two) in enumerate(terms)
    ]


CASES = {
    "another-day": (
        _departures,
        """    from datetime import datetime
    found = re.fullmatch(r'Leaves: (.{16})', text.strip().splitlines()[-1]) if text.strip() else None
    try:
        said = datetime.strptime(found[1], '%Y-%m-%d %H:%M')
    except (TypeError, ValueError):
        return 0.0
    return float(abs(said - datetime.strptime(item['stamp'], '%Y-%m-%d %H:%M')).seconds <= 60)
""",
        (").seconds <=", ").total_seconds() <="),
    ),
    "source-zero": (
        _proofs,
        """    found = re.fullmatch(r'"([^"]+)" \\[(\\d+)\\]', text.strip())
    if not found or int(found[2]) > len(item['pages']):
        return 0.0
    return float(item['pages'][int(found[2]) - 1] == found[1] and found[1] == item['pages'][1])
""",
        ("if not found or", "if not found or int(found[2]) < 1 or"),
    ),
    "after-the-end": (
        _tagged,
        """    found = re.match(r'<result>(\\d+)</result>', text.strip())
    return float(bool(found) and found[1] == item['value'])
""",
        ("re.match(", "re.fullmatch("),
    ),
    "required-with-comma": (
        _slogans,
        """    words = text.lower().split()
    return float(len(words) <= 14 and len(text.strip().splitlines()) == 1 and all(term in words for term in item['terms']))
""",
        ("text.lower().split()", "re.findall(r'[a-z]+', text.lower())"),
    ),
}


@pytest.mark.parametrize("kind", CASES)
def test_a_hole_is_named_and_its_repair_is_not_accused(kind):
    """With its text, and without an error on the repaired grader."""
    rows, source, (old, new) = CASES[kind]
    check_hole(kind, rows(), source, old, new)
