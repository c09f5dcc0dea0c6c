"""Labels (known good, known bad, unknown) in the forms that users and files use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.diagnostics.votes import Votes
from workbench.core.errors import ReportError

__all__ = ["is_label", "read_labels"]

_UNREAD = 9  # marks an entry that `_label` must parse
_WORDS = {
    "true": 1,
    "1": 1,
    "yes": 1,
    "good": 1,
    "pass": 1,
    "false": 0,
    "0": 0,
    "no": 0,
    "bad": 0,
    "fail": 0,
    "": -1,
}
"""Labels in CSV files or typed by users, case-insensitive."""


def is_label(text: str) -> bool:
    """Whether a text is a label as parsed by `read_labels`, such as "good" or "0"."""
    return text.strip().casefold() in _WORDS


def read_labels(labels: Any, n: int) -> NDArray[np.int8]:
    """Labels as 1 good, 0 bad, -1 unknown, (n,).

    Args:
        labels: True, False, None, or the words true/false, yes/no, good/bad, pass/fail, 1/0 and "" for
            each row, or `Votes`, of which the majority counts; None for no labels at all.
        n: Number of rows.

    Raises:
        ReportError: The number of entries is not n, they have no fixed order, or an entry is none of these.
    """
    if labels is None:
        return np.full(n, -1, np.int8)
    values = labels if isinstance(labels, Votes) else _values(labels)
    if len(values) != n:
        raise ReportError(
            "labels must have one entry per row", found=f"{len(values):,} entries", expected=f"{n:,} entries"
        )
    if isinstance(labels, Votes):
        return labels.majority
    # By identity first, which is fast: all labels are parsed again whenever one of a hundred thousand changes.
    codes = np.array(
        [
            1 if label is True else 0 if label is False else -1 if label is None else _UNREAD
            for label in values
        ],
        np.int8,
    )
    for row in np.flatnonzero(codes == _UNREAD).tolist():
        codes[row] = _label(row, values[row])
    return codes


def _values(labels: Any) -> list[Any]:
    if isinstance(labels, pd.Series) and not labels.index.equals(pd.RangeIndex(len(labels))):
        raise ReportError(
            "the labels are a Series with a separate index, so the assignment to rows is ambiguous",
            found=f"index {list(labels.index[:4])}",
            expected="one label per row, in the rows' order",
            hint="name a column of the samples instead (labels='good'), or pass labels.tolist()",
        )
    if not _is_column(labels):
        raise ReportError(
            "labels must be one entry per row",
            found=f"{type(labels).__name__} {labels!r:.60}",
            expected="a list of True (known good), False (known bad) and None, or a column of the samples",
        )
    return list(labels)


def _is_column(labels: Any) -> bool:
    # A frame and a mapping iterate over names, a set in no fixed order, an iterator only once.
    refused_types = (str, bytes, Mapping, AbstractSet, Iterator, pd.DataFrame)
    if isinstance(labels, refused_types) or not isinstance(labels, Iterable):
        return False
    return bool(getattr(labels, "ndim", 1) == 1)


def _label(row: int, label: Any) -> int:
    if label is None or label is pd.NA or _is_nan(label):
        return -1
    if isinstance(label, str) and is_label(label):
        return _WORDS[label.strip().casefold()]
    if isinstance(label, bool | np.bool_ | int | float | np.number) and label in (0, 1):
        return int(label)
    raise ReportError(
        "a label is neither good, bad nor unknown",
        where=f"row {row} of labels",
        found=f"{label!r:.80}",
        expected="True (known good), False (known bad) or None",
    )


def _is_nan(label: Any) -> bool:
    return label is pd.NaT or (isinstance(label, float | np.floating) and bool(np.isnan(label)))
