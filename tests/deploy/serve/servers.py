"""A real server for tests: uvicorn on a free port, in a thread of this process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

import workbench as wb
from tests.browser.lab import wait_until
from workbench.deploy.serve import RequestLimits, address, bound, create_app, uvicorn_server

EXPECTED = """
async def grade(thread: StringThread) -> float:
    answer = (thread.completion() or "").strip()
    if answer == "loop":
        while True:
            pass
    if answer == "boom":
        raise ValueError("boom")
    if answer == "crash":
        import os
        os._exit(3)
    return 1.0 if answer == str(thread.metadata.get("expected", "4")) else 0.0
"""
"""1.0 for the expected answer; completions that loop, raise and crash."""


def expected(*, timeout: float = 0.5) -> Any:
    """A proved grader of that rule."""
    grader = wb.FunctionGrader.from_source(EXPECTED, name="expected", timeout=timeout)
    assert grader.validate().ok
    return grader


@dataclass
class Served:
    """A server that runs."""

    url: str
    app: Any
    client: httpx.Client
    server: Any = field(repr=False)

    def post(self, path: str, body: Any, **settings: Any) -> httpx.Response:
        """Send JSON, or bytes as they are."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.post(path, content=content, **settings)


@contextlib.contextmanager
def served(suite: Any, **settings: Any) -> Iterator[Served]:
    """Serve a suite; `settings` are those of `create_app`, and of `RequestLimits`."""
    names = RequestLimits.__dataclass_fields__
    limits = RequestLimits(**{name: settings.pop(name) for name in list(settings) if name in names})
    app = create_app(suite, limits=limits, **settings)
    listening, ready = bound("127.0.0.1", 0), threading.Event()
    server = uvicorn_server(app, stop_seconds=5, ready=ready.set)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
    thread.start()
    try:
        assert ready.wait(60)
        with httpx.Client(base_url=address(listening), timeout=60) as client:
            yield Served(address(listening), app, client, server)
    finally:
        server.should_exit = True
        thread.join(60)
        listening.close()
        assert not thread.is_alive()


@contextlib.contextmanager
def command(
    path: Path, *options: str, env: dict[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`workbench serve` as a process of its own, with its address."""
    words = [sys.executable, "-m", "workbench", "serve", str(path), "--port", "0", *options]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})}
    )
    try:
        line = process.stdout.readline()
        assert line.startswith("serving"), process.stderr.read()
        yield process, line.split(" at ")[1].split(";")[0]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def until(true: Callable[[], Any]) -> None:
    """Wait until something holds, ten seconds at most."""
    wait_until(true, what="the server", seconds=10)


def thread_of(answer: str, **metadata: Any) -> dict[str, Any]:
    """A request to /score."""
    turns = [{"role": "user", "content": "What is 2+2?"}, {"role": "assistant", "content": answer}]
    return {"turns": turns, "metadata": metadata, "id": "7"}
