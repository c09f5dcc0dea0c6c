"""Tests that take turns: a run of CI has a part of them, by the number of its turn; all six turns together run every test.

CI has fifteen minutes on two cores. What is slow and rarely breaks alone, such as the same rows through one trainer after another,
runs in every second or third turn there. `WORKBENCH_TURN` holds the turn's number, which `.ci/run` takes from the commit. Without
that variable every test runs, as for a user.

    pytestmark = pytest.mark.turn(0, of=2)      # these run in the turns 0, 2, 4, ...
    @pytest.mark.turns(2)                       # of this test's cases every second, the others in the next turn
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

__all__ = ["MARKERS", "current_turn", "left_out"]

MARKERS = (
    "turn(number, of): runs in every `of`th turn of CI, see tests/turns.py",
    "turns(of): each of its cases runs in every `of`th turn of CI, see tests/turns.py",
)


TURNS = 6
"""In so many turns every test has run; `.ci/run` numbers them from 0."""


def current_turn() -> int | None:
    """The number of this run's turn; None where all tests run.

    Raises:
        ValueError: `WORKBENCH_TURN` is no number.
    """
    number = os.environ.get("WORKBENCH_TURN", "")
    return int(number) if number else None


def left_out(items: Iterable[pytest.Item], turn: int) -> Iterator[pytest.Item]:
    """The tests whose turn it is not.

    Raises:
        ValueError: A test comes again after a number of turns that does not divide `TURNS`.
    """
    cases: Counter[str] = Counter()
    for item in items:
        number, of = _place(item, cases)
        if TURNS % of:
            raise ValueError(f"{item.nodeid}: comes again after {of} turns, which does not divide {TURNS}")
        if (turn - number) % of:
            yield item


def _place(item: pytest.Item, cases: Counter[str]) -> tuple[int, int]:
    """A turn of a test, and after how many turns it comes again."""
    if mark := item.get_closest_marker("turn"):
        return mark.args[0], mark.kwargs["of"]
    if mark := item.get_closest_marker("turns"):
        test = item.nodeid.partition("[")[0]
        cases[test] += 1
        return cases[test], mark.args[0]
    return 0, 1
