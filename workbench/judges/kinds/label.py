"""The label judge: OpenAI's model grader that chooses a label."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from workbench.core.grade import ErrorKind, Grade
from workbench.data.templates.values import json_text
from workbench.graders.base import kind
from workbench.judges.answers.verdicts import AnswerError, verdict_object
from workbench.judges.field_checks import refuse_unless
from workbench.judges.kinds.templated import TemplatedJudge, conclusions, steps_format
from workbench.judges.prompts.files import prompt

__all__ = ["LabelJudge"]


@kind("label-judge", family="judges")
@dataclass(frozen=True, kw_only=True)
class LabelJudge(TemplatedJudge):
    """1.0 if the model chooses a passing label, else 0.0.

    Attributes:
        input: Messages; their contents are templates over `item` and `sample`.
        labels: The labels that the model may choose. Any other reply is a failed grade.
        passing_labels: Which of them pass.

    Source: OpenAI (`label_model`).
    """

    labels: tuple[str, ...] = field(kw_only=False)
    passing_labels: tuple[str, ...] = field(kw_only=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("labels", "passing_labels"):
            labels = getattr(self, name)
            are_texts = isinstance(labels, list | tuple) and all(isinstance(label, str) for label in labels)
            refuse_unless(are_texts and labels, f"{name} must be a list of labels", labels)
            object.__setattr__(self, name, tuple(labels))
        unknown = [label for label in self.passing_labels if label not in self.labels]
        message = "a passing label is not one of the labels"
        refuse_unless(not unknown, message, unknown[:1], ", ".join(self.labels))

    def answer_format(self) -> dict[str, Any] | None:
        """Steps and one of the labels."""
        return steps_format({"type": "string", "enum": list(self.labels)})

    def system_prompt(self) -> str:
        """The required format of the reply; precedes the author's messages."""
        return prompt("label_system", labels=json_text(list(self.labels)))

    def read(self, text: str) -> Grade:
        """The label, from the JSON object or as the whole reply."""
        answer = {"result": text} if text in self.labels else verdict_object(text, "result", self.platform)
        label = answer.get("result")
        if label not in self.labels:
            raise AnswerError(
                ErrorKind.JUDGE_PARSE, f"the judge's label {label!r} is not one of the labels"[:300]
            )
        passed = label in self.passing_labels
        return Grade(float(passed), passed=passed, reasoning=conclusions(answer), metadata={"label": label})
