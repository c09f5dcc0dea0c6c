"""What a server sends: API keys are removed from its texts, and a failure becomes an error with a hint.

Some servers repeat what they were sent, literally or escaped as in JSON.
"""

from __future__ import annotations

import email.utils
import html
import math
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from workbench.judges.protocol import (
    JudgeKeyError,
    JudgeLimitError,
    JudgeServerError,
    JudgeTimeoutError,
    NoServerError,
    ReplyTooLongError,
    Usage,
)

_KEY_PATTERN = re.compile(r"\b(?:(?:sk|pk)[-_]|Bearer )[\w*.-]{6,}")

_WORDS = re.compile(r"[^\W\d_]+(?: [^\W\d_]+)*|[\d.]+")
_MIN_LENGTH, _MIN_LENGTH_IN_WORDS = 3, 8
"""Minimum characters of a key to remove it: as a whole word, and inside a longer word. Shorter ones are not secret."""
_RUN = r"\\{1,32}"
"""Maximum consecutive backslashes: each depth of JSON in JSON doubles them, so this is depth 5. Keeps the search linear."""
_PLACEHOLDERS = re.compile(
    r"(?:(?:sk-)?no[-_ ]?key(?:[-_ ]required)?|not[-_ ](?:needed|used)|api[-_]?key|change-?me|lm[-_]studio|token-abc123)"
    r"|(?:sk-)?x+|abc|anything|dummy|empty|fake|key|llama|local(?:host)?|nil|none|null|ollama|placeholder|required|test|token"
    r"|unused|vllm",
    re.IGNORECASE,
)
"""Keys that the documentation of local servers gives as examples. They are not secret, and occur in many completions."""


def looks_like_a_key(text: str) -> bool:
    """Whether a text contains what looks like a provider's key."""
    return _KEY_PATTERN.search(text) is not None


def hide_secrets(text: str, secrets: Sequence[str]) -> str:
    """A text without the secrets, and without anything that looks like a key.

    Example:
        >>> hide_secrets("bad key hunter2hunter2, not sk-abc123456", ["hunter2hunter2"])
        'bad key ***, not ***'
    """
    return _KEY_PATTERN.sub("***", _hidden(text, secrets))


def hide_secrets_in_data(data: Any, secrets: Sequence[str]) -> Any:
    r"""Decoded JSON data without the secrets; the same object if it contains none. Keys of objects are searched, too.

    Example:
        >>> hide_secrets_in_data(["an \\u0068unter2hunter2"], ["hunter2hunter2"])
        ['an ***']
    """
    box = [data]
    pending: list[Any] = [box]
    changed = False
    while pending:  # a loop, since data may be nested more deeply than Python can call
        holder = pending.pop()
        for key, value in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
            new: Any = value
            if isinstance(value, str):
                new = _hidden(value, secrets)
                changed = changed or new != value
            elif isinstance(value, dict):
                new = {
                    _hidden(name, secrets) if isinstance(name, str) else name: one
                    for name, one in value.items()
                }
                changed = changed or new.keys() != value.keys()
                pending.append(new)
            elif isinstance(value, list | tuple):
                new = list(value)
                pending.append(new)
            holder[key] = new
    return box[0] if changed else data


def hide_secrets_in_reply(data: Any, secrets: Sequence[str]) -> Any:
    """Like `hide_secrets_in_data`, for a reply that is not parsed yet: keys that are words or numbers stay.

    Such a key ("score", "100") may be a part of the verdict. It is removed from the grade, after the reply was parsed.
    """
    return hide_secrets_in_data(data, [secret for secret in secrets if not _WORDS.fullmatch(secret)])


def _hidden(text: str, secrets: Sequence[str]) -> str:
    for secret in secrets:
        # Escapes need one of these characters: most texts are done after a few searches.
        if (secret in text or any(sign in text for sign in "\\%&")) and (
            pattern := _spellings(secret)
        ) is not None:
            text = pattern.sub("***", text)
    return text


