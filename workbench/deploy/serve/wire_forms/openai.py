"""The endpoint grader of reinforcement fine-tuning at OpenAI and Azure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from workbench.deploy.reward.trainer_rows import RewardRow, row_of
from workbench.deploy.serve.http import a_list, a_mapping, an_object, field
from workbench.deploy.serve.wire_forms import Outcomes, WireForm, wire_form


@wire_form
class OpenAi(WireForm):
    """One sample of the model with its item of the data set."""

    path = "/openai"
    title = "OpenAI and Azure endpoint grader"
    about = (
        "The conversation is the item's `messages`, or its `prompt`; the completion is `sample.output_text`, or else the "
        "message of the first choice, or `output_json` written as text, with `output_tools` as its tool calls. The other "
        "fields of the item are the metadata, and the reference is the one with a usual name."
    )
    recipe = '{"type": "endpoint", "name": "mine", "url": "HOST/openai", "headers": {"Authorization": "Bearer TOKEN"}}'
    no_score = "Status 422 with the reason. The service tries three times and discards the rollout; `--on-error` sets a fixed score."
    source = (
        "microsoft-foundry/fine-tuning 18c1452, Demos/Agentic_RFT_ToolCall_EndpointGrader (private preview)"
    )
    request: ClassVar[Any] = {
        "type": "object",
        "required": ["sample", "item"],
        "properties": {
            "sample": {"type": "object"},
            "item": {"type": "object"},
            "trace_id": {"type": "string"},
        },
    }
    response: ClassVar[Any] = {"type": "object", "properties": {"score": {"type": "number"}}}
    example: ClassVar[Any] = {
        "sample": {"output_text": "4"},
        "item": {"messages": [{"role": "user", "content": "What is 2+2?"}], "expected": "4"},
        "trace_id": "trace_1a2b3c",
    }
    answer: ClassVar[Any] = {"score": 1.0}

    def read(self, body: Any) -> list[RewardRow]:
        """The rows of a request."""
        sent = an_object(body)
        item = a_mapping(field(sent, "item"), "item")
        sample = a_mapping(field(sent, "sample"), "sample")
        prompt = item.get("messages", item.get("prompt"))
        if "messages" in item:
            a_list(prompt, "item.messages")
        metadata = {name: value for name, value in item.items() if name != "messages"}
        return [row_of("the sample", prompt, _message(sample), metadata)]

    def write(self, body: Any, rows: Sequence[RewardRow], outcomes: Outcomes) -> Any:  # noqa: ARG002 (see `WireForm`)
        """The response as JSON values."""
        return {"score": outcomes.number(0)}


def _message(sample: Mapping[str, Any]) -> dict[str, Any] | None:
    """The model's output, with the tools it called; None if the sample has neither."""
    message = dict(_choice(sample)) if "choices" in sample else {}
    if isinstance(sample.get("output_text"), str):
        message["content"] = sample["output_text"]
    elif message.get("content") is None and sample.get("output_json") is not None:
        message["content"] = json.dumps(sample["output_json"])
    if sample.get("output_tools"):
        message["tool_calls"] = a_list(sample["output_tools"], "sample.output_tools")
    return {**message, "role": "assistant"} if message else None


def _choice(sample: Mapping[str, Any]) -> dict[str, Any]:
    choices = a_list(sample["choices"], "sample.choices")
    first = a_mapping(choices[0], "sample.choices[0]") if choices else {}
    return a_mapping(first.get("message"), "sample.choices[0].message")
