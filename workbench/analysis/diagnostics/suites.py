"""Findings about the graders of a suite: gates, redundant graders, effective weights and expensive graders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.case import Claim, bootstrap_claim, share_claim
from workbench.analysis.finding import Finding, Severity, percent
from workbench.analysis.statistics import Interval, compact
from workbench.analysis.statistics.association import correlation_of_ranks, ranks
from workbench.analysis.statistics.means import Share, share
from workbench.analysis.statistics.resampling import rank_correlation, variance_share
from workbench.analysis.suite_case import SuiteCase, missing_units, suite_diagnostic
from workbench.core.display_text import one_line
from workbench.core.grades import SCORED, Grades
from workbench.graders.combine import AllPass, Entry, Gate

_NEARLY_ALL = 0.95  # share of rows; this project's limit
_STEPS = 20  # rows of a synthetic column for testing a gate: any share of full scores in steps of 5 %
_MAX_TRIES = 10_000  # maximum combinations of such columns


@suite_diagnostic("gate-without-effect")
def gate_without_effect(case: SuiteCase) -> Iterable[Finding]:
    """The suite's gate passes, or fails, for all scores on the scale of its graders: a fact, found by exhaustive test."""
    gate = None if case.parts is None else case.parts.gate
    names = [name for name in (gate.metrics if gate else ()) if name in case.grades]
    if gate is None or not names or not all(_on_scale(case, name) for name in names):
        return
    verdicts = {bool(gate.judge(scores)) for scores in _tries(gate, case.scale)}
    if len(verdicts) > 1:
        return
    passes = verdicts == {True}
    finding = case.finding(
        names[0],
        "gate-without-effect",
        Severity.WARNING,
        "verdicts of the gate",
        f"a gate that {'cannot fail' if passes else 'cannot pass'} for any scores on the scale {case.scale[0]:g} to {case.scale[1]:g}",
        "set its value inside the range of the compared quantity; accuracy is a percentage, 0 to 100",
        np.zeros(len(case.groups), bool),
    )
    yield _fact(finding, passes, len(case.groups))


def _fact(finding: Finding, passes: bool, n: int) -> Finding:
    return replace(finding, value=float(passes), n=n)


def _on_scale(case: SuiteCase, name: str) -> bool:
    scores = case.grades[name].scores
    known = scores[~np.isnan(scores)]
    return bool(((known >= case.scale[0]) & (known <= case.scale[1])).all())


def _tries(gate: Gate, scale: tuple[float, float]) -> Iterator[dict[str, NDArray[np.float64]]]:
    """Columns of scores for each grader of a gate: every share of full scores, and every level, up to the maximum number."""
    lo, hi = scale
    steps = np.arange(_STEPS + 1)
    mixed = [np.where(np.arange(_STEPS) < step, hi, lo) for step in steps]
    level = [np.full(_STEPS, lo + (hi - lo) * step / _STEPS) for step in steps]
    columns, metrics = [*mixed, *level], gate.metrics
    while len(columns) ** len(metrics) > _MAX_TRIES and len(columns) > 2:
        columns = [*columns[::2], *columns[-1:]] if len(columns) > 4 else [mixed[0], mixed[-1]]
    for chosen in product(columns, repeat=len(metrics)) if len(columns) ** len(metrics) <= _MAX_TRIES else ():
        yield dict(zip(metrics, chosen, strict=True))


@suite_diagnostic("never-blocks")
def never_blocks(case: SuiteCase) -> Iterable[Claim]:
    """A note if a required entry passes over 95 % of the rows (lower bound), with at least 50 rows."""
    for entry, passed in _conditions(case):
        finding = case.finding(
            entry.name,
            "never-blocks",
            Severity.NOTE,
            "share of rows that pass",
            f"never blocks: {int(passed.sum()):,} of {len(passed):,} rows pass it",
            "test it on rows that it should stop; a condition that is always true has no effect",
            case.among_all(~passed),
        )
        yield share_claim(
            finding,
            share(passed, case.prompts),
            _NEARLY_ALL,
            missing=missing_units(len(passed), case.prompts),
        )


