"""Letta Evals' names for graders written against that package: decorators, `GradeResult`, `Sample`, messages.

Standard library only, without package imports: the sandbox loads this file by its path as `letta_evals`.
The rules are those of `letta_evals/decorators.py` and `models.py` (releases 0.4 to 0.26).
"""

from __future__ import annotations

import functools
import inspect
import math
from typing import Any

__all__ = ["GradeResult", "Message", "Sample", "ToolCall", "extractor", "grader"]


class ScoreError(ValueError):
    """A score outside 0 to 1, or one that is not a number."""


class GradeResult:
    """What a grade function returns.

    Args:
        score: 0 to 1.
        rationale: The reason, as text.
        metadata: Any further data, as a dict.

    Raises:
        ValueError: The score is outside 0 to 1, or is not a number.
    """

    def __init__(
        self, score: Any = None, rationale: Any = None, metadata: Any = None, per_turn_grades: Any = None
    ) -> None:
        self.score = _unit(score)
        self.rationale = rationale
        self.metadata = {} if metadata is None else metadata
        self.per_turn_grades = per_turn_grades

    def __repr__(self) -> str:
        return f"GradeResult(score={self.score!r}, rationale={self.rationale!r}, metadata={self.metadata!r})"


def _unit(score: Any) -> float:
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise ScoreError(f"GradeResult score must be a number, not {type(score).__name__}")
    if math.isnan(score) or not 0 <= score <= 1:
        raise ScoreError(f"GradeResult score must be between 0.0 and 1.0, not {score!r}")
    return float(score)


class _Plain:
    """Named values; a missing name reads None."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Any:
        # copy and pickle look for special methods, and must not get None for one.
        if name.startswith("__"):
            raise AttributeError(name)
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.__dict__.items())})"

    def model_dump(self) -> dict[str, Any]:
        """The values as a dict."""
        return {key: v.model_dump() if isinstance(v, _Plain) else v for key, v in self.__dict__.items()}


class Sample(_Plain):
    """One row: `id`, `input`, `ground_truth`, `metadata`, `rubric_vars`, `agent_args`."""


class Message(_Plain):
    """One message of a trajectory: `message_type`, and `content` or `tool_call` or `tool_return`."""


class ToolCall(_Plain):
    """A call in a `tool_call_message`: `name`, `arguments` (JSON text), `tool_call_id`."""


def grader(func: Any = None, *, name: str | None = None) -> Any:
    """Mark a grade function: exactly two parameters, named `sample` and `submission`.

    Raises:
        TypeError: Other parameters, or a return annotation that is not `GradeResult`.
    """
    return _decorator(func, name, "grader", (("sample", "submission"),), "GradeResult")


def extractor(func: Any = None, *, name: str | None = None) -> Any:
    """Mark an extractor: `(trajectory, config)` or `(trajectory, config, agent_state)`, returning text.

    Raises:
        TypeError: Other parameters, or a return annotation that is not `str`.
    """
    forms = (("trajectory", "config"), ("trajectory", "config", "agent_state"))
    return _decorator(func, name, "extractor", forms, "str")


def _decorator(
    func: Any, name: str | None, kind: str, forms: tuple[tuple[str, ...], ...], returns: str
) -> Any:
    def mark(function: Any) -> Any:
        _check(function, kind, forms, returns)

        # Not async, for both kinds: an async function's coroutine is returned, and awaited by the caller.
        @functools.wraps(function)
        def marked(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        marked._letta = kind  # type: ignore[attr-defined]  # noqa: SLF001 (set by this module)
        marked._letta_name = name or function.__name__  # type: ignore[attr-defined]  # noqa: SLF001
        return marked

    return mark if func is None else mark(func)


def _check(function: Any, kind: str, forms: tuple[tuple[str, ...], ...], returns: str) -> None:
    signature = inspect.signature(function)
    names = tuple(signature.parameters)
    if names not in forms:
        choices = " or ".join(f"({', '.join(form)})" for form in forms)
        raise TypeError(f"@{kind} {function.__name__} must take {choices}, not ({', '.join(names)})")
    annotation = signature.return_annotation
    # It is a text if the module postpones its annotations.
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    if annotation is not inspect.Signature.empty and text.rpartition(".")[2] != returns:
        raise TypeError(f"@{kind} {function.__name__} must return {returns}, not {text}")
