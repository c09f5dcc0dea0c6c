"""`CodedColumn`: a column of few values as integers, read once and used by every diagnostic and grader."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.statistics import Codes


@dataclass(frozen=True)
class CodedColumn:
    """A column of few values.

    Attributes:
        codes: Index into `categories` of each cell, (n,); -1 for a missing one.
        categories: The different texts, sorted.
    """

    codes: Codes
    categories: tuple[str, ...]

    @classmethod
    def of_texts(cls, texts: Iterable[str | None]) -> CodedColumn:
        """Of cells as text; None for a missing one."""
        # By the array of objects: a list of None and texts would be read as texts.
        cells = np.fromiter(texts, dtype=object)
        return cls._sorted(*pd.factorize(cells))

    @classmethod
    def of_column(cls, column: pd.Series[Any], missing: str | None = None) -> CodedColumn | None:
        """Of a column in which equal cells have equal texts; None if they may not have, such as 1 and 1.0.

        Args:
            column: A column of texts, truth values or numbers.
            missing: Text of missing cells; None to keep them missing.
        """
        kind = column.dtype.kind
        if kind == "O" and not set(map(type, column.tolist())) <= {str, type(None)}:
            return None
        is_texts = kind == "O" or isinstance(column.dtype, pd.StringDtype)
        if not is_texts and not (isinstance(column.dtype, np.dtype) and (kind in "biu" or _is_safe(column))):
            return None
        codes, values = pd.factorize(column)
        coded = cls._sorted(codes, [str(value) for value in values.tolist()])
        return coded if missing is None else coded.filled(missing)

    @classmethod
    def _sorted(cls, codes: NDArray[Any], values: Sequence[str] | NDArray[Any]) -> CodedColumn:
        order = sorted(range(len(values)), key=values.__getitem__)
        places = np.empty(len(order) + 1, np.intp)
        places[order] = np.arange(len(order))
        places[-1] = -1  # the place of the code -1
        return cls(places[codes], tuple(values[at] for at in order))

    def filled(self, text: str) -> CodedColumn:
        """The column with a text instead of missing cells."""
        if not (self.codes < 0).any():
            return self
        values = tuple(sorted({*self.categories, text}))
        places = np.array([*(values.index(value) for value in self.categories), values.index(text)], np.intp)
        return CodedColumn(places[self.codes], values)

    @property
    def texts(self) -> NDArray[Any]:
        """The cells as text, (n,); None for a missing one."""
        cells: NDArray[Any] = np.array([*self.categories, None], dtype=object)[self.codes]
        return cells

    def at(self, rows: Codes) -> CodedColumn:
        """The cells of some rows, (m,), with the values that occur there.

        Args:
            rows: Indices, (m,).
        """
        codes = self.codes[rows]
        present = np.bincount(codes + 1, minlength=len(self.categories) + 1) > 0
        places = np.cumsum(present[1:]) - 1
        values = tuple(
            value for value, is_there in zip(self.categories, present[1:], strict=True) if is_there
        )
        if len(values) < len(self.categories):
            codes = np.append(places, -1)[codes]
        return CodedColumn(codes, values)

    def by_frequency(self) -> list[tuple[int, int]]:
        """Code and number of cells of each value that occurs, the most frequent first, then the one that occurs first."""
        codes = self.codes
        counts = np.bincount(codes[codes >= 0], minlength=len(self.categories))
        return [(code, int(counts[code])) for code in sorted(self.in_order(), key=lambda code: -counts[code])]

    def in_order(self) -> list[int]:
        """The codes that occur, by their first cell."""
        codes = self.codes
        first = np.full(len(self.categories) + 1, len(codes))
        first[codes[::-1]] = np.arange(len(codes))[::-1]  # the last assignment to an index remains
        first = first[:-1]  # without the missing cells
        order = np.argsort(first, kind="stable")
        return [int(code) for code in order if first[code] < len(codes)]


def _is_safe(column: pd.Series[Any]) -> bool:
    """Whether a column has floats whose texts are equal if they are: 0.0 equals -0.0, which has another text."""
    if column.dtype != np.float64:
        return False
    cells = column.to_numpy()
    return not bool((np.signbit(cells) & (cells == 0)).any())
