"""A server process: a socket, uvicorn on it, and signals that stop it in order."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import socket
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from workbench.core.errors import WorkbenchError
from workbench.deploy.serve.app import require_extra
from workbench.deploy.serve.connections import protocol

if TYPE_CHECKING:
    from starlette.applications import Starlette


_SWITCH_SECONDS = 0.0001
"""Seconds for which a Python thread blocks the others. The usual 5 ms would delay every transfer between the threads of the
server and of the sandbox, and each step while a large body is parsed on another thread."""
_COLLECT_SECONDS, _COLLECT_LATEST_SECONDS = 30.0, 300.0
"""Seconds between two garbage collections of all generations: when no large request is in memory, and the maximum."""
_NEVER = 1_000_000
"""Python's own collection threshold, too high to be reached: a collection in the middle of a large body takes 0.2 s."""
_BACKLOG = 2048
"""Maximum connections that wait to be accepted."""
_OTHER_DESCRIPTORS = 256
"""Descriptors for everything except connections: workers take a handful each."""
_MIN_DESCRIPTORS = _OTHER_DESCRIPTORS + 64


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Args:
        host: A name or an address.
        port: 0 for any that is free.

    Raises:
        WorkbenchError: Another program uses it, or there is no such host.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        return _listening(family, host, port)
    except (OSError, OverflowError) as error:
        raise WorkbenchError(
            f"the server cannot listen on {host}:{port}", found=str(error), hint="choose another --port"
        ) from None


def _listening(family: int, host: str, port: int) -> socket.socket:
    # TCP by name: else asyncio does not switch off the delay that puts 40 ms between the head of a response and its body.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(_BACKLOG)
    except BaseException:
        listening.close()
        raise
    return listening


def address(listening: socket.socket) -> str:
    """The address of a socket, as clients write it."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _descriptors() -> int:
    """Maximum number of descriptors of this process."""
    try:
        import resource
    except ImportError:  # Windows, which has no such limit
        return sys.maxsize
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if soft == resource.RLIM_INFINITY else max(soft, _MIN_DESCRIPTORS)


def _raise_descriptors(wanted: int) -> None:
    """Raise this process's descriptor limit as far as allowed: often it is 1,024, and a connection takes one."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        if soft != resource.RLIM_INFINITY and soft < most:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _collect(last: float, *, is_quiet: bool) -> float:
    """Collect garbage when Python does not; returns when that was done last."""
    now = time.monotonic()
    if gc.get_threshold()[2] != _NEVER or now - last < (
        _COLLECT_SECONDS if is_quiet else _COLLECT_LATEST_SECONDS
    ):
        return last
    gc.collect()
    return now


def serve(
    app: Starlette,
    listening: socket.socket,
    *,
    stop_seconds: float = 30.0,
    ready: Callable[[], object] = lambda: None,
) -> None:
    """Serve until SIGTERM or SIGINT: requests in flight are completed, then the workers end; a second signal ends immediately.

    Args:
        app: From `create_app`.
        listening: From `bound`.
        stop_seconds: Seconds that requests in flight may take after the signal.
        ready: Called when the server accepts requests.

    Raises:
        WorkbenchError: The workers did not start.
    """
    require_extra()
    _raise_descriptors(app.state.connections.limits.max_connections + _OTHER_DESCRIPTORS)
    before, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.set_threshold(*thresholds[:2], _NEVER)
    # Objects loaded so far stay: to scan all of them again takes 50 ms, in the middle of a request.
    gc.collect()
    gc.freeze()
    try:
        server = uvicorn_server(app, stop_seconds=stop_seconds, ready=ready)
        with contextlib.closing(listening):
            asyncio.run(server.serve(sockets=[listening]))
        if not server.started:
            raise WorkbenchError("the server did not start", found="its workers did not; see above")
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)
        sys.setswitchinterval(before)


def uvicorn_server(
    app: Starlette, *, stop_seconds: float = 30.0, ready: Callable[[], object] = lambda: None
) -> Any:
    """A `uvicorn.Server` for an application; see `serve`."""
    import uvicorn

    class Server(uvicorn.Server):
        """uvicorn's server, which also reports when it is ready; any second signal ends it immediately."""

        collected = time.monotonic()

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                ready()

        async def on_tick(self, counter: int) -> bool:
            self.collected = _collect(self.collected, is_quiet=not app.state.admission.values)
            return await super().on_tick(counter)

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            await super().shutdown(sockets)
            if self.force_exit:  # which uvicorn leaves out then: the workers would end with a traceback
                await self.lifespan.shutdown()

        def handle_exit(self, sig: int, frame: Any) -> None:  # noqa: ARG002 (uvicorn's)
            # Not remembered as uvicorn does, which would raise it again at the end: this is an orderly end.
            self.force_exit = self.should_exit
            self.should_exit = True

    connections = app.state.connections
    connections.most = min(connections.most, _descriptors() - _OTHER_DESCRIPTORS)
    config = uvicorn.Config(
        app, http=protocol(connections), log_config=None, access_log=False, lifespan="on", ws="none", server_header=False,
        backlog=_BACKLOG, timeout_graceful_shutdown=max(1, round(stop_seconds)),
    )  # fmt: skip
    return Server(config)
