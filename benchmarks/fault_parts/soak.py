"""Many runs in one process: what it holds at the end beside what it held at the start."""

from __future__ import annotations

import json

from benchmarks.fault_parts.common import Line, output_of, start_child

__all__ = ["soak"]

_MOST_GROWTH = 10.0
"""MB that all runs together may add, by the slope over those after the first quarter. Ours."""


def soak(*, seed: int, rows: int = 1_000_000, runs: int = 200) -> list[Line]:
    """Grade so many rows in so many runs.

    Args:
        seed: Decides nothing here; the rows are the same.
        rows: Rows of all runs together.
        runs: Runs.
    """
    del seed
    told = json.loads(output_of(start_child("soak", rows, runs)) or "{}")
    injected = f"{rows:,} rows in {runs} runs"
    growth = told["slope"] * runs
    slope = f"{1e3 * told['slope']:.1f} kB a run, {growth:.2f} MB in all ({told['first']:.0f} to {told['last']:.0f} MB)"
    lines = [Line(injected, f"memory {slope}", f"{_MOST_GROWTH:g} MB", growth <= _MOST_GROWTH)]
    for what, (before, after) in told["counts"].items():
        lines.append(
            Line(
                "the same", f"{what}: {before} before, {after} after", "no more than before", after <= before
            )
        )
    lines.append(Line("the same", f"{told['scored']:,} grades", f"{3 * rows:,}", told["scored"] == 3 * rows))
    return lines
