"""The columns of a report as the input of diagnostics, and its noise, weights and costs as tables and sentences."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.case import Case
from workbench.analysis.diagnostics import threshold_on_scale
from workbench.analysis.diagnostics.noise import Repeats, repeats_of
from workbench.analysis.finding import percent
from workbench.analysis.labels import read_labels
from workbench.analysis.statistics import Interval, compact
from workbench.analysis.statistics.agreement import kappa
from workbench.analysis.statistics.group_scores import AnswerSets
from workbench.analysis.statistics.noise import noise_floor
from workbench.analysis.statistics.resampling import variance_share
from workbench.analysis.suite_case import SuiteCase
from workbench.core.display_text import one_line
from workbench.core.errors import ReportError
from workbench.core.grades import SCORED, Grades
from workbench.core.safe_frame import SafeFrame
from workbench.report.selection import check_graders, edges_of, within
from workbench.report.settings import ReportLike, label_column

_MIN_PROMPTS = 10  # with fewer an interval would not be valid
_WEIGHT_TOLERANCE = 1e-9  # share of the largest weight: smaller differences are rounding errors


def label_codes(report: ReportLike, labels: Any = None) -> NDArray[np.int8]:
    """Labels of a report's rows as 1 good, 0 bad, -1 unknown, (n,); its own are read once and stored in the report.

    Args:
        report: The report.
        labels: Labels to use instead of the report's, in any form that `Report` takes; None for the report's.

    Raises:
        ReportError: Labels that cannot be read.
    """
    if labels is not None:
        return read_labels(label_column(report.samples, labels), len(report))
    return report.analysis.once("label codes", lambda: read_labels(report.labels, len(report)))


def labelled_case(report: ReportLike, grader: str, groups: NDArray[np.intp], labels: Any = None) -> Case:
    """One grader's grades with prompts, labels and pass threshold.

    Args:
        report: The report.
        grader: Name of a grader of the report.
        groups: Prompt of each row as an integer code, (n,).
        labels: As in `label_codes`.

    Raises:
        ReportError: Labels that cannot be read.
    """
    codes = label_codes(report, labels)
    mark = threshold_on_scale(report.pass_threshold, report.scale)
    return Case(grader, report.grades[grader], groups, codes, mark, report.scale)


def kappa_cells(
    verdicts: NDArray[Any], labels: NDArray[np.int8], prompts: NDArray[np.intp]
) -> dict[str, Any]:
    """Agreement of verdicts with labels as cells of a table: `labels` (their number), `kappa`, `kappa_lo`, `kappa_hi`.

    Args:
        verdicts: 1 or True for a pass, (n,).
        labels: 1 good, 0 bad, -1 unknown, (n,); rows without a label do not count.
        prompts: Prompt of each row as an integer code, (n,). With fewer than 10 prompts the interval is NaN.
    """
    known = labels >= 0
    groups = compact(prompts[known])
    found = kappa(verdicts[known].astype(np.intp), labels[known].astype(np.intp), groups)
    is_wide_enough = len(groups) and groups.max() + 1 >= _MIN_PROMPTS
    low, high = found.interval() if is_wide_enough else Interval(nan, nan)
    return {"labels": int(known.sum()), "kappa": found.value, "kappa_lo": low, "kappa_hi": high}


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


def spending_line(grades: Mapping[str, Grades]) -> str:
    """Cost, tokens, and free replies from the store; "" if no model was called.

    Rows of unknown cost are counted separately, never as free.
    """
    tokens = sum(int(np.nansum(columns.tokens)) for columns in grades.values())
    dollars = sum(float(np.nansum(columns.cost)) for columns in grades.values())
    counted = sum(int((~np.isnan(columns.tokens)).sum()) for columns in grades.values())
    unpriced = sum(
        int((~np.isnan(columns.tokens) & np.isnan(columns.cost)).sum()) for columns in grades.values()
    )
    reused = sum(
        bool(metadata.get("cached")) for columns in grades.values() for metadata in columns.metadata.values()
    )
    uncounted = sum(_uncounted(columns) for columns in grades.values())
    if not counted and not uncounted:
        return ""
    priced = f"cost: {money(dollars)}" if unpriced < counted else "cost: unknown"
    parts = [f"{priced} for {tokens:,} tokens"]
    if unpriced:
        parts.append(f"no price known for {unpriced:,} of {counted:,} rows: see wb.judges.PRICES")
    if uncounted:
        parts.append(
            f"the server does not report the tokens of {uncounted:,} {'row' if uncounted == 1 else 'rows'}"
        )
    if reused:
        parts.append(f"{reused:,} rows from the store, not paid again")
    return "; ".join(parts)


def _uncounted(grades: Grades) -> int:
    """Number of rows with a model's reply (`raw` in their metadata) without token counts."""
    return sum(
        "raw" in metadata and bool(np.isnan(grades.tokens[row])) for row, metadata in grades.metadata.items()
    )


def money(dollars: float) -> str:
    """US dollars; small amounts with more decimals: "$12.30", "$0.0123".

    Example:
        >>> money(0.00012), money(1.5), money(0.0)
        ('$0.00012', '$1.50', '$0.00')
    """
    if not dollars or dollars >= 1:
        return f"${dollars:,.2f}"
    return f"${dollars:.4f}" if dollars >= 0.001 else f"${dollars:.2g}"


def row_seconds(columns: Iterable[Grades]) -> float:
    """Mean seconds per row, all graders one after another; NaN if the time of one is unknown."""
    return sum(mean_seconds(grades) for grades in columns)


def mean_seconds(grades: Grades) -> float:
    """Mean seconds per row; NaN if no time is known. Rows with a reply from the store are ignored."""
    known = grades.seconds[~np.isnan(grades.seconds) & ~_stored_rows(grades)]
    return float(known.mean()) if len(known) else math.nan


def row_cost(columns: Iterable[Grades]) -> float:
    """Mean US dollars per row, all graders together; 0.0 if no model was called, NaN if a price is unknown.

    A reply from the store cost nothing this time, but a new row needs a request: it counts at the price of the others.
    """
    return sum(_mean_cost(grades) for grades in columns)


def _mean_cost(grades: Grades) -> float:
    is_paid, is_asked = ~np.isnan(grades.tokens), asked_rows(grades)
    if not is_asked.any():
        return 0.0
    # NaN if no row was paid for, or one of them has no price.
    return float(grades.cost[is_paid].mean() * is_asked.mean()) if is_paid.any() else math.nan


def asked_rows(grades: Grades) -> NDArray[np.bool_]:
    """Rows (n,) with a model's reply, paid or from the store."""
    is_asked = ~np.isnan(grades.tokens)
    is_asked[[row for row, metadata in grades.metadata.items() if _has_reply(metadata)]] = True
    return is_asked


def _stored_rows(grades: Grades) -> NDArray[np.bool_]:
    """Rows (n,) with a reply from the store."""
    is_stored = np.zeros(len(grades), np.bool_)
    is_stored[[row for row, metadata in grades.metadata.items() if metadata.get("cached")]] = True
    return is_stored


def _has_reply(metadata: Mapping[str, Any]) -> bool:
    """Whether a grade is based on a model's reply: its text is stored, or it came from the store."""
    return "raw" in metadata or bool(metadata.get("cached"))
