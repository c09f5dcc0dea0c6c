"""The cost of many rows: a file larger than the memory limit, in one process and on a cluster, and its forecast.

Run it with `python benchmarks/cluster.py [--rows 2000000] [--limit 300]`; it needs the extra `scale`.

Rows of 700 bytes that do not compress are written to a folder of Parquet files. Each way to grade them runs in a separate
process, whose peak memory is measured; the *forecast* is made from the first hundredth of the rows, graded before by one core.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import workbench as wb

FILE_ROWS = 100_000
CODE = "async def grade(thread):\n    return float(len(thread.completion()) % 2)\n"


def write(folder: Path, rows: int) -> int:
    """A folder of files; returns its bytes."""
    for start in range(0, rows, FILE_ROWS):
        numbers = np.arange(start, min(start + FILE_ROWS, rows))
        columns = {
            "prompt": [f"prompt {number // 4} {os.urandom(100).hex()}" for number in numbers],
            "completion": [f"output {number % 7} {os.urandom(240).hex()}" for number in numbers],
            "answer": [f"output {number % 5}" for number in numbers],
        }
        table = pa.table({name: pa.array(column) for name, column in columns.items()})
        pq.write_table(table, folder / f"{start:012}.parquet", row_group_size=20_000, compression="none")
    return sum(file.stat().st_size for file in folder.iterdir())


def suite() -> wb.Suite:
    """A rule and code."""
    return wb.Suite([wb.ExactMatch(), wb.FunctionGrader.from_source(CODE, name="code")])


def peak() -> float:
    """Peak memory of this process so far, in MB; `getrusage` would include its parent's at the fork."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def lazily(folder: Path) -> dict[str, float]:
    """In one process, by row groups, with two sandbox processes."""
    samples = wb.read_samples(folder, lazy=True)
    wb.ExactMatch().run(samples.head(1000), progress=False)
    before, begun = peak(), time.perf_counter()
    report = suite().run(samples, progress=False, workers=2)
    return measured(report, before, begun)


def measured(report: Any, before: float, begun: float) -> dict[str, float]:
    """Seconds of the run and of findings, memory less that before the run, rows with a score."""
    ran = time.perf_counter()
    findings = len(report.findings)
    return {
        "run": ran - begun,
        "findings": time.perf_counter() - ran,
        "memory": peak() - before,
        "scored": float(report.summary["scored"].min()),
        "found": float(findings),
    }


def overview(folder: Path) -> dict[str, float]:
    """In one process, part by part: only sums and a sample of the grades are returned."""
    samples = wb.read_samples(folder, lazy=True)
    wb.Suite(wb.ExactMatch()).overview(samples.head(1000), progress=False)
    before, begun = peak(), time.perf_counter()
    return measured(suite().overview(samples, progress=False, workers=2), before, begun)


def on_cluster(folder: Path, limit: str, grade: str = "run") -> dict[str, float]:
    """On two worker processes whose memory is limited, by `Suite.run` or `Suite.overview`."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=f"{limit}MB"
        ) as cluster,
        Client(cluster) as client,
    ):
        frame = dd.read_parquet(folder, split_row_groups=1)
        call = getattr(suite(), grade)
        call(frame.partitions[:2], progress=False)  # workers import the package once
        before, begun = peak(), time.perf_counter()
        report = call(frame, progress=False)
        found = measured(report, before, begun)
        found["workers"] = max(client.run(peak).values())
        return found


def forecast(folder: Path) -> dict[str, float]:
    """Seconds of the whole, from the first hundredth of the rows and one core."""
    samples = wb.read_samples(folder, lazy=True)
    report = suite().run(samples.head(len(samples) // 100), progress=False, workers=1)
    one, two = (
        wb.forecast_cost(report, len(samples), cores=2, readers=readers).seconds for readers in (1, 2)
    )
    return {"lazily": one, "overview": one, "cluster": two, "cluster-overview": two}


def in_process(name: str, folder: Path, limit: str) -> dict[str, float]:
    """One of the ways in a separate process."""
    command = [sys.executable, __file__, "--way", name, "--folder", str(folder), "--limit", limit]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--limit", default="300", help="MB of memory of each worker")
    parser.add_argument(
        "--ways", default="lazily,overview,cluster,cluster-overview", help="which, in this order"
    )
    parser.add_argument("--way", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        ways = {
            "lazily": lazily,
            "forecast": forecast,
            "overview": overview,
            "cluster": lambda folder: on_cluster(folder, options.limit),
            "cluster-overview": lambda folder: on_cluster(folder, options.limit, "overview"),
        }
        print(json.dumps(ways[options.way](options.folder)))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = write(folder, options.rows)
        print(f"{options.rows:,} rows, {size / 1e6:,.0f} MB of Parquet, workers of {options.limit} MB")
        forecasts = in_process("forecast", folder, options.limit)
        for way in options.ways.split(","):
            found = in_process(way, folder, options.limit)
            words = ", ".join(f"{key} {value:,.1f}" for key, value in found.items())
            print(
                f"{way}: {words}; forecast {forecasts[way]:,.1f} s, measured {found['run'] / forecasts[way]:.2f} x"
            )


if __name__ == "__main__":
    main()
