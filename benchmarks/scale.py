"""The cost of a million rows: encoding them, grading by whole columns, findings, and the whole job.

Run it with `python benchmarks/scale.py [--rows 1000000] [--rounds 3]`.

Compare the ratios: machines differ and are shared. The *bare loop* awaits the same grade function over prepared threads in this
process, the *bare rule* is the rule over prepared pairs of texts; both are timed in the same rounds as the candidates. Rows
are 500 bytes of prompt and completion, in a frame as pandas reads them from Parquet. Each part runs in a separate process.
Memory is the peak RSS of the process during the job, less its RSS with the frame before it.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import workbench as wb
from workbench.data.packed import Packed
from workbench.data.row_columns import loaded
from workbench.data.samples import Samples
from workbench.graders.concurrent_rows import Control

QUESTION = "Filler text that makes this prompt longer. " * 5
ANSWER = "And filler text for a completion of its row. " * 5
EXACT = """
async def grade(thread):
    return 1.0 if (thread.completion() or "").strip() == thread.metadata["expected"].strip() else 0.0
"""
RULES: dict[str, tuple[wb.Grader, Callable[[str, str], object]]] = {
    "exact-match": (wb.ExactMatch(), lambda text, other: text.strip() == other.strip()),
    "contains": (wb.Contains(), lambda text, other: other in text),
    "length": (wb.Length(maximum=300), lambda text, _: len(text) <= 300),
    "string-check": (wb.StringCheck(), lambda text, other: text == other),
}


def texts_frame(rows: int) -> pd.DataFrame:
    """Prompt, completion, reference and a topic; eight completions per prompt."""
    return pd.DataFrame(
        {
            "prompt": [f"{row // 8} {QUESTION}" for row in range(rows)],
            "completion": [f"{ANSWER} {row % 97}" for row in range(rows)],
            "expected": [f"{ANSWER} {row % 89}" for row in range(rows)],
            "topic": [f"t{row % 9}" for row in range(rows)],
        }
    )


def messages_frame(rows: int) -> pd.DataFrame:
    """The same as chat messages."""
    return pd.DataFrame(
        {
            "messages": [
                [{"role": "user", "content": f"{row // 8} {QUESTION}"}, {"role": "assistant", "content": f"{ANSWER} {row % 97}"}]
                for row in range(rows)
            ],
            "expected": [f"{row % 89}" for row in range(rows)],
        }
    )  # fmt: skip


def timed(work: Callable[[], object]) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def encoding(rows: int, rounds: int) -> Iterator[tuple[str, ...]]:
    """The work of the host for a row, and of a worker before a grader sees it."""
    rows = min(rows, 100_000)
    for name, frame in (("prompt and completion", texts_frame(rows)), ("messages", messages_frame(rows))):
        yield f"encode, {name}", _per_row(_median(_encoded, frame, rounds), rows), ""
        batches = _encoded(frame)
        yield f"decode whole rows, {name}", _per_row(_median(_decoded, batches, rounds), rows), ""


def _encoded(frame: pd.DataFrame) -> Sequence[bytes]:
    packed = wb.Samples(frame).packed()
    assert isinstance(packed, Packed)
    return packed.batches


def _decoded(batches: Sequence[bytes]) -> None:
    for batch in batches:
        loaded(batch)


def _median(work: Callable[[Any], object], subject: Any, rounds: int) -> float:
    return statistics.median(timed(lambda: work(subject)) for _ in range(rounds))


def rules(rows: int, rounds: int) -> Iterator[tuple[str, ...]]:
    """Graders that need no sandbox, against their rule over ready texts."""
    rows = min(rows, 500_000)
    frame = texts_frame(rows)
    pairs = list(zip(frame["completion"], frame["expected"], strict=True))
    samples = wb.Samples(frame)
    for name, (grader, rule) in RULES.items():
        taken, ratios = [], []
        for _ in range(rounds):
            base = timed(lambda rule=rule: [rule(text, other) for text, other in pairs])
            taken.append(timed(lambda grader=grader: asyncio.run(grader.grade_all(samples, Control()))))
            ratios.append(taken[-1] / base)
        yield (
            name,
            _per_row(statistics.median(taken), rows),
            f"{statistics.median(ratios):.1f} x the bare rule",
        )


def job(rows: int, _: int) -> Iterator[tuple[str, ...]]:
    """A frame to findings and a page, as a user runs it: one code grader, two workers."""
    frame = texts_frame(rows)
    grader = wb.FunctionGrader.from_source(EXACT)
    grader.validate(wb.Samples(frame.head(1)))
    before = _memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the highest size is counted from here
    parts = {}
    parts["run"] = timed(lambda: parts.setdefault("report", grader.run(frame, workers=2, progress=False)))
    report = parts.pop("report")
    parts["findings and summary"] = timed(lambda: (report.findings, report.summary))
    parts["page"] = timed(lambda: report.to_html("/tmp/benchmark-page.html"))
    peak = _memory("VmHWM")
    # After the job: memory that it frees would hide some of the job's memory.
    base = _bare_seconds(frame, rows)
    for name, seconds in parts.items():
        yield f"{rows:,} rows: {name}", f"{seconds:.2f} s", f"{seconds / base:.1f} x the bare loop"
    total = sum(parts.values())
    yield f"{rows:,} rows: the whole job", f"{total:.2f} s", f"{total / base:.1f} x the bare loop"
    yield (
        f"{rows:,} rows: memory without the frame",
        f"{(peak - before) / 1024:.0f} MB",
        f"frame {before / 1024:.0f} MB",
    )


def _bare_seconds(frame: pd.DataFrame, rows: int) -> float:
    """Seconds that a bare await loop takes for this number of rows, measured over some of them."""
    namespace: dict[str, object] = {}
    exec(EXACT, namespace)
    grade, some = namespace["grade"], min(rows, 50_000)
    threads = list(Samples(frame.head(some)).threads)

    async def loop() -> list[float]:
        return [await grade(thread) for thread in threads]  # type: ignore[operator]

    return statistics.median(timed(lambda: asyncio.run(loop())) for _ in range(5)) * rows / some


def _memory(name: str) -> int:
    """A size of this process in kB."""
    found = re.search(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1])


def _per_row(seconds: float, rows: int) -> str:
    return f"{1e6 * seconds / rows:.2f} us per row"


PARTS = {"encoding": encoding, "rules": rules, "job": job}


def main() -> None:
    """Run every part, or print one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--part", choices=PARTS)
    options = parser.parse_args()
    if options.part is None:
        for part in PARTS:
            settings = ("--part", part, "--rows", str(options.rows), "--rounds", str(options.rounds))
            subprocess.run([sys.executable, __file__, *settings], check=True)
        return
    for what, measured, against in PARTS[options.part](options.rows, options.rounds):
        print(f"{what:<44}{measured:>20}{against:>26}", flush=True)


if __name__ == "__main__":
    main()
