"""Nothing is lost under faults: the injected faults, the results, and what is allowed.

    python benchmarks/faults.py [--seed 0] [--small] [part ...]

Each part runs the public API in real processes, against a real local server for judges. The same seed injects the same
faults; the moment at which the machine reaches them differs. It exits with 1 if a guarantee is violated.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Parts and their children find each other, also where this file is run by its path.
sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.fault_parts.common import Line
from benchmarks.fault_parts.documents import documents
from benchmarks.fault_parts.forking import fork
from benchmarks.fault_parts.kernel import kernel
from benchmarks.fault_parts.served import served
from benchmarks.fault_parts.soak import soak
from benchmarks.fault_parts.storing import store
from benchmarks.fault_parts.threads import threads
from benchmarks.fault_parts.two_processes import clock, two_processes
from benchmarks.fault_parts.workers import workers

PARTS: dict[str, Callable[..., list[Line]]] = {
    "workers": workers,
    "kernel": kernel,
    "store": store,
    "two_processes": two_processes,
    "clock": clock,
    "fork": fork,
    "documents": documents,
    "threads": threads,
    "served": served,
    "soak": soak,
}
SMALL: dict[str, dict[str, Any]] = {
    "workers": {"rows": 1_000, "outside": 3},
    "kernel": {"rows": 300, "kills": 3},
    "store": {"rows": 200},
    "two_processes": {"rows": 300},
    "clock": {"rows": 200},
    "fork": {"rows": 300, "forks": 4},
    "documents": {"count": 100},
    "threads": {"count": 100},
    "served": {"rows": 500},
    "soak": {"rows": 20_000, "runs": 20},
}
"""Sizes that take some seconds, to test the program."""


def main() -> int:
    """Run the parts, print their tables; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("part", nargs="*", choices=[*PARTS, []], help="by default all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--small", action="store_true", help="sizes that take some seconds")
    settings = parser.parse_args()
    lines = [
        line
        for name in settings.part or PARTS
        for line in run_part(name, settings.seed, SMALL[name] if settings.small else {})
    ]
    broken = sum(not line.kept for line in lines)
    print(f"\n{len(lines) - broken} guarantees met, {broken} violated (seed {settings.seed})")
    return 1 if broken else 0


def run_part(name: str, seed: int, sizes: dict[str, Any]) -> list[Line]:
    """Run one part and print its table."""
    start = time.perf_counter()
    lines = PARTS[name](seed=seed, **sizes)
    print(f"\n{name} ({time.perf_counter() - start:.0f} s)", flush=True)
    for line in lines:
        verdict = "kept" if line.kept else "BROKEN"
        text = f"  {verdict:<7}{line.injected}: {line.found} (allowed: {line.allowed})"
        print(text.encode("ascii", "backslashreplace").decode(), flush=True)
    return lines


if __name__ == "__main__":
    sys.exit(main())
