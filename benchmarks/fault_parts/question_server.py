"""A judge's server that records when each row was requested, and when its reply was sent."""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from benchmarks.judge_server import ANSWER

_ROW = re.compile(rb"<row (\d+)>")


@dataclass
class QuestionServer:
    """Counts requests by row.

    Attributes:
        slowest: Maximum seconds of a reply; each takes a random share of it, at least a fifth, drawn by `chance`.
        asked: Times at which each row was requested, by `time.monotonic`.
        answered: Times at which its replies were sent, in the order of `asked`.
        under_way: Requests that have no reply yet.
        on_answer: Called with the number of replies sent so far.
    """

    slowest: float
    chance: random.Random
    asked: defaultdict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    answered: defaultdict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    under_way: int = 0
    on_answer: Callable[[int], None] = lambda _: None
    sent: int = 0
    address: str = ""

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Cancelled too: streams of Python 3.11 print a traceback for each connection that ends so.
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                found = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
                body = await reader.readexactly(int(found[1]) if found else 0)
                await self._answer(body, reader, writer)
        writer.close()

    async def _answer(self, body: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found = _ROW.search(body)
        row = int(found[1]) if found else -1
        self.asked[row].append(time.monotonic())
        self.under_way += 1
        try:
            await asyncio.sleep(self.slowest * (0.2 + 0.8 * self.chance.random()))
        finally:
            self.under_way -= 1
        if reader.at_eof() or writer.is_closing():
            return  # its process was killed: no reply was sent
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
            % (len(ANSWER), ANSWER)
        )
        self.answered[row].append(time.monotonic())
        self.sent += 1
        self.on_answer(self.sent)


@contextlib.contextmanager
def serve(slowest: float, seed: int) -> Iterator[QuestionServer]:
    """The server on a separate thread, for the block."""
    server, loop = QuestionServer(slowest, random.Random(seed)), asyncio.new_event_loop()
    running = loop.run_until_complete(asyncio.start_server(server._talk, "127.0.0.1", 0, backlog=1024))
    server.address = f"http://127.0.0.1:{running.sockets[0].getsockname()[1]}/v1"
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(_end(running), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _end(running: asyncio.Server) -> None:
    running.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
