"""The binary judge: one criterion, PASS, FAIL or NA."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from workbench.core.grade import ErrorKind, Grade
from workbench.core.python_text import cached_property
from workbench.core.thread import StringThread
from workbench.data.samples import Sample
from workbench.data.templates import compile as compile_template
from workbench.data.templates import context_text, thread_variables
from workbench.data.templates.values import json_text
from workbench.graders.base import as_sample, kind
from workbench.judges.kinds import JSON_OBJECT, Judge, json_schema
from workbench.judges.prompts import check_template_names, prompt, question_and_context
from workbench.judges.protocol import Messages, Reply, SampleError, refuse_unless
from workbench.judges.token_odds import LOGPROBS, weighted
from workbench.judges.verdicts import AnswerError, verdict_object

_ANSWER_SCHEMA = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string"},
        "score": {"type": "string", "enum": ["PASS", "FAIL", "NA"]},
    },
    "required": ["reasoning", "score"],
    "additionalProperties": False,
}
_PROMPT_SCHEMA = {key: value for key, value in _ANSWER_SCHEMA.items() if key != "additionalProperties"}
_DEFAULT_REASONS = {
    "PASS": "The completion meets the criterion.",
    "FAIL": "The completion does not meet the criterion.",
    "NA": "The criterion is conditional, and its condition does not hold here.",
}
# Prompt, completion, criterion, label and reason.
_BUILT_IN_EXAMPLES: tuple[tuple[str, str, str, str, str], ...] = (
    ("What is the capital of France?", "Paris is in France.", "The completion names the capital.", "FAIL",
     "It says where Paris lies, but never that it is the capital that was asked for."),
    ("How do I undo my last commit?", "Run `git reset --soft HEAD~1`.", "The completion gives a command.", "PASS",
     "It gives a command that does what was asked."),
    ("Thanks!", "You are welcome.", "If the user asks for code, the completion has code.", "NA",
     "The user asked for no code, so the criterion does not apply."),
)  # fmt: skip


@kind("binary-judge", family="judges")
@dataclass(frozen=True, kw_only=True)
class BinaryJudge(Judge):
    """1.0 if a model finds that the completion meets the criterion, 0.0 if it does not, skipped if NA.

    The thread needs a user turn and a completion. The system turn is not shown to the judge. Templates are Handlebars,
    with the variables that Adaptive documents and `criteria`, `examples`, `output_schema`.

    Attributes:
        criteria: What a pass is, in plain language.
        examples: Dicts with `input` (messages), `output`, `passes` (true, false, or null for NA) and optionally
            `reasoning` (or `justification`). They replace the three built-in ones.
        feedback_key: Name under which the platform stores the scores; not used here.
        system_template: Replaces the built-in system prompt.
        user_template: Replaces the built-in user prompt.
        template_variables: Further variables for the templates.
        logprobs: Whether the score is the probability of PASS, of PASS or FAIL, where the server returns those of
            tokens: `metadata["sampled_score"]` is then the score of the verdict itself. The verdict stays the reply's.

    Source: Adaptive (`binary_judge`, v0.14).
    """

    has_own_examples: ClassVar[bool] = True

    criteria: str = field(kw_only=False)
    examples: tuple[Mapping[str, Any], ...] = ()
    feedback_key: str = ""
    system_template: str | None = None
    user_template: str | None = None
    template_variables: Mapping[str, Any] = field(default_factory=dict)
    logprobs: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_unless(isinstance(self.logprobs, bool), "logprobs must be True or False", self.logprobs)
        refuse_unless(
            isinstance(self.criteria, str) and self.criteria.strip(), "criteria must be text", self.criteria
        )
        object.__setattr__(self, "examples", tuple(_checked_example(example) for example in self.examples))
        object.__setattr__(self, "template_variables", dict(self.template_variables))
        for text in (self.system_template, self.user_template):
            if text is not None:
                compile_template(text, "handlebars")

    def answer_format(self) -> dict[str, Any] | None:
        """Reasoning and a label; JSON mode under platforms' rules if the author gives no template."""
        if not self.platform:
            return json_schema(_ANSWER_SCHEMA)
        # OpenAI rejects JSON mode if no message mentions JSON, and a template may never do so.
        return None if self.system_template or self.user_template else JSON_OBJECT

    def request_settings(self) -> dict[str, Any]:
        """See `Judge.request_settings`; with the request for probabilities."""
        return super().request_settings() | (LOGPROBS if self.logprobs else {})

    def read_reply(self, sample: Sample, messages: Messages, reply: Reply) -> Grade:
        """See `Judge.read_reply`; the expected score if the reply has probabilities."""
        grade = super().read_reply(sample, messages, reply)
        return weighted(grade, reply, {"PASS": 1.0, "FAIL": 0.0}) if self.logprobs else grade

    @property
    def shows_question(self) -> bool:
        """Whether the request contains the row's prompt."""
        return self.user_template is None

    def preview(self, sample: Sample | StringThread) -> Messages:
        """The messages that would be sent."""
        sample = as_sample(sample)
        self._check_turns(sample.thread)
        has_template = self.system_template is not None or self.user_template is not None
        values = self._template_values(sample) if has_template else {}
        system = self._system_prompt
        if self.system_template is not None:
            system = self._render(self.system_template, values)
        if self.user_template is not None:
            text = self._render(self.user_template, values)
            return [{"role": "system", "content": system}, {"role": "user", "content": text}]
        examples = [dict(message) for message in self._example_messages]
        question, context = question_and_context(sample.thread)
        text = _user_prompt(question, context, self.judged_text(sample), self.criteria)
        return [{"role": "system", "content": system}, *examples, {"role": "user", "content": text}]

    def _check_turns(self, thread: StringThread) -> None:
        # Another extractor may judge any text, so it needs no final completion.
        has_answer = self.extractor.name != "last_assistant" or thread.completion() is not None
        if not has_answer or not any(turn.role == "user" for turn in thread.get_turns()):
            raise SampleError("a binary judge needs a user turn and a final assistant turn")

    def _template_values(self, sample: Sample) -> dict[str, Any]:
        own_values = {
            "criteria": self.criteria,
            "output_schema": json_text(_PROMPT_SCHEMA),
            "examples": [_example_values(example, self.criteria) for example in self.examples],
        }
        values = thread_variables(sample, completion=self.judged_text(sample))
        return {**values, **own_values, **self.template_variables}

    def _render(self, text: str, values: Mapping[str, Any]) -> str:
        template = compile_template(text, "handlebars")
        check_template_names(template, values, self.platform)
        return template.render(values)

    # The same for every row, so rendered once for each judge: otherwise a preview takes four times as long.

    @cached_property
    def _system_prompt(self) -> str:
        return prompt("binary_system", output_schema=json_text(_PROMPT_SCHEMA))

    @cached_property
    def _example_messages(self) -> Messages:
        own_examples = [_example_values(example, self.criteria) for example in self.examples]
        messages: Messages = []
        for values in own_examples or [_built_in_values(*parts) for parts in _BUILT_IN_EXAMPLES]:
            text = _user_prompt(
                values["user_question"], values["context_str"], values["completion"], values["criteria"]
            )
            messages += [
                {"role": "user", "content": text},
                {"role": "assistant", "content": values["output_json"]},
            ]
        return messages

    def read(self, text: str) -> Grade:
        """PASS, FAIL or NA; under the workbench's rules in any letter case."""
        answer = verdict_object(text, "score", self.platform)
        score = answer.get("score")
        label = score.strip().upper() if isinstance(score, str) and not self.platform else score
        if label not in ("PASS", "FAIL", "NA"):
            raise AnswerError(
                ErrorKind.JUDGE_PARSE, f"the judge's score must be PASS, FAIL or NA, not {score!r}"[:300]
            )
        reasoning = str(answer.get("reasoning") or "")
        if label == "NA":
            return Grade.skipped(reasoning or _DEFAULT_REASONS["NA"])
        return Grade(float(label == "PASS"), passed=label == "PASS", reasoning=reasoning)


