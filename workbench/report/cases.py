"""The columns of a report as the input of diagnostics, and tables of its noise and weights."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.diagnostics import Case, SuiteCase
from workbench.analysis.diagnostics.families.noise import Repeats, repeats_of
from workbench.analysis.diagnostics.finding import percent
from workbench.analysis.diagnostics.labels import read_labels
from workbench.analysis.diagnostics.registry import threshold_on_scale
from workbench.analysis.statistics import Interval, compact
from workbench.analysis.statistics.group_scores import AnswerSets
from workbench.analysis.statistics.noise import noise_floor
from workbench.analysis.statistics.resampling import variance_share
from workbench.core.display_text import one_line
from workbench.core.errors import ReportError
from workbench.core.grades import SCORED
from workbench.core.safe_frame import SafeFrame
from workbench.report.bins import edges_of, within
from workbench.report.select import check_graders
from workbench.report.settings import ReportLike, label_column

_WEIGHT_TOLERANCE = 1e-9  # share of the largest weight: smaller differences are rounding errors


def label_codes(report: ReportLike) -> NDArray[np.int8]:
    """A report's labels as 1 good, 0 bad, -1 unknown, (n,); computed once and stored in the report.

    Raises:
        ReportError: Labels that cannot be read.
    """
    return report.analysis.once("label codes", lambda: read_labels(report.labels, len(report)))


def labelled_case(report: ReportLike, grader: str, groups: NDArray[np.intp], labels: Any = None) -> Case:
    """One grader's grades with prompts, labels and pass threshold.

    Args:
        report: The report.
        grader: Name of a grader of the report.
        groups: Prompt of each row as an integer code, (n,).
        labels: Labels to use instead of the report's, in any form that `Report` takes; None for the report's.

    Raises:
        ReportError: Labels that cannot be read.
    """
    codes = (
        label_codes(report)
        if labels is None
        else read_labels(label_column(report.samples, labels), len(report))
    )
    mark = threshold_on_scale(report.pass_threshold, report.scale)
    return Case(grader, report.grades[grader], groups, codes, mark, report.scale)


def read_weights(weights: Any, rows: NDArray[np.intp], n: int) -> NDArray[np.float64] | None:
    """How many rows each labelled row represents, (m,); None if all have equal weight.

    Args:
        weights: As in `Report.agreement`: one entry per row of the report, or None.
        rows: Numbers of the rows with a label and a verdict, (m,).
        n: Rows of the report.

    Raises:
        ReportError: Not one entry for each row, or the entry of a labelled row is not a number above 0.
    """
    if weights is None:
        return None
    try:
        column = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ReportError("weights must be numbers", found=str(error)[:120]) from None
    if column.shape != (n,):
        entries = f"{column.size:,} entries"
        raise ReportError("weights must have one entry per row", found=entries, expected=f"{n:,}")
    row_weights = column[rows]
    is_wrong = ~(np.isfinite(row_weights) & (row_weights > 0))
    if is_wrong.any():
        raise ReportError(
            "a labelled row has no weight",
            where=f"row {rows[is_wrong][0]}",
            found=str(row_weights[is_wrong][0]),
            expected="the number of rows it represents, above 0",
        )
    are_unequal = len(row_weights) and np.ptp(row_weights) > _WEIGHT_TOLERANCE * row_weights.max()
    return row_weights if are_unequal else None


_NOISE_COLUMNS = (
    "repeats", "rows", "flips", "flip_share", "flip_lo", "flip_hi", "icc", "icc_lo", "icc_hi", "sd_within", "floor",
)  # fmt: skip


def noise_frame(report: ReportLike) -> pd.DataFrame:
    """One row for each grader with repeats; see `Report.noise`."""
    repeated = [name for name, grades in report.grades.items() if grades.repeats]
    found = {name: repeats_of(labelled_case(report, name, report.prompt_codes)) for name in repeated}
    lines = {
        name: _noise_line(repeats, report.scale) for name, repeats in found.items() if repeats is not None
    }
    index = pd.Index(list(lines), dtype=object, name="grader")
    return SafeFrame(list(lines.values()), columns=list(_NOISE_COLUMNS), index=index)


def _noise_line(repeats: Repeats, scale: tuple[float, float]) -> dict[str, Any]:
    flips, icc = repeats.flip_share, repeats.reliability
    span, n = min(scale[1] - scale[0], sys.float_info.max), len(repeats.rows)
    flip_ends, icc_ends = flips.interval(), icc.interval()
    floor = noise_floor(repeats.grade_sd, repeats.grade_sd, n) * span
    values = (
        repeats.scores.shape[1], n, flips.k, flips.value, *flip_ends, icc.value, *icc_ends,
        repeats.within_sd * span, floor,
    )  # fmt: skip
    return dict(zip(_NOISE_COLUMNS, values, strict=True))


def noise_lines(noise: pd.DataFrame) -> Iterator[str]:
    """A sentence for each row of `Report.noise`."""
    for name, line in noise.iterrows():
        reliability = "" if line["icc"] != line["icc"] else (  # NaN is not itself: scores that do not vary have none
            f", ICC {line['icc']:.2f} ({line['icc_lo']:.2f} to {line['icc_hi']:.2f})"
        )  # fmt: skip
        yield (
            f"noise: {one_line(str(name))} graded {line['rows']:,.0f} rows {line['repeats']:.0f} times; {line['flips']:,.0f} got "
            f"different verdicts, {percent(line['flip_share'])} (95 % interval {percent(line['flip_lo'])} to "
            f"{percent(line['flip_hi'])}){reliability}; noise alone moves its mean by up to {line['floor']:.2g}"
        )


_MIN_PROMPTS = 10  # with fewer an interval would not be valid


def suite_case(report: ReportLike) -> SuiteCase:
    """A report's graders with their suite; computed once and stored in the report."""

    def compute() -> SuiteCase:
        mark = threshold_on_scale(report.pass_threshold, report.scale)
        return SuiteCase(report.grades, report.prompt_codes, report.suite, mark, report.scale)

    return report.analysis.once("suite case", compute)


