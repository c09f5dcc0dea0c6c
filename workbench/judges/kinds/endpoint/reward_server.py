"""The wire to a reward server: where it is, what goes out, what may come back, and when it is asked again."""

from __future__ import annotations

import asyncio
import json
import random
import re
import socket
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn
from urllib.parse import urlsplit

from workbench.errors import FormatError, WorkbenchError
from workbench.judges.answers.verdicts import repeated_key
from workbench.judges.base import refuse_unless
from workbench.judges.client.retry_after import retry_after
from workbench.judges.client.url_policy import public_hosts

__all__ = [
    "EndpointError",
    "Stopped",
    "Terms",
    "Wire",
    "check_header",
    "check_url",
    "connected",
    "route",
]

MAX_ANSWER = 8 * 2**20
"""Bytes of an answer that are read."""

_AT_ONCE = 8
"""Requests at once. Upstream opens 32 connections, which a plain development server answers with resets."""

_AGAIN = frozenset({429, 502, 503, 504})
"""Statuses that say: not now."""
_FIRST_WAIT = 0.2
_MAX_WAIT = 60.0
"""Seconds; a service that wants more is not waited for."""
_LISTEN_SECONDS = 0.1
"""How often a run's stop is looked for."""

_SECRET = re.compile(r"auth|key|token|secret|cookie|password|signature", re.IGNORECASE)


class EndpointError(WorkbenchError):
    """The service did not answer as the protocol says."""


class Stopped(Exception):  # noqa: N818 (named for what happened)
    """The run was stopped while a request was under way."""


class _NotNow(Exception):  # noqa: N818 (named for what happened)
    """An answer, or none, that may be better in a moment.

    Args:
        error: What to tell when there is no moment left.
        wait: Seconds the service asks for; None where it does not say.
    """

    def __init__(self, error: EndpointError, wait: float | None = None) -> None:
        super().__init__(str(error))
        self.error, self.wait = error, wait


@dataclass(frozen=True)
class Terms:
    """How a service is asked.

    Attributes:
        timeout: Seconds one try may take.
        tries: How often at most.
        public: Reach no address of this machine or its network, whatever the name resolves to.
    """

    timeout: float
    tries: int
    public: bool = False


@dataclass
class Wire:
    """A run's connections, how many may be in use, and what is under way.

    Attributes:
        client: An `httpx.AsyncClient`.
        room: Requests at once.
    """

    client: Any
    room: asyncio.Semaphore
    _stopped: asyncio.Event = field(default_factory=asyncio.Event)
    _tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    def stop(self) -> None:
        """End every request under way."""
        self._stopped.set()
        for task in self._tasks:
            task.cancel()

    async def ask(
        self, method: str, address: str, *, body: Any = None, headers: Mapping[str, str], terms: Terms
    ) -> Any:  # fmt: skip
        """What the service answers, as JSON.

        Args:
            method: GET or POST.
            address: The whole URL.
            body: Sent as JSON.
            headers: Sent as they are.
            terms: How long, how often, and where to.

        Raises:
            EndpointError: No answer, or none that can be read.
            TimeoutError: No answer in time. It is not asked again: the service may still be at work.
            IsolationError: The address is inside, and the terms say public.
            Stopped: See `stop`.
        """
        if self._stopped.is_set():
            raise Stopped
        sent = None if body is None else json.dumps(body, ensure_ascii=True).encode()
        request = {"content": sent, "headers": {"accept-encoding": "identity", **headers}}
        task = asyncio.ensure_future(self._tried(method, address, request, terms))
        self._tasks.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if self._stopped.is_set() and not (caller and caller.cancelling()):
                raise Stopped from None
            raise
        finally:
            self._tasks.discard(task)

    async def _tried(self, method: str, address: str, request: dict[str, Any], terms: Terms) -> Any:
        for again in range(terms.tries):
            try:
                async with self.room, asyncio.timeout(terms.timeout):
                    return await self._once(method, address, request, terms)
            except _NotNow as problem:
                wait = problem.wait if problem.wait is not None else _backoff(again)
                if again + 1 == terms.tries or wait > _MAX_WAIT:
                    raise problem.error from None
            await _pause(wait)
        raise EndpointError("the endpoint was not asked")

    async def _once(self, method: str, address: str, request: dict[str, Any], terms: Terms) -> Any:
        import httpx

        try:
            if terms.public:
                return await self._outside(method, address, request)
            return await self._sent(method, address, request)
        except httpx.TimeoutException:
            raise TimeoutError from None
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, OSError) as error:
            if isinstance(error, TimeoutError):
                raise
            found = f"{type(error).__name__}: {error}"[:300]
            failure = EndpointError("the endpoint did not answer", where=address, found=found)
            if isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError | socket.gaierror):
                raise _NotNow(failure) from None
            raise failure from None

    async def _sent(self, method: str, address: Any, request: dict[str, Any]) -> Any:
        async with self.client.stream(method, address, **request) as answer:
            return _read(answer, await _body(answer))

    async def _outside(self, method: str, address: str, request: dict[str, Any]) -> Any:
        """The request to the very addresses that were looked at: a name may resolve to others a moment later."""
        import httpx

        url = httpx.URL(address)
        name = url.raw_host.decode("ascii")
        hosts = await public_hosts(name, url.port or (443 if url.scheme == "https" else 80), address)
        headers = httpx.Headers({"host": url.netloc.decode("ascii")})
        headers.update(request["headers"])
        sent = {**request, "headers": headers, "extensions": {"sni_hostname": name}}
        for host in hosts[:-1]:
            try:
                return await self._sent(method, url.copy_with(host=host), sent)
            except httpx.ConnectError:
                continue  # another of its addresses may answer
        return await self._sent(method, url.copy_with(host=hosts[-1]), sent)


