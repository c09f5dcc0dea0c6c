"""`Decision`: one test of a grader with three outcomes, and the tests on labels, regression rows and an earlier run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.finding import percent
from workbench.analysis.statistics import clopper_pearson, compact, growth_needed
from workbench.analysis.statistics.means import BoundedMean, Share, bounded_mean, likely_scale, share
from workbench.core.display_text import counted, number, one_line, signed, two_digits
from workbench.core.grade import ErrorKind
from workbench.report.cases import label_codes, labelled_case

ALPHA = 0.05
"""One-sided level of pass and of fail: each is wrong in at most 1 of 20 checks at the limit."""
_SHOWN = 3
"""Maximum rows that a sentence names."""
_EXACT_LIMIT = 10_000
"""Maximum rows that are planned."""


class DecisionOutcome(StrEnum):
    """The outcome of a test."""

    PASS = "pass"  # noqa: S105 (an outcome)
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


PASS, FAIL, INCONCLUSIVE = DecisionOutcome.PASS, DecisionOutcome.FAIL, DecisionOutcome.INCONCLUSIVE


INFRASTRUCTURE = frozenset({
    ErrorKind.BUDGET, ErrorKind.CANCELLED, ErrorKind.PENDING, ErrorKind.SANDBOX, ErrorKind.STORE, ErrorKind.JUDGE_SERVER, ErrorKind.JUDGE_KEY,
    ErrorKind.JUDGE_LIMIT, ErrorKind.JUDGE_UNREACHABLE, ErrorKind.ENDPOINT,
})  # fmt: skip
"""Errors that do not depend on the grader: its tests could not run on these rows."""


@dataclass(frozen=True)
class Decision:
    """One test of a grader.

    Attributes:
        test: "labels", "regression", "baseline", "gate", "findings" or "scored".
        grader: The grader's name; "" for the suite.
        outcome: Whether it passed, failed, or needs more rows.
        sentence: What was measured, without the grader's name and full stop.
        needed: More rows (or prompts) that would decide it; 0 if it is decided, or no number can be computed.
        unit: Unit of `needed`, in the singular.
        rows: Lines on single rows that show it.
        value: The measured number; NaN without one.
        limit: The limit for it; NaN without one.
    """

    test: str
    grader: str
    outcome: DecisionOutcome
    sentence: str
    needed: int = 0
    unit: str = "row"
    rows: tuple[str, ...] = ()
    value: float = math.nan
    limit: float = math.nan

    @property
    def title(self) -> str:
        """Grader and test."""
        return f"{one_line(self.grader, 60)}: {self.test}" if self.grader else self.test

    def __str__(self) -> str:
        more = f"; {_more(self.needed, self.unit)}" if self.outcome is INCONCLUSIVE and self.needed else ""
        return f"{self.title}: {self.sentence}{more}"


def _more(needed: int, unit: str) -> str:
    count = needed if needed < 1_000 else two_digits(needed)
    return f"{'about ' if needed >= 1_000 else ''}{counted(count, f'more {unit}')} needed"


def on_labels(report: Any, grader: str, max_error_rate: float | None) -> Decision | None:
    """The test on labelled rows: each is a test by itself, or their share of errors is compared with a limit.

    Args:
        report: The report.
        grader: The grader.
        max_error_rate: Maximum share of rows graded against their label, or without a score; None for exact tests.
    """
    codes = label_codes(report)
    lost = {row for row, error in report.grades[grader].errors.items() if error.kind in INFRASTRUCTURE}
    labelled = np.array([row for row in np.flatnonzero(codes >= 0).tolist() if row not in lost], np.intp)
    if not len(labelled):
        return None
    accepted = _accepted(report, grader)
    wrong = accepted[labelled] != codes[labelled]
    kinds = _error_kinds(codes[labelled], accepted[labelled])
    rows = tuple(_row_lines(report, grader, labelled[wrong], codes))
    n = len(labelled)
    value = float(wrong.mean())
    if max_error_rate is None:
        sentence = (
            f"{n - int(wrong.sum()):,} of {counted(n, 'labelled row')} graded as labelled{kinds}"
            f"{'; --max-error-rate RATE accepts a share of errors' if wrong.any() else ''}"
        )
        return Decision(
            "labels", grader, FAIL if wrong.any() else PASS, sentence, rows=rows, value=value, limit=0.0
        )
    found = share(wrong, compact(report.prompt_codes[labelled]))
    outcome, needed = _against_limit(found, max_error_rate)
    lo, hi = found.interval(1 - 2 * ALPHA)
    sentence = (
        f"{percent(value)} of {counted(n, 'labelled row')} graded against the label (one-sided 95 % bounds {percent(lo)} and "
        f"{percent(hi)}; limit {percent(max_error_rate)}){kinds}"
    )
    unit = "labelled row" if math.isinf(found.df) else "labelled prompt"
    return Decision("labels", grader, outcome, sentence, needed, unit, rows, value, max_error_rate)


def _accepted(report: Any, grader: str) -> NDArray[np.int8]:
    """1 accepted, 0 rejected, -1 without a score, (n,)."""
    case = labelled_case(report, grader, report.prompt_codes)
    accepted = np.full(len(report), -1, np.int8)
    accepted[case.rows] = case.accepted
    return accepted


def _error_kinds(codes: NDArray[np.int8], accepted: NDArray[np.int8]) -> str:
    counts = {
        "known-bad accepted": int(((codes == 0) & (accepted == 1)).sum()),
        "known-good rejected": int(((codes == 1) & (accepted == 0)).sum()),
        "without a score": int((accepted < 0).sum()),
    }
    listed = ", ".join(f"{count:,} {kind}" for kind, count in counts.items() if count)
    return f": {listed}" if listed else ""


def _row_lines(report: Any, grader: str, rows: NDArray[np.intp], codes: NDArray[np.int8]) -> Iterable[str]:
    grades = report.grades[grader]
    ids, texts = report.samples.ids, report.samples.completions(rows)
    for row, text in zip(rows.tolist(), texts, strict=True):
        grade = grades[row]
        result = f"score {number(grade.score)}" if grade.score is not None else "no score"
        why = f"; {one_line(f'{grade.error.kind}: {grade.error.message}', 120)}" if grade.error else ""
        label = "good" if codes[row] == 1 else "bad"
        yield f"row {one_line(ids[row], 60)}: labelled {label}, {result}{why}; completion {one_line(repr(text), 100)}"


def _against_limit(found: Share, limit: float) -> tuple[DecisionOutcome, int]:
    """Whether a share is shown below or above a limit; else how many more rows are needed."""
    lo, hi = found.interval(1 - 2 * ALPHA)
    if hi <= limit:
        return PASS, 0
    if lo > limit:
        return FAIL, 0
    planned = (
        found.needed_above(limit, 1 - 2 * ALPHA)
        if found.value > limit
        else found.complement.needed_above(1 - limit, 1 - 2 * ALPHA)
    )
    return INCONCLUSIVE, planned or _without_more_errors(found, limit) or _planned_by_rate(found, limit)


def _planned_by_rate(found: Share, limit: float) -> int:
    """The rows that show a share above a limit in 90 % of cases if the observed share is the true one; 0 for more than 10,000."""
    rate = found.value
    if not limit < rate < 1:
        return 0
    spread = _LEVEL_SCORE * math.sqrt(limit * (1 - limit)) + _POWER_SCORE * math.sqrt(rate * (1 - rate))
    more = math.ceil((spread / (rate - limit)) ** 2) - found.units
    return more if 0 < more <= _EXACT_LIMIT else 0


def _without_more_errors(found: Share, limit: float) -> int:
    """The rows that show a share below a limit if none of them is an error; 0 for more than 10,000."""
    if found.value > limit or limit <= 0:
        return 0
    units = found.units
    hits = found.value * units
    low, high = units, units + _EXACT_LIMIT
    if clopper_pearson(hits, high, confidence=1 - 2 * ALPHA).hi > limit:
        return 0
    while high - low > 1:
        middle = (low + high) // 2
        if clopper_pearson(hits, middle, confidence=1 - 2 * ALPHA).hi <= limit:
            high = middle
        else:
            low = middle
    return high - units


def on_drop(
    grader: str,
    before: NDArray[np.float64],
    now: NDArray[np.float64],
    groups: NDArray[np.intp],
    *,
    max_drop: float | None,
    subject: str = "mean score",
) -> Decision:
    """The test that a paired mean did not drop by more than a margin.

    Args:
        grader: The grader.
        before: Values of the earlier run, (n,).
        now: Values of this run on the same rows, (n,).
        groups: The prompt of each row, (n,).
        max_drop: The margin, in units of the values; None for 5 % of their scale.
        subject: What the values are.
    """
    n = len(now)
    if not n:
        return Decision("baseline", grader, INCONCLUSIVE, "no row has a score in both runs")
    both = np.concatenate([before, now])
    low, high = likely_scale(both) or (float(both.min()), float(both.max()))
    span = max(high - low, 1e-12)
    margin = min(_MARGIN * span if max_drop is None else max_drop, span)
    gaps = now - before
    value = float(gaps.mean())
    limit_text = f"limit a drop of {number(margin)}"
    if not gaps.any():
        sentence = f"{subject} unchanged on {counted(n, 'row')}, row by row"
        return Decision("baseline", grader, PASS, sentence, value=0.0, limit=-margin)
    mean = bounded_mean(gaps, compact(groups), low=-span, high=span)
    lo, hi = mean.lower(ALPHA), mean.upper(ALPHA)
    outcome = PASS if lo >= -margin else FAIL if hi < -margin else INCONCLUSIVE
    needed = 0
    if outcome is INCONCLUSIVE:
        p = mean.p_below(-margin) if value < -margin else mean.p_above(-margin)
        growth = growth_needed(p, ALPHA)
        planned = _clusters_for(mean, margin) if growth is None else math.ceil(mean.clusters * growth)
        needed = (
            max(1, planned - mean.clusters) if planned else 0
        )  # with a margin of 0 no number can be computed
    sentence = (
        f"{subject} {signed(value)} on {counted(n, 'row')} of both runs (one-sided 95 % bounds {signed(lo)} and {signed(hi)}; "
        f"{limit_text}); {counted(int((gaps != 0).sum()), 'row')} changed"
    )
    unit = "row" if mean.clusters == n else "prompt"
    return Decision("baseline", grader, outcome, sentence, needed, unit, value=value, limit=-margin)


def _clusters_for(mean: BoundedMean, margin: float) -> int:
    """The clusters with which the bound of an unchanged mean is within the margin in 90 % of cases, by the observed spread."""
    average = float(mean.sizes @ mean.counts) / float(mean.counts.sum())
    deviations = (mean.sums - mean.value * mean.sizes) / average
    spread = math.sqrt(float(mean.counts @ deviations**2) / max(mean.clusters - 1, 1))
    return math.ceil(((_LEVEL_SCORE + _POWER_SCORE) * spread / margin) ** 2) if margin > 0 else 0


_LEVEL_SCORE, _POWER_SCORE = 1.6449, 1.2816
"""Normal scores of a one-sided level of 5 % and of a power of 90 %."""

_MARGIN = 0.05
"""Default margin of a drop, as a share of the scale."""


def on_regression(grader: str, again: Any) -> Decision:
    """The test on regression rows of a probe: all holes closed, no known-good row newly rejected."""
    n = len(again.rows)
    holes = len(again.closed) + len(again.open)
    closed = f"{len(again.closed)} of {counted(holes, 'hole')} closed, " if holes else ""
    known_good = counted(again.lost + again.kept, "known-good row")
    sentence = f"{closed}{again.lost} of {known_good} newly rejected ({counted(n, 'regression row')})"
    frame = again.rows[~again.rows["right"]]
    lines = [
        f"{one_line(probe, 40)}: should be {'accepted' if label else 'rejected'}, "
        f"{'no score' if math.isnan(score) else f'score {number(score)}'}{_completion(text)}"
        for probe, label, score, text in zip(
            frame["probe"],
            frame["label"],
            frame["score"],
            frame.get("completion", [None] * len(frame)),
            strict=True,
        )
    ]
    return Decision("regression", grader, PASS if again.ok else FAIL, sentence, rows=tuple(lines))


def _completion(text: Any) -> str:
    return f"; completion {one_line(repr(text), 100)}" if isinstance(text, str) else ""


def on_findings(report: Any, severities: Sequence[str]) -> Decision | None:
    """The test that no finding has one of some severities; None if findings do not count."""
    if not severities:
        return None
    found = [finding for finding in report.findings if finding.severity in severities]
    sentence = f"{counted(len(found), 'finding')} of severity {' or '.join(severities)}"
    return Decision(
        "findings", "", FAIL if found else PASS, sentence, rows=tuple(str(finding) for finding in found)
    )


def on_gate(report: Any) -> Decision | None:
    """The suite's own gate; None without one."""
    if report.gate is None:
        return None
    text = one_line(str(report.gate), 300)
    return Decision("gate", "", PASS if report.gate.passed else FAIL, text)


def shown_rows(decision: Decision, limit: int = _SHOWN) -> list[str]:
    """At most `limit` of a decision's rows, and the number of the others."""
    rest = len(decision.rows) - limit
    return [*decision.rows[:limit], *([f"and {rest:,} more"] if rest > 0 else [])]
