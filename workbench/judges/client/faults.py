"""Why a request failed, in words that tell what to do, and whether to try again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.judges.client.retry_after import retry_after
from workbench.judges.protocol import (
    JudgeKeyError,
    JudgeLimitError,
    JudgeServerError,
    JudgeTimeoutError,
    NoServerError,
    Usage,
)
from workbench.judges.redaction import hide

__all__ = ["Asked", "FailedError", "Fault", "TooLargeError", "fault_of", "refusal"]

_CROWDED = frozenset({429, 503, 529})
_PASSING = frozenset({408, 409, 425, 500, 502, 504})


class TooLargeError(Exception):
    """An answer with more bytes than are read."""


@dataclass(frozen=True)
class Asked:
    """Who was asked, for the texts of errors.

    Attributes:
        where: The server's address.
        model: The model's name.
        key: The key, to take it out of texts.
        key_variable: Where the key came from; "" for none.
    """

    where: str
    model: str
    key: str
    key_variable: str

    def clean(self, text: str) -> str:
        """A text without anything like a key, 500 characters at most."""
        return hide(text, [self.key])[:500]


@dataclass(frozen=True)
class Fault:
    """A failed request.

    Attributes:
        error: What the row's grade will say.
        retry: Whether the same question may do better.
        crowded: The server had no room: it is asked less.
        away: Nothing answers there, as while a server restarts.
        lost: The connection broke off.
        wait: Seconds the server wants us to wait; None where it did not say.
        status: HTTP status; 0 where there was no answer.
        said: The server's own words.
        usage: What the server counted all the same; None for nothing.
        unanswered: Whether the question was sent and no whole answer came, so that the server may charge it.
    """

    error: JudgeServerError
    retry: bool = False
    crowded: bool = False
    away: bool = False
    lost: bool = False
    wait: float | None = None
    status: int = 0
    said: str = ""
    usage: Usage | None = None
    unanswered: bool = False


class FailedError(Exception):
    """A try that failed."""

    def __init__(self, fault: Fault) -> None:
        super().__init__()
        self.fault = fault


def fault_of(error: Exception, asked: Asked) -> Fault:
    """What an exception of the `openai` package, or of what lies under it, means."""
    from openai import APIStatusError

    if isinstance(error, APIStatusError):
        return _refused(error, asked)
    causes = list(_causes(error))
    # Its own words: older versions of the package wrap it as a lost connection.
    if (large := next((one for one in causes if isinstance(one, TooLargeError)), None)) is not None:
        return Fault(
            JudgeServerError("the judge's answer is too large", where=asked.where, found=str(large)),
            unanswered=True,
        )
    if (fault := _unreached(causes, asked)) is not None:
        return fault
    # By the innermost: aiohttp's transport calls every lost connection a timeout.
    if any(isinstance(one, TimeoutError) for one in causes):
        connected = not any("ConnectTimeout" in type(one).__name__ for one in causes)
        return Fault(_too_slow(asked), retry=True, unanswered=connected)
    return _broken(error, causes, asked)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An exception and what caused it; connectors keep the operating system's error in an attribute."""
    for _ in range(10):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__ or getattr(error, "os_error", None)


def _too_slow(asked: Asked) -> JudgeServerError:
    return JudgeTimeoutError(
        "the judge's request timed out",
        where=asked.where,
        hint="raise timeout=, or lower concurrency= if the server is slow under load",
    )


def _unreached(causes: list[BaseException], asked: Asked) -> Fault | None:
    """A server that cannot be reached at all: by name, by port, or by certificate."""
    names = " ".join(type(one).__name__ for one in causes)
    text = " ".join(map(str, causes))
    if "Certificate" in names or "CERTIFICATE_VERIFY_FAILED" in text:
        hint = "check base_url; for a certificate of your own authority set SSL_CERT_FILE"
        return _no_server("the judge's server has no certificate that can be trusted", causes, asked, hint)
    if "gaierror" in names or "DNS" in names or "name resolution" in text.lower():
        what = "the judge's server has no address by that name"
        return _no_server(what, causes, asked, "check base_url", away=True)
    if "ConnectionRefused" in names or "Cannot connect to host" in text or "ConnectError" in names:
        hint = "start the server, or check base_url (or OPENAI_BASE_URL)"
        return _no_server(
            "nothing answers at the judge's address", causes, asked, hint, away=True, retry=True
        )
    return None


