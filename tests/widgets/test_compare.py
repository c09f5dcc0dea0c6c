"""The Compare panel, by its own controls."""

from __future__ import annotations

import workbench as wb
from tests.widgets import using


def test_compare_two_graders(at_once):
    """A verdict in words, a figure, and the rows that differ most first; a mark of the figure shows its rows."""
    panel = at_once("ComparePanel")
    assert panel.state.problem is None
    panel.a.value, panel.b.value = "has yes", "exact"
    assert panel.verdict.value.startswith("<b>")
    scores = [panel.state.report.grades[name].scores for name in ("has yes", "exact")]
    gaps = [abs(scores[0][row] - scores[1][row]) for row in panel.table.source.rows]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] == 1.0
    pick = [{"verdicts": ["has yes", "exact"], "are": [True, False]}]
    panel.chart.hear({"do": "pick", "picks": [pick]})
    assert panel.table.source.rows.tolist() == panel.state.report.where(*pick).tolist()
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
                        assert panel.state.problem is None, (kind, one)


def test_compare_versions_of_a_redefined_grader(make):
    """A grader that was redefined and run again stands beside what it said before."""
    panel = make("ComparePanel", graders=[wb.Contains(expected="yes", name="has")])
    using.ran(panel)
    assert "Run two graders" in panel.verdict.value
    panel.state.add(wb.Contains(expected="no", name="has"))
    assert panel.state.unrun == {"has"}
    using.ran(panel)
    assert (panel.a.value, panel.b.value) == ("has (before)", "has")
    assert panel.table.count == 24
    assert panel.state.problem is None
