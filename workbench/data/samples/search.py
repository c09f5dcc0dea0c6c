"""Search texts of every row, for searching and sorting: computed once per dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.data.samples.plain import is_missing

__all__ = [
    "RowWords",
    "WrittenColumn",
    "known_words",
    "row_words",
    "rows_with_text",
    "written",
    "written_column",
]


@dataclass(frozen=True)
class RowWords:
    """Texts of all rows, n of each.

    Attributes:
        searched: Id, turns and reference in one case-folded text.
        questions: The last turn of the user, "" without one.
        answers: The assistant's last turn, "" without one.
    """

    searched: list[str]
    questions: list[str]
    answers: list[str]


def row_words(samples: Any) -> RowWords:
    """The search texts of every row of some `Samples`; computed once and stored with them.

    100,000 rows of a few hundred characters take about a second: code that must respond immediately calls it in a
    thread beforehand.
    """
    words = known_words(samples)
    if words is None:
        wires = samples._build().wires  # noqa: SLF001 (stored with the packed rows)
        turns = [wire[0] for wire in wires]
        columns = zip(samples.ids, turns, samples.references, strict=True)
        words = RowWords(
            [_searched(*parts) for parts in columns], [*map(_question, turns)], [*map(_answer, turns)]
        )
        samples._words = words  # noqa: SLF001
    return words


@dataclass(frozen=True)
class WrittenColumn:
    """The cells of a column as literal text.

    Attributes:
        codes: Index of each cell among the texts, (n,); -1 for an empty cell.
        texts: The different texts, in the order of their first cells.
    """

    codes: NDArray[np.intp]
    texts: list[str]

    def rows(self, text: str | None) -> NDArray[np.intp]:
        """Row numbers of the cells with this text, ascending; None for the empty cells."""
        if text is None:
            return np.flatnonzero(self.codes < 0)
        return np.flatnonzero(self.codes == self.texts.index(text) if text in self.texts else [])


def written(cells: pd.Series[Any]) -> WrittenColumn:
    """The cells of a column as literal text: 1 differs from 1.0 and from True."""
    texts = [None if is_missing(cell) else str(cell) for cell in cells]
    codes, found = pd.factorize(np.array(texts, dtype=object))
    return WrittenColumn(codes, list(found))


def written_column(samples: Any, name: Any) -> WrittenColumn:
    """A column of some `Samples` as literal text; computed once and stored with them.

    Args:
        samples: The `Samples`.
        name: A column of their frame.
    """
    known: dict[Any, WrittenColumn] = samples._written  # noqa: SLF001 (stored with the search texts)
    if name not in known:
        known[name] = written(samples.column(name))
    return known[name]


def known_words(samples: Any) -> RowWords | None:
    """The search texts of every row if they have been computed; else None."""
    words: RowWords | None = samples._words  # noqa: SLF001
    return words


def _searched(name: Any, turns: Any, reference: Any) -> str:
    contents = (str(content) for _, content in turns)
    return "\n".join([str(name), *contents, "" if reference is None else str(reference)]).casefold()


def _answer(turns: Any) -> str:
    return str(turns[-1][1]) if turns and turns[-1][0] == "assistant" else ""


def _question(turns: Any) -> str:
    return next((str(content) for role, content in reversed(turns) if role == "user"), "")


def rows_with_text(texts: Sequence[str], words: str) -> NDArray[np.intp]:
    """Numbers of the rows whose text contains these words, case-insensitively, ascending.

    Args:
        texts: `RowWords.searched`.
        words: What to find, as one text.
    """
    needle = words.casefold()
    return np.array([row for row, text in enumerate(texts) if needle in text], dtype=np.intp)
