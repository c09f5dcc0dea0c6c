"""Workers are killed: by the grader on some rows, and at random from outside."""

from __future__ import annotations

import os
import random
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import workbench as wb
from benchmarks.fault_parts.common import Line
from workbench.core.grade import ErrorKind

__all__ = ["children_of", "workers"]

_KILLS_ITSELF = """import os

async def grade(thread):
    row = thread.metadata["row"]
    if thread.metadata["lethal"]:
        os.abort()  # the sandbox refuses os.kill, of the own process too
    sum(range(thread.metadata["work"]))
    return (row % 1000) / 1000
"""
_KINDS = {ErrorKind.CRASH, ErrorKind.MEMORY}
"""Error kinds of a killed worker's row; a SIGKILL from outside is reported as most likely for memory."""
_WORK = 200_000
"""Numbers that a row adds up where workers are killed from outside: some milliseconds."""


def workers(
    *, seed: int, rows: int = 20_000, share: float = 0.01, outside: int = 20, at_once: int = 2
) -> list[Line]:
    """Grade rows of which some kill their worker; then rows whose workers are killed from outside.

    Args:
        seed: Decides which rows, and which workers.
        rows: Rows of the first run; the second has a fourth of them.
        share: Share of the rows that kill.
        outside: Kills from outside.
        at_once: Workers.
    """
    chance = random.Random(seed)
    lethal = set(chance.sample(range(rows), round(rows * share)))
    inside = _grades(rows, lethal, 0, at_once, lambda _: True)
    few = rows // 4
    killer = _Killer(chance, outside, few)
    other = _grades(few, set(), _WORK, at_once, killer)
    from_outside = f"{killer.killed} workers killed from outside in {few:,} rows"
    return [
        _line(f"{len(lethal)} of {rows:,} rows kill their worker", inside, rows, lethal, 0),
        _line(from_outside, other, few, set(), killer.killed),
    ]


class _Killer:
    """Kills a random worker at each progress report."""

    def __init__(self, chance: random.Random, most: int, rows: int) -> None:
        self._chance, self._most, self._every = chance, most, max(1, rows // (most + 1))
        self.killed = 0

    def __call__(self, progress: Any) -> bool:
        if self.killed < self._most and progress.done >= self._every * (self.killed + 1):
            found = [worker for zygote in children_of(os.getpid()) for worker in children_of(zygote)]
            if found:
                os.kill(self._chance.choice(found), signal.SIGKILL)
                self.killed += 1
        return True


def children_of(number: int) -> list[int]:
    """The processes that a process started and that still run."""
    found = []
    for task in Path(f"/proc/{number}/task").glob("*/children"):
        try:
            found += [int(word) for word in task.read_text().split()]
        except OSError:
            continue  # the thread has ended
    return found


def _grades(rows: int, lethal: set[int], work: int, at_once: int, progress: Any) -> Any:
    data = [
        {"prompt": "p", "completion": "c", "row": row, "lethal": row in lethal, "work": work}
        for row in range(rows)
    ]
    grader = wb.FunctionGrader.from_source(_KILLS_ITSELF, name="kills")
    return grader.run(wb.Samples(data), workers=at_once, progress=progress).grades["kills"]


def _line(injected: str, grades: Any, rows: int, lethal: set[int], most: int) -> Line:
    """`most` rows in addition to the lethal ones may fail: those that a worker was grading when it was killed."""
    right = sum(row not in grades.errors and grades.scores[row] == (row % 1000) / 1000 for row in range(rows))
    kinds = Counter(str(error.kind) for error in grades.errors.values())
    clear = all(error.kind in _KINDS and error.message.strip() for error in grades.errors.values())
    others = len(set(grades.errors) - lethal)
    kept = right + len(grades.errors) == rows and lethal <= set(grades.errors) and clear and others <= most
    found = f"{right:,} rows have their own score, failed: {dict(kinds)}"
    return Line(injected, found, f"at most {len(lethal) + most} failed, as crash or memory", kept)
