"""The app as a widget: attributes for the next cell, messages to pages, cleanup."""

from __future__ import annotations

import json
import linecache
import threading

import ipywidgets
import pytest

import workbench as wb
from tests.app.widgets import using
from workbench.app.view import mode_titles
from workbench.app.widgets import __all__ as views
from workbench.app.widgets.notebook import remember_view

PARTS = tuple(name for name in views if name != "Workbench")


@pytest.fixture
def page_of():
    """Make pages of a Workbench; they are closed in the end."""
    made = []

    def new(*args, **settings):
        made.append(using.WidgetPage(using.app_of(*args, **settings)))
        return made[-1]

    yield new
    for page in made:
        page.close()


@pytest.fixture
def page(page_of):
    """A page of a Workbench, before any run."""
    return page_of()


def walked(page):
    """The page after every mode was opened."""
    for mode in mode_titles():
        page.tell("mode", mode=mode)
        assert page.problem is None, page.head["problem"]
    return page


def test_an_app_leaves_no_widget():
    """Every mode opened, a run made, an error shown: after close nothing is left, and closing twice does no harm."""
    before = set(ipywidgets.widgets.widget._instances)
    page = walked(using.WidgetPage(using.app_of()).opened())
    using.ran(page.widget)
    page.tell("try_row", query="no such row")
    assert page.widget.problem is not None
    page.close()
    page.close()
    assert set(ipywidgets.widgets.widget._instances) <= before


def test_the_next_cell_reads_everything(page):
    """Samples, graders, report, rows shown, row read and labels are attributes."""
    app = page.widget
    assert (app.report, app.selected, app.sample, app.versions) == (None, None, None, None)
    assert app.labels == [None] * 24
    report = using.ran(app).results.report
    assert app.report is report
    page.tell("look", where=[{"text": "question 1"}])
    assert list(app.selected.index) == list(
        report.rows(where=report.row_numbers({"text": "question 1"})).index
    )
    assert len(app.selected) == 11
    page.tell("select", row=10)
    assert app.sample.id == "row-10"
    app.session.label("row-3", True)
    assert app.labels == [None] * 3 + [True] + [None] * 20
    assert app.labels_of(app.samples.take([3, 4])) == [True, None]
    assert list(app.graders) == [one.name for one in using.GRADERS]
    assert len(app.suite) == 3
    assert repr(app) == "Workbench(24 rows, 3 graders)"


def define(score):
    """Run a cell that defines the grader `later`."""
    scope = {"wb": wb}
    text = f"@wb.grader\nasync def later(thread):\n    return {score}\n"
    linecache.cache[f"<cell {score}>"] = (len(text), None, text.splitlines(True), f"<cell {score}>")
    exec(compile(text, f"<cell {score}>", "exec"), scope)
    return scope["later"]


def test_a_grader_of_a_later_cell_appears(page):
    """Defined by the decorator it appears immediately; redefined it is not validated and not run; a closed app is not updated."""
    using.ran(page.widget)
    made = define(0.25)
    assert page.widget.graders["later"] is made
    assert page.line("later") | {
        "ticked": True,
        "validation": "not_validated",
        "say": "not run yet",
    } == page.line("later")
    assert page.head["state"] == {"shape": "old", "text": "1 grader to run"}
    page.tell("mode", mode="try")
    page.until(lambda page: {line["grader"] for line in page.try_out["lines"]} >= {"later"})
    page.session.graders.validate("later")
    using.ran(page.widget)
    assert page.session.graders.unrun == frozenset()
    define(0.25)
    assert page.line("later")["validation"] == "validated"
    assert page.session.graders.unrun == frozenset()
    define(0.75)
    assert (page.line("later")["validation"], page.line("later")["stale"]) == ("not_validated", True)
    page.close()
    define(0.5)
    assert "0.75" in page.widget.graders["later"].source.text


def test_a_page_sees_a_later_cells_grader_graded(page):
    """Once a page has opened, a grader from a cell is validated and graded without a click."""
    page.opened()
    define(0.25)
    page.until(lambda page: page.line("later")["counts"] is not None, "the grades of the new grader")
    assert page.settled().line("later")["validation"] == "validated"


def test_a_magics_grader_appears(page):
    """A %%grader cell adds its grader to the open app, validated."""
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell()
    shell.run_line_magic("load_ext", "workbench")
    assert shell.run_cell("%%grader from_a_cell\nasync def grade(thread):\n    return 0.5\n").success
    assert page.session.graders.validations["from_a_cell"].ok
    assert page.line("from_a_cell")["validation"] == "validated"
    assert page.session.graders.unrun == {"from_a_cell"} | {one.name for one in using.GRADERS}


def test_an_error_of_an_action_is_shown_with_its_traceback(page, monkeypatch):
    """An exception of an action is shown in the toolbar and not propagated; the next action dismisses it."""

    def fails(*_args, **_named):
        raise RuntimeError("of a test <b>")

    with monkeypatch.context() as broken:
        broken.setattr(page.session.runs, "start", fails)
        page.tell("run")
    assert page.head["problem"]["what"] == "RuntimeError: of a test <b>"
    assert page.head["problem"]["where"] == "Run"
    assert "in fails" in page.head["problem"]["trace"]
    assert page.widget.problem.what == page.problem
    page.tell("choose", name="exact")
    assert page.problem is None


def test_a_part_that_cannot_be_made_is_told(page, monkeypatch):
    """An error is shown in the toolbar immediately, the other parts are sent, and the next action works."""
    with monkeypatch.context() as broken:
        broken.setattr(page.view.compare, "data", lambda: 1 / 0)
        page.tell("mode", mode="compare")
        assert "division by zero" in page.problem
        assert page.head["problem"]["where"] == "View"
        assert page.mode == "compare"
    page.tell("mode", mode="grade")
    assert page.problem is None
    page.tell("mode", mode="compare")
    assert page.compare is not None


