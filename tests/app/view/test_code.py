"""The same in code: the line at the foot gives what the page shows, after every action that changes it."""

from __future__ import annotations

import json

import pytest

import workbench as wb
from tests.app.view.page import NO, ROWS, RULES, coded
from workbench.app.session.trial import with_reference
from workbench.app.view.app import AppView

BAD = {"label": False}


@pytest.fixture
def page(page_of):
    """A page with two rules and a grader of code, graded."""
    return page_of(graders=(*RULES, coded()), labels="good").opened()


def value(page, name=""):
    """What the code of a page gives: the value of its last line, or of a name that it sets."""
    *lines, last = page.code.splitlines()
    space = {"wb": wb, "app": App(page)}
    exec("\n".join([*lines, last] if name else lines), space)
    return space[name] if name else eval(last, space)


class App:
    """What the lines of code read of an app."""

    def __init__(self, page):
        self.samples, self.report = page.session.samples, page.session.results.report
        self.graders, self.labels_of = page.session.graders.by_name, page.session.labels.for_rates


def shown_ids(page):
    """Ids of the rows in sight, ascending by row."""
    return sorted(page.rows(), key=lambda name: int(name.removeprefix("row-")))


def code_ids(page):
    """Ids of the rows that the code gives."""
    return sorted(value(page)["sample"], key=lambda name: int(name.removeprefix("row-")))


def test_what_was_graded_at_once_is_the_first_line(page):
    """Before any action: the lines give the report that is shown."""
    report = value(page)
    assert report.scores.equals(page.session.results.report.scores)
    assert page.session.code.text.startswith("rows = app.samples\n")


def test_filters_and_words_are_in_it_until_they_are_taken_away(page):
    """The rows of the code are those on the page, after every step."""
    page.tell("look", where=[BAD])
    assert code_ids(page) == shown_ids(page)
    assert len(value(page)) == 30
    page.tell("filter", where=[{"grader": "has yes", "passed": False}])
    page.tell("search", text="question 1")
    assert "'text': 'question 1'" in page.code
    assert code_ids(page) == shown_ids(page)
    page.tell("search", text="")
    assert "text" not in page.code
    for chip in page.table["filters"]:
        page.tell("unfilter", chip=chip["id"])
        assert code_ids(page) == shown_ids(page)
    assert page.code == "app.report.rows()"


def test_what_an_edit_changed_is_what_is_selected(page):
    """No condition of a report expresses it: the app does."""
    page.tell("choose", name="coded")
    page.typed("coded", NO)
    page.settled()
    assert page.code.startswith("rows = app.samples\n")  # the edit itself
    page.tell("look", where=[{"changed": ""}])
    assert page.code == "app.selected"


def test_a_grade_that_comes_by_itself_leaves_the_last_action(page):
    """Other rows are drawn and graded: the line is the last action, also if a text was refused before."""
    page.tell("choose", name="coded")
    page.typed("coded", "no grader")
    page.tell("look", where=[BAD])
    before = page.code
    page.session.rows.change(n=40)
    page.settled()
    assert page.code == before


def test_grade_comes_back_with_its_rows(page):
    """After another mode's lines the rows' own are there again."""
    page.tell("look", where=[BAD])
    line = page.code
    page.tell("mode", mode="export")
    assert page.code.startswith("wb.export(")
    page.tell("mode", mode="grade")
    assert page.code == line


def test_try_says_which_conversation(page):
    """A row, one that is searched for, a pasted one, and what was changed in it."""
    page.tell("mode", mode="try")
    assert value(page, "sample").id == "row-0"
    page.tell("try_row", query="row-7")
    assert value(page, "sample").id == "row-7"
    page.tell("try", text="perhaps", expected="maybe")
    sample = value(page, "sample")
    assert (sample.thread.completion(), sample.reference) == ("perhaps", "maybe")
    assert sample.thread.metadata["expected"] == "maybe"
    conversation = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "yes"}]
    page.tell("try_paste", text=json.dumps(conversation))
    assert value(page, "sample").thread.completion() == "yes"


def test_a_reference_stands_in_the_metadata_too():
    """Where the data has it under its column's name; nowhere else is it put."""
    sample = wb.Samples([{"prompt": "p", "completion": "c", "expected": "e"}])[0]
    assert with_reference(sample, "new", "expected").thread.metadata["expected"] == "new"
    assert with_reference(sample, "new").thread.metadata["expected"] == "e"
    assert with_reference(sample, "new").reference == "new"


