"""The grader of texts that must be equal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from workbench.graders.base import kind
from workbench.graders.portable.rule import Rule
from workbench.graders.rules.text import exact_match, folded
from workbench.graders.rules.verdict import Verdict
from workbench.graders.text.base import ExpectedGrader

__all__ = ["ExactMatch"]


@kind("exact-match", family="text")
@dataclass(frozen=True, kw_only=True)
class ExactMatch(ExpectedGrader):
    """1.0 if the text equals the expected one, else 0.0.

    Attributes:
        expected: The expected text; None takes each sample's reference (a number as its JSON text).
        ignore_case: Whether letters match either case, compared by `str.lower`.
        trim: Whether white space around both sides is ignored.

    Error kinds: sample (no reference), and what an extractor raises.

    Source: Letta (`exact_match`: trim, case-sensitive), Umbraco (`exact-match`: trim, ignores case).

    Example:
        >>> from workbench import StringThread
        >>> ExactMatch(expected="4")(StringThread([("assistant", " 4 ")])).score
        1.0
    """

    rule: ClassVar[Rule] = Rule("text.exact_match", "exactMatch", ("ignore_case", "trim"))
    letta_reasons: ClassVar[tuple[str, str]] = ("Exact match: True", "Exact match: False")

    ignore_case: bool = False
    trim: bool = True

    def passes(self, texts: Sequence[str], expected: Sequence[str]) -> list[bool]:
        """Whether each text passes, (m,)."""
        if self.ignore_case or not self.trim:
            fold = partial(folded, ignore_case=self.ignore_case, trim=self.trim)
            return [fold(text) == fold(other) for text, other in zip(texts, expected, strict=True)]
        return [text.strip() == other.strip() for text, other in zip(texts, expected, strict=True)]

    def compare(self, text: str, expected: str) -> Verdict:
        """Whether the text equals the expected one."""
        return exact_match(text, expected, ignore_case=self.ignore_case, trim=self.trim)
