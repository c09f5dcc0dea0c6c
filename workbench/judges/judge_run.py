"""`JudgeRun`: what the judges of one run share (budget, store of replies, state of each server), and when it stops sending."""

from __future__ import annotations

import asyncio
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from workbench.core.errors import WorkbenchError
from workbench.core.grade import ErrorKind, Grade, GradeError
from workbench.core.user_functions import attempt_async
from workbench.judges.budget import check_priced, pending_question
from workbench.judges.cache import (
    BatchClient,
    BatchQueue,
    ClaimingReplyStore,
    ForgettingReplyStore,
    PendingError,
    ReplyStore,
    UnstoredAnswerLimit,
    content_key,
)
from workbench.judges.prices import old_prices_note
from workbench.judges.protocol import (
    ChatClient,
    JudgeServerError,
    Messages,
    Reply,
    ReplyStoreError,
    StoppedError,
    Usage,
)
from workbench.judges.response import hide_secrets, keys_in_use
from workbench.judges.server import ServerState
from workbench.judges.spending import QuestionBill, Spending, plausible_usage, with_cost

UNRECOVERABLE = frozenset({ErrorKind.JUDGE_KEY, ErrorKind.JUDGE_UNREACHABLE})
"""Errors that every later row would have too."""
_ROWS_TO_STOP = 3
"""Consecutive rows with such an error after which a run stops sending. Workbench limit: a single one may be an accident."""
NOT_ASKED = f"\n  not sent: the {_ROWS_TO_STOP} preceding rows failed with this error"
"""End of the message of rows that were not sent."""


class CircuitBreaker:
    """Called with each grade of a run; decides when to stop sending requests.

    Args:
        budget_spent: Whether the whole budget is exhausted: a request larger than the remaining budget fails only
            its row.
    """

    def __init__(self, budget_spent: Callable[[], bool] = lambda: True) -> None:
        self._budget_spent = budget_spent
        self._failures_in_a_row = 0

    def __call__(self, grade: Grade) -> GradeError | None:
        """The error of all remaining rows; None to continue."""
        error = grade.error
        if error is not None and (
            error.kind is ErrorKind.STORE or (error.kind is ErrorKind.BUDGET and self._budget_spent())
        ):
            return error
        unrecoverable = error is not None and error.kind in UNRECOVERABLE
        self._failures_in_a_row = self._failures_in_a_row + 1 if unrecoverable else 0
        if error is None or self._failures_in_a_row < _ROWS_TO_STOP:
            return None
        return GradeError(error.kind, f"{error.message}{NOT_ASKED}")


_DEFAULT_CONCURRENCY = 64
"""Concurrent requests to a client without `concurrency`: as many as `OpenAIClient` sends by default."""

_CLAIM_INTERVAL = 0.25
"""Seconds between two checks of a request that another process sends. Workbench default: short compared with a reply."""


@dataclass(frozen=True)
class _Unconfirmed:
    """A new reply that its judge has not parsed yet, so that it is unknown whether to store it."""

    question_key: str
    repeat: int
    answer_key: str
    model: str
    answered: asyncio.Future[Reply | None]
    unstored_limit: UnstoredAnswerLimit


