"""Rows without a completion: unscored in every file, and never taken for an empty text. Trainers' are in `tests/deploy/reward`."""

import runpy

import pytest

import workbench as wb

GRADER = wb.Length(maximum=5)
"""Accepts the empty answer."""
EXAMPLE = {"contents": [{"role": "user", "parts": [{"text": "q"}]}]}
NO_SCORE = [
    ("gemini", "evaluate", (EXAMPLE, {"parts": []})),
    ("gemini", "evaluate", (EXAMPLE, {})),
    ("gemini", "evaluate", (EXAMPLE, None)),
    ("gemini", "evaluate", (EXAMPLE, {"candidates": [{"content": {"parts": [{"text": "a"}]}}]})),
    ("promptfoo", "get_assert", (None, {"prompt": "q"})),
    ("langsmith", "length", ({"prompt": "q"}, None, None)),
    ("langsmith", "length", ({"prompt": "q"}, {}, None)),
    ("langsmith", "length", ({"prompt": "q"}, {"output": None}, None)),
    ("together", "reward", (None, "4")),
    ("together", "reward", (4, "4")),
]
SCORE = [
    ("gemini", "evaluate", (EXAMPLE, {"parts": [{"text": ""}]})),
    ("promptfoo", "get_assert", ("", {"prompt": "q"})),
    ("promptfoo", "get_assert", ({"a": 1}, {"prompt": "q"})),
    ("langsmith", "length", ({"prompt": "q"}, {"output": ""}, None)),
    ("langsmith", "length", ({"prompt": "q"}, {"messages": [{"role": "assistant", "content": "a"}]}, None)),
    ("together", "reward", ("", None)),
]


def score(target, name, call, folder):
    path = folder / "f.py"
    wb.export([GRADER], path, target)
    try:
        found = runpy.run_path(str(path))[name](*call)
    except RuntimeError as error:
        if not str(error).startswith("no score: "):
            raise
        return None
    if target == "promptfoo" and found["reason"].startswith("no score: "):
        return None
    return found["score"] if isinstance(found, dict) else found


@pytest.mark.parametrize(("target", "name", "call"), NO_SCORE)
def test_no_answer_is_no_score(target, name, call, tmp_path):
    assert score(target, name, call, tmp_path) is None


@pytest.mark.parametrize(("target", "name", "call"), SCORE)
def test_an_empty_answer_is_one(target, name, call, tmp_path):
    assert isinstance(score(target, name, call, tmp_path), float)
