"""Gates: one verdict over a whole run, as in the configuration of Letta Evals.

Two releases. *Single* (0.4.x): a metric, an operator, a value, and how one sample passes. *Simple*,
*weighted_average* and *logical* (0.7 to 0.20): aggregations of each metric, combined. Errored samples are
excluded from an average; `avg_score_total` counts them as 0 in the denominator. Accuracy is a **percent**,
0 to 100, so a threshold of 0.9 is nearly always met: a warning points that out.

Source: letta-evals 0.4.1 (`models.py`, `runner.py`) and 0.20 (`gates`).
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import FormatError
from workbench.graders.base import is_number
from workbench.graders.combine.formula import Scores

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
    "eq": operator.eq,
}
"""Name to comparison; `eq` is exact."""
AGGREGATIONS = ("avg_score", "accuracy", "min", "max", "median", "p50", "p95", "p99")
"""Aggregations of a metric's scores; percentiles interpolate linearly."""


@dataclass(frozen=True, eq=False)
class GateResult:
    """The verdict of a gate on a run.

    Attributes:
        passed: The verdict.
        value: The number that was compared; None for a logical gate.
        sample_pass: bool (n,): which samples pass individually, False if not scored; None if the
            gate has no rule for that.
        averages: Metric to `avg_score_attempted` (scored samples) and `avg_score_total` (errored ones
            count as 0 in the denominator).
        message: One sentence.
        warnings: Possible surprises.
    """

    passed: bool
    value: float | None
    sample_pass: NDArray[np.bool_] | None
    averages: Mapping[str, Mapping[str, float]]
    message: str
    warnings: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        warnings = "".join(f"\n  warning: {warning}" for warning in self.warnings)
        return f"gate {'passed' if self.passed else 'not passed'}: {self.message}{warnings}"


@dataclass(frozen=True, kw_only=True)
class Gate(ABC):
    """A condition on the scores of a run. Build one of the three below."""

    kind: ClassVar[str] = ""

    def judge(self, scores: Mapping[str, Scores]) -> GateResult:
        """Judge a run.

        Args:
            scores: Metric (entry name) to scores (n,), NaN for a sample without one.

        Raises:
            KeyError: The gate uses a metric that does not exist.
        """
        value, passed, message = self._evaluate(scores)
        averages = {name: _averages(column) for name, column in scores.items()}
        return GateResult(bool(passed), value, self._samples(scores), averages, message, tuple(self.warnings))

    @abstractmethod
    def _evaluate(self, scores: Mapping[str, Scores]) -> tuple[float | None, bool, str]:
        """The value, the verdict and a sentence."""

    def _samples(self, scores: Mapping[str, Scores]) -> NDArray[np.bool_] | None:  # noqa: ARG002
        return None

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the entries the gate reads."""
        return ()

    @property
    def warnings(self) -> Sequence[str]:
        """Possible surprises of this gate, known before any run."""
        return ()

    def spec(self) -> dict[str, Any]:
        """The gate as a plain dict: `kind`, then every field that is not at its default."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        defaults = {f.name: f.default for f in fields(self)}
        return {"kind": self.kind, **{k: _plain(v) for k, v in values.items() if v != defaults[k]}}

    @staticmethod
    def build(spec: Mapping[str, Any]) -> Gate:
        """Create the gate of a spec.

        Raises:
            FormatError: An unknown kind or field, or an invalid value.
        """
        kinds = {cls.kind: cls for cls in (SimpleGate, WeightedGate, LogicalGate)}
        cls = kinds.get(str(spec.get("kind"))) if isinstance(spec, Mapping) else None
        if cls is None:
            kind = spec.get("kind") if isinstance(spec, Mapping) else spec
            raise FormatError("unknown kind of gate", found=repr(kind)[:80], expected=", ".join(kinds))
        values = {key: value for key, value in spec.items() if key != "kind"}
        if isinstance(values.get("conditions"), list):
            values["conditions"] = tuple(Gate.build(condition) for condition in values["conditions"])
        try:
            return cls(**values)
        except (TypeError, ValueError) as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError(f"a {cls.kind} gate cannot be created", found=str(error)) from error


