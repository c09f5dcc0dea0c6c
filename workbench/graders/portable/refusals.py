"""Errors for graders that cannot be exported as code."""

from __future__ import annotations

from workbench.core.errors import FormatError
from workbench.graders.base import Grader

__all__ = ["article", "no_skip", "refusal"]

WAY_OUT = "keep it in the workbench's own format, or write it as a function grader"


def article(noun: str) -> str:
    """The noun with its indefinite article, by its first letter."""
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def refusal(grader: Grader, field: str, why: str, hint: str = WAY_OUT) -> FormatError:
    """The error for a grader that cannot be exported as code: which grader, which field, why, and a hint."""
    return FormatError(
        f"grader {grader.name!r} cannot be written as portable code: {why}",
        where=f"{grader.kind}.{field}" if field else grader.kind,
        hint=hint,
    )


def no_skip(grader: Grader, field: str) -> FormatError:
    """The error for a setting that skips rows."""
    why = "code of other platforms returns a score or fails: it cannot skip a row"
    return refusal(grader, field, why, f'use {field}="fail" or "zero"')
