"""Code of a grader kind for other platforms: its rule, and the lines around the call."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

__all__ = ["Portable", "PythonBody", "Rule", "javascript_literal", "javascript_score"]


@dataclass(frozen=True)
class PythonBody:
    """The body of a Python `grade(thread)`.

    Attributes:
        rules: The called functions, each as "module.function" of `workbench/graders/rules`, or as the full name of
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
        javascript: Its equivalent in `rules/rules.js`, which returns a boolean; "" if there is none.
        settings: The grader's fields that the rule takes after the texts: by name in Python, in this order in
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
        """The JavaScript call: `exactMatch(text, expected, true)`."""
        settings = [javascript_literal(getattr(grader, name)) for name in self.settings]
        return f"{self.javascript}({', '.join([*texts, *settings])})"


@runtime_checkable
class Portable(Protocol):
    """A grader that can be exported as code."""

    def python_body(self, reference_names: tuple[str, ...]) -> PythonBody:
        """The body of a Python function; `reference_names` are the possible metadata keys of the reference."""

    def javascript_body(self, reference_names: tuple[str, ...]) -> list[str]:
        """The lines of a JavaScript `grade(input)`."""


def javascript_literal(value: Any) -> str:
    """A setting as a JavaScript literal."""
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def javascript_score(condition: str) -> str:
    """The statement that returns 1.0 if a condition is true, else 0.0."""
    return f"return {condition} ? 1.0 : 0.0;"
