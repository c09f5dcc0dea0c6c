"""A target's lines with `await` in them: what is changed, and what is unchanged."""

import ast
import re

import pytest

import workbench as wb
from tests.formats.targets.test_targets import TARGETS
from workbench.formats.targets.base import ExportPlan, Part
from workbench.formats.targets.judging.waiting import waiting
from workbench.judges import GuardrailJudge

WAITING = [name for name, target in TARGETS.items() if target.waits]
JUDGE = GuardrailJudge(model="m")
PLANS = [
    ExportPlan(parts, rule, on_error)
    for parts in [
        (Part("judge", "judge", "", {}, JUDGE),),
        (Part('Ä ☕ "x"', "x", "", {}, JUDGE), Part("b", "b", "", {"weight": 2.0})),
    ]
    for rule in (None, wb.combine.Mean(), wb.combine.Sum(), wb.combine.AllPass())
    for on_error in (None, 0.0)
]


def by_patterns(text):
    """What the lines became by regular expressions, before they were changed where the parser finds them."""
    text = re.sub(r"\[(?:await (.*)|_wb_drive\((.*)\)) for (.*)\]", r"await _wb_together(\1\2 for \3)", text)
    text = re.sub(r"= _wb_drive\((.*)\)$", r"= await \1", text, flags=re.MULTILINE)

    def inside(node):
        for child in ast.iter_child_nodes(node):
            yield child
            if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from inside(child)

    def must_wait(node):
        return isinstance(node, ast.FunctionDef) and any(isinstance(one, ast.Await) for one in inside(node))

    while names := [node.name for node in ast.parse(text).body if must_wait(node)]:
        for name in names:
            text = re.sub(rf"^def {name}\(", f"async def {name}(", text, flags=re.MULTILINE)
            if name.startswith("_wb_"):
                text = re.sub(rf"(?<!def )\b{name}\(", f"await {name}(", text)
    return text


@pytest.mark.parametrize("name", WAITING)
def test_the_same_bytes_as_by_patterns(name):
    """Every target whose functions wait, with each rule: files that were written before stay readable."""
    for plan in PLANS:
        text = TARGETS[name].lines(plan)
        assert waiting(text) == by_patterns(text)
        assert "_wb_drive" not in waiting(text)


def test_strings_comments_and_other_functions_stay():
    """Only code is changed, at any position in a line, also after multi-byte letters."""
    text = '''
def _wb_scores(rows):
    """[_wb_drive(x) for x in y] = _wb_drive(z)"""
    # = _wb_drive(z)
    words = {"Ä☕ _wb_one(": _wb_one(rows[0])}
    return [_wb_drive(_wb_ask("Ä☕ = _wb_drive(x)", row)) for row in rows if row], words


def _wb_one(row):
    return _wb_drive(_wb_ask(row)).score + _wb_drive(_wb_ask(row))[0]


def score(rows):
    return [_wb_other(row) for row in _wb_scores(rows)[0]]
'''
    expected = '''
async def _wb_scores(rows):
    """[_wb_drive(x) for x in y] = _wb_drive(z)"""
    # = _wb_drive(z)
    words = {"Ä☕ _wb_one(": await _wb_one(rows[0])}
    return await _wb_together(_wb_ask("Ä☕ = _wb_drive(x)", row) for row in rows if row), words


async def _wb_one(row):
    return (await _wb_ask(row)).score + (await _wb_ask(row))[0]


async def score(rows):
    return [_wb_other(row) for row in (await _wb_scores(rows))[0]]
'''
    assert waiting(text) == expected


def test_nothing_to_wait_for():
    """Lines that drive nothing are left alone."""
    text = "def score(rows):\n    return [len(row) for row in rows]\n"
    assert waiting(text) == text