def test_what_changes_together_comes_in_one_message(page):
    """A run's end is one message with all its changes; its turn marks them as consistent."""
    page.tell("run")
    page.session.runs.job.report(60)
    page.until(lambda page: page.head["state"]["text"] == "up to date")
    told = next(
        message for message in page.messages if "rail" in message and message["rail"]["lines"][0]["counts"]
    )
    assert {"head", "progress", "rail", "chosen", "table", "turn"} <= told.keys()
    assert told["head"]["state"]["text"] == "up to date"
    assert not told["progress"]["running"]
    turns = [message["turn"] for message in page.messages]
    assert turns == sorted(set(turns)), "each message is a state of its own"


def test_an_answer_names_its_page_and_its_question(page):
    """Two pages of one notebook hear all replies: each knows its own."""
    page._hear({"do": "mode", "mode": "try", "id": 7, "page": "left"})
    page._hear({"ask": "rows", "start": 0, "stop": 1, "revision": -1, "id": 8, "page": "right"})
    assert page.replies == [{"page": "left", "heard": 7}, {"page": "right", "reply": 8, "value": []}]
    for nonsense in (None, 3, "do", [], {}, {"do": "run"}, {"do": "run", "id": "7", "page": "left"}):
        page.widget._handle_custom_msg(nonsense, [])
    assert len(page.replies) == 2


@pytest.mark.parametrize("name", PARTS)
def test_a_part_shares_what_an_app_knows(page, name):
    """A part made from an app, or from another part, is one more view; closing it does not affect the app."""
    part = getattr(wb.widgets, name)(page.widget)
    again = wb.widgets.Workbench(part)
    assert part.session is again.session is page.session
    assert part.part == type(part).only != ""
    assert part.mode == (part.part if part.part in mode_titles() else "grade")
    shown = using.WidgetPage(part).opened()
    assert shown.problem is None
    report = using.ran(page.widget).results.report
    assert shown.rail["lines"] == page.rail["lines"]
    part.close()
    again.close()
    assert page.session.results.report is report
    assert using.ran(page.widget).guard.problem is None


def test_a_part_alone_is_an_app_of_its_own():
    """Made of samples it has a session, which ends with it."""
    part = wb.widgets.RunPanel(using.ROWS, list(using.GRADERS), store=None)
    assert repr(part) == "RunPanel(24 rows, 3 graders)"
    part.close()
    part.session.graders.define(wb.Contains(expected="x", name="late"))
    assert part.comm is None


def test_outside_a_notebook_views_are_independent():
    """Where no cell is known, each view has its own session, and none is closed for another."""
    one, two = using.app_of(), using.app_of()
    assert one.session is not two.session
    remember_view("Workbench", one, owns=True)
    assert one.comm is not None
    one.close()
    two.close()


def test_a_closed_app_ends_its_run():
    """Closing in the middle of a run stops it without a message."""
    gate = threading.Event()
    page = using.WidgetPage(using.app_of([using.gated(gate), using.GRADERS[0]]))
    job = page.session.runs.start()
    page.close()
    told = len(page.messages)
    assert job.report(60) is not None
    assert page.session.guard.problem is None
    assert len(page.messages) == told


def test_samples_that_cannot_be_read_leave_no_widget():
    """The error is the cell's, and nothing of the view is there."""
    before = set(ipywidgets.widgets.widget._instances)
    with pytest.raises(wb.errors.SamplesError):
        using.app_of(samples="no such file.jsonl")
    assert set(ipywidgets.widgets.widget._instances) <= before


@pytest.mark.parametrize("graders", [using.GRADERS, ()], ids=["graders", "none"])
def test_samples_without_rows_are_no_crash(page_of, graders):
    """An app over an empty dataset opens every mode with a notice, and a run of it is an error message or a report."""
    page = walked(page_of(graders, samples=wb.read_samples(using.ROWS).head(0)).opened())
    assert (page.head["total"], page.head["drawn"], page.table["count"]) == (0, 0, 0)
    page.tell("mode", mode="grade")
    page.tell("look", where=[{"label": True}])
    page.tell("select", row=0)
    assert page.reader is None
    page.tell("try_random")
    assert page.problem == "there are no samples to draw from"


def test_many_graders_with_long_names(page_of):
    """Twenty graders with names of a hundred characters are distinguishable in every mode."""
    graders = [wb.Contains(expected=str(n), name="n" * 98 + f"{n:02}") for n in range(20)]
    page = walked(page_of(graders).opened())
    assert len({line["name"] for line in page.rail["lines"]}) == 20
    for mode, names in (
        ("try", lambda: {line["grader"] for line in page.try_out["lines"]}),
        ("compare", lambda: set(page.compare["graders"])),
        ("export", lambda: {line["name"] for line in page.export["graders"]}),
    ):
        page.tell("mode", mode=mode)
        assert len(names()) == 20


def test_a_page_reads_only_json(page):
    """Every trait of the view is plain JSON without NaN, before a run and after it."""
    for _ in range(2):
        state = {name: getattr(page.widget, name) for name in page.widget.keys if name[0] != "_"}
        state.pop("layout")
        assert json.loads(json.dumps(state, allow_nan=False)) == state
        using.ran(page.widget)


def test_a_part_that_is_made_again_and_again_ends_with_the_app():
    """Views on an app's session are closed with it: none gets further messages."""
    app = wb.Workbench([{"completion": "a"}], [wb.ExactMatch()], store=None)
    session = app.session
    for _ in range(3):
        wb.widgets.ResultsPanel(app)
    assert len(session.closing) == 4
    app.close()
    assert session.closing == []
    assert session.guard.lock.on_release == []
