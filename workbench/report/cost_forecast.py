"""`forecast_cost`: what grading many rows will take, out of what the rows of a report took."""

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
from scipy.special import stdtrit

from workbench.display_text import counted, one_line
from workbench.errors import ReportError
from workbench.grades import MISSING, Grades
from workbench.grades_table import grade_columns
from workbench.markup import html_block, html_table, markdown_lines, markdown_table, markdown_text, paragraph
from workbench.packed import Packed
from workbench.report.forecast_result import duration, table_lines
from workbench.report.report import Report
from workbench.report.row_rates import asked_rows, mean_seconds
from workbench.report.spending import money

__all__ = ["CostForecast", "forecast_cost"]

_HEADS = ("grader", "rows/s", "time", "questions", "tokens", "cost", "95 % interval", "grades")
_READ = 1_000
"""Rows whose bytes are measured."""
_TIMED = 10_000
"""Rows for which reading is timed."""
READING = "(reading rows)"
"""Name of the line that is of no grader."""
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")
_MUCH = 0.2
"""Share of the time from which reading rows is told of."""
MIN_ROWS = 20
"""Rows that a forecast rests on at least; ours: with fewer the interval of a mean says nothing."""


@dataclass(frozen=True, eq=False, repr=False)
class CostForecast:
    """What grading many rows takes. Prints as a table and a few sentences.

    Attributes:
        rows: Rows to be graded.
        measured: Rows of the report that it rests on.
        cores: Processor cores, on all machines together.
        concurrency: Questions under way at once, on all machines together.
        table: One line for each grader (index), and one for reading rows and encoding them: waits (whether it waits for a server rather than for a core), seconds (of a
            row), rate (rows a second: of one core, or of all questions under way), time (seconds for all rows on all cores,
            or with all questions under way), questions (rows for which a model is asked, once or more), tokens, cost (US
            dollars), cost_lo and cost_hi (95 % interval of the mean, the rows of a prompt taken together), bytes (of its grades, in
            memory or in Parquet before compression). NaN where unknown.
        data_bytes: Of the rows as they are sent to graders.
        readers: Processes that read rows.
    """

    rows: int
    measured: int
    cores: int
    concurrency: int
    table: pd.DataFrame
    data_bytes: float
    readers: int = 1

    @property
    def seconds(self) -> float:
        """Of the whole run: its graders one after another; NaN where one of them has no known time."""
        return float(self.table["time"].sum(skipna=False))

    @property
    def cost(self) -> float:
        """US dollars in all; NaN where a price is not known."""
        return float(self.table["cost"].sum(skipna=False))

    @property
    def bytes(self) -> float:
        """Of all grades."""
        return float(self.table["bytes"].sum())

    @property
    def sentences(self) -> list[str]:
        """What the forecast says, a sentence each."""
        waits = bool(self.table["waits"].any())
        machines = counted(self.cores, "core") + (
            f" and {self.concurrency:,} questions under way" if waits else ""
        )
        lo, hi = self.table["cost_lo"].sum(), self.table["cost_hi"].sum()
        took = "an unknown time" if math.isnan(self.seconds) else duration(self.seconds)
        said = [f"{self.rows:,} rows take about {took} on {machines}, as far as {self.measured:,} rows tell."]
        if math.isnan(self.cost):
            said.append("What the judges cost is not known: a model has no price.")
        elif self.cost:
            said.append(f"The judges cost about {money(self.cost)} ({money(lo)} to {money(hi)}).")
        if (reading := float(self.table["time"].get(READING, 0.0))) > _MUCH * self.seconds:
            said.append(
                f"Of that, {duration(reading)} go by with reading rows in {self.readers} process{'es' * (self.readers > 1)}: "
                "readers= says how many read at once."
            )
        return [
            *said,
            f"The rows are about {_size(self.data_bytes)}, their grades {_size(self.bytes)}.",
        ]

    def __str__(self) -> str:
        """The sentences and the table."""
        return "\n".join([*self.sentences, *table_lines(_HEADS, self._cells())])

    def __repr__(self) -> str:
        return f"CostForecast({self.rows:,} rows, {duration(self.seconds)}, {money(self.cost)})"

    def _repr_html_(self) -> str:
        first, *others = self.sentences
        said = paragraph(first, "lead") + "".join(map(paragraph, others))
        table = html_table(_HEADS, self._cells(), numbers=range(1, len(_HEADS)))
        return html_block(f"{said}<div class='scroll'>{table}</div>", "wb-report", label="Forecast of cost")

    def _repr_markdown_(self) -> str:
        first, *others = (markdown_text(sentence, 900) for sentence in self.sentences)
        table = markdown_table(_HEADS, self._cells(), numbers=range(1, len(_HEADS)))
        return markdown_lines([f"**{first}**", *others, table])

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
    """Forecast the time, questions, tokens, money and bytes of grading many rows, from a report of some of them.

    Rows are taken to be like those of the report: grade a random draw, such as one in a hundred. Code and rules scale with the
    cores; what waits for a server scales with the questions under way, as long as the server keeps up with them. Starting
    workers and findings come on top; reading rows, once for each grader, is timed now, on rows that follow each other.

    Args:
        report: Of at least 20 rows. Answers out of a store count at the price of the others.
        rows: To be graded.
        cores: Processor cores on all machines together; those of this one by default.
        concurrency: Questions under way at once, on all machines together.
        readers: Processes that read rows, which `cores` does not divide: 1 on one machine, the workers of a cluster.
        repeats: How often every row is graded by what may give it different grades.

    Raises:
        ReportError: It is no report, fewer than 20 rows were graded, or a number is below 1.

    Example:
        >>> import workbench as wb
        >>> rows = [{"completion": f"a{row}", "answer": "a1"} for row in range(100)]
        >>> wb.forecast_cost(wb.ExactMatch().run(rows, progress=False), 1_000_000, cores=4).cost
        0.0
    """
    if not isinstance(report, Report):
        raise ReportError(
            "a forecast is made from a report", found=type(report).__name__, expected="what run(...) returns",
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
    """The first repeat: what a row took is the sum of all in the grades that were made of them."""
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
    """The line of what is no grader's: reading rows that follow each other and encoding them, once a grader, timed now."""
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
    """Mean US dollars of a row, and the 95 % interval of that mean."""
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
    """Half of the 95 % interval of a mean, rows of one prompt taken together (cluster-robust, Liang & Zeger 1986)."""
    sums = np.bincount(np.unique(groups, return_inverse=True)[1], weights=deviations)
    count = len(sums)
    if count < 2:
        return math.inf
    error = math.sqrt(float(sums @ sums) * count / (count - 1)) / len(deviations)
    half: float = float(stdtrit(count - 1, 0.975)) * error
    return half


def _grade_bytes(grades: Grades) -> float:
    count = min(len(grades), _READ)
    columns = grade_columns(grades, slice(0, count)).values()
    size: float = sum(column.nbytes for column in columns) / max(count, 1)
    return size


def _data_bytes(report: Report) -> float:
    """Bytes of a row as it is sent to graders."""
    samples: Any = report.samples
    count = min(len(report), _READ)
    chosen = np.unique(np.linspace(0, len(report) - 1, count).astype(np.intp))
    packed = samples.take(chosen).packed(extras=True)
    size = packed.nbytes if isinstance(packed, Packed) else len(packed.encode(0, packed.rows))
    return float(size / len(chosen))


def _each(name: str, line: pd.Series[Any]) -> str:
    """What a rate is of: rows are read by processes, which may wait for a disk, and graded by cores."""
    return " a process" if name == READING else "" if line["waits"] else " a core"


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
    """Bytes in words: "1.2 GB"."""
    for unit in _units(size):
        return f"{size / 1000 ** _UNITS.index(unit):.3g} {unit}"
    return f"{size:.0f} B"


def _units(size: float) -> Iterator[str]:
    return (unit for power, unit in reversed(list(enumerate(_UNITS))) if size >= 1000**power)
