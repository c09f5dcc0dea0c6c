"""A server process: a socket, uvicorn on it, signals that end it in order."""

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

from workbench.errors import WorkbenchError
from workbench.serve.app import require_extra
from workbench.serve.connections import protocol

if TYPE_CHECKING:
    from starlette.applications import Starlette

__all__ = ["address", "bound", "serve", "uvicorn_server"]

_SWITCH_SECONDS = 0.0001
"""How long a thread of Python keeps the others waiting. The usual 5 ms would go on top of every answer that the threads of
the server and of the sandbox hand to each other, and of each step of it while a large body is read on another thread."""
_COLLECT_SECONDS, _COLLECT_LATEST_SECONDS = 30.0, 300.0
"""How often unreachable objects of all ages are looked for: when no large request is held, or at the latest."""
_NEVER = 1_000_000
"""Threshold at which Python does so by itself: in the middle of a large body it would take 0.2 s, again and again."""
_BACKLOG = 2048
"""Connections that wait to be taken."""
_OTHER_DESCRIPTORS = 256
"""Descriptors for everything but connections: workers take a handful each."""
_LEAST_DESCRIPTORS = _OTHER_DESCRIPTORS + 64


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Args:
        host: A name or an address.
        port: 0 for any that is free.

    Raises:
        WorkbenchError: Another program has it, or there is no such host.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        return _listening(family, host, port)
    except (OSError, OverflowError) as error:
        raise WorkbenchError(
            f"the server cannot listen on {host}:{port}", found=str(error), hint="choose another --port"
        ) from None


def _listening(family: int, host: str, port: int) -> socket.socket:
    # TCP by name: else asyncio does not switch off the delay that puts 40 ms between the head of an answer and its body.
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
    """How many descriptors this process may have."""
    try:
        import resource
    except ImportError:  # Windows, where there is no such limit
        return sys.maxsize
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if soft == resource.RLIM_INFINITY else max(soft, _LEAST_DESCRIPTORS)


def _raise_descriptors(wanted: int) -> None:
    """Let this process have more descriptors, as far as it may: often there are 1,024, and a connection takes one."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        if soft != resource.RLIM_INFINITY and soft < most:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _collect(last: float, *, is_quiet: bool) -> float:
    """Look for unreachable objects, where Python does not; returns when that was done last."""
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
    """Serve until SIGTERM or SIGINT: requests under way are answered, then the workers end; a second signal ends at once.

    Args:
        app: As `create_app` makes it.
        listening: As `bound` makes it.
        stop_seconds: How long requests under way may take after the signal.
        ready: Called when requests are answered.

    Raises:
        WorkbenchError: The workers did not start.
    """
    require_extra()
    _raise_descriptors(app.state.connections.limits.max_connections + _OTHER_DESCRIPTORS)
    before, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.set_threshold(*thresholds[:2], _NEVER)
    # What is loaded by now stays: to look through all of it once more takes 50 ms, in the middle of somebody's request.
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
        """uvicorn's, that tells when it is ready, and that any second signal ends at once."""

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
            # Not remembered as uvicorn does, which would raise it once more at the end: this is an end in order.
            self.force_exit = self.should_exit
            self.should_exit = True

    connections = app.state.connections
    connections.most = min(connections.most, _descriptors() - _OTHER_DESCRIPTORS)
    config = uvicorn.Config(
        app, http=protocol(connections), log_config=None, access_log=False, lifespan="on", ws="none", server_header=False,
        backlog=_BACKLOG, timeout_graceful_shutdown=max(1, round(stop_seconds)),
    )  # fmt: skip
    return Server(config)