@dataclass(frozen=True, kw_only=True)
class SimpleGate(Gate):
    """One metric's aggregate against a value.

    Attributes:
        metric_key: The entry; "" for the first one.
        aggregation: One of `AGGREGATIONS`.
        op: One of `OPERATORS`.
        value: The value to compare the aggregate with; percent for accuracy.
        pass_op: Operator for one sample; `op` by default.
        pass_value: Value for one sample; `value` by default, and 1.0 (with gte) for accuracy.
        pass_threshold: The later release's name for a sample's pass threshold (gte).
    """

    kind: ClassVar[str] = "simple"

    metric_key: str = ""
    aggregation: str = "avg_score"
    op: str = "gte"
    value: float = 0.0
    pass_op: str | None = None
    pass_value: float | None = None
    pass_threshold: float | None = None

    def __post_init__(self) -> None:
        _check(self.aggregation, self.op, self.pass_op or self.op)
        named = {"value": self.value, "pass_value": self.pass_value, "pass_threshold": self.pass_threshold}
        _check_numbers(named)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the entries that the gate reads."""
        return (self.metric_key,) if self.metric_key else ()

    @property
    def warnings(self) -> Sequence[str]:
        """Possible surprises, known before any run."""
        return _accuracy_warning(self.aggregation, self.op, self.value)

    @property
    def sample_rule(self) -> tuple[str, float]:
        """Operator and value that one sample's score must meet."""
        if self.pass_threshold is not None:
            return "gte", self.pass_threshold
        # Letta's defaults: accuracy counts full scores, others judge a sample like the run.
        if self.aggregation == "accuracy" and self.pass_value is None:
            return "gte", 1.0
        return self.pass_op or self.op, self.value if self.pass_value is None else self.pass_value

    def _evaluate(self, scores: Mapping[str, Scores]) -> tuple[float | None, bool, str]:
        name, column = self._column(scores)
        value = _aggregate(self.aggregation, column, self.sample_rule)
        message = f"{self.aggregation} of {name} is {value:g}, required {self.op} {self.value:g}"
        return value, bool(OPERATORS[self.op](value, self.value)), message

    def _samples(self, scores: Mapping[str, Scores]) -> NDArray[np.bool_] | None:
        return _sample_pass(self._column(scores)[1], self.sample_rule)

    def _column(self, scores: Mapping[str, Scores]) -> tuple[str, Scores]:
        name = self.metric_key or next(iter(scores), "")
        return name, scores[name]


