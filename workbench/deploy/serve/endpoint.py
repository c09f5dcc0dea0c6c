"""One request of a wire form: parsed, admitted, graded, and its response."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ParamSpec, TypeVar

from workbench.core.errors import SandboxError
from workbench.deploy.reward.rows import RewardRow
from workbench.deploy.serve.counted_log import LOG
from workbench.deploy.serve.http import JSON, Receive, Scope, Send, read_body, send_text
from workbench.deploy.serve.json_body import dumped, parsed, weight
from workbench.deploy.serve.limits import Admission, RequestError, RequestLimits, sandbox_lost, stopping
from workbench.deploy.serve.observed import SEEN
from workbench.deploy.serve.scoring import Scoring
from workbench.deploy.serve.wire_form import NOTHING, Outcomes, WireForm

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
