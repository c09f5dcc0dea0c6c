"""Rows counted by label and verdict: the data of every bar."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.diagnostics import Case
from workbench.core.display import drawings as markup
from workbench.core.grade import Status

__all__ = ["NO_PART", "PARTS", "Counts", "counts_of", "part_name", "parts_of"]

Counts = dict[str, int]
Rows = NDArray[np.intp]

PARTS = tuple(markup.PARTS)
"""Parts of a bar: by label (none for the fifth and sixth) and the grader's verdict, or without a score."""

NO_PART = -1
"""A row that the grader never reached."""

_FAILED, _SKIPPED = PARTS.index("failed"), PARTS.index("skipped")
_FIRST_OF_LABEL = {1: 0, 0: 2, -1: 4}


def parts_of(case: Case) -> NDArray[np.int8]:
    """Index in `PARTS` of each row of one grader, (n,); `NO_PART` for rows it never reached.

    Args:
        case: The grader's grades with labels and pass threshold.
    """
    parts = np.full(len(case.grades), NO_PART, np.int8)
    status = case.status
    parts[status == Status.FAILED] = _FAILED
    parts[status == Status.SKIPPED] = _SKIPPED
    first = np.select(
        [case.labels[case.rows] == label for label in _FIRST_OF_LABEL], [*_FIRST_OF_LABEL.values()]
    )
    parts[case.rows] = first + ~case.accepted
    return parts


def counts_of(parts: NDArray[np.int8], rows: Rows | NDArray[np.bool_] | None = None) -> Counts:
    """Number of rows in each part.

    Args:
        parts: As `parts_of` gives them.
        rows: Numbers of the rows to count, or a truth value for each; all by default.
    """
    chosen = parts if rows is None else parts[rows]
    counts = np.bincount(chosen[chosen >= 0], minlength=len(PARTS))
    return {name: int(count) for name, count in zip(PARTS, counts, strict=True)}


def part_name(part: Any) -> str | None:
    """The name of a part; None for a row that the grader never reached."""
    return None if part < 0 else PARTS[part]
