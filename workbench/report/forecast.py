"""`Forecast`: how informative groups of completions of a report's prompts would be for reinforcement learning."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.finding import percent, percent_with_interval
from workbench.analysis.statistics import Interval, compact
from workbench.analysis.statistics.group_scores import AnswerSets, InformativeGroups, InformativeShare
from workbench.core.discovery import higher_level
from workbench.core.display import DisplayBlock, Displayed, Paragraph, TableBlock
from workbench.core.display_text import counted, one_line
from workbench.core.errors import ReportError
from workbench.core.grades import SCORED
from workbench.core.safe_frame import SafeFrame
from workbench.report import Report
from workbench.report.cases import money, prompt_spread, row_cost, row_seconds
from workbench.report.selection import check_graders
from workbench.report.settings import ReportLike

_HEADS = ("G", "informative", "95 % interval", "basis", "mean sd", "rollouts", "grading", "cost")


class Line(NamedTuple):
    """One row of a forecast's table; see `Forecast.table`."""

    size: int
    informative: InformativeShare
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
        informative: Share of informative groups among those of the chosen prompts; NaN if none is chosen.
        left_out: Share of informative groups among those of the others, which omitting them loses; NaN if there is none.
    """

    group_size: int
    prompts: int
    chosen: int
    informative: InformativeShare
    left_out: InformativeShare

    @property
    def saved(self) -> float:
        """Share of the rollouts that omitting the others saves, 0 to 1."""
        return 1 - self.chosen / self.prompts

    def __str__(self) -> str:
        """Which prompts, how many of their groups are informative, and the savings."""
        if self.chosen == self.prompts:
            return f"Train on all {counted(self.prompts, 'prompt')}: each is informative with the required probability."
        others = self.prompts - self.chosen
        saved = (
            f"omitting the other {others:,} saves {percent(self.saved)} of the rollouts; "
            f"{_with_interval(self.left_out)} of the omitted groups would have been informative."
        )
        if not self.chosen:
            return f"No prompt is informative with the required probability at {self.group_size} completions: {_with_interval(self.left_out)} of the groups would be informative."
        return (
            f"Train on {self.chosen:,} of {self.prompts:,} prompts: {_with_interval(self.informative)} of their "
            f"groups are informative; {saved}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Forecast(Displayed):
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

    _label = "Forecast"

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
            Line(
                int(size),
                InformativeShare(informative, Interval(lo, hi)),
                str(basis),
                sd,
                int(rollouts),
                seconds,
                cost,
            )
            for size, informative, lo, hi, basis, sd, rollouts, seconds, cost in self.table.reset_index().to_numpy()
        ]

    @property
    def sentences(self) -> list[str]:
        """The forecast, one sentence each."""
        (line,) = [line for line in self.lines if line.size == self.group_size]
        prompts = counted(len(self.prompts), "prompt")
        groups = (
            f"at {line.size} completions per prompt {_with_interval(line.informative)} of the groups are informative, forecast from "
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

    def __repr__(self) -> str:
        return (
            f"Forecast({self.grader!r}, {counted(len(self.prompts), 'prompt')}, best group size {self.best})"
        )

    def _blocks(self) -> Iterator[DisplayBlock]:
        first, *others = self.sentences
        yield Paragraph(first, "lead")
        yield from map(Paragraph, others)
        yield TableBlock(_HEADS, self._cells(), numbers=range(len(_HEADS)))

    def _cells(self) -> list[tuple[str, ...]]:
        return [_line_cells(line, is_best=line.size == self.best) for line in self.lines]


def _line_cells(line: Line, *, is_best: bool) -> tuple[str, ...]:
    lo, hi = line.informative.interval
    return (
        f"{line.size}{'*' if is_best else ''}",
        percent(line.informative.value),
        f"{percent(lo)} to {percent(hi)}",
        line.basis,
        line.sd_text,
        f"{line.rollouts:,}",
        "-" if math.isnan(line.seconds) else duration(line.seconds),
        "-" if math.isnan(line.cost) else money(line.cost),
    )


def duration(seconds: float) -> str:
    """A duration as text: "0.3 s", "12 min", "3.5 h".

    Example:
        >>> duration(0.25), duration(750), duration(12_600)
        ('0.25 s', '12 min', '3.5 h')
    """
    if seconds < 120:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7_200 else f"{seconds / 3_600:,.1f} h"


def _with_interval(share: InformativeShare) -> str:
    return percent_with_interval(share.value, *share.interval)


GROUP_SIZES = (4, 8, 12, 16, 24, 32, 48, 64)
"""Completions per group, from the smallest size in use to the largest."""
MIN_PROMPTS = 10
"""Minimum prompts with at least two scored completions: with fewer an interval would be nearly 0 to 100 %."""
_MAX_GROUP_SIZE = 1_024  # completions in a group: more than any trainer draws
_GAIN = 0.1
"""Minimum relative increase of the mean sd that justifies doubling the group; this project's limit."""


