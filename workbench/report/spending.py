"""The cost of a run's judges, and the time of its graders, per row and in one line."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.grades import Grades


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
