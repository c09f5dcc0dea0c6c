"""A cell that runs again goes on with what it had: the same work is not done twice, and no widget is left behind."""

from __future__ import annotations

import sys
from typing import Any

from workbench.samples import Samples, as_samples
from workbench.widgets.state import DEFAULTS, State

__all__ = ["adopted", "cell", "forget", "keep"]

Place = tuple[str, str, int]
"""A cell, a kind of view, and which of them it is: a cell may show several."""

_held: dict[Place, tuple[State, Any]] = {}
"""The state behind each view, and the view."""

_made: dict[tuple[str, str], tuple[str, int]] = {}
"""By cell and kind: its last run, and how many views that run has made."""


def cell() -> tuple[str, str]:
    """Which cell runs, by the front end's own name for it, and which run of it; "" where nobody says."""
    if "ipykernel" not in sys.modules:
        return "", ""
    from IPython import get_ipython

    ask = getattr(getattr(get_ipython(), "kernel", None), "get_parent", dict)
    parent: Any = ask() or {}
    run = str(parent.get("header", {}).get("msg_id", ""))
    return str(parent.get("metadata", {}).get("cellId", "")), run


def _place(key: str) -> Place | None:
    """Where the view that is made now belongs."""
    name, run = cell()
    before, count = _made.get((name, key), ("", 0))
    return (name, key, count if run == before else 0) if name else None


def adopted(key: str, samples: Any, graders: Any = None, **settings: Any) -> State:
    """The state this cell had for the same samples, with the graders as they are now; else a new one.

    Args:
        key: Kind of the view.
        samples: As `State` takes them.
        graders: As `State` takes them.
        settings: As `State` takes them.
    """
    data = as_samples(samples)
    place = _place(key)
    held = None if place is None else _held.get(place)
    if (
        held is not None
        and _same(held[0].samples, data)
        and _equal(held[0].settings, {**DEFAULTS, **settings})
    ):
        state = held[0]
        state.take(graders)
        return state
    return State(data, graders, **settings)


def keep(key: str, view: Any) -> None:
    """Remember a view as its cell's; the one it had is closed, its state only where it is another."""
    place = _place(key)
    if place is None:
        return
    name, run = cell()
    _made[name, key] = (run, place[2] + 1)
    before = _held.get(place)
    _held[place] = (view.state, view)
    if before is not None:
        before[1].let_go(end=before[0] is not view.state)


def forget(view: Any) -> None:
    """Drop a view that is closed."""
    for place in [place for place, held in _held.items() if held[1] is view]:
        del _held[place]


def _equal(one: dict[str, Any], two: dict[str, Any]) -> bool:
    """Whether settings are the same; columns of labels count by what they hold."""
    return one.keys() == two.keys() and all(
        one[name] is two[name] or repr(one[name]) == repr(two[name]) for name in one
    )


def _same(one: Samples, two: Samples) -> bool:
    """Whether these are the same rows with the same contents."""
    if one is two:
        return True
    alike = len(one) == len(two) and list(one.ids) == list(two.ids)
    return alike and one.packed().batches == two.packed().batches
