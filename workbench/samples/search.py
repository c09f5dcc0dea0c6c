"""The words of every row, for searching and sorting: made once for a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["RowWords", "known_words", "row_words", "rows_with_text"]


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
    """The words of every row of some `Samples`; made once and kept with them.

    100,000 rows of a few hundred characters take about a second: whoever must answer at once asks a thread for it before.
    """
    words = known_words(samples)
    if words is None:
        wires = samples._build().wires  # noqa: SLF001 (kept where the packed rows are kept)
        turns = [wire[0] for wire in wires]
        columns = zip(samples.ids, turns, samples.references, strict=True)
        words = RowWords(
            [_searched(*parts) for parts in columns], [*map(_question, turns)], [*map(_answer, turns)]
        )
        samples._words = words  # noqa: SLF001
    return words


def known_words(samples: Any) -> RowWords | None:
    """The words of every row where they have been made; else None."""
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
    """Numbers of the rows whose text holds these words, in any case, ascending.

    Args:
        texts: `RowWords.searched`.
        words: What to find, as one text.
    """
    needle = words.casefold()
    return np.array([row for row, text in enumerate(texts) if needle in text], dtype=np.intp)