@lru_cache(maxsize=64)
def _spellings(secret: str) -> re.Pattern[str] | None:
    """Finds a secret literally, and with any characters escaped as in JSON, or in JSON inside JSON; None if it is not a secret."""
    if len(secret) < _MIN_LENGTH or _PLACEHOLDERS.fullmatch(secret):
        return None
    # From the first backslash of a run on: otherwise each of a million would be tried.
    spelled = _character(secret[0], r"(?<!\\)" + _RUN) + "".join(
        _character(char, _RUN) for char in secret[1:]
    )
    if len(secret) < _MIN_LENGTH_IN_WORDS:
        # "\n" and "\u0020" before the secret are not part of its word.
        before = r"(?:(?<!\w)|(?<=\\[bfnrt])|(?<=\\u[0-9a-fA-F]{4}))" if re.match(r"\w", secret) else ""
        spelled = f"{before}{spelled}" + (r"(?!\w)" if re.search(r"\w\Z", secret) else "")
    return re.compile(spelled)


def _character(char: str, run: str) -> str:
    """A pattern of one character as it is spelled at any depth of JSON in JSON: each depth doubles the backslashes."""
    units = char.encode("utf-16-be", "surrogatepass")
    escaped = "".join(rf"{run}u(?i:{units[at : at + 2].hex()})" for at in range(0, len(units), 2))
    short = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}.get(char)
    plain = run if char == "\\" else (rf"(?:{run})?" if char in "\"'/" else "") + re.escape(char)
    others = [rf"{run}{short}"] if short else []
    if not char.isalnum():  # as in addresses, and in HTML
        others += ["".join(f"%(?i:{byte:02x})" for byte in char.encode("utf-8", "surrogatepass"))]
        others += [html.escape(char)] if html.escape(char) != char else []
    return f"(?:{'|'.join([plain, escaped, *others])})"


_key_variables: set[str] = set()
"""Environment variables from which keys were read in this process."""


def register_key_variable(variable: str) -> None:
    """Keep the value of an environment variable out of every grade and error text of this process."""
    if variable:
        _key_variables.add(variable)


