"""Diagnostics: statistical findings about a grader from its column of grades, with the rows as evidence.

Each module of this package contains one family. A diagnostic is a function from a `Case` (the grades of one grader) to
claims and findings, registered by `@diagnostic(kind)`. A diagnostic of a suite is a function from a `SuiteCase` (several
graders over the same rows), registered by `@suite_diagnostic(kind)`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.case import Case, Claim, decide
from workbench.analysis.finding import Finding, Severity
from workbench.analysis.labels import Votes, read_labels
from workbench.analysis.suite_case import SuiteCase, suite_results
from workbench.core.discovery import load_modules, refuse_taken
from workbench.core.display_text import did_you_mean
from workbench.core.errors import ReportError
from workbench.core.grades import Grades

LIMITED = ("too-lenient", "too-strict")
"""Kinds with a configurable limit: how many mistakes are too many depends on the use of the grader."""

Prompts = Sequence[Hashable] | NDArray[Any]
Diagnostic = Callable[[Case], Iterable[Claim | Finding]]
_REGISTER: dict[str, dict[str, Diagnostic]] = {}
_OVERLAP: dict[str, tuple[str, ...]] = {}  # kind: the kinds that include it
_CAUSES: dict[str, tuple[str, ...]] = {}  # kind: the kinds that follow from it
_ORDER: dict[str, int] = {}  # kind: its order among causes
_BESIDE: dict[str, Callable[[Case], bool]] = {}  # kind: whether it reads the scores of other graders

Known = dict[tuple[str, str], tuple[Case, list[Claim | Finding]]]
"""Cached results of diagnostics, by grader and kind, with the case for which they are valid."""


class Graded(Protocol):
    """The part of a report that diagnosis uses: grades by name, and the prompt of each row."""

    @property
    def grades(self) -> Mapping[str, Grades]:
        """Grades by grader name."""

    @property
    def groups(self) -> Prompts:
        """The prompt of each row."""


def diagnostic(
    kind: str,
    *,
    presets: Sequence[str] = ("workbench",),
    unless: str | tuple[str, ...] = (),
    explains: tuple[str, ...] = (),
    order: int = 0,
    beside: Callable[[Case], bool] | None = None,
) -> Callable[[Diagnostic], Diagnostic]:
    """Register a function from `Case` to claims and findings under its kind.

    Args:
        kind: A short hyphenated name, shown in findings.
        presets: Presets it belongs to.
        unless: Another kind that includes this one, or several: if one of them is found with the same
            severity or a higher one, this one is omitted.
        explains: Kinds that follow from this one: if this one is a verdict, the others name it as their cause and are
            listed below it.
        order: Of several causes the one with the lowest order is named, of equal ones the one registered first.
        beside: Whether it reads `Case.others` of a case, the scores of other graders; None for never. If it does, it is
            run again whenever one of these changes.

    Raises:
        ValueError: Another function has the name.
    """

    def register(function: Diagnostic) -> Diagnostic:
        for preset in presets:
            refuse_taken("diagnostic", kind, _REGISTER.get(preset, {}).get(kind), function)
        _OVERLAP[kind] = (unless,) if isinstance(unless, str) else unless
        _CAUSES[kind], _ORDER[kind] = explains, order
        _BESIDE.update({} if beside is None else {kind: beside})
        for preset in presets:
            _REGISTER.setdefault(preset, {})[kind] = function
        return function

    return register


def presets() -> list[str]:
    """Names of the available presets."""
    return sorted(_REGISTER)


def kinds(preset: str = "workbench") -> dict[str, Diagnostic]:
    """The diagnostics of one preset, by kind.

    Raises:
        ReportError: The preset is unknown; the message lists the available ones.
    """
    if preset not in _REGISTER:
        raise ReportError(
            "unknown preset of diagnostics",
            found=repr(preset),
            expected=" or ".join(map(repr, presets())),
            hint=did_you_mean(str(preset), _REGISTER) or "preset='workbench' gives verdicts with intervals",
        )
    return dict(_REGISTER[preset])


def diagnose(
    source: Graded | Mapping[str, Grades] | Grades,
    *,
    preset: str = "workbench",
    labels: Any = None,
    pass_threshold: float | None = None,
    groups: Prompts | None = None,
    scale: tuple[float, float] = (0.0, 1.0),
    limits: Mapping[str, float] | None = None,
) -> list[Finding]:
    """Diagnose one or more graders: report faults, with an interval for every verdict.

    Args:
        source: A report, grades by grader name, or the grades of one grader.
        preset: "workbench" (confidence bounds decide, or the number of rows still needed is reported), "seed" (fixed
            thresholds, no interval) or "vllora" (its dry run, readiness gate and code reference, with the topics
            of a column `topic`; no interval).
        labels: Label of each row: True known good, False known bad, None unknown, (n,); or `Votes`, the labels of
            several annotators. Leniency requires known-bad rows, strictness known-good ones.
        pass_threshold: Lowest score that accepts a row, on the scale; its middle by default, 0.5 of 0 to 1. If a
            grader returns a verdict, that counts instead.
        groups: Prompt of each row, (n,); those of the report by default. Rows of one prompt are not
            independent, and bounds allow for it.
        scale: Lowest and highest score of the scale the graders use.
        limits: Limits that differ from the default, by kind: shares above 0 and below 1 for "too-lenient" and "too-strict".

    Returns:
        Findings, most severe first.

    Raises:
        ReportError: Unknown preset, labels or groups of the wrong length, labels that are neither
            True, False nor missing, a scale whose ends are not in order, or a pass threshold off the scale.

    Example:
        >>> grades = Grades.empty(40)
        >>> grades.put_scores(0, np.ones(40), seconds=0.001)
        >>> print(diagnose({"polite": grades})[0])
        polite: gives every row the same score, 1 on 40 of 40 rows (95 % interval 91.2 % to 100 %).
    """
    mark = threshold_on_scale(pass_threshold, scale)
    own_limits = _checked_limits(limits or {})
    by_name, prompts = _read(source, groups)
    rules = kinds(preset)
    codes_by_length = {
        n: (group_codes(prompts, n), read_labels(labels, n)) for n in set(map(len, by_name.values()))
    }
    results: list[Claim | Finding] = []
    known: Known = getattr(source, "known_claims", {})
    for name, grades in by_name.items():
        case = Case(
            name, grades, *codes_by_length[len(grades)], mark, scale, getattr(source, "columns", None),
            getattr(source, "sources", {}).get(name, ""), labels if isinstance(labels, Votes) else None,
            tuple(other.scores for other in by_name.values() if other is not grades and len(other) == len(grades)),
            own_limits,
        )  # fmt: skip
        results += [result for kind, rule in rules.items() for result in _asked(kind, rule, case, known)]
    if len(codes_by_length) == 1:
        ((codes, _),) = codes_by_length.values()
        parts = getattr(source, "suite", None)
        results += suite_results(SuiteCase(by_name, codes, parts, mark, scale), preset)
    return [replace(finding, preset=preset) for finding in _sorted(results, list(by_name))]


def _asked(kind: str, rule: Diagnostic, case: Case, known: Known) -> list[Claim | Finding]:
    """The result of a diagnostic for a case; cached if it was run on the same grades before."""
    before = known.get((case.grader, kind))
    reads_others = kind in _BESIDE and _BESIDE[kind](case)
    if before is not None and not reads_others and case.equals(before[0]):
        return before[1]
    results = list(rule(case))
    known[case.grader, kind] = case, results
    return results


def check_arguments(
    n: int, *, preset: str, labels: Any, pass_threshold: float | None, scale: tuple[float, float]
) -> None:
    """Raise what `diagnose` would raise for these arguments, before there are any grades.

    Args:
        n: Number of rows to be graded.
        preset: As in `diagnose`.
        labels: As in `diagnose`.
        pass_threshold: As in `diagnose`.
        scale: As in `diagnose`.

    Raises:
        ReportError: As `diagnose`.
    """
    threshold_on_scale(pass_threshold, scale)
    kinds(preset)
    read_labels(labels, n)


def _read(
    source: Graded | Mapping[str, Grades] | Grades, groups: Prompts | None
) -> tuple[Mapping[str, Grades], Prompts | None]:
    if isinstance(source, Grades):
        return {"grader": source}, groups
    if isinstance(source, Mapping):
        return source, groups
    return source.grades, source.groups if groups is None else groups


def _sorted(results: list[Claim | Finding], names: list[str]) -> list[Finding]:
    """Most severe first, each followed by the findings it explains."""
    facts = [result for result in results if isinstance(result, Finding)]
    findings = facts + decide(result for result in results if isinstance(result, Claim))
    explained = _with_causes(_without_overlap(findings))
    places = {(finding.grader, finding.kind): place for place, finding in enumerate(explained)}
    leads = [places.get((finding.grader, finding.cause), place) for place, finding in enumerate(explained)]
    # A cause is as severe as the most severe of its consequences.
    ranks = dict.fromkeys(leads, len(Severity))
    for lead, finding in zip(leads, explained, strict=True):
        ranks[lead] = min(ranks[lead], finding.severity.rank)

    def order(place: int) -> tuple[object, ...]:
        finding, lead = explained[place], leads[place]
        return (ranks[lead], names.index(finding.grader), lead, place != lead, finding.severity.rank, place)

    return [explained[place] for place in sorted(range(len(explained)), key=order)]


def _with_causes(findings: list[Finding]) -> list[Finding]:
    """Findings with the kind of the verdict about the same grader that explains them."""
    verdicts = {
        (finding.grader, finding.kind) for finding in findings if finding.is_verdict and finding.leads
    }
    results = [replace(finding, cause=_cause_of(finding, verdicts)) for finding in findings]
    # If a verdict explains that a limit could be exceeded, meeting it here does not count.
    return [
        finding for finding in results if finding.severity is not Severity.WITHIN_LIMIT or not finding.cause
    ]


def _cause_of(finding: Finding, verdicts: set[tuple[str, str]]) -> str:
    """The first verdict that explains a finding and is not itself explained; "" if there is none.

    Of two that explain each other, the one registered first is the cause.
    """
    kinds = [
        kind
        for kind in _CAUSES
        if (finding.grader, kind) in verdicts
        and finding.kind in _CAUSES[kind]
        and not (kind in _CAUSES[finding.kind] and _is_verdict_before(finding, kind, verdicts))
    ]
    first = [kind for kind in kinds if not any(kind in _CAUSES[other] for other in kinds)]
    return min(first or kinds, key=_ORDER.__getitem__, default="")


def _is_verdict_before(finding: Finding, kind: str, verdicts: set[tuple[str, str]]) -> bool:
    """Whether a finding is a verdict of a kind that was registered before another one."""
    order = list(_CAUSES)
    return (finding.grader, finding.kind) in verdicts and order.index(finding.kind) < order.index(kind)


def _without_overlap(findings: list[Finding]) -> list[Finding]:
    """Without findings that a more severe one about the same grader includes: `unless` in `diagnostic`."""
    ranks = {(finding.grader, finding.kind): finding.severity.rank for finding in findings}
    return [finding for finding in findings if finding.severity.rank < _rank_including(finding, ranks)]


def _rank_including(finding: Finding, ranks: Mapping[tuple[str, str], int]) -> int:
    """Rank of the most severe finding that includes this one; beyond every rank if there is none."""
    ranks_of_others = (ranks.get((finding.grader, kind)) for kind in _OVERLAP.get(finding.kind, ()))
    return min((rank for rank in ranks_of_others if rank is not None), default=len(Severity))


def group_codes(groups: Prompts | None, n: int) -> NDArray[np.intp]:
    """Prompts as integer codes from 0 on, (n,); a missing prompt counts as a separate prompt.

    Raises:
        ReportError: Their number is not n.
    """
    if groups is None:
        return np.arange(n, dtype=np.intp)
    _check_length("groups", len(groups), n)
    if isinstance(groups, np.ndarray) and groups.dtype == np.intp:
        return pd.factorize(groups)[0].astype(np.intp)  # codes already, possibly with gaps
    codes = pd.factorize(pd.Series(cast("Any", groups), dtype=object))[0].astype(np.intp)
    is_missing = codes < 0
    codes[is_missing] = codes.max(initial=-1) + 1 + np.arange(is_missing.sum())
    return codes


def _check_length(argument: str, length: int, n: int) -> None:
    if length != n:
        raise ReportError(
            f"{argument} must have one entry per row", found=f"{length:,} entries", expected=f"{n:,} entries"
        )


def threshold_on_scale(pass_threshold: Any, scale: Any) -> float:
    """The pass threshold as passed, or the middle of the scale.

    Raises:
        ReportError: It is not a finite number, not on the scale, or the ends of the scale are not in order.
    """
    lo, hi = _ends(scale)
    if pass_threshold is None:
        # Halved before they are added: the sum of two finite numbers may overflow to infinity.
        return lo / 2 + hi / 2
    if not _is_finite(pass_threshold):
        raise ReportError(
            "pass_threshold must be a finite number", found=repr(pass_threshold), expected="such as 0.5"
        )
    if not lo <= pass_threshold <= hi:
        raise ReportError(
            "pass_threshold is not on the scale",
            found=f"pass_threshold={pass_threshold!r}",
            expected=f"{lo:g} to {hi:g}",
            hint="pass the graders' scale, scale=(lowest, highest), or omit pass_threshold for its middle",
        )
    return float(pass_threshold)


def _checked_limits(limits: Mapping[str, float]) -> Mapping[str, float]:
    """Limits as passed, each a share between 0 and 1.

    Raises:
        ReportError: A kind without a configurable limit, or a limit that is not a share.
    """
    for kind, limit in limits.items():
        if kind not in LIMITED or not _is_finite(limit) or not 0 < limit < 1:
            raise ReportError(
                "invalid limit", found=f"{kind!r}: {limit!r}"[:120],
                expected=f"a share between 0 and 1 for {' or '.join(map(repr, LIMITED))}",
            )  # fmt: skip
    return dict(limits)


def _ends(scale: Any) -> tuple[float, float]:
    pair = isinstance(scale, tuple | list) and len(scale) == 2 and all(map(_is_finite, scale))
    if not pair or not scale[0] < scale[1]:
        raise ReportError(
            "scale must be the lowest and the highest score",
            found=repr(scale),
            expected="two finite numbers, the lower one first, such as (0, 1)",
        )
    return float(scale[0]), float(scale[1])


def _is_finite(value: Any) -> bool:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return bool(number and np.isfinite(value))


# Each module registers its diagnostics when it is loaded; findings are listed in that order.
load_modules(sys.modules[__name__])
