"""The cost of a run's judges, in one line."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from workbench.core.grades import Grades

__all__ = ["money", "spending_line"]


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