def weights_frame(report: ReportLike) -> pd.DataFrame:
    """One row for each grader; see `Report.weights`."""
    case = suite_case(report)
    names = [entry.name for entry in case.entries] if case.rule is not None else case.single_graders
    prices = {name: _prices(case, name) for name in ("cost", "seconds")}
    lines = [
        _weights_line(case, name) | {key: prices[part][name] for key, part in _PRICES.items()}
        for name in names
    ]
    index = pd.Index(names, name="grader", dtype=object)
    return SafeFrame(lines, index=index, columns=[*_NO_WEIGHT, *_PRICES])


_NO_WEIGHT: dict[str, Any] = {
    "nominal": nan,
    "effective": nan,
    "lo": nan,
    "hi": nan,
    "decides": None,
    "of": None,
}
_PRICES = {"cost_share": "cost", "seconds_share": "seconds"}


def _weights_line(case: SuiteCase, name: str) -> dict[str, Any]:
    if case.rule is None or case.parts is None:
        return dict(_NO_WEIGHT)
    at = case.parts.names.index(name)
    lo, hi = _interval(case, at)
    return {
        "nominal": case.parts.weights[at],
        "effective": case.variance_shares[at],
        "lo": lo,
        "hi": hi,
        "decides": int(case.decides(name).sum()),
        "of": len(case.rows),
    }


def _interval(case: SuiteCase, at: int) -> Interval:
    if np.isnan(case.variance_shares[at]) or len(np.unique(case.prompts)) < _MIN_PROMPTS:
        return Interval(nan, nan)
    total = case.contributions.sum(1)
    return variance_share(case.contributions[:, at], total, case.prompts).interval()


def _prices(case: SuiteCase, column: str) -> dict[str, float]:
    """Each single grader's share of the total, NaN if unknown."""
    totals = {name: float(np.nansum(getattr(case.grades[name], column))) for name in case.single_graders}
    whole = sum(totals.values())
    return {name: total / whole if whole > 0 else nan for name, total in totals.items()}


SPREADS = ("zero_variance", "narrow", "wide")
"""All completions have one score; their sd is below a tenth of the scale; it is larger."""
_NARROW = 0.1
"""Share of the histogram's span from which the diagnostic *no-variance* applies (Razin 2025, arXiv 2503.15477)."""


@dataclass(frozen=True, eq=False)
class PromptSpread:
    """One grader's prompts with at least two scored completions, p of them.

    Attributes:
        rows: Numbers of their scored rows, (m,).
        prompts: Prompt of each of these rows, from 0, (m,).
        means: Mean score of each prompt, (p,).
        spreads: 0 zero-variance, 1 narrow, 2 wide, as in `SPREADS`, (p,).
        edges: Ends of 20 bins of the means.
    """

    rows: NDArray[np.intp]
    prompts: NDArray[np.intp]
    means: NDArray[np.float64]
    spreads: NDArray[np.intp]
    edges: NDArray[np.float64]

    def chosen(self, low: float, high: float, spread: str) -> NDArray[np.bool_]:
        """Which prompts have a mean in a bin and this spread, (p,).

        Raises:
            ValueError: Unknown spread.
        """
        chosen: NDArray[np.bool_] = within(self.means, low, high) & (self.spreads == SPREADS.index(spread))
        return chosen


def prompt_spread(report: ReportLike, grader: str) -> PromptSpread:
    """The prompts of one grader; computed once and stored in the report.

    Raises:
        ReportError: Unknown grader.
    """
    check_graders([grader], report.grades)
    return report.analysis.once("prompt spread", lambda: _prompt_spread(report, grader), of=grader)


def _prompt_spread(report: ReportLike, grader: str) -> PromptSpread:
    grades = report.grades[grader]
    rows = np.flatnonzero(grades.codes == SCORED)
    codes = report.prompt_codes[rows]
    several = np.bincount(codes, minlength=1)[codes] >= 2 if len(codes) else np.zeros(0, bool)
    rows, prompts = rows[several], compact(codes[several])
    answers, ends = AnswerSets(grades.scores[rows], prompts), edges_of(grades.scores[rows])
    # Halved: the span of two finite scores may be infinite.
    is_narrow = answers.sds / 2 < _NARROW * (ends[-1] / 2 - ends[0] / 2)
    spreads = np.where(answers.largest == answers.sizes, 0, np.where(is_narrow, 1, 2))
    return PromptSpread(rows, prompts, answers.means, spreads, edges_of(answers.means))
