"""Access control: on loopback every program of this machine but no web page; elsewhere every client with the token."""

from __future__ import annotations

import base64
import functools
import hmac
import ipaddress
import re

from workbench.core.errors import WorkbenchError
from workbench.deploy.serve.http import Scope, header
from workbench.deploy.serve.limits import RequestError

_OPEN = frozenset({"/health"})
"""Paths that need no token: monitoring has none, and they reveal only that the server runs."""
_MIN_TOKEN_CHARACTERS = 8
_PORT = re.compile(r":\d*\Z")


@functools.lru_cache(maxsize=64)
def is_loopback(host: str) -> bool:
    """Whether only programs of this machine reach a server that is bound to this host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_binding(host: str, token: str, *, token_env: str, open_to_all: bool) -> None:
    """Refuse to serve a network without a token.

    Args:
        host: The host to bind to.
        token: The token that a client must send; "" for none.
        token_env: The environment variable it is read from.
        open_to_all: Whether the user requested a server without a token.

    Raises:
        WorkbenchError: It explains how to set one.
    """
    if token and len(token) < _MIN_TOKEN_CHARACTERS:
        raise WorkbenchError(
            "the token is too short", where=token_env, expected=f"at least {_MIN_TOKEN_CHARACTERS} characters"
        )
    if not token and not open_to_all and not is_loopback(host):
        raise WorkbenchError(
            f"{host!r} can be reached from other machines, and there is no token",
            expected=f"a token in the environment variable {token_env}",
            hint=f"export {token_env}=$(openssl rand -hex 16), or omit --host to serve this machine only",
        )


class Access:
    """Accepts or rejects requests.

    Args:
        token: The token that a client must send, as `Authorization: Bearer TOKEN`, or as the password of a URL such as
            http://any:TOKEN@host:8000, for clients that cannot set headers; "" for none.
    """

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    def check(self, scope: Scope) -> None:
        """Reject a request without the token, and one that a web page sends.

        Raises:
            RequestError: 401 or 403.
        """
        if scope["path"] in _OPEN:
            return
        if self._token:
            self._check_token(scope)
        else:
            _check_page(scope)

    def _check_token(self, scope: Scope) -> None:
        given = _credential(header(scope, b"authorization") or "")
        if not hmac.compare_digest(given, self._token):
            raise RequestError(
                401, "unauthorized", "this server requires a token: Authorization: Bearer TOKEN",
                headers={"www-authenticate": "Bearer"},
            )  # fmt: skip


def _credential(value: str) -> bytes:
    """The token in an Authorization header; empty if there is none."""
    scheme, _, rest = value.partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip().encode("latin-1")
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(rest.strip(), validate=True).partition(b":")[2]
        except ValueError:  # also for characters outside ASCII
            return b""
    return b""


def _check_page(scope: Scope) -> None:
    """Without a token: a page in a browser on this machine could send requests for its visitor, and spend a judge's budget.

    Browsers send the page's origin with every such request; a page that points its own name at this machine sends that
    name as the host.
    """
    origin, host = header(scope, b"origin"), header(scope, b"host") or ""
    if origin is not None and origin.partition("://")[2] != host:
        raise RequestError(
            403, "foreign_page", "web pages of other origins may not send requests to this server"
        )
    server = (scope.get("server") or ("", 0))[0]
    if is_loopback(server) and not is_loopback(_PORT.sub("", host)):
        raise RequestError(
            403, "foreign_host", "a server on loopback accepts only the hosts localhost and 127.0.0.1"
        )