def _no_server(
    what: str,
    causes: list[BaseException],
    asked: Asked,
    hint: str,
    *,
    away: bool = False,
    retry: bool = False,
) -> Fault:
    found = asked.clean(str(causes[-1]) or type(causes[-1]).__name__)
    return Fault(NoServerError(what, where=asked.where, found=found, hint=hint), retry, away=away)


def _broken(error: Exception, causes: list[BaseException], asked: Asked) -> Fault:
    from openai import APIConnectionError

    lost = isinstance(error, APIConnectionError)
    last = causes[-1]
    found = asked.clean(f"{type(last).__name__}: {last}")
    what = (
        "the connection to the judge's server broke off"
        if lost
        else "the judge's server sent a broken answer"
    )
    return Fault(
        JudgeServerError(what, where=asked.where, found=found), retry=lost, lost=lost, unanswered=True
    )


def _refused(error: Any, asked: Asked) -> Fault:
    told = error.body if isinstance(error.body, Mapping) else {}
    said = asked.clean(_message(error))
    return refusal(int(error.status_code), str(told.get("code") or ""), said, error.response.headers, asked)


def refusal(status: int, code: str, said: str, headers: Mapping[str, str], asked: Asked) -> Fault:
    """What an answer with an error's status means.

    Args:
        status: Of HTTP.
        code: The server's word for the error, "" where it has none.
        said: Its own sentence, without keys.
        headers: Of the answer.
        asked: Who was asked.
    """
    found = f"status {status}: {said}"
    known = _known(status, code, found, asked)
    if known is not None:
        return Fault(known, status=status, said=said)
    crowded = status in _CROWDED
    retry = crowded or status in _PASSING
    kind = JudgeLimitError if crowded else JudgeServerError
    wait = retry_after(headers) if retry else None
    asks = "" if wait is None else f"; it asks to wait {wait:,.0f} s"
    error = kind(_what(status), where=asked.where, found=found + asks, hint=_HINTS.get(status, ""))
    return Fault(error, retry, crowded, wait=wait, status=status, said=said)


def _what(status: int) -> str:
    if status in _CROWDED:
        return "the judge's server had no room"
    return "the judge's server failed" if status >= 500 else "the judge's server refused the question"


_LATER = "lower concurrency=, or run again: with store= only what is missing is asked"
_HINTS = {
    **dict.fromkeys(_CROWDED, _LATER),
    **dict.fromkeys((301, 302, 303, 307, 308), "redirects are not followed: give base_url the final address"),
    403: "this question was blocked, or the key may not use the model",
}


def _known(status: int, code: str, found: str, asked: Asked) -> JudgeServerError | None:
    """Refusals that no patience mends."""
    if status == 401:
        hint = (
            f"put a key of this server into {asked.key_variable}" if asked.key_variable else "give it a key"
        )
        return JudgeKeyError(
            "the judge's server refused the key",
            where=asked.where,
            found=found,
            hint=f"{hint}, and run again",
        )
    if status == 404:
        what = f"the judge's server has no model {asked.model!r}, or no such address"
        hint = "check model= and base_url=, which usually ends with /v1"
        return NoServerError(what, where=asked.where, found=found, hint=hint)
    if status == 402 or (
        status == 429 and (code == "insufficient_quota" or "exceeded your current quota" in found)
    ):
        hint = "add credit to the account, or use another key"
        return JudgeKeyError("the judge's account has no credit", where=asked.where, found=found, hint=hint)
    return None


def _message(error: Any) -> str:
    """The server's own sentence; the beginning of the body where it has none, such as a page in HTML."""
    body = error.body
    if isinstance(body, Mapping) and isinstance(body.get("message"), str):
        return str(body["message"])
    return " ".join(re.sub(r"<[^>]*>", " ", str(body or error.message)).split())[:300]
