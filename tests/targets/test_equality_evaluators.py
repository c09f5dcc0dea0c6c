"""Every demo row through the file of each target, called by that target's own code: the scores that were measured here."""

from __future__ import annotations

import pytest

from tests.targets.equality import differences, expected, found, suite

pytestmark = pytest.mark.install

TARGETS = ["inspect", "mlflow", "langsmith", "promptfoo", "eval_protocol"]


@pytest.mark.parametrize("target", TARGETS)
def test_scores_are_the_same(target, tmp_path):
    """1,920 rows, nine graders and their mean: row by row, with no score where there is none."""
    told, here = found(target, tmp_path), expected()
    names = [entry.name for entry in suite().entries]
    whole = whole_of(target, here)
    assert len(whole) == 1920
    assert not differences(told["scores"], whole)[:3]
    functions = {name: name.replace(" ", "_") for name in names}
    parts = {
        name: told["parts"][key] for name in names for key in (name, functions[name]) if key in told["parts"]
    }
    assert PARTS.get(target, set(names)) <= set(parts)
    for name, scores in parts.items():
        known = [None if score is None else here[name][row] for row, score in enumerate(scores)]
        assert not differences(scores, known)[:3], name
        if target in ALL_PARTS:
            assert not differences(scores, here[name])[:3], name


PARTS = {}
"""Graders whose own scores a target keeps, where that is not all of them."""
ALL_PARTS = {"inspect", "mlflow", "langsmith"}
"""Targets that keep a grader's score where another has none."""


def whole_of(target, here):
    """The suite's mean."""
    return here["combined"]
