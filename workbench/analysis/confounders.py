"""Confounders: columns of the rows that explain a difference in scores, or where wrong verdicts are.

A cause (order, length, writer, position) is reported only if it remains after stratification by each text column of few
values, such as topic, dataset or writer: Mantel & Haenszel (1959), with point estimates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.case import Case, Claim, claim_of
from workbench.analysis.finding import Finding
from workbench.analysis.statistics import Codes, Estimate, Flags, Floats, Interval, dot, level_codes
from workbench.analysis.statistics.association import ranks
from workbench.core.display_text import one_line

_LENGTH_LEVELS = 5
"""Number of equally sized levels into which lengths are divided for stratification."""


@dataclass(frozen=True)
class ConfoundingColumn:
    """A column of few values, for some rows.

    Attributes:
        name: Of the column.
        codes: Integer code of each row's value, (m,).
        share: Share of the scores' variance within the labels that the column explains, adjusted for its number of values.
        values: The values as text, by code.
    """

    name: str
    codes: Codes
    share: float
    values: tuple[str, ...] = ()


def explaining_column(
    case: Case, rows: Codes, levels: NDArray[Any], left: Callable[[NDArray[Any]], float], *, limit: float,
    share: float, is_order: bool = False,
) -> ConfoundingColumn | None:  # fmt: skip
    """The column that explains a cause away; None if the cause remains after stratification by each column.

    Args:
        case: The grader's grades.
        rows: Indices among the scored rows of those that the cause is about, (m,).
        levels: Existing strata, such as the label, (m,).
        left: The size of the cause within such strata; NaN if the strata leave nothing to compare.
        limit: Absolute size up to which the cause does not remain.
        share: Share of the variance that the cause explains. A column must explain more.
        is_order: Whether the cause is the order of the rows. Then NaN counts as explained: rows that are sorted by dataset
            cannot be compared within one. For other causes a finer column is equivalent to the cause itself.
    """
    found = [
        column
        for column in _columns(case, rows, levels)
        if column.share > share
        and _is_gone(left(within(levels, column.codes)), limit, counts_nothing=is_order)
    ]
    # Of columns with the same partition of the rows the coarsest: a dataset, not the templates of its prompts.
    return min(found, key=lambda column: (len(column.values), -column.share), default=None)


def _is_gone(size: float, limit: float, *, counts_nothing: bool) -> bool:
    return counts_nothing if math.isnan(size) else abs(size) <= limit


def _columns(case: Case, rows: Codes, levels: NDArray[Any]) -> Iterator[ConfoundingColumn]:
    """The text columns of few values; numeric and boolean columns describe single rows, or are other scores."""
    if case.context is None:
        return
    scores, strata = case.scores[rows], level_codes(levels)
    inside, of_case = _left(scores, strata), case.rows[rows]
    for name, whole in case.context.coded.items():
        column = whole.at(of_case)
        codes, values = column.codes, column.categories
        if len(values) > 1 and not all(map(_is_number, values)) and not _is_derived(scores, codes):
            share = _explained(scores, inside, _pairs(strata, codes), codes)
            yield ConfoundingColumn(name, codes, share, values)


_PART, _MOST, _TIMES = 0.8, 0.6, 3.0
"""Of the mistakes at least this part, in at most this part of the rows, at least as many times as elsewhere; this project's choice."""
_CHANCE = 0.001
"""Probability, shared among all values of all columns, with which chance alone would collect the mistakes there."""


@dataclass(frozen=True)
class Subset:
    """The rows with one value in a column, where a grader makes most of its mistakes.

    Attributes:
        column: Name of the column.
        value: The value.
        k: Wrong verdicts there.
        n: Rows there.
        k_all: Wrong verdicts in all.
    """

    column: str
    value: str
    k: int
    n: int
    k_all: int

    def __str__(self) -> str:
        """Such as "all where 'model' is 'large'"."""
        part = "all" if self.k == self.k_all else f"{self.k:,} of them"
        return f"{part} where {one_line(self.column, 40)!r} is {one_line(self.value, 40)!r}"


def where_mistakes_are(case: Case, rows: Codes, wrong: Flags) -> Subset | None:
    """The value of a text column in whose rows at least 80 % of the mistakes are; None if they are spread.

    By Fisher's exact test (1922), one-sided, at 0.001 over all values tried. Completions of one prompt with the same value
    count once, since a prompt that is misgraded is misgraded in all of them. Of several the one with the highest rate of mistakes.

    Args:
        case: The grader's grades.
        rows: Indices among the scored rows of those that could be wrong, such as all known-good ones, (m,).
        wrong: Which of them are, (m,).
    """
    k_all, n_all = int(wrong.sum()), len(rows)
    if case.context is None or not k_all:
        return None
    groups = case.scored_groups[rows]
    tried, found = 0, []
    for name, whole in case.context.coded.items():
        column = whole.at(case.rows[rows])
        if len(column.categories) < 2 or all(map(_is_number, column.categories)):
            continue
        sizes = np.bincount(column.codes, minlength=len(column.categories))
        mistakes = np.bincount(column.codes[wrong], minlength=len(column.categories))
        tried += len(column.categories)
        for code, (k, n) in enumerate(zip(mistakes.tolist(), sizes.tolist(), strict=True)):
            elsewhere = (k_all - k) / max(n_all - n, 1)
            if k >= _PART * k_all and n <= _MOST * n_all and k >= _TIMES * elsewhere * n:
                found.append((Subset(name, column.categories[code], k, n, k_all), column.codes, code))
    if not found:
        return None
    best, codes, code = max(found, key=lambda one: (one[0].k / one[0].n, one[0].k))
    return best if _by_chance(within(groups, codes), codes == code, wrong) * tried <= _CHANCE else None


