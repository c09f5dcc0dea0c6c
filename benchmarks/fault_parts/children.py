"""Code that the parts run in separate processes: `python children.py NAME WORDS`."""

from __future__ import annotations

import gc
import json
import os
import random
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np

import workbench as wb
from benchmarks.fault_parts.workers import children_of
from workbench.core import background
from workbench.store import schema


def judge_run(address: str, store: str, rows: str, concurrency: str) -> None:
    """A judge over rows that its server can distinguish; prints how many were scored."""
    print(_scored(address, store, int(rows), int(concurrency)), flush=True)


def jumping_judge_run(address: str, store: str, rows: str, concurrency: str) -> None:
    """The same while the clock jumps by up to a year at every call. `time.monotonic` is unchanged."""
    chance, real_time, real_now = random.Random(0), time.time, schema.now
    year = 365 * 86_400
    time.time = lambda: real_time() + chance.uniform(-year, year)
    schema.now = lambda: f"{chance.randrange(2025, 2028)}{real_now()[4:]}"
    judge_run(address, store, rows, concurrency)


def _scored(address: str, store: Any, rows: int, concurrency: int = 32) -> int:
    client = wb.judges.OpenAIClient(base_url=address, concurrency=concurrency)
    judge = wb.BinaryJudge(criteria="The completion is polite.", model="local", client=client)
    samples = [{"prompt": f"<row {row}>", "completion": "Good day to you."} for row in range(rows)]
    report = judge.run(samples, store=store, progress=False)
    return int(report.summary["scored"].iloc[0])


_HALF = "async def grade(thread):\n    return 0.5 if thread.completion() else 0.0\n"


def forks(address: str, url: str, rows: str, count: str, seed: str) -> None:
    """A judge's run on a thread, and forks meanwhile; prints what was scored and how many children did their work."""
    chance, scored = random.Random(int(seed)), []
    store = wb.open_store(url)
    wb.FunctionGrader.from_source(_HALF, name="half").run(
        [{"prompt": "p", "completion": "c"}], progress=False
    )
    thread = threading.Thread(target=lambda: scored.append(_scored(address, store, int(rows))))
    thread.start()
    good = 0
    for number in range(int(count)):
        thread.join(chance.uniform(0, 0.2))  # a moment, so that forks occur in all parts of the run
        child = os.fork()
        if child == 0:
            os._exit(_work_of_child(store, number))
        good += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    thread.join()
    print(*scored, good, flush=True)


def _work_of_child(store: wb.store.Store, number: int) -> int:
    """Grade by code and store a reply; 0 if both worked."""
    try:
        rows = [{"prompt": "p", "completion": "c"}] * 20
        report = wb.FunctionGrader.from_source(_HALF, name="half").run(rows, progress=False)
        background.run(store.replies.put(f"child-{number}", wb.judges.Reply("x"), model="m"))
        stored = background.run(store.replies.get(f"child-{number}"))
        right = report.summary["scored"].iloc[0] == 20 and stored is not None
    except BaseException:  # noqa: BLE001 (a child that continues would be a second parent)
        traceback.print_exc()
        return 1
    return 0 if right else 2


def soak(rows: str, runs: str) -> None:
    """Runs of a rule, of code and of both as a suite; prints the process's resources before and after."""
    each = int(rows) // int(runs)
    scored, memory = 0, []
    before: dict[str, int] = {}
    for number in range(int(runs)):
        data = wb.Samples(
            [
                {"prompt": f"p{row}", "completion": f"{number} {row}", "reference": str(row)}
                for row in range(each)
            ]
        )
        graders = [
            wb.FunctionGrader.from_source(f"{_HALF}# {number}\n", name="half"),
            wb.Contains("4"),
            wb.ExactMatch(),
        ]
        report = wb.Suite(graders).run(data, progress=False)
        scored += int(report.summary["scored"].sum())
        del report, data, graders
        gc.collect()
        memory.append(_megabytes())
        if number == int(runs) // 10:  # by then a pool has started all the threads that it needs
            before = _held()
    after = _settled(before)
    late = np.array(memory[len(memory) // 4 :])
    slope = float(np.polyfit(np.arange(len(late)), late, 1)[0]) if len(late) > 1 else 0.0
    counts = {name: (before[name], after[name]) for name in after}
    told = {"slope": slope, "first": memory[0], "last": memory[-1], "scored": scored, "counts": counts}
    print(json.dumps(told), flush=True)


def _megabytes() -> float:
    """Memory of this process (RSS)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _settled(before: dict[str, int], seconds: float = 10.0) -> dict[str, int]:
    """Resources after the last run's workers have ended, for which the run does not wait; a leak does not end."""
    end = time.monotonic() + seconds
    while (held := _held()) and time.monotonic() < end:
        if all(held[name] <= before[name] for name in held if name != "threads"):
            break
        time.sleep(0.05)
    return held


def _held() -> dict[str, int]:
    own = children_of(os.getpid())
    return {
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "processes": len(own) + sum(len(children_of(child)) for child in own),
        "threads": len(list(Path("/proc/self/task").iterdir())),
        "shared memory mapped": sum(
            "memfd:" in line or "/dev/shm" in line
            for line in Path("/proc/self/maps").read_text().splitlines()
        ),
        "files in /dev/shm": len(list(Path("/dev/shm").iterdir())),
    }


if __name__ == "__main__":
    named = {one.__name__: one for one in (judge_run, jumping_judge_run, forks, soak)}
    named[sys.argv[1]](*sys.argv[2:])