def test_a_judge_that_waits_for_run_is_not_in_the_line(page_of):
    """Repeating graded work calls no model."""
    judge = wb.BinaryJudge("Is it right?", name="judge", client=wb.ScriptedClient("{}"))
    page = page_of(graders=(*RULES, coded(), judge), labels="good").opened()
    assert "judge" not in page.code
    assert value(page).graders == page.session.results.report.graders
    page.tell("choose", name="coded")
    page.typed("coded", NO)
    assert value(page).graders == page.session.results.report.graders


def test_an_edited_grader_that_is_not_ticked_is_in_the_line(page):
    """It is graded and shown, so that it belongs to what the line gives."""
    page.tell("tick", name="coded", on=False)
    page.tell("choose", name="coded")
    page.typed("coded", NO)
    assert set(value(page).graders) == set(page.session.results.report.graders)


def test_an_edit_leaves_its_line_when_it_is_made(page):
    """Opening another mode before grading ends sets that mode's line."""
    page.tell("choose", name="coded")
    page.tell("edit", name="coded", text=NO, seq=1_000)
    page.tell("mode", mode="export")
    page.settled()
    assert page.code.startswith("wb.export(")


def test_words_that_somebody_searched_for_before_the_first_report_are_in_it(page_of):
    """The rows in sight then are those of the line, and not all of them."""
    page = page_of(graders=(*RULES,), labels="good")
    page.tell("search", text="question 1")
    page.opened()
    assert page.table["count"] == 11
    assert code_ids(page) == shown_ids(page)


def test_a_look_from_a_cell_is_in_the_line_when_grade_comes_back(page):
    """Another view of the session does not change the line."""
    page.tell("look", where=[BAD])
    page.tell("mode", mode="export")
    with page.session.guard.lock:
        page.session.results.look({"label": True})
    page.tell("mode", mode="grade")
    assert page.table["title"] == "Known good"
    assert code_ids(page) == shown_ids(page)
    before = page.code
    AppView(page.session, lambda _: None).close()
    assert page.session.code.text == before


def test_try_names_the_row_of_the_data_that_was_given(page_of):
    """Which may be some rows of other data: a row's number is its place among them."""
    page = page_of(wb.Samples(ROWS).draw(20, seed=1), labels="good").opened()
    page.tell("mode", mode="try")
    page.tell("try_row", query="row-12")
    assert value(page, "sample").id == page.try_out["id"] == "row-12"


def test_try_follows_another_draw_and_ticks(page):
    """The conversation of the line is the one on the page, and its graders are those that are ticked."""
    page.tell("mode", mode="try")
    page.tell("try_row", query="row-7")
    page.tell("draw", draw={"n": 40, "seed": 3})
    page.settled()
    assert value(page, "sample").id == page.try_out["id"] == "row-7"
    page.tell("tick", name="coded", on=False)
    assert "app.graders['coded'](sample)" not in page.code
    for name in ("has yes", "exact"):
        page.tell("tick", name=name, on=False)
    assert page.code == f"sample = app.samples[{int(page.try_out['id'].removeprefix('row-'))}]"


def test_a_conversation_that_is_no_longer_drawn_stays(page):
    """With the edited completion; and an invalid draw changes nothing."""
    page.tell("mode", mode="try")
    gone = next(
        name for name in page.session.samples.ids if name not in page.session.samples.draw(10, seed=3).ids
    )
    page.tell("try_row", query=gone)
    page.tell("try", text="perhaps")
    page.tell("draw", draw={"n": 10, "seed": 3})
    page.settled()
    assert page.problem is None
    assert (page.try_out["yours"], page.try_out["row"]) == ("perhaps", -1)
    sample = value(page, "sample")
    assert (sample.id, sample.thread.completion()) == (gone, "perhaps")
    page.tell("draw", draw={"by": "nothing"})
    assert "nothing" in page.problem
    assert page.session.rows.draw.by == ""


def test_an_answer_that_is_as_it_was_is_no_change(page_of):
    """A conversation without a completion gets no empty one in code."""
    page = page_of(
        [{"prompt": "hello", "expected": "yes"}, {"prompt": "a", "completion": "yes", "expected": "yes"}]
    ).opened()
    page.tell("mode", mode="try")
    page.tell("try", text="", expected="no")
    assert "with_completion" not in page.code
    assert "with_reference" in page.code


def test_a_saved_view_leaves_its_modes_line(page):
    """Also where its mode is open already."""
    page.tell("mode", mode="try")
    state = page.view.saved.state()
    with page.session.guard.lock:
        page.view.saved.open(state)
    assert page.session.code.text.startswith("sample = ")
