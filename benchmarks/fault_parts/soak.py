"""Many runs in one process: its resources at the end compared with those at the start."""

from __future__ import annotations

import json
import os

from benchmarks.fault_parts.common import Line, output_of, start_child

__all__ = ["soak"]

_MOST_GROWTH = 10.0
"""MB that all runs together may add, by the slope over those after the first quarter. Benchmark limit."""
_POOL = min(32, (os.cpu_count() or 1) + 4)
"""Threads that the event loop's pool starts when needed, and keeps running."""


def soak(*, seed: int, rows: int = 1_000_000, runs: int = 200) -> list[Line]:
    """Grade a number of rows in a number of runs.

    Args:
        seed: Decides nothing here; the rows are the same.
        rows: Rows of all runs together.
        runs: Runs.
    """
    del seed
    told = json.loads(output_of(start_child("soak", rows, runs)) or "{}")
    injected = f"{rows:,} rows in {runs} runs"
    growth = told["slope"] * runs
    slope = f"{1e3 * told['slope']:.1f} kB per run, {growth:.2f} MB in all ({told['first']:.0f} to {told['last']:.0f} MB)"
    lines = [Line(injected, f"memory {slope}", f"{_MOST_GROWTH:g} MB", growth <= _MOST_GROWTH)]
    for what, (before, after) in told["counts"].items():
        more = _POOL if what == "threads" else 0
        allowed = f"{more} more" if more else "no more than before"
        found = f"{what}: {before} before, {after} after"
        lines.append(Line("the same", found, allowed, after <= before + more))
    lines.append(Line("the same", f"{told['scored']:,} grades", f"{3 * rows:,}", told["scored"] == 3 * rows))
    return lines
