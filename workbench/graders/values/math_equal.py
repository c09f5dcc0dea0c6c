"""The grader of mathematical results."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self

from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind
from workbench.graders.base import is_number, kind
from workbench.graders.portable_rule import Rule
from workbench.graders.rule_grader import Unscored
from workbench.graders.rules.math import math_equal
from workbench.graders.rules.text import Verdict
from workbench.graders.text.text_grader import ExpectedGrader


@kind("math-equal", family="values")
@dataclass(frozen=True, kw_only=True)
class MathEqual(ExpectedGrader):
    r"""1.0 if the text's mathematical result equals the expected one, else 0.0.

    The result is every `\boxed{}` (different ones are ambiguous and score 0.0), else what follows the last `answer is` or
    `Answer:`, else the last formula, else the last line. LaTeX and plain text are read: numbers, fractions, roots, powers,
    factorials, functions, variables, percent, tuples, sets, lists (`2, 3`, `2 \text{ or } 3`, `\pm 2`: any order), intervals
    and their unions, inequalities of one variable (as intervals), equations (equal up to a factor), matrices. Other texts are
    compared without spaces and case.

    Rational values are exact; others are equal up to 1e-9. Expressions with variables are compared at 12 points of both
    signs, where both are real. Nothing is run, and a text of up to 2,000 characters takes milliseconds.

    Attributes:
        expected: The result; None takes each sample's reference, of which `\boxed{}` counts if there is one.
        relative: Accepted relative difference of numbers, from 0 on: 0.001 makes 0.333 and 1/3 equal.
        evaluated: Whether a result with more operations to carry out than the reference scores 0.0: "3 + 4" is then not 7,
            so that a copy of the problem is not a result.
        whole: Whether the whole text is the result, without a search for it.

    The details contain the `result`, its `kind`, and the `failure`: missing, ambiguous or unevaluated.

    Error kinds: sample (no reference, or an empty one).

    Example:
        >>> from workbench import StringThread
        >>> MathEqual(r"\frac{\sqrt{2}}{2}")(StringThread([("assistant", r"It is $\frac{1}{\sqrt{2}}$.")])).score
        1.0
    """

    rule: ClassVar[Rule] = Rule("math.math_equal", settings=("relative", "evaluated", "whole"))

    expected: str | None = field(default=None, kw_only=False)
    relative: float = 0.0
    evaluated: bool = False
    whole: bool = False

    @classmethod
    def example(cls) -> Self:
        """The grader that the tests over every kind use."""
        return cls(r"\frac{8}{2}")

    def __post_init__(self) -> None:
        if is_number(self.expected):
            object.__setattr__(self, "expected", str(self.expected))
        super().__post_init__()
        if not is_number(self.relative) or self.relative < 0:
            raise FormatError("relative must be a finite number from 0 on", found=repr(self.relative)[:80])
        if self.expected is not None and not self.expected.strip():
            raise FormatError("expected must be a result", found=repr(self.expected)[:80])

    def compare(self, text: str, expected: str) -> Verdict:
        """Whether the text's result equals the expected one."""
        try:
            return math_equal(
                text, expected, relative=self.relative, evaluated=self.evaluated, whole=self.whole
            )
        except ValueError as error:
            raise Unscored(ErrorKind.SAMPLE, str(error)) from None
