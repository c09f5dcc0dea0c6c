"""Convert a row to the input of an Osmosis grader, and the rewards that the grader set to the row's score.

Standard library only, with no package import except `osmosis.py`: the sandbox loads this file by its path, and graders
that run in this process use the same functions.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or "_wb_osmosis" not in sys.modules:
    from workbench.sandbox.platforms import osmosis
else:  # in the sandbox, where this package cannot be imported
    osmosis = sys.modules["_wb_osmosis"]

__all__ = ["NEITHER", "as_label", "context", "graded", "messages_of"]

NEITHER = "the row has neither a label nor metadata; Osmosis does not grade such rows"
REMOVED = "every sample was removed by the grader"

Settled = tuple[float | None, dict[str, Any], tuple[str, str] | None]
"""Score, note (`reasoning`, `metadata`), and error kind with message."""


def context(thread: Any, reference: Any, metadata: Any, name: str) -> Any:
    """The `GraderContext` of one row, None if Osmosis would not run the grader on it.

    Args:
        thread: The conversation: the only sample, unless `metadata["samples"]` contains several.
        reference: The label; a value that is not a text is encoded as JSON.
        metadata: The row's metadata without the reference; an empty dict counts as none.
        name: The row's id, and that of its only sample.
    """
    rest = dict(metadata) if isinstance(metadata, dict) else {}
    alternatives = rest.pop("samples", None) if isinstance(rest.get("samples"), dict) else None
    label = as_label(reference)
    if not osmosis.grader_runs(label, rest or None):
        return None
    conversations = {name: messages_of(thread)} if alternatives is None else alternatives
    samples = {str(key): _sample(str(key), value) for key, value in conversations.items()}
    return osmosis.GraderContext(label=label, samples=samples, metadata=rest or None)


def as_label(reference: Any) -> str | None:
    """A reference as Osmosis' label: text or None."""
    return reference if reference is None or isinstance(reference, str) else json.dumps(reference)


def _sample(name: str, value: Any) -> Any:
    if not isinstance(value, dict):
        return osmosis.RolloutSample(name, _message_list(name, value))
    fields = {
        key: value[key] for key in ("label", "remove_sample", "metrics", "extra_fields") if key in value
    }
    return osmosis.RolloutSample(name, _message_list(name, value.get("messages")), **fields)


def _message_list(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list) or not all(isinstance(message, dict) for message in value):
        raise ValueError(f"sample {name}: messages must be a list of dicts")
    return value


def messages_of(thread: Any) -> list[dict[str, Any]]:
    """The thread as messages; as content blocks if its tool calls were `toolUse` blocks."""
    blocks = any("toolUse" in call for call in thread.tool_calls())
    turns = thread.get_turns()
    make = _block_message if blocks else _chat_message
    return [make(thread, index, turn.role, turn.content) for index, turn in enumerate(turns)]


def _chat_message(thread: Any, index: int, role: str, content: str) -> dict[str, Any]:
    calls, answered = thread.turn_calls(index), thread.turn_answers(index)
    message: dict[str, Any] = {"role": role, "content": content}
    if calls:
        message["tool_calls"] = calls
    return message if answered is None else {**message, "tool_call_id": answered}


def _block_message(thread: Any, index: int, role: str, content: str) -> dict[str, Any]:
    calls, answered = thread.turn_calls(index), thread.turn_answers(index)
    text: list[dict[str, Any]] = [{"text": content}] if content else []
    if answered is not None:
        return {"role": role, "content": [{"toolResult": {"toolUseId": answered, "content": text}}]}
    return {"role": role, "content": text + [{"toolUse": _block(call)} for call in calls]}


def _block(call: dict[str, Any]) -> dict[str, Any]:
    """The original block of a call, or one built from its parts."""
    if "toolUse" in call:
        return dict(call["toolUse"])
    function = call.get("function") or {}
    try:
        arguments = json.loads(function.get("arguments") or "{}")
    except (ValueError, TypeError):
        arguments = function.get("arguments")
    return {"toolUseId": call.get("id"), "name": function.get("name"), "input": arguments}


async def graded(
    grader: Any,
    ctx: Any,
    problem_of: Callable[[str, Exception], tuple[str, str]],
    not_its_own: tuple[type[Exception], ...] = (),
) -> Settled:
    """The result of a grader on one context; an exception of its `grade` is a failure of the row.

    Args:
        grader: A user's grader.
        ctx: As `context` returns it.
        problem_of: From an error's category and the error to error kind and message.
        not_its_own: Errors that are raised, since they concern more than this row.
    """
    problem = None
    try:
        await grader.grade(ctx)
    except not_its_own:
        raise
    except Exception as error:  # noqa: BLE001 (reported by its category, with the artifacts)
        problem = problem_of(osmosis.error_category(error), error)
    return _settled(ctx, problem)


def _settled(ctx: Any, problem: tuple[str, str] | None) -> Settled:
    """The result of a grader: the mean reward of the samples that were not removed, every reward, and the artifacts.

    Artifacts are included even if grading failed.

    Args:
        ctx: The context after grading.
        problem: Error kind and message, if `grade` raised.
    """
    artifacts = osmosis.sanitize_artifacts(ctx.artifacts)
    metadata = {} if artifacts is None else {"artifacts": artifacts}
    problem = problem or _reward_problem(ctx.samples)
    if problem is not None:
        return None, {"metadata": metadata}, problem
    rewards = {name: float(sample.reward) for name, sample in ctx.samples.items()}
    note = {"metadata": {"rewards": rewards, **metadata}}
    scores = [rewards[name] for name, sample in ctx.samples.items() if not sample.remove_sample]
    if not scores:
        return None, {"reasoning": REMOVED, **note}, None
    return math.fsum(scores) / len(scores), note, None


def _reward_problem(samples: Any) -> tuple[str, str] | None:
    try:
        osmosis.require_rewards(samples)
    except ValueError as error:
        return "runtime", f"validation_error: {error}"
    for name, sample in samples.items():
        reward = sample.reward
        if isinstance(reward, bool) or not isinstance(reward, int | float):
            return "return_type", f"the reward of sample {name} must be a number, not {type(reward).__name__}"
        if not math.isfinite(reward):
            return "not_finite", f"the reward of sample {name} is {reward!r}, which is not finite"
    return None
