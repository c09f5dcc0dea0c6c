"""All panels on one session: what the next cell reads, what is announced, what is escaped, what is left behind."""

from __future__ import annotations

import json
import linecache
import re
import threading
from html.parser import HTMLParser

import ipywidgets
import pytest

import workbench as wb
from tests.widgets import using
from workbench.widgets.app import PANELS
from workbench.widgets.cell_state import remember_view


@pytest.fixture
def app():
    """A Workbench with every tab opened."""
    made = opened(using.app_of())
    yield made
    made.close()


def opened(app):
    """The app with each of its tabs opened once."""
    for kind in PANELS:
        app.show(kind)
        assert app.session.guard.problem is None, app.session.guard.problem
    return app


def test_panels_are_made_when_their_tab_is_opened_and_once():
    """A tab is filled when it is first looked at, and stays what it is."""
    app = using.app_of()
    assert [bool(tab.children) for tab in app.tabs.children] == [True, *[False] * 6]
    app.tabs.selected_index = 3
    results = app.tabs.children[3].children[0]
    assert isinstance(results, wb.widgets.ResultsPanel)
    app.tabs.selected_index = 0
    app.show(wb.widgets.ResultsPanel)
    assert app.tabs.children[3].children == (results,)
    assert app.panel(wb.widgets.ResultsPanel) is results
    app.close()


def test_an_app_leaves_no_widget():
    """Every panel opened, a run made, errors shown: after close nothing is left, and closing twice does no harm."""
    before = set(ipywidgets.widgets.widget._instances)
    app = opened(using.app_of())
    using.ran(app)
    app.panel(wb.widgets.TryPanel).query.value = "no such row"
    app.close()
    app.close()
    assert set(ipywidgets.widgets.widget._instances) <= before


def test_the_next_cell_reads_everything(app):
    """Samples, graders, report, rows shown, row read and labels are attributes."""
    assert (app.report, app.selected, app.sample, app.versions) == (None, None, None, None)
    assert app.labels == [None] * 24
    report = using.ran(app).results.report
    assert app.report is report
    results = app.panel(wb.widgets.ResultsPanel)
    results.search.value = "question 1"
    assert list(app.selected.index) == list(
        report.rows(where=report.row_numbers({"text": "question 1"})).index
    )
    assert len(app.selected) == 11
    results.table.hear({"do": "select", "at": 1, "version": results.table.version})
    assert app.sample.id == "row-10"
    app.session.label("row-3", True)
    assert app.labels == [None] * 3 + [True] + [None] * 20
    assert app.labels_of(app.samples.take([3, 4])) == [True, None]
    assert list(app.graders) == [one.name for one in using.GRADERS]
    assert len(app.suite) == 3


def test_a_grader_of_a_later_cell_appears_in_every_panel(app):
    """Defined by the decorator it is there at once; redefined it is unproved and not run; a closed app hears nothing."""
    using.ran(app)

    def define(score):
        scope = {"wb": wb}
        text = f"@wb.grader\nasync def later(thread):\n    return {score}\n"
        linecache.cache[f"<cell {score}>"] = (len(text), None, text.splitlines(True), f"<cell {score}>")
        exec(compile(text, f"<cell {score}>", "exec"), scope)
        return scope["later"]

    made = define(0.25)
    assert app.graders["later"] is made
    assert "later" in app.session.graders.chosen
    assert "later" in {value for _, value in app.panel(wb.widgets.WritePanel).grader.options}
    assert any("later · not run yet" in title for title, _ in app.panel(wb.widgets.RunPanel).graders.options)
    assert "later" in app.panel(wb.widgets.TryPanel).results.value
    app.session.graders.validate("later")
    using.ran(app)
    assert app.session.graders.unrun == frozenset()
    define(0.25)
    assert app.session.graders.proofs["later"].ok
    assert app.session.graders.unrun == frozenset()
    define(0.75)
    assert app.session.graders.proofs["later"] is None
    assert app.session.graders.unrun == {"later"}
    assert "1 to run" in app.head.value
    app.close()
    define(0.5)
    assert "0.75" in app.graders["later"].source.text


