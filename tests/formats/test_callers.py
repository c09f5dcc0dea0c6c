"""OpenAI-style functions as functions of a thread."""

import pytest

import workbench as wb
from workbench.formats.callers import with_threads

TEXT = '''from __future__ import annotations

def grade(sample, item):
    """What is in the sample and the item."""
    calls = len(sample["output_tools"])
    return float(item.get("reference", "?") in sample["output_text"]) + calls + 10 * ("output_json" in sample)
'''
ROWS = [
    {"prompt": "q", "completion": text, "expected": want}
    for text, want in (("4", "4"), ("{}", None), ("no", "4"), ("NaN", "N"))
]


@pytest.mark.parametrize("text", [TEXT, TEXT.replace("def grade", "async def grade")])
def test_scores_are_the_same(text):
    """Row by row, with tool calls, JSON and references."""
    grader = wb.FunctionGrader.from_source(text, name="g")
    assert grader.signature == "openai"
    other = with_threads(wb.Suite([grader]))
    assert other[0].signature == "thread"
    assert other[0].validate().ok
    first, second = (suite.run(ROWS, progress=False) for suite in (wb.Suite([grader]), other))
    assert first.scores["g"].tolist() == second.scores["g"].tolist() == [11.0, 10.0, 0.0, 1.0]


def test_other_graders_are_left_alone():
    """A suite without such functions is the same object."""
    suite = wb.Suite([wb.Contains("x")])
    assert with_threads(suite) is suite
