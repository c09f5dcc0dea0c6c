"""How a kind says what it is as code for other platforms: the rule it applies, and the lines around the call."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

__all__ = ["Portable", "PythonBody", "Rule", "javascript_literal", "javascript_score"]


@dataclass(frozen=True)
class PythonBody:
    """The body of a Python `grade(thread)`.

    Attributes:
        rules: What the lines call, each as "module.function" of `workbench/graders/rules`, or as the full name of
            a function elsewhere in the workbench.
        lines: The statements, in order; the last one returns the score.
    """

    rules: tuple[str, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Rule:
    """The rule that a kind of code grader applies.

    Attributes:
        python: "module.function" of `workbench/graders/rules`, which returns a `Verdict`.
        javascript: Its twin in `rules/rules.js`, which returns a boolean; "" where there is none.
        settings: The grader's fields that the rule takes behind the texts: by name in Python, in this order in
            JavaScript.
    """

    python: str
    javascript: str = ""
    settings: tuple[str, ...] = ()

    def python_call(self, grader: Any, *texts: str) -> str:
        """The call with the grader's settings as literals: `exact_match(text, expected, trim=True)`."""
        settings = [f"{name}={getattr(grader, name)!r}" for name in self.settings]
        return f"{self.python.rpartition('.')[2]}({', '.join([*texts, *settings])})"

    def javascript_call(self, grader: Any, *texts: str) -> str:
        """The same in JavaScript: `exactMatch(text, expected, true)`."""
        settings = [javascript_literal(getattr(grader, name)) for name in self.settings]
        return f"{self.javascript}({', '.join([*texts, *settings])})"


@runtime_checkable
class Portable(Protocol):
    """A grader that can say what it is as code."""

    def python_body(self, reference_names: tuple[str, ...]) -> PythonBody:
        """The body of a Python function; `reference_names` are the metadata's keys that may hold the reference."""

    def javascript_body(self, reference_names: tuple[str, ...]) -> list[str]:
        """The lines of a JavaScript `grade(input)`."""


def javascript_literal(value: Any) -> str:
    """A setting as JavaScript spells it."""
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def javascript_score(condition: str) -> str:
    """The statement that returns 1.0 where a condition holds, else 0.0."""
    return f"return {condition} ? 1.0 : 0.0;"
