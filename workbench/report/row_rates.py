"""Time and cost of grading one more row, estimated from the rows of a report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.grades import Grades

__all__ = ["asked_rows", "mean_seconds", "row_cost", "row_seconds"]


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
