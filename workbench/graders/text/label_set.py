"""The grader of labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from workbench.core.errors import FormatError
from workbench.core.thread import StringThread
from workbench.graders.base import kind
from workbench.graders.portable.rule import Rule
from workbench.graders.rules.text import label_set
from workbench.graders.rules.verdict import Verdict
from workbench.graders.settings import as_texts
from workbench.graders.text.base import TextGrader

__all__ = ["LabelSet"]


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
