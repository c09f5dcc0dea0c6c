"""Osmosis' older decorators, `@osmosis_reward` and `@osmosis_rubric`: plain functions of a solution and a ground truth.

Standard library only, without package imports: the sandbox loads this file by its path as `osmosis_ai.utils`.
The rules are those of osmosis-sdk-python 0.2.17 (`osmosis_ai/utils.py`).
"""

from __future__ import annotations

import inspect
import types
import typing
from typing import Any

__all__ = ["osmosis_reward", "osmosis_rubric"]


def osmosis_reward(func: Any) -> Any:
    """The older reward decorator: `(solution_str: str, ground_truth: str, extra_info: dict = None) -> float`.

    Raises:
        TypeError: The first parameter is `solution_str`, but the others differ from this form.
    """
    return _legacy(func, "osmosis_reward")


def osmosis_rubric(func: Any) -> Any:
    """The older rubric decorator: `(solution_str: str, ground_truth: str | None, extra_info: dict) -> float`.

    `extra_info` may have any annotation, with or without a default; it is passed at every call. The other two have
    no default.

    Raises:
        TypeError: The first parameter is `solution_str`, but the others differ from this form.
    """
    return _legacy(func, "osmosis_rubric")


def _legacy(func: Any, decorator: str) -> Any:
    signature = inspect.signature(func)
    parameters = list(signature.parameters.values())
    classic = bool(parameters) and parameters[0].name == "solution_str"
    if classic:
        _check_classic(func, decorator, parameters)
    takes_source = any(p.name == "data_source" or p.kind is p.VAR_KEYWORD for p in parameters)

    def accepted(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        kwargs = kwargs if takes_source else {key: v for key, v in kwargs.items() if key != "data_source"}
        if classic and decorator == "osmosis_rubric":
            _check_arguments(func, signature, args, kwargs)
        return kwargs

    def checked(value: Any) -> Any:
        if classic and not isinstance(value, float):
            raise TypeError(f"{func.__name__} must return a float, not {type(value).__name__}")
        return value

    if inspect.iscoroutinefunction(func):

        async def waiting(*args: Any, **kwargs: Any) -> Any:
            return checked(await func(*args, **accepted(args, kwargs)))

        return _with_name(waiting, func)

    def plain(*args: Any, **kwargs: Any) -> Any:
        return checked(func(*args, **accepted(args, kwargs)))

    return _with_name(plain, func)


def _with_name(wrapper: Any, func: Any) -> Any:
    wrapper.__name__, wrapper.__doc__, wrapper.__wrapped__ = func.__name__, func.__doc__, func
    return wrapper


_FORMS = {
    "osmosis_reward": "(solution_str: str, ground_truth: str, extra_info: dict = None)",
    "osmosis_rubric": "(solution_str: str, ground_truth: str | None, extra_info: dict)",
}


def _check_classic(func: Any, decorator: str, parameters: list[Any]) -> None:
    rule = f"@{decorator} {func.__name__} must take {_FORMS[decorator]}"
    rubric = decorator == "osmosis_rubric"
    if len(parameters) < 3:
        raise TypeError(f"{rule}: it takes {len(parameters)}")
    first, second, third = parameters[:3]
    if second.name != "ground_truth":
        raise TypeError(f"{rule}: the second parameter must be ground_truth")
    if third.name != "extra_info" or third.kind is third.VAR_KEYWORD:
        raise TypeError(f"{rule}: the third parameter must be extra_info")
    hints = _hints(func, parameters)
    if not _is_text(hints[first.name]):
        raise TypeError(f"{rule}: solution_str needs the annotation str")
    if not _is_text(hints[second.name], or_none=rubric):
        raise TypeError(f"{rule}: ground_truth needs that annotation")
    if not rubric:
        _check_extra(rule, third, hints["extra_info"])
    elif filled := [
        parameter.name for parameter in (first, second) if parameter.default is not parameter.empty
    ]:
        raise TypeError(f"{rule}: {filled[0]} cannot have a default")


def _check_extra(rule: str, third: Any, annotation: Any) -> None:
    """A reward's third parameter; a rubric's may be anything."""
    if third.default is third.empty:
        raise TypeError(f"{rule}: extra_info needs a default")
    if not any((typing.get_origin(part) or part) is dict for part in _parts(annotation)):
        raise TypeError(f"{rule}: extra_info needs the annotation dict")


def _is_text(annotation: Any, *, or_none: bool = False) -> bool:
    """Whether an annotation is `str` or, if allowed, `str | None`."""
    parts = _parts(annotation)
    if or_none and len(parts) == 2:
        parts = tuple(part for part in parts if part is not types.NoneType)
    return len(parts) == 1 and (parts[0] is str or parts[0] in ("str", "builtins.str"))


def _parts(annotation: Any) -> tuple[Any, ...]:
    """The members of a union; any other type is its only member."""
    return (
        typing.get_args(annotation)
        if typing.get_origin(annotation) in (typing.Union, types.UnionType)
        else (annotation,)
    )


def _check_arguments(func: Any, signature: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    bound = signature.bind_partial(*args, **kwargs)
    bound.apply_defaults()
    arguments = bound.arguments
    for name, types_ in (("solution_str", (str,)), ("ground_truth", (str, types.NoneType))):
        if name not in arguments:
            raise TypeError(f"{func.__name__}: {name} is missing")
        if not isinstance(arguments[name], types_):
            raise TypeError(f"{func.__name__}: {name} cannot be {type(arguments[name]).__name__}")
    if "extra_info" not in arguments:
        raise TypeError(f"{func.__name__}: extra_info is missing")


def _hints(func: Any, parameters: list[Any]) -> dict[str, Any]:
    """Annotations as types; if a name in them does not exist, all of them as written."""
    annotations = {parameter.name: parameter.annotation for parameter in parameters}
    try:
        return {**annotations, **typing.get_type_hints(func)}
    except Exception:  # noqa: BLE001 (untrusted annotations)
        return annotations
