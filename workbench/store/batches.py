"""Calls of many coroutines, done together on another thread."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

__all__ = ["Batches"]

Item = TypeVar("Item")
Result = TypeVar("Result")
Work = Callable[[Sequence[Item]], Sequence[Result | Exception]]


class Batches(Generic[Item, Result]):
    """Gathers the items that coroutines hand in, and works on them a batch at a time.

    What is handed in within one turn of the event loop makes one batch; what comes while a batch is at work
    makes the next. Each event loop has batches of its own, forgotten with it.

    Args:
        work: Makes a result of each item, in order; runs on another thread. An exception among the results is
            raised where that item was handed in, one that is raised wherever any of the batch was.
        submit: Runs a function there.
    """

    def __init__(self, work: Work[Item, Result], submit: Callable[..., Future[Any]]) -> None:
        self._work, self._submit = work, submit
        self._queues: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue[Item, Result]]
        self._queues = weakref.WeakKeyDictionary()

    async def add(self, item: Item) -> Result:
        """The result of an item. A caller that is cancelled does not stop the work."""
        loop = asyncio.get_running_loop()
        queue = self._queues.get(loop)
        if queue is None:
            queue = self._queues[loop] = _Queue(self._work, self._submit)
        return await queue.add(loop, item)


class _Queue(Generic[Item, Result]):
    """The batches of one event loop. It does not hold the loop, which is the key it is found by."""

    def __init__(self, work: Work[Item, Result], submit: Callable[..., Future[Any]]) -> None:
        self._work, self._submit = work, submit
        self._items: list[Item] = []
        self._waiting: list[asyncio.Future[Result]] = []
        self._busy = False

    def add(self, loop: asyncio.AbstractEventLoop, item: Item) -> asyncio.Future[Result]:
        future: asyncio.Future[Result] = loop.create_future()
        self._items.append(item)
        self._waiting.append(future)
        if len(self._items) == 1 and not self._busy:
            # Not at once: what other coroutines hand in during this turn of the loop joins the batch.
            loop.call_soon(self._start, loop)
        return future

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        items, waiting = self._items, self._waiting
        self._items, self._waiting, self._busy = [], [], True
        try:
            self._submit(self._run, loop, items, waiting)
        except Exception as error:  # noqa: BLE001 (handed to those who wait)
            self._deliver(loop, waiting, error)

    def _run(
        self,
        loop: asyncio.AbstractEventLoop,
        items: Sequence[Item],
        waiting: Sequence[asyncio.Future[Result]],
    ) -> None:
        outcome: Sequence[Result | Exception] | BaseException
        try:
            outcome = self._work(items)
        except BaseException as error:  # noqa: BLE001 (handed to those who wait)
            outcome = error
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits
            loop.call_soon_threadsafe(self._deliver, loop, waiting, outcome)

    def _deliver(
        self,
        loop: asyncio.AbstractEventLoop,
        waiting: Sequence[asyncio.Future[Result]],
        outcome: Sequence[Result | Exception] | BaseException,
    ) -> None:
        self._busy = False
        results = [outcome] * len(waiting) if isinstance(outcome, BaseException) else outcome
        for future, result in zip(waiting, results, strict=True):
            if future.done():
                continue  # its caller was cancelled
            if isinstance(result, BaseException):
                future.set_exception(copy.copy(result))  # one traceback each
            else:
                future.set_result(result)
        if self._items:
            self._start(loop)
