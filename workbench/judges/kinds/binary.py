"""The binary judge: one criterion, PASS, FAIL or NA."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from workbench.grade import ErrorKind, Grade
from workbench.graders.base import kind
from workbench.judges.answers.verdicts import AnswerError, verdict
from workbench.judges.base import (
    JSON_OBJECT,
    Judge,
    SampleError,
    as_sample,
    check_names,
    json_schema,
    refuse_unless,
)
from workbench.judges.prompts.files import prompt
from workbench.judges.prompts.thread_parts import asked_and_context
from workbench.judges.protocol import Messages
from workbench.samples import Sample
from workbench.templates import compile as compile_template
from workbench.templates import thread_variables
from workbench.templates.values import json_text
from workbench.templates.variables import context_text
from workbench.thread import StringThread

__all__ = ["BinaryJudge"]

_SCHEMA = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string"},
        "score": {"type": "string", "enum": ["PASS", "FAIL", "NA"]},
    },
    "required": ["reasoning", "score"],
    "additionalProperties": False,
}
_SHOWN_SCHEMA = {key: value for key, value in _SCHEMA.items() if key != "additionalProperties"}
_REASONS = {
    "PASS": "The completion meets the criterion.",
    "FAIL": "The completion does not meet the criterion.",
    "NA": "The criterion is conditional, and its condition does not hold here.",
}
_SHOTS: tuple[tuple[str, str, str, str, str], ...] = (
    ("What is the capital of France?", "Paris is in France.", "The completion names the capital.", "FAIL",
     "It says where Paris lies, but never that it is the capital that was asked for."),
    ("How do I undo my last commit?", "Run `git reset --soft HEAD~1`.", "The completion gives a command.", "PASS",
     "It gives a command that does what was asked."),
    ("Thanks!", "You are welcome.", "If the user asks for code, the completion has code.", "NA",
     "The user asked for no code, so the criterion does not apply."),
)  # fmt: skip


@kind("binary-judge")
@dataclass(frozen=True, kw_only=True)
class BinaryJudge(Judge):
    """1.0 where a model finds that the completion meets the criterion, 0.0 where it does not, skipped where NA.

    The thread needs a user turn and an answer. The system turn is not shown. Own templates are Handlebars with the
    variables of the Adaptive document and `criteria`, `examples`, `output_schema`.

    Attributes:
        criteria: What a pass is, in plain language.
        examples: Dicts `input` (messages), `output`, `passes` (true, false, or null for NA), perhaps `reasoning`
            (or `justification`).
            They replace the three built-in ones.
        feedback_key: Name the platform keeps the scores under; not used here.
        system_template: Replaces the built-in system prompt.
        user_template: Replaces the built-in user prompt.
        template_variables: More variables for the templates, at top level.

    Source: Adaptive (`binary_judge`, v0.14).
    """

    criteria: str = field(kw_only=False)
    examples: tuple[Mapping[str, Any], ...] = ()
    feedback_key: str = ""
    system_template: str | None = None
    user_template: str | None = None
    template_variables: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_unless(
            isinstance(self.criteria, str) and self.criteria.strip(), "criteria must be text", self.criteria
        )
        object.__setattr__(self, "examples", tuple(_example(one) for one in self.examples))
        object.__setattr__(self, "template_variables", dict(self.template_variables))
        for text in (self.system_template, self.user_template):
            if text is not None:
                compile_template(text, "handlebars")

    def answer_format(self) -> dict[str, Any] | None:
        """Reasoning and a label; under platforms' rules JSON mode, unless an own prompt may never mention it."""
        if not self.rules:
            return json_schema(_SCHEMA)
        return None if self.system_template or self.user_template else JSON_OBJECT

    def preview(self, sample: Sample | StringThread) -> Messages:
        """See `Judge.preview`."""
        sample = as_sample(sample)
        self._check_turns(sample.thread)
        own = self.system_template is not None or self.user_template is not None
        values = self._values(sample) if own else {}
        system = self._own(self.system_template, values) if self.system_template is not None else self._system
        if self.user_template is not None:
            text = self._own(self.user_template, values)
            return [{"role": "system", "content": system}, {"role": "user", "content": text}]
        shots = [dict(message) for message in self._shots]
        asked, context = asked_and_context(sample.thread)
        text = _question(asked, context, self.judged(sample), self.criteria)
        return [{"role": "system", "content": system}, *shots, {"role": "user", "content": text}]

    def _check_turns(self, thread: StringThread) -> None:
        final = self.extractor.name != "last_assistant" or thread.completion() is not None
        if not final or not any(turn.role == "user" for turn in thread.get_turns()):
            raise SampleError("a binary judge needs a user turn and a final assistant turn")

    def _values(self, sample: Sample) -> dict[str, Any]:
        named = {
            "criteria": self.criteria,
            "output_schema": json_text(_SHOWN_SCHEMA),
            "examples": [_for_template(one, self.criteria) for one in self.examples],
        }
        values = thread_variables(sample, completion=self.judged(sample))
        return {**values, **named, **self.template_variables}

    def _own(self, text: str, values: Mapping[str, Any]) -> str:
        template = compile_template(text, "handlebars")
        check_names(template, values, self.rules)
        return template.render(values)

    # The same for every row, so made once a judge: with them a preview would take four times as long.

    @cached_property
    def _system(self) -> str:
        return prompt("binary_system", output_schema=json_text(_SHOWN_SCHEMA))

    @cached_property
    def _shots(self) -> Messages:
        own = [_for_template(one, self.criteria) for one in self.examples]
        messages: Messages = []
        for shot in own or [_built_in(*one) for one in _SHOTS]:
            text = _question(shot["user_question"], shot["context_str"], shot["completion"], shot["criteria"])
            messages += [
                {"role": "user", "content": text},
                {"role": "assistant", "content": shot["output_json"]},
            ]
        return messages

    def read(self, text: str) -> Grade:
        """PASS, FAIL or NA; other cases of the letters under our own rules only."""
        found = verdict(text, "score", self.rules)
        said = found.get("score")
        label = said.strip().upper() if isinstance(said, str) and not self.rules else said
        if label not in ("PASS", "FAIL", "NA"):
            raise AnswerError(
                ErrorKind.JUDGE_PARSE, f"the judge's score must be PASS, FAIL or NA, not {said!r}"[:300]
            )
        reasoning = str(found.get("reasoning") or "")
        if label == "NA":
            return Grade.skipped(reasoning or _REASONS["NA"])
        return Grade(float(label == "PASS"), passed=label == "PASS", reasoning=reasoning)


