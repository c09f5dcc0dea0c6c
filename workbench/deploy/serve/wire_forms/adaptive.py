"""Adaptive's reward server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from workbench.deploy.reward.trainer_rows import RewardRow, row_of
from workbench.deploy.serve.http import a_list, a_mapping, an_object, field
from workbench.deploy.serve.wire_forms import Outcomes, WireForm, wire_form

_SOURCE = "adaptive-harmony 1.1.0, core/reward_client; adaptive-sdk 0.14.2"
_TURNS = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["role", "content"],
        "properties": {"role": {"type": "string"}, "content": {"type": "string"}},
    },
}
_REQUEST = {
    "type": "object",
    "required": ["turns"],
    "properties": {"turns": _TURNS, "metadata": {"type": "object"}, "id": {"type": "string"}},
}
_RESPONSE = {
    "type": "object",
    "properties": {
        "reward": {"type": ["number", "null"]},
        "metadata": {
            "type": "object",
            "description": "`reason` is the grader's reasoning, or why there is no reward; `scores` those of each grader",
        },
        "id": {"type": ["string", "null"]},
    },
}
_EXAMPLE = {
    "turns": [{"role": "user", "content": "What is 2+2?"}, {"role": "assistant", "content": "4"}],
    "metadata": {"expected": "4"},
    "id": "7",
}
_ANSWER = {"reward": 1.0, "metadata": {}, "id": "7"}


@wire_form
class AdaptiveScore(WireForm):
    """One thread."""

    path = "/score"
    title = "Adaptive reward server, one thread"
    about = (
        "The reference is the key of the metadata with a usual name: `reference`, `expected`, `ground_truth`, `label` or "
        "`answer`."
    )
    recipe = 'adaptive.graders.create.external_endpoint(key="mine", url="HOST")'
    no_score = "Status 422 with the reason; `--on-error` sets a fixed score instead."
    source = _SOURCE
    request, response, example, answer = _REQUEST, _RESPONSE, _EXAMPLE, _ANSWER

    def read(self, body: Any) -> list[RewardRow]:
        """The rows of a request."""
        return [_row("the thread", an_object(body))]

    def write(self, body: Any, rows: Sequence[RewardRow], outcomes: Outcomes) -> Any:  # noqa: ARG002 (see `WireForm`)
        """The response as JSON values."""
        return _answer(body, outcomes, 0, outcomes.number(0))


@wire_form
class AdaptiveBatchScore(WireForm):
    """Many threads."""

    path = "/batch_score"
    title = "Adaptive reward server, many threads"
    about = "Each as for one thread; results are in the same order."
    recipe = 'adaptive.graders.create.external_endpoint(key="mine", url="HOST")'
    no_score = (
        "A reward of null with the reason in `metadata.reason`, so that the other threads get their rewards; `--on-error` sets "
        "a fixed score instead."
    )
    source = _SOURCE
    request: ClassVar[Any] = {
        "type": "object",
        "required": ["requests"],
        "properties": {"requests": {"type": "array", "items": _REQUEST}},
    }
    response: ClassVar[Any] = {
        "type": "object",
        "properties": {"responses": {"type": "array", "items": _RESPONSE}},
    }
    example: ClassVar[Any] = {"requests": [_EXAMPLE]}
    answer: ClassVar[Any] = {"responses": [_ANSWER]}

    def read(self, body: Any) -> list[RewardRow]:
        """The rows of a request."""
        requests = a_list(field(an_object(body), "requests"), "requests")
        return [_row(f"requests[{at}]", request) for at, request in enumerate(requests)]

    def write(self, body: Any, rows: Sequence[RewardRow], outcomes: Outcomes) -> Any:  # noqa: ARG002 (see `WireForm`)
        """The response as JSON values."""
        fallback = outcomes.on_error
        responses = [
            _answer(request, outcomes, at, fallback if score is None else score)
            for at, (request, score) in enumerate(zip(body["requests"], outcomes.scores, strict=True))
        ]
        return {"responses": responses}


def _row(name: str, request: Any) -> RewardRow:
    sent = a_mapping(request, name)
    turns = a_list(field(sent, "turns"), f"{name}: turns")
    if not turns:
        return RewardRow(name, None, problem="turns is empty; expected at least one turn")
    return row_of(name, turns, [], a_mapping(sent.get("metadata"), f"{name}: metadata"))


def _answer(request: Mapping[str, Any], outcomes: Outcomes, row: int, reward: float | None) -> dict[str, Any]:
    why = outcomes.why(row)[1] if outcomes.scores[row] is None else outcomes.reasoning(row)
    metadata: dict[str, Any] = {} if why is None else {"reason": why}
    if parts := outcomes.parts(row):
        metadata["scores"] = parts
    return {"reward": reward, "metadata": metadata, "id": request.get("id")}
