"""Validation of a grader's settings, and their roles for exports to other platforms."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from workbench.core.errors import FormatError

__all__ = [
    "HANDLING",
    "LIMIT",
    "as_texts",
    "check_choice",
    "check_optional_text",
    "check_time_limit",
    "role_of",
]

_ROLE = "workbench.role"


def _role(name: str) -> Mapping[str, str]:
    return MappingProxyType({_ROLE: name})


HANDLING = _role("handling")
"""`field(metadata=HANDLING)`: controls the handling of a failure or the wording of a reason. The score of a successful row
does not depend on it, so an export to a platform without the setting loses nothing."""

LIMIT = _role("limit")
"""`field(metadata=LIMIT)`: time or memory per row, or concurrency. Every platform has separate limits: an export notes a
value that is not the default, and loses no score."""


def role_of(field: Any) -> str:
    """The role of a dataclass field: "handling", "limit", or "" for a setting that affects scores."""
    return str(field.metadata.get(_ROLE, ""))


def check_choice(field_name: str, value: object, allowed: tuple[str, ...], hint: str = "") -> None:
    """Refuse a setting that is not an allowed value.

    Raises:
        FormatError: With the allowed values.
    """
    if value not in allowed:
        raise FormatError(
            f"{field_name} must be one of {', '.join(map(repr, allowed))}",
            found=repr(value)[:80],
            hint=hint,
        )


def as_texts(field_name: str, value: Any, *, least: int = 0) -> tuple[str, ...]:
    """A list of texts as a tuple.

    Raises:
        FormatError: It is not a list of texts, or has fewer than `least`.
    """
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise FormatError(f"{field_name} must be a list of texts", found=repr(value)[:80])
    wrong = next((item for item in value if not isinstance(item, str)), None)
    if wrong is not None or len(value) < least:
        complaint = f"{len(value)} of them" if wrong is None else repr(wrong)[:80]
        raise FormatError(
            f"{field_name} must be a list of {f'at least {least} ' if least else ''}texts", found=complaint
        )
    return tuple(value)


def check_optional_text(field_name: str, value: Any) -> None:
    """Refuse a value that is neither text nor None.

    Raises:
        FormatError: With the value found.
    """
    if value is not None and not isinstance(value, str):
        raise FormatError(
            f"{field_name} must be text, or None for the sample's reference", found=repr(value)[:80]
        )


def check_time_limit(value: object) -> None:
    """Refuse a time limit that is not a number of seconds above 0 and up to 60.

    Raises:
        FormatError: With the value found.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value <= 60:  # type: ignore[operator]
        raise FormatError("timeout must be a number of seconds above 0, at most 60", found=repr(value)[:80])
