"""The grader of texts that must occur."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from workbench.graders.base import kind
from workbench.graders.portable.rule import Rule
from workbench.graders.rules.text import contains
from workbench.graders.rules.verdict import Verdict
from workbench.graders.text.base import ExpectedGrader

__all__ = ["Contains"]


@kind("contains", family="text")
@dataclass(frozen=True, kw_only=True)
class Contains(ExpectedGrader):
    """1.0 if the expected text occurs in the text, else 0.0. Nothing is trimmed.

    Attributes:
        expected: The text to find; None takes each sample's reference. An empty one always occurs.
        ignore_case: Whether letters match either case, by `str.lower` without folding: "ß" is not "ss".

    Error kinds: sample (no reference), and what an extractor raises.

    Source: Letta (`contains`), Umbraco (`contains`).
    """

    rule: ClassVar[Rule] = Rule("text.contains", "contains", ("ignore_case",))
    letta_reasons: ClassVar[tuple[str, str]] = ("Contains ground_truth: True", "Contains ground_truth: False")

    ignore_case: bool = False

    def passes(self, texts: Sequence[str], expected: Sequence[str]) -> list[bool]:
        """Whether each text passes, (m,)."""
        if self.ignore_case:
            return [other.lower() in text.lower() for text, other in zip(texts, expected, strict=True)]
        return [other in text for text, other in zip(texts, expected, strict=True)]

    def compare(self, text: str, expected: str) -> Verdict:
        """Whether the expected text occurs."""
        return contains(text, expected, ignore_case=self.ignore_case)