@suite_diagnostic("never-passes")
def never_passes(case: SuiteCase) -> Iterable[Claim]:
    """A required entry fails over 95 % of the rows (lower bound), so that the combined score is always 0."""
    for entry, passed in _conditions(case):
        finding = case.finding(
            entry.name,
            "never-passes",
            Severity.WARNING,
            "share of rows that fail",
            f"never passes: {int((~passed).sum()):,} of {len(passed):,} rows fail it, and with it the whole suite",
            "make it a warning, fix it, or lower its pass threshold",
            case.among_all(~passed),
        )
        yield share_claim(
            finding,
            share(~passed, case.prompts),
            _NEARLY_ALL,
            missing=missing_units(len(passed), case.prompts),
        )


def _conditions(case: SuiteCase) -> Iterator[tuple[Entry, NDArray[np.bool_]]]:
    """The entries that a row has to pass, and which of the suite's rows do, (m,)."""
    if not isinstance(case.rule, AllPass) or not len(case.rows):
        return
    for entry in case.entries:
        if entry.severity == "error":
            part = case.counted[entry.name]
            passed = np.where(part.passed >= 0, part.passed == 1, part.scores >= 1.0)
            yield entry, np.asarray(passed, bool)[case.rows]


_RANKS, _VERDICTS = 0.9, 0.95  # this project's limits
_BOTH_KINDS = 0.1
"""Minimum share of rows that each grader must accept, and refuse: two that accept nearly all agree by that alone."""
_SAME_RANKS = (
    1 - 1e-9
)  # up to rounding: nothing to resample, so that the share of rows that may differ is bounded
_MAX_ROWS = 50_000  # maximum rows: more would add no information, and ranks take time


@dataclass(frozen=True)
class _Column:
    """One grader on the examined rows."""

    name: str
    scores: NDArray[np.float64]
    accepted: NDArray[np.bool_]
    is_scored: NDArray[np.bool_]

    def among(self, rows: NDArray[np.bool_]) -> _Column:
        """The grader on some of these rows, of which it has scored all."""
        if rows.sum() == self.is_scored.sum():
            return self._scored
        return _Column(self.name, self.scores[rows], self.accepted[rows], self.is_scored[rows])

    @cached_property
    def _scored(self) -> _Column:
        rows = self.is_scored
        return _Column(self.name, self.scores[rows], self.accepted[rows], rows[rows])

    @cached_property
    def ranks(self) -> NDArray[np.float64]:
        """Ranks of the scores; computed once for all pairs, since most graders have scored the same rows."""
        return ranks(self.scores)


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
            correlation = correlation_of_ranks(a.ranks, b.ranks)
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
        f"redundant: gives {_on(equal)} the {_SAME[what]} as {one_line(pair.earlier.name)}",
        _advice(pair),
        _where_verdicts_differ(case, pair),
    )
    return share_claim(finding, equal, _VERDICTS, missing=missing_units(equal.n, prompts))


_SAME = {"ranks": "same rank", "verdicts": "same verdict"}


def _on(equal: Share) -> str:
    """Such as "all 288 rows", "98.4 % of 288 rows"."""
    return f"all {equal.n:,} rows" if equal.k == equal.n else f"{percent(equal.value)} of {equal.n:,} rows"


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


_GAP = 0.2  # a fifth of the whole; this project's limit
_LITTLE = 0.05  # share of rows: one verdict of twenty
_PRICE, _DECISIONS = 0.5, 0.1  # half of the cost for less than a tenth of the verdicts
_SLOW = 0.05  # seconds per row: if all graders together are faster, time does not count as cost


@suite_diagnostic("effective-weight")
def effective_weight(case: SuiteCase) -> Iterable[Claim]:
    """A grader's share of the combined score's variance differs from its weight by over 0.2 (bound), with at least 50 rows.

    The share is w_i cov(s_i, T) / var(T); the shares of a suite sum to 1.
    """
    if case.rule is None or case.parts is None or len(case.rows) < 2:
        return
    for at, (entry, weight) in enumerate(zip(case.entries, case.parts.weights, strict=True)):
        found = case.variance_shares[at]
        # Others could not be claimed; a bootstrap is slow.
        if not abs(found - weight) > _GAP:
            continue
        finding = case.finding(
            entry.name,
            "effective-weight",
            Severity.WARNING,
            "share of the total's variance",
            f"determines {percent(found)} of the variance of {one_line(case.parts.column)} at a weight of {percent(weight)}",
            _weight_advice(case, at),
            np.zeros(len(case.groups), bool),
        )
        boot = variance_share(case.contributions[:, at], case.contributions.sum(1), case.prompts)
        sign = 1 if found > weight else -1
        yield bootstrap_claim(
            replace(finding, n=len(case.rows)),
            boot,
            float(weight + sign * _GAP),
            above=sign > 0,
            missing=missing_units(len(case.rows), case.prompts),
        )


