"""Where the evidence rows of a finding come from: the column that separates them best from the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import chdtrc

from workbench.report.context import WRITER_COLUMNS
from workbench.report.counts import counts_of

__all__ = ["origin_data"]

_MAX_VALUES = 20
_SHOWN = 3
_CERTAIN = 0.01  # significance level, divided by the number of columns tried (Bonferroni)

Rows = NDArray[np.intp]


def origin_data(
    columns: Mapping[str, NDArray[Any]],
    hits: Rows,
    base: Rows,
    parts: NDArray[np.int8],
    where: list[dict[str, Any]],
) -> dict[str, Any] | None:
    """The values of one column among the evidence rows, as `From`; None if no column separates them.

    Args:
        columns: Name to the cells of columns with few values as text, (n,) each, "" for empty.
        hits: Evidence rows of the finding.
        base: Rows that could have been evidence, for example all known-bad rows, some of which are accepted.
        parts: The part of each row, (n,).
        where: The conditions that `hits` meet.
    """
    name = _telling(columns, hits, base)
    if name is None:
        return None
    cells = columns[name]
    counted = [(value, int((cells[hits] == value).sum())) for value in dict.fromkeys(cells[hits].tolist())]
    ranked = sorted((line for line in counted if line[1]), key=lambda line: -line[1])
    writer = name in WRITER_COLUMNS
    return {
        "title": f"Who wrote the {len(hits):,}" if writer else f"Where the {len(hits):,} come from",
        "note": f"column {name}" + (f", first {_SHOWN} of {len(ranked)}" if len(ranked) > _SHOWN else ""),
        "lines": [
            _line(name, value, cells, base, parts, hits=count, where=where)
            for value, count in ranked[:_SHOWN]
        ],
    }


def _line(
    name: str,
    value: str,
    cells: NDArray[Any],
    base: Rows,
    parts: NDArray[np.int8],
    *,
    hits: int,
    where: list[Any],
) -> dict[str, Any]:
    rows = base[cells[base] == value]
    return {
        "text": value.replace("_", " ") or "(empty)",
        "counts": counts_of(parts, rows),
        "hits": hits,
        "of": len(rows),
        "where": [*where, {"column": name, "is": value or None}],
    }


def _telling(columns: Mapping[str, NDArray[Any]], hits: Rows, base: Rows) -> str | None:
    """The column whose values differ most, and significantly, between hits and other rows; writers first."""
    is_hit = np.isin(base, hits)
    if is_hit.all() or not is_hit.any():
        return None
    p_values = {name: _p_value(cells[base], is_hit) for name, cells in columns.items()}
    certain = {name: p for name, p in p_values.items() if p < _CERTAIN / len(p_values)}
    writers = [name for name in WRITER_COLUMNS if name in certain]
    return writers[0] if writers else min(certain, key=lambda name: certain[name], default=None)


def _p_value(values: NDArray[Any], is_hit: NDArray[np.bool_]) -> float:
    """The p-value of Pearson's chi-squared test on value by hit; 1.0 if there is nothing to test.

    As `scipy.stats.chi2_contingency`, with Yates' correction for two values; importing that module takes a third of a
    second, which would delay opening an app.
    """
    codes = pd.factorize(values)[0]
    table = np.zeros((2, int(codes.max(initial=0)) + 1))
    np.add.at(table, (is_hit.astype(int), codes), 1)
    if not 1 < table.shape[1] <= _MAX_VALUES:
        return 1.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    differences = np.abs(table - expected)
    degrees = table.shape[1] - 1
    if degrees == 1:
        differences -= np.minimum(0.5, differences)
    return float(chdtrc(degrees, (differences**2 / expected).sum()))
