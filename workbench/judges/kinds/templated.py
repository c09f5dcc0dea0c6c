"""What the judges with OpenAI's messages share: templates for the question, steps and a result for the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.judges.base import Judge, as_sample, json_schema, refuse_unless
from workbench.judges.protocol import Messages
from workbench.samples import Sample
from workbench.templates import compile as compile_template
from workbench.templates import thread_variables
from workbench.thread import StringThread

__all__ = ["TemplatedJudge", "conclusions", "steps_and"]

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
    """Messages whose contents are OpenAI templates over `item` and `sample`."""

    input: tuple[Mapping[str, str], ...] = field(kw_only=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        messages = self.input if isinstance(self.input, list | tuple) else [None]
        for one in messages:
            right = isinstance(one, Mapping) and all(
                isinstance(one.get(key), str) for key in ("role", "content")
            )
            refuse_unless(
                right, "input must be messages with role and content", one, "[{role, content}, ...]"
            )
        refuse_unless(messages, "input needs a message", expected="[{role, content}, ...]")
        object.__setattr__(
            self, "input", tuple({"role": one["role"], "content": one["content"]} for one in messages)
        )
        for one in self.input:
            compile_template(one["content"], "openai")

    def system(self) -> str:
        """What the answer must look like."""
        raise NotImplementedError

    def preview(self, sample: Sample | StringThread) -> Messages:
        """See `Judge.preview`."""
        sample = as_sample(sample)
        values = thread_variables(sample, "openai", completion=self.judged(sample))
        told = [{"role": one["role"], "content": _filled(one["content"], values)} for one in self.input]
        return [{"role": "system", "content": self.system()}, *told]


def steps_and(result: Mapping[str, Any]) -> dict[str, Any]:
    """The format of an answer with steps and a result."""
    parts = {"steps": _STEPS, "result": dict(result)}
    return json_schema(
        {"type": "object", "properties": parts, "required": list(parts), "additionalProperties": False}
    )


def _filled(text: str, values: Mapping[str, Any]) -> str:
    template = compile_template(text, "openai")
    return template.render({name: values[name] for name in template.variables})


def conclusions(found: Mapping[str, Any]) -> str:
    """The conclusions of an answer's steps, a line each."""
    steps = found.get("steps")
    said = (
        [one.get("conclusion") for one in steps if isinstance(one, Mapping)]
        if isinstance(steps, list)
        else []
    )
    return "\n".join(str(one) for one in said if one)
