"""The grader of mathematical results."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind, Grade
from workbench.core.grades import Grades
from workbench.data.samples import Sample, Samples
from workbench.graders.arguments import LIMIT, check_choice, check_time_limit
from workbench.graders.base import Grader, is_number, kind
from workbench.graders.concurrent_rows import Control
from workbench.graders.portable_rule import PythonBody, Rule, refusal
from workbench.graders.rule_grader import Unscored
from workbench.graders.rules.math import math_equal
from workbench.graders.rules.text import Verdict
from workbench.graders.text.text_grader import ExpectedGrader
from workbench.graders.values.math_verify_engine import check_installed, engine_processes, verified


class _ForEngine(BaseException):
    """Leaves the rule with the two texts that an engine compares."""

    def __init__(self, text: str, expected: str) -> None:
        super().__init__()
        self.text, self.expected = text, expected


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
        engine: "" for the rules above, or "math-verify" for the package of this name (extra `math`), with its rules and its
            search for the result. It runs in separate processes with your rights, not in the sandbox.
        timeout: Time limit of a row with an engine, in seconds, above 0, at most 60; then its process is ended.

    The details contain the `result`, its `kind`, and the `failure`: missing, ambiguous or unevaluated.

    Error kinds: sample (no reference, or an empty one), with an engine also timeout, crash, load, runtime.

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
    engine: str = ""
    timeout: float = field(default=5.0, metadata=LIMIT)

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
        check_choice("engine", self.engine, ("", "math-verify"))
        check_time_limit(self.timeout)
        for name in ("relative", "evaluated", "whole") if self.engine else ():
            if getattr(self, name):
                raise FormatError(
                    f"{self.engine} has no setting {name}",
                    found=repr(getattr(self, name)),
                    hint="leave it out, or engine",
                )

    def check_ready(self) -> None:
        """Raise any error that would end a run before its first row.

        Raises:
            MissingPackageError: The engine is not installed.
        """
        if self.engine:
            check_installed()

    @property
    def at_once(self) -> int:
        """Number of rows graded concurrently: with an engine, each takes a process."""
        return os.cpu_count() or 1

    async def grade(self, sample: Sample) -> Grade:
        """Grade one sample; with an engine in one of its processes."""
        if not self.engine:
            return await super().grade(sample)
        check_installed()
        start = time.perf_counter()
        try:
            outcome = self._safely(sample.thread, sample.reference)
        except _ForEngine as pair:
            grade = await verified(pair.text, pair.expected, self.timeout)
            return replace(grade, seconds=time.perf_counter() - start)
        return self._grade_of(outcome, time.perf_counter() - start)

    async def grade_all(self, samples: Samples, control: Control) -> Grades:
        """Grade every row; with an engine several concurrently."""
        if not self.engine:
            return await super().grade_all(samples, control)
        async with engine_processes().run():
            return await Grader.grade_all(self, samples, control)

    def python_body(self, reference_names: tuple[str, ...]) -> PythonBody:
        """The body of a Python function that scores the same; an engine has none."""
        if self.engine:
            raise refusal(self, "engine", "code of other platforms cannot load math-verify", 'use engine=""')
        return super().python_body(reference_names)

    def compare(self, text: str, expected: str) -> Verdict:
        """Whether the text's result equals the expected one."""
        if self.engine:
            raise _ForEngine(text, expected)
        try:
            return math_equal(
                text, expected, relative=self.relative, evaluated=self.evaluated, whole=self.whole
            )
        except ValueError as error:
            raise Unscored(ErrorKind.SAMPLE, str(error)) from None
