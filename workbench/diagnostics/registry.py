"""The register of diagnostics, and `diagnose`, which runs a preset of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.diagnostics.case import Case
from workbench.diagnostics.claim import Claim, settle
from workbench.diagnostics.finding import Finding, Severity
from workbench.diagnostics.labels import read_labels
from workbench.errors import ReportError
from workbench.grades import Grades

__all__ = [
    "Graded",
    "check_arguments",
    "diagnose",
    "diagnostic",
    "group_codes",
    "kinds",
    "pass_mark",
    "presets",
]

Prompts = Sequence[Hashable] | NDArray[Any]
Diagnostic = Callable[[Case], Iterable[Claim | Finding]]
_REGISTER: dict[str, dict[str, Diagnostic]] = {}
_OVERLAP: dict[str, tuple[str, ...]] = {}  # kind to the kinds that say the same and more


class Graded(Protocol):
    """What a report offers to diagnosis: grades by name, and the prompt of each row."""

    @property
    def grades(self) -> Mapping[str, Grades]:
        """Grades by grader name."""

    @property
    def groups(self) -> Prompts:
        """The prompt each row answers."""


def diagnostic(
    kind: str, *, presets: Sequence[str] = ("workbench",), unless: str | tuple[str, ...] = ()
) -> Callable[[Diagnostic], Diagnostic]:
    """Register a function from `Case` to claims and findings under its kind.

    Args:
        kind: A short hyphenated name, shown in findings.
        presets: Sets of rules it belongs to.
        unless: Another kind that says the same and more, or several: where one of them is found and weighs
            as much, this one is left out.
    """

    def register(function: Diagnostic) -> Diagnostic:
        _OVERLAP[kind] = (unless,) if isinstance(unless, str) else unless
        for preset in presets:
            _REGISTER.setdefault(preset, {})[kind] = function
        return function

    return register


def presets() -> list[str]:
    """Names of the presets that exist."""
    return sorted(_REGISTER)


def kinds(preset: str = "workbench") -> dict[str, Diagnostic]:
    """The diagnostics of one preset, by kind.

    Raises:
        ReportError: No such preset; the message lists those there are.
    """
    if preset not in _REGISTER:
        raise ReportError(
            "there is no such set of diagnostics",
            found=repr(preset),
            expected=" or ".join(map(repr, presets())),
            hint="preset='workbench' gives verdicts with intervals",
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
) -> list[Finding]:
    """Say what is wrong with one or more graders, with an interval behind every verdict.

    Args:
        source: A report, grades by grader name, or the grades of one grader.
        preset: "workbench" (bounds decide, or say how many more rows they need) or "seed" (fixed
            cut-offs on the rows there are, no interval) or "vllora" (its dry run, readiness gate and code
            reference, with the topics of a column `topic`; no interval).
        labels: What is known of each row: True good, False bad, None unknown, (n,). Only with known
            bad rows can a grader be called lenient, only with known good ones strict.
        pass_threshold: Pass mark for `labels`, on the scale; its middle by default, 0.5 of 0 to 1. A grader's
            own verdict goes before it.
        groups: Prompt of each row, (n,); a report brings its own. Rows of one prompt are not
            independent, and bounds allow for it.
        scale: Lowest and highest score of the scale the graders use.

    Returns:
        Findings, heaviest first.

    Raises:
        ReportError: Unknown preset, labels or groups of the wrong length, labels that are neither
            True, False nor missing, a scale whose ends are not in order, or a pass mark off the scale.

    Example:
        >>> grades = Grades.empty(40)
        >>> grades.put_scores(0, np.ones(40), seconds=0.001)
        >>> print(diagnose({"polite": grades})[0])
        polite: saturated high, 100 % of 40 scores at 0.95 or above (95 % interval 91.2 % to 100 %).
    """
    mark = pass_mark(pass_threshold, scale)
    by_name, prompts = _read(source, groups)
    rules = kinds(preset)
    known = {n: (group_codes(prompts, n), read_labels(labels, n)) for n in set(map(len, by_name.values()))}
    results: list[Claim | Finding] = []
    for name, grades in by_name.items():
        case = Case(name, grades, *known[len(grades)], mark, scale, getattr(source, "columns", None))
        results += [result for rule in rules.values() for result in rule(case)]
    return [replace(finding, preset=preset) for finding in _sorted(results, list(by_name))]


def check_arguments(
    n: int, *, preset: str, labels: Any, pass_threshold: float | None, scale: tuple[float, float]
) -> None:
    """Raise what `diagnose` would raise of its arguments, before there are any grades.

    Args:
        n: Rows there will be.
        preset: As in `diagnose`.
        labels: As in `diagnose`.
        pass_threshold: As in `diagnose`.
        scale: As in `diagnose`.

    Raises:
        ReportError: As `diagnose`.
    """
    pass_mark(pass_threshold, scale)
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
    facts = [result for result in results if isinstance(result, Finding)]
    found = facts + settle(result for result in results if isinstance(result, Claim))
    return sorted(_once(found), key=lambda finding: (finding.severity.rank, names.index(finding.grader)))


def _once(findings: list[Finding]) -> list[Finding]:
    """Without what another finding about the same grader says with more weight: `unless` in `diagnostic`."""
    ranks = {(finding.grader, finding.kind): finding.severity.rank for finding in findings}
    return [finding for finding in findings if finding.severity.rank < _heaviest(finding, ranks)]


def _heaviest(finding: Finding, ranks: Mapping[tuple[str, str], int]) -> int:
    """Rank of the heaviest finding that says the same and more; past every rank where there is none."""
    others = (ranks.get((finding.grader, kind)) for kind in _OVERLAP.get(finding.kind, ()))
    return min((rank for rank in others if rank is not None), default=len(Severity))


def group_codes(groups: Prompts | None, n: int) -> NDArray[np.intp]:
    """Prompts as integer codes from 0 on, (n,); a missing prompt is a prompt of its own.

    Raises:
        ReportError: There are not n of them.
    """
    if groups is None:
        return np.arange(n, dtype=np.intp)
    _check_length("groups", len(groups), n)
    codes = pd.factorize(pd.Series(cast("Any", groups), dtype=object))[0].astype(np.intp)
    alone = codes < 0
    codes[alone] = codes.max(initial=-1) + 1 + np.arange(alone.sum())
    return codes


def _check_length(what: str, found: int, n: int) -> None:
    if found != n:
        raise ReportError(
            f"{what} must have one entry a row", found=f"{found:,} entries", expected=f"{n:,} entries"
        )


def pass_mark(pass_threshold: Any, scale: Any) -> float:
    """The pass mark asked for, or the middle of the scale."""
    lo, hi = _ends(scale)
    if pass_threshold is None:
        return lo / 2 + hi / 2
    if not _is_finite(pass_threshold):
        raise ReportError(
            "the pass mark must be a finite number", found=repr(pass_threshold), expected="such as 0.5"
        )
    if not lo <= pass_threshold <= hi:
        raise ReportError(
            "the pass mark is not on the scale",
            found=f"pass_threshold={pass_threshold!r}",
            expected=f"{lo:g} to {hi:g}",
            hint="name the graders' scale, scale=(lowest, highest), or leave pass_threshold out for its middle",
        )
    return float(pass_threshold)


def _ends(scale: Any) -> tuple[float, float]:
    pair = isinstance(scale, tuple | list) and len(scale) == 2 and all(map(_is_finite, scale))
    if not pair or not scale[0] < scale[1]:
        raise ReportError(
            "a scale runs from its lowest to its highest score",
            found=repr(scale),
            expected="two finite numbers, the lower one first, such as (0, 1)",
        )
    return float(scale[0]), float(scale[1])


def _is_finite(value: Any) -> bool:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return bool(number and np.isfinite(value))
