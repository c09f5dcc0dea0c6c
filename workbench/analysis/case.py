"""What a diagnostic gets and what it yields: the grades of one grader as a `Case`, and `Claim`s, which are decided jointly."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from math import nan
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.coded_column import CodedColumn
from workbench.analysis.finding import Finding, RowNumbers, Severity, percent
from workbench.analysis.labels import Raters, Scored, Votes, raters_by_columns, raters_by_repeats
from workbench.analysis.statistics import SAME, Estimate, Interval, compact, growth_needed, holm
from workbench.analysis.statistics.association import auroc
from workbench.analysis.statistics.means import Share
from workbench.analysis.statistics.resampling import Bootstrap
from workbench.core.grades import SCORED, Grades

_MIN_ROWS_FOR_HINTS = 8  # scored rows; this project's choice, well below the minimum of any verdict
_SCALE_TOLERANCE = (
    1e-9  # relative to the scale's width: a sum of weights may miss the end of the scale by rounding
)


class RowContext(Protocol):
    """Columns of the rows in addition to their grades; each is read when a diagnostic uses it."""

    @property
    def topics(self) -> Sequence[Hashable | None] | None:
        """Topic of each row, (n,), None for a row without a topic; None if no column contains topics."""

    @property
    def coded_topics(self) -> CodedColumn | None:
        """`topics` as integers."""

    @property
    def lengths(self) -> NDArray[np.float64]:
        """Characters of each completion, (n,)."""

    def lengths_of(self, rows: NDArray[np.intp], /) -> NDArray[np.float64]:
        """Characters of the completions of these rows, (m,)."""

    def hashes_of(self, rows: NDArray[np.intp], /) -> NDArray[np.int64]:
        """An integer for each of these rows, (m,), equal if completion and reference are equal; unique if there is no text."""

    def is_reference(self, rows: NDArray[np.intp], /) -> NDArray[np.bool_]:
        """Whether the completions of these rows equal the reference exactly, (m,)."""

    def column(self, name: str, /) -> Sequence[Any] | None:
        """The cells of a column of the samples, (n,); None if there is no such column."""

    @property
    def annotators(self) -> Sequence[Hashable | None] | None:
        """Annotator of each row's label, (n,), None if not named; None if there is no such column."""

    @property
    def writers(self) -> CodedColumn | None:
        """Model that wrote each completion, n cells, missing if not named; None if there is no such column."""

    @property
    def positions(self) -> CodedColumn | None:
        """Position at which each completion was shown, n cells, missing if not named; None if there is no such column."""

    @property
    def coded(self) -> Mapping[str, CodedColumn]:
        """Columns of 2 to 50 values other than prompt, completion and reference: n cells as text each, "" for empty."""

    @property
    def names(self) -> Sequence[str]:
        """Names of the columns with information about a row, other than prompt, completion and reference."""


