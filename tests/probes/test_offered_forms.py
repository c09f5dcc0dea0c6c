"""Forms that a prompt offers: each with a grader that rejects one, and the same grader repaired."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.probes.holes import check_hole
from workbench.probes.offered_forms import _grouped, _other_notations, _separated


def _speeds():
    values = ["3.4e2", "5.1e3", "2.2e6", "9.3e4", "7.5e5"]
    return [
        {
            "prompt": f"Question {at}: how many per second? Last line: Result: and the number (4.2e3 or 4.2 \N{MULTIPLICATION SIGN} 10^3).",
            "completion": f"Looked up.\nResult: {value if at != 1 else '1.0e1'}",
            "value": float(value),
        }
        for at, value in enumerate(values)
    ]


def _sources():
    facts = [("clay", "1702"), ("iron", "1688"), ("sand", "1911"), ("slate", "1820"), ("brick", "1744")]
    return [
        {
            "prompt": f"[1] House {at} is of {kind}. [2] It is from {year}. Of what and from when? Cite as [3] or [4, 5].",
            "completion": f"Of {kind} [1], from {year} [2]." if at != 3 else f"Of {kind}, from {year}.",
            "facts": [kind, year],
        }
        for at, (kind, year) in enumerate(facts)
    ]


def _lists():
    rows = [[3, 9], [4, 16, 25], [8, 27], [5, 10, 15], [7, 14]]
    return [
        {
            "prompt": f"Series {at}: the next numbers? One line, separated by commas or spaces.",
            "completion": ", ".join(map(str, row)) if at != 2 else "1, 2",
            "series": row,
        }
        for at, row in enumerate(rows)
    ]


CASES = {
    "offered-notation": (
        _speeds,
        """    found = re.fullmatch(r'Result: ([0-9.]+)e([0-9]+)', text.strip().splitlines()[-1]) if text.strip() else None
    return float(bool(found) and abs(float(found[1]) * 10.0 ** int(found[2]) - item['value']) < 1e-6 * item['value'])
""",
        ("e([0-9]+)", "(?:e| ?[x*" + chr(0xD7) + "] ?10\\^)([0-9]+)"),
    ),
    "citations-grouped": (
        _sources,
        """    cited = {int(one) for one in re.findall(r'\\[(\\d+)\\]', text)}
    return float(cited == {1, 2} and all(re.search(rf'\\b{fact}\\b', text) for fact in item['facts']) and len(text) < 40)
""",
        (
            "re.findall(r'\\[(\\d+)\\]', text)",
            "re.findall(r'\\d+', ' '.join(re.findall(r'\\[[\\d, ]+\\]', text)))",
        ),
    ),
    "offered-separator": (
        _lists,
        """    if not re.fullmatch(r'[0-9, ]+', text.strip()):
        return 0.0
    said = [one.strip() for one in text.strip().split(',')]
    return float(said == [str(one) for one in item['series']])
""",
        ("[one.strip() for one in text.strip().split(',')]", "re.split(r'[, ]+', text.strip())"),
    ),
}


@pytest.mark.parametrize("kind", CASES)
def test_a_hole_is_named_and_its_repair_is_not_accused(kind):
    """With its text, and without an error on the repaired grader."""
    rows, source, (old, new) = CASES[kind]
    check_hole(kind, rows(), source, old, new)


def row(prompt):
    return SimpleNamespace(prompt=prompt, conversation=prompt)


@pytest.mark.parametrize(
    ("prompt", "text", "others"),
    [
        ("as 3/4 or 0.75", "It is 0.4", ["It is 2/5"]),
        ("0.5 or 50%", "so 25%", ["so 0.25"]),
        ("1,250 or 1250", "21400", ["21,400"]),
        ("1e3 or 1 x 10^3", "3.2e-4", ["3.2 x 10^-4"]),
        ("1e3 or 1 x 10^3", "0.00032", []),
        ("Example: 0.25 = 1/4", "1/8", []),
        ("For instance 0.5 is 50%", "25%", []),
        ("Is it 2 km or 3 km?", "3", []),
        ("in 2024, 2024 was", "5", []),
        ("1e3 or 1 x 10^3", "0", []),
    ],
)
def test_notations(prompt, text, others):
    """Only of a number that the prompt shows in two notations, and exactly."""
    assert list(_other_notations(row(prompt), text)) == others


@pytest.mark.parametrize(
    ("prompt", "text", "others"),
    [
        ("separated by commas or semicolons", "a, b, c", ["a; b; c"]),
        ("joined by commas or new lines", "red\nblue", ["red, blue"]),
        ("a decimal comma or point", "10.5", []),
        ("how often a comma or space occurs", "a b c", []),
        ("points instead of slashes are fine", "Due: 05/06", ["Due: 05.06"]),
        ("use points instead of slashes", "Due: 05/06", []),
        ("do not use commas or spaces", "a, b", []),
        ("separated by a comma", "a, b", []),
    ],
)
def test_separators(prompt, text, others):
    """Only where both are allowed."""
    assert list(_separated(row(prompt), text)) == others


@pytest.mark.parametrize(
    ("prompt", "others"),
    [
        ("Cite as [1] or [2, 3].", ["One and two [1, 2]."]),
        ("Cite as [1].", []),
        ("The list is [3, 4].", []),
        ("Cite as [2, 3] after each sentence.", []),
    ],
)
def test_citations(prompt, others):
    """Only where the prompt shows a group, and no place for each."""
    assert list(_grouped(row(prompt), "One [1] and two [2].")) == others
