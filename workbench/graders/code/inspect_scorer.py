"""Scorers of inspect_ai, called with the state and target that inspect makes of a row; used only if the package is installed.

Source: inspect_ai 0.3.285 (`scorer`, `solver.TaskState`).
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.core.grade import Grade
from workbench.data.samples import Sample
from workbench.data.samples.plain import NotPlainError, plain

_LETTERS: dict[Any, tuple[float, bool | None]] = {
    "C": (1.0, True), "P": (0.5, None), "I": (0.0, False), "N": (0.0, False),
}  # fmt: skip
"""inspect's letters for correct, partial, incorrect and missing: their number and verdict."""
_WORDS = {"yes": True, "true": True, "no": False, "false": False}


def is_scorer(names: Sequence[str]) -> bool:
    """Whether the parameters are those of a scorer: a state and a target."""
    return list(names[:2]) == ["state", "target"]


def scorer_of(fn: Any) -> Any:
    """The scorer that a function under `@scorer` makes, such as `match`, with its defaults; None for any other function."""
    info = getattr(fn, "__registry_info__", None)
    if getattr(info, "type", "") != "scorer" or hasattr(fn, "__registry_params__"):
        return None
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return None
    needed = [
        one.name
        for one in parameters
        if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    if needed:
        raise TypeError(
            f"the scorer {fn.__name__} needs {', '.join(needed)}: call it first, such as wb.CustomGrader({fn.__name__}({needed[0]}=...))"
        )
    return fn()


def scorer_name(fn: Any) -> str:
    """The registered name of a scorer, without its package; "" if it has none."""
    name = getattr(getattr(fn, "__registry_info__", None), "name", "")
    return str(name).rpartition("/")[2]


def arguments_of(sample: Sample) -> dict[str, Any]:
    """The state and target of a row: its messages, its completion as the model's output, its columns as metadata."""
    models, solver, scorer = (
        importlib.import_module(f"inspect_ai.{name}") for name in ("model", "solver", "scorer")
    )
    kinds = {
        "user": models.ChatMessageUser, "assistant": models.ChatMessageAssistant, "system": models.ChatMessageSystem,
    }  # fmt: skip
    turns = list(sample.thread.get_turns())
    messages = [kinds.get(turn.role, models.ChatMessageUser)(content=turn.content) for turn in turns]
    asked = [turn.content for turn in turns if turn.role == "user"]
    target = scorer.Target(_texts(sample.reference))
    metadata = sample.thread.metadata
    state = solver.TaskState(
        model="none/none", sample_id=sample.id, epoch=1, input=asked[-1] if asked else "", messages=messages, target=target,
        output=models.ModelOutput.from_content("none/none", sample.thread.completion() or ""),
        metadata=dict(metadata) if isinstance(metadata, Mapping) else {},
    )  # fmt: skip
    return {"state": state, "target": target}


def _texts(reference: Any) -> list[str]:
    """The reference as inspect has it: a list of texts, each of which is a correct one."""
    if reference is None:
        return [""]
    return [str(one) for one in (reference if isinstance(reference, list | tuple) else [reference])]


def grade_of_score(score: Any) -> Any:
    """The grade of a `Score`: its letter, truth value or number, with its explanation; None is skipped."""
    if score is None:
        return Grade.skipped("the scorer returned None")
    value, reason = score.value, getattr(score, "explanation", None)
    number, passed = _number(value)
    answer = getattr(score, "answer", None)
    try:
        metadata = plain(
            {**({"answer": answer} if answer is not None else {}), **(getattr(score, "metadata", None) or {})}
        )
    except NotPlainError:
        metadata = {}
    return Grade(number, passed=passed, reasoning=reason, metadata=metadata)


def _number(value: Any) -> tuple[float, bool | None]:
    """As inspect's `value_to_float`, which counts what it cannot read as 0: here that is an error."""
    if isinstance(value, str):
        if value in _LETTERS:
            return _LETTERS[value]
        if value.lower() in _WORDS:
            return float(_WORDS[value.lower()]), _WORDS[value.lower()]
        return float(value), None
    if isinstance(value, bool):
        return float(value), value
    if isinstance(value, int | float):
        return float(value), None
    raise TypeError(
        f"the score is a {type(value).__name__}, and a grade needs one number; write a scorer that returns one of its values"
    )
