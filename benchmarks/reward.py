"""The cost of `wb.reward` in a trainer, against the same rules in a bare loop of the same run.

Run it with `python benchmarks/reward.py [--rounds 15] [--workers 1]`.

Compare the ratios: machines differ and are shared. A base and a candidate are interleaved, and medians of the rounds are
shown. The *bare loop* awaits the grade function in this process over thread objects that are made in the loop, as a
hand-written reward function would.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import workbench as wb

TEXT = """
async def grade(thread: StringThread) -> float:
    last = (thread.completion() or " ").rsplit(None, 1)[-1].strip(".")
    return 1.0 if last == (thread.metadata or {}).get("expected") else 0.0
"""
FAULTS = """
import os


async def grade(thread: StringThread) -> float:
    kind = (thread.metadata or {}).get("kind")
    if kind == "loop":
        while True:
            pass
    if kind == "crash":
        os._exit(3)
    if kind == "bomb":
        blocks = []
        while True:
            blocks.append(bytearray(1_000_000))
    return float(len(thread.completion() or ""))
"""
TIMEOUT = 1.0
LIMITS = {64: 15.0, 512: 40.0}
"""Maximum milliseconds of a warm call, by completions."""


def columns(count: int) -> dict[str, list[str]]:
    """A batch as a trainer passes it: prompts of 40 words, completions of 60."""
    prompts = [f"Problem {at}. " + "Filler text that makes this prompt longer. " * 5 for at in range(count)]
    completions = [f"{'Let me think about this one. ' * 10}The result is {at}." for at in range(count)]
    return {"prompts": prompts, "completions": completions, "expected": [str(at) for at in range(count)]}


def timed(work: Callable[[], object]) -> float:
    """Milliseconds."""
    start = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - start)


def bare_loop(batch: dict[str, list[str]]) -> list[float]:
    """The same function in this process."""
    namespace: dict[str, object] = {"StringThread": wb.StringThread}
    exec(TEXT, namespace)
    grade = namespace["grade"]

    async def loop() -> list[float]:
        rows = zip(*batch.values(), strict=True)
        return [
            await grade(wb.StringThread([("user", prompt), ("assistant", completion)], {"expected": answer}))
            for prompt, completion, answer in rows
        ]

    return asyncio.run(loop())


def proven(text: str, **settings: object) -> wb.FunctionGrader:
    grader = wb.FunctionGrader.from_source(text, **settings)
    grader.validate().raise_for_failure()
    return grader


def batches(rounds: int, workers: int) -> list[tuple[str, ...]]:
    """A warm call of a reward against the bare loop, and against a run of the suite, which starts new workers."""
    grader, lines = proven(TEXT), []
    with wb.reward(grader, workers=workers) as reward:
        for count, limit in LIMITS.items():
            batch = columns(count)
            assert reward(**batch) == bare_loop(batch) == [1.0] * count
            bare, ours = _medians(lambda b=batch: bare_loop(b), lambda b=batch: reward(**b), rounds)
            lines.append((f"{count} completions, bare loop", f"{bare:.2f} ms", "1", ""))
            lines.append(
                (
                    f"{count} completions, wb.reward",
                    f"{ours:.2f} ms",
                    f"{ours / bare:.1f} x",
                    _bar(ours, limit),
                )
            )
        rows = [
            dict(zip(("prompt", "completion", "expected"), row, strict=True))
            for row in zip(*batch.values(), strict=True)
        ]
        run = statistics.median(timed(lambda: grader.run(rows, progress=False)) for _ in range(5))
        lines.append((f"{count} completions, grader.run", f"{run:.1f} ms", f"{run / bare:.1f} x", ""))
    return lines


def _medians(base: Callable[[], object], candidate: Callable[[], object], rounds: int) -> tuple[float, float]:
    pairs = [(timed(base), timed(candidate)) for _ in range(rounds)]
    return tuple(statistics.median(column) for column in zip(*pairs, strict=True))


def _bar(measured: float, limit: float) -> str:
    return f"{'within' if measured <= limit else 'NOT within'} {limit:g} ms"


def faults(rounds: int, workers: int) -> list[tuple[str, ...]]:
    """512 rows of which 1 % loop, crash or exhaust memory in turn; every honest row must have its score."""
    kinds = ["fine"] * 512
    for at in range(5):
        kinds[50 + 100 * at] = ("loop", "crash", "bomb")[at % 3]
    each = ["fine"] * 512
    for at in range(15):
        each[20 + 32 * at] = ("loop", "crash", "bomb")[at % 3]
    return [
        _with_faults("1 % of these in turn", kinds, rounds, workers),
        _with_faults("1 % of each together", each, rounds, workers),
        *_each_kind(rounds, workers),
    ]


def _each_kind(rounds: int, workers: int) -> list[tuple[str, ...]]:
    lines = []
    for kind, many in (("loop", "loops"), ("crash", "crashes"), ("bomb", "memory bombs")):
        kinds = [kind if at % 100 == 50 else "fine" for at in range(512)]
        lines.append(_with_faults(f"1 % {many}", kinds, rounds, workers))
    return lines


def _with_faults(what: str, kinds: list[str], rounds: int, workers: int) -> tuple[str, ...]:
    completions, grader = ["x" * at for at in range(512)], proven(FAULTS, timeout=TIMEOUT)
    wanted = [float(at) if kind == "fine" else None for at, kind in enumerate(kinds)]
    seconds = []
    with wb.reward(grader, workers=workers) as reward:
        for _ in range(rounds):
            start = time.perf_counter()
            found = reward(["p"] * 512, completions, kind=kinds)
            seconds.append(time.perf_counter() - start)
            assert found == wanted, "an honest row has no score"
    worst, limit = max(seconds), TIMEOUT + 1
    verdict = f"worst {worst:.2f} s, {'within' if worst <= limit else 'NOT within'} {limit:g} s"
    return (f"512 rows, {what}, timeout {TIMEOUT:g} s", f"{statistics.median(seconds):.2f} s", "", verdict)


def single_calls(rounds: int) -> list[tuple[str, ...]]:
    """One sample at a time, and 64 concurrently: awaited together, and from 64 threads as verl calls."""
    grader, batch = proven(TEXT), columns(64)
    rows = list(zip(*batch.values(), strict=True))
    threads = [wb.StringThread([("user", p), ("assistant", c)], {"expected": a}) for p, c, a in rows]

    async def awaited() -> list[wb.Grade]:
        return await asyncio.gather(*map(grader.grade, threads))

    def one_by_one() -> None:
        for thread in threads:
            grader(thread)

    one_by_one(), asyncio.run(awaited())
    one = statistics.median(timed(lambda: grader(threads[0])) for _ in range(20 * rounds))
    each = statistics.median(timed(one_by_one) for _ in range(rounds))
    together = statistics.median(timed(lambda: asyncio.run(awaited())) for _ in range(rounds))
    lines = [
        ("grader(thread), warm", f"{one:.2f} ms", "", _bar(one, 1.0)),
        ("64 samples, one after the other", f"{each:.1f} ms", "1", ""),
        ("64 samples, awaited together", f"{together:.1f} ms", f"{together / each:.2f} x", ""),
    ]
    with wb.reward(grader) as reward, ThreadPoolExecutor(64) as pool:
        calls = [
            lambda c=completion, a=answer: reward.verl(data_source="d", solution_str=c, ground_truth=a)
            for _, completion, answer in rows
        ]

        def from_threads() -> None:
            gate = threading.Event()
            futures = [pool.submit(lambda call=call: gate.wait() and call()) for call in calls]
            gate.set()
            assert [future.result() for future in futures] == [1.0] * 64

        from_threads()
        many = statistics.median(timed(from_threads) for _ in range(rounds))
    return [*lines, ("64 calls of reward.verl from 64 threads", f"{many:.1f} ms", f"{many / each:.2f} x", "")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    print(f"{'what':<48}{'measured':>14}{'against base':>16}   aim")
    parts = (
        lambda: batches(options.rounds, options.workers),
        lambda: single_calls(options.rounds),
        lambda: faults(max(3, options.rounds // 3), options.workers),
    )
    for part in parts:
        for what, measured, ratio, aim in part():
            print(f"{what:<48}{measured:>14}{ratio:>16}   {aim}", flush=True)


if __name__ == "__main__":
    main()
