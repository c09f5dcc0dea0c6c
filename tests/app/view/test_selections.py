"""Selections: every part shows its share of the selected rows; they are saved by name, opened, counted and removed."""

from __future__ import annotations

import ast

import numpy as np
import pytest

import workbench as wb
from tests.app.view.page import NASTY, ROWS, RULES, coded
from workbench.core.errors import WorkbenchError

MANY = 'async def grade(thread):\n    return (len(thread.completion() or "") * 7 % 10) / 10 + 0.01\n'
ACCEPTED = [{"grader": "has yes", "passed": True}]


@pytest.fixture
def page(page_of):
    """A page with two rules, graded."""
    return page_of(labels="good").opened()


def test_every_part_has_its_share(page):
    """The bars of all graders, each value of the scores, and the lines of the origin count the selected rows."""
    assert page.table["picked"] is None
    page.tell("look", where=[{"column": "writer", "is": "two"}])
    picked, count = page.table["picked"], page.table["count"]
    assert 0 < count < 60
    assert all(sum(counts.values()) == count for counts in picked["graders"].values())
    assert set(picked["graders"]) == {"has yes", "exact"}
    assert sum(map(sum, picked["scores"])) == count
    page.tell("search", text="question 1")
    assert sum(page.table["picked"]["graders"]["exact"].values()) == page.table["count"] < count
    page.tell("search", text="")
    page.tell("look", where=[])
    assert page.table["picked"] is None


def test_a_bar_contains_the_selected_rows_that_a_click_on_it_shows(page_of):
    """Of few values from high to low, of many in bins; known bad ones on their side."""
    samples = [{**row, "completion": row["completion"] + "a" * at} for at, row in enumerate(ROWS)]
    page = page_of(
        samples, (coded(MANY, "many"), wb.Contains(expected="yes", name="few")), labels="good"
    ).opened()
    for name in ("many", "few"):
        page.tell("choose", name=name)
        scores = page.chosen["scores"]
        ends = [[each["lo"], each["hi"]] for each in scores["bins"]] or [
            [each["value"]] * 2 for each in scores["values"]
        ]
        page.tell("look", where=[{"column": "writer", "is": "two"}])
        shares = page.table["picked"]["scores"]
        assert len(shares) == len(ends)
        for share, (lo, hi) in zip(shares, ends, strict=True):
            for side, condition in ((0, {"label": True}), (1, {"label": False})):
                page.tell(
                    "look",
                    where=[{"column": "writer", "is": "two"}, condition, {"grader": name, "score": [lo, hi]}],
                )
                assert page.table["count"] == share[side]


def test_the_origin_of_a_finding_follows(page_of):
    """Each of its lines counts the selected rows among its evidence."""
    rows = [
        {"id": f"r{n}", "prompt": f"q{n}", "completion": "yes", "good": n % 2 == 0, "writer": "hasty" if n % 2 else f"w{n % 4}", "part": f"p{n % 3}"}
        for n in range(80)
    ]  # fmt: skip
    page = page_of(
        rows,
        (wb.Regex("yes", name="any") if n else wb.ExactMatch(expected="yes", name="one") for n in range(1)),
        labels="good",
    ).opened()
    lines = (page.chosen["from"] or {"lines": []})["lines"]
    page.tell("look", where=[{"column": "part", "is": "p1"}])
    for share, line in zip(page.table["picked"]["origin"], lines, strict=True):
        page.tell("look", where=[*line["where"], {"column": "part", "is": "p1"}])
        assert page.table["count"] == share


def test_a_selection_is_saved_opened_and_removed(page):
    """By name; conditions, search, and rows that an edit named; the grader and the order stay as they are."""
    page.tell("look", where=[{"label": True}, *ACCEPTED])
    page.tell("search", text="question 1")
    rows = page.rows()
    page.tell("save_selection", name="hard maths")
    assert page.code == "app.select('hard maths')"
    page.tell("search", text="")
    page.tell("look", where=[])
    page.tell("choose", name="exact")
    page.tell("mode", mode="label")
    assert page.ask("selections") == [{"name": "hard maths", "count": len(rows)}]
    page.tell("open_selection", name="hard maths")
    assert (page.rows(), page.table["search"], page.chosen["name"], page.mode) == (
        rows,
        "question 1",
        "exact",
        "grade",
    )
    assert page.ask("views") == []
    page.tell("delete_selection", name="hard maths")
    assert page.ask("selections") == []
    page.tell("open_selection", name="hard maths")
    assert "no saved view" in page.problem


def test_a_selection_and_a_view_do_not_replace_each_other(page):
    """The other kind's name is refused; nothing selected is no selection."""
    page.tell("save_selection", name="mine")
    assert "all rows are shown" in page.problem
    page.tell("save_view", name="mine")
    page.tell("look", where=ACCEPTED)
    page.tell("save_selection", name="mine")
    assert "a saved view has this name" in page.problem
    page.tell("save_selection", name=NASTY[:30].strip())
    page.tell("save_view", name=page.ask("selections")[0]["name"] if page.ask("selections") else "other")
    assert page.ask("views")


def test_a_selection_of_a_grader_that_is_gone_is_listed(page):
    """It cannot be opened, and changes nothing."""
    page.tell("look", where=[{"grader": "exact", "passed": False}])
    page.tell("save_selection", name="refused")
    page.tell("look", where=[])
    page.tell("remove", name="exact")
    page.tell("run")
    page.settled()
    if "exact" not in page.view.graded.report.grades:
        assert page.ask("selections") == [{"name": "refused", "count": -1}]


def test_the_code_of_a_selection_selects_it(page):
    """Also of what no condition names, such as changed rows: these are named by id."""
    page.tell("look", where=[{"label": False}])
    page.tell("search", text="question 2")
    rows = page.rows()
    call = ast.parse(page.ask("selection_code"), mode="eval").body
    page.tell("search", text="")
    page.tell("look", where=[])
    with page.session.guard.lock:
        page.view.saved.select(*map(ast.literal_eval, call.args))
    assert page.rows() == rows


def test_a_cell_selects(tmp_path):
    """`app.select` by conditions or name returns the rows, which are `app.selected`; an unknown name changes nothing."""
    app = wb.Workbench(ROWS, list(RULES), labels="good", store=f"sqlite:///{tmp_path}/w.db")
    app.session.runs.start(0).report()
    app.session.results.report  # noqa: B018 (shown)
    rows = app.select({"label": False})
    assert len(rows) == len(app.selected) == 30
    app.save_selection("bad ones")
    assert app.selections == ["bad ones"]
    assert len(app.select()) == 60
    assert np.array_equal(app.select("bad ones").index, rows.index)
    for wrong in (("other",), ({"what": 1},), (7,), ("bad ones", {"label": True})):
        with pytest.raises(WorkbenchError):
            app.select(*wrong)
    assert len(app.selected) == 30
    app.close()
