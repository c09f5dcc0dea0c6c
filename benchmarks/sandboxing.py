"""The cost of each layer of the sandbox: in the start of a worker, in a row, in a single call, a load and a crash.

Run it with `python benchmarks/sandboxing.py [--rounds 15] [--rows 50000]`.

Compare the ratios: machines differ and are shared. Rounds are interleaved (base, candidate, base, ...) and medians are
shown. The base of a start, a row, a load and a crash is a worker without layers; that of a process is
`python -c pass`; that of a call is the same rule awaited in this process. No layer uses namespaces, so none is measured.

Every worker runs the self-tests of its locks, also if it has none. Without locks the self-tests succeed, and one of them is a
fork, so that such a start takes longer. The time of each lock alone is in the lines of the steps.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping

import workbench as wb
from workbench.data.packed import Packed, pack
from workbench.sandbox.host.pool import Pool
from workbench.sandbox.host.program import Limits, Program
from workbench.sandbox.host.zygote import Zygote, environment

Line = tuple[str, str, str]

LAYERS = {
    "no layer": (),
    "resource limits": ("rlimits",),
    "Landlock": ("landlock",),
    "seccomp filter": ("seccomp",),
    "audit hook": ("audit",),
    "all": ("landlock", "rlimits", "seccomp", "audit"),
}
EXACT = """
async def grade(thread: StringThread) -> float:
    return 1.0 if (thread.completion() or "").strip() == thread.metadata["expected"] else 0.0
"""
CRASHES = """
import os
async def grade(thread: StringThread) -> float:
    number = int(thread.metadata["row"])
    if number < {below} and number % 50 == 10:
        os._exit(1)
    return 1.0
"""
# Each step by itself, in a fork as a worker is one; the trials last, under all layers.
STEPS = """
import json, os, sys, time
from workbench.sandbox.child import confine, probes

libc = confine._libc()
probes.note_processes()
confine.note_address_space()
read, reply = os.pipe()
STEPS = {
    "change of user": confine.give_up,
    "no_new_privs, dumpable, death signal": lambda: [libc.prctl(n, v, 0, 0, 0) for n, v in ((38, 1), (4, 0), (1, 9))],
    "Landlock": confine._restrict_files,
    "resource limits": lambda: confine._limit_resources(512 << 20),
    "seccomp filter": lambda: confine._filter_calls(read, reply),
    "the trials of it all": probes.self_test,
}
for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        taken = {}
        for name, step in STEPS.items():
            start = time.perf_counter()
            step()
            taken[name] = time.perf_counter() - start
        os.write(reply, json.dumps(taken).encode() + b"\\n")
        os._exit(0)
    os.wait()
    print(os.read(read, 4096).decode(), end="")
"""


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def rounds_of(works: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """The seconds that each work returns, all of them in turn, repeatedly; each round starts with another one."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    names = list(works)
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            taken[name].append(works[name]())
    return taken


def table(part: str, taken: Mapping[str, list[float]], scale: float, unit: str) -> Iterable[Line]:
    """Medians; ratios to the first, each of one round."""
    base = next(iter(taken.values()))
    for name, seconds in taken.items():
        ratio = statistics.median(one / other for one, other in zip(seconds, base, strict=True))
        yield f"{part}: {name}", f"{scale * statistics.median(seconds):.3g} {unit}", f"{ratio:.2f} x"


def processes(rounds: int) -> Iterable[Line]:
    """A process, a clean one, and the one with the standard library that workers are forked from."""

    def zygote() -> float:
        made: list[Zygote] = []
        seconds = timed(lambda: made.append(Zygote()))
        made[0].close()
        return seconds

    def run(*options: str, **settings: object) -> Callable[[], float]:
        command = [sys.executable, *options, "-c", "pass"]
        return lambda: timed(lambda: subprocess.run(command, check=True, **settings))  # type: ignore[call-overload]

    works = {
        "python -c pass": run(),
        "clean interpreter": run("-s", "-S", "-P", env=environment({})),
        "with the standard library, once": zygote,
    }
    return table("process", rounds_of(works, rounds), 1000, "ms")


