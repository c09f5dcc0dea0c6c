"""The grader of a number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind
from workbench.graders.arguments import check_choice
from workbench.graders.base import is_number, kind
from workbench.graders.portable_rule import Rule
from workbench.graders.rule_grader import Unscored
from workbench.graders.rules.amounts import number
from workbench.graders.rules.numbers import LOCALES
from workbench.graders.rules.text import Verdict
from workbench.graders.rules.units import unit_of
from workbench.graders.text.text_grader import ExpectedGrader


@kind("number", family="values")
@dataclass(frozen=True, kw_only=True)
class Number(ExpectedGrader):
    r"""1.0 if the number that the text states as its result equals the expected one, else 0.0.

    Numbers are exact: no float is compared unless a tolerance is given. Fractions (`1/2`, `3 1/2`, `½`, `\frac{1}{2}`), powers
    of ten (`4.2e1`, `4.2 x 10^1`), percent, currency signs, LaTeX and Markdown are read; `nan` is not a number. Text in
    `<think>` is not read. A negated number ("not 42") is not a result. Two different results ("42 or 43", two boxes) score 0.0
    with `failure: "ambiguous"` in the details, an expression ("35 + 7") too.

    | which | number |
    | --- | --- |
    | final | the one in `\boxed{}`; without a box the first one after the last `answer is`, `Answer:` or `####`; without these the last one |
    | last | the last one |
    | only | the only one: others must be equal |
    | boxed, labelled | the one in `\boxed{}`, or after the label |

    Attributes:
        expected: The number, or its text; None takes each sample's reference. It may have a unit, be a range that includes its
            ends (`9.5 to 10.5`), an interval (`[0, 1)`), a value with a margin (`10 ± 0.5`), or a solution with `#### 42`.
        which: See the table.
        label: The label for "labelled" and "final"; "" for the common ones.
        tolerance: Largest accepted difference, in the reference's unit, from 0 on.
        relative: Largest accepted difference as a share of the reference, from 0 on; the larger of both tolerances counts.
        unit: "convert" (another unit of the same quantity is converted, a missing one is accepted), "required" (the
            reference's unit must be stated) or "ignored".
        percent: Value of "42%" if the reference has no unit: "share" (0.42), "number" (42) or "either".
        locale: Marks of the text: "en" (1,234.5), "de" (1.234,5), "fr" (1 234,5), "ch" (1'234.5), "si" (1 234.5), "in" (12,34,567.8).
        reference_locale: Marks of the reference.
        units: More units: `{"furlong": ["m", 201.168]}`.

    The details contain `value`, `unit`, where it was `read`, and the `failure`: missing, ambiguous, unreadable or unit.

    Error kinds: sample (no reference, or one that is not a number).

    Example:
        >>> from workbench import StringThread
        >>> Number("1.5 km")(StringThread([("assistant", "It is 1,500 m away.")])).score
        1.0
    """

    rule: ClassVar[Rule] = Rule(
        "amounts.number",
        settings=(
            "which",
            "label",
            "tolerance",
            "relative",
            "unit",
            "percent",
            "locale",
            "reference_locale",
            "units",
        ),
    )

    expected: str | None = field(default=None, kw_only=False)
    which: str = "final"
    label: str = ""
    tolerance: float = 0.0
    relative: float = 0.0
    unit: str = "convert"
    percent: str = "share"
    locale: str = "en"
    reference_locale: str = "en"
    units: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def example(cls) -> Self:
        """The grader that the tests over every kind use."""
        return cls("4", relative=0.01)

    def __post_init__(self) -> None:
        if is_number(self.expected):
            object.__setattr__(self, "expected", str(self.expected))
        super().__post_init__()
        check_choice("which", self.which, ("final", "last", "only", "boxed", "labelled"))
        check_choice("unit", self.unit, ("convert", "required", "ignored"))
        check_choice("percent", self.percent, ("share", "number", "either"))
        for name in ("locale", "reference_locale"):
            check_choice(name, getattr(self, name), tuple(LOCALES))
        for name in ("tolerance", "relative"):
            value = getattr(self, name)
            if not is_number(value) or value < 0:
                raise FormatError(f"{name} must be a finite number from 0 on", found=repr(value)[:80])
        if not isinstance(self.label, str):
            raise FormatError("label must be text", found=repr(self.label)[:80])
        _check_units(self.units)
        if self.expected is not None:
            try:
                self.compare("", self.expected)
            except Unscored as error:
                raise FormatError("expected must be a number", found=str(error)) from None

    def compare(self, text: str, expected: str) -> Verdict:
        """Whether the text's result is the expected number."""
        settings = {name: getattr(self, name) for name in self.rule.settings}
        try:
            return number(text, expected, **settings)
        except ValueError as error:
            raise Unscored(ErrorKind.SAMPLE, str(error)) from None


def _check_units(units: object) -> None:
    if not isinstance(units, Mapping):
        raise FormatError(
            "units must be a dict", found=repr(units)[:80], expected='{"furlong": ["m", 201.168]}'
        )
    for name, value in units.items():
        is_pair = isinstance(value, list | tuple) and len(value) == 2 and isinstance(value[0], str)
        if (
            not isinstance(name, str)
            or not is_pair
            or not is_number(value[1])
            or not math.copysign(1, value[1]) > 0
        ):
            raise FormatError(
                "a unit must be a known unit's name and a number above 0",
                where=f"units[{name!r}]", found=repr(value)[:80], expected='["m", 201.168]',
            )  # fmt: skip
        if unit_of(value[0]) is None:
            raise FormatError(
                "a unit must be defined by a unit of the table", where=f"units[{name!r}]", found=repr(value[0])[:80],
                expected="a name such as m, kg, s",
            )  # fmt: skip
