"""Checks of a judge's fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.core.display_text import did_you_mean
from workbench.core.errors import FormatError
from workbench.data.templates import Template, TemplateRunError
from workbench.graders.base import is_number

__all__ = ["check_number", "check_template_names", "refuse_unless"]


def refuse_unless(condition: object, message: str, found: object = "", expected: str = "") -> None:
    """Raise a `FormatError` with this message unless a field's condition is true; "unknown ..." proposes the nearest name."""
    if not condition:
        names = [name.strip("'") for name in expected.split(", ")] if message.startswith("unknown") else []
        raise FormatError(
            message, found=repr(found)[:80] if found != "" else "", expected=expected,
            hint=did_you_mean(str(found), names),
        )  # fmt: skip


def check_template_names(template: Template, values: Mapping[str, Any], platform: str) -> None:
    """Reject a template variable without a value: a misspelt one would send an empty text for every row.

    Args:
        template: A prompt of the author.
        values: The variables' values.
        platform: The judge's. Platforms leave such a variable empty, and so do their rules here.

    Raises:
        TemplateRunError: It names the variable, and those that have a value.
    """
    unknown = sorted(template.variables - set(values)) if not platform else []
    if unknown:
        raise TemplateRunError(
            f"the prompt uses the variable {unknown[0]!r}, which has no value",
            expected=", ".join(sorted(values)),
        )


def check_number(name: str, value: object, *, above: float | None = None) -> None:
    """Raise a `FormatError` unless a field is a finite number, above a bound if one is given."""
    requirement = "must be a number" if above is None else f"must be a number above {above:g}"
    valid = is_number(value) and (above is None or float(value) > above)  # type: ignore[arg-type]
    refuse_unless(valid, f"{name} {requirement}", value)
