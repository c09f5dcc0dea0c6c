"""Panels that are closed in the end."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.widgets import using


@pytest.fixture
def make():
    """Make panels; they are closed in the end."""
    made = []

    def new(name, samples=using.ROWS, graders=using.GRADERS, **settings):
        given = graders if graders is None or isinstance(graders, wb.Suite) else list(graders)
        made.append(getattr(wb.widgets, name)(samples, given, **{"store": None, **settings}))
        return made[-1]

    yield new
    for panel in made:
        panel.close()


@pytest.fixture
def at_once(make):
    """A panel on the session of a run of all rows."""

    def new(name, **settings):
        panel = make(name, **settings)
        using.ran(panel)
        return panel

    return new
