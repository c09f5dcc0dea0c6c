"""The connection to a reward server: which addresses are allowed, what is sent and returned, and when it is retried."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
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

from workbench.core.errors import FormatError, IsolationError, WorkbenchError
from workbench.judges.protocol import refuse_unless
from workbench.judges.response import retry_after
from workbench.judges.verdicts import repeated_key

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
"""IPv6 addresses that a gateway translates to the IPv4 address in their last four bytes. Source: RFC 6052."""


async def public_hosts(name: str, port: int, address: str) -> list[str]:
    """The IP addresses of a host name, IPv4 first.

    Args:
        name: The host name.
        port: The service's port.
        address: The whole URL, for the error.

    Raises:
        IsolationError: One of them is internal.
    """
    infos = await asyncio.get_running_loop().getaddrinfo(name, port, type=socket.SOCK_STREAM)
    # Every address counts: a name may resolve to a public and an internal one.
    hosts = list(dict.fromkeys(str(info[4][0]) for info in infos))
    if internal := [host for host in hosts if _is_internal_ip(host)]:
        raise untrusted_error(
            "an imported endpoint would send rows into your own network",
            address,
            f"{name} is {internal[0]}",
        )
    return sorted(hosts, key=lambda host: ":" in host)


def _is_internal_ip(host: str) -> bool:
    """Whether an IP address belongs to this machine or its network: private, loopback, link-local, shared, reserved."""
    ip = ipaddress.ip_address(host)
    if isinstance(ip, ipaddress.IPv6Address):
        # These contain an IPv4 address, which is the one that is reached.
        nat64 = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF) if ip in _NAT64 else None
        if (embedded := ip.ipv4_mapped or ip.sixtofour or nat64) is not None:
            return _is_internal_ip(str(embedded))
        if ip.is_site_local:
            return True
    return not ip.is_global or ip.is_multicast


def is_internal(url: str) -> bool:
    """Whether a URL names, without any look-up, an address of this machine or its network."""
    # A dot at the end makes a name absolute; the address is the same.
    host = (urlsplit(url).hostname or "").rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        # Parsed by the system, which also accepts 127.1 and 0x7f000001 as the loopback address.
        infos = socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return False
    return any(_is_internal_ip(str(info[4][0])) for info in infos)


def untrusted_error(message: str, address: str, found: str) -> IsolationError:
    """The error of a service that a file names and the user did not trust."""
    return IsolationError(
        message,
        where=address[:300],
        found=found[:300],
        expected="an endpoint you typed yourself, or one you trust",
        hint="review its url and headers; if you trust them, load it with trust=True: wb.load(path, trust=True) or store.graders.get(key, trust=True)",
    )


def service_sha256(url: Any, headers: Any) -> str:
    """Hash of a service's URL and headers, to which trust is bound; "" if one of them has the wrong type."""
    if not isinstance(url, str) or not isinstance(headers, Mapping):
        return ""
    identity = json.dumps([url, sorted((str(name), str(value)) for name, value in headers.items())])
    return hashlib.sha256(identity.encode()).hexdigest()


MAX_ANSWER_BYTES = 8 * 2**20
"""Maximum bytes of a response. Workbench limit: enough for the metadata of 32 rows."""

_SHOWN_BYTES = 4_096
"""Maximum bytes of a response in an error. The grader truncates the text to 300 characters after it has removed keys."""

_CONCURRENCY = 8
"""Concurrent requests. Adaptive's client opens 32 connections, which a plain development server rejects with resets."""

_TRANSIENT_STATUSES = frozenset({429, 502, 503, 504})
"""Statuses of an overload or outage, after which the request is retried."""
_FIRST_WAIT = 0.2
"""Seconds before the second try; doubled for each further one. Workbench default."""
_MAX_WAIT = 60.0
"""Seconds; the client does not wait for a service that requests a longer wait. Workbench limit."""
_STOP_CHECK_SECONDS = 0.1
"""Seconds between two checks whether the run is to stop: too short to notice."""

SECRET_NAME = re.compile(r"auth|key|token|secret|cookie|password|signature", re.IGNORECASE)


class EndpointError(WorkbenchError):
    """The service's response does not follow the protocol."""


class RunStoppedError(Exception):
    """The run was stopped while a request was in flight."""


class _TransientError(Exception):
    """A try failed in a way that may be transient.

    Args:
        error: The error to raise when there is no try left.
        wait: Seconds that the service requests to wait; None if it requests none.
    """

    def __init__(self, error: EndpointError, wait: float | None = None) -> None:
        super().__init__(str(error))
        self.error, self.wait = error, wait


@dataclass(frozen=True)
class RequestPolicy:
    """How to call a service.

    Attributes:
        timeout: Seconds one try may take.
        max_tries: Tries, the first one included.
        public_only: Whether to reject addresses of this machine and its network, also those that the name resolves to.
    """

    timeout: float
    max_tries: int
    public_only: bool = False


