"""One request of a wire form: parsed, admitted, graded together with others, and its response.

Small requests that arrive together are one call of the reward; each gets its response as soon as its own rows are graded.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import SandboxError
from workbench.core.user_functions import attempt_async
from workbench.deploy.reward import Reward
from workbench.deploy.reward.grading import Early, RewardGrades
from workbench.deploy.reward.trainer_rows import RewardRow, row_of, with_column
from workbench.deploy.serve.http import (
    JSON,
    Admission,
    Receive,
    RequestError,
    RequestLimits,
    Scope,
    Send,
    dumped,
    read_body,
    sandbox_lost,
    send_text,
    stopping,
)
from workbench.deploy.serve.json_body import parsed, weight
from workbench.deploy.serve.middleware import LOG, SEEN
from workbench.deploy.serve.wire_forms import NOTHING, Outcomes, WireForm
from workbench.graders.code import SandboxedGrader
from workbench.graders.rule_grader import RuleGrader
from workbench.sandbox.host.zygote import StartError

_MAX_ROWS_PER_CALL = 32
"""Rows of several requests in one call: few enough that no call is given up because of hanging rows of another request, which
takes 32 of them."""
_START_WAITS = (0.2, 0.5, 1.0)
"""Seconds before the next try, if no worker started."""


_Early = Callable[[Outcomes], object]


@dataclass(frozen=True)
class _ScoringRequest:
    """Rows of a request that waits for its shared call."""

    rows: Sequence[RewardRow]
    future: asyncio.Future[Outcomes]


class _Grade(Protocol):
    """Grades rows; `early` is called with those that are graded, if the others take long."""

    def __call__(
        self, rows: Sequence[RewardRow], early: _Early | None = None, *, large: bool = False
    ) -> Awaitable[Outcomes]: ...


class _Together:
    """Requests that arrive at the same moment, as one call: a call of one row costs as much as one of thirty."""

    def __init__(self, grade: _Grade, *, allowed: bool) -> None:
        self._grade, self._allowed = grade, allowed
        self._waiting: list[_ScoringRequest] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def grade(self, rows: Sequence[RewardRow], *, large: bool) -> Outcomes:
        """The results of these rows, from a call that they may share with others."""
        if large or not self._allowed or len(rows) >= _MAX_ROWS_PER_CALL:
            return await self._grade(rows, large=large)
        loop = asyncio.get_running_loop()
        request = _ScoringRequest(rows, loop.create_future())
        self._waiting.append(request)
        if len(self._waiting) == 1:
            loop.call_soon(self._begin)
        return await request.future

    def _begin(self) -> None:
        waiting, self._waiting = self._waiting, []
        group: list[_ScoringRequest] = []
        for request in waiting:
            if sum(len(one.rows) for one in group) + len(request.rows) > _MAX_ROWS_PER_CALL:
                self._start(group)
                group = []
            group.append(request)
        self._start(group)

    def _start(self, group: list[_ScoringRequest]) -> None:
        task = asyncio.ensure_future(self._run(group))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

        def gone(_: object) -> None:  # no request waits for it any more
            if all(request.future.done() for request in group):
                task.cancel()

        for request in group:
            request.future.add_done_callback(gone)

    async def _run(self, group: list[_ScoringRequest]) -> None:
        rows = [row for request in group for row in request.rows]

        def early(outcomes: Outcomes) -> None:
            _answer(group, outcomes, outcomes.graded.known)

        outcomes = await attempt_async(self._grade(rows, early if len(group) > 1 else None))
        if isinstance(outcomes, Exception):  # raised in the waiting requests
            for request in group:
                if not request.future.done():
                    request.future.set_exception(outcomes)
            return
        _answer(group, outcomes, np.ones(len(rows), bool))


def _answer(group: Sequence[_ScoringRequest], outcomes: Outcomes, known: NDArray[np.bool_]) -> None:
    """Send the requests whose rows are all graded their results."""
    first = 0
    for request in group:
        stop = first + len(request.rows)
        if known[first:stop].all() and not request.future.done():
            request.future.set_result(outcomes.part(first, len(request.rows)))
        first = stop


class Scoring:
    """A reward, called by many concurrent requests.

    Args:
        reward: What grades.
        on_error: See `Outcomes`.
    """

    def __init__(self, reward: Reward, *, on_error: float | None = None) -> None:
        self.reward, self._on_error = reward, on_error
        self._together: dict[str, _Together] = {}
        entries = reward.suite.entries
        self._names = {entry.name for entry in entries}
        # Requests to a judge take long, and each a different time: waiting for one another gains nothing.
        self._quick = all(isinstance(entry.grader, SandboxedGrader | RuleGrader) for entry in entries)

    def check(self, only: str) -> None:
        """Reject an unknown grader, or several graders without a rule.

        Raises:
            RequestError: 404 or 400, with the graders there are.
        """
        names = ", ".join(sorted(self._names))
        if only and only not in self._names:
            raise RequestError(404, "no_such_grader", f"there is no such grader; available: {names}")
        if not only and not self.reward.single:
            message = "several graders without a combining rule; put /graders/NAME before the path"
            raise RequestError(400, "grader_needed", f"{message}, with one of: {names}")

    async def score(self, rows: Sequence[RewardRow], *, only: str = "", large: bool = False) -> Outcomes:
        """Grade rows.

        Args:
            rows: Of one request.
            only: The single requested grader; "" for the suite's score.
            large: Whether they take so long to pack that no other request may wait for it.
        """
        column = self.reward.reference
        shown = [with_column(row, column) for row in rows] if column else rows
        return await self._of(only).grade(shown, large=large)

    def _of(self, only: str) -> _Together:
        if only not in self._together:

            async def grade(
                rows: Sequence[RewardRow], early: _Early | None = None, *, large: bool = False
            ) -> Outcomes:
                tell = None if early is None else lambda graded: early(self._outcomes(graded))
                return self._outcomes(await self._graded(rows, only, tell, large=large))

            self._together[only] = _Together(grade, allowed=self._quick)
        return self._together[only]

    def _outcomes(self, graded: RewardGrades) -> Outcomes:
        _, _, column = self.reward.column(graded)
        return Outcomes(graded, column, self.reward.scores(graded), on_error=self._on_error)

    async def _graded(
        self, rows: Sequence[RewardRow], only: str, early: Early | None, *, large: bool
    ) -> RewardGrades:
        """The grades, also if the process that starts workers was killed and has to be started first."""
        for wait in _START_WAITS:
            try:
                return await self.reward.agrade(rows, only=only, early=early, large=large)
            except StartError:
                await asyncio.sleep(wait)
        return await self.reward.agrade(rows, only=only, early=early, large=large)

    async def warm_up(self) -> None:
        """Start the workers of graders that are code, with a row that is not counted.

        Raises:
            SandboxError: No worker starts here.
        """
        row = row_of("warm-up", "What is 2+2?", "4", {})
        for entry in self.reward.suite.entries:
            if isinstance(entry.grader, SandboxedGrader):
                await self.reward.agrade([row], only=entry.name)
        self.reward.reset()

    def close(self) -> None:
        """End the workers."""
        self.reward.close()


P = ParamSpec("P")
T = TypeVar("T")

_SMALL_BYTES, _SMALL_VALUES = 256 * 1024, 4096
"""Size of a request that takes at most some milliseconds, and no longer than its transfer to a thread and back."""
_MEDIUM_VALUES = 32 * 1024
"""Size of a request that takes some tenths of a second: batches of some thousand rows do not wait for much larger ones."""


@dataclass(frozen=True)
class Place:
    """A thread or event loop that works on one request at a time.

    Attributes:
        turn: The lock of the current work; None on the event loop itself.
    """

    turn: asyncio.Semaphore | None = None

    @property
    def large(self) -> bool:
        """Whether it is a thread instead of the event loop."""
        return self.turn is not None

    async def do(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run some work there."""
        if self.turn is None:
            return work(*args, **kwargs)
        async with self.turn:
            done, refusal = await asyncio.to_thread(_tried, partial(work, *args, **kwargs))
        if refusal is not None:
            raise refusal
        return done[0]


