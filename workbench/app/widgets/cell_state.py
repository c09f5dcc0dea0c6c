"""Continue the session of a cell that runs again: work is not repeated, and its old widgets are closed."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.labels import read_labels
from workbench.app.session.session import DEFAULTS, Session
from workbench.data.samples import Samples, as_samples
from workbench.report.settings import label_column

Place = tuple[str, str, int]
"""A cell, a kind of view, and the view's index, because a cell may show several."""


class _CellView(NamedTuple):
    """A view, its session, whether it owns the session, and a copy of the labels it was given."""

    session: Session
    view: Any
    owns: bool
    labels: NDArray[np.int8]


_views: dict[Place, _CellView] = {}

_runs: dict[tuple[str, str], tuple[str, int]] = {}
"""By cell and kind: its last run, and how many views that run has created."""


def current_cell() -> tuple[str, str]:
    """The running cell's id from the front end, and the number of its run; "" if unknown."""
    # Looked up, not imported: if no kernel has loaded it, no cell runs.
    if "ipykernel" not in sys.modules:
        return "", ""
    from IPython import get_ipython

    get_parent = getattr(getattr(get_ipython(), "kernel", None), "get_parent", dict)
    parent: Any = get_parent() or {}
    run = str(parent.get("header", {}).get("msg_id", ""))
    return str(parent.get("metadata", {}).get("cellId", "")), run


def _place(kind: str) -> Place | None:
    """The cell of a view that is being created; None outside of a cell."""
    name, run = current_cell()
    last_run, count = _runs.get((name, kind), ("", 0))
    return (name, kind, count if run == last_run else 0) if name else None


def session_of_cell(kind: str, samples: Any, graders: Any = None, **settings: Any) -> Session:
    """The session this cell had for the same samples, with the current graders; else a new one.

    A new one takes over what was written in the app; a store whose file was deleted is opened again.

    Args:
        kind: Of the view.
        samples: As `Session` takes them.
        graders: As `Session` takes them.
        settings: As `Session` takes them.
    """
    data = as_samples(samples)
    place = _place(kind)
    previous = None if place is None else _views.get(place)
    if previous is not None and not previous.owns:
        previous = None  # a session owned by another view continues without this cell
    if previous is not None and _fits(previous, data, {**DEFAULTS, **settings}):
        previous.session.graders.set_given(graders)
        previous.session.reopen_storage()
        return previous.session
    session = Session(data, graders, **settings)
    if previous is not None:
        session.continue_from(previous.session)
    return session


def remember_view(kind: str, view: Any, *, owns: bool) -> None:
    """Record a cell's view; its previous view is closed, and that view's session if it is a different one.

    Args:
        kind: Of the view.
        view: The view.
        owns: Whether it owns its session; otherwise the session continues when the view is closed.
    """
    place = _place(kind)
    if place is None:
        return
    name, run = current_cell()
    _runs[name, kind] = (run, place[2] + 1)
    previous, session = _views.get(place), view.session
    same = previous is not None and previous.session is session
    if previous is not None and same:
        labels = previous.labels
    else:
        labels = _labels(session.samples, session.settings) if owns else np.empty(0, np.int8)
    _views[place] = _CellView(session, view, owns, labels)
    if previous is not None:
        previous.view.dispose(end_session=previous.owns and not same)


def forget_view(view: Any) -> None:
    """Forget a view that is closed."""
    for place in [place for place, cell_view in _views.items() if cell_view.view is view]:
        del _views[place]


def _fits(previous: _CellView, samples: Samples, settings: dict[str, Any]) -> bool:
    """Whether a session has the given samples and settings: labels are compared by value."""
    before = previous.session.settings
    return (
        before.keys() == settings.keys()
        and all(before[name] == settings[name] for name in ("labeller", "dataset"))
        and _same_store(before["store"], settings["store"])
        and _same_samples(previous.session.samples, samples)
        and np.array_equal(previous.labels, _labels(samples, settings))
    )


def _labels(samples: Samples, settings: dict[str, Any]) -> NDArray[np.int8]:
    return read_labels(label_column(samples, settings["labels"]), len(samples))


def _same_store(a: Any, b: Any) -> bool:
    """Whether two values refer to one store: a `Store` equals only itself, because each in memory differs; others by address."""
    return a is b or (type(a) is type(b) and bool(a == b))


def _same_samples(a: Samples, b: Samples) -> bool:
    """Whether these are the same rows of the same source with the same contents."""
    if a is b:
        return True
    alike = (len(a), a.source, a.columns) == (len(b), b.source, b.columns)
    return alike and all(
        part(a) == part(b)
        for part in (
            lambda rows: list(rows.ids),
            lambda rows: rows.content_digest(),  # turns, tools and metadata
            lambda rows: rows.problems,
            lambda rows: list(map(repr, rows.references)),  # 1 is not True, and NaN is NaN
            lambda rows: list(rows.groups),
        )
    )