def steps(rounds: int) -> Iterable[Line]:
    """Each lock, applied in the order of a worker's."""
    done = subprocess.run(
        [sys.executable, "-c", STEPS, str(rounds)], check=True, capture_output=True, text=True
    )
    told = [json.loads(line) for line in done.stdout.splitlines()]
    for name in told[0]:
        yield f"step: {name}", f"{1e6 * statistics.median(one[name] for one in told):.0f} us", ""


def starts(pools: Mapping[str, Pool], rounds: int) -> Iterable[Line]:
    """A worker from the request to the report that it is locked and has tested its locks."""

    def start(pool: Pool) -> float:
        made: list[object] = []
        seconds = timed(lambda: made.append(pool._worker(Limits())))
        made[0].close()  # type: ignore[attr-defined]
        return seconds

    works = {name: lambda pool=pool: start(pool) for name, pool in pools.items()}
    return table("worker's start", rounds_of(works, 4 * rounds), 1000, "ms")


def per_row(pools: Mapping[str, Pool], rows: int, rounds: int) -> Iterable[Line]:
    """A row of a run, in one warm worker that has its rows."""
    packed, program = dataset(rows), Program(EXACT)

    def grade(pool: Pool) -> float:
        pool.warm(packed, workers=1, limits=program.limits)
        return timed(lambda: pool.run(program, packed, workers=1)) / rows

    works = {name: lambda pool=pool: grade(pool) for name, pool in pools.items()}
    return table("row", rounds_of(works, rounds), 1e6, "us")


def dataset(rows: int) -> Packed:
    """Threads of about 300 bytes."""
    text = "Filler text that makes this prompt longer. " * 5
    return pack(
        wb.StringThread(
            [("user", f"{i} {text}"), ("assistant", str(i % 97))], {"expected": str(i % 89), "row": i}
        )
        for i in range(rows)
    )


def calls(rounds: int) -> Iterable[Line]:
    """A single call in a worker that stays, against the same rule awaited in this process."""
    thread = wb.StringThread([("user", "q"), ("assistant", "4")], {"expected": "4"})
    grader = wb.FunctionGrader.from_source(EXACT, name="exact")
    namespace: dict[str, object] = {"StringThread": wb.StringThread}
    exec(EXACT, namespace)
    grade: Callable[[wb.StringThread], object] = namespace["grade"]  # type: ignore[assignment]
    grader(thread)
    works = {
        "awaited in this process": lambda: timed(lambda: asyncio.run(grade(thread))),  # type: ignore[arg-type]
        "warm worker": lambda: timed(lambda: grader(thread)),
    }
    return table("one call", rounds_of(works, 10 * rounds), 1000, "ms")


def loads_and_crashes(pools: Mapping[str, Pool], rounds: int) -> Iterable[Line]:
    """A module loaded in a ready worker; a worker crash in a run, from the slope between 10 and 30 of them."""
    packed = dataset(5000)

    def load(pool: Pool) -> float:
        worker, program = pool._worker(Limits()), Program(EXACT)
        seconds = timed(lambda: worker.answer(program.load_command("load"), 5.0))
        worker.close()
        return seconds

    def crash(pool: Pool) -> float:
        few, many = (Program(CRASHES.format(below=below)) for below in (500, 1500))
        first, second = (
            timed(lambda program=program: pool.run(program, packed, workers=1)) for program in (few, many)
        )
        return (second - first) / 20

    chosen = {name: pools[name] for name in ("no layer", "all")}
    works = {name: lambda pool=pool: load(pool) for name, pool in chosen.items()}
    yield from table("a load", rounds_of(works, 4 * rounds), 1000, "ms")
    works = {name: lambda pool=pool: crash(pool) for name, pool in chosen.items()}
    yield from table("a crash", rounds_of(works, rounds), 1000, "ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--rows", type=int, default=50_000)
    options = parser.parse_args()
    pools = {name: Pool(layers) for name, layers in LAYERS.items()}
    for pool in pools.values():
        pool.probe()
    parts = (
        processes(options.rounds),
        steps(4 * options.rounds),
        starts(pools, options.rounds),
        per_row(pools, options.rows, options.rounds),
        calls(options.rounds),
        loads_and_crashes(pools, options.rounds),
    )
    for part in parts:
        for what, measured, ratio in part:
            print(f"{what:<52}{measured:>14}{ratio:>12}", flush=True)
    for pool in pools.values():
        pool.close()


if __name__ == "__main__":
    main()
