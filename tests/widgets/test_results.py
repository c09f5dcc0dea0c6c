"""The Results panel, by its own controls."""

from __future__ import annotations

import plotly.graph_objects as go

import workbench as wb
from tests.widgets import using
from workbench.diagnostics import Finding
from workbench.diagnostics.finding import Severity
from workbench.diagnostics.registry import _REGISTER
from workbench.plots import FIGURES, figure


def test_results_offers_whatever_figure_is_registered(at_once):
    """A figure that is registered appears, is drawn, and its marks mean their rows."""

    @figure("of-a-test", "A figure of a test")
    def draw(report, names):
        return go.Figure(go.Bar(y=[1], customdata=[[{"label": None}]], name=str(names)))

    try:
        panel = at_once("ResultsPanel")
        assert ("A figure of a test", "of-a-test") in panel.figure.options
        panel.figure.value = "of-a-test"
        panel.grader.value = "exact"
        assert panel.chart.figure.data[0].name == "['exact']"
        panel.chart.hear({"do": "pick", "picks": [[{"label": None}]]})
        assert panel.session.results.where == ({"label": None},)
    finally:
        del FIGURES["of-a-test"]


def test_results_shows_whatever_a_diagnostic_says(make):
    """A finding of a diagnostic that is registered appears as a card; its click shows its rows in its order."""

    def odd(case):
        yield Finding(
            grader=case.grader, kind="of-a-test", severity=Severity.WARNING, statistic="rows", value=2.0, interval=None,
            n=24, needed=0, message="rows of a test", advice="look at them", rows=(5, 2),
        )  # fmt: skip

    _REGISTER["workbench"]["of-a-test"] = odd
    try:
        panel = make("ResultsPanel")
        using.ran(panel)
        assert panel.session.guard.problem is None, panel.session.guard.problem.trace
        items = [item["title"] for item in panel.findings.items]
        assert "of a test" in items
        at = next(
            i
            for i, one in enumerate(panel.findings.items)
            if (one["title"], one["grader"]) == ("of a test", "exact")
        )
        panel.findings.hear({"do": "pick", "at": at})
        assert panel.session.results.where == ({"finding": ["exact", "of-a-test"]},)
        assert panel._rows.rows.tolist() == [5, 2]
        assert panel.findings.active == at
    finally:
        del _REGISTER["workbench"]["of-a-test"]


def test_results_bar_click_shows_exactly_its_rows(at_once):
    """Every bar of the score figure shows as many rows as it is high; a double click shows all again."""
    panel = at_once("ResultsPanel")
    for bar in panel.chart.figure.data:
        heights = list(bar.y if bar.orientation != "h" else bar.x)
        for height, mark in zip(heights, bar.customdata or (), strict=False):
            panel.chart.hear({"do": "pick", "picks": [mark]})
            assert panel.session.guard.problem is None
            name = mark[0]["grader"]
            assert all(
                mark[0]["score"][0]
                <= panel.session.results.report.grades[name].scores[row]
                <= mark[0]["score"][1]
                for row in panel._rows.rows
            )
            assert len(panel._rows) in {int(height), 0} or height != int(height)
    panel.chart.hear({"do": "pick", "picks": []})
    assert panel.session.results.where == ()
    assert panel.table.count == 24


def test_results_box_over_several_bars(at_once):
    """Bars of one grader are the bin they span; marks of other kinds are whatever meets one of them."""
    panel = at_once("ResultsPanel")
    low, high = [{"grader": "exact", "score": [0, 0.5]}], [{"grader": "exact", "score": [0.5, 1.0]}]
    panel.chart.hear({"do": "pick", "picks": [low, high]})
    assert panel.session.results.where == ({"grader": "exact", "score": [0, 1.0]},)
    assert panel.table.count == 24
    yes = [{"grader": "has yes", "passed": True}, {"grader": "exact", "passed": False}]
    failed = [{"grader": "exact", "status": "failed"}]
    panel.chart.hear({"do": "pick", "picks": [yes, failed]})
    report = panel.session.results.report
    assert panel._rows.rows.tolist() == report.row_numbers(*yes).tolist()
    assert len(panel.session.code.text) < 500
    assert "or exact: failed" in panel.shown.value


