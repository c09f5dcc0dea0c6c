"""Calls of many coroutines, executed in batches on another thread."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

__all__ = ["Batches"]

Item = TypeVar("Item")
Result = TypeVar("Result")
Work = Callable[[Sequence[Item]], Sequence[Result | Exception]]


class Batches(Generic[Item, Result]):
    """Collects the items that coroutines submit, and processes them in batches.

    Items submitted within one turn of the event loop make one batch; items that arrive while a batch is in progress make
    the next, which does not wait for the loop. Each event loop has separate batches, dropped with it.

    Args:
        work: Makes a result of each item, in order; runs on another thread. An exception among the results is
            raised to the submitter of that item; one that it raises, to all of the batch.
        submit: Runs a function there.
        at_once: Do not wait for the end of the loop's turn, which may be long if many replies arrived together: process
            the available items as soon as a thread is free, in more and smaller batches.
    """

    def __init__(
        self, work: Work[Item, Result], submit: Callable[..., Future[Any]], *, at_once: bool = False
    ) -> None:
        self._work, self._submit, self._at_once = work, submit, at_once
        self._queues: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue[Item, Result]]
        self._queues = weakref.WeakKeyDictionary()

    async def add(self, item: Item) -> Result:
        """The result of an item. A caller that is cancelled does not stop the work."""
        loop = asyncio.get_running_loop()
        queue = self._queues.get(loop)
        if queue is None:
            queue = self._queues[loop] = _Queue(self._work, self._submit, at_once=self._at_once)
        return await queue.add(loop, item)


class _Queue(Generic[Item, Result]):
    """The batches of one event loop. It has no reference to the loop, which is its weak key."""

    def __init__(
        self, work: Work[Item, Result], submit: Callable[..., Future[Any]], *, at_once: bool
    ) -> None:
        self._work, self._submit, self._at_once = work, submit, at_once
        self._lock = threading.Lock()  # over the three below, which the loop and one thread share
        self._items: list[Item] = []
        self._waiting: list[asyncio.Future[Result]] = []
        self._busy = False

    def add(self, loop: asyncio.AbstractEventLoop, item: Item) -> asyncio.Future[Result]:
        future: asyncio.Future[Result] = loop.create_future()
        with self._lock:
            self._items.append(item)
            self._waiting.append(future)
            is_first, self._busy = not self._busy, True
        if is_first and self._at_once:
            self._start(loop)
        elif is_first:
            # Items that other coroutines submit during this turn of the loop join the batch.
            loop.call_soon(self._start, loop)
        return future

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            self._submit(self._run, loop)
        except Exception as error:  # noqa: BLE001 (passed to the waiting coroutines)
            _, waiting = self._take()
            with self._lock:
                self._busy = False
            _deliver(waiting, error)

    def _take(self) -> tuple[list[Item], list[asyncio.Future[Result]]]:
        """The items submitted meanwhile; the queue is no longer busy if there are none."""
        with self._lock:
            items, waiting = self._items, self._waiting
            self._items, self._waiting, self._busy = [], [], bool(items)
        return items, waiting

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        """Process batch after batch until there is none left."""
        while True:
            items, waiting = self._take()
            if not items:
                return
            outcome: Sequence[Result | Exception] | BaseException
            try:
                outcome = self._work(items)
            except BaseException as error:  # noqa: BLE001 (passed to the waiting coroutines)
                outcome = error
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile, so nothing waits
                loop.call_soon_threadsafe(_deliver, waiting, outcome)


def _deliver(
    waiting: Sequence[asyncio.Future[Result]], outcome: Sequence[Result | Exception] | BaseException
) -> None:
    results = [outcome] * len(waiting) if isinstance(outcome, BaseException) else outcome
    for future, result in zip(waiting, results, strict=True):
        if future.done():
            continue  # its caller was cancelled
        if isinstance(result, BaseException):
            future.set_exception(copy.copy(result))  # one traceback each
        else:
            future.set_result(result)