@dataclass(frozen=True, kw_only=True)
class WeightedGate(Gate):
    """A weighted average of several metrics' aggregates against a value.

    Attributes:
        weights: Metric to weight: at least one, none negative, not all 0; normalised.
        aggregation: The same for all metrics.
        op: One of `OPERATORS`.
        value: The value to compare the average with.
        pass_threshold: Score at which a sample counts for accuracy; 1.0 by default.
    """

    kind: ClassVar[str] = "weighted_average"

    weights: Mapping[str, float] = field(default_factory=dict)
    aggregation: str = "avg_score"
    op: str = "gte"
    value: float = 0.0
    pass_threshold: float | None = None

    def __post_init__(self) -> None:
        _check(self.aggregation, self.op)
        if not isinstance(self.weights, Mapping):
            raise TypeError(f"weights must be metric names with a number each, not {self.weights!r}")
        _check_numbers({"value": self.value, "pass_threshold": self.pass_threshold})
        _check_numbers({f"the weight of {name!r}": weight for name, weight in self.weights.items()})
        if any(w < 0 for w in self.weights.values()) or not any(self.weights.values()):
            raise ValueError(f"weights must be 0 or more and not all 0, not {dict(self.weights)!r}")
        object.__setattr__(self, "weights", dict(self.weights))

    def __hash__(self) -> int:
        return hash((self.aggregation, self.op, self.value, frozenset(self.weights)))

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the entries that the gate reads."""
        return tuple(self.weights)

    @property
    def warnings(self) -> Sequence[str]:
        """Possible surprises, known before any run."""
        return _accuracy_warning(self.aggregation, self.op, self.value)

    def _evaluate(self, scores: Mapping[str, Scores]) -> tuple[float | None, bool, str]:
        rule = ("gte", 1.0 if self.pass_threshold is None else self.pass_threshold)
        total = sum(self.weights.values())
        parts = ((w / total) * _aggregate(self.aggregation, scores[m], rule) for m, w in self.weights.items())
        value = float(sum(parts))
        message = f"weighted {self.aggregation} is {value:g}, required {self.op} {self.value:g}"
        return value, bool(OPERATORS[self.op](value, self.value)), message


@dataclass(frozen=True, kw_only=True)
class LogicalGate(Gate):
    """Several gates joined by "and" or "or".

    Attributes:
        operator: "and" or "or".
        conditions: One gate or more, of any kind.
    """

    kind: ClassVar[str] = "logical"

    operator: str = "and"
    conditions: tuple[Gate, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "conditions", tuple(self.conditions))
        if self.operator not in {"and", "or"}:
            raise ValueError(f"operator must be 'and' or 'or', not {self.operator!r}")
        if not self.conditions or not all(isinstance(gate, Gate) for gate in self.conditions):
            raise ValueError("a logical gate needs one condition or more, each a gate")

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the entries that the gate reads."""
        return tuple(dict.fromkeys(name for gate in self.conditions for name in gate.metrics))

    @property
    def warnings(self) -> Sequence[str]:
        """Possible surprises, known before any run."""
        return [warning for gate in self.conditions for warning in gate.warnings]

    def _evaluate(self, scores: Mapping[str, Scores]) -> tuple[float | None, bool, str]:
        parts = [gate._evaluate(scores) for gate in self.conditions]  # noqa: SLF001 (a class of this module)
        verdicts = [passed for _, passed, _ in parts]
        joined = f" {self.operator} ".join(f"({message})" for _, _, message in parts)
        return None, all(verdicts) if self.operator == "and" else any(verdicts), joined


def _aggregate(name: str, column: Scores, rule: tuple[str, float]) -> float:
    """Aggregate of a metric's scores; 0.0 if there are none, as upstream."""
    scores = column[~np.isnan(column)]
    if not len(scores):
        return 0.0
    if name == "accuracy":
        # Multiplied first, as upstream: 1 of 3 is 33.333333333333336, and `eq` is exact.
        return 100.0 * int(_sample_pass(scores, rule).sum()) / len(scores)
    if name == "avg_score":
        return float(scores.mean())
    percent = {"min": 0.0, "median": 50.0, "max": 100.0}.get(name)
    return float(np.percentile(scores, float(name[1:]) if percent is None else percent))


def _sample_pass(column: Scores, rule: tuple[str, float]) -> NDArray[np.bool_]:
    op, value = rule
    with np.errstate(invalid="ignore"):
        return np.asarray(OPERATORS[op](column, value), bool) & ~np.isnan(column)


def _averages(column: Scores) -> dict[str, float]:
    scores = column[~np.isnan(column)]
    total = float(scores.sum())
    return {
        "avg_score_attempted": total / len(scores) if len(scores) else 0.0,
        "avg_score_total": total / len(column) if len(column) else 0.0,
    }


def _check(aggregation: str, *ops: str) -> None:
    if aggregation not in AGGREGATIONS:
        raise ValueError(f"aggregation must be one of {', '.join(AGGREGATIONS)}, not {aggregation!r}")
    for op in ops:
        if op not in OPERATORS:
            raise ValueError(f"op must be one of {', '.join(OPERATORS)}, not {op!r}")


def _check_numbers(values: Mapping[str, float | None]) -> None:
    for name, value in values.items():
        if value is not None and not is_number(value):
            raise ValueError(f"{name} must be a finite number, not {value!r}")


def _accuracy_warning(aggregation: str, op: str, value: float) -> list[str]:
    if aggregation != "accuracy" or not 0 < value <= 1:
        return []
    means = "is met by almost any run" if op in {"gt", "gte"} else f"is {value:g} %"
    return [f"accuracy is a percent, 0 to 100: a threshold of {value:g} {means}; {100 * value:g}?"]


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [gate.spec() for gate in value]
    return dict(value) if isinstance(value, Mapping) else value
