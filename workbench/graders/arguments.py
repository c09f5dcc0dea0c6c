"""A grader's settings: their validation, the help for wrong calls, and their roles for exports to other platforms."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from functools import wraps
from types import MappingProxyType
from typing import Any, TypeVar

from workbench.core.display_text import did_you_mean
from workbench.core.errors import FormatError

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


C = TypeVar("C", bound=type)


def with_call_help(cls: C) -> C:
    """Class decorator: wrong calls explain the correct form, and the repr omits default values.

    Raises:
        TypeError: Raised by the decorated class if a call has an unknown keyword, too many values, or lacks a required one.
    """
    init: Callable[..., None] = cls.__init__  # type: ignore[misc]

    @wraps(init)
    def checked(self: Any, *args: Any, **settings: Any) -> None:
        try:
            init(self, *args, **settings)
        except TypeError as error:
            wrong = _wrong(type(self), init, args, settings)
            if wrong is None:  # the call matches the signature: the error is about a value
                raise
            raise TypeError(wrong) from error

    cls.__init__ = checked  # type: ignore[misc]
    if hasattr(vars(cls).get("__repr__"), "__wrapped__"):  # written by @dataclass, not by the class's author
        cls.__repr__ = short_repr  # type: ignore[assignment]
    return cls


def short_repr(value: Any) -> str:
    """A dataclass as the call that creates it, without fields at their defaults.

    A name equal to the class's default, its `implied_name`, is omitted as well.
    """
    placed: list[str] = []
    named: list[str] = []
    for f in sorted(fields(value), key=lambda f: bool(f.kw_only)):
        setting = getattr(value, f.name)
        default = f.default_factory() if f.default_factory is not MISSING else f.default
        implied = f.name == "name" and setting == getattr(value, "implied_name", None)
        if not f.repr or not f.init or implied or (default is not MISSING and setting == default):
            named += [] if f.kw_only else [""]  # arguments after an omitted position need a name
        elif f.kw_only or named or isinstance(setting, bool):
            named.append(f"{f.name}={setting!r}")
        else:
            placed.append(repr(setting))
    return f"{type(value).__name__}({', '.join(filter(None, [*placed, *named]))})"


def call_form(cls: type) -> str:
    """The form of a call of a class, such as `Length(minimum, maximum, *, unit, name)`."""
    positional, keywords = [], []
    for parameter in _parameters(cls.__init__):  # type: ignore[misc]
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional.append(f"*{parameter.name}")
        elif parameter.kind is parameter.KEYWORD_ONLY:
            keywords.append(
                f"{parameter.name}=..." if parameter.default is parameter.empty else parameter.name
            )
        elif parameter.kind is not parameter.VAR_KEYWORD:
            positional.append(
                parameter.name if parameter.default is parameter.empty else f"{parameter.name}=..."
            )
    star = ["*"] if keywords and not any(part.startswith("*") for part in positional) else []
    return f"{cls.__name__}({', '.join([*positional, *star, *keywords])})"


def _parameters(init: Callable[..., None]) -> list[inspect.Parameter]:
    parameters = list(inspect.signature(init).parameters.values())[1:]
    return [parameter for parameter in parameters if not parameter.name.startswith("_")]


def _wrong(
    cls: type, init: Callable[..., None], args: tuple[Any, ...], settings: dict[str, Any]
) -> str | None:
    """What is wrong with a call, None if it matches the signature."""
    try:
        inspect.signature(init).bind(None, *args, **settings)
    except TypeError as error:
        problem = str(error)
    else:
        return None
    form = f"the call is {call_form(cls)}"
    names = [parameter.name for parameter in _parameters(init)]
    if unknown := next((name for name in settings if name not in names), None):
        near = did_you_mean(unknown, names)
        return (
            f"{cls.__name__} has no parameter {unknown!r}; {near} {form}"
            if near
            else f"{cls.__name__} has no parameter {unknown!r}; {form}"
        )
    return f"{cls.__name__}: invalid call: {problem}; {form}"
