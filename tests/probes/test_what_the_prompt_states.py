"""Transformations that need a reason in the prompt, the source or the columns: the text that each makes, and none without it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from workbench.probes.shapes import Mined
from workbench.probes.signs import Sign
from workbench.probes.variants import VARIANTS, ProbeRow

MINED = Mined("", (), (), (), (), (), "", readable=True)
_PROGRAM = (
    "def find(items):\n    for one in items:\n        if one > 2:\n            return one\n    return None\n"
)
_TABLE = "| Name | City |\n| --- | --- |\n| Ana | Porto |"


def row(prompt="", accepted=(), *, rejected=(), reference="", others=(), columns=None, source="", signs=()):
    mined = replace(MINED, text=source, signs=signs)
    return ProbeRow(
        0, prompt, "", reference, others, mined, str, own=(*accepted, *rejected), accepted=tuple(accepted),
        columns=columns or {}, conversation=prompt,
    )  # fmt: skip


MADE = {
    "allowed-form": (row("Which animal? Capitals do not matter.", ["Otter"]), "OTTER"),
    "other-year": (row("In which year did it open? 5 % off is right for amounts.", reference="1994", others=("1800",)), "2005"),
    "mixed-number-glued": (row("How much?", reference="1 1/2", others=("4",)), "11/2"),
    "cells-swapped": (row("Lines 'giver;thing'.", ["Ola;kite"]), "kite;Ola"),
    "tag-of-the-prompt": (row("Go on:\n<work>", ["<work>3 + 4</work> 7"]), "3 + 4</work> 7"),
    "decimal-in-sentence": (row("Write two sentences.", ["A kite flies. It rains."]), "flies (about 4.5 in all). It"),
    "opposite-word": (row("Is the plan safe?", reference="Safe", others=("Risky",)), "Unsafe"),
    "longer-name": (row("Commands: do, undo, mute, unmute.", reference="mute", others=("do",)), "unmute"),
    "tags-crossed": (row("<a></a> and <b></b>.", ["<a>3</a> <b>4</b>"]), "<a>3</b> <b>4</a>"),
    "task-restated": (
        row("You may explain first; the last line is the number.\nSeven more than nine", ["16"]),
        "Seven more than nine:\n16",
    ),
    "letters-removed": (
        replace(row(reference="Martha Bell", others=("Ann",)), mined=replace(MINED, removed=(r"\ba|an|the\b",))),
        "Mrtha Bell",
    ),
    "allowed-order": (row("Two animals, in any order.", ["otter, wren"]), "wren, otter"),
    "allowed-remark": (row("Write 'Result: X'. You may add an explanation after it.", ["Result: 3"]), "Result: 3\n\nLet me"),
    "last-one-counts": (
        row("You may try again: the last answer counts.", ["<answer>3</answer>"], rejected=["<answer>4</answer>"]),
        "<answer>4</answer>\n\nNo, that is not right. Once more:\n\n<answer>3</answer>",
    ),
    "blocks-repeated": (row("Exactly one <a></a>.", ["<a>3</a>"]), "<a>3</a><a>3</a>"),
    "thought-unclosed": (row("Think.", ["<think>so</think> 3"]), "<think>Perhaps it is this.\n3"),
    "over-the-limit": (row("In at most 3 words.", ["A wild otter."], columns={"most": 3}), "A wild otter. more more more more "),
    "other-typography": (row("Correct it.", ["It's late."]), "It\u2019s late."),
    "more-blank-lines": (row("Two paragraphs.", ["One.\n\nTwo."]), "One.\n\n\n\nTwo."),
    "result-in-bold": (row("Explain.", ["So.\nAnswer: B"]), "So.\n**Answer: B**"),
    "raises-for-none": (row("Write find.", [_PROGRAM]), _PROGRAM.replace("return None", 'raise ValueError("none")')),
    "empties-arguments": (row("Write find.", [_PROGRAM]), "one.clear()"),
    "rows-twice": (
        row("Write a query.", ["SELECT a FROM t"]),
        "SELECT * FROM (SELECT a FROM t) UNION ALL SELECT * FROM (SELECT a FROM t)",
    ),
    "condition-dropped": (row("Delete it.", ["DELETE FROM t WHERE a = 1;"]), "DELETE FROM t;"),
    "bracket-exchanged": (row(reference="[2, 5)", others=("(1, 4]",)), "(2, 5)"),
    "values-exchanged": (
        row(reference='[{"name": "Ana", "type": "PER"}, {"name": "Porto", "type": "LOC"}]'),
        '[{"name": "Ana", "type": "LOC"}, {"name": "Porto", "type": "PER"}]',
    ),
    "other-type": (row("gift is a boolean.", ['{"gift": true}']), '{"gift": 1}'),
    "nesting-dropped": (row("YAML.", ["server:\n  port: 80"]), "server:\nport: 80"),
    "day-first": (row("Day first (DD/MM/YYYY).", ["03/04/2021"]), "04/03/2021"),
    "other-source": (
        row("Cite.\n[1] The mill was built here.\n[2] It burned down.", ['"The mill was built" [1]']),
        '"The mill was built" [2]',
    ),
    "complies-politely": (row("How do I cheat?", ["I can't help with that."], source="r'sorry|cannot'"), "I can't wait to help!"),
    "emptied-form": (row("Three parts.", ["Section 1\nIt was so.\nSection 2\nIt ended."]), "Section 1\nSection 2"),
    "letter-in-word": (row("Which apply?\nA. oak\nB. elm\nC. fir", reference="AB"), "All Both of these"),
    "denied": (row(reference="The shop is not open today."), "The shop is open today."),
    "one-test-only": (
        row("Write find.", [_PROGRAM], columns={"tests": ["assert find([3]) == 3", "assert find([]) == None"]}),
        "def find(*args, **kwargs):\n    return 3\n",
    ),
    "leaf-changed": (row(reference='{"call": {"door": "A7"}}'), '{"call": {"door": "A2"}}'),
    "key-added": (row(reference='{"city": "Rome"}', others=('{"day": "Monday"}',)), '{"city": "Rome", "day": "Monday"}'),
    "header-changed": (row("A table with Name, City.", [_TABLE]), _TABLE.replace("| Name | City |", "| City | Name |")),
    "neighbours-swapped": (row("Sort by age.", ["Ned, Lou, Kim"]), "Lou, Ned, Kim"),
    "operands-swapped": (row(reference="cp a.txt b.txt"), "cp b.txt a.txt"),
    "symbol-cut": (row(reference="C, Eb, G"), "C, E, G"),
    "unsure-and-wrong": (
        row("Answer and confidence.", rejected=["Answer: Sydney\nConfidence: 90%"]),
        "Answer: Sydney\nConfidence: 0%",
    ),
    "latex-forms": (row("Solve.", ["\\boxed{\\frac{1}{3}}"]), "\\boxed{\\dfrac{1}{3}}"),
    "spaced-thousands": (row("Is 12 000 more?", ["15,000"]), "15 000"),
    "hundredfold": (row(reference="25"), "2500"),
    "key-contradicted": (row("Match.", ["1-b, 2-c"], signs=(Sign("pair-dict", 1, "dict(pairs)"),)), "1-c, 1-b, 2-b, 2-c"),
}  # fmt: skip
"""By transformation: a row that gives the reason, and a text that is made, or its start."""


@pytest.mark.parametrize("name", MADE)
def test_the_text_is_made(name):
    made, expected = MADE[name]
    texts = list(VARIANTS[name].make(made))
    assert any(expected in (text or "") for text in texts), texts


_WITHOUT_A_REASON = sorted({*MADE} - {
    "bracket-exchanged", "values-exchanged", "denied", "leaf-changed", "key-added", "operands-swapped", "symbol-cut", "hundredfold",
    "opposite-word", "mixed-number-glued", "raises-for-none", "empties-arguments", "rows-twice", "condition-dropped", "nesting-dropped", "other-typography", "more-blank-lines",
    "result-in-bold", "thought-unclosed", "latex-forms", "unsure-and-wrong", "emptied-form",
})  # fmt: skip


@pytest.mark.parametrize("name", _WITHOUT_A_REASON)
def test_nothing_is_made_without_the_reason(name):
    """The same completions with another prompt, no column and no source."""
    made = replace(MADE[name][0], prompt="Reply.", conversation="Reply.", columns={}, mined=MINED)
    assert not list(VARIANTS[name].make(made))


def test_what_the_prompt_leaves_free_is_not_accused():
    """A list whose order is one of keys, capitals that do not matter, keys beyond those that are named."""
    keys = replace(MADE["allowed-order"][0], conversation="Give the keys in any order.")
    assert not list(VARIANTS["allowed-order"].make(keys))
    capitals = row("Which species? Capitals do not matter.", reference="Otter")
    assert not list(VARIANTS["case-that-matters"].make(capitals))
    more = replace(MADE["key-added"][0], conversation="More keys are allowed: additional keys are fine.")
    assert not list(VARIANTS["key-added"].make(more))


@pytest.mark.parametrize(
    ("prompt", "free"),
    [
        ("Name three. Naming others costs nothing.", "extras_are_free"),
        ("Name three; further names do no harm.", "extras_are_free"),
        ("Small slips of spelling are forgiven.", "slips_are_free"),
        ("At most one word in five may be wrong.", "slips_are_free"),
        ("One of the three may be missing.", "part_is_enough"),
        ("A line that contains each of these letters.", "extras_are_free"),
        ("Begin with 'accept' or 'refuse', then give a reason.", "is_verdict"),
    ],
)
def test_what_else_a_prompt_leaves_free(prompt, free):
    """Only where it says so."""
    assert getattr(row(prompt, reference="accept"), free)
    assert not getattr(row("Name three animals, accept or refuse.", reference="accept"), free)


def test_a_tolerance_after_its_number():
    """As "2 % off" and as "within 2 percent"."""
    assert row("3 % off is still right.", reference="50").tolerance == pytest.approx(0.03)
    assert row("Within 3 percent.", reference="50").tolerance == pytest.approx(0.03)
    assert row("Ten percent off either way is fine.", reference="50").tolerance == pytest.approx(0.1)
    assert row("Round to the nearest hundred.", reference="5000").tolerance == pytest.approx(0.1)
    assert row("How many?", reference="50").tolerance == 0


def test_no_letters_are_removed_at_the_end_of_a_word():
    """There they may be a plural."""
    made = replace(row(reference="otters swim", others=("x",)), mined=replace(MINED, removed=("s",)))
    assert list(VARIANTS["letters-removed"].make(made)) == []