@dataclass(frozen=True)
class Case:
    """One grader's grades with prompts, labels, pass threshold and scale.

    Attributes:
        grader: Its name.
        grades: Its grades, n rows.
        groups: Prompt of each row as an integer code, (n,).
        labels: 1 known good, 0 known bad, -1 unknown, (n,).
        pass_threshold: On the scale: a score at or above it accepts the row.
        scale: Lowest and highest score of the grader's scale.
        context: Columns of the rows in addition to their grades; None if there are only grades.
        source: The grader's source text; "" if it has none, or it is not known.
        votes: The labels of each annotator if several labelled the rows and `labels` is their majority; else
            None.
        others: Scores that other graders of the report gave the same rows, (n,) each, on the same scale, NaN without.
        limits: Limits that differ from the default, by kind.
    """

    grader: str
    grades: Grades
    groups: NDArray[np.intp]
    labels: NDArray[np.int8]
    pass_threshold: float = 0.5
    scale: tuple[float, float] = (0.0, 1.0)
    context: RowContext | None = field(default=None, repr=False)
    source: str = field(default="", repr=False)
    votes: Votes | None = field(default=None, repr=False)
    others: tuple[NDArray[np.float64], ...] = field(default=(), repr=False)
    limits: Mapping[str, float] = field(default_factory=dict)

    def equals(self, other: Case) -> bool:
        """Whether this is the same grader over the same rows and labels, independent of other graders' scores."""
        same = all(getattr(self, name) is getattr(other, name) for name in ("grades", "context", "votes"))
        alike = all(
            getattr(self, name) == getattr(other, name)
            for name in ("pass_threshold", "scale", "source", "limits")
        )
        arrays = (np.array_equal(getattr(self, name), getattr(other, name)) for name in ("groups", "labels"))
        return same and alike and all(arrays)

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """Indices of the scored rows, (m,). No other row enters a statistic of scores."""
        return np.flatnonzero(self.grades.codes == SCORED)

    @cached_property
    def status(self) -> NDArray[Any]:
        """Status name of each row, (n,)."""
        return self.grades.statuses

    @cached_property
    def scores(self) -> NDArray[np.float64]:
        """Scores of the scored rows, scaled to 0 to 1, (m,)."""
        lo, hi = self.scale
        # Halved first: the difference of two finite numbers may overflow to infinity.
        with np.errstate(over="ignore"):
            scores = (self.grades.scores[self.rows] / 2 - lo / 2) / (hi / 2 - lo / 2)
        # One infinite score would make every mean and variance of the column infinite or NaN.
        finite: NDArray[np.float64] = np.nan_to_num(scores)
        return finite

    def finding(
        self,
        kind: str,
        severity: Severity,
        statistic: str,
        message: str,
        advice: str,
        rows: Iterable[int] = (),
        *,
        unit: str = "row",
    ) -> Finding:
        """A finding about this grader without its number: a claim adds that, its interval and the rows still needed.

        Args:
            kind: The name under which the diagnostic is registered.
            severity: Its severity.
            statistic: What is measured, such as "share of zero-variance prompts".
            message: The sentence without grader, interval and full stop.
            advice: What to do next.
            rows: Indices of the rows that are evidence for it.
            unit: Unit of the number of rows still needed, in the singular.
        """
        return Finding(
            self.grader,
            kind,
            severity,
            statistic,
            nan,
            None,
            0,
            0,
            message,
            advice,
            rows if isinstance(rows, RowNumbers) else RowNumbers(rows),
            unit=unit,
        )

    @property
    def span(self) -> float:
        """Width of the scale, at most the largest float."""
        return min(self.scale[1] - self.scale[0], sys.float_info.max)

    def in_units(self, score: float) -> float:
        """A score from 0 to 1 converted to the user's scale."""
        return self.scale[0] * (1 - score) + self.scale[1] * score

    @cached_property
    def separation(self) -> tuple[float, Interval]:
        """Probability that a good row scores above a bad one, with its interval; NaN without labels of both kinds."""
        labels = self.labels[self.rows]
        labelled = labels >= 0
        return auroc(self.scores[labelled], labels[labelled] == 1, compact(self.scored_groups[labelled]))

    @cached_property
    def raters(self) -> Raters | None:
        """The scored rows that two or more annotators labelled; None if there are none.

        Labels are given as one column per annotator, or as rows that repeat a completion with another label and, in a
        column such as `annotator`, another name.
        """
        scored = Scored(self.rows, self.accepted, self.labels[self.rows], self.scored_groups)
        if self.votes is not None:
            return raters_by_columns(self.votes, scored)
        if self.context is None or self.context.annotators is None:
            return None
        return raters_by_repeats(self.context.annotators, self.context.hashes_of, scored)

    @cached_property
    def varies(self) -> bool:
        """Whether there are two different scores."""
        # Compared rather than subtracted: the difference of two finite scores may overflow to infinity.
        return bool(len(self.scores)) and float(self.scores.min()) + SAME < float(self.scores.max())

    @property
    def is_tiny(self) -> bool:
        """Whether there are fewer than 8 scored rows: with these even a hint about their spread would be noise."""
        return len(self.rows) < _MIN_ROWS_FOR_HINTS

    @property
    def is_code(self) -> bool:
        """Whether the grader is code: it ran in a sandbox, or is built in.

        Code should make no mistake on labelled rows; a judge model makes occasional mistakes, so only its error rate counts.
        """
        return self.grades.code or self.grades.isolation not in {"", "none"}

    @cached_property
    def scored_groups(self) -> NDArray[np.intp]:
        """Prompt codes of the scored rows, counted from 0 without gaps, (m,)."""
        return compact(self.groups[self.rows])

    @cached_property
    def on_scale(self) -> bool:
        """Whether there are scores and all lie on the scale; diagnostics about its ends need that."""
        return bool(len(self.scores)) and not self.off_scale.any()

    @cached_property
    def off_scale(self) -> NDArray[np.bool_]:
        """Which scored rows are outside the scale, (m,)."""
        return (self.scores < -_SCALE_TOLERANCE) | (self.scores > 1 + _SCALE_TOLERANCE)

    @cached_property
    def accepted(self) -> NDArray[np.bool_]:
        """Which scored rows pass, (m,): by the grader's verdict, or else by the score and the pass threshold."""
        verdict = self.grades.passed[self.rows]
        return np.where(verdict >= 0, verdict == 1, self.grades.scores[self.rows] >= self.pass_threshold)


