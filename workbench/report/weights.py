"""The contribution of each grader of a report: to the combined score, to its verdicts, and to the cost."""

from __future__ import annotations

from math import nan
from typing import Any

import numpy as np
import pandas as pd

from workbench.analysis.diagnostics import SuiteCase
from workbench.analysis.diagnostics.registry import threshold_on_scale
from workbench.analysis.statistics import Interval
from workbench.analysis.statistics.variance_shares import variance_share
from workbench.core.safe_frame import SafeFrame
from workbench.report.protocols import ReportLike

__all__ = ["suite_case", "weights_frame"]

_MIN_PROMPTS = 10  # with fewer an interval would not be valid


def suite_case(report: ReportLike) -> SuiteCase:
    """A report's graders with their suite; computed once and stored in the report."""
    case: SuiteCase | None = report.__dict__.get("_suite_case")
    if case is None:
        mark = threshold_on_scale(report.pass_threshold, report.scale)
        case = SuiteCase(report.grades, report.prompt_codes, report.suite, mark, report.scale)
        report.__dict__["_suite_case"] = case
    return case


def weights_frame(report: ReportLike) -> pd.DataFrame:
    """One row for each grader; see `Report.weights`."""
    case = suite_case(report)
    names = [entry.name for entry in case.entries] if case.rule is not None else case.single_graders
    prices = {name: _prices(case, name) for name in ("cost", "seconds")}
    lines = [_line(case, name) | {key: prices[part][name] for key, part in _PRICES.items()} for name in names]
    index = pd.Index(names, name="grader", dtype=object)
    return SafeFrame(lines, index=index, columns=[*_EMPTY, *_PRICES])


_EMPTY: dict[str, Any] = {"nominal": nan, "effective": nan, "lo": nan, "hi": nan, "decides": None, "of": None}
_PRICES = {"cost_share": "cost", "seconds_share": "seconds"}


def _line(case: SuiteCase, name: str) -> dict[str, Any]:
    if case.rule is None or case.parts is None:
        return dict(_EMPTY)
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
