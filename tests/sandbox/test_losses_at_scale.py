"""Workers lost in runs of 100,000 rows: every other row is graded once, and neither memory nor processes grow."""

import marshal
import time
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import psutil
import pytest

import workbench as wb
from workbench.core.grade import ErrorKind
from workbench.core.thread import StringThread
from workbench.data.packed import Packed, Stream
from workbench.data.samples import encoding
from workbench.sandbox.child.protocol import NOT_SCORED
from workbench.sandbox.host import run as run_module
from workbench.sandbox.host.losses import MIN_CRASHES
from workbench.sandbox.host.pool import Pool
from workbench.sandbox.host.program import Limits, Program
from workbench.sandbox.host.results import page_of
from workbench.sandbox.host.run import SandboxRun
from workbench.sandbox.host.worker_pool import new_owner, worker_pool

ROWS = 100_000
LIMITS = Limits(row_seconds=20, load_seconds=2.0, memory_mb=256)
"""A row may take long, so that a busy machine ends none of them; what hangs here does so while it loads."""
WORKERS = 2
MOST_PROCESSES = 2
"""Beside twice the workers: the process that workers are forked from, and one that has just ended."""
MOST_MEMORY = 200 * 2**20
"""Bytes that this process may take beyond what it had: notes of all rows take half of it."""
BAD = [0, 7, 4095, 8191, 8192, 49_999, 50_000, 77_777, 99_998, 99_999, *range(20_003, 40_000, 1000)]
"""First and last rows, neighbours, ends of ranges and of both stretches, and one in a thousand of a part."""
KEPT = np.setdiff1d(np.arange(ROWS), BAD)
LIVES = "async def grade(thread):\n    i = int(thread.completion())\n"
CRASHES = LIVES + "    if {}:\n        __import__('os')._exit(1)\n    return float(i)\n"
HANGS = "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0)\nwhile True:\n    pass\n"


@pytest.fixture(scope="module")
def samples():
    return wb.Samples(pd.DataFrame({"prompt": ["q"] * ROWS, "completion": list(map(str, range(ROWS)))}))


@pytest.fixture(scope="module")
def packed(samples):
    made = samples.packed()
    assert isinstance(made, Packed)
    return made


@pytest.fixture
def own():
    made = Pool()
    yield made
    made.close()


@dataclass
class Watch:
    """What a run took at most, seen whenever it reports its progress."""

    pool: Pool
    processes: int = 0
    memory: int = 0
    done: list = field(default_factory=list)

    def __post_init__(self):
        self.host = psutil.Process()
        self.base = self.host.memory_info().rss

    def __call__(self, done, failed, grades):
        zygote = psutil.Process(self.pool._zygote._process.pid)
        self.processes = max(self.processes, 1 + len(zygote.children(recursive=True)))
        self.memory = max(self.memory, self.host.memory_info().rss - self.base)
        self.done.append(done)


def run(own, text, rows, workers=WORKERS):
    """A run of all rows that stayed within its bounds, and in which each row was decided once."""
    watch = Watch(own)
    outcome = own.run(Program(text, LIMITS), rows, workers=workers, on_progress=watch)
    assert watch.processes <= 2 * workers + MOST_PROCESSES
    assert watch.memory < MOST_MEMORY
    assert max(watch.done) <= ROWS
    assert outcome.grades.n_scored + outcome.grades.n_failed == ROWS
    return outcome


def kinds(grades):
    return {row: error.kind for row, error in grades.errors.items()}


@pytest.mark.parametrize("sent", [False, True], ids=["decoded beforehand", "sent with each command"])
def test_crashes_here_and_there_cost_their_rows_only(own, samples, packed, monkeypatch, sent):
    """Crashes at the ends of everything and in between: no other row is lost, moved, or decided twice."""
    if sent:
        monkeypatch.setattr(encoding, "CACHED_ROWS", 0)
        packed = wb.Samples(samples.frame).packed()
        assert isinstance(packed, Stream)
    outcome = run(own, CRASHES.format(f"i in {set(BAD)}"), packed)
    assert kinds(outcome.grades) == dict.fromkeys(BAD, ErrorKind.CRASH)
    assert np.array_equal(outcome.grades.scores[KEPT], KEPT)
    assert (outcome.lost, outcome.stopped) == (len(BAD), "")


def test_notes_stay_with_their_rows(own, packed):
    """Rows whose notes were lost with a worker are graded again: each has its own, and once."""
    text = CRASHES.format(f"i in {set(BAD)}").replace("float(i)", "Grade(float(i), reasoning=str(i))")
    outcome = run(own, "from workbench import Grade\n" + text, packed)
    assert kinds(outcome.grades) == dict.fromkeys(BAD, ErrorKind.CRASH)
    assert np.array_equal(outcome.grades.scores[KEPT], KEPT)
    assert outcome.grades.reasoning == {int(row): str(row) for row in KEPT}


def test_workers_that_graded_rows_are_not_lost_in_a_row(own, packed):
    """Four workers that crash on their second row have each graded one, also where its note is lost with them."""
    text = CRASHES.format("i % 25_000 == 1").replace("float(i)", "Grade(float(i))")
    outcome = run(own, "from workbench import Grade\n" + text, packed, workers=4)
    assert kinds(outcome.grades) == dict.fromkeys(range(1, ROWS, 25_000), ErrorKind.CRASH)


