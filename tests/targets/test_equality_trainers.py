"""The demo's rows through the file of each target, called by that target's own code: the scores that were measured here."""

from __future__ import annotations

import pytest

from tests.targets.equality import check, suite

pytestmark = pytest.mark.install

TARGETS = ["trl", "verl", "openrlhf", "verifiers", "slime", "nova", "gemini"]


@pytest.mark.parametrize("target", TARGETS)
def test_scores_are_the_same(target, tmp_path):
    """384 or 1,920 rows, nine graders and their mean: row by row, with no score where there is none."""
    check(target, tmp_path, whole_of, keeps=PARTS.get(target), keeps_all=target in ALL_PARTS)


PARTS = {"gemini": set()}
"""Graders whose own scores a target keeps, where that is not all of them."""
ALL_PARTS = {"trl"}
"""Targets that keep a grader's score where another has none."""


def whole_of(target, here):
    """TRL adds what there is; verifiers has no rollout where a reward has no score; the others have the suite's mean."""
    names = [entry.name for entry in suite().entries]
    if target == "trl":
        total = sum(entry.weight for entry in suite().entries)
        weights = {entry.name: entry.weight / total for entry in suite().entries}
        rows = zip(*(here[name] for name in names), strict=True)
        return [
            sum(weights[name] * score for name, score in zip(names, row, strict=True) if score is not None)
            for row in rows
        ]
    if target == "verifiers":
        return [
            score if all(here[name][row] is not None for name in names) else None
            for row, score in enumerate(here["combined"])
        ]
    return here["combined"]
