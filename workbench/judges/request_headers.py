"""Headers and query parameters that a user's server needs, with secrets taken from environment variables."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from workbench.core.errors import FormatError
from workbench.judges.protocol import JudgeKeyError
from workbench.judges.response import looks_like_a_key, register_key_variable

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}")
"""Source: RFC 9110, section 5.6.2 (token)."""
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_SECRET_NAME = re.compile(
    r"auth|cookie|credential|key|passw|secret|signature|^sig$|token|jwt|bearer", re.IGNORECASE
)
"""Headers and parameters whose value must not be written in code."""
_OF_CLIENT = frozenset(
    (
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "transfer-encoding",
        "upgrade",
    )
)
"""Headers that the HTTP client sets."""
_MAX_PARTS, _MAX_LENGTH = 50, 4_096
"""Maximum number of headers or parameters, and characters of a value. Workbench limits."""


@dataclass(frozen=True)
class RequestExtras:
    """Headers and query parameters, as a user wrote them.

    A value contains environment variables as `$NAME` or `${NAME}`; their values are read for each request and count as
    keys: they are removed from grades and errors. The value of a header or parameter with a secret ("api-key",
    "Authorization", "subscription-token") has to be one.

    Attributes:
        headers: By name.
        query: Query parameters, by name.

    Raises:
        FormatError: A name or value is invalid, is set by the HTTP client, or seems to be a key.

    Example:
        >>> RequestExtras({"x-team": "graders"}, {"api-version": "2024-10-21"}).resolved()
        ({'x-team': 'graders'}, {'api-version': '2024-10-21'})
    """

    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for part in ("headers", "query"):
            values = getattr(self, part)
            if not isinstance(values, Mapping):
                raise FormatError(f"{part} must be a dict of texts", found=type(values).__name__)
            if len(values) > _MAX_PARTS:
                raise FormatError(f"{part} has more than {_MAX_PARTS} values", found=f"{len(values)}")
            for name, value in values.items():
                _check(part, name, value)
            object.__setattr__(self, part, dict(values))
        for variable in self.variables():
            register_key_variable(variable)

    def variables(self) -> Iterator[str]:
        """Names of all environment variables in values."""
        for value in (*self.headers.values(), *self.query.values()):
            for match in _VARIABLE.finditer(value):
                yield match[1] or match[2]

    @property
    def has_authorization(self) -> bool:
        """Whether a header replaces the one with the client's key."""
        return any(name.lower() == "authorization" for name in self.headers)

    def content(self) -> list[dict[str, str]]:
        """What a reply may depend on: names and values as written, without those of secrets; empty for none."""
        parts = [
            {name: value for name, value in sorted(values.items()) if not _SECRET_NAME.search(name)}
            for values in (self.headers, self.query)
        ]
        return parts if any(parts) else []

    def resolved(self, where: str = "") -> tuple[dict[str, str], dict[str, str]]:
        """Headers and parameters with the values of their variables.

        Args:
            where: The server's address, for errors.

        Raises:
            JudgeKeyError: A variable is not set, or its value cannot be sent.
        """
        headers, query = (
            {name: _resolved(name, value, where) for name, value in values.items()}
            for values in (self.headers, self.query)
        )
        return headers, query


def _check(part: str, name: object, value: object) -> None:
    kind = "header" if part == "headers" else "query parameter"
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise FormatError(f"a {kind} needs a name of letters, digits and hyphens", found=repr(name)[:80])
    if part == "headers" and name.lower() in _OF_CLIENT:
        raise FormatError(f"header {name!r} is set by the HTTP client", hint="leave it out")
    # Values are not repeated in messages: one may be a key.
    if not isinstance(value, str) or len(value) > _MAX_LENGTH or not _is_sendable(value):
        raise FormatError(
            f"the value of {kind} {name!r} must be a text in one line of at most {_MAX_LENGTH:,} characters",
            found=type(value).__name__,
        )
    has_variable = _VARIABLE.search(value) is not None
    if looks_like_a_key(value) or (_SECRET_NAME.search(name) and not has_variable):
        raise FormatError(
            f"{kind} {name!r} seems to contain a key", expected="the name of an environment variable, as $NAME",
            hint=f"set the variable, and write {part}={{{name!r}: '$MY_KEY'}}",
        )  # fmt: skip


def _is_sendable(value: str) -> bool:
    return value.isascii() and (value.isprintable() or not value) and value == value.strip()


def _resolved(name: str, value: str, where: str) -> str:
    def value_of(match: re.Match[str]) -> str:
        variable = match[1] or match[2]
        found = os.environ.get(variable, "").strip()
        if found and _is_sendable(found):
            return found
        problem = "cannot be sent: it is not one line of ASCII" if found else "is not set"
        raise JudgeKeyError(
            f"{name!r} of the judge's server needs the environment variable {variable}, which {problem}", where=where,
            hint=f"set it before the kernel starts, or in a cell: os.environ[{variable!r}] = getpass.getpass()",
        )  # fmt: skip

    return _VARIABLE.sub(value_of, value)