def _question(asked: str, context: str, completion: str, criteria: str) -> str:
    material = {"context": context, "question": asked, "completion": completion}
    return prompt("binary_user", material, criteria=criteria)


def _example(given: Any) -> dict[str, Any]:
    shape = "{input: [{role, content}], output, passes, reasoning?}"
    whole = isinstance(given, Mapping) and {"input", "output", "passes"} <= set(given)
    refuse_unless(whole, "an example lacks a part", given, shape)
    one = {"reasoning" if key == "justification" else key: value for key, value in given.items()}
    unknown = sorted(map(str, set(one) - {"input", "output", "passes", "reasoning"}))
    refuse_unless(not unknown, "an example has a part that nothing reads", unknown[:1], shape)
    refuse_unless(
        one["passes"] in (True, False, None),
        "an example passes or does not",
        one["passes"],
        "true, false or null",
    )
    turns = one["input"]
    right = isinstance(turns, list | tuple) and all(
        isinstance(t, Mapping) and {"role", "content"} <= set(t) for t in turns
    )
    refuse_unless(
        right and isinstance(one["output"], str),
        "an example's input must be messages, its output text",
        one,
        shape,
    )
    return {**one, "input": [dict(turn) for turn in turns]}


def _for_template(one: Mapping[str, Any], criteria: str) -> dict[str, Any]:
    turns = [turn for turn in one["input"] if turn["role"] != "system"]
    asked = max((at for at, turn in enumerate(turns) if turn["role"] == "user"), default=None)
    label = {True: "PASS", False: "FAIL", None: "NA"}[one["passes"]]
    return {
        "context_str": context_text([turn for at, turn in enumerate(turns) if at != asked]),
        "user_question": "" if asked is None else str(turns[asked]["content"]),
        "completion": one["output"],
        "criteria": criteria,
        "output_json": json_text({"reasoning": one.get("reasoning") or _REASONS[label], "score": label}),
    }


def _built_in(question: str, completion: str, criteria: str, label: str, reason: str) -> dict[str, Any]:
    return {
        "context_str": "", "user_question": question, "completion": completion, "criteria": criteria,
        "output_json": json_text({"reasoning": reason, "score": label}),
    }  # fmt: skip