async def _pause(seconds: float) -> None:
    await asyncio.sleep(seconds)


def _backoff(again: int) -> float:
    """Twice as long each time, and not all rows at the same moment."""
    return float(_FIRST_WAIT * 2**again * random.uniform(0.75, 1.25))  # noqa: S311 (no secret)


@asynccontextmanager
async def connected(cancel: threading.Event | None = None) -> AsyncIterator[Wire]:
    """New connections. Redirects are not followed, and proxies and logins of the environment are not used.

    Args:
        cancel: Ends the requests under way when it is set.
    """
    import httpx

    # Each try has its own limit of time, over all of it.
    async with httpx.AsyncClient(follow_redirects=False, trust_env=False, timeout=None) as client:  # noqa: S113
        wire = Wire(client, asyncio.Semaphore(_AT_ONCE))
        watch = None if cancel is None else asyncio.ensure_future(_watch(wire, cancel))
        try:
            yield wire
        finally:
            if watch is not None:
                watch.cancel()


async def _watch(wire: Wire, cancel: threading.Event) -> None:
    while not cancel.is_set():  # noqa: ASYNC110 (another thread sets it)
        await asyncio.sleep(_LISTEN_SECONDS)
    wire.stop()


async def _body(answer: Any) -> bytes:
    if (packed := answer.headers.get("content-encoding", "identity")) != "identity":
        raise EndpointError("the endpoint's answer is compressed, which was not asked for", found=packed[:80])
    parts: list[bytes] = []
    size = 0
    async for part in answer.aiter_raw():
        size += len(part)
        if size > MAX_ANSWER:
            raise EndpointError(
                "the endpoint's answer is too large", expected=f"at most {MAX_ANSWER:,} bytes"
            )
        parts.append(part)
    return b"".join(parts)


def _read(answer: Any, body: bytes) -> Any:
    status, shown = answer.status_code, body[:200].decode("utf-8", "replace")
    if status != 200:
        hint = "redirects are not followed; give the final address" if 300 <= status < 400 else ""
        failure = EndpointError(f"the endpoint answered with status {status}", found=shown, hint=hint)
        if status in _AGAIN:
            raise _NotNow(failure, retry_after(answer.headers))
        raise failure
    try:
        return json.loads(body, parse_constant=_no_number, object_pairs_hook=_no_key_twice)
    except (ValueError, RecursionError) as error:
        told = f": {error}" if isinstance(error, _OddError) else ""
        raise EndpointError(f"the endpoint's answer is no JSON{told}", found=shown) from None


class _OddError(ValueError):
    """JSON that Python reads and no reward can be taken from."""


def _no_number(name: str) -> NoReturn:
    raise _OddError(f"{name} is no finite number")


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if twice := repeated_key(pairs):
        raise _OddError(f"an object holds the key {twice} twice")
    return dict(pairs)


def route(url: str, name: str) -> str:
    """The address of one of the protocol's routes; the URL may end in one."""
    base = re.sub(r"/(batch_score|score|info)?/*\Z", "", url)
    return f"{base}/{name}"


def check_url(url: Any) -> None:
    """Refuse what is no address of a service.

    Raises:
        FormatError: Another scheme than http and https, a name or password, a query.
    """
    refuse_unless(isinstance(url, str), "url must be text", url)
    try:
        parts = urlsplit(url)
        host, named = parts.hostname, parts.username or parts.password
        parts.port  # noqa: B018 (refuses a port that is none)
    except ValueError as error:
        raise FormatError("url is no address", found=str(error)) from None
    refuse_unless(
        parts.scheme in {"http", "https"} and host,
        "url must be an http or https address",
        url,
        "https://host/path",
    )
    refuse_unless(
        not named, "url may hold no name or password", "", "headers, with values from the environment"
    )
    refuse_unless(
        not parts.query and not parts.fragment, "url may have no query: the routes are put behind it", url
    )


def check_header(name: Any, value: Any) -> None:
    """Refuse a header that no line can hold, or that holds a secret in the open.

    Raises:
        FormatError: With how to give a secret.
    """
    refuse_unless(isinstance(name, str) and isinstance(value, str), "headers must be texts", name)
    refuse_unless(re.fullmatch(r"[\w!#$%&'*+.^`|~-]+", name, re.ASCII), "this is no header's name", name)
    refuse_unless(value.isprintable() and value.isascii(), f"header {name!r} must be one line of ASCII")
    if _SECRET.search(name) and not value.startswith("$"):
        raise FormatError(
            f"header {name!r} looks like a secret, which no file may hold", expected="$NAME of an environment variable",
            hint=f"set the variable, and write headers={{{name!r}: '$NAME'}}",
        )  # fmt: skip
