"""The estimate of a run's remaining time."""

from __future__ import annotations

from workbench.app.session.runs import Pace, TimeLeft
from workbench.core.progress import Progress


def at(grader, rows, since, done=0):
    """A moment of a run of three graders over a hundred rows."""
    return Progress(
        grader=grader, done=done or rows, failed=0, total=300, seconds=since, rows=rows, since=since
    )


def test_one_slow_row_says_nothing():
    """One row, however slow, does not determine the time of the others."""
    pace = Pace()
    moment = at("judge", 1, 97.0)
    pace.note(moment)
    assert pace.left(moment, ["judge", "rule"], 100) == TimeLeft(None, 1)


def test_a_grader_that_ran_before_is_known_before_it_begins():
    """The time left does not jump when a slow grader follows a fast one: its pace is known from the last run."""
    pace, graders = Pace(), ["rule", "judge", "new"]
    pace.note(at("judge", 100, 50.0))
    pace.note(at("rule", 50, 0.05))
    before = pace.left(at("rule", 50, 0.05), graders, 100)
    assert before == TimeLeft(0.05 + 50.0, 1)
    pace.note(at("judge", 20, 10.0, done=120))
    assert pace.left(at("judge", 20, 10.0, done=120), graders, 100) == TimeLeft(40.0, 1)


def test_a_grader_of_another_run_has_no_time():
    """An unknown name, or no progress, gives no estimate."""
    assert Pace().left(at("gone", 90, 9.0), ["rule"], 100) == TimeLeft(None, 1)


def test_repeats_are_told_apart():
    """In the second of three passes the third is still to come; what grades once comes once."""
    pace = Pace()
    pace.note(at("judge", 50, 50.0))
    pace.note(at("rule", 100, 1.0))
    passes = ["rule", "judge", "judge", "judge"]
    ends = pace.left(at("judge", 100, 100.0, done=200), passes, 100)
    begins = pace.left(at("judge", 0, 0.0, done=200), passes, 100)
    assert (ends.seconds, begins.seconds) == (200.0, 200.0)
    assert pace.left(at("judge", 50, 50.0, done=350), passes, 100) == TimeLeft(50.0, 0)