@dataclass
class RewardServerConnection:
    """A run's HTTP connections, and its requests in flight.

    Attributes:
        client: An `httpx.AsyncClient`.
        concurrency: Limits the requests in flight.
    """

    client: Any
    concurrency: asyncio.Semaphore
    _stopped: asyncio.Event = field(default_factory=asyncio.Event)
    _tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    def stop(self) -> None:
        """Cancel every request in flight, and reject new ones."""
        self._stopped.set()
        for task in self._tasks:
            task.cancel()

    async def ask(
        self, method: str, address: str, *, body: Any = None, headers: Mapping[str, str], policy: RequestPolicy
    ) -> Any:  # fmt: skip
        """The service's response, parsed as JSON.

        Args:
            method: GET or POST.
            address: The whole URL.
            body: Sent as JSON.
            headers: Sent unchanged.
            policy: Timeout, tries and allowed addresses.

        Raises:
            EndpointError: There is no response, or none that can be parsed.
            TimeoutError: There is no response in time. No retry: the service may still be at work.
            IsolationError: The address is internal, and the policy allows public ones only.
            RunStoppedError: See `stop`.
        """
        if self._stopped.is_set():
            raise RunStoppedError
        # Escaped, so that a row with a lone surrogate can be sent as well.
        content = None if body is None else json.dumps(body, ensure_ascii=True).encode()
        request = {"content": content, "headers": {"accept-encoding": "identity", **headers}}
        task = asyncio.ensure_future(self._send_with_retries(method, address, request, policy))
        self._tasks.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            # `stop` cancels the request; a cancellation of the caller itself must propagate as one.
            caller = asyncio.current_task()
            if self._stopped.is_set() and not (caller and caller.cancelling()):
                raise RunStoppedError from None
            raise
        except (WorkbenchError, TimeoutError) as error:
            # httpx's error would be the context there, and contains the request with its headers. Some programs pickle
            # contexts, too, such as Dask's.
            error.__context__ = None
            raise
        finally:
            self._tasks.discard(task)

    async def _send_with_retries(
        self, method: str, address: str, request: dict[str, Any], policy: RequestPolicy
    ) -> Any:
        for retry in range(policy.max_tries):
            try:
                # In this order: the wait for a turn does not count towards a request's time.
                async with self.concurrency, asyncio.timeout(policy.timeout):
                    return await self._send_once(method, address, request, policy)
            except _TransientError as failure:
                wait = failure.wait if failure.wait is not None else _backoff(retry)
                if retry + 1 == policy.max_tries or wait > _MAX_WAIT:
                    raise failure.error from None
            await _pause(wait)
        raise EndpointError("the request to the endpoint was not sent")

    async def _send_once(
        self, method: str, address: str, request: dict[str, Any], policy: RequestPolicy
    ) -> Any:
        import httpx

        try:
            if policy.public_only:
                return await self._send_to_public(method, address, request)
            return await self._send(method, address, request)
        except httpx.TimeoutException:
            raise TimeoutError from None
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, OSError) as error:
            if isinstance(error, TimeoutError):  # an OSError too
                raise
            found = f"{type(error).__name__}: {error}"[:300]
            failure = EndpointError("the endpoint did not respond", where=address, found=found)
            if isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError | socket.gaierror):
                raise _TransientError(failure) from None
            raise failure from None

    async def _send(self, method: str, address: Any, request: dict[str, Any]) -> Any:
        async with self.client.stream(method, address, **request) as answer:
            return _parse(answer, await _read_body(answer))

    async def _send_to_public(self, method: str, address: str, request: dict[str, Any]) -> Any:
        """Send to the IP addresses that were checked: the name may resolve to others a moment later."""
        import httpx

        url = httpx.URL(address)
        name = url.raw_host.decode("ascii")
        hosts = await public_hosts(name, url.port or (443 if url.scheme == "https" else 80), address)
        headers = httpx.Headers({"host": url.netloc.decode("ascii")})
        headers.update(request["headers"])
        # TLS still has to check the certificate of the name, not of the IP address.
        request = {**request, "headers": headers, "extensions": {"sni_hostname": name}}
        for host in hosts[:-1]:
            try:
                return await self._send(method, url.copy_with(host=host), request)
            except httpx.ConnectError:
                continue  # another of its addresses may respond
        return await self._send(method, url.copy_with(host=hosts[-1]), request)


async def _pause(seconds: float) -> None:
    await asyncio.sleep(seconds)


def _backoff(retry: int) -> float:
    """Seconds: doubled with each try, with a random part, so that rows do not return simultaneously."""
    return float(_FIRST_WAIT * 2**retry * random.uniform(0.75, 1.25))  # noqa: S311 (no secret)


