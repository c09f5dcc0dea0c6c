"""The base of OpenAI's judges: message templates for the request, steps and a result in the reply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.core.thread import StringThread
from workbench.data.samples import Sample
from workbench.data.templates import compile as compile_template
from workbench.data.templates import thread_variables
from workbench.judges.base import Judge, as_sample, json_schema
from workbench.judges.field_checks import refuse_unless
from workbench.judges.protocol import Messages

__all__ = ["TemplatedJudge", "conclusions", "steps_format"]

_STEPS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"description": {"type": "string"}, "conclusion": {"type": "string"}},
        "required": ["description", "conclusion"],
        "additionalProperties": False,
    },
}


@dataclass(frozen=True, kw_only=True)
class TemplatedJudge(Judge):
    """A judge whose messages are OpenAI templates with the variables `item` and `sample`.

    Attributes:
        input: Dicts with `role` and `content`.
    """

    input: tuple[Mapping[str, str], ...] = field(kw_only=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        messages = self.input if isinstance(self.input, list | tuple) else [None]
        for message in messages:
            is_message = isinstance(message, Mapping) and all(
                isinstance(message.get(key), str) for key in ("role", "content")
            )
            refuse_unless(
                is_message, "input must be messages with role and content", message, "[{role, content}, ...]"
            )
        refuse_unless(messages, "input needs a message", expected="[{role, content}, ...]")
        plain = tuple({"role": message["role"], "content": message["content"]} for message in messages)
        object.__setattr__(self, "input", plain)
        for message in self.input:
            compile_template(message["content"], "openai")

    def system_prompt(self) -> str:
        """The required format of the reply; precedes the author's messages."""
        raise NotImplementedError

    def preview(self, sample: Sample | StringThread) -> Messages:
        """The messages that would be sent."""
        sample = as_sample(sample)
        values = thread_variables(sample, "openai", completion=self.judged_text(sample))
        messages = [
            {"role": message["role"], "content": _render(message["content"], values)}
            for message in self.input
        ]
        return [{"role": "system", "content": self.system_prompt()}, *messages]


def steps_format(result: Mapping[str, Any]) -> dict[str, Any]:
    """The `response_format` of a reply with `steps` and a `result` of this JSON schema."""
    properties = {"steps": _STEPS, "result": dict(result)}
    return json_schema(
        {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
    )


def _render(text: str, values: Mapping[str, Any]) -> str:
    template = compile_template(text, "openai")
    return template.render({name: values[name] for name in template.variables})


def conclusions(answer: Mapping[str, Any]) -> str:
    """The conclusions of a reply's steps, one per line."""
    steps = answer.get("steps")
    if not isinstance(steps, list):
        return ""
    texts = [step.get("conclusion") for step in steps if isinstance(step, Mapping)]
    return "\n".join(str(text) for text in texts if text)
