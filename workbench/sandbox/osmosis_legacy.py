"""Osmosis' older decorators, `@osmosis_reward` and `@osmosis_rubric`: plain functions of a solution and a truth.

Standard library only, and alone: the sandbox loads this file by its path and shows it as `osmosis_ai.utils`.
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
        TypeError: A first parameter called `solution_str`, and the rest not as above.
    """
    return _legacy(func, "osmosis_reward", (str,))


def osmosis_rubric(func: Any) -> Any:
    """The older rubric decorator: as `osmosis_reward`, but `ground_truth` may be None.

    Raises:
        TypeError: See `osmosis_reward`.
    """
    return _legacy(func, "osmosis_rubric", (str, types.NoneType))


def _legacy(func: Any, what: str, truths: tuple[type, ...]) -> Any:
    parameters = list(inspect.signature(func).parameters.values())
    classic = bool(parameters) and parameters[0].name == "solution_str"
    if classic:
        _check_classic(func, what, parameters, truths)
    takes = any(p.name == "data_source" or p.kind is p.VAR_KEYWORD for p in parameters)

    def kept(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        if classic and what == "osmosis_rubric":
            _check_arguments(func, args, kwargs, truths)
        return kwargs if takes else {key: v for key, v in kwargs.items() if key != "data_source"}

    def checked(value: Any) -> Any:
        if classic and not isinstance(value, float):
            raise TypeError(f"{func.__name__} must return a float, not {type(value).__name__}")
        return value

    if inspect.iscoroutinefunction(func):

        async def waiting(*args: Any, **kwargs: Any) -> Any:
            return checked(await func(*args, **kept(args, kwargs)))

        return _named(waiting, func)

    def plain(*args: Any, **kwargs: Any) -> Any:
        return checked(func(*args, **kept(args, kwargs)))

    return _named(plain, func)


def _named(wrapper: Any, func: Any) -> Any:
    wrapper.__name__, wrapper.__doc__, wrapper.__wrapped__ = func.__name__, func.__doc__, func
    return wrapper


def _check_classic(func: Any, what: str, parameters: list[Any], truths: tuple[type, ...]) -> None:
    told = "solution_str: str, ground_truth: str" + (" | None" if len(truths) > 1 else "")
    told = f"@{what} {func.__name__} must take ({told}, extra_info: dict = None)"
    hints = _hints(func)
    first, second, *rest = [*parameters, None, None][:3]
    if first.default is not first.empty or hints.get(first.name) is not str:
        raise TypeError(f"{told}: solution_str needs the annotation str and no default")
    if second is None or second.name != "ground_truth":
        raise TypeError(f"{told}: the second parameter must be ground_truth")
    allowed = {str, typing.Optional[str]} if len(truths) > 1 else {str}  # noqa: UP045 (one object to compare with)
    if second.default is not second.empty or hints.get("ground_truth") not in allowed:
        raise TypeError(f"{told}: ground_truth needs that annotation and no default")
    _check_extra(told, rest[0] if rest else None, hints)


def _check_extra(told: str, third: Any, hints: dict[str, Any]) -> None:
    if third is None and "osmosis_rubric" in told:
        return
    if third is None or third.name != "extra_info" or third.kind is third.VAR_KEYWORD:
        raise TypeError(f"{told}: the third parameter must be extra_info")
    if third.default is third.empty:
        raise TypeError(f"{told}: extra_info needs a default")
    found = hints.get("extra_info")
    parts = (
        typing.get_args(found) if typing.get_origin(found) in (typing.Union, types.UnionType) else (found,)
    )
    if not any((typing.get_origin(part) or part) is dict for part in parts):
        raise TypeError(f"{told}: extra_info needs the annotation dict")


def _check_arguments(
    func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], truths: tuple[type, ...]
) -> None:
    given = dict(zip(("solution_str", "ground_truth", "extra_info"), args, strict=False)) | kwargs
    checks = (("solution_str", (str,)), ("ground_truth", truths), ("extra_info", (dict, types.NoneType)))
    for name, wanted in checks:
        if name in given and not isinstance(given[name], wanted):
            raise TypeError(f"{func.__name__}: {name} cannot be {type(given[name]).__name__}")


def _hints(func: Any) -> dict[str, Any]:
    """Annotations as types; a name in quotes that does not exist is no annotation."""
    try:
        return typing.get_type_hints(func)
    except Exception:  # noqa: BLE001 (a stranger's annotations)
        return {}