def test_a_magics_grader_appears(app):
    """A %%grader cell puts its grader into the open app, proved."""
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell()
    shell.run_line_magic("load_ext", "workbench")
    assert shell.run_cell("%%grader from_a_cell\nasync def grade(thread):\n    return 0.5\n").success
    assert app.session.graders.proofs["from_a_cell"].ok
    assert app.session.graders.unrun == {"from_a_cell"} | {one.name for one in using.GRADERS}


def test_an_error_of_a_callback_is_shown_with_its_traceback(app):
    """Whatever a callback raises stands in the panel; nothing is printed, nothing raised to whoever pressed."""

    def fails():
        raise RuntimeError("of a test <b>")

    results = app.panel(wb.widgets.ResultsPanel)
    results.callback(fails)()
    assert "RuntimeError: of a test &lt;b&gt;" in results._alert.value
    assert "in fails" in results._alert.value
    assert "<summary>" in results._alert.value


def html_of(root):
    """Every text of a widget tree that a page reads as HTML."""
    if isinstance(root, ipywidgets.HTML | ipywidgets.HTMLMath):
        yield root.value
    for child in getattr(root, "children", ()):
        yield from html_of(child)


def attacked(tmp_path):
    """A Workbench where everything that can hold text holds markup."""
    nasty = using.NASTY
    rows = [
        {
            "id": f"{nasty}{n}", "prompt": nasty, "completion": nasty if n % 2 else "yes", "expected": nasty,
            nasty: nasty, "metadata": {nasty: nasty}, "group": nasty, "kind": nasty if n % 2 else "other",
        }
        for n in range(12)
    ]  # fmt: skip
    client = wb.ScriptedClient(json.dumps({"reasoning": nasty, "score": "PASS"}))

    async def fails(thread):
        raise ValueError(nasty)

    graders = [
        wb.Contains(expected=nasty, name=f"{nasty}a"), wb.ExactMatch(name=f"{nasty}b"),
        wb.BinaryJudge(name=f"{nasty}judge", criteria=nasty, client=client),
        wb.CustomGrader(fails, name=f"{nasty}fails"),
        wb.FunctionGrader.from_source(f"async def grade(thread):\n    raise ValueError({nasty!r})\n", name=f"{nasty}code"),
    ]  # fmt: skip
    url = f"sqlite:///{tmp_path}/labels.db"
    plain = nasty.replace("\u202e", "")  # a store takes no hidden characters
    return wb.Workbench(rows, graders, store=url, labeller=plain, dataset=plain)


def test_nothing_of_anybodys_is_markup(tmp_path, monkeypatch):
    """Completions, metadata, names, reasoning, errors, notes, files and datasets: no page reads a tag in them."""
    monkeypatch.chdir(tmp_path)
    app = opened(attacked(tmp_path))
    seen = []

    def look():
        seen.extend(html_of(app))

    attempt, write, run = (
        app.panel(getattr(wb.widgets, name)) for name in ("TryPanel", "WritePanel", "RunPanel")
    )
    attempt.score.click()
    using.tried(attempt)
    look()
    for _, name in write.grader.options:
        write.grader.value = name
        if not write.prove.disabled:
            write.prove.click()
        look()
    write.editor.value = json.dumps({"kind": using.NASTY})
    write.add.click()
    look()
    run.rows.value = 12
    run.start.click()
    app.session.runs.job.report(60)
    look()
    attempt.query.value = f"{using.NASTY} nowhere"
    look()
    label, results = app.panel(wb.widgets.LabelPanel), app.panel(wb.widgets.ResultsPanel)
    label.card.decide("good", using.NASTY)
    label.card.decide("bad", using.NASTY)
    assert app.session.guard.problem is None, app.session.guard.problem.trace
    results.search.value = using.NASTY
    for _, at in results.quick.options:
        results.quick.value = at
        look()
    export, compare = app.panel(wb.widgets.ExportPanel), app.panel(wb.widgets.ComparePanel)
    for first, second in (("a", "b"), ("judge", "code")):
        compare.a.value, compare.b.value = f"{using.NASTY}{first}", f"{using.NASTY}{second}"
        look()
    for _, name in export.format.options:
        export.format.value = name
        export.drop.value = export.unproved.value = True
        export.path.value = using.NASTY
        look()
        export.write.click()
        look()
    assert len(seen) > 200
    for value in seen:
        assert not any(tag in value for tag in using.TAGS), value[:3000]
        assert "\u202e" not in value
        assert not re.search(r"<[^>]*\son\w+=", value), value[:3000]
    app.close()