def _by_chance(cells: Codes, inside: Flags, wrong: Flags) -> float:
    """Probability of at least this number of cells with a mistake inside; cells as integers, (m,)."""
    from scipy.stats import hypergeom

    n_cells = int(cells.max()) + 1
    is_wrong, is_inside = np.zeros(n_cells, bool), np.zeros(n_cells, bool)
    is_wrong[cells[wrong]] = True
    is_inside[cells[inside]] = True
    both = int((is_wrong & is_inside).sum())
    return float(hypergeom.sf(both - 1, n_cells, int(is_wrong.sum()), int(is_inside.sum())))


def _is_derived(scores: Floats, codes: Codes) -> bool:
    """Whether a column is derived from the scores, such as "low" and "high": its values have disjoint ranges of scores.

    Not if the rows are sorted by its values, like the rows of a dataset that merges several.
    """
    n_values = int(codes.max(initial=-1)) + 1
    if np.count_nonzero(np.diff(codes)) < 2 * n_values:
        return False
    lowest, highest = np.full(n_values, np.inf), np.full(n_values, -np.inf)
    np.minimum.at(lowest, codes, scores)
    np.maximum.at(highest, codes, scores)
    ranges = sorted(zip(lowest.tolist(), highest.tolist(), strict=True))
    return all(before[1] < after[0] for before, after in pairwise(ranges))


def _is_number(text: str) -> bool:
    try:
        float(text or "0")
    except ValueError:
        return text.casefold() in {"true", "false", "yes", "no"}
    return True


def within(levels: NDArray[Any], codes: Codes) -> Codes:
    """An integer for each pair of level and value, (m,)."""
    return _pairs(level_codes(np.asarray(levels, np.intp)), codes)


def _pairs(strata: Codes, codes: Codes) -> Codes:
    """`within`, given levels as integers from 0 on."""
    pairs = strata * (int(codes.max(initial=0)) + 1) + codes
    places = np.cumsum(np.bincount(pairs) > 0) - 1
    combined: Codes = places[pairs]
    return combined


def explained_share(scores: Floats, levels: NDArray[Any], codes: Codes) -> float:
    """Share of the variance within levels that a column explains, adjusted for its number of values; may be below 0."""
    strata = level_codes(levels)
    return _explained(scores, _left(scores, strata), _pairs(strata, codes), codes)


def _explained(scores: Floats, inside: Floats, pairs: Codes, codes: Codes) -> float:
    """`explained_share`, given what the levels leave of the scores and the pairs of level and value."""
    both = _left(scores, pairs)
    n, values = len(scores), int(codes.max(initial=0)) + 1
    total = dot(inside, inside)
    if total <= 0 or n <= values + 1:
        return 0.0
    return 1 - dot(both, both) / total * (n - 1) / (n - values)


def share_of_line(scores: Floats, levels: NDArray[Any]) -> float:
    """Share of the variance within levels that a linear trend in the order of the rows explains."""
    codes = level_codes(levels)
    inside, places = _left(scores, codes), _left(np.arange(len(scores), dtype=float), codes)
    scale = dot(inside, inside) * dot(places, places)
    return dot(inside, places) ** 2 / scale if scale > 0 else 0.0


def _left(scores: Floats, codes: Codes) -> Floats:
    """The scores less the mean of their level, (n,); levels as integers from 0 on."""
    means: Floats = np.bincount(codes, weights=scores) / np.maximum(np.bincount(codes), 1)
    left: Floats = scores - means[codes]
    return left


def stratified_correlation(scores: Floats, column: Floats, levels: NDArray[Any]) -> float:
    """Pooled rank correlation of scores and a column within levels; NaN if nothing varies there."""
    parts = [np.flatnonzero(levels == level) for level in np.unique(levels)]
    ordered = [part for part in parts if len(part) > 1]
    if not ordered:
        return math.nan
    a = np.concatenate([_centred(scores[part]) for part in ordered])
    b = np.concatenate([_centred(column[part]) for part in ordered])
    scale = math.sqrt(dot(a, a) * dot(b, b))
    return dot(a, b) / scale if scale > 0 else math.nan


def _centred(column: Floats) -> Floats:
    """Ranks as shares of the level's size, centred at 0."""
    of_rows: Floats = ranks(column) / len(column)
    centred: Floats = of_rows - of_rows.mean()
    return centred


def length_levels(lengths: Floats) -> Codes:
    """Length quintile of each row, (m,)."""
    if not len(lengths):
        return np.zeros(0, np.intp)
    cuts = np.quantile(lengths, np.arange(1, _LENGTH_LEVELS) / _LENGTH_LEVELS)
    levels: Codes = np.searchsorted(cuts, lengths, side="right").astype(np.intp)
    return levels


def beyond(finding: Finding, found: Estimate, limit: float, *, tried: int = 2) -> Claim:
    """The claim that an estimate is further from 0 than its limit; `tried` alternatives share the level."""
    up = found.value > 0
    p = found.p_above(limit) if up else found.p_below(-limit)
    signed = limit if up else -limit
    return claim_of(
        finding, min(1.0, tried * p), found.interval, limit=signed, units=found.units, plans=False
    )


def in_user_units(claim: Claim, span: float) -> Claim:
    """A claim about a difference of scores, in the units of the user's scale."""

    def interval(confidence: float) -> Interval:
        lo, hi = claim.interval(confidence)
        return Interval(lo * span, hi * span)

    finding = replace(
        claim.finding, value=claim.finding.value * span, limit=(claim.finding.limit or 0.0) * span
    )
    return replace(claim, finding=finding, interval=interval)