def forecast(
    report: Report,
    grader: str | None = None,
    *,
    group_size: int | None = None,
    prompts: int | None = None,
    least_chance: float = 0.5,
) -> Forecast:
    """Forecast how many groups of completions would be informative in RL, at 4 to 64 completions per prompt.

    A group is informative if its completions do not all get one score; a zero-variance group has no advantage to learn from
    (DAPO, arXiv 2503.14476). The forecast needs the scores of several completions, such as 4, of each of some prompts, such
    as 200. Up to that many completions it counts; beyond, it models the differences between prompts, and its interval covers
    all models that these completions do not reject.

    Args:
        report: Scores of several completions of each prompt.
        grader: Whose scores are the reward. May be omitted if the report has one grader, or its suite has a combined score.
        group_size: Completions in a group, 2 to 1,024, for `prompts` and `selection`; by default the best of those in the table.
        prompts: Prompts of the whole frame, for rollouts, time and money; those of the report by default.
        least_chance: Prompts whose next group is informative with at least this probability are worth training on, 0 to 1.

    Raises:
        ReportError: Fewer than 10 prompts have two scored completions, the grader is unknown or has to be named, or a
            number is outside its range.
    """
    _check("group_size", group_size, 2, _MAX_GROUP_SIZE)
    _check("prompts", prompts, 1, 10**12)
    if isinstance(least_chance, bool | str) or not 0 <= least_chance <= 1:
        raise ReportError("least_chance must be between 0 and 1", found=repr(least_chance))
    name = _grader(report, grader)
    prompt_names = np.asarray(
        report.groups, dtype=object
    )  # once: a report reads them from its samples each time
    codes = report.prompt_codes
    rows = np.flatnonzero(report.grades[name].codes == SCORED)
    answers = AnswerSets(report.grades[name].scores[rows], compact(codes[rows]))
    _require_answers(answers, name)
    groups = InformativeGroups(answers)
    sizes = sorted({*GROUP_SIZES, *([group_size] if group_size else [])})
    frame_prompts = prompts or int(codes.max()) + 1
    best = _best_size(groups)
    size = group_size or best
    return Forecast(
        grader=name,
        table=_table(groups, sizes, frame_prompts, _columns(report, name)),
        best=best,
        group_size=size,
        prompts=_prompts(groups, size, _names(prompt_names[rows], codes[rows]), least_chance),
        selection=_selection(groups, size, least_chance),
        answers=answers.most_counted,
    )


def can_forecast(report: ReportLike, grader: str) -> bool:
    """Whether enough prompts have several completions with a score of this grader."""
    return len(prompt_spread(report, grader).means) >= MIN_PROMPTS


def _check(name: str, value: Any, least: int, most: int) -> None:
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if value is not None and not (is_whole and least <= value <= most):
        raise ReportError(
            f"{name} must be a whole number from {least:,} to {most:,}", found=f"{name}={value!r:.80}"
        )


