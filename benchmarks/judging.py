"""The cost of a judge compared with the bare client it is built on, in one run.

    python benchmarks/judging.py [--rows 2000] [--concurrency 50 200] [--rounds 3]

Against a local server (50 ms per reply, at most 200 concurrent requests): the `openai` client by default, the same on
aiohttp, the workbench's judge (prompt, request, verdict, grade), the same with a cold and a warm store, and with 30 % of the
requests rejected with 429. CPU is this process's, without the server's share; compare columns, not machines.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openai

import workbench as wb

SERVER = Path(__file__).with_name("judge_server.py")
MODEL = "local"


@contextlib.contextmanager
def server(*settings: str) -> Iterator[str]:
    process = subprocess.Popen([sys.executable, str(SERVER), *settings], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


def counts(address: str) -> dict[str, int]:
    with urllib.request.urlopen(f"{address}/count") as answer:
        return dict(json.load(answer))


def samples(rows: int) -> wb.Samples:
    answer = "The capital is Paris, which lies on the Seine. " * 4
    return wb.read_samples(
        [
            {"prompt": f"What is the capital of France? ({row})", "completion": f"{answer} ({row})"}
            for row in range(rows)
        ]
    )


def judge(address: str, concurrency: int) -> wb.Grader:
    client = wb.judges.OpenAIClient(base_url=address, concurrency=concurrency)
    return wb.BinaryJudge(criteria="The completion names the capital.", model=MODEL, client=client)


def bare(address: str, questions: list[Any], concurrency: int, http: Callable[[], Any] | None) -> None:
    """The client with a semaphore, and its typed replies: a minimal implementation."""

    async def all_of_them() -> None:
        client = openai.AsyncOpenAI(base_url=address, http_client=http() if http else None, max_retries=5)
        room = asyncio.Semaphore(concurrency)

        async def one(messages: Any) -> str:
            async with room:
                answer = await client.chat.completions.create(model=MODEL, messages=messages, temperature=0.0)
            return str(answer.choices[0].message.content)

        found = await asyncio.gather(*map(one, questions))
        assert len(found) == len(questions)
        await client.close()

    asyncio.run(all_of_them())


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Wall and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def run(grader: wb.Grader, data: wb.Samples, **settings: Any) -> wb.Report:
    report = grader.run(data, progress=False, **settings)
    lost = int(report.summary["failed"].sum())
    assert not lost, f"{lost} rows lost: {report.errors['error'].iloc[0]}"
    return report


def measure(
    address: str, crowded: str, rows: int, concurrency: int, folder: Path
) -> dict[str, tuple[float, float]]:
    data = samples(rows)
    grader = judge(address, concurrency)
    questions = [grader.preview(sample) for sample in data]
    url = f"sqlite:///{folder}/{concurrency}-{time.monotonic_ns()}.db"
    return {
        "openai client": timed(lambda: bare(address, questions, concurrency, None)),
        "openai client on aiohttp": timed(
            lambda: bare(address, questions, concurrency, openai.DefaultAioHttpClient)
        ),
        "workbench judge": timed(lambda: run(grader, data)),
        "workbench, cold store": timed(lambda: run(grader, data, store=url)),
        "workbench, warm store": timed(lambda: run(grader, data, store=url)),
        "workbench, 30 % rejected": timed(lambda: run(judge(crowded, concurrency), data)),
    }


def memory(address: str) -> None:
    """Peak memory of a run, without its report, for many and for few rows."""
    print("\nmemory: peak during a run, less that of its report")
    for rows in (1_000, 4_000):
        data = samples(rows)
        grader = judge(address, 50)
        run(grader, data[:50])
        tracemalloc.start()
        report = run(grader, data)
        kept, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        print(
            f"  {rows:>6,} rows: {(most - kept) / 2**20:5.1f} MB, report {kept / 2**20:5.1f} MB ({len(report):,} rows)"
        )


def warm(address: str, rows: int) -> None:
    """A large run again, from the store."""
    data, grader = samples(rows), judge(address, 200)
    with tempfile.TemporaryDirectory() as folder, wb.open_store(f"sqlite:///{folder}/warm.db") as store:
        run(grader, data, store=store)
        spent = [timed(lambda: run(grader, data, store=store)) for _ in range(3)]
    wall = statistics.median(one[0] for one in spent)
    print(
        f"\nwarm store, {rows:,} rows: {wall:.2f} s, {rows / wall:,.0f} rows/s, diagnosis and summary included"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--concurrency", type=int, nargs="+", default=[50, 200])
    parser.add_argument("--rounds", type=int, default=3)
    settings = parser.parse_args()
    os.environ.setdefault("OPENAI_API_KEY", "local")
    with server() as address, server("--refuse", "0.3") as crowded, tempfile.TemporaryDirectory() as folder:
        for concurrency in settings.concurrency:
            rounds = [
                measure(address, crowded, settings.rows, concurrency, Path(folder))
                for _ in range(settings.rounds)
            ]
            table(rounds, settings.rows, concurrency)
        told = counts(crowded)
        print(f"\nthe crowded server completed {told['answered']:,} and rejected {told['refused']:,}")
        warm(address, 5 * settings.rows)
        memory(address)


def table(rounds: list[dict[str, tuple[float, float]]], rows: int, concurrency: int) -> None:
    print(f"\n{rows:,} rows, {concurrency} concurrent requests, median of {len(rounds)} rounds")
    print(f"{'what':<26}{'s':>8}{'rows/s':>10}{'CPU ms/row':>12}{'times aiohttp client':>22}")
    base = statistics.median(one["openai client on aiohttp"][1] for one in rounds)
    for name in rounds[0]:
        wall = statistics.median(one[name][0] for one in rounds)
        cpu = statistics.median(one[name][1] for one in rounds)
        print(f"{name:<26}{wall:>8.2f}{rows / wall:>10,.0f}{1e3 * cpu / rows:>12.3f}{cpu / base:>22.2f}")


if __name__ == "__main__":
    main()
