"""The input and the register of diagnostics over several graders on the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, nan

import numpy as np

from workbench.analysis.case import Claim
from workbench.analysis.finding import Finding, RowNumbers, Severity
from workbench.analysis.statistics import SAME, Codes, Flags, Floats, compact
from workbench.analysis.statistics.resampling import variance_shares
from workbench.core.discovery import refuse_taken
from workbench.core.grades import Grades
from workbench.graders.combine import AllPass, CombiningRule, Counted, Entry, Formula, Gate, Mean, Sum

_ROWS, _PROMPTS = 50, 10
"""Minimum rows, and prompts, for a verdict about a suite: with fewer of these its intervals would not be valid."""


@dataclass(frozen=True)
class SuiteParts:
    """How the graders of a report are combined.

    Attributes:
        entries: The graders with weight, severity and the value of a failure.
        rule: Combines their scores; None if they are not combined.
        column: Name of the combined score in the report; "" without a rule.
        gate: Judges the whole run; None without a gate.
    """

    entries: tuple[Entry, ...]
    rule: CombiningRule | None = None
    column: str = ""
    gate: Gate | None = None

    @property
    def names(self) -> list[str]:
        """Names of the entries, in order."""
        return [entry.name for entry in self.entries]

    @property
    def weights(self) -> Floats:
        """Weight of each entry as a share of all, (k,); NaN if the rule has no weights."""
        weights = np.array([entry.weight for entry in self.entries], float)
        has_weights = isinstance(self.rule, Mean | Sum) and weights.sum() > 0
        return weights / weights.sum() if has_weights else np.full(len(weights), nan)


@dataclass(frozen=True)
class SuiteCase:
    """Grades of several graders with prompts, pass threshold and scale, and their suite if there is one.

    Attributes:
        grades: Grades by grader name, n rows each, including a combined column.
        groups: Prompt of each row as an integer code, (n,).
        parts: How they are combined; None for graders that are only reported together.
        pass_threshold: On the scale.
        scale: Lowest and highest score of the graders' scale.
    """

    grades: Mapping[str, Grades]
    groups: Codes
    parts: SuiteParts | None
    pass_threshold: float = 0.5
    scale: tuple[float, float] = (0.0, 1.0)

    @cached_property
    def rule(self) -> CombiningRule | None:
        """The combining rule; None without one, or if a grader that it combines is not in the report."""
        known = self.parts is not None and all(name in self.grades for name in self.parts.names)
        return self.parts.rule if self.parts is not None and known else None

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The suite's entries; none without a suite."""
        return () if self.parts is None else self.parts.entries

    @property
    def single_graders(self) -> list[str]:
        """Names of the graders except the combined score."""
        column = "" if self.parts is None else self.parts.column
        return [name for name in self.grades if name != column]

    @cached_property
    def counted(self) -> dict[str, Counted]:
        """Each entry's contribution to the combination, by name."""
        return {entry.name: entry.count(self.grades[entry.name]) for entry in self.entries}

    @cached_property
    def rows(self) -> Codes:
        """Indices of the rows on which every entry counts and there is a combined score, (m,)."""
        assert self.rule is not None
        answered = ~np.isnan(self.rule.scores(self.entries, self.counted))
        for part in self.counted.values():
            answered &= ~np.isnan(part.scores)
        return np.flatnonzero(answered)

    @cached_property
    def prompts(self) -> Codes:
        """Prompt codes of these rows, counted from 0 without gaps, (m,)."""
        return compact(self.groups[self.rows])

    @cached_property
    def contributions(self) -> Floats:
        """Score times share of the weights, (m, k)."""
        assert self.parts is not None
        scores = np.column_stack([part.scores[self.rows] for part in self.counted.values()])
        contributions: Floats = scores * self.parts.weights
        return contributions

    @cached_property
    def variance_shares(self) -> Floats:
        """Share of the combined score's variance that is due to each entry, (k,); NaN for a rule without weights."""
        return variance_shares(self.contributions, self.contributions.sum(1))

    @cached_property
    def accepted(self) -> Flags:
        """Which of these rows the combined score accepts, (m,)."""
        assert self.rule is not None
        return self._accepts(self.rule.scores(self.entries, self.counted)[self.rows])

    def _accepts(self, scores: Floats) -> Flags:
        mark = 1.0 if isinstance(self.rule, AllPass) else self.pass_threshold
        accepted: Flags = scores >= mark - SAME  # sums of weights may miss the mark by rounding
        return accepted

    def decides(self, name: str) -> Flags:
        """On which of these rows the verdict changes if one entry is left out, (m,).

        A mean is then over the others; a sum is scaled to its former weights; all others must pass; in a formula
        the entry has its mean score on every row. None changes if no entry would remain.
        """
        scores = self._without(name)
        if scores is None:
            return np.zeros(len(self.rows), bool)
        decides: Flags = self._accepts(scores) != self.accepted
        return decides

    def _without(self, name: str) -> Floats | None:
        """The combined scores without an entry, (m,); None if no entry would remain."""
        assert self.rule is not None
        assert self.parts is not None
        others = tuple(entry for entry in self.entries if entry.name != name)
        if isinstance(self.rule, Mean | Sum):
            return self._weighted_without(self.parts.names.index(name))
        if isinstance(self.rule, Formula):
            part = self.counted[name]
            mean = part.scores[self.rows].mean() if len(self.rows) else nan
            even = replace(part, scores=np.where(np.isnan(part.scores), nan, mean))
            return self.rule.scores(self.entries, {**self.counted, name: even})[self.rows]
        return self.rule.scores(others, self.counted)[self.rows] if others else None

    def _weighted_without(self, at: int) -> Floats | None:
        assert self.parts is not None
        left = 1 - self.parts.weights[at]
        if left < SAME:
            return None
        total = sum(entry.weight for entry in self.entries) if isinstance(self.rule, Sum) else 1.0
        scores: Floats = (self.contributions.sum(1) - self.contributions[:, at]) * (total / left)
        return scores

    def finding(
        self,
        grader: str,
        kind: str,
        severity: Severity,
        statistic: str,
        message: str,
        advice: str,
        rows: Flags,
    ) -> Finding:
        """A finding about one of the graders without its number: a claim adds that.

        Args:
            grader: Its name.
            kind: The name under which the diagnostic is registered.
            severity: Its severity.
            statistic: What is measured.
            message: The sentence without grader, interval and full stop.
            advice: What to do next.
            rows: Which of the report's rows are evidence for it, (n,).
        """
        evidence = RowNumbers(np.flatnonzero(rows))
        return Finding(grader, kind, severity, statistic, nan, None, 0, 0, message, advice, evidence)

    def among_all(self, flags: Flags) -> Flags:
        """Flags of the suite's rows (m,) as flags of all rows, (n,)."""
        found = np.zeros(len(self.groups), bool)
        found[self.rows[flags]] = True
        return found


