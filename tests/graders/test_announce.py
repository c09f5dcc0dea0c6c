"""Who hears of a definition."""

from __future__ import annotations

import threading

import pytest

import workbench as wb
from workbench.graders import base
from workbench.graders.base import announce, defined, listen


@pytest.fixture(autouse=True)
def _alone(monkeypatch):
    monkeypatch.setattr(base, "_defined", {})
    monkeypatch.setattr(base, "_listeners", [])


async def plain(thread):
    """Half."""
    return 0.5


def named(name, expected="yes"):
    """A grader."""
    return wb.Contains(expected=expected, name=name)


def test_listeners_hear_until_they_end():
    """Each hears every definition, and nothing after its end; ending twice does no harm."""
    one, two = [], []
    end_one, _ = listen(one.append), listen(two.append)
    announce(named("a"))
    end_one()
    end_one()
    announce(named("b"))
    assert ([g.name for g in one], [g.name for g in two]) == (["a"], ["a", "b"])


def test_the_last_definition_of_a_name_counts():
    """A name defined again goes to the end, with its new text."""
    for name, expected in (("a", "1"), ("b", "1"), ("a", "2")):
        announce(named(name, expected))
    assert list(defined()) == ["b", "a"]
    assert defined()["a"].expected == "2"


def test_what_is_kept_has_a_limit():
    """The oldest go."""
    for n in range(base._MAX_DEFINITIONS + 3):
        announce(named(f"g{n}"))
    assert len(defined()) == base._MAX_DEFINITIONS
    assert next(iter(defined())) == "g3"


def test_what_is_given_is_a_copy():
    """Nobody changes what is kept by changing what was read."""
    announce(named("a"))
    defined().clear()
    assert list(defined()) == ["a"]


def test_a_listener_may_listen_and_end_while_it_is_told():
    """No lock is held while listeners are told."""
    heard, ends = [], []

    def on_message(grader):
        heard.append(grader.name)
        ends.append(listen(lambda again: heard.append(f"late {again.name}")))
        ends[0]()

    ends.append(listen(on_message))
    done = threading.Event()
    threading.Thread(
        target=lambda: (announce(named("a")), announce(named("b")), done.set()), daemon=True
    ).start()
    assert done.wait(600)
    assert heard == ["a", "late b"]


def test_the_decorator_announces():
    """Defining a grader with the decorator is told; making one from a text is not."""
    heard = []
    listen(heard.append)

    made = wb.grader(name="told")(plain)
    wb.FunctionGrader.from_source("async def grade(thread):\n    return 0.5\n", name="silent")
    assert heard == [made]
    assert list(defined()) == ["told"]
