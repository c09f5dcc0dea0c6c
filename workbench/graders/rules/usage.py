"""A row's latency, cost and tokens against limits. Standard library only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from workbench.graders.rules.text import Verdict

_NAMES: dict[str, tuple[tuple[str, float], ...]] = {
    "latency": (("latency", 1.0), ("latency_s", 1.0), ("seconds", 1.0), ("duration", 1.0), ("latency_ms", 0.001), ("duration_ms", 0.001)),
    "cost": (("cost", 1.0), ("cost_usd", 1.0), ("total_cost", 1.0), ("price", 1.0)),
    "tokens": (("tokens", 1.0), ("total_tokens", 1.0), ("completion_tokens", 1.0), ("output_tokens", 1.0)),
}  # fmt: skip
"""Columns of each measure, and the factor to seconds, dollars and tokens."""


def measured_value(columns: Any, measure: str, column: str) -> float:
    """A row's latency in seconds, its cost or its tokens.

    Raises:
        ValueError: The row has no such column, or it is not a number from 0 on.
    """
    columns = columns if isinstance(columns, Mapping) else {}
    usage = columns.get("usage")
    places = [columns, usage] if isinstance(usage, Mapping) else [columns]
    names = ((column, 0.001 if column.endswith("_ms") else 1.0),) if column else _NAMES[measure]
    for name, factor in names:
        for place in places:
            if place.get(name) is None:
                continue
            value = place[name]
            try:
                number = math.nan if isinstance(value, bool) else float(value)
            except (TypeError, ValueError):
                number = math.nan
            if not math.isfinite(number) or number < 0:
                raise ValueError(f"the column {name!r} is not a number from 0 on: {value!r}"[:200])
            return number * factor
    raise ValueError(f"this row has no {measure}: no column {' or '.join(repr(name) for name, _ in names)}")


def usage_within(columns: Any, *, limits: Mapping[str, float], names: Mapping[str, str]) -> Verdict:
    """Whether each measure of a row is at most its limit.

    Raises:
        ValueError: The row lacks a measure.
    """
    values = {measure: measured_value(columns, measure, names.get(measure, "")) for measure in limits}
    above = [
        f"{measure} {value:g}, limit {limits[measure]:g}"
        for measure, value in values.items()
        if value > limits[measure]
    ]
    within = ", ".join(f"{measure} {value:g}" for measure, value in values.items())
    return float(not above), "; ".join(above) or within, dict(values)
