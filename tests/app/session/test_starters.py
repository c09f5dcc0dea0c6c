"""Templates match their titles."""

from __future__ import annotations

import json

import pytest

import workbench as wb
from workbench.app.session.grader_text import TEMPLATES, grader_from_text

CASES = {
    "cites_a_source": [("It is so [1].", 1.0), ("It is so.", 0.0)],
    "has_keys": [('{"name": "a", "price": 1}', 1.0), ('{"name": "a"}', 0.5), ("[1]", 0.0), ("no", 0.0)],
    "mentions": [("A Refund within 30 days.", 1.0), ("refunded in 30 days", 0.5), ("", 0.0)],
    "contains": [("Yes!", 1.0), ("no", 0.0)],
}


def test_names_and_titles_are_unique():
    """None hides another."""
    assert len({one.name for one in TEMPLATES}) == len({one.title for one in TEMPLATES}) == len(TEMPLATES)


@pytest.mark.parametrize("name", CASES)
def test_templates_score_what_they_say(name):
    """Scores of plain completions."""
    grader = grader_from_text(next(one.text for one in TEMPLATES if one.name == name), name)
    for answer, score in CASES[name]:
        assert grader(wb.StringThread([("user", "?"), ("assistant", answer)])).score == score, answer


def test_the_tool_template_reads_calls():
    """1.0 where exactly the expected tools were called."""
    grader = grader_from_text(next(one.text for one in TEMPLATES if one.name == "calls_tools"))
    call = {"id": "1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    for calls, score in (([call], 1.0), ([call, call], 0.0), ([], 0.0)):
        told = [
            {"role": "user", "content": "?"},
            {"role": "assistant", "content": "", **({"tool_calls": calls} if calls else {})},
        ]
        assert grader(wb.StringThread.from_messages(told)).score == score


def test_the_judge_template_is_complete():
    """A judge that needs nothing but a key and a model, which the text has a place for."""
    text = next(one.text for one in TEMPLATES if one.name == "helpful")
    assert isinstance(grader_from_text(text), wb.BinaryJudge)
    assert json.loads(text)["model"] == ""
    assert json.loads(text)["criteria"]
