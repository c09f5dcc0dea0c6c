"""A cell that runs again goes on with what it had: the same work is not done twice, and no widget is left behind."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.diagnostics.labels import read_labels
from workbench.report.settings import label_column
from workbench.samples import Samples, as_samples
from workbench.session.session import DEFAULTS, State

__all__ = ["adopted", "cell", "forget", "keep"]

Place = tuple[str, str, int]
"""A cell, a kind of view, and which of them it is: a cell may show several."""


class _Held(NamedTuple):
    """A view, the state behind it, and the labels it was given, as they were then."""

    state: State
    view: Any
    labels: NDArray[np.int8]


_held: dict[Place, _Held] = {}

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

    A new one takes over what was written in the app, and a store whose file is gone is opened anew.

    Args:
        key: Kind of the view.
        samples: As `State` takes them.
        graders: As `State` takes them.
        settings: As `State` takes them.
    """
    data = as_samples(samples)
    place = _place(key)
    held = None if place is None else _held.get(place)
    if held is not None and _asks_the_same(held, data, {**DEFAULTS, **settings}):
        held.state.take(graders)
        if held.state.labelling.reopen():
            held.state.kept = {}  # what was kept went with the file
        return held.state
    state = State(data, graders, **settings)
    if held is not None:
        state.inherit(held.state)
    return state


def keep(key: str, view: Any) -> None:
    """Remember a view as its cell's; the one it had is closed, its state only where it is another."""
    place = _place(key)
    if place is None:
        return
    name, run = cell()
    _made[name, key] = (run, place[2] + 1)
    before, state = _held.get(place), view.state
    again = before is not None and before.state is state
    labels = before.labels if before is not None and again else _labels(state.samples, state.settings)
    _held[place] = _Held(state, view, labels)
    if before is not None:
        before.view.let_go(end=not again)


def forget(view: Any) -> None:
    """Drop a view that is closed."""
    for place in [place for place, held in _held.items() if held.view is view]:
        del _held[place]


def _asks_the_same(held: _Held, samples: Samples, settings: dict[str, Any]) -> bool:
    """Whether a state answers what is asked for now: labels count by what they say."""
    before = held.state.settings
    return (
        before.keys() == settings.keys()
        and all(before[name] == settings[name] for name in ("labeller", "dataset"))
        and _same_store(before["store"], settings["store"])
        and _same(held.state.samples, samples)
        and np.array_equal(held.labels, _labels(samples, settings))
    )


def _labels(samples: Samples, settings: dict[str, Any]) -> NDArray[np.int8]:
    return read_labels(label_column(samples, settings["labels"]), len(samples))


def _same_store(one: Any, two: Any) -> bool:
    """Whether these lead to one store: a `Store` only to itself, for each one in memory is another; else an address."""
    return one is two or (type(one) is type(two) and bool(one == two))


def _same(one: Samples, two: Samples) -> bool:
    """Whether these are the same rows of the same source with the same contents."""
    if one is two:
        return True
    alike = (len(one), one.source, one.columns) == (len(two), two.source, two.columns)
    return alike and all(
        part(one) == part(two)
        for part in (
            lambda rows: list(rows.ids),
            lambda rows: rows.packed().batches,  # turns, tools and metadata
            lambda rows: rows.problems,
            lambda rows: list(map(repr, rows.references)),  # 1 is not True, and NaN is NaN
            lambda rows: list(rows.groups),
        )
    )
