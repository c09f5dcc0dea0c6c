"""What the judges of one run share: the budget, the store of answers, and the count of what was spent."""

from __future__ import annotations

import asyncio
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.errors import WorkbenchError
from workbench.judges.asking.booking import Booking, counted, priced, under_way
from workbench.judges.asking.budget import Spending, check_priced
from workbench.judges.asking.prices import old_prices
from workbench.judges.asking.replies import ReplyStore, content_key
from workbench.judges.asking.requests import asking_of
from workbench.judges.asking.servers import Server
from workbench.judges.asking.slots import Slots
from workbench.judges.protocol import (
    ChatClient,
    JudgeServerError,
    Messages,
    NotReadError,
    Reply,
    StoppedError,
    Usage,
)
from workbench.judges.redaction import hide

__all__ = ["JudgeRun", "ask", "check_running", "current", "server_of", "sharing", "waiting_for_room"]

_AT_ONCE = 64
"""Answers bought at once of a client that does not say how many questions it has under way."""


@dataclass(frozen=True)
class _New:
    """An answer that nobody has read yet."""

    question: str
    take: int
    key: str
    model: str
    asked: asyncio.Future[Reply | None]
    slots: Slots


@dataclass
class JudgeRun:
    """What the judges of one run share.

    An answer is kept once its judge could read it: what could not be read is asked for again in the next run.

    Attributes:
        spending: What was spent, and how much may be.
        replies: Where answers are kept; None for nowhere.
        stopped: Whether the run is to stop: then nothing more is asked.
        waiting: Questions that wait because the server is full, or went away.
        servers: What the run knows of each server, by its address.
        not_kept: Why answers could not be kept, one text each. They count all the same, since they were paid for; but
            nothing more is asked, since it would have to be paid again.
    """

    spending: Spending = field(default_factory=Spending)
    replies: ReplyStore | None = None
    stopped: Callable[[], bool] = lambda: False
    not_kept: list[str] = field(default_factory=list)
    waiting: int = 0
    servers: dict[str, Server] = field(default_factory=dict)
    _under_way: dict[str, asyncio.Future[Reply | None]] = field(default_factory=dict)
    _unread: dict[int, _New] = field(default_factory=dict)
    _contents: dict[tuple[int, str], tuple[ChatClient, str | None]] = field(default_factory=dict)
    _takes: Counter[str] = field(default_factory=Counter)
    _free: dict[str, list[int]] = field(default_factory=dict)
    _slots: dict[int, Slots] = field(default_factory=dict)
    _listed: set[str] = field(default_factory=set)

    async def ask(self, client: ChatClient, messages: Messages, settings: dict[str, Any]) -> Reply:
        """An answer, out of the store if it is there; two rows that ask the same at once ask once."""
        content = None if self.replies is None else self._content(client, str(settings.get("model")))
        if content is None:
            return await self._paid(client, messages, settings)
        self._check_store()
        question = content_key(content, messages, settings)
        # A model that may vary is asked for every row, equal rows included.
        take = 0 if settings.get("temperature") == 0 else self._take(question)
        key = content_key(f"{content} take {take}", messages, settings) if take else question
        while (asked := self._under_way.get(key)) is not None:
            if (reply := await asyncio.shield(asked)) is not None:
                return self._kept(reply)
        asked = self._under_way[key] = asyncio.get_running_loop().create_future()
        try:
            reply, slots = await self._first(key, client, messages, settings)
        except BaseException:
            self._answered(key, None)  # whoever waits asks for itself
            self._give_back(question, take)
            raise
        if slots is not None:
            new = _New(question, take, key, str(settings.get("model")), asked, slots)
            self._unread[id(reply)] = new
        return reply

    def _check_store(self) -> None:
        if self.not_kept:
            raise NotReadError(
                "the store could not be written, so nothing more is asked", found=self.not_kept[0]
            )

    def _content(self, client: ChatClient, model: str) -> str | None:
        """Who is asked, for the key of a question; None for a client that does not say, whose answers are not kept."""
        known = self._contents.get((id(client), model))
        if known is None:
            content = getattr(client, "content", None)
            known = self._contents[id(client), model] = (client, None if content is None else content(model))
        return known[1]

    async def _first(
        self, key: str, client: ChatClient, messages: Messages, settings: dict[str, Any]
    ) -> tuple[Reply, Slots | None]:
        """The kept answer, or a new one and the places it has to be kept in."""
        assert self.replies is not None
        try:
            kept = await self.replies.get(key)
        except WorkbenchError as error:
            raise NotReadError(
                "the store could not be read, so nothing was asked", found=str(error)
            ) from None
        if kept is not None:
            self._answered(key, kept)
            return self._kept(kept), None
        slots = self._slots.setdefault(id(client), Slots(int(getattr(client, "concurrency", 0)) or _AT_ONCE))
        await slots.enter()
        try:
            self._check_store()  # it may have been lost while this waited
            return await self._paid(client, messages, settings), slots
        finally:
            slots.leave()

    def _take(self, question: str) -> int:
        """Which answer to a question that may be answered differently: the next, or one that never came."""
        if free := self._free.get(question):
            return free.pop(0)
        take, self._takes[question] = self._takes[question], self._takes[question] + 1
        return take

    def _give_back(self, question: str, take: int) -> None:
        """The answer never came: the row may ask for it again, in this run or the next."""
        if question in self._takes:
            insort(self._free.setdefault(question, []), take)

    def _answered(self, key: str, reply: Reply | None) -> None:
        asked = self._under_way.pop(key)
        if not asked.done():
            asked.set_result(reply)

    async def keep(self, replies: list[Reply]) -> None:
        """Put answers that were read into the store; returns when they would survive the process."""
        for reply in replies:
            if (new := self._unread.pop(id(reply), None)) is not None:
                assert self.replies is not None
                try:
                    with new.slots.keeping():
                        await self.replies.put(new.key, reply, model=new.model)
                except WorkbenchError as error:
                    self.not_kept.append(str(error))
                finally:
                    self._answered(new.key, reply)

    def drop(self, replies: list[Reply]) -> None:
        """Forget answers that were not kept."""
        for reply in replies:
            if (new := self._unread.pop(id(reply), None)) is not None:
                self._answered(new.key, None)
                self._give_back(new.question, new.take)

    def _kept(self, reply: Reply) -> Reply:
        self.spending.kept += 1
        raw = {name: value for name, value in reply.raw.items() if name != "seconds"}
        return Reply(reply.text, Usage(cost=0.0), {**raw, "kept": True})

    async def _paid(self, client: ChatClient, messages: Messages, settings: dict[str, Any]) -> Reply:
        budget = self.spending.budget
        asking = asking_of(client, messages, settings, measured=budget is not None and budget.measured)
        if budget is not None:
            check_priced(budget, asking.model)
        booking = Booking(self.spending, asking, await self.spending.reserve(asking))
        token = under_way.set(booking)
        try:
            self.check_running()
            reply = await _complete(client, messages, settings)
            usage = counted(reply.usage)
        except BaseException as error:
            booking.fail(error)
            raise
        finally:
            under_way.reset(token)
        booking.settle(usage, reply.text)
        if asking.price is not None and (usage is None or usage.cost is None):
            self._listed.add(asking.model)
        return replace(reply, usage=usage and priced(booking.total(usage), asking.model))

    def notes(self) -> Iterator[str]:
        """What a person should read at the end: of the budget, of old prices, and of what servers did not take."""
        yield from self.spending.notes()
        if told := old_prices(self._listed):
            yield told
        for server in self.servers.values():
            yield from server.notes()

    def check_running(self) -> None:
        """Raise if the run is to stop.

        Raises:
            StoppedError: It is.
        """
        if self.stopped():
            raise StoppedError("not graded: the run was stopped")


