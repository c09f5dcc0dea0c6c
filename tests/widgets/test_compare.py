"""The Compare panel, by its own controls."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.widgets import using
from workbench.session.grader_versions import current_name


def test_compare_two_graders(at_once):
    """A verdict in words, a figure, and the rows that differ most first; a mark of the figure shows its rows."""
    panel = at_once("ComparePanel")
    assert panel.session.guard.problem is None
    panel.a.value, panel.b.value = "has yes", "exact"
    assert panel.verdict.value.startswith("<b>")
    scores = [panel.session.results.report.grades[name].scores for name in ("has yes", "exact")]
    gaps = [abs(scores[0][row] - scores[1][row]) for row in panel.table.source.rows]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] == 1.0
    pick = [{"verdicts": ["has yes", "exact"], "are": [True, False]}]
    panel.chart.hear({"do": "pick", "picks": [pick]})
    assert panel.table.source.rows.tolist() == panel.session.results.report.row_numbers(*pick).tolist()
    panel.all.click()
    assert panel.table.count == 24
    panel.b.value = "has yes"
    assert "two different graders" in panel.verdict.value


def test_compare_every_mark_of_its_figures_means_rows(at_once):
    """Every mark of every figure for two graders is understood by the report, and together they are all rows."""
    panel = at_once("ComparePanel")
    for _, kind in panel.figure.options:
        panel.figure.value = kind
        for trace in panel.chart.figure.data:
            marks = trace.customdata if trace.customdata is not None else ()
            for mark in marks:
                for one in mark if isinstance(mark[0], list | tuple) else [mark]:
                    if one:
                        panel.chart.hear({"do": "pick", "picks": [one]})
                        assert panel.session.guard.problem is None, (kind, one)


def test_compare_versions_of_a_redefined_grader(make):
    """A grader that was redefined and run again stands beside what it said before."""
    panel = make("ComparePanel", graders=[wb.Contains(expected="yes", name="has")])
    using.ran(panel)
    assert "Run two graders" in panel.verdict.value
    panel.session.graders.add(wb.Contains(expected="no", name="has"))
    assert panel.session.graders.unrun == {"has"}
    using.ran(panel)
    assert (panel.a.value, panel.b.value) == ("has", "has (before)")
    assert "has accepts 12 rows that has (before) rejects, and rejects 12" in panel.verdict.value
    assert panel.table.count == 24
    assert panel.session.guard.problem is None


def test_a_grader_may_be_called_as_an_old_version_is(make):
    """It keeps its scores and its place; the old version gets a number, and the code compares the same two."""
    tenth, nine, three = (wb.CustomGrader(lambda thread, x=x: x, name="a") for x in (0.1, 0.9, 0.3))
    panel = make("ComparePanel", graders=[tenth, wb.Entry(nine, "a (before)")])
    using.ran(panel)
    assert (panel.a.value, panel.b.value) == ("a", "a (before)")
    panel.a.value, panel.b.value = "a (before)", "a"
    assert panel.session.code.text == "app.report.compare('a', 'a (before)')"
    panel.session.graders.add(three)
    using.ran(panel)
    means = panel.session.runs.versions().summary["mean"].round(3).to_dict()
    assert means == {"a": 0.3, "a (before)": 0.9, "a (before 2)": 0.1}
    panel.a.value, panel.b.value = "a", "a (before 2)"
    assert panel.session.code.text == "app.versions.compare('a (before 2)', 'a')"
    assert panel.session.guard.problem is None


def test_the_old_version_of_a_grader_called_as_one_is_found(make):
    """It is compared with the grader whose version it is."""
    panel = make("ComparePanel", graders=[wb.Contains(expected="yes", name="a (before)"), using.GRADERS[1]])
    using.ran(panel)
    panel.session.graders.add(wb.Contains(expected="no", name="a (before)"))
    using.ran(panel)
    assert "a (before) (before)" in panel.session.runs.versions().graders
    panel.close()
    assert current_name("a (before) (before)") == "a (before)"
    assert current_name("a (before 2)") == "a"


def test_compare_offers_labels_given_since(make):
    """What a person labelled after the run is a click away, here as in Results."""
    panel = make("ComparePanel")
    using.ran(panel)
    assert panel.relabel.layout.display == "none"
    panel.session.label("row-1", True)
    assert panel.relabel.layout.display == ""
    panel.relabel.click()
    assert "labelled row" in panel.verdict.value
    assert panel.relabel.layout.display == "none"


@pytest.mark.parametrize("first", [True, False])
def test_a_grader_that_failed_on_every_row_is_no_dead_end(make, first):
    """There is nothing to compare, on whichever side it stands; the panel says so and shows no row."""
    graders = [wb.FunctionGrader.from_source(using.WRONG, name="fails"), using.GRADERS[0]]
    panel = make("ComparePanel", graders=graders if first else graders[::-1])
    using.ran(panel)
    assert panel.session.guard.problem is None
    assert "no row" in panel.verdict.value or "no scored row" in panel.verdict.value
    assert panel.table.count == 0


def test_two_unchanged_graders_are_compared_on_all_rows(make):
    """A third one whose version before saw fewer rows does not take rows away from them; the code says the same."""
    panel = make("ComparePanel")
    panel.session.runs.start(12).report(60)
    panel.session.graders.add(wb.CustomGrader(lambda thread: 0.25, name="short"))
    using.ran(panel)
    panel.a.value, panel.b.value = "exact", "has yes"
    panel.a.value, panel.b.value = "has yes", "exact"
    assert panel.table.count == 24
    assert panel.session.code.text == "app.report.compare('exact', 'has yes')"
    panel.a.value, panel.b.value = "short", "short (before)"
    assert panel.table.count == 12
    assert panel.session.code.text.startswith("app.versions.compare(")
    assert panel.session.guard.problem is None