def test_texts_of_a_panel_cannot_leave_an_attribute(tmp_path):
    """Quotes of a name stay text wherever the HTML is read by a parser: no tag but ours, and no handler."""
    found = set()

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            found.add((tag, *sorted(name for name, _ in attrs)))

    app = opened(attacked(tmp_path))
    app.session.runs.start(6).report(60)
    for value in html_of(app):
        Reader().feed(value)
    tags = {tag for tag, *_ in found}
    assert tags <= {"style", "h3", "b", "span", "table", "thead", "tbody", "tr", "th", "td", "pre", "p", "br", "li", "ul", "div", "details", "summary", "caption", "code"}, tags  # fmt: skip
    assert not any(name.startswith("on") or name in {"href", "src"} for _, *names in found for name in names)
    app.close()


def test_many_graders_with_long_names():
    """Twenty graders with names of a hundred characters work in every panel."""
    graders = [wb.Contains(expected=str(n), name="n" * 98 + f"{n:02}") for n in range(20)]
    app = opened(using.app_of(graders))
    using.ran(app)
    assert app.session.guard.problem is None, app.session.guard.problem.trace
    for kind in PANELS:
        app.show(kind)
    assert app.session.guard.problem is None
    run = app.panel(wb.widgets.RunPanel)
    assert len({title for title, _ in run.graders.options}) == 20
    app.close()


def test_a_panel_shares_what_an_app_knows(app):
    """A panel made of an app, or of a panel, is one more view; closing it leaves the app as it is."""
    extra = wb.widgets.RunPanel(app)
    again = wb.widgets.ResultsPanel(extra)
    assert extra.session is again.session is app.session
    extra.start.click()
    report = app.session.runs.job.report(60)
    assert again.table.count == len(report)
    extra.close()
    again.close()
    assert using.ran(app).guard.problem is None


def test_outside_a_notebook_views_are_independent():
    """Where no cell is known, each view has its own session, and none is closed for another."""
    one, two = using.app_of(), using.app_of()
    assert one.session is not two.session
    remember_view("Workbench", one)
    assert one.tabs.children
    one.close()
    two.close()


def test_a_closed_app_ends_its_run():
    """Closing in the middle of a run stops it, and its end is told to nobody."""
    gate = threading.Event()
    app = opened(using.app_of([using.gated(gate), using.GRADERS[0]]))
    job = app.session.runs.start()
    app.close()
    assert job.report(60) is not None
    assert app.session.guard.problem is None


def test_samples_without_rows_are_no_crash():
    """An app over an empty dataset opens every panel."""
    app = opened(using.app_of(samples=wb.read_samples(using.ROWS).head(0)))
    assert "0 rows" in app.head.value
    app.close()


def test_a_panel_that_cannot_be_made_is_told_by_the_app(monkeypatch):
    """Its tab is empty, so the app itself says why, until another tab is opened."""
    app = using.app_of()
    with monkeypatch.context() as broken:
        broken.setattr(wb.widgets.ComparePanel, "build", lambda _: 1 / 0)
        app.show(wb.widgets.ComparePanel)
    assert "division by zero" in app._alert.value
    app.show(wb.widgets.TryPanel)
    assert app._alert.value == ""
    app.show(wb.widgets.ComparePanel)
    assert app._alert.value == ""
    app.close()
