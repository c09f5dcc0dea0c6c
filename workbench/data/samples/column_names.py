"""Names of columns by which their roles are recognised."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from workbench.data.row_columns import REFERENCE_NAMES

ROLES: Mapping[str, tuple[str, ...]] = {
    "messages": ("messages",),
    "system": ("system", "system_prompt", "systemInstruction", "system_instruction", "system_message"),
    "instruction": ("instruction",),
    "prompt": (
        "prompt",
        "input",
        "question",
        "user",
        "user_input",
        "user_question",
        "user_query",
        "user_message",
        "query",
        "problem",
        "inputs",
        "request",
        "request_body",
        "origin_prompt",
        "user_prompt",
        "user_content",
        "prompt_text",
        "question_text",
        "question_content",
        "problem_statement",
        "full_prompt",
        "evaluated_model_input",
        "gen_ai.input.messages",
        "attributes.llm.input_messages",
        "attributes.input.value",
    ),
    "completion": (
        "completion",
        "output",
        "response",
        "assistant",
        "generated_text",
        "prediction",
        "model_output",
        "model_outputs",
        "model_response",
        "actual_output",
        "model_answer",
        "generated_answer",
        "generated_response",
        "outputs",
        "generation",
        "predict",
        "predicted_text",
        "pred_text",
        "generated",
        "generated_output",
        "output_text",
        "response_text",
        "completion_text",
        "llm_output",
        "llm_response",
        "llm_answer",
        "model_completion",
        "model_generation",
        "model_prediction",
        "ai_response",
        "assistant_response",
        "assistant_message",
        "bot_response",
        "agent_response",
        "agent_output",
        "actual_response",
        "actual_answer",
        "raw_output",
        "raw_response",
        "origin_prediction",
        "hypothesis",
        "evaluated_model_output",
        "response_body",
        "gen_ai.output.messages",
        "attributes.llm.output_messages",
        "attributes.output.value",
    ),
    "tools": ("tools",),
    "reference": (
        *REFERENCE_NAMES,
        "targets",
        "gt",
        "best_answer",
        "ground_truth_answer",
        "ground_truth_response",
        "reference_outputs",
        "reference_text",
        "references",
        "gold_text",
        "ideal_answer",
        "ideal_response",
        "canonical_solution",
        "evaluated_model_gold_answer",
    ),
    "group": ("group",),
    "id": ("id",),
    "metadata": ("metadata",),
}
"""Role to the column names by which it is recognised; the first listed name has priority."""

VERDICT_NAMES = ("label", "answer", "gold", "target")
"""Names of a reference that may contain verdicts instead."""

LABEL_NAMES = ROLES["reference"][:5]
"""Names under which graders find the label of a trainer that passes it without its column's name."""


def plain_name(name: str) -> str:
    """A name without what tools write differently: "Expected Output", "expectedOutput" and "expected_output" are one."""
    return re.sub(r"[\s_-]+", "", name.casefold())


def match_name(candidates: Sequence[str], names: Sequence[str]) -> str | None:
    """The name that is the first possible of some candidates: exactly, or else by its letters; None if there is none."""
    exact = next((name for name in candidates if name in names), None)
    if exact is not None:
        return exact
    # Reversed, so that of two names that differ in case the first one is used.
    for fold in (str.casefold, plain_name):
        folded = {fold(name): name for name in reversed(names)}
        if found := next((folded[fold(name)] for name in candidates if fold(name) in folded), None):
            return found
    return None


_PLAIN = {role: frozenset(map(plain_name, names)) for role, names in ROLES.items()}


USABLE = ("messages", "instruction", "prompt", "completion")
"""Roles of which rows can be made."""


def is_name_of(role: str, name: str) -> bool:
    """Whether a column of this name is recognised as a role."""
    return plain_name(name) in _PLAIN[role]


_PREDICTIONS = (
    "prediction", "pred", "predicted_text", "generated_text", "generated_output", "model_output", "model_response", "model_prediction",
)  # fmt: skip
"""Names of completions next to which an `output` may be the expected one."""


def find_prediction(completion: str, names: Sequence[str]) -> str:
    """The column of predictions next to a completion called `output`, which may then be the reference; "" if there is none."""
    if plain_name(completion) not in ("output", "outputs"):
        return ""
    folded = {plain_name(name): name for name in reversed(names)}
    return next(filter(None, (folded.get(plain_name(name)) for name in _PREDICTIONS)), "")
