"""Saved views, copied as code and opened again: the same rows, after any changes meanwhile."""

from __future__ import annotations

import ast

import pytest

import workbench as wb
from tests.app.view.page import NASTY, RULES, YES, coded
from workbench.core.errors import WorkbenchError

REFUSED = [{"label": True}, {"grader": "exact", "passed": False}]


@pytest.fixture
def page(page_of):
    """A page with two rules, graded."""
    return page_of(labels="good").opened()


def somewhere(page):
    """Go somewhere that is not where one begins."""
    page.tell("choose", name="exact")
    page.tell("look", where=REFUSED)
    page.tell("search", text="question")
    page.tell("sort", key="completion", descending=True)
    page.tell("columns", columns=[{"key": "prompt", "shown": True, "width": 240}])
    page.tell("select", row=3)
    return page.rows()


def elsewhere(page):
    """Undo all of it."""
    page.tell("choose", name="has yes")
    page.tell("look", where=[])
    page.tell("search", text="")
    page.tell("sort", key="", descending=False)
    page.tell("columns", columns=[{"key": "prompt", "shown": False, "width": 0}])
    page.tell("select", row=None)


def assert_somewhere(page, rows):
    """It is as `somewhere` left it."""
    assert page.chosen["name"] == "exact"
    assert page.rows() == rows
    assert page.table["search"] == "question"
    assert page.table["sort"] == {"key": "completion", "descending": True}
    prompt = next(column for column in page.table["columns"] if column["key"] == "prompt")
    assert (prompt["shown"], prompt["width"]) == (True, 240)
    assert page.reader["id"] == "row-3"
    assert page.problem is None


def test_a_saved_view_opens_as_it_was(page):
    """Grader, filters, search, order, columns and the open row come back, and nothing of what was open before stays."""
    rows = somewhere(page)
    assert len(rows) == 10
    page.tell("save_view", name="lost ones")
    assert page.code == "app.open_view('lost ones')"
    elsewhere(page)
    assert page.ask("views") == ["lost ones"]
    page.tell("open_view", name="lost ones")
    assert_somewhere(page, rows)


def test_another_notebook_opens_it(page_of, tmp_path):
    """It is in the store, under the dataset's name."""
    address = f"sqlite:///{tmp_path / 'w.db'}"
    first = page_of(labels="good", store=address, dataset="d").opened()
    rows = somewhere(first)
    first.tell("save_view", name=NASTY[:20])
    second = page_of(labels="good", store=address, dataset="d").opened()
    assert second.ask("views") == [NASTY[:20]]
    second.tell("open_view", name=NASTY[:20])
    assert_somewhere(second, rows)
    other = page_of(labels="good", store=address, dataset="another").opened()
    assert other.ask("views") == []
    other.tell("open_view", name=NASTY[:20])
    assert "no saved view" in other.problem
    second.tell("delete_view", name=NASTY[:20])
    assert first.ask("views") == []


def test_a_view_as_code_opens_it(page):
    """What is copied is the call with the state itself."""
    rows = somewhere(page)
    code = page.ask("view_code")
    assert page.code == code
    call = ast.parse(code, mode="eval").body
    state = ast.literal_eval(call.args[0])
    elsewhere(page)
    with page.session.guard.lock:
        page.view.saved.open(state)
    assert_somewhere(page, rows)


def test_rows_that_an_edit_changed_are_named(page_of):
    """Such rows change with every edit: the view contains those that were shown."""
    page = page_of(graders=(coded(),), labels="good").opened()
    page.typed("coded", YES.replace('"yes"', '"no, 1"'))
    page.tell("look", where=[{"changed": "bad_accepted"}])
    rows = page.rows()
    assert rows
    page.tell("save_view", name="changed")
    page.tell("back", name="coded")
    page.settled()
    page.tell("open_view", name="changed")
    assert page.rows() == rows
    assert page.problem is None


def test_a_comparison_is_part_of_the_view(page):
    """Which two, and which of the four groups."""
    page.tell("mode", mode="compare")
    page.tell("compare", a="exact", b="has yes")
    page.tell("quadrant", key="neither", only="bad", search="question")
    page.tell("save_view", name="both refuse")
    page.tell("compare", a="has yes", b="exact")
    page.tell("quadrant", key="a", only="", search="")
    page.tell("mode", mode="grade")
    page.tell("open_view", name="both refuse")
    assert page.mode == "compare"
    assert (page.compare["a"], page.compare["b"], page.compare["chosen"]) == ("exact", "has yes", "neither")
    assert (page.compare["list"]["only"], page.compare["list"]["search"]) == ("bad", "question")


def test_a_view_of_a_grader_that_is_gone_says_so(page):
    """And changes nothing."""
    somewhere(page)
    page.tell("save_view", name="mine")
    elsewhere(page)
    page.tell("remove", name="exact")
    page.tell("open_view", name="mine")
    assert "not in the session" in page.problem
    assert page.table["filters"] == []
    assert page.chosen["name"] == "has yes"


@pytest.mark.parametrize("name", ["", " ", "x" * 300, "a\nb"])
def test_a_name_that_cannot_be_kept_is_refused(page, name):
    """With what a name may be."""
    page.tell("save_view", name=name)
    assert "short printable text" in page.problem


@pytest.mark.parametrize(
    "state", [7, [], {"colour": "red"}, {"mode": "no"}, {"where": [{"what": 1}]}, {"where": [{"rows": [99]}]}]
)
def test_what_is_no_view_changes_nothing(state):
    """Errors name what was found."""
    app = wb.Workbench([{"prompt": "p", "completion": "c"}], list(RULES), store=None)
    before = app.view_state
    with pytest.raises(WorkbenchError):
        app.open_view(state)
    assert app.view_state == before
    app.close()