def _weight_advice(case: SuiteCase, at: int) -> str:
    spread = case.contributions.std(0)
    assert case.parts is not None
    weights = case.parts.weights
    if not spread[at] > 0:
        return "its scores do not vary, so its weight has no effect: fix or remove the grader"
    # Weights that give contributions of equal spread a size in proportion to the intended weight.
    wanted = np.divide(weights**2, spread, out=np.zeros_like(weights), where=spread > 0)
    return (
        f"its scores vary {'more' if spread[at] > spread.mean() else 'less'} than the others': a weight of about "
        f"{wanted[at] / wanted.sum():.2g} (of 1) would give it the intended influence, or scale all scores to one spread"
    )


@suite_diagnostic("decides-little")
def decides_little(case: SuiteCase) -> Iterable[Claim]:
    """A note if omitting a grader would change less than 5 % of the combined verdicts (upper bound).

    Omitted if the verdicts do not differ, and if no grader decides more: then all agree, which shows nothing about one.
    """
    if (
        case.rule is None
        or len(case.entries) < 2
        or len(case.rows) < 2
        or case.accepted.all()
        or not case.accepted.any()
    ):
        return
    decisions = {entry.name: case.decides(entry.name) for entry in case.entries if entry.weight > 0}
    little = {name: turned for name, turned in decisions.items() if turned.mean() <= _LITTLE}
    for name, turned in little.items() if len(little) < len(decisions) else ():
        finding = case.finding(
            name,
            "decides-little",
            Severity.NOTE,
            "share of verdicts changed",
            f"decides little: without it {int(turned.sum()):,} of {len(turned):,} combined verdicts would change",
            "remove it, give it more weight, or keep it for the information next to the verdict",
            case.among_all(turned),
        )
        yield _at_most(share_claim(finding, share(~turned, case.prompts), 1 - _LITTLE))


@suite_diagnostic("expensive")
def expensive(case: SuiteCase) -> Iterable[Claim]:
    """A grader causes over half of the cost (or time) and decides under 10 % of the combined verdicts (upper bound)."""
    if case.rule is None or len(case.rows) < 2 or len(case.entries) < 2:
        return
    for what, shares in price_shares(case).items():
        for entry, price in zip(case.entries, shares, strict=True):
            if not price > _PRICE:
                continue
            turned = case.decides(entry.name)
            part = share(~turned, case.prompts)
            finding = case.finding(
                entry.name,
                "expensive",
                Severity.WARNING,
                "share of verdicts changed",
                f"expensive: {percent(price)} of the {what} for {percent(1 - part.value)} of the decisions",
                "run it only where the cheaper graders leave the verdict open, or use a cheaper one",
                case.among_all(turned),
            )
            yield _at_most(
                share_claim(
                    finding, part, 1 - _DECISIONS, missing=missing_units(len(case.rows), case.prompts)
                )
            )
        return  # money if it is known, else time


def price_shares(case: SuiteCase) -> dict[str, list[float]]:
    """Each entry's share of the money and of the time that all entries took; without unknown or negligible ones."""
    columns = [case.grades[entry.name] for entry in case.entries]
    money, seconds = ([_total(grades, name) for grades in columns] for name in ("cost", "seconds"))
    slow = sum(seconds) > _SLOW * len(case.groups)
    totals = {"money": money if sum(money) > 0 else [], "time": seconds if slow else []}
    return {what: [value / sum(values) for value in values] for what, values in totals.items() if values}


def _total(grades: Grades, column: str) -> float:
    return float(np.nansum(getattr(grades, column)))


def _at_most(claim: Claim) -> Claim:
    """A claim about the share of unchanged rows, expressed as one about those that change."""

    def interval(confidence: float) -> Interval:
        lo, hi = claim.interval(confidence)
        return Interval(1 - hi, 1 - lo)

    finding = replace(claim.finding, value=1 - claim.finding.value, limit=1 - (claim.finding.limit or 0.0))
    return replace(claim, finding=finding, interval=interval)