@dataclass
class JudgeRun:
    """What the judges of one run share. Used on one event loop.

    A reply is stored after its judge has parsed it; a reply that could not be parsed is requested again in the next run.

    Attributes:
        spending: The amount spent, and its limit.
        replies: The store of replies; None for no store.
        queue: Collects the requests for a batch; None to send them now.
        stopped: Whether the run is to stop: then no more requests are sent.
        repeat: Which grade of every row is requested, 0 for the first; replies to one repeat are not used for another.
        waiting: Number of requests that wait because their server is overloaded or unreachable.
        rate_limited: Number of requests that wait because of a client's requests or tokens per minute.
        servers: The state of each server, by its address.
        store_errors: Why replies could not be stored, one text each. Their grades count, since they were paid for; but
            no more requests are sent, since the next run would have to pay for them again.
    """

    spending: Spending = field(default_factory=Spending)
    replies: ReplyStore | None = None
    queue: BatchQueue | None = None
    stopped: Callable[[], bool] = lambda: False
    repeat: int = 0
    store_errors: list[str] = field(default_factory=list)
    waiting: int = 0
    rate_limited: int = 0
    servers: dict[str, ServerState] = field(default_factory=dict)
    _in_flight: dict[str, asyncio.Future[Reply | None]] = field(default_factory=dict)
    _unconfirmed: dict[int, _Unconfirmed] = field(default_factory=dict)
    _client_contents: dict[tuple[int, str], tuple[ChatClient, str | None]] = field(default_factory=dict)
    _repeats: Counter[str] = field(default_factory=Counter)
    _returned_repeats: dict[str, list[int]] = field(default_factory=dict)
    _unstored_limits: dict[int, UnstoredAnswerLimit] = field(default_factory=dict)
    _models_priced_by_table: set[str] = field(default_factory=set)
    _from_batch: dict[int, tuple[Reply, str]] = field(default_factory=dict)

    async def ask(self, client: ChatClient, messages: Messages, settings: dict[str, Any]) -> Reply:
        """A reply, from the store if available; two rows with equal concurrent requests send one."""
        content = None if self.replies is None else self._client_content(client, str(settings.get("model")))
        if content is None:
            return await self._ask_client(client, messages, settings)
        self._check_store()
        # The first repeat has the key of a run without repeats, so that each finds what the other stored.
        content = f"{content} repeat {self.repeat}" if self.repeat else content
        question_key = content_key(content, messages, settings)
        # Above temperature 0 equal rows get separate replies, so the key contains the index of the equal request.
        repeat = 0 if settings.get("temperature") == 0 else self._next_repeat(question_key)
        key = content_key(f"{content} take {repeat}", messages, settings) if repeat else question_key
        while (other := self._in_flight.get(key)) is not None:
            # Shielded: if this row is cancelled, the sender continues.
            if (reply := await asyncio.shield(other)) is not None:
                return self._from_store(reply)
        answered = self._in_flight[key] = asyncio.get_running_loop().create_future()
        with ExitStack() as undo:  # after an error, and after a cancellation
            undo.callback(self._return_repeat, question_key, repeat)
            undo.callback(self._answer_waiters, key, None)  # they send their requests themselves
            reply, unstored_limit = await self._stored_or_new(key, client, messages, settings)
            undo.pop_all()
        if unstored_limit is not None:
            # By identity: equal replies to different requests are stored under different keys.
            self._unconfirmed[id(reply)] = _Unconfirmed(
                question_key, repeat, key, str(settings.get("model")), answered, unstored_limit
            )
        return reply

    def _check_store(self) -> None:
        if self.store_errors:
            raise ReplyStoreError(
                "the store could not be written, so no more requests are sent", found=self.store_errors[0]
            )

    def _client_content(self, client: ChatClient, model: str) -> str | None:
        """What a reply of this client depends on; None if the client has no `identity`: its replies are not stored."""
        cached = self._client_contents.get((id(client), model))
        if cached is None:
            content = getattr(client, "content", None)
            # The client too, so that its id is not given to another one.
            cached = (client, None if content is None else content(model))
            self._client_contents[id(client), model] = cached
        return cached[1]

    async def _stored_or_new(
        self, key: str, client: ChatClient, messages: Messages, settings: dict[str, Any]
    ) -> tuple[Reply, UnstoredAnswerLimit | None]:
        """The stored reply and None; or a new one, and the limit it counts against until it is stored."""
        concurrency = int(getattr(client, "concurrency", 0)) or _DEFAULT_CONCURRENCY
        unstored_limit = self._unstored_limits.setdefault(id(client), UnstoredAnswerLimit(concurrency))
        while (stored := await self._stored(key)) is None:
            if self.queue is not None and isinstance(client, BatchClient):
                self._put_into_queue(self.queue, key, client, messages, settings)
            await unstored_limit.acquire()
            try:
                self._check_store()  # again: it may have failed while this request waited
                # The slot is freed with the reply, and taken again in `confirm`: between the two a judge of
                # several steps sends its next request, which must not wait for its earlier one.
                if await self._claimed(key):
                    with ExitStack() as undo:
                        undo.callback(self._release, key)
                        reply = await self._ask_client(client, messages, settings)
                        undo.pop_all()
                    return reply, unstored_limit
            finally:
                unstored_limit.release()
            self.check_running()
            await asyncio.sleep(_CLAIM_INTERVAL)
        self._answer_waiters(key, stored)
        reply = self._from_store(stored)
        if stored.raw.get("batch"):
            # Stored before a judge could parse it. The reply too, so that its id is not given to another one.
            self._from_batch[id(reply)] = reply, key
        return reply, None

    def _put_into_queue(
        self, queue: BatchQueue, key: str, client: Any, messages: Messages, settings: dict[str, Any]
    ) -> NoReturn:
        """Put a request into the batch of this run, and fail its row.

        Raises:
            PendingError: It is in this batch, or in an earlier one.
            BudgetError: It does not fit into the budget.
        """
        if queue.is_new(key):
            question = pending_question(client, messages, settings, with_size=self.spending.limits_cost)
            if self.spending.budget is not None:
                check_priced(self.spending.budget, question.model)
            self.spending.commit(question)
            queue.add(key, client, messages, settings)
        raise PendingError("not graded yet: its request is in a batch")

    async def _stored(self, key: str) -> Reply | None:
        assert self.replies is not None
        try:
            return await self.replies.get(key)
        except WorkbenchError as error:
            raise ReplyStoreError(
                "the store could not be read, so the request was not sent", found=str(error)
            ) from None

    async def _claimed(self, key: str) -> bool:
        """Whether to send: False if another process is sending the same request."""
        if not isinstance(self.replies, ClaimingReplyStore):
            return True
        try:
            return await self.replies.claim(key)
        except WorkbenchError as error:
            raise ReplyStoreError(
                "the store could not be written, so the request was not sent", found=str(error)
            ) from None

    def _release(self, key: str) -> None:
        if isinstance(self.replies, ClaimingReplyStore):
            self.replies.release(key)

    def _next_repeat(self, question_key: str) -> int:
        """The number of the next repeat of a request: the lowest that was returned, else a new one."""
        if returned := self._returned_repeats.get(question_key):
            return returned.pop(0)
        repeat = self._repeats[question_key]
        self._repeats[question_key] += 1
        return repeat

    def _return_repeat(self, question_key: str, repeat: int) -> None:
        """Let the number of a repeat that got no reply be used again, so that stored repeats have no gaps."""
        if question_key in self._repeats and self.queue is None:
            insort(self._returned_repeats.setdefault(question_key, []), repeat)

    def _answer_waiters(self, key: str, reply: Reply | None) -> None:
        answered = self._in_flight.pop(key)
        if not answered.done():
            answered.set_result(reply)

    async def confirm(self, replies: list[Reply]) -> None:
        """Store replies that their judge could parse; returns when they would survive the end of the process."""
        for reply in replies:
            self._from_batch.pop(id(reply), None)
            if (unconfirmed := self._unconfirmed.pop(id(reply), None)) is not None:
                assert self.replies is not None
                try:
                    with unconfirmed.unstored_limit.storing():
                        await self.replies.put(unconfirmed.answer_key, reply, model=unconfirmed.model)
                except WorkbenchError as error:
                    self.store_errors.append(str(error))
                    self._release(unconfirmed.answer_key)
                finally:
                    self._answer_waiters(unconfirmed.answer_key, reply)

    def discard(self, replies: list[Reply]) -> None:
        """Discard replies that were not confirmed; rows that wait for them send their own requests."""
        for reply in replies:
            _, batched_key = self._from_batch.pop(id(reply), (None, ""))
            if batched_key and isinstance(self.replies, ForgettingReplyStore):
                self.replies.forget(batched_key)
            if (unconfirmed := self._unconfirmed.pop(id(reply), None)) is not None:
                self._release(unconfirmed.answer_key)
                self._answer_waiters(unconfirmed.answer_key, None)
                self._return_repeat(unconfirmed.question_key, unconfirmed.repeat)

    def _from_store(self, reply: Reply) -> Reply:
        self.spending.from_store += 1
        raw = {name: value for name, value in reply.raw.items() if name != "seconds"}
        return Reply(reply.text, Usage(cost=0.0), {**raw, "cached": True})

    async def _ask_client(self, client: ChatClient, messages: Messages, settings: dict[str, Any]) -> Reply:
        budget = self.spending.budget
        question = pending_question(client, messages, settings, with_size=self.spending.limits_cost)
        if budget is not None:
            check_priced(budget, question.model)
        with QuestionBill(self.spending, question, await self.spending.reserve(question)) as bill:
            self.check_running()
            reply = await _complete(client, messages, settings)
            usage = plausible_usage(reply.usage)
        bill.settle(usage, reply.text)
        if question.price is not None and (usage is None or usage.cost is None):
            self._models_priced_by_table.add(question.model)
        return replace(reply, usage=usage and with_cost(bill.total(usage), question.model))

    def notes(self) -> Iterator[str]:
        """Notes for the report: on the budget, on old prices, and on what models do not support."""
        yield from self.spending.notes()
        if self._models_priced_by_table and (note := old_prices_note(self._models_priced_by_table)):
            yield note
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
    async def completed() -> Reply:
        return await client.complete(messages, **settings)

    reply = await attempt_async(completed())  # a user's client may raise anything
    if not isinstance(reply, Exception):
        return reply
    if isinstance(reply, WorkbenchError):
        raise reply
    found = hide_secrets(f"{type(reply).__name__}: {reply}", keys_in_use())[:300]
    raise JudgeServerError("the judge's client failed", found=found)


