"""The Run panel, by its own controls."""

from __future__ import annotations

import threading

import pytest

import workbench as wb
from tests.widgets import using


def test_run_grades_a_draw_and_tells_how_it_ended(make):
    """Rows, seed and strata of the controls make the draw; the line says what was done."""
    panel = make("RunPanel")
    assert "24 of 24 rows x 3 graders = 72 grades" in panel.plan.value
    panel.rows.value, panel.seed.value = 8, 3
    panel.by.value = "good"
    panel.start.click()
    report = panel.session.runs.job.report(60)
    assert report is panel.session.results.report
    assert len(report) == 8
    assert sum(row["good"] for row in using.ROWS if row["id"] in set(report.samples.ids)) == 4
    assert "done: 8 rows, 3 graders" in panel.status.value
    assert not panel.start.disabled
    assert panel.stop.disabled
    assert (panel.bar.value, panel.bar.max) == (24, 24)
    assert panel.session.graders.unrun == frozenset()


def test_run_is_stopped_and_keeps_what_was_graded(make):
    """Stop ends it soon; what was graded is in the report, the rest is failed as cancelled."""
    gate = threading.Event()
    panel = make("RunPanel", graders=[using.GRADERS[0], using.gated(gate)])
    panel.start.click()
    assert panel.start.disabled
    assert not panel.stop.disabled
    using.until(panel.session.runs, "progress", lambda moment: moment is not None)
    assert "of 48" in panel.status.value
    panel.stop.click()
    report = panel.session.runs.job.report(60)
    assert report.summary.loc["has yes", "scored"] == 24
    assert report.summary.loc["waits", "failed"] == 24
    assert "Interrupted: 24 of 48 grades kept." in panel.status.value
    assert (panel.bar.value, panel.bar.max, panel.bar.bar_style) == (24, 48, "warning")


def test_a_second_run_is_refused_and_the_refusal_stays(make):
    """While one runs another is refused; the error stays to be read although news of the run come in."""
    gate = threading.Event()
    panel = make("RunPanel", graders=[using.gated(gate)])
    panel.start.click()
    using.until(panel.session.runs, "progress", lambda moment: moment is not None)
    panel.start.disabled = False
    panel.start.click()
    before = panel.session.runs.progress
    using.until(panel.session.runs, "progress", lambda moment: moment is not before)
    assert "a run is under way" in panel.session.guard.problem.what
    assert "a run is under way" in panel._alert.value
    gate.set()
    panel.session.runs.job.report(60)


def test_the_bar_begins_anew(make):
    """A second run starts at nothing, whatever the first one left."""
    gate = threading.Event()
    panel = make("RunPanel")
    using.ran(panel)
    assert panel.bar.value == 72
    panel.session.graders.add(using.gated(gate))
    panel.session.graders.choose(["waits"])
    panel.start.click()
    assert panel.bar.value == 0
    gate.set()
    panel.session.runs.job.report(60)
    assert (panel.bar.value, panel.bar.max) == (24, 24)


def test_an_error_of_a_run_reaches_the_panel(make):
    """What ends a run without a report is shown with its traceback behind a fold, and the next run can start."""
    panel = make("RunPanel", samples=[{"prompt": "no completions at all"}])
    panel.start.click()
    with pytest.raises(wb.errors.SamplesError):
        panel.session.runs.job.report(60)
    assert "completion" in panel._alert.value
    assert "<details>" in panel._alert.value
    assert "Traceback" in panel._alert.value
    assert not panel.session.runs.running
    assert not panel.start.disabled


def test_run_tells_which_graders_changed(make):
    """The list says what has not run since it was redefined, and what has no proof."""
    panel = make("RunPanel", graders=[wb.FunctionGrader.from_source(using.HALF, name="half")])
    assert panel.graders.options[0][0] == "half · not run yet · not validated"
    using.ran(panel)
    assert panel.graders.options[0][0] == "half · not validated"
    panel.session.graders.add(wb.FunctionGrader.from_source(using.BROKEN, name="half"))
    assert panel.graders.options[0][0] == "half · changed · not validated"


def test_run_runs_what_is_chosen(make):
    """Graders that are not chosen are not run; with none chosen the panel says so."""
    panel = make("RunPanel")
    panel.graders.value = ("exact",)
    assert using.ran(panel).results.report.graders == ["exact"]
    panel.graders.value = ()
    panel.start.click()
    assert "no grader is chosen" in panel.session.guard.problem.what


def test_rows_are_graded_several_times(make):
    """Repeats are offered for what may answer otherwise; the plan counts them, and the code does the same."""
    rule, own = wb.Contains("yes", name="rule"), wb.CustomGrader(lambda thread: 1.0, name="own")
    panel = make("RunPanel", graders=[rule, own])
    panel.session.graders.choose(["rule"])
    assert panel.repeats.layout.display == "none"
    panel.session.graders.choose(["rule", "own"])
    assert panel.repeats.layout.display == ""
    panel.repeats.value = 3
    assert "24 of 24 rows x 2 graders + 2 repeats = 96 grades" in panel.plan.value
    panel.start.click()
    report = panel.session.runs.job.report(60)
    assert {name: len(passes) for name, passes in report.repeats.items()} == {"own": 3}
    assert "repeats=3" in panel.session.code.text
    assert (panel.bar.value, panel.bar.max) == (96, 96)
