"""Suites: one run, one report, progress, and an Interrupt that keeps what was graded."""

import os
import signal
import threading

import pytest

import workbench as wb
from workbench.data.extractors import extractor
from workbench.graders.combine import Combined

ROWS = [{"prompt": str(i), "completion": "yes" if i % 2 else "no", "good": bool(i % 2)} for i in range(200)]
YES = wb.FunctionGrader.from_source(
    "async def grade(t):\n    return float(t.completion() == 'yes')\n", name="yes"
)
HALF = wb.FunctionGrader.from_source("async def grade(t):\n    return 0.5\n", name="half")
SLOW = wb.FunctionGrader.from_source(
    "import time\nasync def grade(t):\n    time.sleep(0.01)\n    return 0.5\n", name="slow"
)


def test_every_grader_scores_every_row():
    """The wide frame has one column a grader, in order."""
    report = wb.Suite([YES, HALF]).run(ROWS, progress=False)
    assert list(report.scores.columns) == ["yes", "half"]
    assert report.scores["yes"].mean() == 0.5
    assert report.isolation


def test_two_workers_give_the_same_scores():
    """How many workers there are does not change a score."""
    one, two = (YES.run(ROWS, progress=False, workers=n).scores for n in (1, 2))
    assert one.equals(two)


def test_a_broken_grader_does_not_end_the_others():
    """One grader that cannot load fails its own rows only."""
    broken = wb.FunctionGrader.from_source(
        "import numpy\nasync def grade(t):\n    return 1.0\n", name="broken"
    )
    report = wb.Suite([broken, YES]).run(ROWS, progress=False)
    assert report.summary.loc["broken", "failed"] == 200
    assert report.summary.loc["yes", "scored"] == 200
    assert any(finding.grader == "broken" and finding.kind == "broken" for finding in report.findings)


def test_progress_reaches_the_total():
    """News comes on the calling thread and ends with the last row."""
    seen = []
    SLOW.run(ROWS[:60], progress=seen.append)
    assert (seen[-1].done, seen[-1].total, seen[-1].failed) == (60, 60, 0)
    assert seen[-1].rate > 0
    assert seen[-1].seconds_left == 0
    assert [moment.done for moment in seen] == sorted(moment.done for moment in seen)


def test_an_interrupt_keeps_what_was_graded(capsys):
    """Ctrl-C ends the run, and the report holds the finished rows; the rest is cancelled, not zero."""
    pressed = []

    def interrupt(moment):
        if moment.done > 20 and not pressed:
            pressed.append(moment)
            signal.raise_signal(signal.SIGINT)

    report = SLOW.run(ROWS * 5, progress=interrupt)
    counts = report.summary.loc["slow"]
    assert 20 < counts["scored"] < 1000
    assert counts["scored"] + counts["failed"] == 1000
    assert set(report.errors["error_kind"]) == {"cancelled"}
    assert "Interrupted" in capsys.readouterr().out


def test_an_error_in_a_listener_reaches_the_caller():
    """A mistake in one's own callback is not swallowed, and the next run works."""

    def wrong(_):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        SLOW.run(ROWS, progress=wrong)
    assert HALF.run(ROWS, progress=False).summary.loc["half", "scored"] == 200


@pytest.mark.parametrize(
    ("graders", "error", "part"),
    [([], ValueError, "at least one"), ([YES, YES], ValueError, "'yes'"), ([print], TypeError, "wb.grader")],
)
def test_wrong_suites_are_refused(graders, error, part):
    """No grader, twins and plain functions are mistakes that are said at once."""
    with pytest.raises(error, match=part):
        wb.Suite(graders)


def test_labels_turn_saturation_into_a_verdict():
    """With known-bad rows the report says too lenient."""
    report = HALF.run(ROWS, progress=False, labels=[row["good"] for row in ROWS])
    assert "too-lenient" in {finding.kind for finding in report.findings}


def test_empty_samples_make_an_empty_report():
    """No rows: no scores, no findings that claim anything, and it prints."""
    report = YES.run(wb.Samples(ROWS).head(0), progress=False)
    assert len(report.frame) == 0
    assert str(report)


def test_a_forked_process_has_its_own_sandbox():
    """After a fork the child starts its own zygote instead of talking over the parent's."""
    HALF.run(ROWS, progress=False)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if HALF.run(ROWS, progress=False).summary.loc["half", "scored"] == 200 else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert HALF.run(ROWS, progress=False).summary.loc["half", "scored"] == 200


def test_labels_of_a_drawn_frame_are_taken_row_by_row():
    """A column of the drawn samples' own frame fits although its index has gaps."""
    drawn = wb.Samples(ROWS).draw(150, seed=3)
    report = HALF.run(drawn, progress=False, labels=drawn.frame["good"])
    assert report.findings == HALF.run(drawn, progress=False, labels="good").findings


def test_samples_without_a_completion_are_not_graded():
    """A column of zeros for silence would look like a result."""
    from workbench.core.errors import SamplesError

    with pytest.raises(SamplesError, match="no column was recognised as the completion"):
        HALF.run([{"prompt": "q", "model_out": "a"}], progress=False)


def test_one_grader_is_a_suite_and_workers_are_counted():
    """A single grader needs no brackets, and fewer than one worker is a mistake."""
    assert wb.Suite(HALF).graders == (HALF,)
    with pytest.raises(ValueError, match="workers must be 1 or more"):
        HALF.run(ROWS, progress=False, workers=0)


