"""Redundant graders."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.diagnostics.claim import Claim, bootstrap_claim, share_claim
from workbench.analysis.diagnostics.finding import Severity, percent
from workbench.analysis.diagnostics.suite_case import SuiteCase, missing_units
from workbench.analysis.diagnostics.suite_registry import suite_diagnostic
from workbench.analysis.statistics import compact, share, spearman
from workbench.analysis.statistics.variance_shares import rank_correlation
from workbench.core.display_text import one_line
from workbench.core.grades import SCORED

__all__ = ["redundant"]

_RANKS, _VERDICTS = 0.9, 0.95  # this project's limits
_BOTH_KINDS = 0.1
"""Minimum share of rows that each grader must accept, and refuse: two that accept nearly all agree by that alone."""
_SAME_RANKS = (
    1 - 1e-9
)  # up to rounding: nothing to resample, so that the share of rows that may differ is bounded
_MAX_ROWS = 50_000  # maximum rows: more would add no information, and ranks take time


class _Column(NamedTuple):
    """One grader on the examined rows."""

    name: str
    scores: NDArray[np.float64]
    accepted: NDArray[np.bool_]
    is_scored: NDArray[np.bool_]

    def among(self, rows: NDArray[np.bool_]) -> _Column:
        """The grader on some of these rows."""
        return _Column(self.name, self.scores[rows], self.accepted[rows], self.is_scored[rows])


class _Pair(NamedTuple):
    """Two graders, the later one first, on the rows that both have scored."""

    later: _Column
    earlier: _Column
    rows: NDArray[np.intp]
    correlation: float


@suite_diagnostic("redundant")
def redundant(case: SuiteCase) -> Iterable[Claim]:
    """Two graders rank rows alike (Spearman over 0.9, lower bound) or give over 95 % of them one verdict (lower bound).

    With at least 50 rows that both have scored. Verdicts count only if each of the two accepts and refuses at least a
    tenth of the rows. A warning if both count in a combined score, else a note: two versions are expected to be alike.
    """
    rows = _some_rows(len(case.groups))
    columns = [_column(case, name, rows) for name in case.single_graders]
    for pairs in _pairs(columns, rows).values():
        closest = max(pairs, key=lambda pair: abs(pair.correlation))
        if abs(closest.correlation) > _SAME_RANKS:
            yield _equal_claim(case, closest, "ranks", np.ones(len(closest.rows), bool))
        elif abs(closest.correlation) > _RANKS:
            yield _rank_claim(case, closest)
        yield from filter(None, (_verdict_claim(case, pair) for pair in pairs))


def _some_rows(n: int) -> NDArray[np.intp]:
    """All rows, or a random subset of the maximum size: every second row may be alike."""
    if n <= _MAX_ROWS:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, _MAX_ROWS, replace=False))


def _column(case: SuiteCase, name: str, rows: NDArray[np.intp]) -> _Column:
    grades = case.grades[name]
    scores, passed = grades.scores[rows], grades.passed[rows]
    accepted = np.where(passed >= 0, passed == 1, scores >= case.pass_threshold)
    return _Column(name, scores, accepted, grades.codes[rows] == SCORED)


def _pairs(columns: list[_Column], rows: NDArray[np.intp]) -> dict[str, list[_Pair]]:
    """The pairs of each grader with those before it, on the rows that both have scored."""
    pairs: dict[str, list[_Pair]] = {}
    for earlier, later in combinations(columns, 2):
        both = earlier.is_scored & later.is_scored
        if both.sum() >= 2:
            a, b = later.among(both), earlier.among(both)
            correlation = spearman(a.scores, b.scores)
            found = _Pair(a, b, rows[both], 0.0 if np.isnan(correlation) else correlation)
            pairs.setdefault(later.name, []).append(found)
    return pairs


def _rank_claim(case: SuiteCase, pair: _Pair) -> Claim:
    how = "ranks the rows as" if pair.correlation > 0 else "ranks the rows in the opposite order of"
    finding = case.finding(
        pair.later.name,
        "redundant",
        _severity(case, pair),
        "Spearman correlation",
        f"redundant: {how} {one_line(pair.earlier.name)} does, Spearman {pair.correlation:.2f} on {len(pair.rows):,} rows",
        _advice(pair),
        _where_verdicts_differ(case, pair),
    )
    prompts = compact(case.groups[pair.rows])
    boot = rank_correlation(pair.later.scores, pair.earlier.scores, prompts)
    return bootstrap_claim(
        replace(finding, n=len(pair.rows)),
        boot,
        _RANKS,
        above=True,
        missing=missing_units(len(pair.rows), prompts),
    )


def _verdict_claim(case: SuiteCase, pair: _Pair) -> Claim | None:
    a, b = pair.later.accepted, pair.earlier.accepted
    both_kinds = all(_BOTH_KINDS <= verdicts.mean() <= 1 - _BOTH_KINDS for verdicts in (a, b))
    return _equal_claim(case, pair, "verdicts", a == b) if both_kinds else None


def _equal_claim(case: SuiteCase, pair: _Pair, what: str, is_equal: NDArray[np.bool_]) -> Claim:
    prompts = compact(case.groups[pair.rows])
    equal = share(is_equal, prompts)
    finding = case.finding(
        pair.later.name,
        "redundant",
        _severity(case, pair),
        f"share of rows with equal {what}",
        f"redundant: the {what} of {one_line(pair.earlier.name)} on {percent(equal.value)} of {equal.n:,} rows",
        _advice(pair),
        _where_verdicts_differ(case, pair),
    )
    return share_claim(finding, equal, _VERDICTS, missing=missing_units(equal.n, prompts))


def _where_verdicts_differ(case: SuiteCase, pair: _Pair) -> NDArray[np.bool_]:
    differs = np.zeros(len(case.groups), bool)
    differs[pair.rows[pair.later.accepted != pair.earlier.accepted]] = True
    return differs


def _severity(case: SuiteCase, pair: _Pair) -> Severity:
    weights = {entry.name: entry.weight for entry in case.entries} if case.rule is not None else {}
    both_count = all(weights.get(each.name, 0) > 0 for each in (pair.later, pair.earlier))
    return Severity.WARNING if both_count else Severity.NOTE


def _advice(pair: _Pair) -> str:
    return f"remove one of the two, or count them as one; read where they differ: report.compare({pair.earlier.name!r}, {pair.later.name!r})"
