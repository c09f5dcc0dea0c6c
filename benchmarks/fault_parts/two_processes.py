"""Two processes run the same judge over the same rows on one store, and one of several is killed."""

from __future__ import annotations

import os
import random
import signal
import tempfile
import threading
from pathlib import Path

from benchmarks.fault_parts.common import Line, output_of, start_child
from benchmarks.fault_parts.question_server import QuestionServer, serve

__all__ = ["clock", "two_processes"]

_SLOWEST = 0.08
"""Maximum seconds of a reply."""


def two_processes(*, seed: int, rows: int = 3_000, at_once: int = 32) -> list[Line]:
    """Run a judge in two concurrent processes; then in three, of which one is killed.

    Args:
        seed: Decides when it is killed.
        rows: Rows of each run.
        at_once: Concurrent requests of each process.
    """
    lines = []
    with serve(_SLOWEST, seed) as server:
        scored = _run(server, rows, at_once, ["judge_run"] * 2)
    lines.append(_line("two processes on one store", server, rows, scored, 0))
    with serve(_SLOWEST, seed) as server:
        kill_after = random.Random(seed).randrange(rows // 10, rows // 2)
        scored = _run(server, rows, at_once, ["judge_run"] * 3, kill_after)
    lines.append(_line("three processes, one killed", server, rows, scored, at_once))
    return lines


def clock(*, seed: int, rows: int = 1_000, at_once: int = 32) -> list[Line]:
    """Run a judge in two processes whose clocks jump by up to a year, forwards and back, at every call.

    Args:
        seed: Decides the jumps.
        rows: Rows of each run.
        at_once: Concurrent requests of each process.
    """
    with serve(_SLOWEST, seed) as server:
        scored = _run(server, rows, at_once, ["jumping_judge_run"] * 2)
    return [_line("two processes whose clocks jump by up to a year", server, rows, scored, 0)]


def _run(
    server: QuestionServer, rows: int, at_once: int, names: list[str], kill_after: int | None = None
) -> list[str]:
    """The number of scored rows that each surviving process printed."""
    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite:///{Path(folder) / 'answers.db'}"
        running = [start_child(name, server.address, store, rows, at_once) for name in names]
        if kill_after is not None:
            victim, reached = running.pop(0), threading.Event()
            server.on_answer = lambda sent: reached.set() if sent >= kill_after else None
            reached.wait()
            os.kill(victim.pid, signal.SIGKILL)
            output_of(victim)
        return [output_of(process).strip() for process in running]


def _line(injected: str, server: QuestionServer, rows: int, scored: list[str], most: int) -> Line:
    lost = sum(rows - int(number or 0) for number in scored)
    twice = sum(len(asked) - 1 for asked in server.asked.values())
    found = f"{lost} rows lost, {twice} of {rows:,} requests sent twice"
    return Line(injected, found, f"0 lost, {most} twice", lost == 0 and twice <= most)
