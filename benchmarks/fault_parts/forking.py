"""A process forks while its threads run judges and graders; each child grades and stores independently."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.fault_parts.common import Line, output_of, start_child
from benchmarks.fault_parts.question_server import serve

__all__ = ["fork"]


def fork(*, seed: int, rows: int = 1_000, forks: int = 20) -> list[Line]:
    """Fork a process whose threads are in the middle of a judge's run.

    Args:
        seed: Decides when.
        rows: Rows of the run.
        forks: Children.
    """
    with tempfile.TemporaryDirectory() as folder, serve(0.08, seed) as server:
        store = f"sqlite:///{Path(folder) / 'answers.db'}"
        told = output_of(start_child("forks", server.address, store, rows, forks, seed)).split()
    scored, good = (int(told[0]), int(told[1])) if len(told) == 2 else (0, 0)
    twice = sum(len(asked) - 1 for row, asked in server.asked.items() if row >= 0)
    found = f"{rows - scored} rows of the parent lost, {twice} sent twice, {good} children graded and stored"
    kept = scored == rows and twice == 0 and good == forks
    return [Line(f"{forks} forks in a run of {rows:,} rows", found, f"0, 0, {forks}", kept)]
