"""`forecast_cost`: time and cost of grading many rows, estimated from the rows of a report."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.core.display import DisplayBlock, Displayed, Paragraph, TableBlock
from workbench.core.display_text import counted, one_line
from workbench.core.errors import ReportError
from workbench.core.grades import MISSING, Grades
from workbench.data.packed import Packed
from workbench.report import Report
from workbench.report.cases import asked_rows, mean_seconds, money
from workbench.report.forecast import duration
from workbench.report.grades_table import grade_columns

_HEADS = ("grader", "rows/s", "time", "requests", "tokens", "cost", "95 % interval", "grades")
_READ = 1_000
"""Number of rows whose bytes are measured."""
_TIMED = 10_000
"""Number of rows for which reading is timed."""
READING = "(reading rows)"
"""Name of the table row that belongs to no grader."""
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")
_MUCH = 0.2
"""Minimum share of the time for which reading rows is mentioned."""
MIN_ROWS = 20
"""Minimum rows of a forecast, this project's limit: with fewer the interval of a mean is too wide to be useful."""


@dataclass(frozen=True, eq=False, repr=False)
class CostForecast(Displayed):
    """Forecast of time and cost for grading many rows. Prints as a table and about four sentences.

    Attributes:
        rows: Rows to be graded.
        measured: Rows of the report that were measured.
        cores: Processor cores, on all machines together.
        concurrency: Requests in flight, on all machines together.
        table: One row for each grader (index), and one for reading and encoding rows: waits (whether it waits for a server rather than for a core), seconds (per
            row), rate (rows per second: of one core, or of all requests in flight), time (seconds for all rows on all cores,
            or with all requests in flight), `questions` (rows for which a model is called, at least once), tokens, cost (US
            dollars), cost_lo and cost_hi (95 % interval of the mean, clustered by prompt), bytes (of its grades, in
            memory or in Parquet before compression). NaN if unknown.
        data_bytes: Of the rows as encoded for graders.
        readers: Processes that read rows.
    """

    _label = "Forecast of cost"

    rows: int
    measured: int
    cores: int
    concurrency: int
    table: pd.DataFrame
    data_bytes: float
    readers: int = 1

    @property
    def seconds(self) -> float:
        """Seconds of the whole run, its graders one after another; NaN if the time of one is unknown."""
        return float(self.table["time"].sum(skipna=False))

    @property
    def cost(self) -> float:
        """Total US dollars; NaN if a price is unknown."""
        return float(self.table["cost"].sum(skipna=False))

    @property
    def bytes(self) -> float:
        """Bytes of all grades."""
        return float(self.table["bytes"].sum())

    @property
    def sentences(self) -> list[str]:
        """The forecast, one sentence each."""
        waits = bool(self.table["waits"].any())
        machines = counted(self.cores, "core") + (
            f" and {self.concurrency:,} requests in flight" if waits else ""
        )
        lo, hi = self.table["cost_lo"].sum(), self.table["cost_hi"].sum()
        took = "an unknown time" if math.isnan(self.seconds) else duration(self.seconds)
        said = [f"{self.rows:,} rows take about {took} on {machines}, estimated from {self.measured:,} rows."]
        if math.isnan(self.cost):
            said.append("The cost of the judges is unknown: a model has no price.")
        elif self.cost:
            said.append(f"The judges cost about {money(self.cost)} ({money(lo)} to {money(hi)}).")
        if (reading := float(self.table["time"].get(READING, 0.0))) > _MUCH * self.seconds:
            said.append(
                f"Reading rows takes {duration(reading)} of it, in {self.readers} process{'es' * (self.readers > 1)}: "
                "readers= sets how many read in parallel."
            )
        return [*said, f"The rows are about {_size(self.data_bytes)}, their grades {_size(self.bytes)}."]

    def __repr__(self) -> str:
        return f"CostForecast({self.rows:,} rows, {duration(self.seconds)}, {money(self.cost)})"

    def _blocks(self) -> Iterator[DisplayBlock]:
        first, *others = self.sentences
        yield Paragraph(first, "lead")
        yield from map(Paragraph, others)
        yield TableBlock(_HEADS, self._cells(), numbers=range(1, len(_HEADS)))

    def _cells(self) -> list[tuple[str, ...]]:
        return [_line_cells(str(name), line) for name, line in self.table.iterrows()]


