"""Marks that models write around a result: a grader that rejects them, and the same grader repaired."""

from __future__ import annotations

import pytest

from tests.probes.holes import check_hole


def _letters():
    return [
        {"prompt": f"Question {at}: finish with 'Answer: X'. Markdown is fine.", "completion": f"Answer: {letter if at != 2 else 'A'}", "letter": letter}
        for at, letter in enumerate("BDCAD")
    ]  # fmt: skip


def _fenced():
    towns = ["Graz", "Bern", "Oslo", "Turin", "Cork"]
    return [
        {"prompt": f"The town of note {at} as JSON, plain or in a code fence.", "completion": f'```json\n{{"town": "{town if at != 1 else "Rome"}"}}\n```', "town": town}
        for at, town in enumerate(towns)
    ]  # fmt: skip


def _bullets():
    pairs = [["water", "leaf"], ["coat", "road"], ["stamp", "box"], ["ink", "pen"], ["salt", "oil"]]
    return [
        {"prompt": f"Two bullet points on case {at}, with {one} and {two}.", "completion": f"* take the {one}\n* then the {two}" if at != 3 else f"* {one}", "terms": [one, two]}
        for at, (one, two) in enumerate(pairs)
    ]  # fmt: skip


def _tables():
    people = [("Ada", "5"), ("Bo", "6"), ("Cy", "7"), ("Di", "8")]
    return [
        {"prompt": f"Name and age of person {at} as a Markdown table.", "completion": f"| name | age |\n|---|---|\n| {name} | {age if at != 2 else 1} |", "cells": [name, age]}
        for at, (name, age) in enumerate(people)
    ]  # fmt: skip


CASES = {
    "bold-label": (
        _letters,
        """    found = re.findall(r'Answer: ([A-D])\\b', text)
    return float(found == [item['letter']])
""",
        ("text)", "text.replace('**', ''))"),
    ),
    "stop-after-result": (
        _letters,
        """    return float(text.strip().replace('**', '') == f"Answer: {item['letter']}")
""",
        ("text.strip()", "text.strip().rstrip('.')"),
    ),
    "bare-fence": (
        _fenced,
        """    found = re.fullmatch(r'```json\\n(.*)\\n```', text.strip(), re.S)
    try:
        return float(json.loads(found[1] if found else text) == {'town': item['town']})
    except ValueError:
        return 0.0
""",
        ("```json", "```(?:json)?"),
    ),
    "other-bullets": (
        _bullets,
        """    points = re.findall(r'^\\* (.+)$', text, re.M)
    return float(len(points) == 2 and all(re.search(rf"\\b{term}\\b", text) for term in item['terms']))
""",
        ("^\\* (.+)$", "^[-*+] (.+)$"),
    ),
    "table-alignment": (
        _tables,
        """    rows = [[cell.strip() for cell in line.strip('|').split('|')] for line in text.strip().splitlines()]
    rows = [row for row in rows if not all(re.fullmatch('-+', cell) for cell in row)]
    return float(rows == [['name', 'age'], item['cells']])
""",
        ("'-+'", "':?-+:?'"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", CASES)
def test_a_hole_is_named_and_its_repair_is_not_accused(kind):
    """With its text, and without an error on the repaired grader."""
    rows, source, (old, new) = CASES[kind]
    check_hole(kind, rows(), source, old, new)
