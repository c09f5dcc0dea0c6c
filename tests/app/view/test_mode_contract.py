"""What is true of every registered mode of the view."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.app.view import GRADE, mode_kinds, mode_titles
from workbench.app.widgets.app import WorkbenchWidget

ROOT = Path(__file__).resolve().parents[3]
KINDS = mode_kinds()


@pytest.mark.parametrize("name", KINDS)
class TestEveryMode:
    """Each mode by its name."""

    def test_it_alone_is_computed(self, name, page_of):
        """An open mode has its part of the state, which is JSON; those of closed modes are None."""
        page = page_of(labels="good").opened()
        page.tell("mode", mode=name)
        assert page.mode == name
        assert isinstance(page.state[KINDS[name].state], dict)
        page.tell("mode", mode=GRADE)
        assert [page.state[kind.state] for kind in KINDS.values()] == [None] * len(KINDS)

    def test_it_has_a_button_and_a_trait(self, name, page_of):
        """The toolbar lists it by position, and the widget publishes its part of the state."""
        titles = page_of().opened().head["modes"]
        assert titles[0] == [GRADE, "Grade"]
        assert [list(title) for title in mode_titles().items()] == titles
        assert KINDS[name].state in WorkbenchWidget.class_trait_names(sync=True)

    def test_the_page_draws_it(self, name):
        """The front end has a component for it, and subscribes to its part of the state."""
        source = ROOT / "frontend" / "src"
        assert f"{name}: " in (source / "App.tsx").read_text("utf-8")
        assert f'"{KINDS[name].state}"' in (source / "link.ts").read_text("utf-8")
        assert f'"{name}"' in (source / "protocol.ts").read_text("utf-8")