@asynccontextmanager
async def open_connection(
    cancel: threading.Event | None = None,
) -> AsyncIterator[RewardServerConnection]:
    """A new connection. Redirects are not followed, and the environment's proxies and .netrc logins are not used.

    Args:
        cancel: Cancels the requests in flight when it is set.
    """
    import httpx

    # No timeout of httpx, which limits each step of a request: `RequestPolicy.timeout` limits a whole try.
    async with httpx.AsyncClient(follow_redirects=False, trust_env=False, timeout=None) as client:  # noqa: S113
        connection = RewardServerConnection(client, asyncio.Semaphore(_CONCURRENCY))
        watcher = None if cancel is None else asyncio.ensure_future(_watch(connection, cancel))
        try:
            yield connection
        finally:
            if watcher is not None:
                watcher.cancel()


async def _watch(connection: RewardServerConnection, cancel: threading.Event) -> None:
    while not cancel.is_set():  # noqa: ASYNC110 (another thread sets it)
        await asyncio.sleep(_STOP_CHECK_SECONDS)
    connection.stop()


async def _read_body(answer: Any) -> bytes:
    # A compressed body could unpack to far more than the bytes counted here.
    if (encoding := answer.headers.get("content-encoding", "identity")) != "identity":
        raise EndpointError(
            "the endpoint's response is compressed, which was not requested", found=encoding[:80]
        )
    chunks: list[bytes] = []
    size = 0
    async for chunk in answer.aiter_raw():
        size += len(chunk)
        if size > MAX_ANSWER_BYTES:
            raise EndpointError(
                "the endpoint's response is too large", expected=f"at most {MAX_ANSWER_BYTES:,} bytes"
            )
        chunks.append(chunk)
    return b"".join(chunks)


def _parse(answer: Any, body: bytes) -> Any:
    status, body_start = answer.status_code, body[:_SHOWN_BYTES].decode("utf-8", "replace")
    if status != 200:
        hint = "redirects are not followed; give the final address" if 300 <= status < 400 else ""
        failure = EndpointError(f"the endpoint returned status {status}", found=body_start, hint=hint)
        if status in _TRANSIENT_STATUSES:
            raise _TransientError(failure, retry_after(answer.headers))
        raise failure
    try:
        return json.loads(body, parse_constant=_refuse_constant, object_pairs_hook=_refuse_repeated_keys)
    except (ValueError, RecursionError) as error:
        reason = f": {error}" if isinstance(error, _InvalidJsonError) else ""
        raise EndpointError(f"the endpoint's response is not JSON{reason}", found=body_start) from None


class _InvalidJsonError(ValueError):
    """JSON that Python's parser accepts and the workbench rejects."""


def _refuse_constant(name: str) -> NoReturn:
    raise _InvalidJsonError(f"{name} is not a finite number")


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if key := repeated_key(pairs):
        raise _InvalidJsonError(f"an object has the key {key} twice")
    return dict(pairs)


def route_url(url: str, route: str) -> str:
    """The URL of one of the protocol's routes: `score`, `batch_score` or `info`; `url` may already end in one."""
    base = re.sub(r"/(batch_score|score|info)?/*\Z", "", url)
    return f"{base}/{route}"


def check_url(url: Any) -> None:
    """Reject a text that is not the URL of a service.

    Raises:
        FormatError: It is not http or https, or has a name, a password, a query or a fragment.
    """
    refuse_unless(isinstance(url, str), "url must be text", url)
    try:
        parts = urlsplit(url)
        host, has_login = parts.hostname, parts.username or parts.password
        parts.port  # noqa: B018 (raises if it is not a number)
    except ValueError as error:
        raise FormatError("url is not an address", found=str(error)) from None
    refuse_unless(
        parts.scheme in {"http", "https"} and host,
        "url must be an http or https address",
        url,
        "https://host/path",
    )
    refuse_unless(
        not has_login,
        "url may not contain a name or password",
        "",
        "headers, with values from the environment",
    )
    refuse_unless(
        not parts.query and not parts.fragment, "url may not have a query: the routes are appended to it", url
    )


def check_header(name: Any, value: Any) -> None:
    """Reject an invalid header, and one that contains a secret in plain text.

    Raises:
        FormatError: It explains how to give a secret.
    """
    refuse_unless(isinstance(name, str) and isinstance(value, str), "headers must be texts", {name: value})
    refuse_unless(
        re.fullmatch(r"[\w!#$%&'*+.^`|~-]+", name, re.ASCII),
        "a header name has ASCII letters, digits and !#$%&'*+.^`|~- only",
        name,
    )
    refuse_unless(value.isprintable() and value.isascii(), f"header {name!r} must be one line of ASCII")
    if SECRET_NAME.search(name) and not value.startswith("$"):
        raise FormatError(
            f"header {name!r} looks like a secret, which no file may contain", expected="$NAME of an environment variable",
            hint=f"set the variable, and write headers={{{name!r}: '$NAME'}}",
        )  # fmt: skip
