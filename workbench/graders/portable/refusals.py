"""Saying no to a grader that cannot travel."""

from __future__ import annotations

from workbench.errors import FormatError
from workbench.graders.base import Grader

__all__ = ["refusal"]

WAY_OUT = "keep it in the workbench's own format, or write it as a function grader"


def refusal(grader: Grader, field: str, why: str, hint: str = WAY_OUT) -> FormatError:
    """The error of a grader that cannot be written as code: which one, which field, why, and the way out."""
    return FormatError(
        f"grader {grader.name!r} cannot be written as portable code: {why}",
        where=f"{grader.kind}.{field}" if field else grader.kind,
        hint=hint,
    )
