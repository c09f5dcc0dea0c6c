"""OpenAI-style functions as functions of a thread."""

import pytest

import workbench as wb
from workbench.formats.platforms.openai import with_threads
from workbench.formats.shared import Losses

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


@pytest.mark.parametrize("platform", ["adaptive", "letta", "osmosis"])
def test_they_leave_for_platforms_with_threads(platform, tmp_path):
    """Exported and read again, the scores are the same."""
    text = "def grade(sample, item):\n    return float(str(item.get('reference', '?')) in sample['output_text'])\n"
    grader = wb.FunctionGrader.from_source(text, name="g")
    grader.validate()
    path = wb.export(grader, tmp_path / f"out.{ {'letta': 'yaml'}.get(platform, 'py') }", platform).paths[0]
    back = wb.load(path)
    first, second = (suite.run(ROWS, progress=False) for suite in (wb.Suite([grader]), back))
    assert first.scores["g"].tolist() == second.scores.iloc[:, 0].tolist() == [1.0, 0.0, 0.0, 1.0]


def test_tool_calls_are_not_lost_quietly(tmp_path):
    """Where code is not given the calls, a function that looks at them is refused."""
    grader = wb.FunctionGrader.from_source(TEXT, name="g")
    grader.validate()
    with pytest.raises(wb.errors.FormatError, match="tool calls"):
        wb.export(grader, tmp_path / "g.py", "adaptive")


def test_tool_calls_reach_code_on_osmosis():
    """Where code is given the calls nothing is lost."""
    grader = wb.FunctionGrader.from_source(TEXT, name="g")
    grader.validate()
    suite = with_threads(wb.Suite([grader]), Losses("osmosis"))
    assert suite[0].signature == "thread"
    with pytest.raises(wb.errors.FormatError, match="tool calls"):
        with_threads(wb.Suite([grader]), Losses("letta"))