def forecast_cost(
    report: Report,
    rows: int,
    *,
    cores: int | None = None,
    concurrency: int = 64,
    readers: int = 1,
    repeats: int = 1,
) -> CostForecast:
    """Forecast the time, requests, tokens, money and bytes of grading many rows, from a report of some of them.

    Rows are assumed to be like those of the report: grade a random draw, such as one in a hundred. Code and rules scale with
    the cores; graders that wait for a server scale with the requests in flight, as long as the server keeps up. Starting
    workers and computing findings are not included; reading rows, once for each grader, is timed now, on consecutive rows.

    Args:
        report: Of at least 20 rows. Replies from a store count at the price of the others.
        rows: To be graded.
        cores: Processor cores on all machines together; those of this machine by default.
        concurrency: Requests in flight, on all machines together.
        readers: Processes that read rows, which is independent of `cores`: 1 on one machine, the workers of a cluster.
        repeats: How often every row is graded by non-deterministic graders.

    Raises:
        ReportError: It is not a report, fewer than 20 rows were graded, or a number is below 1.

    Example:
        >>> import workbench as wb
        >>> rows = [{"completion": f"a{row}", "answer": "a1"} for row in range(100)]
        >>> wb.forecast_cost(wb.ExactMatch().run(rows, progress=False), 1_000_000, cores=4).cost
        0.0
    """
    if not isinstance(report, Report):
        raise ReportError(
            "a forecast needs a report", found=type(report).__name__, expected="what run(...) returns",
            hint="grade some of the rows first: report = suite.run(samples.draw(200, seed=1)); of an overview, pass overview.report",
        )  # fmt: skip
    cores = os.cpu_count() or 1 if cores is None else cores
    for name, value in (
        ("rows", rows),
        ("cores", cores),
        ("concurrency", concurrency),
        ("readers", readers),
        ("repeats", repeats),
    ):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ReportError(f"{name} must be a whole number of 1 or more", found=repr(value)[:40])
    names = [name for name in report.graders if report.suite is None or name != report.suite.column]
    measured = min(
        int((report.grades[name].codes != MISSING).sum()) - len(report.grades[name].cut_off) for name in names
    )
    if measured < MIN_ROWS:
        raise ReportError(
            "too few rows to forecast from", found=f"{measured:,} graded rows", expected=f"at least {MIN_ROWS}",
            hint="grade a random draw: suite.run(samples.draw(200, seed=1))",
        )  # fmt: skip
    lines = {
        name: _line(_once(report.grades[name]), report.prompt_codes, (rows, cores, concurrency, repeats))
        for name in names
    }
    lines[READING] = _reading(report, rows * len(names), readers)
    return CostForecast(
        rows,
        measured,
        cores,
        concurrency,
        pd.DataFrame.from_dict(lines, orient="index"),
        _data_bytes(report) * rows,
        readers,
    )


def _once(grades: Grades) -> Grades:
    """The first repeat: a row's cost is the sum over all replies that contributed to its grade."""
    return grades.repeats[0] if grades.repeats else grades


def _line(grades: Grades, groups: Any, plan: tuple[int, int, int, int]) -> dict[str, Any]:
    rows, cores, concurrency, repeats = plan
    seconds = mean_seconds(grades)
    asked = asked_rows(grades)
    waits = not grades.code and not grades.isolation
    at_once = concurrency if waits else cores
    times = rows * (1 if grades.code and not grades.isolation else repeats)
    cost, lo, hi = _cost(grades, asked, groups)
    tokens = grades.tokens[~np.isnan(grades.tokens)]
    return {
        "waits": waits,
        "seconds": seconds,
        "rate": (concurrency if waits else 1) / seconds if seconds else math.inf,
        "time": seconds * times / at_once,
        "questions": round(float(asked.mean()) * times),
        "tokens": float(tokens.mean() * asked.mean()) * times
        if len(tokens)
        else (math.nan if asked.any() else 0.0),
        "cost": cost * times,
        "cost_lo": lo * times,
        "cost_hi": hi * times,
        "bytes": _grade_bytes(grades) * times,
    }


