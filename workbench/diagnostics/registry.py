"""The register of diagnostics, and `diagnose`, which runs a preset of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.columns import Grades
from workbench.diagnostics.case import Case
from workbench.diagnostics.claim import Claim, settle
from workbench.diagnostics.finding import Finding
from workbench.errors import ReportError

__all__ = ["Graded", "diagnose", "diagnostic", "group_codes", "kinds", "presets", "read_labels"]

Prompts = Sequence[Hashable] | NDArray[Any]
Diagnostic = Callable[[Case], Iterable[Claim | Finding]]
_REGISTER: dict[str, dict[str, Diagnostic]] = {}


class Graded(Protocol):
    """What a report offers to diagnosis: grades by name, and the prompt of each row."""

    @property
    def grades(self) -> Mapping[str, Grades]:
        """Grades by grader name."""

    @property
    def groups(self) -> Prompts:
        """The prompt each row answers."""


def diagnostic(kind: str, *, presets: Sequence[str] = ("workbench",)) -> Callable[[Diagnostic], Diagnostic]:
    """Register a function from `Case` to claims and findings under its kind.

    Args:
        kind: A short hyphenated name, shown in findings.
        presets: Sets of rules it belongs to.
    """

    def register(function: Diagnostic) -> Diagnostic:
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
    threshold: float = 0.5,
    groups: Prompts | None = None,
    scale: tuple[float, float] = (0.0, 1.0),
) -> list[Finding]:
    """Say what is wrong with one or more graders, with an interval behind every verdict.

    Args:
        source: A report, grades by grader name, or the grades of one grader.
        preset: "workbench" (bounds decide, or say how many more rows they need) or "seed" (fixed
            cut-offs on the rows there are, no interval).
        labels: What is known of each row: True good, False bad, None unknown, (n,). Only with known
            bad rows can a grader be called lenient, only with known good ones strict.
        threshold: Pass mark for `labels`; 0.5 by convention. A grader's own verdict goes before it.
        groups: Prompt of each row, (n,); a report brings its own. Rows of one prompt are not
            independent, and bounds allow for it.
        scale: Lowest and highest score of the scale the graders use.

    Returns:
        Findings, heaviest first.

    Raises:
        ReportError: Unknown preset, labels or groups of the wrong length, labels that are neither
            True, False nor missing, or a scale whose ends are not in order.

    Example:
        >>> grades = Grades.empty(40)
        >>> grades.put_scores(0, np.ones(40), seconds=0.001)
        >>> print(diagnose({"polite": grades})[0])
        polite: saturated high, 100 % of 40 scores at 0.95 or above (95 % interval 91.2 % to 100 %).
    """
    _check_scale(scale)
    _check_threshold(threshold)
    by_name, prompts = _read(source, groups)
    rules = kinds(preset)
    known = {n: (group_codes(prompts, n), read_labels(labels, n)) for n in set(map(len, by_name.values()))}
    results: list[Claim | Finding] = []
    for name, grades in by_name.items():
        case = Case(name, grades, *known[len(grades)], threshold, scale)
        results += [result for rule in rules.values() for result in rule(case)]
    return [replace(finding, preset=preset) for finding in _sorted(results, list(by_name))]


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
    return sorted(found, key=lambda finding: (finding.severity.rank, names.index(finding.grader)))


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


def read_labels(labels: Any, n: int) -> NDArray[np.int8]:
    """Labels as 1 good, 0 bad, -1 unknown, (n,). See `diagnose` for what is refused."""
    codes = np.full(n, -1, np.int8)
    if labels is None:
        return codes
    values = _label_values(labels)
    _check_length("labels", len(values), n)
    for row, label in enumerate(values):
        codes[row] = _label(row, label)
    return codes


_WORDS = {
    "true": 1,
    "1": 1,
    "yes": 1,
    "good": 1,
    "pass": 1,
    "false": 0,
    "0": 0,
    "no": 0,
    "bad": 0,
    "fail": 0,
    "": -1,
}
"""Labels as a CSV file or a person writes them, without regard to case."""


def _label_values(labels: Any) -> list[Any]:
    if isinstance(labels, pd.Series) and not labels.index.equals(pd.RangeIndex(len(labels))):
        raise ReportError(
            "the labels are a Series with an index of its own, so which row a label is for is not clear",
            found=f"index {list(labels.index[:4])}",
            expected="one label a row, in the rows' order",
            hint="name a column of the samples instead (labels='good'), or pass labels.tolist()",
        )
    if isinstance(labels, str | bytes | Mapping) or not isinstance(labels, Iterable):
        raise ReportError(
            "labels must be one entry a row",
            found=f"{type(labels).__name__} {labels!r:.60}",
            expected="a list of True (known good), False (known bad) and None, or a column of the samples",
        )
    return list(labels)


def _label(row: int, label: Any) -> int:
    if label is None or label is pd.NA or label != label:  # noqa: PLR0124 (NaN is not equal to itself)
        return -1
    if isinstance(label, str) and label.strip().casefold() in _WORDS:
        return _WORDS[label.strip().casefold()]
    if isinstance(label, bool | np.bool_ | int | float | np.number) and label in (0, 1):
        return int(label)
    raise ReportError(
        "a label is neither good, bad nor unknown",
        where=f"row {row} of labels",
        found=f"{label!r:.80}",
        expected="True (known good), False (known bad) or None",
    )


def _check_length(what: str, found: int, n: int) -> None:
    if found != n:
        raise ReportError(
            f"{what} must have one entry a row", found=f"{found:,} entries", expected=f"{n:,} entries"
        )


def _check_threshold(threshold: Any) -> None:
    number = isinstance(threshold, int | float | np.number) and not isinstance(threshold, bool)
    if not number or not np.isfinite(threshold):
        raise ReportError(
            "the pass mark must be a finite number", found=repr(threshold), expected="such as 0.5"
        )


def _check_scale(scale: Any) -> None:
    if not isinstance(scale, tuple | list) or len(scale) != 2 or not scale[0] < scale[1]:
        raise ReportError(
            "a scale runs from its lowest to its highest score",
            found=repr(scale),
            expected="two numbers, the lower one first, such as (0, 1)",
        )
