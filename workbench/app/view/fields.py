"""The values of a column of the data, to filter by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from workbench.core.display_text import one_line
from workbench.core.errors import SamplesError
from workbench.data.samples.search import written_column

__all__ = ["field_values"]

_MAX_VALUES = 60
"""Number of listed values, the most frequent first; the others are found by search."""

_FEW = 12  # maximum distinct numbers to list as choices rather than as a range


def field_values(samples: Any, field: str) -> dict[str, Any]:
    """The values of a column as `FieldValues`: choices with their counts, or the ends of a range of numbers.

    Args:
        samples: The `Samples`.
        field: The column, by its name in the table.

    Raises:
        SamplesError: Unknown column.
    """
    frame = samples.frame
    by_name = {one_line(name, 80): name for name in frame.columns}  # by their names in the table
    if field not in by_name:
        raise SamplesError(f"the rows have no column {field!r}", expected=", ".join(map(repr, by_name))[:300])
    cells, field = frame[by_name[field]], str(by_name[field])
    column = written_column(samples, cells.name)
    numbered = np.bincount(column.codes + 1, minlength=len(column.texts) + 1).tolist()
    counts = sorted(zip([None, *column.texts], numbered, strict=True), key=lambda each: -each[1])
    counts = [(text, count) for text, count in counts if count]
    is_number = pd.api.types.is_numeric_dtype(cells) and not pd.api.types.is_bool_dtype(cells)
    numbers = cells.to_numpy(float, na_value=np.nan) if is_number else np.empty(0)
    finite = numbers[np.isfinite(numbers)]
    as_range = len(counts) > _FEW and len(finite) > 0
    return {
        "kind": "numbers" if as_range else "values",
        "column": field,
        "values": [] if as_range else [_value(field, text, count) for text, count in counts[:_MAX_VALUES]],
        "lo": float(finite.min()) if as_range else 0.0,
        "hi": float(finite.max()) if as_range else 0.0,
    }


def _value(field: str, text: str | None, count: int) -> dict[str, Any]:
    shown = "(empty)" if text is None else one_line(text, 80)
    return {"text": shown, "count": count, "where": [{"column": field, "is": text}]}
