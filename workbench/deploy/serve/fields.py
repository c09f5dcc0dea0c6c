"""Fields of a request's JSON, rejected by name if they have the wrong type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from workbench.deploy.serve.errors import RequestError

__all__ = ["a_list", "a_mapping", "an_object", "field", "same_length", "texts"]

_NAMES = {
    dict: "an object", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number",
    type(None): "null",
}  # fmt: skip


def _refuse(where: str, value: Any, expected: str) -> NoReturn:
    found = _NAMES.get(type(value), type(value).__name__)
    raise RequestError(400, "bad_request", f"{where} must be {expected}, not {found}", where=where)


def an_object(body: Any) -> dict[str, Any]:
    """The body itself, which must be an object."""
    return body if isinstance(body, dict) else _refuse("the body", body, "an object")


def field(body: Mapping[str, Any], name: str) -> Any:
    """A field that must be there.

    Raises:
        RequestError: It is not.
    """
    if name not in body:
        has = ", ".join(sorted(body)[:20])[:200] or "none"
        raise RequestError(400, "bad_request", f"the body has no {name!r}; its fields are: {has}", where=name)
    return body[name]


def a_list(value: Any, where: str) -> list[Any]:
    """A list.

    Raises:
        RequestError: It is not a list.
    """
    return value if isinstance(value, list) else _refuse(where, value, "a list")


def texts(value: Any, where: str) -> list[str]:
    """A list of texts.

    Raises:
        RequestError: It is not a list, or contains a value that is not a text.
    """
    found = a_list(value, where)
    for at, one in enumerate(found):
        if not isinstance(one, str):
            _refuse(f"{where}[{at}]", one, "text")
    return found


def a_mapping(value: Any, where: str) -> dict[str, Any]:
    """An object; null counts as an empty one.

    Raises:
        RequestError: It is neither.
    """
    if value is None:
        return {}
    return value if isinstance(value, dict) else _refuse(where, value, "an object")


def same_length(name: str, values: list[Any], count: int, of: str) -> None:
    """Reject lists of different lengths.

    Raises:
        RequestError: `values` does not have `count` entries.
    """
    if len(values) != count:
        message = f"{name} has {len(values)} entries, and {of} has {count}"
        raise RequestError(400, "bad_request", message, where=name)