def missing_units(n: int, prompts: Codes) -> int:
    """Rows, or prompts if rows share them, missing to 50 rows and ten prompts; 0 if there are enough.

    Args:
        n: Number of rows.
        prompts: Their prompts as codes from 0 on without gaps, (n,).
    """
    count = int(prompts.max(initial=-1)) + 1
    rows = max(0, _ROWS - n)
    return rows if count == n else max(0, _PROMPTS - count, ceil(rows * count / n))


SuiteDiagnostic = Callable[[SuiteCase], Iterable[Claim | Finding]]
_REGISTER: dict[str, SuiteDiagnostic] = {}


def suite_diagnostic(kind: str) -> Callable[[SuiteDiagnostic], SuiteDiagnostic]:
    """Register a function from `SuiteCase` to claims and findings under its kind, in the preset "workbench".

    Raises:
        ValueError: Another function has the name.
    """

    def register(function: SuiteDiagnostic) -> SuiteDiagnostic:
        refuse_taken("diagnostic of suites", kind, _REGISTER.get(kind), function)
        _REGISTER[kind] = function
        return function

    return register


def suite_kinds() -> dict[str, SuiteDiagnostic]:
    """The diagnostics of suites, by kind."""
    return dict(_REGISTER)


def suite_results(case: SuiteCase, preset: str) -> list[Claim | Finding]:
    """Their claims; none for a single grader, or in another preset than "workbench"."""
    if preset != "workbench" or len(case.single_graders) < 2:
        return []
    return [result for rule in _REGISTER.values() for result in rule(case)]
