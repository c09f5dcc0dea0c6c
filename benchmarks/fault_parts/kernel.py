"""The kernel is killed during a judge's run, repeatedly, and the run resumes."""

from __future__ import annotations

import os
import random
import signal
import statistics
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.fault_parts.common import Line, output_of, start_child
from benchmarks.fault_parts.question_server import QuestionServer, serve

SLOWEST = 0.08
"""Maximum seconds of a reply: some tens of milliseconds, so that 3,000 rows take some seconds."""


@dataclass
class Kill:
    """The requests in flight when a process was killed.

    Attributes:
        at: When, by `time.monotonic`.
        under_way: Requests without a reply.
        ages: Seconds since their replies were sent, of the rows that were sent again.
        unanswered: Number of rows in flight that were sent again.
    """

    at: float
    under_way: int
    ages: list[float] = field(default_factory=list)
    unanswered: int = 0


@dataclass
class Killer:
    """Kills a process shortly after a number of replies."""

    server: QuestionServer
    after: int
    delay: float
    pid: int
    armed: bool = False
    kill: Kill | None = None

    def __call__(self, sent: int) -> None:
        if sent >= self.after and not self.armed:
            self.armed = True
            threading.Timer(self.delay, self._kill).start()

    def _kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        self.kill = Kill(time.monotonic(), self.server.under_way)


def kernel(*, seed: int, rows: int = 3_000, kills: int = 20, at_once: int = 32) -> list[Line]:
    """Kill a run at points drawn by the seed, and run it to its end.

    Args:
        seed: Decides the points.
        rows: Rows of the run.
        kills: How often it is killed.
        at_once: Concurrent requests.
    """
    chance = random.Random(seed)
    points = sorted(chance.sample(range(at_once, rows - 4 * at_once), kills))
    done: list[Kill] = []
    with tempfile.TemporaryDirectory() as folder, serve(SLOWEST, seed) as server:
        store = f"sqlite:///{Path(folder) / 'answers.db'}"
        words = (server.address, store, rows, at_once)
        done += [
            _run_and_kill(server, words, max(point, server.sent + 1), chance.uniform(0, SLOWEST))
            for point in points
        ]
        server.on_answer = lambda _: None
        scored = output_of(start_child("judge_run", *words)).strip()
    starts = [0.0, *(kill.at for kill in done)]
    for start, kill in zip(starts, done, strict=False):
        _asked_again(server, kill, start)
    return _lines(server, done, rows, scored, at_once)


def _run_and_kill(server: QuestionServer, words: tuple[object, ...], after: int, delay: float) -> Kill:
    process = start_child("judge_run", *words)
    server.on_answer = killer = Killer(server, after, delay, process.pid)
    output_of(process)
    assert killer.kill is not None, "the run ended before it was killed"
    return killer.kill


def _asked_again(server: QuestionServer, kill: Kill, start: float) -> None:
    """Sort the rows that the killed process had sent, and that a later one sent again."""
    for row, asked in server.asked.items():
        mine = [at for at in asked if start < at <= kill.at]
        if not mine or asked[-1] <= kill.at:
            continue
        sent = [at for at in server.answered[row] if mine[-1] < at <= kill.at]
        if sent:
            kill.ages.append(kill.at - sent[-1])
        else:
            kill.unanswered += 1


def _lines(server: QuestionServer, done: list[Kill], rows: int, scored: str, at_once: int) -> list[Line]:
    injected = f"{len(done)} kills of a run of {rows:,} rows, {at_once} requests in flight"
    lost = rows - int(scored or 0)
    again = [len(kill.ages) + kill.unanswered for kill in done]
    ages = [age * 1e3 for kill in done for age in kill.ages]
    twice = sum(len(asked) - 1 for asked in server.asked.values())
    mean, oldest = statistics.mean(again), max(ages, default=0.0)
    paid = f"{twice} requests twice: {mean:.1f} per kill, at most {max(again)}"
    arrived = f"{len(ages)} in {len(done)} kills, the oldest {oldest:.0f} ms old"
    return [
        Line(injected, f"{lost} rows lost", "0", lost == 0),
        Line("the same", paid, f"{at_once} a kill", max(again) <= at_once),
        Line("the same: replies sent and requested again", arrived, "reported", kept=True),
    ]
