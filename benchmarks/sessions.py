"""Runs of one notebook session, as a person makes them: the public call, every run of ten.

Run it with `python benchmarks/sessions.py [--rows 100000] [--runs 10] [--workers 2]`.

One process runs `grader.run(samples)` ten times in a row over the same rows, then ten edited graders, then the same of 10 rows.
The *base*, a bare `await` loop of the same function over ready threads, runs before and after each ten. Cold runs, from frame to findings, each take a separate process. Medians, with the worst of ten.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

EXACT = """
async def grade(thread: StringThread) -> float:
    return {right} if (thread.completion() or "").strip() == thread.metadata["expected"].strip() else 0.0
"""

COLD = """
import time
start = time.perf_counter()
import pandas as pd
import sys
sys.path.insert(0, {folder!r})
from sessions import EXACT, make_rows
frame = pd.DataFrame(make_rows({rows}))
start = time.perf_counter()
import workbench as wb
grader = wb.FunctionGrader.from_source(EXACT.format(right="1.0"), name="exact")
report = grader.run(frame, progress=False, workers={workers})
report.findings
print(time.perf_counter() - start)
"""


def make_rows(rows: int) -> list[dict[str, str]]:
    """Rows of about 500 bytes: system, user and assistant turn, reference, topic."""
    system, text = "You are a careful assistant. " * 4, "Filler text that makes this prompt longer. " * 5
    return [
        {
            "system": system,
            "prompt": f"{i} {text}",
            "completion": str(i % 97),
            "expected": str(i % 89),
            "topic": f"t{i % 9}",
        }
        for i in range(rows)
    ]


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def bare_loop(text: str, threads: list[object]) -> Callable[[], float]:
    """Seconds of awaiting the function for each ready thread in this process."""
    import workbench as wb

    namespace: dict[str, object] = {"StringThread": wb.StringThread}
    exec(text, namespace)
    grade = namespace["grade"]

    async def loop() -> list[float]:
        return [await grade(thread) for thread in threads]

    return lambda: timed(lambda: asyncio.run(loop()))


def in_turn(
    runs: int, work: Callable[[int], object], base: Callable[[], float]
) -> tuple[list[float], list[float]]:
    """Seconds of each run, and of the base directly before and after it (their mean)."""
    base()
    taken, around, before = [], [], base()
    for number in range(runs):
        taken.append(timed(partial(work, number)))
        after = base()
        around.append((before + after) / 2)
        before = after
    return taken, around


def line(what: str, taken: list[float], around: list[float]) -> str:
    middle, worst = statistics.median(taken), max(taken)
    base = statistics.median(around)
    return (
        f"{what:<44}{1000 * middle:>8.1f} ms{1000 * worst:>9.1f} ms{worst / middle:>7.2f} x"
        f"{1000 * base:>9.1f} ms{middle / base:>8.2f} x"
    )


def warm(rows: int, runs: int, workers: int | None) -> None:
    import pandas as pd

    import workbench as wb

    samples = wb.Samples(pd.DataFrame(make_rows(rows)))
    grader = wb.FunctionGrader.from_source(EXACT.format(right="1.0"), name="exact")
    base = bare_loop(EXACT.format(right="1.0"), list(samples.threads))
    settings = {"progress": False, "workers": workers}
    grader.run(samples, **settings)
    print(
        line(
            f"the same grader, {rows:,} rows", *in_turn(runs, lambda _: grader.run(samples, **settings), base)
        ),
        flush=True,
    )

    def edited(number: int) -> None:
        text = EXACT.format(right=f"{0.5 + number / 100:.2f}")
        wb.FunctionGrader.from_source(text, name="exact").run(samples, **settings)

    print(line(f"an edited grader, {rows:,} rows", *in_turn(runs, edited, base)), flush=True)
    few = samples.head(10)
    grader.run(few, **settings)
    few_base = bare_loop(EXACT.format(right="1.0"), list(few.threads))
    print(
        line("the same grader, 10 rows", *in_turn(runs, lambda _: grader.run(few, **settings), few_base)),
        flush=True,
    )
    print(
        line(
            "an edited grader, 10 rows",
            *in_turn(
                runs,
                lambda n: wb.FunctionGrader.from_source(
                    EXACT.format(right=f"{0.5 + n / 100:.2f}"), name="exact"
                ).run(few, **settings),
                few_base,
            ),
        ),
        flush=True,
    )


def cold(rows: int, runs: int, workers: int | None) -> None:
    from pathlib import Path

    code = COLD.format(folder=str(Path(__file__).resolve().parent), rows=rows, workers=workers)
    taken = []
    for _ in range(runs):
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        taken.append(float(done.stdout))
    middle = statistics.median(taken)
    print(
        f"{f'cold, frame to findings, {rows:,} rows':<44}{middle:>8.2f} s {max(taken):>9.2f} s {max(taken) / middle:>7.2f} x"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cold", type=int, default=5, help="cold runs; 0 for none")
    args = parser.parse_args()
    print(f"{'':<44}{'median':>11}{'worst':>12}{'of it':>9}{'base':>12}{'against':>10}")
    warm(args.rows, args.runs, args.workers)
    if args.cold:
        cold(args.rows, args.cold, args.workers)


if __name__ == "__main__":
    main()
