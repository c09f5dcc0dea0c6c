"""Selections of rows: random (uniform, or stratified with proportional shares), by a query, and by words in their text."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.core.errors import SamplesError
from workbench.data.samples.plain import is_missing

_Ints = NDArray[np.intp]


def draw_rows(size: int, n: int, *, seed: int | None, groups: _Ints | None = None) -> _Ints:
    """Rows drawn without replacement, in ascending order.

    Args:
        size: Rows to draw from.
        n: Number of rows to draw; all if n is larger.
        seed: Same seed, same rows; None draws differently each time.
        groups: Stratum of each row (size,), numbered from 0; None for a uniform draw.
    """
    n = min(n, size)
    # One key per row, then the n smallest: a larger draw of the same seed contains the smaller one.
    keys = np.random.default_rng(seed).random(size)
    if groups is None:
        return _smallest(keys, n)
    quotas = shares(np.bincount(groups), n)
    order = np.lexsort((keys, groups))
    place = _place_in_stratum(groups[order])
    return np.sort(order[place < quotas[groups[order]]])


def _smallest(keys: NDArray[np.float64], n: int) -> _Ints:
    """Indices of the n smallest keys, ascending; of equal keys the earlier ones."""
    if not 0 < n < len(keys):
        return np.arange(n, dtype=np.intp)
    largest = np.partition(keys, n - 1)[n - 1]  # without sorting all of them
    below, equal = np.flatnonzero(keys < largest), np.flatnonzero(keys == largest)
    return np.sort(np.concatenate([below, equal[: n - len(below)]]))


def shares(sizes: Sequence[int] | _Ints, n: int) -> _Ints:
    """Allocate `n` rows to strata.

    In proportion to their sizes, by largest remainder; at least one each if n is at least the number of
    strata, else one each for the largest (the earlier of two equal ones). The sum is n.

    Args:
        sizes: Rows in each stratum, all at least 1 (k,).
        n: Rows to allocate, at most the sum of `sizes`.
    """
    sizes = np.asarray(sizes, dtype=np.intp)
    result = np.zeros(len(sizes), dtype=np.intp)
    if n < len(sizes):
        result[np.argsort(-sizes, kind="stable")[:n]] = 1
        return result
    small = _below_one(sizes, n)
    result[small] = 1
    result[~small] = _largest_remainder(sizes[~small], n - int(small.sum()))
    return result


def strata(keys: Sequence[Hashable]) -> _Ints:
    """Number the distinct keys in the order they first appear (n,)."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.intp)


def _below_one(sizes: _Ints, n: int) -> NDArray[np.bool_]:
    """Strata with a fair share below one row; giving them one row reduces the others' shares, so this repeats."""
    is_small = np.zeros(len(sizes), dtype=bool)
    while not is_small.all():
        is_large = ~is_small
        quota = (n - int(is_small.sum())) * sizes / sizes[is_large].sum()
        more = is_large & (quota < 1)
        if not more.any():
            break
        is_small |= more
    return is_small


def _largest_remainder(sizes: _Ints, n: int) -> _Ints:
    if not len(sizes):
        return sizes
    quota = n * sizes / sizes.sum()
    counts: _Ints = np.floor(quota).astype(np.intp)
    remaining = n - int(counts.sum())
    # Stable: of equal remainders the earlier stratum gets the row, on every machine.
    counts[np.argsort(counts - quota, kind="stable")[:remaining]] += 1
    return counts


def _place_in_stratum(ordered: _Ints) -> _Ints:
    places: _Ints = np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
    return places


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
    except Exception as error:  # pandas evaluates it, with functions of the caller, which may raise anything
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


_NUMBER = re.compile(
    r"[-+]?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d*)?(?:[eE][-+]?\d+)?|[-+]?\.\d+|[-+]?(?:nan|inf)"
)
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:$|[T ]\d\d:\d\d)")


@dataclass(frozen=True, eq=False)
class Scale:
    """The cells of a column on a scale.

    Attributes:
        kind: "number" or "time".
        points: Each cell's number, or its time in seconds since 1970 (UTC), NaN if it is empty, (n,).
    """

    kind: str
    points: NDArray[np.float64]


def scale_end(value: Any) -> float:
    """An end of a range on a `Scale`: a number, or an ISO 8601 time in seconds since 1970 (UTC unless it has a zone).

    Raises:
        ValueError: It is neither.
    """
    if isinstance(value, str) and _TIME.match(value):
        time = pd.Timestamp(value)
        return float((time if time.tzinfo else time.tz_localize("UTC")).timestamp())
    return float(value)


@dataclass(frozen=True)
class WrittenColumn:
    """The cells of a column as literal text.

    Attributes:
        codes: Index of each cell among the texts, (n,); -1 for an empty cell.
        texts: The different texts, in the order of their first cells.
    """

    codes: NDArray[np.intp]
    texts: list[str]

    @cached_property
    def scale(self) -> Scale | None:
        """The cells as numbers or times, if every non-empty cell is one; None for other columns.

        Files such as CSV contain numbers and dates as text. This is for filters, order and breakdowns: graders get the
        cells unchanged.
        """
        filled = [text for text in self.texts if text.strip()]
        if not filled:
            return None
        if all(map(_NUMBER.fullmatch, filled)):
            numbers = [float(text.replace(",", "")) if text.strip() else np.nan for text in self.texts]
            return self._scale("number", np.array(numbers))
        if all(map(_TIME.match, filled)):
            times = pd.to_datetime(pd.Series(self.texts), format="ISO8601", utc=True, errors="coerce")
            if times.notna().sum() == len(filled):
                seconds = times.to_numpy("datetime64[ms]").astype(float) / 1000
                return self._scale("time", np.where(times.notna(), seconds, np.nan))
        return None

    def _scale(self, kind: str, values: NDArray[np.float64]) -> Scale:
        return Scale(kind, np.append(values, np.nan)[self.codes])

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
