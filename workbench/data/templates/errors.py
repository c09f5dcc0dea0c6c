"""Errors of templates: those found when one is parsed, and those found when it is rendered."""

from __future__ import annotations

from workbench.core.errors import FormatError, WorkbenchError

__all__ = ["MissingVariableError", "TemplateError", "TemplateRunError", "at", "place"]


class TemplateError(FormatError):
    """A template that cannot be parsed, or that uses a feature that its dialect does not have.

    Attributes:
        line: Counted from 1; 0 if the position is unknown.
        column: Counted from 1, in characters.
    """

    line: int = 0
    column: int = 0


class TemplateRunError(WorkbenchError, ValueError):
    """A template that does not fit its values, or that exceeds a limit on characters or time."""


class MissingVariableError(TemplateRunError, KeyError):
    """A name without a value, in a dialect where that is an error."""

    __str__ = WorkbenchError.__str__  # a KeyError would show the repr


def place(text: str, position: int) -> tuple[int, int]:
    """Line and column of a position, both from 1."""
    before = text[:position]
    return before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1


def at(text: str, position: int, problem: str, *, expected: str = "", hint: str = "") -> TemplateError:
    """An error at one position of a template, with the text there."""
    line, column = place(text, position)
    excerpt = text[position : position + 60].split("\n", maxsplit=1)[0]
    error = TemplateError(
        problem, where=f"line {line}, column {column}", found=excerpt, expected=expected, hint=hint
    )
    error.line, error.column = line, column
    return error