class TestEntries:
    """Suites of entries, with a rule and as one value."""

    def suite(self, **settings):
        entries = [
            wb.Entry(wb.Contains(expected="yes"), "right", weight=0.8),
            wb.Entry(wb.Length(maximum=9), "short", weight=0.2),
        ]
        return wb.Suite(entries, combine=wb.combine.Mean(), name="whole", **settings)

    def test_the_combined_column_is_a_grader_of_the_report(self):
        """It has scores, a summary line and findings like any other."""
        rows = [{"prompt": "q", "completion": text} for text in ("yes", "yes, of course", "no, of course")]
        report = self.suite().run(rows, progress=False)
        assert report.graders == ["right", "short", "whole"]
        assert report.scores["whole"].tolist() == [1.0, 0.8, 0.0]

    def test_parts_by_name_and_place(self):
        """Entries are found by name and place, and listed where there is none."""
        suite = self.suite()
        assert suite["right"] == suite[0]
        with pytest.raises(KeyError, match="right, short"):
            suite["wrong"]

    def test_round_trip(self):
        """A suite is its spec."""
        suite = self.suite(gate=wb.combine.SimpleGate(metric_key="right", value=0.5))
        assert wb.Suite.build(suite.spec()) == suite

    def test_one_sample(self):
        """`grade` tells the whole and every part."""
        outcome = self.suite()(wb.StringThread([("assistant", "yes, of course")]))
        assert (outcome.score, outcome.parts["right"].passed, outcome.parts["short"].score) == (
            0.8,
            True,
            0.0,
        )

    def test_names_do_not_collide(self):
        """The combined column needs a name of its own."""
        with pytest.raises(ValueError, match="another name"):
            wb.Suite([wb.Contains(expected="x", name="combined")], combine=wb.combine.Mean())


def test_a_combined_grader_moves_the_bar():
    """Its parts' rows are told as shares of its own, never backwards, never past the end."""
    from workbench.core.background import run
    from workbench.graders import Control

    told = []
    whole = Combined(entries=(wb.Entry(wb.Length(maximum=9), "a"), wb.Entry(wb.Contains(expected="q"), "b")))
    run(whole.grade_all(wb.Samples(ROWS), Control(lambda *news: told.append(news))))
    assert told == sorted(told)
    assert told[0][0] < 200
    assert told[-1] == (200, 0)
    seen = []
    wb.Suite([Combined(entries=(SLOW, wb.Length(maximum=9)))]).run(ROWS[:60], progress=seen.append)
    assert (seen[-1].done, seen[-1].total) == (60, 60)
    assert any(0 < moment.done < 60 for moment in seen)


@extractor("test-pressing")
def pressing(thread):
    """Presses Ctrl-C at the 30th row of a run."""
    PRESSED.append(thread)
    if len(PRESSED) == 30:
        signal.raise_signal(signal.SIGINT)  # handled by the main thread, as a real one
        STOPPED.wait(600)
    return thread.completion() or ""


PRESSED, STOPPED = [], threading.Event()


@pytest.mark.parametrize("combined", [False, True])
@pytest.mark.parametrize("place", ["entry", "grader"])
def test_an_interrupt_stops_code_graders_in_the_middle(place, combined, capsys, monkeypatch):
    """Rows that were not reached are cancelled, not scored and not the sample's fault; nothing more is extracted."""
    PRESSED.clear()
    STOPPED.clear()
    real = threading.Event.set

    def setting(event):
        real(event)
        if event is not STOPPED and threading.get_ident() == threading.main_thread().ident:
            real(STOPPED)  # the run has been told to stop; threads of the test runner set events of their own

    monkeypatch.setattr(threading.Event, "set", setting)
    entry = (
        wb.Entry(wb.Length(maximum=9), "a", extractor="test-pressing")
        if place == "entry"
        else wb.Entry(wb.Length(maximum=9, extractor="test-pressing"), "a")
    )
    graders = [Combined(entries=(entry, wb.Entry(wb.AsciiPrintable(), "b")))] if combined else [entry]
    report = wb.Suite(graders).run(ROWS * 5, progress=False)
    assert len(PRESSED) < 1000
    assert set(report.errors["error_kind"]) == {"cancelled"}
    assert len(report.errors) >= 900
    assert "Interrupted" in report.notes[0]
    assert capsys.readouterr().out == ""


def test_a_described_suite_is_no_plain_list(tmp_path):
    """Its description is kept when it is saved."""
    suite = wb.Suite([wb.Length(maximum=3)], description="short ones")
    wb.save(suite, tmp_path / "suite.json")
    assert wb.load(tmp_path / "suite.json").description == "short ones"

    @pytest.mark.parametrize(
        "settings", [{"combine": "mean"}, {"combine": wb.combine.Mean}, {"gate": {"kind": "simple"}}]
    )
    def test_rules_and_gates_are_objects(self, settings):
        """A name or a class in their place is refused with an example."""
        with pytest.raises(TypeError, match="such as"):
            wb.Suite([wb.Contains("x")], **settings)

    def test_who_is_not_ready_is_named(self, monkeypatch):
        """A judge without a key stops the run before its first row, by the judge's name."""
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        suite = wb.Suite([wb.Contains("x"), wb.CriteriaJudge(name="quality")])
        with pytest.raises(wb.errors.WorkbenchError, match="'quality'"):
            suite.run([{"prompt": "q", "completion": "x"}], progress=False)
