"""A small replacement for pydantic's models: fields from annotations, checked values, extra keys allowed.

Standard library only, without package imports: the sandbox loads this file by its path. It implements only what Osmosis'
config classes need; pydantic is not installed where graders run.
"""

from __future__ import annotations

import copy
import inspect
import sys
import types
import typing
from typing import Any

__all__ = ["NAMES", "Model"]

_MISSING = object()
NAMES: dict[str, Any] = {"typing": typing, "Any": Any}
"""Names in annotations of this package's classes, which their modules in the sandbox would not resolve."""


def _fields(cls: type) -> dict[str, Any]:
    """Annotated public names of a config class with their types, in the order they were defined."""
    fields: dict[str, Any] = {}
    # Base classes first, so that a subclass overrides its bases.
    for base in reversed(cls.__mro__):
        names = [name for name in inspect.get_annotations(base) if not name.startswith("_")]
        hints = _hints(base) if names else {}
        fields.update({name: hints.get(name, Any) for name in names})
    return fields


def _hints(cls: Any) -> dict[str, Any]:
    """Annotations as types, as far as they can be read: a name in quotes may not exist."""
    try:
        return typing.get_type_hints(cls, {**vars(sys.modules.get(cls.__module__, types)), **NAMES})
    except Exception:  # noqa: BLE001 (untrusted annotations)
        return dict.fromkeys(inspect.get_annotations(cls), Any)


def _fitted(value: Any, expected: Any, where: str) -> Any:
    """The value as its annotation requires; an equivalent number or text is converted.

    Raises:
        ValueError: The value does not match the annotation.
    """
    origin, parts = typing.get_origin(expected), typing.get_args(expected)
    if expected is Any or isinstance(expected, str | typing.TypeVar):
        return value
    if origin in (typing.Union, types.UnionType):
        return _fitted_any(value, parts, where)
    if origin is typing.Literal:
        valid = value in parts
    elif isinstance(expected, type) and issubclass(expected, Model) and isinstance(value, dict):
        return expected(**value)
    elif expected in (int, float, bool):
        valid, value = _number(value, expected)
    else:
        kind = origin or expected
        valid = not isinstance(kind, type) or isinstance(value, kind)
    if not valid:
        type_name = getattr(expected, "__name__", str(expected))
        raise ValueError(f"{where}: {value!r} ({type(value).__name__}) is not a valid {type_name}")
    return value


def _fitted_any(value: Any, parts: tuple[Any, ...], where: str) -> Any:
    # An exact type has priority: otherwise 1 would become True for `bool | int`.
    if any(isinstance(part, type) and type(value) is part for part in parts):
        return value
    problem = ValueError(f"{where}: no type of the annotation matches")
    for part in parts:
        try:
            return _fitted(value, part, where)
        except ValueError as error:
            problem = error
    raise problem


def _number(value: Any, expected: type) -> tuple[bool, Any]:
    if expected is bool:
        booleans = {"true": True, "false": False, "1": True, "0": False}
        boolean = booleans.get(str(value).lower()) if isinstance(value, str | int | bool) else None
        return boolean is not None, value if boolean is None else boolean
    if not isinstance(value, str | int | float):
        return False, value
    try:
        number = float(value)
        valid = expected is float or number.is_integer()
        return valid, (expected(value) if isinstance(value, int) else expected(number)) if valid else value
    except (ValueError, OverflowError):
        return False, value


def _dumped(value: Any) -> Any:
    if isinstance(value, Model):
        return value.model_dump()
    if isinstance(value, dict):
        return {key: _dumped(item) for key, item in value.items()}
    return [_dumped(item) for item in value] if isinstance(value, list | tuple) else value


class Model:
    """Named values: annotated class attributes are fields with their defaults, other keys are stored too.

    Args:
        values: Checked against the annotations, at construction and at assignment.

    Raises:
        ValueError: A field without a default is missing, or a value does not match its annotation.
    """

    def __init__(self, **values: Any) -> None:
        fields = _fields(type(self))
        for key in [*fields, *(key for key in values if key not in fields)]:
            if key in values:
                setattr(self, key, values[key])
            elif (default := getattr(type(self), key, _MISSING)) is _MISSING:
                raise ValueError(f"{type(self).__name__}: field {key!r} is required")
            else:
                # Not checked, as in pydantic; a copy, since a default list or dict must not be shared.
                object.__setattr__(self, key, copy.deepcopy(default))

    def __setattr__(self, key: str, value: Any) -> None:
        expected = _fields(type(self)).get(key, Any)
        object.__setattr__(self, key, _fitted(value, expected, f"{type(self).__name__}.{key}"))

    def model_dump(self) -> dict[str, Any]:
        """The values as a dict."""
        return {key: _dumped(value) for key, value in vars(self).items()}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"
