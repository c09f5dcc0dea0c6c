"""What a run's judges took, in one line."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from workbench.grades import Grades

__all__ = ["money", "spending_line"]


def spending_line(grades: Mapping[str, Grades]) -> str:
    """Cost, tokens, and answers that cost nothing since they were in the store; "" where no model was asked.

    Rows whose cost nobody knows are counted and said, never taken for free.
    """
    tokens = sum(int(np.nansum(one.tokens)) for one in grades.values())
    known = sum(float(np.nansum(one.cost)) for one in grades.values())
    counted = sum(int((~np.isnan(one.tokens)).sum()) for one in grades.values())
    unpriced = sum(int((~np.isnan(one.tokens) & np.isnan(one.cost)).sum()) for one in grades.values())
    kept = sum(bool(told.get("kept")) for one in grades.values() for told in one.metadata.values())
    uncounted = sum(_uncounted(one) for one in grades.values())
    if not counted and not uncounted:
        return ""
    priced = f"cost: {money(known)}" if unpriced < counted else "cost: unknown"
    parts = [f"{priced} for {tokens:,} tokens"]
    if unpriced:
        parts.append(f"no price known for {unpriced:,} of {counted:,} rows: see wb.judges.PRICES")
    if uncounted:
        parts.append(f"the server does not say what {uncounted:,} rows took")
    if kept:
        parts.append(f"{kept:,} rows out of the store, not paid again")
    return "; ".join(parts)


def _uncounted(grades: Grades) -> int:
    """Rows that a model answered without a word on tokens; its answer stands in their metadata."""
    return sum("raw" in told and bool(np.isnan(grades.tokens[row])) for row, told in grades.metadata.items())


def money(dollars: float) -> str:
    """US dollars with four digits that matter: "$0.0123", "$12.30".

    Example:
        >>> money(0.00012), money(1.5), money(0.0)
        ('$0.00012', '$1.50', '$0.00')
    """
    if not dollars or dollars >= 1:
        return f"${dollars:,.2f}"
    return f"${dollars:.4f}" if dollars >= 0.001 else f"${dollars:.2g}"