def keys_in_use() -> list[str]:
    """The present values of all registered variables, whole and without the word before them ("Bearer ..."), longest first."""
    values = {os.environ.get(name, "").strip() for name in list(_key_variables)}
    parts = {part for value in values for part in value.split() if len(part) >= _MIN_LENGTH_IN_WORDS}
    return sorted((values | parts) - {""}, key=lambda value: (-len(value), value))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by `Retry-After-Ms` or `Retry-After` (seconds or a date); None if neither can be parsed.

    Args:
        headers: Of the response; a mapping that ignores case.

    Example:
        >>> retry_after({"retry-after-ms": "250"}), retry_after({"retry-after": "2"}), retry_after({})
        (0.25, 2.0, None)
    """
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            wait = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        # float() accepts "nan" and "inf" as well.
        return wait if 0 <= wait < math.inf else None
    if (date := email.utils.parsedate_tz(headers.get("retry-after", ""))) is None:
        return None
    try:
        return max(0.0, email.utils.mktime_tz(date) - time.time())
    except (ValueError, OverflowError):
        return None


# 529 is Anthropic's code for an overloaded server.
_OVERLOADED = frozenset({429, 503, 529})
# 409 as in the openai package: a lock timed out.
_TRANSIENT = frozenset({408, 409, 425, 500, 502, 504})


_MAX_CLEANED = 100_000
"""Maximum characters of a text that are searched for keys before it is truncated to 500."""


class AnswerTooLargeError(Exception):
    """A response exceeds the maximum number of bytes."""


class PackedAnswerError(AnswerTooLargeError):
    """A response is compressed, so that its bytes do not show how large it is."""


@dataclass(frozen=True)
class RequestTarget:
    """The server and model of a request, for error messages.

    Attributes:
        address: The server's URL.
        model: The model's name.
        key: The API key, to remove it from texts.
        key_variable: The environment variable of the key; "" for none.
    """

    address: str
    model: str
    key: str
    key_variable: str

    @property
    def secrets(self) -> list[str]:
        """The key of this request, and every other key in use: a gateway may return what another request sent."""
        return [self.key, *keys_in_use()]

    def clean(self, text: str) -> str:
        """A text without anything that looks like a key, at most 500 characters."""
        return hide_secrets(text[:_MAX_CLEANED], self.secrets)[:500]


@dataclass(frozen=True)
class RequestFault:
    """A failed request.

    Attributes:
        error: The error that the row's grade gets.
        retry: Whether the same request may succeed later.
        overloaded: Whether the server was overloaded, so that concurrency is reduced.
        unreachable: Whether nothing listens at the address, as while a server restarts.
        connection_lost: Whether the connection broke.
        retry_after: Seconds to wait, as reported by the server; None if it reports none.
        status: HTTP status; 0 if there was no response.
        message: The server's own error message.
        usage: What the server counted nevertheless; None for nothing.
        unanswered: Whether the request was sent and no complete response arrived, so that the server may charge it.
    """

    error: JudgeServerError
    retry: bool = False
    overloaded: bool = False
    unreachable: bool = False
    connection_lost: bool = False
    retry_after: float | None = None
    status: int = 0
    message: str = ""
    usage: Usage | None = None
    unanswered: bool = False


class RequestFailedError(Exception):
    """One try of a request failed."""

    def __init__(self, fault: RequestFault) -> None:
        super().__init__()
        self.fault = fault


def fault_of(error: Exception, target: RequestTarget) -> RequestFault:
    """What an exception of the `openai` package, or of its transport, means."""
    from openai import APIStatusError

    if isinstance(error, APIStatusError):
        return _status_fault(error, target)
    causes = list(_causes(error))
    # First, since older versions of the package wrap this exception as a lost connection.
    too_large = next((cause for cause in causes if isinstance(cause, AnswerTooLargeError)), None)
    if too_large is not None:
        if isinstance(too_large, PackedAnswerError):
            message = "the judge's reply is compressed"
            return RequestFault(
                JudgeServerError(message, where=target.address, found=str(too_large)), unanswered=True
            )
        message = "the judge's reply is too large"
        return RequestFault(
            ReplyTooLongError(message, where=target.address, found=str(too_large)), unanswered=True
        )
    if (fault := _unreachable_fault(causes, target)) is not None:
        return fault
    # By the causes: aiohttp's transport wraps every lost connection as a timeout of the package.
    if any(isinstance(cause, TimeoutError) for cause in causes):
        connected = not any("ConnectTimeout" in type(cause).__name__ for cause in causes)
        return RequestFault(_timeout_error(target), retry=True, unanswered=connected)
    return _broken_answer_fault(error, causes, target)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An exception and its chain of causes; connectors keep the operating system's error in an attribute."""
    for _ in range(10):  # a chain may have a loop
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__ or getattr(error, "os_error", None)


def _timeout_error(target: RequestTarget) -> JudgeServerError:
    return JudgeTimeoutError(
        "the judge's request timed out",
        where=target.address,
        hint="raise timeout=, or lower concurrency= if the server is slow under load",
    )


def _unreachable_fault(causes: list[BaseException], target: RequestTarget) -> RequestFault | None:
    """A server that cannot be reached at all: by name, by port, or by certificate. None for other faults."""
    # By names and texts: httpx and aiohttp have different exceptions for each case.
    names = " ".join(type(cause).__name__ for cause in causes)
    text = " ".join(map(str, causes))
    if "Certificate" in names or "CERTIFICATE_VERIFY_FAILED" in text:
        hint = "check base_url; for a certificate of a private authority set SSL_CERT_FILE"
        return _no_server("the certificate of the judge's server is not trusted", causes, target, hint)
    if "gaierror" in names or "DNS" in names or "name resolution" in text.lower():
        message = "the host name of the judge's server cannot be resolved"
        return _no_server(message, causes, target, "check base_url", unreachable=True)
    if "ConnectionRefused" in names or "Cannot connect to host" in text or "ConnectError" in names:
        hint = "start the server, or check base_url (or OPENAI_BASE_URL)"
        message = "no server listens at the judge's address"
        return _no_server(message, causes, target, hint, unreachable=True, retry=True)
    return None


