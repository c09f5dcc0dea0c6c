"""The demo's rows through the file of each target, called by that target's own code: the scores that were measured here."""

from __future__ import annotations

import pytest

from tests.targets.equality import check

pytestmark = pytest.mark.install

TARGETS = ["inspect", "mlflow", "langsmith", "promptfoo", "eval_protocol"]


@pytest.mark.parametrize("target", TARGETS)
def test_scores_are_the_same(target, tmp_path):
    """384 or 1,920 rows, nine graders and their mean: row by row, with no score where there is none."""
    check(target, tmp_path, whole_of, keeps_all=target in ALL_PARTS)


ALL_PARTS = {"inspect", "mlflow", "langsmith"}
"""Targets that keep a grader's score where another has none."""


def whole_of(target, here):
    """The suite's mean."""
    return here["combined"]
