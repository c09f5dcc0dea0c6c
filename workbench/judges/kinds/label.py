"""The label judge: OpenAI's model grader with a label."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from workbench.grade import ErrorKind, Grade
from workbench.graders.base import kind
from workbench.judges.answers.verdicts import AnswerError, verdict
from workbench.judges.base import refuse_unless
from workbench.judges.kinds.templated import TemplatedJudge, conclusions, steps_and
from workbench.judges.prompts.files import prompt
from workbench.templates.values import json_text

__all__ = ["LabelJudge"]


@kind("label-judge")
@dataclass(frozen=True, kw_only=True)
class LabelJudge(TemplatedJudge):
    """1.0 where a model's label is a passing one, else 0.0.

    Attributes:
        input: Messages; their contents are templates over `item` and `sample`.
        labels: What the model may answer.
        passing_labels: Which of them pass.

    A label that is none of them is a failed grade.

    Source: OpenAI (`label_model`).
    """

    labels: tuple[str, ...] = field(kw_only=False)
    passing_labels: tuple[str, ...] = field(kw_only=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("labels", "passing_labels"):
            given = getattr(self, name)
            texts = isinstance(given, list | tuple) and all(isinstance(one, str) for one in given)
            refuse_unless(texts and given, f"{name} must be a list of labels", given)
            object.__setattr__(self, name, tuple(given))
        stray = [one for one in self.passing_labels if one not in self.labels]
        refuse_unless(not stray, "a passing label is none of the labels", stray[:1], ", ".join(self.labels))

    def answer_format(self) -> dict[str, Any] | None:
        """Steps and one of the labels."""
        return steps_and({"type": "string", "enum": list(self.labels)})

    def system(self) -> str:
        """See `TemplatedJudge.system`."""
        return prompt("label_system", labels=json_text(list(self.labels)))

    def read(self, text: str) -> Grade:
        """The label; the bare label alone counts too."""
        found = {"result": text} if text in self.labels else verdict(text, "result", self.rules)
        label = found.get("result")
        if label not in self.labels:
            raise AnswerError(
                ErrorKind.JUDGE_PARSE, f"the judge's label {label!r} is none of the labels"[:300]
            )
        passed = label in self.passing_labels
        return Grade(float(passed), passed=passed, reasoning=conclusions(found), metadata={"label": label})
