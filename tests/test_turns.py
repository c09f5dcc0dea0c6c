"""Tests that take turns: in as many turns as there are, each of them runs once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.turns import TURNS, current_turn, left_out


class Item:
    """A test as pytest collects it, as far as turns go."""

    def __init__(self, nodeid, mark=None):
        self.nodeid, self._mark = nodeid, mark

    def get_closest_marker(self, name):
        return self._mark if self._mark is not None and self._mark.name == name else None


ITEMS = [
    Item("a.py::always"),
    Item("a.py::first", pytest.mark.turn(0, of=2).mark),
    Item("a.py::second", pytest.mark.turn(1, of=2).mark),
    *(Item(f"b.py::case[{case}]", pytest.mark.turns(3).mark) for case in range(7)),
]


def run_in(turn):
    left = list(left_out(ITEMS, turn))
    return [item.nodeid for item in ITEMS if item not in left]


def test_each_case_runs_once_in_as_many_turns_as_there_are():
    """None is forgotten, and none runs more often than it should."""
    turns = [run_in(turn) for turn in range(6)]
    assert all("a.py::always" in turn for turn in turns)
    assert sum("a.py::first" in turn for turn in turns) == sum("a.py::second" in turn for turn in turns) == 3
    for case in range(7):
        assert sum(f"b.py::case[{case}]" in turn for turn in turns) == 2
    assert all(sum("case" in name for name in turn) in {2, 3} for turn in turns)


def test_ci_has_as_many_turns():
    """The number is written in the script, too."""
    text = (Path(__file__).resolve().parents[1] / ".ci" / "run").read_text("utf-8")
    assert f"% {TURNS}))" in text
    assert f"of 0 to {TURNS - 1};" in text


def test_a_test_that_would_be_left_out_for_longer_is_refused():
    """Every fourth turn is in none of six twice, and in some of them not at all."""
    with pytest.raises(ValueError, match="does not divide 6"):
        list(left_out([Item("a.py::rare", pytest.mark.turn(0, of=4).mark)], 0))


def test_without_a_turn_everything_runs(monkeypatch):
    """A user has set no turn; what is no number is refused."""
    monkeypatch.delenv("WORKBENCH_TURN", raising=False)
    assert current_turn() is None
    monkeypatch.setenv("WORKBENCH_TURN", "4")
    assert current_turn() == 4
    monkeypatch.setenv("WORKBENCH_TURN", "some")
    with pytest.raises(ValueError, match="some"):
        current_turn()
