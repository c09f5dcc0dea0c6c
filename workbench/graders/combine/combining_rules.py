"""Combining rules, which compute one grade per row from several: mean, sum, all-pass, formula, and promptfoo's assertions.

A missing score is never taken for a zero here. Either the whole is unscored and names the missing part,
or, in a mean that renormalises, that part is excluded from the weights.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import compress
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind, Grade
from workbench.core.grades import SCORED, Grades
from workbench.graders.arguments import with_call_help
from workbench.graders.base import is_number
from workbench.graders.combine.entry import Counted, Entry
from workbench.graders.combine.formula import Expression, Scores

Mask = NDArray[np.bool_]
R = TypeVar("R", bound="type[CombiningRule]")

COMBINING_RULES: dict[str, type[CombiningRule]] = {}
"""Every rule by the name that its specs use."""


def combining_rule(name: str) -> Callable[[R], R]:
    """Register a rule under the name that its specs use."""

    def register(cls: R) -> R:
        cls.rule = name
        COMBINING_RULES[name] = cls
        return with_call_help(cls)

    return register


@dataclass(frozen=True)
class CombiningRule(ABC):
    """Combines the entries of a suite row by row."""

    rule: ClassVar[str] = ""

    def check(self, entries: Sequence[Entry]) -> None:  # noqa: ARG002 (used by subclasses)
        """Refuse entries that this rule cannot combine.

        Raises:
            ValueError: With the problem and the entries.
        """
        return  # most rules accept any entries

    def combine(self, entries: Sequence[Entry], parts: Mapping[str, Counted]) -> Grades:
        """One grade per row: scored, failed (a part failed) or skipped (every part was skipped).

        Args:
            entries: In the suite's order.
            parts: The counted values of each, by entry name, n rows each.
        """
        columns = [parts[entry.name] for entry in entries]
        n = len(columns[0].scores) if columns else 0
        grades = Grades.empty(n)
        scores, answered = self._scores(entries, columns)
        missing = self._missing(entries, columns, answered)
        for row in np.flatnonzero(missing):
            grades.put(int(row), _absent(*self._asked(entries, columns), int(row)))
        good = ~missing & np.isfinite(scores)
        grades.scores[good], grades.codes[good] = scores[good], SCORED
        # All parts have scores, but the arithmetic has no finite result, such as a division by 0.
        for row in np.flatnonzero(~missing & ~good):
            message = f"{self._what()} gives {float(scores[row])!r} on this row, which is not a valid score"
            grades.put(int(row), Grade.failed(ErrorKind.NOT_FINITE, message))
        self._judge(entries, columns, grades)
        return grades

    def scores(self, entries: Sequence[Entry], parts: Mapping[str, Counted]) -> Scores:
        """The combined scores without grades, (n,); NaN if there is none. Arguments as in `combine`."""
        columns = [parts[entry.name] for entry in entries]
        scores, answered = self._scores(entries, columns)
        has_score = ~self._missing(entries, columns, answered) & np.isfinite(scores)
        return np.where(has_score, scores, np.nan)

    @abstractmethod
    def _scores(self, entries: Sequence[Entry], columns: Sequence[Counted]) -> tuple[Scores, Mask]:
        """The combined scores (n,), and where there is one (n,)."""

    def _missing(self, entries: Sequence[Entry], columns: Sequence[Counted], answered: Mask) -> Mask:  # noqa: ARG002
        """Rows that stay unscored: those without a score of any part, and those where a part broke."""
        broken = np.zeros(len(answered), bool)
        for column in columns:
            broken[[row for row in column.errors if not column.declined[row]]] = True
        return ~answered | broken

    def _asked(
        self, entries: Sequence[Entry], columns: Sequence[Counted]
    ) -> tuple[Sequence[Entry], Sequence[Counted]]:
        """The required parts: a missing combined score is attributed to these."""
        return entries, columns

    def _judge(self, entries: Sequence[Entry], columns: Sequence[Counted], grades: Grades) -> None:  # noqa: B027
        """Add verdicts, for a rule that has them."""

    def _what(self) -> str:
        return f"the {self.rule}"

    def spec(self) -> dict[str, Any]:
        """The rule as a plain dict: its name, then every field that is not at its default."""
        changed = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        return {"rule": self.rule, **changed}

    @staticmethod
    def build(spec: Mapping[str, Any]) -> CombiningRule:
        """Create the rule of a spec.

        Raises:
            FormatError: An unknown rule or field.
        """
        name = spec.get("rule") if isinstance(spec, Mapping) else spec
        cls = COMBINING_RULES.get(str(name)) if isinstance(spec, Mapping) else None
        if cls is None:
            expected = ", ".join(f'{{"rule": "{rule_name}"}}' for rule_name in sorted(COMBINING_RULES))
            raise FormatError("unknown combining rule", found=repr(name)[:80], expected=expected)
        values = {key: value for key, value in spec.items() if key != "rule"}
        try:
            return cls(**values)
        except TypeError as error:
            raise FormatError(f"the rule {cls.rule!r} cannot be created", found=str(error)) from error


@combining_rule("mean")
@dataclass(frozen=True)
class Mean(CombiningRule):
    """Weighted mean.

    Attributes:
        strict: False: over the graders that returned a score, their weights renormalised; a skipped grade or an
            unreadable judge reply is excluded, any other failure leaves the whole unscored (Adaptive's
            combined grader). True: every grader must have a score.
    """

    strict: bool = False

    def check(self, entries: Sequence[Entry]) -> None:
        """Require at least one weight above 0."""
        if not any(entry.weight for entry in entries):
            raise ValueError("a weighted mean needs at least one weight above 0")

    def _scores(self, entries: Sequence[Entry], columns: Sequence[Counted]) -> tuple[Scores, Mask]:
        total, weights = _weighted(entries, columns)
        answered = _all_answered(columns) if self.strict else weights > 0
        # Rows without any score divide 0 by 0; they count as missing and are never read.
        with np.errstate(invalid="ignore", divide="ignore"):
            return total / weights, answered


@combining_rule("sum")
@dataclass(frozen=True)
class Sum(CombiningRule):
    """Weighted sum, never renormalised.

    Attributes:
        strict: False: graders that skipped, or whose reply was unreadable, add nothing (Adaptive).
            True: every grader must have a score (vLLora's multi-grader).
        weights_sum_to_one: Refuse weights that do not sum to 1 within 1e-6 (vLLora's rule).
    """

    strict: bool = False
    weights_sum_to_one: bool = False

    def check(self, entries: Sequence[Entry]) -> None:
        """Refuse weights that do not sum to 1, if required."""
        total = sum(entry.weight for entry in entries)
        if self.weights_sum_to_one and abs(total - 1.0) > 1e-6:
            weights = " + ".join(f"{entry.weight:g}" for entry in entries)
            raise ValueError(f"the weights must sum to 1; {weights} = {total:g}")

    def _scores(self, entries: Sequence[Entry], columns: Sequence[Counted]) -> tuple[Scores, Mask]:
        total, _ = _weighted(entries, columns)
        some = np.any([~np.isnan(column.scores) for column in columns], axis=0)
        return total, _all_answered(columns) if self.strict else some


@combining_rule("all_pass")
@dataclass(frozen=True)
class AllPass(CombiningRule):
    """Passes (1.0) when every entry of severity "error" passes, else 0.0; warnings and infos never block.

    An entry without a verdict or a threshold passes at 1.0. With no entry of severity "error"
    the row passes. Weights are not used. Source: Umbraco.AI's test runner.
    """

    def _scores(self, entries: Sequence[Entry], columns: Sequence[Counted]) -> tuple[Scores, Mask]:
        n = len(columns[0].scores)
        passed, answered = np.ones(n, bool), np.ones(n, bool)
        for column in self._asked(entries, columns)[1]:
            passed &= passes(column)
            answered &= ~np.isnan(column.scores)
        return passed.astype(np.float64), answered

    def _missing(self, entries: Sequence[Entry], columns: Sequence[Counted], answered: Mask) -> Mask:  # noqa: ARG002
        return ~answered

    def _asked(
        self, entries: Sequence[Entry], columns: Sequence[Counted]
    ) -> tuple[Sequence[Entry], Sequence[Counted]]:
        return _chosen(entries, columns, [entry.severity == "error" for entry in entries])

    def _judge(self, entries: Sequence[Entry], columns: Sequence[Counted], grades: Grades) -> None:
        scored = grades.codes == SCORED
        grades.passed[scored] = grades.scores[scored] == 1.0
        for entry, column in zip(entries, columns, strict=True):
            fails = scored & ~passes(column) & ~np.isnan(column.scores)
            for row in np.flatnonzero(fails):
                before = grades.reasoning.get(int(row))
                failure = f"{entry.severity}: {entry.name}"
                grades.reasoning[int(row)] = f"{before}; {failure}" if before else f"not passed: {failure}"


@combining_rule("formula")
@dataclass(frozen=True)
class Formula(CombiningRule):
    """A formula over the entries' names, such as `"0.7 * correct + 0.3 * max(short, polite)"`.

    Attributes:
        text: See `workbench.graders.combine.formula`.

    Raises:
        FormulaError: The text cannot be read.
    """

    text: str = ""

    def __post_init__(self) -> None:
        Expression.read(self.text)

    def check(self, entries: Sequence[Entry]) -> None:
        """Require that every name in the formula is an entry's."""
        Expression.read(self.text, [entry.name for entry in entries])

    def _scores(self, entries: Sequence[Entry], columns: Sequence[Counted]) -> tuple[Scores, Mask]:
        rule = Expression.read(self.text)
        named = dict(zip((entry.name for entry in entries), columns, strict=True))
        value = rule.value({name: named[name].scores for name in rule.names})
        answered = _all_answered(self._asked(entries, columns)[1])
        return np.broadcast_to(value, (len(columns[0].scores),)), answered

    def _asked(
        self, entries: Sequence[Entry], columns: Sequence[Counted]
    ) -> tuple[Sequence[Entry], Sequence[Counted]]:
        # A formula without names still needs all parts: no row of a stopped run gets its constant.
        names = set(Expression.read(self.text).names)
        return _chosen(entries, columns, [not names or entry.name in names for entry in entries])

    def _missing(self, entries: Sequence[Entry], columns: Sequence[Counted], answered: Mask) -> Mask:  # noqa: ARG002
        return ~answered

    def _what(self) -> str:
        return f"the formula {self.text!r}"


def _weighted(entries: Sequence[Entry], columns: Sequence[Counted]) -> tuple[Scores, Scores]:
    """Sum of weight times score (n,), and sum of the weights of present scores (n,)."""
    scores = np.array([column.scores for column in columns])
    weights = np.array([entry.weight for entry in entries])[:, None] * ~np.isnan(scores)
    with np.errstate(over="ignore", invalid="ignore"):  # overflow is refused row by row
        # The NaN of a missing part would stay NaN even with a weight of 0.
        return (np.nan_to_num(scores) * weights).sum(axis=0), weights.sum(axis=0)


def _chosen(
    entries: Sequence[Entry], columns: Sequence[Counted], which: Sequence[bool]
) -> tuple[Sequence[Entry], Sequence[Counted]]:
    return list(compress(entries, which)), list(compress(columns, which))


def _all_answered(columns: Sequence[Counted]) -> Mask:
    return np.asarray(np.all([~np.isnan(column.scores) for column in columns], axis=0), bool)


def passes(column: Counted) -> Mask:
    """The verdict if there is one, else a full score."""
    return np.asarray(np.where(column.passed >= 0, column.passed == 1, column.scores >= 1.0), bool)


def _absent(entries: Sequence[Entry], columns: Sequence[Counted], row: int) -> Grade:
    """Why a row has no combined score: the parts that failed, or that all were skipped."""
    pairs = list(zip(entries, columns, strict=True))
    failed = [(entry.name, column.errors[row]) for entry, column in pairs if row in column.errors]
    if failed:
        failures = "; ".join(f"{name} failed ({error})" for name, error in failed)
        return Grade.failed(failed[0][1].kind, failures, metadata={"missing": [name for name, _ in failed]})
    names = [entry.name for entry, column in pairs if np.isnan(column.scores[row])]
    return Grade.skipped(f"not scored: {', '.join(names)} skipped this row", metadata={"missing": names})


_COUNTS_AS_ZERO = frozenset(
    {
        ErrorKind.RUNTIME,
        ErrorKind.RETURN_TYPE,
        ErrorKind.LOAD,
        ErrorKind.TIMEOUT,
        ErrorKind.MEMORY,
        ErrorKind.CRASH,
    }
)
"""Failures of code that promptfoo counts as 0, not passed. A score that is not a number leaves the whole without one."""


@combining_rule("assertions")
@dataclass(frozen=True)
class Assertions(CombiningRule):
    """Weighted mean of the assertions that apply to a row; it passes if all of them pass, or from a threshold on.

    An entry that skipped the row does not apply to it. Entries of severity "warning" or "info" never block, and a sum of
    weights of 0 gives a score of 0.0.

    Attributes:
        threshold: The mean from which a row passes, independent of the single verdicts; None if all entries must pass.
        thresholds: The same by entry, for the rows to which that entry applies; None for "all must pass".
        zero: Entries whose failed grades count as 0.0, not passed, if their code failed: promptfoo's rule for code.

    Source: promptfoo 0.121.20 (`AssertionsResult`).
    """

    threshold: float | None = None
    thresholds: Mapping[str, float | None] = field(default_factory=dict, hash=False)
    zero: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "zero", tuple(self.zero))
        object.__setattr__(self, "thresholds", dict(self.thresholds))
        for value in (self.threshold, *self.thresholds.values()):
            if value is not None and not is_number(value):
                raise FormatError("a threshold must be a finite number", found=repr(value)[:80])

    def check(self, entries: Sequence[Entry]) -> None:
        """Require that every name is an entry's."""
        names = {entry.name for entry in entries}
        if unknown := sorted({*self.thresholds, *self.zero} - names):
            raise ValueError(
                f"the rule names {unknown[0]!r}, which is not one of the graders {', '.join(names)}"
            )

    def spec(self) -> dict[str, Any]:
        """The rule as a plain dict."""
        changed = {"threshold": self.threshold, "thresholds": self.thresholds, "zero": list(self.zero)}
        return {
            "rule": self.rule,
            **{key: value for key, value in changed.items() if value not in (None, {}, [])},
        }

    def combine(self, entries: Sequence[Entry], parts: Mapping[str, Counted]) -> Grades:
        """One grade per row: scored, failed (a part failed) or skipped (no entry applies to it)."""
        return super().combine(entries, self._with_zeros(parts))

    def scores(self, entries: Sequence[Entry], parts: Mapping[str, Counted]) -> Scores:
        """The combined scores without grades."""
        return super().scores(entries, self._with_zeros(parts))

    def _with_zeros(self, parts: Mapping[str, Counted]) -> Mapping[str, Counted]:
        return {name: _zeroed(part) if name in self.zero else part for name, part in parts.items()}

    def _scores(self, entries: Sequence[Entry], columns: Sequence[Counted]) -> tuple[Scores, Mask]:
        scores = np.array([column.scores for column in columns])
        has_score = ~np.isnan(scores)
        weights = np.array([entry.weight for entry in entries])[:, None] * has_score
        total, weight = (np.nan_to_num(scores) * weights).sum(axis=0), weights.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(weight > 0, total / weight, 0.0), has_score.any(axis=0)

    def _judge(self, entries: Sequence[Entry], columns: Sequence[Counted], grades: Grades) -> None:
        scored = grades.codes == SCORED
        passed = np.ones(len(scored), bool)
        failures: dict[int, list[str]] = {}
        thresholds = np.full(len(scored), np.nan if self.threshold is None else self.threshold)
        for entry, column in zip(entries, columns, strict=True):
            applies = ~np.isnan(column.scores)
            fails = applies & ~passes(column)
            if entry.severity == "error":
                passed &= ~fails
            for row in np.flatnonzero(scored & fails):
                failures.setdefault(int(row), []).append(entry.name)
            if entry.name in self.thresholds:
                own = self.thresholds[entry.name]
                thresholds[applies] = np.nan if own is None else own
        by_threshold = ~np.isnan(thresholds)
        verdicts = np.where(by_threshold, grades.scores >= thresholds, passed)
        grades.passed[scored] = verdicts[scored]
        for number, names in failures.items():
            grades.reasoning[number] = f"not passed: {', '.join(names)}"


def _zeroed(part: Counted) -> Counted:
    """The part with 0.0, not passed, in the rows where its code failed."""
    rows = [row for row, error in part.errors.items() if error.kind in _COUNTS_AS_ZERO]
    if not rows:
        return part
    scores, passed, declined = part.scores.copy(), part.passed.copy(), part.declined.copy()
    scores[rows], passed[rows], declined[rows] = 0.0, 0, False
    errors = {row: error for row, error in part.errors.items() if row not in set(rows)}
    return replace(part, scores=scores, passed=passed, errors=errors, declined=declined)
