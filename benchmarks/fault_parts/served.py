"""The workers of a server are killed, ended and stopped at random: a fault of the server is never the client's."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.fault_parts.common import ROOT, Line
from benchmarks.fault_parts.workers import children_of

__all__ = ["served"]

_GRADER = """
async def grade(thread: StringThread) -> float:
    sum(range(thread.metadata.get("work", 0)))
    return (int(thread.completion()) % 1000) / 1000
"""
_HOW = (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP, signal.SIGSEGV)
_WORK = 100_000
"""Numbers that a row adds up: some milliseconds."""
_AT_ONCE = 16


def served(*, seed: int, rows: int = 10_000, pause: float = 0.15) -> list[Line]:
    """Send honest rows, one per request, while a random worker is killed every `pause` seconds on average.

    Args:
        seed: Decides which workers, how, and when.
        rows: Requests.
        pause: Seconds between two losses, on average.
    """
    with tempfile.TemporaryDirectory() as folder, _serving(Path(folder)) as (port, process):
        done = threading.Event()
        losses: Counter[str] = Counter()
        fault = threading.Thread(
            target=_lose, args=(process.pid, random.Random(seed), pause, done, losses), daemon=True
        )
        fault.start()
        statuses, wrong = asyncio.run(_ask(port, rows))
        done.set()
        fault.join()
    how = ", ".join(f"{count} {name}" for name, count in sorted(losses.items()))
    refused = sum(count for status, count in statuses.items() if 400 <= status < 500)
    found = f"statuses {dict(sorted(statuses.items()))}, {wrong} wrong scores"
    kept = not refused and not wrong and set(statuses) <= {200, 503}
    return [
        Line(f"{losses.total()} workers lost ({how}) in {rows:,} honest rows", found, "200, or 503", kept)
    ]


@contextlib.contextmanager
def _serving(folder: Path) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    graders = folder / "graders.py"
    graders.write_text(_GRADER, "utf-8")
    command = [sys.executable, "-m", "workbench", "serve", str(graders), "--port", "0", "--workers", "2"]
    with (folder / "log").open("w") as log, subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=log, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline().split("http://127.0.0.1:")[1].split(";")[0]), process
        finally:
            process.terminate()


def _lose(
    number: int, chance: random.Random, pause: float, done: threading.Event, losses: Counter[str]
) -> None:
    while not done.wait(chance.expovariate(1 / pause)):
        workers = [worker for zygote in children_of(number) for worker in children_of(zygote)]
        how = chance.choice(_HOW)
        if workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(chance.choice(workers), how)
                losses[how.name] += 1


async def _ask(port: int, rows: int) -> tuple[Counter[int], int]:
    """Statuses, and how many scores were wrong; requests with status 503 do not count."""
    left, statuses, wrong = iter(range(rows)), Counter[int](), 0

    async def one() -> None:
        nonlocal wrong
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for row in left:
            turns = [{"role": "assistant", "content": str(row)}]
            body = json.dumps({"turns": turns, "metadata": {"work": _WORK}}).encode()
            head = f"POST /score HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {len(body)}\r\n\r\n"
            writer.write(head.encode() + body)
            answer = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            text = await reader.readexactly(int(answer.split("content-length: ")[1].split("\r\n")[0]))
            status = int(answer.split()[1])
            statuses[status] += 1
            wrong += status == 200 and json.loads(text)["reward"] != (row % 1000) / 1000
            if status == 503:
                assert "retry-after: " in answer
        writer.close()

    await asyncio.gather(*(one() for _ in range(_AT_ONCE)))
    return statuses, wrong