def _reading(report: Report, rows: int, readers: int) -> dict[str, Any]:
    """The table row for reading consecutive rows and encoding them, once per grader, timed now."""
    samples: Any = report.samples
    some = samples.take(np.arange(min(len(report), _TIMED), dtype=np.intp))
    begun = time.perf_counter()
    packed = some.packed(extras=True)
    if not isinstance(packed, Packed):
        packed.encode(0, packed.rows)
    seconds = (time.perf_counter() - begun) / len(some)
    nothing = {"questions": 0, "tokens": 0.0, "cost": 0.0, "cost_lo": 0.0, "cost_hi": 0.0, "bytes": 0.0}
    return {
        "waits": False,
        "seconds": seconds,
        "rate": 1 / seconds,
        "time": seconds * rows / readers,
        **nothing,
    }


def _cost(grades: Grades, asked: Any, groups: Any) -> tuple[float, float, float]:
    """Mean US dollars per row, and the 95 % interval of that mean."""
    if not asked.any():
        return 0.0, 0.0, 0.0
    paid = np.flatnonzero(~np.isnan(grades.tokens))
    costs = grades.cost[paid]
    if not len(paid) or np.isnan(costs).any():
        return math.nan, math.nan, math.nan
    mean, share = float(costs.mean()), float(asked.mean())
    half = _half_width(costs - mean, np.asarray(groups)[paid])
    return mean * share, max(mean - half, 0.0) * share, (mean + half) * share


def _half_width(deviations: NDArray[np.float64], groups: NDArray[np.intp]) -> float:
    """Half of the 95 % interval of a mean, clustered by prompt (cluster-robust, Liang & Zeger 1986)."""
    sums = np.bincount(np.unique(groups, return_inverse=True)[1], weights=deviations)
    count = len(sums)
    if count < 2:
        return math.inf
    error = math.sqrt(float(sums @ sums) * count / (count - 1)) / len(deviations)
    from scipy.special import stdtrit

    half: float = float(stdtrit(count - 1, 0.975)) * error
    return half


def _grade_bytes(grades: Grades) -> float:
    count = min(len(grades), _READ)
    columns = grade_columns(grades, slice(0, count)).values()
    size: float = sum(column.nbytes for column in columns) / max(count, 1)
    return size


def _data_bytes(report: Report) -> float:
    """Bytes of a row as encoded for graders."""
    samples: Any = report.samples
    count = min(len(report), _READ)
    chosen = np.unique(np.linspace(0, len(report) - 1, count).astype(np.intp))
    packed = samples.take(chosen).packed(extras=True)
    size = packed.nbytes if isinstance(packed, Packed) else len(packed.encode(0, packed.rows))
    return float(size / len(chosen))


def _each(name: str, line: pd.Series[Any]) -> str:
    """The unit of a rate: rows are read by processes, which may wait for a disk, and graded by cores."""
    return " per process" if name == READING else "" if line["waits"] else " per core"


def _line_cells(name: str, line: pd.Series[Any]) -> tuple[str, ...]:
    return (
        one_line(name, 40),
        "-" if math.isnan(line["rate"]) else f"{line['rate']:,.0f}{_each(name, line)}",
        "-" if math.isnan(line["time"]) else duration(line["time"]),
        f"{line['questions']:,}",
        "-" if math.isnan(line["tokens"]) else f"{line['tokens']:,.0f}",
        "-" if math.isnan(line["cost"]) else money(line["cost"]),
        ""
        if not line["cost"] or math.isnan(line["cost"])
        else f"{money(line['cost_lo'])} to {money(line['cost_hi'])}",
        _size(line["bytes"]),
    )


def _size(size: float) -> str:
    """A number of bytes as text: "1.2 GB"."""
    for unit in _units(size):
        return f"{size / 1000 ** _UNITS.index(unit):.3g} {unit}"
    return f"{size:.0f} B"


def _units(size: float) -> Iterator[str]:
    return (unit for power, unit in reversed(list(enumerate(_UNITS))) if size >= 1000**power)
