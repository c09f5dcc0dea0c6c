"""The graders of a Workbench: a suite's entries, redefinitions, and what was edited in the app."""

from __future__ import annotations

import threading

import pytest

import workbench as wb
from tests.app.widgets import using
from workbench.app.session.action import ActionGuard, LastCode
from workbench.app.session.graders import GraderList
from workbench.app.session.session import Session

YES = wb.Contains(expected="yes", name="yes")


@pytest.fixture
def graders():
    """A list without a session."""
    return GraderList(ActionGuard(), LastCode())


def test_a_redefined_grader_keeps_its_part_in_the_suite(graders):
    """Weight, negation and rule are unchanged; an equal grader with another client replaces the first."""
    graders.set_given(
        wb.Suite([wb.Entry(YES, negate=True, weight=2.0), wb.ExactMatch()], combine=wb.combine.Mean())
    )
    graders.add(wb.Contains(expected="no", name="yes"))
    assert graders.entry("yes") == wb.Entry(wb.Contains(expected="no", name="yes"), negate=True, weight=2.0)
    assert graders.chosen_suite().combine == wb.combine.Mean()
    same = wb.Contains(expected="no", name="yes")
    graders.add(same)
    assert graders.chosen_suite()["yes"] is same


def test_another_part_in_the_suite_is_a_change(graders):
    """A cell that runs again with `negate` set has something new to run."""
    graders.set_given(wb.Suite([YES]))
    graders.unrun = frozenset()
    graders.set_given(wb.Suite([wb.Entry(YES, negate=True)]))
    assert graders.unrun == {"yes"}


def test_what_a_choice_leaves_out_is_said(graders):
    """A part of the suite runs without its rule and gate, which the Workbench reports."""
    graders.set_given(wb.Suite([YES, wb.ExactMatch()], combine=wb.combine.Mean()))
    assert graders.left_out == ""
    graders.choose(["yes"])
    assert graders.left_out == "Without exact-match the suite's rule cannot be applied."
    assert graders.chosen_suite().combine is None


def test_a_grader_edited_in_the_app_outlives_its_cell(graders):
    """The cell runs again unchanged: the edit remains. It runs with a new text: that replaces the edit."""
    first = wb.FunctionGrader.from_source(using.HALF, name="half")
    graders.set_given([first])
    graders.add_text(using.HALF.replace("0.5", "0.25"), name="half")
    graders.set_given([wb.FunctionGrader.from_source(using.HALF, name="half")])
    assert "0.25" in graders.by_name["half"].source.text
    graders.set_given([wb.FunctionGrader.from_source(using.HALF.replace("0.5", "0.75"), name="half")])
    assert "0.75" in graders.by_name["half"].source.text


def test_a_proof_that_comes_too_late_does_not_count(graders, monkeypatch):
    """A grader redefined during its validation is not validated by it."""
    graders.set_given([wb.FunctionGrader.from_source(using.HALF, name="half")])
    other = wb.FunctionGrader.from_source(using.HALF.replace("0.5", "0.75"), name="half")
    real = wb.FunctionGrader.validate

    def slow(self, payload=None):
        graders.add(other)
        return real(self, payload)

    monkeypatch.setattr(wb.FunctionGrader, "validate", slow)
    graders.validate("half")
    assert graders.validations["half"] is None


@pytest.fixture
def session():
    made = Session(using.ROWS, [YES, wb.ExactMatch(name="exact")], store=None)
    yield made
    made.close()


def test_labels_that_end_a_finding_end_its_filter(session, monkeypatch):
    """Rows of a finding are shown, the labels change, the finding is gone: all rows are shown, and no error."""
    session.runs.start().report(60)
    finding = session.results.report.findings[0] if session.results.report.findings else None
    kind = [finding.grader, finding.kind] if finding else None
    if kind is not None:
        session.results.look({"finding": kind})
    session.results.where = (*session.results.where, {"finding": ["yes", "gone"]})
    session.use_labels()
    assert all(one.get("finding") != ["yes", "gone"] for one in session.results.where)


def test_a_store_stays_open_for_the_run_that_uses_it(tmp_path):
    """Closing the app during a run ends the run first: its summary is saved."""
    gate = threading.Event()
    session = Session(using.ROWS, [using.gated(gate)], store=str(tmp_path / "kept.db"))
    job = session.runs.start()
    session.close()
    gate.set()
    assert not [note for note in job.report(60).notes if "closed" in note]
    with wb.open_store(tmp_path / "kept.db") as store:
        assert len(store.runs.list()) == 1


def test_news_go_on_while_a_grader_is_proved(session):
    """A validation does not hold the lock that a run's news need."""
    grader = wb.FunctionGrader.from_source(using.HALF, name="half")
    session.graders.add(grader)
    held, seen = threading.Event(), threading.Event()
    real = type(grader).validate

    def slow(self, payload=None):
        held.set()
        assert seen.wait(600)
        return real(self, payload)

    def news():
        assert held.wait(600)
        with session.guard.lock:
            seen.set()

    threading.Thread(target=news).start()
    type(grader).validate, before = slow, real
    try:
        assert session.graders.validate("half").ok
    finally:
        type(grader).validate = before


def test_why_a_version_cannot_be_compared(session):
    """Two runs without a common row: the reason is reported."""
    first = session.runs.start(1, seed=0).report(60)
    session.graders.add(wb.Contains(expected="no", name="yes"))
    draws = ((seed, session.samples.draw(1, seed=seed)) for seed in range(1, 99))
    other = next(seed for seed, rows in draws if rows.ids[0] != first.samples.ids[0])
    session.runs.start(1, seed=other).report(60)
    assert session.runs.versions().graders == ["yes", "exact"]
    assert "share no row" in session.runs.why_no_version
