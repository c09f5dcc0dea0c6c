"""Gate conditions that cannot fail, or cannot pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.diagnostics.claim import Claim, share_claim
from workbench.analysis.diagnostics.finding import Finding, Severity
from workbench.analysis.diagnostics.suite_case import SuiteCase, missing_units
from workbench.analysis.diagnostics.suite_registry import suite_diagnostic
from workbench.analysis.statistics import share
from workbench.graders.combine import AllPass, Entry, Gate

__all__ = ["gate_without_effect", "never_blocks", "never_passes"]

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
