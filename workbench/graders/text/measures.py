"""Graders of a text's length and characters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from workbench.core.errors import FormatError
from workbench.core.thread import StringThread
from workbench.graders.arguments import check_choice
from workbench.graders.base import kind
from workbench.graders.portable_rule import Rule
from workbench.graders.rule_grader import ColumnVerdicts
from workbench.graders.rules.text import Verdict, ascii_printable, length, length_within, measured
from workbench.graders.text.base import TextGrader, WordedGrader


@kind("length", family="text")
@dataclass(frozen=True, kw_only=True)
class Length(TextGrader):
    """1.0 if the text's length is within the bounds, both included, else 0.0.

    Attributes:
        minimum: Minimum length; None for no bound.
        maximum: Maximum length; None for no bound. One of the two must be given.
        unit: "characters" (code points), "words" (separated by white space) or "utf16" (units, as
            JavaScript's and .NET's length).

    Source: the length checks of the vLLora and Umbraco documents.
    """

    rule: ClassVar[Rule] = Rule("text.length", "lengthWithin", ("minimum", "maximum", "unit"))

    minimum: int | None = field(default=None, kw_only=False)
    maximum: int | None = field(default=None, kw_only=False)
    unit: str = "characters"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("unit", self.unit, ("characters", "words", "utf16"))
        bounds = [value for value in (self.minimum, self.maximum) if value is not None]
        # By type and not `isinstance`, to which a bool is an int.
        are_counts = all(type(value) is int and value >= 0 for value in bounds)
        if not bounds or not are_counts or bounds != sorted(bounds):
            raise FormatError(
                "minimum and maximum must be whole numbers from 0 on, in order, at least one of them given",
                found=f"minimum={self.minimum!r}, maximum={self.maximum!r}",
            )

    def compare_texts(self, texts: Sequence[str], references: Sequence[Any]) -> ColumnVerdicts:  # noqa: ARG002
        """The verdicts on the texts, which depend only on their lengths."""
        counts = np.array([measured(text, self.unit) for text in texts] if self.unit != "characters" else list(map(len, texts)), np.int64)  # fmt: skip
        fits = np.ones(len(counts), np.bool_)
        if self.minimum is not None:
            fits &= counts >= self.minimum
        if self.maximum is not None:
            fits &= counts <= self.maximum
        return ColumnVerdicts(fits.astype(np.float64), counts, self._reason, self._details)

    def _reason(self, count: int) -> str:
        return length_within(count, minimum=self.minimum, maximum=self.maximum, unit=self.unit)[1]

    def _details(self, count: int) -> dict[str, Any]:
        return length_within(count, minimum=self.minimum, maximum=self.maximum, unit=self.unit)[2]

    def grade_text(self, text: str, thread: StringThread, reference: Any) -> Verdict:  # noqa: ARG002
        """Whether the text's length is within both bounds."""
        return length(text, minimum=self.minimum, maximum=self.maximum, unit=self.unit)


@kind("ascii-printable", family="text")
@dataclass(frozen=True, kw_only=True)
class AsciiPrintable(WordedGrader):
    r"""1.0 if every character is printable ASCII (32 to 126), `\n` or `\r`; a tab fails.

    The reason lists up to five other characters. Needs no reference.

    Source: Letta (`ascii_printable_only`).
    """

    rule: ClassVar[Rule] = Rule("text.ascii_printable", "asciiPrintable")
    letta_reasons: ClassVar[tuple[str, str]] = ("All characters printable ASCII (ignoring newlines)", "")

    def grade_text(self, text: str, thread: StringThread, reference: Any) -> Verdict:  # noqa: ARG002
        """Whether all characters are printable ASCII or line ends."""
        return ascii_printable(text)
