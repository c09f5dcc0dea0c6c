"""The cost of grading, against baselines in the same run.

Run it with `python benchmarks/grading.py [--rounds 7]`.

Compare the ratios: machines differ and are shared. Rounds are interleaved (base, candidate, base, ...) and the
median of the round ratios is shown. The *base* is an in-process loop over prepared thread objects; the *floor*
is a child process that reads the same bytes from a pipe, decodes them, and returns one float per row.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import workbench as wb
from workbench.graders.concurrent_rows import Control
from workbench.sandbox.host.pool import Pool, pool

ROWS = 100_000

EXACT = """
async def grade(thread: StringThread) -> float:
    return 1.0 if (thread.completion() or "").strip() == thread.metadata["expected"].strip() else 0.0
"""
SHAPE = """
import json


async def grade(thread: StringThread) -> float:
    try:
        return 1.0 if {"name", "email", "age"} <= json.loads(thread.completion() or "").keys() else 0.0
    except ValueError:
        return 0.0
"""

FLOOR = """
import gc, struct, sys
sys.path.insert(0, {folder!r})
from row_columns import loaded
gc.disable()
read, write = sys.stdin.buffer.read, sys.stdout.buffer.write
while head := read(4):
    rows = loaded(read(struct.unpack("<I", head)[0]))
    write(struct.pack("<I", len(rows)) + struct.pack(f"<{len(rows)}d", *[0.0 for row in rows]))
    sys.stdout.buffer.flush()
"""


def make_samples(rows: int, *, shape: bool) -> wb.Samples:
    """Threads of about 500 bytes: system, user and assistant turn, reference and two metadata columns."""
    system, text = "You are a careful assistant. " * 4, "Filler text that makes this prompt longer. " * 5
    answer = '{"name": "Ann", "email": "a@example.com", "age": %d}' if shape else "%d"
    return wb.Samples(
        [
            {
                "system": system,
                "prompt": f"{i} {text}",
                "completion": answer % (i % 97),
                "expected": str(i % 89),
                "topic": f"t{i % 9}",
            }
            for i in range(rows)
        ]
    )


def bare_loop(text: str, threads: list[wb.StringThread]) -> Callable[[], float]:
    """Seconds of `await grade(thread)` in this process, over prepared objects."""
    namespace: dict[str, object] = {"StringThread": wb.StringThread}
    exec(text, namespace)
    grade = namespace["grade"]

    async def loop() -> list[float]:
        return [await grade(thread) for thread in threads]

    return lambda: timed(lambda: asyncio.run(loop()))


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def sandboxed(grader: wb.FunctionGrader, samples: wb.Samples, workers: int) -> Callable[[], float]:
    """Seconds of grading every row in warm workers that have their rows."""
    packed = samples.packed()

    def once() -> float:
        pool().warm(packed, workers=workers, limits=grader.limits)
        return timed(lambda: asyncio.run(grader.grade_all(samples, Control(workers=workers))))

    return once


def floor(samples: wb.Samples) -> Callable[[], float]:
    """Seconds of a child that only moves the bytes."""
    batches = samples.packed().batches
    child = subprocess.Popen(
        [
            sys.executable,
            "-S",
            "-c",
            FLOOR.replace("{folder!r}", repr(str(Path(wb.__file__).parent / "data"))),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdin is not None
    assert child.stdout is not None

    def move() -> None:
        for batch in batches:
            child.stdin.write(len(batch).to_bytes(4, "little") + batch)
            child.stdin.flush()
            count = int.from_bytes(child.stdout.read(4), "little")
            child.stdout.read(8 * count)

    return lambda: timed(move)


def throughput(rounds: int) -> list[tuple[str, ...]]:
    lines = []
    for name, text, shape in (("exact match", EXACT, False), ("JSON shape", SHAPE, True)):
        samples = make_samples(ROWS, shape=shape)
        grader = wb.FunctionGrader.from_source(text, name=name)
        base = bare_loop(text, list(samples.threads))
        bodies = {
            "floor": floor(samples),
            "1 worker": sandboxed(grader, samples, 1),
            "2 workers": sandboxed(grader, samples, 2),
        }
        times: dict[str, list[float]] = {key: [] for key in ("bare loop", *bodies)}
        ratios: dict[str, list[float]] = {key: [] for key in bodies}
        for _ in range(rounds):
            for key, body in bodies.items():
                before, taken = base(), body()
                around = (before + base()) / 2  # the base before and after, since the machine drifts
                times["bare loop"].append(around)
                times[key].append(taken)
                ratios[key].append(around / taken)
        for key, values in times.items():
            ratio = f"{statistics.median(ratios[key]):.2f} x" if key in ratios else "1"
            lines.append((f"{name}, {key}", f"{ROWS / statistics.median(values):,.0f} rows/s", ratio))
        lines.append(
            (
                f"{name}, 1 worker against floor",
                "",
                f"{statistics.median(times['floor']) / statistics.median(times['1 worker']):.2f} x",
            )
        )
    return lines


def command_seconds(code: str, rounds: int) -> float:
    return statistics.median(
        timed(lambda: subprocess.run([sys.executable, "-c", code], check=True)) for _ in range(rounds)
    )


def latency(rounds: int) -> list[tuple[str, ...]]:
    grader = wb.FunctionGrader.from_source(EXACT)
    thread = wb.StringThread([("user", "q"), ("assistant", "4")], {"expected": "4"})

    def cold() -> float:
        fresh = Pool()
        spent = timed(lambda: fresh.check(wb_program(grader), [("a thread", thread)]))
        fresh.close()
        return spent

    grader.validate(thread)
    bare = command_seconds("pass", rounds)
    rows = [
        ("python -c pass", f"{1000 * bare:.0f} ms", "1"),
        ("cold start to first score", *_against(statistics.median(cold() for _ in range(rounds)), bare)),
        (
            "validation, warm workbench",
            *_against(statistics.median(timed(lambda: grader.validate(thread)) for _ in range(rounds)), bare),
        ),
        (
            "one row, warm workbench",
            *_against(statistics.median(timed(lambda: grader(thread)) for _ in range(rounds)), bare),
        ),
    ]
    pandas = command_seconds("import pandas", rounds)
    ours = command_seconds("import workbench", rounds)
    rows += [
        ("import pandas", f"{1000 * pandas:.0f} ms", "1"),
        ("import workbench", f"{1000 * ours:.0f} ms", f"{ours / pandas:.2f} x"),
    ]
    return rows


def _against(seconds: float, base: float) -> tuple[str, str]:
    return f"{1000 * seconds:.1f} ms", f"{seconds / base:.2f} x"


def wb_program(grader: wb.FunctionGrader) -> object:
    from workbench.sandbox.host.program import Program

    return Program(grader.source.text, grader.limits)


CRASHES = """
import os