def _tried(work: Callable[[], T]) -> tuple[tuple[T, ...], RequestError | None]:
    """The result of some work, or why the request is rejected.

    An error references the values that were being processed; they are freed here, where no request waits for that.
    """
    try:
        return (work(),), None
    except RequestError as error:
        error.__cause__ = error.__context__ = error.__traceback__ = None
        return (), error


class Beside:
    """The executors of a server: the event loop, one thread for medium requests, one for large ones."""

    def __init__(self) -> None:
        self._small = Place()
        self._medium, self._wide = Place(asyncio.Semaphore(1)), Place(asyncio.Semaphore(1))

    async def of(self, body: bytes | bytearray) -> tuple[Place, int]:
        """The executor for a body, and an upper bound of its number of values."""
        is_short = len(body) <= _SMALL_BYTES
        values = weight(body) if is_short else await self._medium.do(weight, body)
        if is_short and values <= _SMALL_VALUES:
            return self._small, values
        return self._medium if values <= _MEDIUM_VALUES else self._wide, values


_VALUE_BYTES = 128


@dataclass
class _ParsedRequest:
    """One request: its body, its rows, their results."""

    value: Any
    rows: list[RewardRow]
    outcomes: Outcomes = NOTHING


class GradingEndpoint:
    """A wire form at its path.

    Args:
        form: How requests are parsed and responses written.
        scoring: What grades.
        admission: Limits of all requests together.
        limits: Limits of one request.
        beside: Where large requests are parsed and written.
        log_rows: Whether to write request bodies to the log.
    """

    def __init__(
        self,
        form: WireForm,
        scoring: Scoring,
        admission: Admission,
        limits: RequestLimits,
        *,
        beside: Beside | None = None,
        log_rows: bool = False,
    ) -> None:
        self._form, self._scoring, self._admission = form, scoring, admission
        self._limits, self._beside, self._log_rows = limits, beside or Beside(), log_rows

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Process one request.

        Raises:
            RequestError: It gets no result.
        """
        scope[SEEN]["path"] = self._form.path
        only = scope.get("path_params", {}).get("grader", "")
        self._scoring.check(only)
        self._admission.check_room()
        doing: list[str | int] = ["its body did not arrive", 408]
        try:
            async with asyncio.timeout(self._limits.timeout):
                answer = await self._answered(scope, receive, only, doing)
        except TimeoutError:
            what, status = doing
            message = f"{what} within {self._limits.timeout:g} s"
            raise RequestError(int(status), "time_limit", message) from None
        await send_text(send, answer, kind=JSON)

    async def _answered(self, scope: Scope, receive: Receive, only: str, doing: list[str | int]) -> bytes:
        """The response; `doing` names the current step, and the status if it exceeds the time limit."""
        body = await read_body(scope, receive, self._admission, most=self._limits.max_bytes)
        doing[:] = ["the rows were not graded", 504]
        try:
            beside, values = await self._beside.of(body)
            with self._admission.of_values(values) if beside.large else contextlib.nullcontext():
                return await self._answer(body, scope, only, beside)
        finally:
            self._admission.drop(len(body))

    async def _answer(self, body: bytearray, scope: Scope, only: str, beside: Place) -> bytes:
        request = await beside.do(self._read, body, scope[SEEN])
        if not request.rows:
            request.outcomes = NOTHING
        else:
            with self._admission.of_rows(len(request.rows)):
                request.outcomes = await self._graded(request.rows, only, large=beside.large)
        return await beside.do(self._written, request, in_pieces=beside.large)

    def _read(self, body: bytearray, seen: dict[str, Any]) -> _ParsedRequest:
        """The values of a body and its rows."""
        value = parsed(body, max_values=self._limits.max_values)
        rows = self._form.read(value)
        seen["rows"] = len(rows)
        if len(rows) > self._limits.max_rows:
            message = f"{len(rows):,} rows, and one request may have {self._limits.max_rows:,}; send fewer per request"
            raise RequestError(413, "too_many_rows", message, max_rows=self._limits.max_rows)
        if len(body) + _VALUE_BYTES * weight(body) > self._limits.max_row_bytes:
            _check_sizes(rows, self._limits.max_row_bytes)
        if self._log_rows:
            LOG.info("request %s: %s", self._form.path, json.dumps(value))
        return _ParsedRequest(value, rows)

    def _written(self, request: _ParsedRequest, *, in_pieces: bool) -> bytes:
        try:
            answer = self._form.write(request.value, request.rows, request.outcomes)
        finally:
            # Freed here: to free some hundred thousand values takes as long as to create them.
            request.value, request.rows, request.outcomes = None, [], NOTHING
        return dumped(answer, in_pieces=in_pieces)

    async def _graded(self, rows: Sequence[RewardRow], only: str, *, large: bool) -> Outcomes:
        try:
            outcomes = await self._scoring.score(rows, only=only, large=large)
        except SandboxError as error:
            LOG.error("the sandbox: %s", error.what)
            raise sandbox_lost(error.what) from None
        if outcomes.cut_off:
            raise stopping()
        if (lost := outcomes.lost) is not None:
            raise sandbox_lost(lost)
        return outcomes


def _check_sizes(rows: Sequence[RewardRow], most: int) -> None:
    """Reject a row that is too large: all others would wait for its transfer to a worker.

    Raises:
        RequestError: 413.
    """
    for row in rows:
        if row.thread is not None and (size := _size(row.thread.to_wire(), most)) > most:
            message = f"{row.name} has at least {size:,} bytes, and one row may have {most:,}"
            raise RequestError(413, "row_too_large", message, max_row_bytes=most)


def _size(value: Any, most: int) -> int:
    """The letters of all texts in plain values, and `_VALUE_BYTES` for each value; counting stops at the limit."""
    size, left = 0, [value]
    while left and size <= most:
        one = left.pop()
        size += _VALUE_BYTES
        if isinstance(one, str):
            size += len(one)
        elif isinstance(one, dict):
            left += [*one, *one.values()]
        elif isinstance(one, list | tuple):
            left += one
    return size
