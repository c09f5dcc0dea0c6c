"""The verdict of a certification, from rates and checks: their joint decision, the reason, and what to do next."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from workbench.analysis.statistics import Estimate
from workbench.analysis.statistics.certification import (
    POWER,
    level_of_look,
    more_rows,
    p_reaches,
    predicted_mean,
    reaches,
    rows_needed,
    supposed_rate,
)
from workbench.analysis.statistics.confusion import corrected_rate
from workbench.analysis.statistics.means import Share
from workbench.probes.board import NOT_TRIED
from workbench.probes.certification.cost import CertificationCost
from workbench.probes.certification.identity import DEV, EarlierLooks
from workbench.probes.certification.judge_certificate import (
    CERTIFIED,
    NOT_CERTIFIED,
    UNDECIDED,
    Certification,
    JudgeRates,
    needs_phrase,
)
from workbench.probes.certification.judged_rows import JudgedRows
from workbench.probes.certification.settings import (
    FAIL,
    PASS,
    UNTESTED,
    JudgeCheck,
    counts,
    decided,
    share_check,
    untested,
)
from workbench.report import Report

_FAILING = 0.02
"""Largest share of rows without a readable reply, as for the finding *broken*."""
_READ = 0.05
"""Share that is shown not to be exceeded for PASS: 59 rows without a failure."""


@dataclass(frozen=True)
class Basis:
    """What is known before the first request."""

    name: str
    limits: tuple[float, float]
    splits: Mapping[str, int]
    fingerprint: Mapping[str, str]
    cost: CertificationCost
    use: str
    models: tuple[str, ...]
    pass_threshold: float


class RunState(Protocol):
    """What a run has spent and noted."""

    spent: tuple[float, float, int]
    notes: list[str]

    def skips(self, name: str) -> bool:
        """Whether a check is not made."""

    def report_of(self, trial: JudgedRows) -> Report:
        """The verdicts as a report."""


def concluded(
    basis: Basis, trial: JudgedRows | None, checks: Sequence[JudgeCheck], looks: EarlierLooks, run: RunState
) -> Certification:
    """The certification of what was measured; without a trial the label plan, or a check that failed before any request."""
    plan = label_plan(basis.limits)
    rates = None if trial is None else rates_of(trial)
    found = list(checks)
    shown: list[bool] = []
    if trial is not None and rates is not None:
        found[1:1] = [
            untested(check.name, "skipped") if run.skips(check.name) else check
            for check in (_replies(trial), _reversed(trial))
        ]
        found = decided(found)
        # Each rate by itself, at the level of its displayed interval: both together err in at most 5 % of cases.
        shown = [
            p_reaches(rate, limit) <= looks.level
            for rate, limit in zip(_both(rates), basis.limits, strict=True)
        ]
    needs = _needs(rates, basis, looks, plan)
    verdict, reason, advice = _verdict(basis, rates, found, shown, looks, needs)
    return Certification(
        basis.name, verdict, reason, advice, needs if verdict == UNDECIDED else {"good": 0, "bad": 0}, plan, basis.limits, looks.level, rates,
        tuple(found), basis.splits, looks, basis.fingerprint, basis.models, basis.cost, run.spent, basis.use,
        None if trial is None else run.report_of(trial), tuple(run.notes), basis.pass_threshold,
    )  # fmt: skip


def label_plan(limits: tuple[float, float]) -> dict[str, int | None]:
    """Good and bad rows to label so that a judge whose rates are 0.95 is certified with 90 % power; None for over 1,000."""
    power = math.sqrt(POWER)  # both rates have to be shown
    needed = [rows_needed(supposed_rate(limit), limit, power=power) for limit in limits]
    return {"good": needed[0], "bad": needed[1]}


def _both(rates: JudgeRates) -> tuple[Share, Share]:
    return rates.true_positive, rates.true_negative


def rates_of(trial: JudgedRows) -> JudgeRates:
    """The rates of a judge on its labelled rows, and the corrected rates of all its rows."""
    confusion = trial.confusion
    raters = trial.case.raters if trial.votes is not None else None
    judged = np.flatnonzero(trial.verdicts >= 0)
    accepted = trial.share(trial.verdicts[judged] == 1, judged)
    good = confusion.base_rate
    return JudgeRates(
        confusion.sensitivity, confusion.specificity, confusion.kappa, confusion.observed, max(good.value, 1 - good.value) if good.n else math.nan,
        None if raters is None else raters.among, None if raters is None else raters.with_grader, accepted, _predicted(trial),
        corrected_rate(accepted, confusion.sensitivity, confusion.specificity), good,
    )  # fmt: skip


def _predicted(trial: JudgedRows) -> Estimate:
    judged = np.flatnonzero(trial.verdicts >= 0)
    labels = np.where(trial.labels >= 0, trial.labels, np.nan)[judged]
    return predicted_mean((trial.verdicts[judged] == 1).astype(np.float64), labels, trial.compact(judged))


def _replies(trial: JudgedRows) -> JudgeCheck:
    failed = trial.failed
    kinds = sorted({str(error.kind) for error in trial.grades.errors.values() if error.kind not in NOT_TRIED})
    sentence = f"{counts(failed)} rows failed" + (f" ({', '.join(kinds[:3])})" if kinds else "")
    advice = "read the errors in certification.report.errors; a prompt that shows the form of the reply, or max_tokens, often helps"
    return share_check("replies", failed, sentence, advice, limit=_FAILING, pass_limit=_READ)


def _reversed(trial: JudgedRows) -> JudgeCheck:
    """Whether the verdicts are worse than random ones: as if the verdict words were swapped."""
    youden = trial.confusion.youden
    p = 1.0 if math.isnan(youden.value) else youden.p_below(0.0)
    sentence = (
        "no label of one kind"
        if math.isnan(youden.value)
        else f"TPR + TNR - 1 is {youden.value:+.2f}; random verdicts have 0"
    )
    passes = not math.isnan(youden.value) and youden.interval(0.9).lo > 0
    advice = "the verdict's words are probably swapped: check which word the prompt gives a good completion, and negate=True of the entry"
    interval = None if math.isnan(youden.value) else youden.interval()
    return JudgeCheck("reversed", sentence, "", youden.value, interval, youden.n, 0.0, advice, p, passes)


def _needs(
    rates: JudgeRates | None, basis: Basis, looks: EarlierLooks, plan: Mapping[str, int | None]
) -> dict[str, int | None]:
    """Further rows of each label, at the level of the next look."""
    if rates is None:
        return dict(plan)
    level = level_of_look(looks.number + 1) if looks.known else looks.level
    found: dict[str, int | None] = {}
    pairs = list(zip(("good", "bad"), _both(rates), basis.limits, strict=True))
    undecided = [label for label, rate, limit in pairs if not reaches(rate, limit, level)]
    power = POWER ** (1 / max(1, len(undecided)))
    for label, rate, limit in pairs:
        if label not in undecided:
            found[label] = 0
            continue
        hits = rate.value * rate.effective if rate.n else 0.0
        more = more_rows(hits, rate.effective, limit, level=level, power=power)
        found[label] = (
            None if more is None else math.ceil(more * (rate.n / rate.effective if rate.effective else 1.0))
        )
    return found


def _verdict(
    basis: Basis,
    rates: JudgeRates | None,
    checks: Sequence[JudgeCheck],
    shown: Sequence[bool],
    looks: EarlierLooks,
    needs: Mapping[str, Any],
) -> tuple[str, str, str]:
    failed = [check for check in checks if check.outcome == FAIL]
    below = [at for at, is_below in enumerate(shown) if is_below]
    blocking = [check for check in failed if check.blocks]
    if blocking or below:
        # A cause that explains low rates leads; a check that is only a warning may be a cause, too.
        cause = (
            blocking[0]
            if blocking
            else next((check for check in failed if below and check.name == "reference"), None)
        )
        reasons = [] if cause is None else [f"{cause.name}: {cause.sentence}"]
        reasons += [_below(rates, basis, at) for at in below] if rates is not None else []
        return NOT_CERTIFIED, "; ".join(reasons), cause.advice if cause is not None else _rate_advice(below)
    if rates is None:
        return UNDECIDED, "no row was judged", _label_advice(needs)
    if basis.use == DEV:
        return (
            UNDECIDED,
            f"{_rates_text(rates)} on dev rows",
            "certify on test rows when the prompt is final: use='test'",
        )
    if all(reaches(rate, limit, looks.level) for rate, limit in zip(_both(rates), basis.limits, strict=True)):
        warnings = "".join(f"; but {check.name}: {check.sentence}" for check in failed)
        text = f"{_rates_text(rates)} reach the limit {_limits_text(basis.limits)}{warnings}"
        return CERTIFIED, text, _use_advice(checks)
    open_rates = [
        _rate_text(name, rate)
        for name, rate, limit in zip(("TPR", "TNR"), _both(rates), basis.limits, strict=True)
        if not reaches(rate, limit, looks.level)
    ]
    return (
        UNDECIDED,
        f"{' and '.join(open_rates)}: the limit {_limits_text(basis.limits)} is not decided",
        _label_advice(needs),
    )


def _below(rates: JudgeRates, basis: Basis, at: int) -> str:
    rate, limit = _both(rates)[at], basis.limits[at]
    wrong = rate.n - rate.k
    what = (
        f"it rejects {wrong:,} of {rate.n:,} good rows"
        if at == 0
        else f"it accepts {wrong:,} of {rate.n:,} bad rows"
    )
    return f"{what}: {_rate_text(('TPR', 'TNR')[at], rate)} is below the limit {limit:.2f}"


def _rate_text(name: str, rate: Share) -> str:
    if not rate.n:
        return f"{name} unknown (no such row)"
    low, high = rate.interval()
    return f"{name} {rate.value:.2f} (95 % CI {low:.2f} to {high:.2f})"


def _rates_text(rates: JudgeRates) -> str:
    return f"{_rate_text('TPR', rates.true_positive)} and {_rate_text('TNR', rates.true_negative)}"


def _limits_text(limits: tuple[float, float]) -> str:
    return (
        f"{limits[0]:.2f}" if limits[0] == limits[1] else f"{limits[0]:.2f} (TPR) and {limits[1]:.2f} (TNR)"
    )


def _rate_advice(below: Sequence[int]) -> str:
    which = [("rejected good", "accepted bad")[at] for at in below]
    calls = " and ".join(f"certification.rows({one!r})" for one in which)
    return f"read {calls}, change the prompt until dev rows are judged well (use='dev'), then certify on rows that it was not changed with"


def _label_advice(needs: Mapping[str, Any]) -> str:
    if not (more := needs_phrase(needs)):
        return "label more rows of both kinds, and certify again"
    if any(count is None for count in needs.values()):
        return "a rate is too close to the limit to be decided with 1,000 rows: improve the prompt on dev rows, or choose another limit"
    return f"label {more} of other prompts, and certify again with all of them: 90 % power"


def _use_advice(checks: Sequence[JudgeCheck]) -> str:
    unclear = [
        check.name
        for check in checks
        if check.name.startswith("transport") and check.outcome not in {PASS, UNTESTED}
    ]
    more = f"; before you compare pass rates, label more rows for {', '.join(unclear)}" if unclear else ""
    return f"use it with these settings, and report the corrected rates; certify again when judge, prompt, model or parser change{more}"
