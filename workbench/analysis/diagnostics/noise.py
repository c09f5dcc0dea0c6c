"""Findings about consistency: rows graded several times, and code whose scores depend on state or chance."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.case import Case, Claim, estimate_claim, share_claim
from workbench.analysis.diagnostics import diagnostic
from workbench.analysis.finding import Finding, RowNumbers, Severity, percent
from workbench.analysis.statistics import compact
from workbench.analysis.statistics.means import Share, share
from workbench.analysis.statistics.noise import (
    Reliability,
    flip_share,
    reliability,
    row_ranges,
    row_sds,
    within_sd,
)
from workbench.core.display_text import counted
from workbench.core.grades import FAILED, SCORED


@dataclass(frozen=True)
class Repeats:
    """Rows that were graded several times, and how far their grades differ.

    Attributes:
        rows: Indices of the rows with two or more scored repeats, (m,); only these are included.
        scores: float64 (m, r) on 0 to 1, NaN if a repeat has no score.
        verdicts: int8 (m, r): 1 accepted, 0 refused, -1 if a repeat has no score.
        groups: Prompt of each row, (m,), counted from 0 without gaps.
        reduced: How the report's grade was computed from them.
    """

    rows: NDArray[np.intp]
    scores: NDArray[np.float64]
    verdicts: NDArray[np.int8]
    groups: NDArray[np.intp]
    reduced: str

    @cached_property
    def reliability(self) -> Reliability:
        """ICC(1,1) with its interval."""
        return reliability(self.scores, self.groups)

    @cached_property
    def _flips(self) -> tuple[Share, NDArray[np.bool_]]:
        return flip_share(self.verdicts, self.groups)

    @property
    def flip_share(self) -> Share:
        """The share of rows whose repeats have different verdicts."""
        return self._flips[0]

    @property
    def flips(self) -> NDArray[np.bool_]:
        """Which rows these are, (m,)."""
        return self._flips[1]

    @cached_property
    def ranges(self) -> NDArray[np.float64]:
        """Highest less lowest score of each row, (m,)."""
        return row_ranges(self.scores)

    @cached_property
    def sds(self) -> NDArray[np.float64]:
        """Sample sd (ddof=1) of each row's repeats, (m,)."""
        return row_sds(self.scores)

    @cached_property
    def within_sd(self) -> float:
        """Sd of one grade around its row's mean."""
        return within_sd(self.scores)

    @property
    def grade_sd(self) -> float:
        """The sd of the grade in the report: a mean of r repeats has less noise, by the square root of r.

        For a median or a majority the sd of one grade is used, which is an upper bound.
        """
        return self.within_sd / math.sqrt(self.scores.shape[1]) if self.reduced == "mean" else self.within_sd

    @property
    def widest_first(self) -> NDArray[np.intp]:
        """Positions of the rows, (m,): those that flip first, and of these the widest spread."""
        return np.lexsort((np.arange(len(self.rows)), -self.ranges, ~self.flips))


def repeats_of(case: Case) -> Repeats | None:
    """The repeats of a grader; None if it graded every row once, or no row has two scores."""
    passes = case.grades.repeats
    if len(passes) < 2:
        return None
    raw = np.array([np.where(one.codes == SCORED, one.scores, np.nan) for one in passes]).T
    verdicts = np.array([one.passed for one in passes]).T
    several = np.flatnonzero((~np.isnan(raw)).sum(axis=1) >= 2)
    if not len(several):
        return None
    raw, verdicts = raw[several], verdicts[several]
    accepted = np.where(verdicts >= 0, verdicts, raw >= case.pass_threshold).astype(np.int8)
    return Repeats(
        several,
        _on_unit_scale(raw, case.scale),
        np.where(np.isnan(raw), -1, accepted).astype(np.int8),
        compact(case.groups[several]),
        case.grades.reduced,
    )


def _on_unit_scale(scores: NDArray[np.float64], scale: tuple[float, float]) -> NDArray[np.float64]:
    lo, hi = scale
    # Halved first, as in `Case.scores`: the difference of two finite numbers may overflow to infinity.
    with np.errstate(over="ignore"):
        scaled = (scores / 2 - lo / 2) / (hi / 2 - lo / 2)
    return np.where(np.isnan(scores), np.nan, np.nan_to_num(scaled))


# Share of rows: Haldar & Hockenmaier 2025 (arXiv 2510.27106); arXiv 2606.13685 finds 13.6 % of pairs that flip.
_FLIPS = 0.05
_ICC = 0.75  # below it reliability is at most moderate: Koo & Li 2016
_ROWS, _HINT_ROWS = 30, 8  # rows for a verdict by the ICC (Koo & Li 2016), and for any hint
_FAILING = 0.02  # share of rows, as for *broken*
_MISTAKES = ("too-lenient", "too-strict", "disagrees-with-labels", "no-better-than-chance", "drifts")
_ADVICE = (
    "read the rows that differ most, and state in the criterion what decides them; or grade every row several times and "
    'take the majority: run(..., repeats=3, reduce="majority")'
)


