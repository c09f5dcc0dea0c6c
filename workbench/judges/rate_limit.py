"""Requests and tokens per minute: one limiter for all judges of a server in this process.

A sliding window: what was sent in the last 60 seconds. Requests wait in the order in which they came. A request counts at
the tokens it may take, until its reply shows what it took. Each client brings its own limits; the window is the server's.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from itertools import chain

from workbench.judges.budget import CHARACTERS_PER_TOKEN
from workbench.judges.judge_run import check_running, count_as_rate_limited
from workbench.judges.protocol import Usage

WINDOW_SECONDS = 60.0
"""Seconds of the window, as in "per minute"."""


_ANSWER_TOKENS = 1_000
"""Tokens that a reply without a limit may take, before the first one. Workbench default, as for budgets."""


@dataclass(eq=False)
class SentRequest:
    """One request of the window.

    Attributes:
        at: When it was sent, by the window's clock.
        tokens: What it took; before its reply, what it may take.
        characters: Its length.
        counts: Whether it is still in the window.
    """

    at: float
    tokens: float
    characters: int = 0
    counts: bool = True


@dataclass(eq=False)
class _Waiter:
    """A request that waits for its turn, on its own event loop."""

    loop: asyncio.AbstractEventLoop
    woken: asyncio.Event

    def wake(self) -> None:
        with contextlib.suppress(RuntimeError):  # its loop is closed
            self.loop.call_soon_threadsafe(self.woken.set)


@dataclass(frozen=True)
class RateLimit:
    """A client's limits per minute.

    Attributes:
        requests: Maximum number of requests; None for no limit.
        tokens: Maximum tokens of requests and replies together; None for no limit.
    """

    requests: float | None = None
    tokens: float | None = None


class RateWindow:
    """What was sent to a server in the last minute, and the requests that wait for it. Used by any event loop and thread.

    Args:
        clock: Seconds since an arbitrary moment.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._sent: deque[SentRequest] = deque()
        self._tokens = 0.0
        self._longest_answer = 0
        self._tokens_per_character = 0.0
        self._waiters: deque[_Waiter] = deque()
        self._lock = threading.Lock()

    @contextlib.asynccontextmanager
    async def turn(
        self, limit: RateLimit, characters: int, max_answer_tokens: int | None
    ) -> AsyncIterator[SentRequest]:
        """Wait for a request's turn; the block sends it, and calls `settle` with the entry.

        Args:
            limit: The client's.
            characters: Length of the request.
            max_answer_tokens: Maximum tokens of its reply; None for the longest so far.
        """
        request = (limit, characters, max_answer_tokens)
        entry = self._enter(*request)
        if entry is None:
            with count_as_rate_limited():
                entry = await self._wait_for_turn(*request)
        check_running()  # the run may have been stopped while this waited
        yield entry

    def settle(self, entry: SentRequest, usage: Usage | None) -> None:
        """Replace the estimate of a request by what it took; None if that is unknown: then the estimate counts."""
        if usage is None or not usage.tokens:
            return
        with self._lock:
            self._longest_answer = max(self._longest_answer, usage.completion_tokens)
            ratio = usage.prompt_tokens / max(1, entry.characters)
            self._tokens_per_character = max(self._tokens_per_character, ratio)
            if entry.counts:
                self._tokens += usage.tokens - entry.tokens
            entry.tokens = usage.tokens
            self._wake_first()

    def _enter(
        self, limit: RateLimit, characters: int, max_answer_tokens: int | None, waiter: _Waiter | None = None
    ) -> SentRequest | None:
        """Count a request as sent now, if it is the first to wait and fits."""
        with self._lock:
            tokens = self._estimate(characters, max_answer_tokens)
            if (self._waiters and self._waiters[0] is not waiter) or self._seconds_until(limit, tokens) > 0:
                return None
            self._sent.append(entry := SentRequest(self.clock(), tokens, characters))
            self._tokens += tokens
            return entry

    def _estimate(self, characters: int, max_answer_tokens: int | None) -> float:
        """Tokens that a request may take, by the densest request and, without a limit, the longest reply so far."""
        answer_tokens = max_answer_tokens or self._longest_answer or _ANSWER_TOKENS
        return characters * (self._tokens_per_character or 1 / CHARACTERS_PER_TOKEN) + answer_tokens

    async def _wait_for_turn(
        self, limit: RateLimit, characters: int, max_answer_tokens: int | None
    ) -> SentRequest:
        waiter = _Waiter(asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            self._waiters.append(waiter)
        try:
            while (entry := self._enter(limit, characters, max_answer_tokens, waiter)) is None:
                with self._lock:
                    waiter.woken.clear()
                    is_first = self._waiters[0] is waiter
                    tokens = self._estimate(characters, max_answer_tokens)
                    seconds = self._seconds_until(limit, tokens) if is_first else None
                # Until it fits, until a reply took fewer tokens than estimated, or until it is the first.
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await waiter.woken.wait()
            return entry
        finally:
            with self._lock:
                self._waiters.remove(waiter)
                self._wake_first()

    def _wake_first(self) -> None:
        if self._waiters:
            self._waiters[0].wake()

    def _seconds_until(self, limit: RateLimit, tokens: float) -> float:
        """Seconds until a request fits; 0 for now. One that alone exceeds the limit fits into an empty window."""
        now = self.clock()
        while self._sent and self._sent[0].at <= now - WINDOW_SECONDS:
            left = self._sent.popleft()
            left.counts = False
            self._tokens -= left.tokens
        n, total, at = len(self._sent), self._tokens, now
        for sent in chain(self._sent, [None]):
            has_requests = limit.requests is None or n + 1 <= max(1.0, limit.requests)
            if has_requests and (limit.tokens is None or n == 0 or total + tokens <= limit.tokens):
                break
            assert sent is not None  # an empty window has room
            n, total, at = n - 1, total - sent.tokens, sent.at + WINDOW_SECONDS
        return max(0.0, at - now)


_windows: dict[str, RateWindow] = {}


def rate_window(address: str) -> RateWindow:
    """The window of a server, one for all clients of this process."""
    return _windows.setdefault(address.rstrip("/"), RateWindow())
