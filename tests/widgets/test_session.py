"""Cells and their views, as a notebook's front end names them."""

from __future__ import annotations

import uuid

import pytest

import workbench as wb
from tests.widgets import using
from workbench.widgets import session


class Notebook:
    """Says which cell runs, and which run of it."""

    def __init__(self):
        self.now = ("", "")

    def run(self, name, make):
        """Run a cell."""
        self.now = (name, uuid.uuid4().hex)
        try:
            return make()
        finally:
            self.now = ("", "")


@pytest.fixture
def notebook(monkeypatch):
    """A notebook; everything held of it is closed in the end."""
    made = Notebook()
    monkeypatch.setattr(session, "cell", lambda: made.now)
    yield made
    for _, view in list(session._held.values()):
        view.close()
    assert session._held == {}


def test_a_cell_run_again_keeps_its_state_and_closes_its_view(notebook):
    """Same samples, equal in content or the very same: the state goes on, the old view is gone."""
    first = notebook.run("a", using.app_of)
    report = using.ran(first).report
    again = notebook.run("a", lambda: using.app_of(samples=[dict(row) for row in using.ROWS]))
    assert again.state is first.state
    assert again.report is report
    assert first.children == ()
    assert again.children != ()


@pytest.mark.parametrize(
    "changed",
    [{"samples": using.ROWS[:5]}, {"labels": "good"}, {"labeller": "bob"}, {"dataset": "other"}, {"store": "sqlite://"},
     {"samples": [{**row, "completion": "x"} for row in using.ROWS]}],
)  # fmt: skip
def test_another_question_is_another_state(notebook, changed):
    """Other rows, other contents of the same ids, or another setting begin anew; the old state is closed."""
    first = notebook.run("a", using.app_of)
    again = notebook.run("a", lambda: using.app_of(**changed))
    assert again.state is not first.state
    first.state.add(using.gated(None, name="alive"))  # it hears nothing, and harms nothing
    assert "alive" not in again.graders


def test_graders_of_the_second_run_are_taken(notebook):
    """Graders are as the cell says now; what was written in the app stays."""
    first = notebook.run("a", using.app_of)
    first.state.write(using.HALF, name="mine")
    again = notebook.run("a", lambda: using.app_of([using.GRADERS[0]]))
    assert again.state is first.state
    assert list(again.graders) == ["has yes", "mine"]


def test_cells_and_kinds_do_not_share(notebook):
    """Another cell, or another kind of view in one cell, has its own state."""
    one = notebook.run("a", using.app_of)
    two = notebook.run("b", using.app_of)
    three = notebook.run("a", lambda: wb.widgets.RunPanel(using.ROWS, list(using.GRADERS), store=None))
    assert len({id(view.state) for view in (one, two, three)}) == 3
    assert one.children != ()


def test_several_of_a_kind_in_one_cell(notebook):
    """Views of one run stand beside each other; a second run gives each its own state back."""

    def both():
        return [using.app_of(), using.app_of(samples=using.ROWS[:3])]

    one, two = notebook.run("a", both)
    assert one.children != () != two.children
    three, four = notebook.run("a", both)
    assert (three.state is one.state, four.state is two.state) == (True, True)
    assert (one.children, two.children) == ((), ())


def test_a_closed_view_is_forgotten(notebook):
    """After close a cell begins anew."""
    first = notebook.run("a", using.app_of)
    first.close()
    assert notebook.run("a", using.app_of).state is not first.state


def test_a_view_that_cannot_be_made_leaves_the_cell_as_it_was(notebook):
    """An error in a second run leaves the first view in the page and its state known."""
    first = notebook.run("a", using.app_of)
    with pytest.raises(wb.errors.SamplesError):
        notebook.run("a", lambda: using.app_of(samples="no such file.jsonl"))
    assert first.children != ()
    assert notebook.run("a", using.app_of).state is first.state