def _no_server(
    message: str,
    causes: list[BaseException],
    target: RequestTarget,
    hint: str,
    *,
    unreachable: bool = False,
    retry: bool = False,
) -> RequestFault:
    found = target.clean(str(causes[-1]) or type(causes[-1]).__name__)
    error = NoServerError(message, where=target.address, found=found, hint=hint)
    return RequestFault(error, retry, unreachable=unreachable)


def _broken_answer_fault(
    error: Exception, causes: list[BaseException], target: RequestTarget
) -> RequestFault:
    from openai import APIConnectionError

    lost = isinstance(error, APIConnectionError)
    root_cause = causes[-1]
    found = target.clean(f"{type(root_cause).__name__}: {root_cause}")
    message = (
        "the connection to the judge's server broke" if lost else "the judge's server sent a broken response"
    )
    return RequestFault(
        JudgeServerError(message, where=target.address, found=found),
        retry=lost,
        connection_lost=lost,
        unanswered=True,
    )


def _status_fault(error: Any, target: RequestTarget) -> RequestFault:
    body = error.body if isinstance(error.body, Mapping) else {}
    message = target.clean(_error_message(error))[:300]
    headers = error.response.headers
    return refusal_fault(int(error.status_code), str(body.get("code") or ""), message, headers, target)


def refusal_fault(
    status: int, code: str, message: str, headers: Mapping[str, str], target: RequestTarget
) -> RequestFault:
    """The meaning of a response with an error status.

    Args:
        status: HTTP status.
        code: The server's error code, such as "insufficient_quota"; "" if it has none.
        message: Its error message, without keys.
        headers: Of the response.
        target: The server and model.
    """
    found = f"status {status}: {message}"
    permanent_error = _permanent_error(status, code, found, target)
    if permanent_error is not None:
        return RequestFault(permanent_error, status=status, message=message)
    overloaded = status in _OVERLOADED
    retry = overloaded or status in _TRANSIENT
    error_type = JudgeLimitError if overloaded else JudgeServerError
    wait = retry_after(headers) if retry else None
    wait_text = "" if wait is None else f"; it requests a wait of {wait:,.0f} s"
    hint = _HINTS.get(status, "")
    error = error_type(_status_text(status), where=target.address, found=found + wait_text, hint=hint)
    return RequestFault(error, retry, overloaded, retry_after=wait, status=status, message=message)


def _status_text(status: int) -> str:
    if status in _OVERLOADED:
        return "the judge's server is overloaded"
    return "the judge's server failed" if status >= 500 else "the judge's server rejected the request"


_OVERLOAD_HINT = "lower concurrency=, or run again: with store= only missing replies are requested"
_HINTS = {
    **dict.fromkeys(_OVERLOADED, _OVERLOAD_HINT),
    **dict.fromkeys((301, 302, 303, 307, 308), "redirects are not followed: give base_url the final address"),
    403: "this request was blocked, or the key may not use the model",
}


def _permanent_error(status: int, code: str, found: str, target: RequestTarget) -> JudgeServerError | None:
    """The error of a rejection that waiting does not fix; None for others."""
    address, variable = target.address, target.key_variable
    if status == 401:
        hint = f"put a key of this server into {variable}" if variable else "give it a key"
        message = "the judge's server rejected the key"
        return JudgeKeyError(message, where=address, found=found, hint=f"{hint}, and run again")
    if status == 404:
        message = f"the judge's server has no model {target.model!r}, or no such address"
        hint = "check model= and base_url=, which usually ends with /v1"
        return NoServerError(message, where=address, found=found, hint=hint)
    # OpenAI returns 429 for an empty account as well as for a rate limit; only the code distinguishes them.
    no_quota = code == "insufficient_quota" or "exceeded your current quota" in found
    if status == 402 or (status == 429 and no_quota):
        hint = "add credit to the account, or use another key"
        return JudgeKeyError("the judge's account has no credit", where=address, found=found, hint=hint)
    return None


def _error_message(error: Any) -> str:
    """The server's error message; the start of the body if it has none, such as an HTML page."""
    body = error.body
    if isinstance(body, Mapping) and isinstance(body.get("message"), str):
        return str(body["message"])
    return " ".join(re.sub(r"<[^>]*>", " ", str(body or error.message)).split())