def _grader(report: Report, grader: str | None) -> str:
    if grader is not None:
        check_graders([grader], report.graders)
        return grader
    combined = "" if report.suite is None else report.suite.column
    if len(report.graders) == 1 or combined in report.graders:
        return combined or report.graders[0]
    raise ReportError(
        "a forecast is for one reward, and the report has several graders",
        expected=" or ".join(map(repr, report.graders)) or "a report with a grader",
        hint="name it: wb.forecast(report, 'name'), or give the suite a rule: wb.Suite(..., combine=wb.combine.Mean())",
    )


def _require_answers(answers: AnswerSets, name: str) -> None:
    several = int(answers.several.sum())
    if several < MIN_PROMPTS:
        raise ReportError(
            "a forecast needs several completions of each of several prompts",
            where=f"grader {name!r}",
            found=f"{counted(several, 'prompt')} with at least two scored completions, of {len(answers.sizes):,}",
            expected=f"at least {MIN_PROMPTS}",
            hint="draw 4 to 8 completions of each of about 100 prompts and grade them; rows of one prompt need equal "
            "prompts, or a column named group: wb.read_samples(frame, columns={'group': 'prompt_id'})",
        )


def _best_size(groups: InformativeGroups) -> int:
    """The smallest size at which doubling the group raises the mean sd by less than a tenth; the largest if none does."""
    gains = (groups.sd(2 * size) >= (1 + _GAIN) * groups.sd(size) for size in GROUP_SIZES)
    return next((size for size, gain in zip(GROUP_SIZES, gains, strict=True) if not gain), GROUP_SIZES[-1])


def _columns(report: Report, name: str) -> Sequence[Any]:
    """The grades that are computed to get this grader's score: those of all entries for a combined one."""
    suite = report.suite
    if suite is not None and name == suite.column and set(suite.names) <= set(report.grades):
        return [report.grades[entry] for entry in suite.names]
    return [report.grades[name]]


def _table(
    groups: InformativeGroups, sizes: Sequence[int], prompts: int, columns: Sequence[Any]
) -> pd.DataFrame:
    shares = [groups.informative(size) for size in sizes]
    rollouts = np.array(sizes) * prompts
    most = groups.answers.most_counted
    return SafeFrame(
        {
            "informative": [share.value for share in shares],
            "lo": [share.interval.lo for share in shares],
            "hi": [share.interval.hi for share in shares],
            "basis": ["counted" if size <= most else "modelled" for size in sizes],
            "sd": [groups.sd(size) for size in sizes],
            "rollouts": rollouts,
            "seconds": rollouts * row_seconds(columns),
            "cost": rollouts * row_cost(columns),
        },
        index=pd.Index(sizes, name="group_size"),
    )


def _names(names: NDArray[Any], codes: NDArray[np.intp]) -> pd.Index[Any]:
    """The name of each prompt, in the order of their codes."""
    first = np.unique(codes, return_index=True)[1]
    index: pd.Index[Any] = pd.Index(names[first].tolist(), dtype=object, name="prompt")
    return index


def _prompts(groups: InformativeGroups, size: int, names: pd.Index[Any], least: float) -> pd.DataFrame:
    chances = groups.chances(size)
    frame = SafeFrame(
        {
            "answers": groups.answers.sizes,
            "mean": groups.answers.means,
            "sd": groups.answers.sds,
            "informative": chances,
            "train": chances >= least,
        },
        index=names,
    )
    return frame.sort_values("informative", ascending=False, kind="stable")


def _selection(groups: InformativeGroups, size: int, least: float) -> Selection:
    chances = groups.chances(size)
    chosen = chances >= least
    return Selection(
        size,
        prompts=len(chosen),
        chosen=int(chosen.sum()),
        informative=groups.informative_among(size, chosen),
        left_out=groups.informative_among(size, ~chosen),
    )
