"""The forecast of informative groups: tables, sentences, and how it is displayed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pandas as pd

from workbench.analysis.diagnostics.finding import percent
from workbench.analysis.statistics import Interval
from workbench.analysis.statistics.live_groups import LiveShare
from workbench.core.display import (
    html_block,
    html_table,
    markdown_lines,
    markdown_table,
    markdown_text,
    paragraph,
)
from workbench.core.display_text import counted, one_line
from workbench.core.higher_level import higher_level
from workbench.report.spending import money

__all__ = ["Forecast", "Line", "Selection"]

_HEADS = ("G", "informative", "95 % interval", "basis", "mean sd", "rollouts", "grading", "cost")


class Line(NamedTuple):
    """One row of a forecast's table; see `Forecast.table`."""

    size: int
    live: LiveShare
    basis: str
    sd: float
    rollouts: int
    seconds: float
    cost: float

    @property
    def sd_text(self) -> str:
        """The mean sd with three digits; a dash if it is unknown because only one score was ever seen."""
        return "-" if math.isnan(self.sd) else f"{self.sd:.3g}"


@dataclass(frozen=True)
class Selection:
    """The prompts worth training on, and what omitting the others saves and costs.

    Attributes:
        group_size: Completions in a group.
        prompts: Prompts with a score.
        chosen: Those worth training on.
        live: Share of informative groups among those of the chosen prompts; NaN if none is chosen.
        left_out: Share of informative groups among those of the others, which omitting them loses; NaN if there is none.
    """

    group_size: int
    prompts: int
    chosen: int
    live: LiveShare
    left_out: LiveShare

    @property
    def saved(self) -> float:
        """Share of the rollouts that omitting the others saves, 0 to 1."""
        return 1 - self.chosen / self.prompts

    def __str__(self) -> str:
        """Which prompts, how many of their groups are informative, and the savings."""
        if self.chosen == self.prompts:
            return f"Train on all {counted(self.prompts, 'prompt')}: {_with_interval(self.live)} of their groups are informative."
        others = self.prompts - self.chosen
        saved = (
            f"omitting the other {others:,} saves {percent(self.saved)} of the rollouts; "
            f"{_with_interval(self.left_out)} of the omitted groups would have been informative."
        )
        if not self.chosen:
            return f"No prompt is informative with the required probability at {self.group_size} completions: {_with_interval(self.left_out)} of the groups would be informative."
        return (
            f"Train on {self.chosen:,} of {self.prompts:,} prompts: {_with_interval(self.live)} of their "
            f"groups are informative; {saved}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Forecast:
    """Forecast of how informative groups of completions would be. Prints as a table and three sentences.

    Attributes:
        grader: Whose score is the reward.
        table: One row for each group size (index): live (share of informative groups), lo and hi (its 95 % interval), basis
            ("counted" if there are enough completions, else "modelled"), sd (mean standard deviation of a group, ddof=0, with
            the 0 of zero-variance ones: the size of the update, arXiv 2607.00152; NaN if unknown), rollouts of the whole
            frame, seconds of grading (one row after another) and cost in US dollars (NaN if unknown).
        best: The smallest group size at which doubling the completions would raise the mean sd by less than a tenth.
        group_size: The group size of `prompts` and `selection`.
        prompts: One row for each prompt (index), the best first: `answers` with a score, mean, sd (ddof=1), live (probability
            that its next group is informative, given its completions), train (whether it is worth training on).
        selection: The prompts worth training on, with what omitting the others saves.
        answers: Completions that nine of ten prompts have; groups up to this size are counted.
    """

    grader: str
    table: pd.DataFrame
    best: int
    group_size: int
    prompts: pd.DataFrame
    selection: Selection
    answers: int = field(default=0)

    @property
    def lines(self) -> list[Line]:
        """The table's lines."""
        return [
            Line(int(size), LiveShare(live, Interval(lo, hi)), str(basis), sd, int(rollouts), seconds, cost)
            for size, live, lo, hi, basis, sd, rollouts, seconds, cost in self.table.reset_index().to_numpy()
        ]

    @property
    def sentences(self) -> list[str]:
        """The forecast, one sentence each."""
        (line,) = [line for line in self.lines if line.size == self.group_size]
        prompts = counted(len(self.prompts), "prompt")
        groups = (
            f"at {line.size} completions per prompt {_with_interval(line.live)} of the groups are informative, forecast from "
            f"{self.answers} completions of each of {prompts}"
        )
        return [f"{one_line(self.grader)}: {groups}.", self._best_sentence(), str(self.selection)]

    def _best_sentence(self) -> str:
        sds = {line.size: line.sd for line in self.lines}
        if not sds[self.best] > 0:
            return "No prompt has shown two different scores, so no group size can be advised."
        if self.best == max(sds):
            return (
                f"Groups of {self.best} pay, and larger ones may: the update still grows with every doubling."
            )
        return (
            f"The best group size is {self.best}: doubling it would raise the mean update by less than 10 %."
        )

    def plot(self) -> Any:
        """The forecast curve as a plotly figure: share of informative groups by group size, with its band."""
        return higher_level("draw_forecast")([self])

    def __str__(self) -> str:
        """The sentences and the table."""
        return "\n".join([*self.sentences, *table_lines(_HEADS, self._cells())])

    def __repr__(self) -> str:
        return (
            f"Forecast({self.grader!r}, {counted(len(self.prompts), 'prompt')}, best group size {self.best})"
        )

    def _repr_html_(self) -> str:
        first, *others = self.sentences
        said = paragraph(first, "lead") + "".join(map(paragraph, others))
        table = html_table(_HEADS, self._cells(), numbers=range(len(_HEADS)))
        return html_block(f"{said}<div class='scroll'>{table}</div>", "wb-report", label="Forecast")

    def _repr_markdown_(self) -> str:
        first, *others = (markdown_text(sentence, 900) for sentence in self.sentences)
        table = markdown_table(_HEADS, self._cells(), numbers=range(len(_HEADS)))
        return markdown_lines([f"**{first}**", *others, table])

    def _cells(self) -> list[tuple[str, ...]]:
        return [_line_cells(line, is_best=line.size == self.best) for line in self.lines]


def _line_cells(line: Line, *, is_best: bool) -> tuple[str, ...]:
    lo, hi = line.live.interval
    return (
        f"{line.size}{'*' if is_best else ''}",
        percent(line.live.value),
        f"{percent(lo)} to {percent(hi)}",
        line.basis,
        line.sd_text,
        f"{line.rollouts:,}",
        "-" if math.isnan(line.seconds) else duration(line.seconds),
        "-" if math.isnan(line.cost) else money(line.cost),
    )


def table_lines(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table as text, right-aligned, one line per row, indented by two spaces."""
    table = [heads, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in table)
    return [f"  {line}".rstrip() for line in lines]


def duration(seconds: float) -> str:
    """A duration as text: "0.3 s", "12 min", "3.5 h".

    Example:
        >>> duration(0.25), duration(750), duration(12_600)
        ('0.25 s', '12 min', '3.5 h')
    """
    if seconds < 120:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7_200 else f"{seconds / 3_600:,.1f} h"


def _with_interval(share: LiveShare) -> str:
    if math.isnan(share.value):
        return "-"
    return f"{percent(share.value)} ({percent(share.interval.lo)} to {percent(share.interval.hi)})"