def test_losses_of_two_workers_are_not_in_a_row(own, packed):
    """Each worker meets two bad rows first: four are lost before any row is graded, and the others are still graded."""
    bad = [0, 1, ROWS // 2, ROWS // 2 + 1]
    outcome = run(own, CRASHES.format(f"i in {set(bad)}"), packed)
    assert kinds(outcome.grades) == dict.fromkeys(bad, ErrorKind.CRASH)
    assert (outcome.lost, outcome.stopped) == (len(bad), "")


def test_rows_graded_meanwhile_count_before_their_reply(own, packed, monkeypatch):
    """A busy host reads replies late: rows that the other worker's page shows as graded come in between all the same."""
    start = SandboxRun._start_worker

    def start_later(self, slot):
        """Start a successor once the other worker has graded another row of a range whose reply nobody has read."""
        running = [other for other in self._slots if other is not slot and other.worker and other.requests]
        if slot.worker is None and slot.ranges and slot.ranges[0][0] in range(1, 4) and running:
            before = graded_rows(running[0])
            while graded_rows(running[0]) == before < running[0].requests[0].count:
                time.sleep(0.005)
        start(self, slot)

    def graded_rows(slot):
        return int((page_of(slot, slot.requests[0])[1] != NOT_SCORED).sum())

    monkeypatch.setattr(SandboxRun, "_start_worker", start_later)
    monkeypatch.setattr(run_module, "SHARED_SECONDS", 20.0)
    slow = f"    if {ROWS // 2} <= i < {ROWS // 2 + 8}:\n        __import__('time').sleep(0.2)\n    return"
    text = CRASHES.format("i in {0, 1, 2, 3}").replace("    return", slow)
    outcome = run(own, text, packed)
    assert kinds(outcome.grades) == dict.fromkeys(range(4), ErrorKind.CRASH)
    assert (outcome.lost, outcome.stopped) == (4, "")


def test_three_lost_in_a_row_end_it(own, packed):
    """From one row on every row crashes: three workers are lost, what stands before is kept, the rest not tried."""
    outcome = run(own, CRASHES.format("i >= 60_000"), packed, workers=1)
    assert outcome.lost == 3
    assert "3 consecutive worker crashes" in outcome.stopped
    assert np.array_equal(outcome.grades.scores[:60_000], np.arange(60_000.0))
    found = kinds(outcome.grades)
    assert [found[row] for row in (60_000, 60_001, 60_002)] == [ErrorKind.CRASH] * 3
    assert {found[row] for row in range(60_003, ROWS)} == {ErrorKind.CANCELLED}


def test_one_row_in_two_ends_it(own, packed):
    """With scores in between the share of lost workers ends it, after thirty and not after fifty thousand."""
    outcome = run(own, CRASHES.format("i % 2"), packed)
    assert MIN_CRASHES <= outcome.lost <= MIN_CRASHES + 1
    assert "more than one in ten" in outcome.stopped
    scored = np.flatnonzero(~np.isnan(outcome.grades.scores))
    assert np.array_equal(outcome.grades.scores[scored], scored)
    assert set(kinds(outcome.grades).values()) == {ErrorKind.CRASH, ErrorKind.CANCELLED}


def test_a_module_that_hangs_is_tried_once(own, packed):
    """Loading that hears no time-out costs one worker, and every row says that it did not load."""
    outcome = run(own, HANGS + CRASHES.format("False"), packed)
    assert outcome.lost == 1
    assert set(kinds(outcome.grades).values()) == {ErrorKind.LOAD}


def test_a_successor_that_hangs_in_its_load_ends_it(own, packed, monkeypatch):
    """A module that loaded once, and not in the lost worker's place: what was graded is kept, nothing is tried for ever."""
    command, given = Program.load_command, []

    def load_command(program, op):
        given.append(op)
        return {**command(program, op), "text": (HANGS if len(given) > 1 else "") + program.text}

    monkeypatch.setattr(Program, "load_command", load_command)
    outcome = run(own, CRASHES.format("i == 60_000"), packed, workers=1)
    assert len(given) == outcome.lost == 2
    assert np.array_equal(outcome.grades.scores[:60_000], np.arange(60_000.0))
    found = kinds(outcome.grades)
    assert found.pop(60_000) == ErrorKind.CRASH
    assert set(found.values()) == {ErrorKind.LOAD}
    assert len(found) == ROWS - 60_001


def test_rows_of_one_call_that_crash_cost_themselves():
    """The same in workers that stay: one call of 100,000 rows, each row told once."""
    rows = [marshal.dumps(StringThread([("assistant", str(i))]).to_wire()) for i in range(ROWS)]
    program, told, started = Program(CRASHES.format(f"i in {set(BAD)}"), LIMITS), [], worker_pool().started
    owner = new_owner()
    batch = worker_pool().grade_batch(program, rows, owner=owner, workers=WORKERS)
    put = batch.put

    def counted(piece, grades, at):
        told.append(put(piece, grades, at))
        return told[-1]

    batch.put = counted
    grades = batch.future.result(600)
    worker_pool().release(owner)
    assert kinds(grades) == dict.fromkeys(BAD, ErrorKind.CRASH)
    assert np.array_equal(grades.scores[KEPT], KEPT)
    assert sum(told) <= ROWS
    assert worker_pool().started - started <= len(BAD) + WORKERS
