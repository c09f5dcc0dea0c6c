"""Which parts of the conversation platforms pass to code, and whether a grader reads more than that."""

from __future__ import annotations

import ast
from collections.abc import Collection
from functools import lru_cache
from typing import Any

from workbench.formats.shared.base import Losses
from workbench.formats.shared.outcomes import note_outcomes
from workbench.graders.capture.statements import parsed

__all__ = ["check_calls", "check_reads", "looks_at_calls", "reads_beyond"]

# The thread members that the lines around a grade function can provide.
_READS = {
    "adaptive": {
        "completion",
        "metadata",
        "messages",
        "get_turns",
        "last_content",
        "system",
        "user",
        "assistant",
        "tool",
    },
    "openai": {"completion", "metadata", "tool_calls"},
    "letta": {"completion", "metadata"},
    "osmosis": {
        "completion",
        "metadata",
        "messages",
        "get_turns",
        "last_content",
        "tool_calls",
        "turn_calls",
        "turn_answers",
    },
}
_THREAD_NAMES = {
    "messages", "get_turns", "last_content", "tool_calls", "tools", "turn_calls", "turn_answers", "from_messages",
    "system", "user", "assistant", "tool", "to_wire",
}  # fmt: skip


def check_reads(
    text: str, platform: str, losses: Losses, name: str, *, allowed: Collection[str] = ()
) -> bool:
    """Whether a platform passes all that a grade function reads of the thread; missing members are reported.

    Members that the text checks with `hasattr` are optional; see `check_calls`.

    Args:
        text: The function's module.
        platform: Whose shim it would run in.
        losses: Collects the report.
        name: The grader's.
        allowed: Members that may be read because the platform's part of them is enough.
    """
    lacking = reads_beyond(text, _READS[platform] | set(allowed))
    for missing in lacking:
        losses.add(
            name, f"source (thread.{missing})", "the platform does not pass the whole conversation to code",
            hint="read only the completion and the metadata, or use an endpoint",
        )  # fmt: skip
    return note_outcomes(text, platform, losses, name) and not lacking


def reads_beyond(text: str, known: Collection[str]) -> list[str]:
    """Unknown members of a thread that a text reads without checking them with `hasattr`."""
    return sorted(_members_needed(text) - set(known))


# Cached because several writers check the same text.
@lru_cache(maxsize=256)
def _members_needed(text: str) -> frozenset[str]:
    nodes = list(ast.walk(parsed(text) or ast.Module([], [])))
    # The text does not show whose attribute it is, so all of these names count.
    read = {node.attr for node in nodes if isinstance(node, ast.Attribute)} & _THREAD_NAMES
    return frozenset(read - _optional(nodes))


def _optional(nodes: list[ast.AST]) -> set[str]:
    """Names that the text checks with `hasattr`."""
    calls = [
        node for node in nodes if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "hasattr"
    ]
    arguments = [call.args[-1] for call in calls if len(call.args) == 2]
    return {str(argument.value) for argument in arguments if isinstance(argument, ast.Constant)}


def check_calls(grader: Any, platform: str, losses: Losses, name: str) -> bool:
    """Whether a code grader needs no tool calls, or the platform passes them to code; otherwise a loss is reported."""
    if "tool_calls" in _READS[platform] or not looks_at_calls(grader):
        return True
    losses.add(name, "kind", "the platform does not pass tool calls to code",
               hint="export as umbraco, osmosis or openai")  # fmt: skip
    return False


def looks_at_calls(grader: Any) -> bool:
    """Whether a code grader's rule reads tool calls."""
    extractor = getattr(getattr(grader, "extractor", None), "name", "")
    templates = f"{getattr(grader, 'input', '')}{getattr(grader, 'reference', '')}"
    looks = grader.kind == "tool-call" or extractor in {"tool_arguments", "tool_output"}
    return looks or "output_tools" in templates or "choices" in templates
