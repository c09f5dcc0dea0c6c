"""The verifier of a NeMo Gym resources server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from workbench.core.grade import ErrorKind
from workbench.deploy.reward.trainer_rows import RewardRow, row_of
from workbench.deploy.serve.http import a_list, a_mapping, an_object, field
from workbench.deploy.serve.wire_forms import Outcomes, WireForm, wire_form

_SOURCE = "NVIDIA-NeMo/Gym 011c338, nemo_gym/base_resources_server.py and failure_kinds.py"
_PARAMS, _RESPONSE = "responses_create_params", "response"
_KINDS = {
    ErrorKind.JUDGE_PARSE: "judge_unparseable",
    ErrorKind.JUDGE_CUT: "judge_unparseable",
    ErrorKind.JUDGE_TOO_LONG: "judge_unparseable",
    ErrorKind.JUDGE_SERVER: "judge_failed",
    ErrorKind.JUDGE_UNREACHABLE: "judge_failed",
    ErrorKind.JUDGE_KEY: "judge_failed",
    ErrorKind.JUDGE_LIMIT: "judge_failed",
    ErrorKind.JUDGE_REFUSAL: "judge_failed",
    ErrorKind.CANCELLED: "cancelled",
}
"""The workbench's error kinds as Gym's, where it has one; the others are "workbench:KIND", which Gym allows."""
_EXAMPLE_RESPONSE = {
    "id": "resp_1",
    "created_at": 0,
    "model": "policy",
    "object": "response",
    "output": [
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "4", "annotations": []}],
        }
    ],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
}
_EXAMPLE = {
    _PARAMS: {"input": [{"role": "user", "content": "What is 2+2?"}]},
    _RESPONSE: _EXAMPLE_RESPONSE,
    "expected": "4",
}


@wire_form
class NemoGymVerify(WireForm):
    """One response of a policy to its task."""

    path = "/verify"
    title = "NeMo Gym verifier"
    about = (
        "Input items and output items are the conversation, function calls tool calls; reasoning items are omitted. Every "
        "further key of the request, and of its `verifier_metadata`, is metadata; the reference is the one with a usual "
        "name. The response is the request with `reward`, and `reward_components` if there are several graders."
    )
    recipe = "an agent's resources_server: a server instance with this host and port"
    no_score = (
        "`mask_sample` is true, which excludes the sample from training and metrics; `failure_kind` and `failure_reason` give "
        "the reason, and the reward, which Gym requires as a number, is 0.0."
    )
    source = _SOURCE
    request: ClassVar[Any] = {
        "type": "object",
        "required": [_PARAMS, _RESPONSE],
        "properties": {_PARAMS: {"type": "object"}, _RESPONSE: {"type": "object"}},
        "additionalProperties": True,
    }
    response: ClassVar[Any] = {
        "type": "object",
        "properties": {
            "reward": {"type": "number"},
            "mask_sample": {"type": "boolean"},
            "failure_kind": {"type": ["string", "null"]},
            "failure_reason": {"type": ["string", "null"]},
            "reward_components": {"type": "object"},
        },
        "additionalProperties": True,
    }
    example: ClassVar[Any] = _EXAMPLE
    answer: ClassVar[Any] = {
        **_EXAMPLE,
        "reward": 1.0,
        "mask_sample": False,
        "failure_kind": None,
        "failure_reason": None,
    }

    def read(self, body: Any) -> list[RewardRow]:
        """The rows of a request."""
        sent = an_object(body)
        params = a_mapping(field(sent, _PARAMS), _PARAMS)
        response = a_mapping(field(sent, _RESPONSE), _RESPONSE)
        items = a_list(field(response, "output"), f"{_RESPONSE}.output")
        # A policy that only thought, or wrote nothing, has an empty completion: it is graded as one.
        answer = list(_messages(items, "output")) or [{"role": "assistant", "content": ""}]
        return [row_of("the response", _prompt(params), answer, _metadata(sent))]

    def write(self, body: Any, rows: Sequence[RewardRow], outcomes: Outcomes) -> Any:  # noqa: ARG002 (see `WireForm`)
        """The response as JSON values."""
        parts = {name: score for name, score in outcomes.parts(0).items() if score is not None}
        components = {"reward_components": parts} if parts else {}
        return {**body, **_verdict(outcomes), **components}


@wire_form
class NemoGymSeedSession(WireForm):
    """The request of Gym's agents before they start: a grader has no state to prepare."""

    path = "/seed_session"
    title = "NeMo Gym session"
    about = "The response is empty: a grader has no state to prepare."
    recipe = "sent by Gym's agents themselves"
    no_score = "Nothing is scored."
    source = _SOURCE
    request: ClassVar[Any] = {"type": "object"}
    response: ClassVar[Any] = {"type": "object"}
    example: ClassVar[Any] = {}
    answer: ClassVar[Any] = {}

    def read(self, body: Any) -> list[RewardRow]:
        """The rows of a request."""
        an_object(body)
        return []

    def write(self, body: Any, rows: Sequence[RewardRow], outcomes: Outcomes) -> Any:  # noqa: ARG002 (see `WireForm`)
        """The response as JSON values."""
        return {}


def _verdict(outcomes: Outcomes) -> dict[str, Any]:
    score = outcomes.scores[0]
    if score is not None:
        return {"reward": score, "mask_sample": False, "failure_kind": None, "failure_reason": None}
    kind, why = outcomes.why(0)
    named = {str(ours): theirs for ours, theirs in _KINDS.items()}.get(kind, f"workbench:{kind}")
    return {"reward": 0.0, "mask_sample": True, "failure_kind": named, "failure_reason": why}


def _metadata(sent: Mapping[str, Any]) -> dict[str, Any]:
    own = {name: value for name, value in sent.items() if name not in {_PARAMS, _RESPONSE}}
    return {**a_mapping(own.get("verifier_metadata"), "verifier_metadata"), **own}


def _prompt(params: Mapping[str, Any]) -> list[dict[str, Any]]:
    given, instructions = params.get("input", []), params.get("instructions")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    system = [{"role": "system", "content": instructions}] if isinstance(instructions, str) else []
    return [*system, *_messages(a_list(items, f"{_PARAMS}.input"), "input")]


def _messages(items: Sequence[Any], where: str) -> Iterator[dict[str, Any]]:
    """Items of the Responses API as chat messages."""
    for at, item in enumerate(items):
        found = a_mapping(item, f"{where}[{at}]")
        kind = found.get("type", "message")
        if kind == "message":
            yield {"role": found.get("role", "assistant"), "content": found.get("content")}
        elif kind == "function_call":
            function = {"name": found.get("name"), "arguments": found.get("arguments", "{}")}
            call = {"id": found.get("call_id"), "type": "function", "function": function}
            yield {"role": "assistant", "content": "", "tool_calls": [call]}
        elif kind == "function_call_output":
            yield {"role": "tool", "content": found.get("output"), "tool_call_id": found.get("call_id")}
