"""The graders of a Workbench: a suite's entries, redefinitions, and what was edited in the app."""

from __future__ import annotations

import threading

import pytest

import workbench as wb
from tests.widgets import using
from workbench.session.graders import Graders
from workbench.session.session import State

YES = wb.Contains(expected="yes", name="yes")


def test_a_redefined_grader_keeps_its_part_in_the_suite():
    """Weight, negation and rule stay; an equal grader that asks another client takes the place of the first."""
    held = Graders()
    held.take(wb.Suite([wb.Entry(YES, negate=True, weight=2.0), wb.ExactMatch()], combine=wb.combine.Mean()))
    held.add(wb.Contains(expected="no", name="yes"))
    assert held.entry("yes") == wb.Entry(wb.Contains(expected="no", name="yes"), negate=True, weight=2.0)
    assert held.chosen_suite().combine == wb.combine.Mean()
    same = wb.Contains(expected="no", name="yes")
    held.add(same)
    assert held.chosen_suite()["yes"] is same


def test_another_part_in_the_suite_is_a_change():
    """A cell that runs again with `negate` set has something new to run."""
    held = Graders()
    held.take(wb.Suite([YES]))
    held.unrun = frozenset()
    held.take(wb.Suite([wb.Entry(YES, negate=True)]))
    assert held.unrun == {"yes"}


def test_what_a_choice_leaves_out_is_said():
    """A part of the suite runs without its rule and gate, and the Workbench says so."""
    held = Graders()
    held.take(wb.Suite([YES, wb.ExactMatch()], combine=wb.combine.Mean()))
    assert held.left_out == ""
    held.choose(["yes"])
    assert held.left_out == "Without exact-match the suite's rule cannot be applied."
    assert held.chosen_suite().combine is None


def test_a_grader_edited_in_the_app_outlives_its_cell():
    """The cell runs again and says nothing new: the edit stays. It says something new: that holds."""
    held = Graders()
    first = wb.FunctionGrader.from_source(using.HALF, name="half")
    held.take([first])
    held.write(using.HALF.replace("0.5", "0.25"), name="half")
    held.take([wb.FunctionGrader.from_source(using.HALF, name="half")])
    assert "0.25" in held.graders["half"].source.text
    held.take([wb.FunctionGrader.from_source(using.HALF.replace("0.5", "0.75"), name="half")])
    assert "0.75" in held.graders["half"].source.text


def test_a_proof_that_comes_too_late_does_not_count(monkeypatch):
    """A grader redefined while its checks run is not proved by them."""
    held = Graders()
    held.take([wb.FunctionGrader.from_source(using.HALF, name="half")])
    other = wb.FunctionGrader.from_source(using.HALF.replace("0.5", "0.75"), name="half")
    real = wb.FunctionGrader.validate

    def slow(self, payload=None):
        held.add(other)
        return real(self, payload)

    monkeypatch.setattr(wb.FunctionGrader, "validate", slow)
    held.validate("half")
    assert held.proofs["half"] is None


@pytest.fixture
def state():
    made = State(using.ROWS, [YES, wb.ExactMatch(name="exact")], store=None)
    yield made
    made.close()


def test_labels_that_end_a_finding_end_its_filter(state, monkeypatch):
    """Rows of a finding are shown, the labels change, the finding is gone: all rows are shown, and no error."""
    state.start().report(60)
    finding = state.report.findings[0] if state.report.findings else None
    kind = [finding.grader, finding.kind] if finding else None
    if kind is not None:
        state.look({"finding": kind})
    state.where = (*state.where, {"finding": ["yes", "gone"]})
    state.relabel()
    assert all(one.get("finding") != ["yes", "gone"] for one in state.where)


def test_a_store_stays_open_for_the_run_that_uses_it(tmp_path):
    """Closing the app during a run ends the run first: its summary is kept."""
    gate = threading.Event()
    state = State(using.ROWS, [using.gated(gate)], store=str(tmp_path / "kept.db"))
    job = state.start()
    state.close()
    gate.set()
    assert not [note for note in job.report(60).notes if "closed" in note]
    with wb.open_store(tmp_path / "kept.db") as store:
        assert len(store.runs.list()) == 1


def test_news_go_on_while_a_grader_is_proved(state):
    """A validation does not hold the lock that a run's news need."""
    grader = wb.FunctionGrader.from_source(using.HALF, name="half")
    state.add(grader)
    held, seen = threading.Event(), threading.Event()
    real = type(grader).validate

    def slow(self, payload=None):
        held.set()
        assert seen.wait(60)
        return real(self, payload)

    def news():
        assert held.wait(60)
        with state.lock:
            seen.set()

    threading.Thread(target=news).start()
    type(grader).validate, before = slow, real
    try:
        assert state.validate("half").ok
    finally:
        type(grader).validate = before


def test_why_a_version_cannot_be_compared(state):
    """Two runs without a common row: the reason is said."""
    rows = state.samples
    state.start().report(60)
    state.samples = rows.take([0])
    state.start().report(60)
    state.add(wb.Contains(expected="no", name="yes"))
    state.samples = rows.take([1])
    state.start().report(60)
    assert state.versions().graders == ["yes", "exact"]
    assert "no row in common" in state.no_version
