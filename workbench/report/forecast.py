"""`forecast`: how informative groups of completions of a report's prompts would be for reinforcement learning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.statistics import compact
from workbench.analysis.statistics.answer_sets import AnswerSets
from workbench.analysis.statistics.live_groups import LiveGroups
from workbench.core.display_text import counted
from workbench.core.errors import ReportError
from workbench.core.grades import SCORED
from workbench.core.safe_frame import SafeFrame
from workbench.report.forecast_result import Forecast, Selection
from workbench.report.prompt_spread import prompt_spread
from workbench.report.protocols import ReportLike
from workbench.report.report import Report
from workbench.report.row_rates import row_cost, row_seconds
from workbench.report.select import check_graders

__all__ = ["GROUP_SIZES", "can_forecast", "forecast"]

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
    groups = LiveGroups(answers)
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
            "prompts, or a column named group: wb.Samples(frame, group='prompt_id')",
        )


def _best_size(groups: LiveGroups) -> int:
    """The smallest size at which doubling the group raises the mean sd by less than a tenth; the largest if none does."""
    gains = (groups.sd(2 * size) >= (1 + _GAIN) * groups.sd(size) for size in GROUP_SIZES)
    return next((size for size, gain in zip(GROUP_SIZES, gains, strict=True) if not gain), GROUP_SIZES[-1])


def _columns(report: Report, name: str) -> Sequence[Any]:
    """The grades that are computed to get this grader's score: those of all entries for a combined one."""
    suite = report.suite
    if suite is not None and name == suite.column and set(suite.names) <= set(report.grades):
        return [report.grades[entry] for entry in suite.names]
    return [report.grades[name]]


def _table(groups: LiveGroups, sizes: Sequence[int], prompts: int, columns: Sequence[Any]) -> pd.DataFrame:
    shares = [groups.live(size) for size in sizes]
    rollouts = np.array(sizes) * prompts
    most = groups.answers.most_counted
    return SafeFrame(
        {
            "live": [share.value for share in shares],
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


def _prompts(groups: LiveGroups, size: int, names: pd.Index[Any], least: float) -> pd.DataFrame:
    chances = groups.chances(size)
    frame = SafeFrame(
        {
            "answers": groups.answers.sizes,
            "mean": groups.answers.means,
            "sd": groups.answers.sds,
            "live": chances,
            "train": chances >= least,
        },
        index=names,
    )
    return frame.sort_values("live", ascending=False, kind="stable")


def _selection(groups: LiveGroups, size: int, least: float) -> Selection:
    chances = groups.chances(size)
    chosen = chances >= least
    return Selection(
        size,
        prompts=len(chosen),
        chosen=int(chosen.sum()),
        live=groups.live_among(size, chosen),
        left_out=groups.live_among(size, ~chosen),
    )