def _user_prompt(question: str, context: str, completion: str, criteria: str) -> str:
    material = {"context": context, "question": question, "completion": completion}
    return prompt("binary_user", material, criteria=criteria)


def _checked_example(example: Any) -> dict[str, Any]:
    shape = "{input: [{role, content}], output, passes, reasoning?}"
    complete = isinstance(example, Mapping) and {"input", "output", "passes"} <= set(example)
    refuse_unless(complete, "an example lacks a key", example, shape)
    parts = {"reasoning" if key == "justification" else key: value for key, value in example.items()}
    unknown = sorted(map(str, set(parts) - {"input", "output", "passes", "reasoning"}))
    refuse_unless(not unknown, "an example has an unknown key", unknown[:1], shape)
    refuse_unless(
        parts["passes"] in (True, False, None),
        "an example's passes must be true, false or null",
        parts["passes"],
        "true, false or null",
    )
    turns = parts["input"]
    are_turns = isinstance(turns, list | tuple) and all(
        isinstance(turn, Mapping) and {"role", "content"} <= set(turn) for turn in turns
    )
    refuse_unless(
        are_turns and isinstance(parts["output"], str),
        "an example's input must be messages, its output text",
        parts,
        shape,
    )
    return {**parts, "input": [dict(turn) for turn in turns]}


def _example_values(example: Mapping[str, Any], criteria: str) -> dict[str, Any]:
    """An example as templates see it, in Adaptive's names."""
    turns = [turn for turn in example["input"] if turn["role"] != "system"]
    last = max((index for index, turn in enumerate(turns) if turn["role"] == "user"), default=None)
    label = {True: "PASS", False: "FAIL", None: "NA"}[example["passes"]]
    reasoning = example.get("reasoning") or _DEFAULT_REASONS[label]
    return {
        "context_str": context_text([turn for index, turn in enumerate(turns) if index != last]),
        "user_question": "" if last is None else str(turns[last]["content"]),
        "completion": example["output"],
        "criteria": criteria,
        "output_json": json_text({"reasoning": reasoning, "score": label}),
    }


def _built_in_values(
    question: str, completion: str, criteria: str, label: str, reason: str
) -> dict[str, Any]:
    return {
        "context_str": "", "user_question": question, "completion": completion, "criteria": criteria,
        "output_json": json_text({"reasoning": reason, "score": label}),
    }  # fmt: skip
