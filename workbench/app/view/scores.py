"""The distribution of a grader's scores: good and bad rows separately, with counts of unscored rows."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.diagnostics import Case
from workbench.core.display_text import counted
from workbench.report.bins import edges_of
from workbench.report.counts import PARTS, counts_of

__all__ = ["scores_data"]

MAX_VALUES = 5
"""Maximum number of distinct scores with a separate bar each."""

LOG_FROM = 50
"""Ratio of the largest to the smallest bin from which the axis is logarithmic."""


def scores_data(case: Case, parts: NDArray[np.int8], n_prompts: int) -> dict[str, Any]:
    """A grader's scores as `Scores`.

    Args:
        case: Its grades with labels and pass threshold.
        parts: The part of each row, as `counts.parts_of` gives it, (n,).
        n_prompts: Number of distinct prompts of the rows.
    """
    scores = case.grades.scores[case.rows]
    values = np.unique(scores)
    few = len(values) <= MAX_VALUES
    bins = [] if few else _bins(case, parts)
    own_verdict = bool((case.grades.passed[case.rows] >= 0).any())
    failed = parts == PARTS.index("failed")
    return {
        "kind": "values" if few else "bins",
        "note": f"{counted(len(parts), 'row')} of {counted(n_prompts, 'prompt')}",
        "values": [_value(case, parts, value) for value in values[::-1]] if few else [],
        "bins": bins,
        "log": _needs_log([sum(each["counts"].values()) for each in bins]),
        "has_labels": bool((case.labels >= 0).any()),
        "pass_threshold": None if own_verdict else float(case.pass_threshold),
        "scale": [float(end) for end in case.scale],
        "failed": int(failed.sum()),
        "skipped": int((parts == PARTS.index("skipped")).sum()),
        "failed_good": int((failed & (case.labels == 1)).sum()),
        "failed_bad": int((failed & (case.labels == 0)).sum()),
    }


def _value(case: Case, parts: NDArray[np.int8], value: float) -> dict[str, Any]:
    rows = case.rows[case.grades.scores[case.rows] == value]
    return {"value": float(value), "counts": counts_of(parts, rows)}


def _bins(case: Case, parts: NDArray[np.int8]) -> list[dict[str, Any]]:
    """Twenty equal bins over 0 to 1, wider if scores are outside: as in every other figure of the report."""
    scores = case.grades.scores[case.rows]
    edges = edges_of(scores)
    # As in `bins.within`: a bar counts exactly the rows that a click on it shows.
    slack = 1e-9 * (edges[-1] / 2 - edges[0] / 2)
    places = np.clip(np.searchsorted(edges[1:-1] / 2 - slack, scores / 2, side="right"), 0, len(edges) - 2)
    return [
        {"lo": float(lo), "hi": float(hi), "counts": counts_of(parts, case.rows[places == place])}
        for place, (lo, hi) in enumerate(pairwise(edges.tolist()))
    ]


def _needs_log(counts: list[int]) -> bool:
    filled = [count for count in counts if count]
    return bool(filled) and max(filled) > LOG_FROM * min(filled)
