"""Runs in the background: news, a stop that keeps what was graded, and what went wrong."""

from __future__ import annotations

import asyncio
import threading

import pytest

import workbench as wb

ROWS = [{"prompt": str(n), "completion": "yes" if n % 2 else "no"} for n in range(40)]


def waiting(gate):
    """A grader in this process that waits for somebody to open the gate."""

    async def wait(thread):
        while not gate.is_set():
            await asyncio.sleep(0.01)
        return 1.0

    return wb.CustomGrader(wait, name="waits")


def test_a_job_returns_at_once_and_ends_with_the_report():
    """The caller goes on while rows are graded; the report is that of a plain run."""
    gate = threading.Event()
    job = wb.Suite([waiting(gate)]).start(ROWS)
    assert not job.done
    gate.set()
    assert job.report(60).summary.loc["waits", "scored"] == 40
    assert (job.done, job.error, repr(job)) == (True, None, "Job(done)")


def test_a_cancelled_job_keeps_what_was_graded():
    """Rows that were not reached are failed as cancelled, never zero, and a note says so."""
    gate, told = threading.Event(), threading.Event()
    job = wb.Suite([wb.Contains(expected="yes"), waiting(gate)]).start(ROWS, progress=lambda _: told.set())
    assert told.wait(600)
    job.cancel()
    report = job.report(60)
    assert report.summary["scored"].tolist()[0] == 40
    assert {error.kind for error in report.grades["waits"].errors.values()} == {wb.errors.ErrorKind.CANCELLED}
    assert report.notes == ("Interrupted: 40 of 80 grades completed.",)


def test_an_overview_in_the_background(tmp_path):
    """The job has its progress, ends with the overview, and can be stopped; the same call goes on."""
    gate, progress = threading.Event(), []
    job = wb.Suite([waiting(gate)]).start_overview(
        ROWS, tmp_path / "graded", progress=progress.append, labels=None
    )
    assert not job.done
    gate.set()
    assert job.report(60).summary.loc["waits", "scored"] == 40
    assert (len(progress) > 0, job.progress.done) == (True, 40)
    stopped = wb.Suite([waiting(threading.Event())]).start_overview(ROWS, progress=lambda _: False)
    assert stopped.report(60).notes[0].startswith("Interrupted: ")


def test_an_overview_in_the_background_takes_what_an_overview_takes():
    """Settings of a report alone are refused at once, what is wrong with the rows where the overview is asked for."""
    suite = wb.Suite([wb.ExactMatch()])
    with pytest.raises(TypeError, match="start_overview has no parameter 'resume'"):
        suite.start_overview(ROWS, resume="run.parquet")
    with pytest.raises(wb.errors.ReportError, match="a folder"):
        suite.start_overview(ROWS, "").report(60)


def test_a_listener_that_returns_false_stops_a_run(capsys):
    """The same for a run that is waited for; its note is printed."""
    report = wb.Suite([waiting(threading.Event())]).run(ROWS, progress=lambda _: False)
    assert report.summary.loc["waits", "failed"] == 40
    assert "Interrupted: 0 of 40 grades completed." in capsys.readouterr().out


def test_what_a_run_raises_comes_out_of_the_job():
    """Bad samples are told where the report is asked for, and nowhere else."""
    job = wb.Suite([wb.ExactMatch()]).start([{"prompt": "no completion here"}])
    with pytest.raises(wb.errors.SamplesError, match="completion"):
        job.report(60)
    assert isinstance(job.error, wb.errors.SamplesError)
    assert repr(job) == "Job(failed)"


def test_a_job_that_goes_on_is_no_report_yet():
    """Waiting has a limit where one is wanted."""
    gate = threading.Event()
    job = wb.Suite([waiting(gate)]).start(ROWS)
    with pytest.raises(TimeoutError, match="still continues"):
        job.report(0.01)
    gate.set()
    assert job.report(60).summary.loc["waits", "scored"] == 40


def test_a_job_can_be_awaited_and_the_awaiting_cell_interrupted():
    """Await gives the report; cancelling the awaiting task ends the run."""
    gate = threading.Event()
    gate.set()

    async def plain():
        return await wb.Suite([waiting(gate)]).start(ROWS)

    assert asyncio.run(plain()).summary.loc["waits", "scored"] == 40

    async def cut():
        job = wb.Suite([waiting(threading.Event())]).start(ROWS)
        task = asyncio.ensure_future(job._wait())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return job

    assert asyncio.run(cut()).report(60).summary.loc["waits", "failed"] == 40


def test_who_is_told_of_the_end():
    """`ended` is called with the job when there is a report."""
    over, seen = threading.Event(), []

    def ended(job):
        seen.append((job.done, job.error))
        over.set()

    wb.Suite([wb.Contains(expected="yes")]).start(ROWS, ended=ended)
    assert over.wait(600)
    assert seen == [(True, None)]


def test_start_takes_what_run_takes():
    """Another setting is refused by name, before anything begins."""
    with pytest.raises(TypeError, match="'budgets'"):
        wb.Suite([wb.ExactMatch()]).start(ROWS, budgets=1)