@diagnostic("inconsistent", unless=("keeps-state", "uses-chance"), explains=_MISTAKES)
def inconsistent(case: Case) -> Iterable[Claim]:
    """Over 5 % of rows get another verdict when graded again (lower bound), or ICC(1,1) below 0.75 (upper bound).

    For runs with repeats; the ICC takes 30 rows. A row flips if its repeats have different verdicts (Haldar & Hockenmaier
    2025, arXiv 2510.27106); below an ICC of 0.75 reliability is at most moderate (Koo & Li 2016, "A guideline of selecting
    and reporting intraclass correlation coefficients"). Evidence: the rows that differ most are first.
    """
    repeats = repeats_of(case)
    if repeats is None or len(repeats.rows) < _HINT_ROWS:
        return
    yield share_claim(_flipping(case, repeats), repeats.flip_share, _FLIPS)
    if len(repeats.rows) >= _ROWS and not np.isnan(repeats.reliability.value):
        yield estimate_claim(_unreliable(case, repeats), repeats.reliability, _ICC)


def _flipping(case: Case, repeats: Repeats) -> Finding:
    flips, count = repeats.flip_share, repeats.scores.shape[1]
    message = (
        f"inconsistent: {flips.k:,} of {flips.n:,} rows get another verdict when they are graded {count} times, "
        f"{percent(flips.value)}"
    )
    order = repeats.widest_first
    rows = repeats.rows[order[repeats.flips[order]]]
    return case.finding("inconsistent", Severity.WARNING, "share of rows that flip", message, _ADVICE, rows)


def _unreliable(case: Case, repeats: Repeats) -> Finding:
    icc = repeats.reliability
    message = (
        f"inconsistent: {percent(1 - max(icc.value, 0.0))} of score variance is noise (within-row "
        f"sd {repeats.within_sd:.2g}, ICC {icc.value:.2f})"
    )
    order = repeats.widest_first
    rows = repeats.rows[order[repeats.ranges[order] > 0]]
    return case.finding("inconsistent", Severity.WARNING, "ICC", message, _ADVICE, rows)


@diagnostic("fails-when-repeated", unless="broken")
def fails_when_repeated(case: Case) -> Iterable[Claim]:
    """Over 2 % of scored rows fail when graded again (lower bound): a failure does not count as agreement."""
    later = case.grades.repeats[1:]
    first = case.grades.codes == SCORED
    if not later or not first.any():
        return
    failed = np.any([each.codes == FAILED for each in later], axis=0) & first
    found = share(failed[first], compact(case.groups[first]))
    message = (
        f"fails when repeated: {found.k:,} of {found.n:,} rows with a score have a repeat without one, "
        f"{percent(found.value)}"
    )
    advice = "read the errors in report.repeats; findings about noise use only the repeats that have a score"
    rows = np.flatnonzero(failed)
    finding = case.finding(
        "fails-when-repeated", Severity.ERROR, "share of rows that fail again", message, advice, rows
    )
    yield share_claim(finding, found, _FAILING)


@diagnostic("keeps-state", explains=_MISTAKES)
def keeps_state(case: Case) -> Iterable[Finding]:
    """Code gave rows another score in another order: it keeps state between rows (a fact, observed on a few rows)."""
    if case.grades.unstable == "state":
        message = "its score of a row depends on which rows the worker graded before, so means vary with the number of workers"
        advice = (
            "compute every score from its row only: no global, list or counter that grade writes to, and no iterator that "
            "advances from row to row"
        )
        yield _changed(case, "keeps-state", f"keeps state between rows: {message}", advice)


@diagnostic("uses-chance", explains=_MISTAKES)
def uses_chance(case: Case) -> Iterable[Finding]:
    """Code gave rows another score although it graded the same rows in the same order (a fact, observed on a few rows)."""
    if case.grades.unstable == "chance":
        message = "not repeatable: the grader is random or reads the clock, so the same rows get different scores in every run"
        advice = "remove random, time, uuid and os.urandom, or seed with the row's text: random.Random(text)"
        yield _changed(case, "uses-chance", message, advice)


def _changed(case: Case, kind: str, message: str, advice: str) -> Finding:
    """The finding, with the share of the tested rows that changed. One row is sufficient evidence: the interval is for the share."""
    tried = case.grades.graded_again
    rows = np.array(sorted(tried), dtype=np.intp)
    changed = np.array([tried[int(row)] for row in rows], dtype=bool)
    found = share(changed)
    # Scores that depend on the number of workers are invalid; randomness may be intended by the author.
    severity = Severity.ERROR if kind == "keeps-state" else Severity.WARNING
    told = f"{message}; {found.k:,} of {counted(found.n, 'row')} graded again changed"
    return Finding(
        case.grader, kind, severity, "share of rows that changed", found.value, found.interval(), found.n, 0,
        told, advice, RowNumbers(rows[changed]),
    )  # fmt: skip