_ALPHA = 0.05  # probability of at least one false verdict in a diagnosis, the usual 5 %
_KEEP = "keep these labels to test the next version of the grader"
_MAX_PLANNED = 1_000  # maximum planned rows: more are not worth collecting for one finding


@dataclass(frozen=True)
class Claim:
    """One statistic against one limit.

    Attributes:
        finding: The finding if the claim is shown; `decide` fills in its interval and the rows still needed.
        p: One-sided p value of "not beyond the limit".
        interval: Function from a confidence level to the interval.
        units: Current rows, or prompts, in the finding's unit: the basis of a plan.
        missing: Units missing to the diagnostic's minimum; 0 if there are enough.
        otherwise: The finding if the claim is not a verdict, for example that the limit is met; None for the
            usual note, or nothing.
        plans: Whether more rows of the same kind could decide it.
    """

    finding: Finding
    p: float
    interval: Callable[[float], Interval] = field(repr=False)
    units: int = 0
    missing: int = 0
    otherwise: Finding | None = None
    plans: bool = True

    @property
    def is_verdict(self) -> bool:
        """Whether this is more than a note."""
        return self.finding.severity is not Severity.NOTE

    def needed(self, confidence: float) -> int | None:
        """Additional units needed to decide it with 90 % power; None if the current ones are too few to plan."""
        growth = growth_needed(self.p, (1 - confidence) / 2) if self.plans else None
        more = math.inf if growth is None else self.units * (growth - 1)
        return max(1, math.ceil(more)) if more <= _MAX_PLANNED else None


def claim_of(
    finding: Finding,
    p: float,
    interval: Callable[[float], Interval],
    *,
    limit: float,
    units: int = 0,
    missing: int = 0,
    plans: bool = True,
) -> Claim:
    """A claim from its parts; the default of `units` is the finding's rows."""
    at_limit = replace(finding, limit=limit)
    # Cached: claims of unchanged graders are judged again with those of a changed one.
    return Claim(at_limit, p, cache(interval), units or finding.n, max(missing, 0), plans=plans)


def share_claim(
    finding: Finding, share: Share, threshold: float, *, missing: int = 0, within_limit: str = ""
) -> Claim:
    """The claim that a share exceeds `threshold`.

    Args:
        finding: What it is about.
        share: The share.
        threshold: Its limit.
        missing: Rows missing to the diagnostic's minimum.
        within_limit: The sentence if the share is shown to be below the limit, with "{bound}" for its upper bound; ""
            to report nothing then.
    """
    filled = _in_units(replace(finding, value=share.value, n=share.n), share.units)
    claim = claim_of(
        filled, share.p_above(threshold), share.interval, limit=threshold, units=share.units, missing=missing
    )
    bound = share.upper() if within_limit and share.n else 1.0
    return (
        replace(claim, otherwise=_within_limit(claim.finding, within_limit, bound))
        if bound < threshold
        else claim
    )