async def _complete(client: ChatClient, messages: Messages, settings: dict[str, Any]) -> Reply:
    try:
        return await client.complete(messages, **settings)
    except WorkbenchError:
        raise
    except Exception as error:  # noqa: BLE001 (a client may be anybody's)
        found = hide(f"{type(error).__name__}: {error}", [])[:300]
        raise JudgeServerError("the judge's client failed", found=found) from None


_run: ContextVar[JudgeRun | None] = ContextVar("judges", default=None)


def current() -> JudgeRun | None:
    """The run's run; None outside a run."""
    return _run.get()


def check_running() -> None:
    """Raise if this task's run is to stop. See `JudgeRun.check_running`."""
    if (run := _run.get()) is not None:
        run.check_running()


def server_of(where: str) -> Server:
    """What this task's run knows of a server; outside a run nothing."""
    run = _run.get()
    return Server(where) if run is None else run.servers.setdefault(where, Server(where))


@contextmanager
def waiting_for_room() -> Iterator[None]:
    """Count this task's question among those that wait because the server is full, or went away."""
    run = _run.get()
    if run is None:
        yield
        return
    run.waiting += 1
    try:
        yield
    finally:
        run.waiting -= 1


@contextmanager
def sharing(run: JudgeRun) -> Iterator[JudgeRun]:
    """Make a run that of all judges asked within the block, in this task and those it starts."""
    token = _run.set(run)
    try:
        yield run
    finally:
        _run.reset(token)


async def ask(client: ChatClient, messages: Messages, settings: dict[str, Any]) -> Reply:
    """One answer, over the run's run where there is one."""
    return await (_run.get() or JudgeRun()).ask(client, messages, settings)
