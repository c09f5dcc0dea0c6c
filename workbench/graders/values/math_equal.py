"""The grader of mathematical results, and the package math-verify as its engine: in separate processes, which a time limit ends."""

from __future__ import annotations

import logging
import os
import time
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, Self

from workbench.core.discovery import check_installed
from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind, Grade
from workbench.core.grades import Grades
from workbench.core.user_functions import LateError, attempt_async
from workbench.core.user_processes import ProcessLostError, ProcessPool
from workbench.data.samples import Sample, Samples
from workbench.graders.arguments import LIMIT, check_choice, check_time_limit
from workbench.graders.base import Grader, is_number, kind
from workbench.graders.concurrent_rows import Control
from workbench.graders.portable_rule import PythonBody, Rule, refusal
from workbench.graders.rule_grader import Unscored
from workbench.graders.rules.math import math_equal
from workbench.graders.rules.text import Verdict
from workbench.graders.text.text_grader import ExpectedGrader

_MAX_CHARACTERS = 20_000
"""Maximum characters of a text: the package searches all of it for expressions. Workbench limit."""


@cache
def engine_processes() -> ProcessPool:
    """The processes of all graders with this engine."""
    return ProcessPool(_Verifier())


async def verified(text: str, expected: str, seconds: float) -> Grade:
    """The grade of a text.

    Args:
        text: The completion.
        expected: The result.
        seconds: Time limit, after which the process is ended.
    """
    if len(text) > _MAX_CHARACTERS:
        return Grade.failed(ErrorKind.SAMPLE, f"the text has more than {_MAX_CHARACTERS:,} characters")
    result = await attempt_async(engine_processes().call((text, expected), seconds))
    if isinstance(result, Exception):
        return _failed(result, seconds)
    score, reason, details = result
    return Grade(score, passed=score >= 1.0, reasoning=reason, metadata=details)


def _failed(error: Exception, seconds: float) -> Grade:
    if isinstance(error, LateError):
        return Grade.failed(ErrorKind.TIMEOUT, f"timed out: no result within {seconds:g} s")
    if isinstance(error, ProcessLostError):
        return Grade.failed(ErrorKind.CRASH, f"math-verify's process ended: {error}")
    if isinstance(error, ValueError):
        return Grade.failed(ErrorKind.SAMPLE, str(error))
    if isinstance(error, ImportError | TimeoutError):
        return Grade.failed(ErrorKind.LOAD, str(error))
    # The package parses any text, and may raise anything.
    return Grade.failed(ErrorKind.RUNTIME, f"math-verify: {type(error).__name__}: {error}"[:300])


class _Verifier:
    """The function of the processes. Loading it there loads the package, before any row's time starts."""

    def __call__(self, pair: tuple[str, str]) -> tuple[float, str, dict[str, Any]]:
        raise NotImplementedError("called only in a separate process")

    def __reduce__(self) -> tuple[Any, ...]:
        return _loaded, ()


def _loaded() -> Any:
    # It warns at every call without a time limit; the limit here is that of the process.
    logging.getLogger("math_verify").setLevel(logging.CRITICAL)
    import_module("math_verify")
    return _verify


def _verify(pair: tuple[str, str]) -> tuple[float, str, dict[str, Any]]:
    """Score, reason and details, in a separate process."""
    package = import_module("math_verify")
    text, expected = pair
    wanted = package.parse(expected if "$" in expected else f"${expected}$", parsing_timeout=None)
    if not wanted:
        raise ValueError(f"math-verify cannot read the reference {expected[:80]!r}")
    found = package.parse(text, parsing_timeout=None)
    details: dict[str, Any] = {"engine": "math-verify", "result": str(found[-1]) if found else None}
    if not found:
        return 0.0, "No result was found", {**details, "failure": "missing"}
    equal = package.verify(wanted, found, timeout_seconds=None)
    reason = f"{found[-1]} equals {expected}" if equal else f"{found[-1]} does not equal {expected}"
    return float(equal), reason[:300], details


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
            check_installed("math_verify")

    @property
    def at_once(self) -> int:
        """Number of rows graded concurrently: with an engine, each takes a process."""
        return os.cpu_count() or 1

    async def grade(self, sample: Sample) -> Grade:
        """Grade one sample; with an engine in one of its processes."""
        if not self.engine:
            return await super().grade(sample)
        check_installed("math_verify")
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