def test_results_search_quick_filters_and_clear(at_once):
    """Words narrow what is shown, an emptied box does not; a filter is chosen, told, and taken away."""
    panel = at_once("ResultsPanel", labels="good")
    panel.search.value = "question 1"
    assert panel.table.count == 11
    panel.search.value = ""
    assert panel.table.count == 24
    panel.search.value = "question 1"
    titles = [title for title, _ in panel.quick.options]
    panel.quick.value = titles.index("labelled good")
    assert (panel.table.count, panel.search.value) == (6, "question 1")
    panel.search.value = ""
    assert (panel.table.count, panel.quick.value) == (12, titles.index("labelled good"))
    panel.search.value = "question 1"
    assert panel.session.results.where == ({"label": True}, {"text": "question 1"})
    assert panel.table.count == 6
    panel.clear.click()
    assert (panel.session.results.where, panel.table.count, panel.search.value, panel.quick.value) == (
        (),
        24,
        "",
        0,
    )
    panel.quick.value = titles.index("exact differs from the label")
    wrong = panel.table.count
    panel.chart.hear({"do": "pick", "picks": [[{"label": True}]]})
    assert panel.quick.value == titles.index("labelled good")
    panel.quick.value = titles.index("exact differs from the label")
    assert panel.table.count == wrong
    panel.quick.value = 0
    assert panel.table.count == 24


def test_a_bar_stands_out_while_its_rows_are_shown(at_once):
    """Another filter, or none, and no bar is marked any more; words beside it leave it marked."""
    panel = at_once("ResultsPanel", labels="good")
    mark = panel.chart.figure.data[0].customdata[0]
    others = (
        panel.clear.click,
        lambda: panel.findings.pick(0),
        lambda: setattr(panel.quick, "value", 1),
        lambda: panel.session.runs.start().report(60),
    )
    for something_else in others:
        panel.chart.hear({"do": "pick", "picks": [mark]})
        panel.search.value = "question"
        assert panel.chart.picked == [mark]
        something_else()
        assert panel.chart.picked == []


def test_findings_of_the_chosen_grader(at_once):
    """Choosing a grader leaves its findings, with the one whose rows are shown still marked."""
    panel = at_once("ResultsPanel", labels="good")
    assert len({item["grader"] for item in panel.findings.items}) > 1
    whole = len(panel.findings.items)
    name = panel.findings.items[0]["grader"]
    panel.findings.pick(0)
    panel.grader.value = name
    assert {item["grader"] for item in panel.findings.items} == {name}
    assert panel.findings.active == 0
    panel.grader.value = ""
    assert len(panel.findings.items) == whole


def test_results_reads_the_row_that_is_selected(at_once):
    """Selecting a row, also of a sorted and filtered table, says which row of the report it is."""
    panel = at_once("ResultsPanel")
    panel.session.results.look({"grader": "has yes", "passed": True})
    panel.table.hear({"do": "sort", "key": "row", "descending": True, "version": panel.table.version})
    panel.table.hear({"do": "select", "at": 0, "version": panel.table.version})
    assert panel.session.results.row == 23
    assert panel.session.guard.problem is None


def test_results_uses_labels_given_since(at_once):
    """The button stands there once labels are new, and reads the findings with them."""
    panel = at_once("ResultsPanel")
    panel.refresh()
    assert panel.relabel.layout.display == "none"
    panel.session.label("row-1", True)
    panel.refresh()
    assert panel.relabel.layout.display == ""
    panel.relabel.click()
    assert panel.session.guard.problem is None
    assert panel.session.results.report.labels[1] is True
    assert panel.relabel.layout.display == "none"


def test_results_of_many_graders_with_long_names(make):
    """Twenty graders of a hundred characters each are told apart wherever one chooses."""
    names = ["n" * 98 + f"{n:02}" for n in range(20)]
    panel = make(
        "ResultsPanel", graders=[wb.Contains(expected=str(n), name=name) for n, name in enumerate(names)]
    )
    using.ran(panel)
    assert panel.session.guard.problem is None
    assert len({title for title, _ in panel.grader.options}) == 21
    panel.grader.value = names[7]
    assert panel.session.guard.problem is None
    assert len({title for title, _ in panel.quick.options}) == len(panel.quick.options)
