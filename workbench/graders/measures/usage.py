"""The grader of a row's latency, cost and tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind
from workbench.core.thread import StringThread
from workbench.graders.base import is_number, kind
from workbench.graders.portable_rule import PythonBody
from workbench.graders.rule_grader import RuleGrader, Unscored
from workbench.graders.rules.text import Verdict
from workbench.graders.rules.usage import usage_within

_MEASURES = ("latency", "cost", "tokens")


@kind("latency-cost-tokens", family="measures")
@dataclass(frozen=True, kw_only=True)
class LatencyCostTokens(RuleGrader):
    """1.0 if the row's latency, cost and tokens are at most their limits, else 0.0. They are columns of the row.

    A row without one of them fails: a value that was not measured is not 0. Columns are found by the usual names, also inside
    `usage`; names that end in `_ms` are milliseconds.

    Attributes:
        max_latency: Limit in seconds; None for no limit. At least one limit must be given.
        max_cost: Limit in the currency of the column; None for no limit.
        max_tokens: Limit; None for no limit.
        columns: Names of columns: `{"latency": "took_ms"}`.

    The details contain the values, in seconds, currency and tokens.

    Error kinds: sample (a value that is missing, or not a number from 0 on).
    """

    max_latency: float | None = None
    max_cost: float | None = None
    max_tokens: float | None = None
    columns: dict[str, str] = field(default_factory=dict)

    @classmethod
    def example(cls) -> Self:
        """The grader that the tests over every kind use."""
        return cls(max_tokens=3, columns={"tokens": "n"})

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self._limits:
            raise FormatError(
                "at least one limit must be given", expected="max_latency, max_cost or max_tokens"
            )
        for name, limit in self._limits.items():
            if not is_number(limit) or limit < 0:
                raise FormatError(f"max_{name} must be a finite number from 0 on", found=repr(limit)[:80])
        named: Any = self.columns
        if (
            not isinstance(named, Mapping)
            or not set(named) <= set(_MEASURES)
            or not all(isinstance(one, str) and one for one in named.values())
        ):
            raise FormatError(
                "columns must be a dict of latency, cost or tokens and a column's name",
                found=repr(named)[:80],
            )

    @property
    def _limits(self) -> dict[str, float]:
        limits = {name: getattr(self, f"max_{name}") for name in _MEASURES}
        return {name: limit for name, limit in limits.items() if limit is not None}

    @property
    def needs_answer(self) -> str:
        """Nothing: only columns are read."""
        return ""

    def grade_thread(self, thread: StringThread, reference: Any) -> Verdict:  # noqa: ARG002
        """Whether the row's values are within the limits."""
        try:
            return usage_within(thread.metadata, limits=self._limits, names=self.columns)
        except ValueError as error:
            raise Unscored(ErrorKind.SAMPLE, str(error)) from None

    def python_body(self, reference_names: tuple[str, ...]) -> PythonBody:  # noqa: ARG002
        """The body of a Python function that scores the same."""
        line = (
            f"return usage_within(thread.metadata, limits={self._limits!r}, names={dict(self.columns)!r})[0]"
        )
        return PythonBody(("usage.usage_within",), (line,))