def _in_units(finding: Finding, units: int) -> Finding:
    """Plans count prompts if rows share prompts: more completions of the same prompts would add little information."""
    return replace(finding, unit="prompt") if units < finding.n and finding.unit != "prompt" else finding


def _within_limit(finding: Finding, message: str, bound: float) -> Finding:
    """The limit is met: a bound at 95 % confidence, one-sided since only one side matters."""
    text = message.format(bound=percent(bound))
    return replace(
        finding,
        severity=Severity.WITHIN_LIMIT,
        message=f"not {finding.kind.replace('-', ' ')}: {text}",
        interval=Interval(0.0, bound),
        advice=_KEEP,
        rows=(),
    )


def bootstrap_claim(
    finding: Finding, boot: Bootstrap, threshold: float, *, above: bool = False, missing: int = 0
) -> Claim:
    """The claim that a bootstrapped statistic is below (or, with `above`, above) `threshold`."""
    p = boot.p_above(threshold) if above else boot.p_below(threshold)
    filled = _in_units(replace(finding, value=boot.value), boot.units)
    return claim_of(filled, p, boot.interval, limit=threshold, units=boot.units, missing=missing)


def estimate_claim(
    finding: Finding, estimate: Estimate, threshold: float, *, missing: int = 0, plan_rows: bool = True
) -> Claim:
    """The claim that an estimate is below `threshold`; without `plan_rows` nothing is reported until it is shown."""
    p = estimate.p_below(threshold)
    filled = replace(finding, value=estimate.value)
    return claim_of(
        filled, p, estimate.interval, limit=threshold, units=estimate.units, missing=missing, plans=plan_rows
    )


def decide(claims: Iterable[Claim]) -> list[Finding]:
    """Judge claims together: one finding per grader and kind, a conclusive one before an inconclusive one."""
    every = list(claims)
    candidates = [claim for claim in every if claim.p <= 0.5]  # a half: the estimate exceeds the limit
    levels = _levels(candidates)
    # Claims outside the family, including notes, have the uncorrected level.
    judged = [_judge(claim, *levels.get(id(claim), (2 * claim.p <= _ALPHA, _ALPHA))) for claim in candidates]
    kept = [claim.otherwise for claim in every if claim.p > 0.5]
    return _one_per_kind(finding for finding in judged + kept if finding is not None)


def _levels(claims: list[Claim]) -> dict[int, tuple[bool, float]]:
    # A claim with too few rows cannot become a verdict, and must not make the others' levels stricter.
    family = [claim for claim in claims if claim.is_verdict and not claim.missing]
    results = holm([2 * claim.p for claim in family], alpha=_ALPHA)
    return {id(claim): result for claim, result in zip(family, results, strict=True)}


def _judge(claim: Claim, is_shown: bool, level: float) -> Finding | None:
    finding = replace(claim.finding, interval=claim.interval(0.95), claims=max(1, round(_ALPHA / level)))
    if is_shown and not claim.missing:
        return finding
    if claim.otherwise is not None or not claim.is_verdict or not (claim.plans or claim.missing):
        return claim.otherwise
    planned = claim.needed(1 - level)
    needed = 0 if planned is None else max(planned, claim.missing)
    message = f"possibly {finding.message}"
    return replace(finding, severity=Severity.NOTE, needed=needed, message=message, undecided=True)


def _one_per_kind(findings: Iterable[Finding]) -> list[Finding]:
    best: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        key = (finding.grader, finding.kind)
        best[key] = _decided(best[key], finding) if key in best else finding
    return list(best.values())


def _decided(a: Finding, b: Finding) -> Finding:
    """The conclusive one of two; a conclusive note also carries the rows that its inconclusive verdict needs."""
    decided, undecided = (b, a) if a.undecided and not b.undecided else (a, b)
    if decided.severity is not Severity.NOTE or decided.undecided:
        return decided
    return replace(decided, needed=undecided.needed)