_judge_run: ContextVar[JudgeRun | None] = ContextVar("judge_run", default=None)


def current_run() -> JudgeRun | None:
    """The run that this task belongs to; None outside a run."""
    return _judge_run.get()


def check_running() -> None:
    """Raise if this task's run is to stop. See `JudgeRun.check_running`."""
    if (judge_run := _judge_run.get()) is not None:
        judge_run.check_running()


def server_state(address: str) -> ServerState:
    """The state of a server in this task's run; outside a run an empty one."""
    judge_run = _judge_run.get()
    if judge_run is None:
        return ServerState(address)
    return judge_run.servers.setdefault(address, ServerState(address))


@contextmanager
def count_as_waiting() -> Iterator[None]:
    """Count this task's request in `JudgeRun.waiting`."""
    judge_run = _judge_run.get() or JudgeRun()  # outside a run a value that is not read
    judge_run.waiting += 1
    try:
        yield
    finally:
        judge_run.waiting -= 1


@contextmanager
def count_as_rate_limited() -> Iterator[None]:
    """Count this task's request in `JudgeRun.rate_limited`."""
    judge_run = _judge_run.get() or JudgeRun()
    judge_run.rate_limited += 1
    try:
        yield
    finally:
        judge_run.rate_limited -= 1


@contextmanager
def use_judge_run(judge_run: JudgeRun) -> Iterator[JudgeRun]:
    """Make this the run of all judges called within the block, in this task and those it starts."""
    token = _judge_run.set(judge_run)
    try:
        yield judge_run
    finally:
        _judge_run.reset(token)


async def ask(client: ChatClient, messages: Messages, settings: dict[str, Any]) -> Reply:
    """One reply, through this task's run if there is one."""
    return await (_judge_run.get() or JudgeRun()).ask(client, messages, settings)
