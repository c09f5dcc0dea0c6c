"""The Cloud Run reward of Gemini's reinforcement tuning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from workbench.deploy.reward.trainer_rows import RewardRow, row_of, with_reference
from workbench.deploy.serve.http import a_list, a_mapping, an_object, field
from workbench.deploy.serve.wire_forms import Outcomes, WireForm, wire_form

_ROLES = {"model": "assistant", "user": "user", "function": "tool"}
_CONTENT = {
    "type": "object",
    "properties": {"role": {"type": "string"}, "parts": {"type": "array", "items": {"type": "object"}}},
}


@wire_form
class Gemini(WireForm):
    """One response to one example."""

    path = "/gemini"
    title = "Gemini Cloud Run reward"
    about = (
        "The example's contents and system instruction are the conversation, the response's texts without thoughts the "
        "completion, function calls its tool calls. References and metadata (`step`, `tuning_job_id`) are the metadata; "
        "the reference is the one with a usual name, or the only one. Google clips rewards to -1 to 1."
    )
    recipe = '{"rewardName": "mine", "cloudRunRewardScorer": {"cloudRunUri": "HOST/gemini"}}'
    no_score = (
        "Status 422 with the reason, which the job reports as an error; `--on-error` sets a fixed score."
    )
    source = "Agent Platform REST reference v1beta1, ReinforcementTuningCloudRunRewardScorer"
    request: ClassVar[Any] = {
        "type": "object",
        "required": ["example", "response"],
        "properties": {"example": {"type": "object"}, "response": _CONTENT, "metadata": {"type": "object"}},
    }
    response: ClassVar[Any] = {
        "type": "object",
        "properties": {"reward": {"type": "number"}, "user_requested_aux_info": {"type": "string"}},
    }
    example: ClassVar[Any] = {
        "example": {
            "contents": [{"role": "user", "parts": [{"text": "What is 2+2?"}]}],
            "references": {"answer": "4"},
        },
        "response": {"role": "model", "parts": [{"text": "4"}]},
        "metadata": {"step": 1, "tuning_job_id": 123456789},
    }
    answer: ClassVar[Any] = {"reward": 1.0}

    def read(self, body: Any) -> list[RewardRow]:
        """The rows of a request."""
        sent = an_object(body)
        example = a_mapping(field(sent, "example"), "example")
        references = a_mapping(example.get("references"), "example.references")
        only = next(iter(references.values())) if len(references) == 1 else None
        metadata = a_mapping(sent.get("metadata"), "metadata")
        response = a_mapping(field(sent, "response"), "response")
        # Without any part there is no completion, which differs from an empty one.
        completion = _message(response, "assistant", "response") if response.get("parts") else None
        return [
            row_of(
                "the response", _prompt(example), completion, with_reference({**metadata, **references}, only)
            )
        ]

    def write(self, body: Any, rows: Sequence[RewardRow], outcomes: Outcomes) -> Any:  # noqa: ARG002 (see `WireForm`)
        """The response as JSON values."""
        reward, reasoning = outcomes.number(0), outcomes.reasoning(0)
        return {"reward": reward, **({} if reasoning is None else {"user_requested_aux_info": reasoning})}


def _prompt(example: Mapping[str, Any]) -> list[dict[str, Any]]:
    contents = a_list(example.get("contents") or [], "example.contents")
    messages = [_message(a_mapping(one, "example.contents"), "user", "example.contents") for one in contents]
    if not example.get("systemInstruction"):
        return messages
    instruction = a_mapping(example["systemInstruction"], "example.systemInstruction")
    return [{**_message(instruction, "system", "example.systemInstruction"), "role": "system"}, *messages]


def _message(content: Mapping[str, Any], role: str, where: str) -> dict[str, Any]:
    """A content as a chat message: texts joined, thoughts omitted, function calls as tool calls."""
    parts = [
        a_mapping(part, f"{where}.parts") for part in a_list(content.get("parts") or [], f"{where}.parts")
    ]
    texts = [str(part["text"]) for part in parts if part.get("text") is not None and not part.get("thought")]
    calls = [
        {"type": "tool_use", "id": call.get("id"), "name": call.get("name"), "input": call.get("args", {})}
        for call in (part["functionCall"] for part in parts if isinstance(part.get("functionCall"), dict))
    ]
    text = {"type": "text", "text": "".join(texts)}
    return {"role": _ROLES.get(str(content.get("role")), role), "content": [text, *calls]}
