"""Graders that look for a text: equal to the expected one, containing it, or one of several labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from workbench.core.errors import FormatError
from workbench.core.thread import StringThread
from workbench.graders.arguments import as_texts
from workbench.graders.base import kind
from workbench.graders.portable_rule import Rule
from workbench.graders.rules.text import Verdict, contains, exact_match, folded, label_set
from workbench.graders.text.base import ExpectedGrader, TextGrader


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


@kind("label-set", family="text")
@dataclass(frozen=True, kw_only=True)
class LabelSet(TextGrader):
    """1.0 if the text is a label that passes; 0.0 for other labels and other texts.

    Attributes:
        labels: Every allowed completion.
        passing_labels: Those of them that pass; all of them by default.
        ignore_case: Whether letters match either case.
        trim: Whether white space around the text and the labels is ignored.

    The details contain the `label` found, None for other texts.

    Source: OpenAI (`label_model`: passing labels are a subset), here without a model.
    """

    rule: ClassVar[Rule] = Rule(
        "text.label_set", "labelSet", ("labels", "passing_labels", "ignore_case", "trim")
    )

    labels: tuple[str, ...] = field(kw_only=False)
    # None until the labels are known: then all of them.
    passing_labels: tuple[str, ...] = field(default=None, kw_only=False)  # type: ignore[arg-type]
    ignore_case: bool = False
    trim: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "labels", as_texts("labels", self.labels, least=1))
        passing_labels = self.labels
        if self.passing_labels is not None:
            passing_labels = as_texts("passing_labels", self.passing_labels, least=1)
        object.__setattr__(self, "passing_labels", passing_labels)
        if strange := [label for label in self.passing_labels if label not in self.labels]:
            raise FormatError(
                "passing_labels must contain only labels",
                found=repr(strange[0]),
                expected=", ".join(self.labels),
            )

    def grade_text(self, text: str, thread: StringThread, reference: Any) -> Verdict:  # noqa: ARG002
        """Whether the text is one of the labels, and one that passes."""
        return label_set(
            text,
            labels=self.labels,
            passing_labels=self.passing_labels,
            ignore_case=self.ignore_case,
            trim=self.trim,
        )