async def grade(thread: StringThread) -> float:
    number = int(thread.get_turns()[1].content.split()[0])
    if number < {below} and number % 50 == 10:
        os._exit(1)
    return 1.0
"""


def crashes(rounds: int) -> list[tuple[str, ...]]:
    """The cost of a crashed worker, with few rows waiting and with many: the slope between 10 and 30 crashes."""

    def each(rows: int) -> float:
        samples = make_samples(rows, shape=False)
        few, many = (wb.FunctionGrader.from_source(CRASHES.format(below=below)) for below in (500, 1500))
        sandboxed(few, samples, 1)()
        return statistics.median(
            (sandboxed(many, samples, 1)() - sandboxed(few, samples, 1)()) / 20 for _ in range(rounds)
        )

    small, large = each(2_000), each(ROWS)
    return [
        ("a crash, 2,000 rows waiting", f"{1000 * small:.1f} ms", "1"),
        ("a crash, 100,000 rows waiting", *_against(large, small)),
    ]


MEMORY = """
import re, sys
import workbench as wb
sys.path.insert(0, {folder!r})
from grading import EXACT, make_samples
rows = {rows}
grader = wb.FunctionGrader.from_source(EXACT)
report = grader.run(make_samples(rows, shape=False), progress=False) if rows else None
# Not ru_maxrss: a child starts with its parent's.
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024)
"""


def memory() -> list[tuple[str, ...]]:
    def peak(rows: int) -> float:
        code = MEMORY.format(folder=str(Path(__file__).resolve().parent), rows=rows)
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        return float(done.stdout)

    small, large = peak(10_000), peak(60_000)
    return [
        ("peak memory of the host, 10,000 rows", f"{small:.0f} MB", ""),
        ("peak memory of the host, 60,000 rows", f"{large:.0f} MB", ""),
        ("growth per 10,000 rows", f"{(large - small) / 5:.1f} MB", ""),
    ]


def whole_run() -> list[tuple[str, ...]]:
    samples = make_samples(ROWS, shape=False)
    grader = wb.FunctionGrader.from_source(EXACT)
    grader.run(samples, progress=False)
    seconds = timed(lambda: grader.run(samples, progress=False))
    return [("grader.run to a finished report, 100,000 rows", f"{seconds:.2f} s", "")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    rows = [
        ("what", "measured", "against base"),
        *throughput(rounds),
        *latency(rounds),
        *crashes(rounds),
        *whole_run(),
        *memory(),
    ]
    for what, measured, ratio in rows:
        print(f"{what:<48}{measured:>20}{ratio:>16}", flush=True)


if __name__ == "__main__":
    main()
