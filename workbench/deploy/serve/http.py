"""Request bodies, read with a limit and checked field by field, and JSON responses."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, NoReturn, TypeAlias

from workbench.deploy.serve.json_body import dumped
from workbench.deploy.serve.limits import Admission, RequestError

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


Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

JSON = "application/json"
_SAFE = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
)
_DIGITS = re.compile(r"[0-9]{1,19}")
_NETLOC = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")
"""A name or an address with or without a port: nothing that has a meaning in a page, a shell or JSON."""


def header(scope: Scope, name: bytes) -> str | None:
    """The first header of a name, in lower case."""
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), None)


def base_url(scope: Scope) -> str:
    """The server's address as the client of a request wrote it; the server's own value if that is not an address."""
    scheme = "https" if scope.get("scheme") == "https" else "http"
    host = header(scope, b"host") or ""
    if _NETLOC.fullmatch(host):
        return f"{scheme}://{host}"
    name, port = scope.get("server") or ("localhost", None)
    name = f"[{name}]" if ":" in name else name
    return f"{scheme}://{name}" if port is None else f"{scheme}://{name}:{port}"


async def read_body(scope: Scope, receive: Receive, admission: Admission, *, most: int) -> bytearray:
    """The body, counted in `admission` until the caller releases its length.

    Args:
        scope: Of the request.
        receive: Returns the parts of the body.
        admission: Counts the bytes in memory.
        most: Maximum bytes.

    Raises:
        RequestError: It is larger, the client disconnected, or all bodies together are too large.
    """
    declared = header(scope, b"content-length")
    if declared is not None and not (_DIGITS.fullmatch(declared) and int(declared) <= most):
        await _discard(receive, most)
        raise _too_large(most)
    body = bytearray()
    try:
        while await _read_on(body, receive, admission, most):
            pass
    except BaseException:
        admission.drop(len(body))
        raise
    return body


async def _read_on(body: bytearray, receive: Receive, admission: Admission, most: int) -> bool:
    """Read the next part of a body; returns whether there is more."""
    message = await receive()
    if message["type"] == "http.disconnect":
        raise RequestError(400, "disconnected", "the client disconnected before its body had arrived")
    part = message.get("body", b"")
    if len(body) + len(part) > most:
        raise _too_large(most)
    admission.hold(len(part), before=len(body))
    body += part
    return bool(message.get("more_body"))


async def _discard(receive: Receive, most: int) -> None:
    """Read on for some seconds, so that a client which sends everything first can read the response."""
    seen = 0
    while seen <= most:
        message = await receive()
        seen += len(message.get("body", b""))
        if message["type"] == "http.disconnect" or not message.get("more_body"):
            return


def _too_large(most: int) -> RequestError:
    return RequestError(
        413, "too_large", f"the body has more than {most:,} bytes; send fewer rows per request",
        headers={"connection": "close"}, max_bytes=most,
    )  # fmt: skip


async def send_json(
    send: Send, value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> None:
    """Send JSON values as the whole response."""
    await send_text(send, dumped(value), kind=JSON, status=status, headers=headers)


async def send_text(
    send: Send, body: bytes, *, kind: str, status: int = 200, headers: Mapping[str, str] | None = None
) -> None:
    """Send bytes as the whole response."""
    more = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
    fixed = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
    start = {"type": "http.response.start", "status": status, "headers": [*fixed, *_SAFE, *more]}
    await send(start)
    await send({"type": "http.response.body", "body": body})
