"""The rows that a condition (a query or a mask) selects, checked against its frame."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from workbench.core.errors import SamplesError
from workbench.data.samples.plain import is_missing

__all__ = ["checked_mask", "mask_of"]


def mask_of(query: str, frame: pd.DataFrame, source: str) -> pd.Series[Any]:
    """The rows that a pandas query selects, as a mask with the frame's index.

    Args:
        query: As `DataFrame.query` reads it; names after @ are those of the caller of `Samples.where`.
        frame: The rows.
        source: Their origin, for the error.

    Raises:
        SamplesError: A query that pandas cannot read.
    """
    # The positions, because an index may contain one label many times.
    numbered = frame.reset_index(drop=True)
    try:
        positions = numbered.query(query, level=2).index  # the names after @ are the caller's, two frames up
    except Exception as error:
        raise SamplesError(
            "the query cannot be read",
            where=source,
            found=f"{query!r}: {error}",
            expected="a pandas query on " + ", ".join(repr(str(name)) for name in frame.columns[:30]),
        ) from error
    return pd.Series(np.isin(np.arange(len(frame)), positions), index=frame.index)


def checked_mask(mask: Any, frame: pd.DataFrame) -> list[bool]:
    """A mask as truth values, one per row of the frame; a missing one selects nothing.

    Raises:
        SamplesError: Another length, another index, or values that are not truth values.
    """
    if isinstance(mask, pd.Series) and not mask.index.equals(frame.index):
        raise SamplesError(
            "the mask belongs to another frame",
            found="an index that is not this dataset's",
            expected="a mask made from samples.frame",
            hint="pass mask.to_numpy() if the rows are in the same order",
        )
    values = list(mask) if isinstance(mask, Iterable) else [mask]
    wrong = next((value for value in values if not is_missing(value) and not _is_truth(value)), None)
    if len(values) != len(frame) or wrong is not None:
        problem = f"{len(values)} values" if wrong is None else f"{wrong!r} ({type(wrong).__name__})"
        raise SamplesError("the mask does not fit", found=problem, expected=f"{len(frame)} truth values")
    return [not is_missing(value) and bool(value) for value in values]


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)
