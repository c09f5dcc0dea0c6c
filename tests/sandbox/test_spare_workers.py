"""Workers that wait for the next run: used once, by any grader that fits them, and never after a grader."""

import os
import signal
import threading

import numpy as np
import pytest

import workbench as wb
from tests.browser.lab import wait_until
from workbench.core.thread import StringThread
from workbench.data.packed import pack
from workbench.sandbox.host.pool import WARM_ROWS, Pool, pool
from workbench.sandbox.host.program import Limits, Program
from workbench.sandbox.host.spare_workers import MAX_SPARE_WORKERS, SpareKind
from workbench.sandbox.host.worker import Worker, readable

LIMITS = Limits(memory_mb=256)
ONES = Program("async def grade(thread):\n    return 1.0\n", LIMITS)
COUNTS = Program(
    "seen = []\n\nasync def grade(thread):\n    seen.append(1)\n    return float(len(seen))\n", LIMITS
)


@pytest.fixture
def own():
    """A pool of the test's own."""
    found = Pool()
    yield found
    found.close()


def rows(count):
    return pack([StringThread([("assistant", str(row))], {"n": row}) for row in range(count)])


def settled(own):
    """Wait for what the last run queued; returns the pids of the spare workers."""
    own._janitor.later(int).result()
    return [worker.pid for worker in own._spares.workers]


def test_every_run_gets_workers_in_which_nothing_ran(own):
    """The second run of a grader counts from one again, and no worker of the first is used again."""
    data = rows(WARM_ROWS)
    first = own.run(COUNTS, data, workers=1)
    waiting = settled(own)
    second = own.run(COUNTS, data, workers=1)
    assert np.array_equal(first.grades.scores, second.grades.scores)
    assert first.grades.scores.max() == WARM_ROWS
    later = settled(own)
    assert len(waiting) == len(later) == 2
    assert len(set(waiting) & set(later)) == 1  # the one for rows that are sent: this run sent none


def test_a_run_waits_for_no_start(own, monkeypatch):
    """It takes the spare workers; another grader's run over the same rows does, too."""
    data = rows(WARM_ROWS)
    own.run(ONES, data, workers=2)
    waiting = settled(own)
    taken = []
    monkeypatch.setattr(
        Pool, "_ready", staticmethod(lambda worker: taken.append(worker) or worker.await_ready())
    )
    assert set(own.run(COUNTS, data, workers=2).grades.scores) > {1.0}
    assert taken == []
    assert len(waiting) == 3


def test_a_check_waits_for_no_worker_to_end(own, monkeypatch):
    """Its two workers are ended on another thread, and the next check finds two that wait."""
    ended, close = [], Worker.close

    def closed(worker):
        ended.append(threading.current_thread() is threading.main_thread())
        return close(worker)

    monkeypatch.setattr(Worker, "close", closed)
    assert own.check(ONES, [("row", StringThread([("assistant", "1")], {}))]).ok
    assert len(settled(own)) == 2
    assert ended == [False, False]


def test_a_killed_spare_worker_is_replaced(own):
    """No row is lost, and no worker counts as crashed."""
    data = rows(WARM_ROWS)
    own.run(ONES, data, workers=2)
    settled(own)
    for worker in own._spares.workers:
        worker.await_ready()
        os.kill(worker.pid, signal.SIGKILL)
    wait_until(lambda: len(readable(own._spares.workers, 0)) == 3, what="their end")
    outcome = own.run(ONES, data, workers=2)
    assert outcome.grades.n_scored == WARM_ROWS
    assert outcome.lost == 0


def test_another_limit_and_another_dataset_replace_them(own):
    """Spare workers are of the last run; there are never many."""
    data, other = rows(WARM_ROWS), rows(WARM_ROWS)
    own.run(ONES, data, workers=2)
    settled(own)
    own.run(ONES, other, workers=2)
    settled(own)
    assert own._spares.count(SpareKind(256, data.serial)) == 0
    assert own._spares.count(SpareKind(256, other.serial)) == 2
    own.run(Program(ONES.text, Limits(memory_mb=128)), rows(1), workers=2)
    settled(own)
    assert {kind.memory_mb for kind in own._spares._waiting} == {128}
    assert len(own._spares.workers) <= MAX_SPARE_WORKERS


def test_a_grader_that_needs_the_library_gets_a_worker_that_has_it():
    """A spare worker that was started before the library was loaded is left for graders that need little."""
    text = "import sqlite3\n\n\nasync def grade(thread):\n    return float(sqlite3.threadsafety >= 0)\n"
    few = [{"prompt": "q", "completion": "4"}]
    plain = wb.FunctionGrader.from_source("async def grade(thread):\n    return 1.0\n", name="plain")
    for _ in range(3):
        assert plain.run(few, progress=False).scores["plain"].tolist() == [1.0]
        assert wb.FunctionGrader.from_source(text, name="all").run(few, progress=False).scores[
            "all"
        ].tolist() == [1.0]


def test_a_deleted_dataset_ends_its_workers():
    """Its bytes and the processes that map them go with it."""
    data = rows(WARM_ROWS)
    kind = SpareKind(LIMITS.memory_mb, data.serial)
    pool().warm(data, workers=1, limits=LIMITS)
    assert pool()._spares.count(kind) == 1
    del data
    pool()._janitor.later(int).result()
    assert pool()._spares.count(kind) == 0


def test_rows_are_decoded_once_per_batch_however_they_are_asked_for(own):
    """A slow grader gets a row per command, and every row is still the right one."""
    text = "import time\n\n\nasync def grade(thread):\n    time.sleep(0.03)\n    return float(thread.completion())\n"
    outcome = own.run(Program(text, LIMITS), rows(30), workers=1)
    assert np.array_equal(outcome.grades.scores, np.arange(30.0))
