"""Result of one grader on one sample: scored, failed or skipped, never two of them.

Standard library only, without package imports: the sandbox loads this file by its path, so that graders can return a
`Grade` and raise a `Skip` there in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, fields
from enum import StrEnum
from numbers import Real
from typing import Any


class Status(StrEnum):
    """The three states of a grade."""

    SCORED = "scored"
    FAILED = "failed"
    SKIPPED = "skipped"


class ErrorKind(StrEnum):
    """Why a score is missing. One set of kinds for every grader."""

    TIMEOUT = "timeout"
    MEMORY = "memory"
    CRASH = "crash"
    SANDBOX = "sandbox"
    LOAD = "load"
    RUNTIME = "runtime"
    RETURN_TYPE = "return_type"
    NOT_FINITE = "not_finite"
    OUT_OF_RANGE = "out_of_range"
    SAMPLE = "sample"
    NO_COMPLETION = "no_completion"
    TEMPLATE = "template"
    JUDGE_SERVER = "judge_server"
    JUDGE_UNREACHABLE = "judge_unreachable"
    JUDGE_KEY = "judge_key"
    JUDGE_LIMIT = "judge_limit"
    JUDGE_PARSE = "judge_parse"
    JUDGE_CUT = "judge_cut"
    JUDGE_TOO_LONG = "judge_too_long"
    JUDGE_REFUSAL = "judge_refusal"
    ENDPOINT = "endpoint"
    STORE = "store"
    BUDGET = "budget"
    CANCELLED = "cancelled"
    PENDING = "pending"


UNGRADED = frozenset({ErrorKind.CANCELLED, ErrorKind.PENDING})
"""Errors of rows that were never graded, which no setting turns into a number."""


class Skip(Exception):  # noqa: N818 (a result, not an error)
    """Raised by a grader that does not apply to a sample: the row is skipped, and counts neither as 0.0 nor as failed.

    Args:
        reason: Why, as text; the row's reasoning.

    Example:
        >>> import workbench as wb
        >>> def only_maths(thread):
        ...     raise wb.Skip("not a maths question")
        >>> wb.CustomGrader(only_maths)(wb.StringThread([("assistant", "Hello")]))
        Grade(reasoning='not a maths question')
    """

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class GradeError:
    """Why a sample has no score.

    Attributes:
        kind: One of `ErrorKind`.
        message: A sentence for the author of the grader.
        transient: Whether the same row may succeed later, as after a short outage of a server: a run retries it at
            its end.
    """

    kind: ErrorKind
    message: str
    transient: bool = field(default=False, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


@dataclass(frozen=True, slots=True)
class Grade:
    """The result of one grader on one sample.

    Exactly one of three: *scored* (`score` is a number), *failed* (`error` is set) or *skipped*
    (neither). A failure never carries a number, and a skip is not a zero.

    Attributes:
        score: Any finite number; usually 0 to 1. None when failed or skipped.
        passed: The grader's verdict, if it has one.
        reasoning: The reason as text: a judge's rationale, or why a sample was skipped.
        error: Kind and message of a failure.
        metadata: Any further data of the grader, as plain JSON values.
        seconds: Time spent; for graders that run in batches the mean over the batch.
        tokens: Billed tokens, None if there were none.
        cost: Money in US dollars, None if unknown.
        printed: What the grader printed while it graded this one sample, its first 4,000 characters; None for nothing,
            and in the rows of a run.

    Raises:
        TypeError: The score is a bool, text or another value that is not a number; the value is named.
        ValueError: The score is NaN or infinite, or there are both a score and an error.

    Example:
        >>> Grade(0.5).status
        <Status.SCORED: 'scored'>
        >>> Grade.failed("timeout", "no answer within 1 s").score is None
        True
    """

    score: float | None = None
    _: KW_ONLY
    passed: bool | None = None
    reasoning: str | None = None
    error: GradeError | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    seconds: float | None = None
    tokens: int | None = None
    cost: float | None = None
    printed: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        # By equality and not by type, so that numpy's truth values are accepted.
        if self.passed not in (True, False, None):
            raise TypeError(f"passed must be True, False or None, not {_short(self.passed)}")
        if self.reasoning is not None and not isinstance(self.reasoning, str):
            raise TypeError(f"reasoning must be text, not {_short(self.reasoning)}")
        if not isinstance(self.metadata, Mapping):
            raise TypeError(f"metadata must be a dict, not {_short(self.metadata)}")
        if self.score is None:
            return
        object.__setattr__(self, "score", check_score(self.score))
        if self.error is not None:
            raise ValueError(
                f"a grade is scored or failed, not both: score {self.score!r}, error {self.error}"
            )

    @classmethod
    def failed(cls, kind: ErrorKind | str, message: str, **rest: Any) -> Grade:
        """A grade without a score, because of an error."""
        return cls(error=GradeError(ErrorKind(kind), message), **rest)

    @classmethod
    def skipped(cls, reasoning: str | None = None, **rest: Any) -> Grade:
        """A grade without a score, because the grader does not apply to this sample."""
        return cls(reasoning=reasoning, **rest)

    def __repr__(self) -> str:
        """The informative parts; the time is not included, and would make every repr different."""
        shown = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "seconds"}
        parts = [f"{name}={value!r}" for name, value in shown.items() if value not in (None, {})]
        return f"Grade({', '.join(parts) or 'skipped'})"

    @property
    def status(self) -> Status:
        """The state of the grade."""
        if self.error is not None:
            return Status.FAILED
        return Status.SKIPPED if self.score is None else Status.SCORED


def check_score(value: object) -> float:
    """Return `value` as a float, or raise an error that explains why it is not a score.

    Raises:
        TypeError: Not a number. A bool is refused too: `True` instead of 1.0 hides mistakes.
        ValueError: NaN or infinite.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(
            f"a score must be a number (int or float), not {_short(value)} ({type(value).__name__})"
        )
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(
            f"a score must be finite, not {_short(value)}, which is too large for a float"
        ) from None
    if not math.isfinite(number):
        raise ValueError(f"a score must be finite, not {number!r}")
    return number


def _short(value: object, limit: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
