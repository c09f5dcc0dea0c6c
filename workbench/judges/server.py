"""What is known about a server: how many requests it takes at a time, what its models support, and whether it restarts.

Servers that implement OpenAI's protocol differ. A request that is rejected because of its format is sent again with the
next simpler one: JSON schema, then JSON object, then plain text. What a model lacks is remembered, and retested by one
request after `RETEST_SECONDS`, since servers are repaired, restarted and replaced. A server that is warming up returns
status 500 for everything, so a format that was given up only because of a 500 is retested by the very next request.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

_START = 16
"""Concurrent requests at the start. Workbench default: low enough for a small server, and doubled within a round of replies."""
_SECONDS_BETWEEN_CUTS = 1.0
"""Seconds. Requests sent together are rejected together: all rejections of this time count as one. Workbench default."""


class RequestLimit:
    """A first-in, first-out semaphore whose limit may change.

    Args:
        limit: Number of slots.

    Attributes:
        limit: The current number of slots; its fraction does not count.
        busy: Slots taken.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.busy = 0
        self._waiters: deque[asyncio.Future[None]] = deque()

    async def acquire(self) -> None:
        """Wait for a slot, and take it for a request."""
        woken = False
        # Waiting requests go first, or a steady stream of new requests could starve them.
        while self.busy >= int(self.limit) or (self._waiters and not woken):
            waiter = asyncio.get_running_loop().create_future()
            # Another may have taken the slot of a waiter that was woken: it keeps its turn, at the front.
            (self._waiters.appendleft if woken else self._waiters.append)(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                self._abandon(waiter)
                raise
            woken = True
        self.busy += 1

    def _abandon(self, waiter: asyncio.Future[None]) -> None:
        if waiter.done() and not waiter.cancelled():
            self._wake()  # it was woken at the moment of its cancellation: its turn goes to the next
        elif waiter in self._waiters:
            self._waiters.remove(waiter)

    def release(self) -> None:
        """Free a slot."""
        self.busy -= 1
        self._wake()

    def _wake(self) -> None:
        """Wake as many waiters as there are free slots; one that finds its slot taken waits again."""
        free = int(self.limit) - self.busy
        while self._waiters and free > 0:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                free -= 1

    async def __aenter__(self) -> Self:
        await self.acquire()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class AdaptiveLimit(RequestLimit):
    """A limit that follows the server (additive increase, multiplicative decrease, as in TCP).

    It grows by one for each reply until the first rejection, after that by one for each round of replies, and is halved
    by a rejection. It never falls below one.

    Args:
        maximum: Maximum number of requests in flight.
    """

    def __init__(self, maximum: int) -> None:
        super().__init__(min(_START, maximum))
        self.maximum = maximum
        self._was_overloaded = False
        self._last_cut = float("-inf")

    def record_answer(self) -> None:
        """A request got a reply: raise the limit."""
        step = 1 / self.limit if self._was_overloaded else 1
        self.limit = min(self.maximum, self.limit + step)
        self._wake()

    def record_overload(self) -> None:
        """The server was overloaded (429, 503): halve the limit."""
        now = time.monotonic()
        self._was_overloaded = True
        if now - self._last_cut >= _SECONDS_BETWEEN_CUTS:
            self._last_cut, self.limit = now, max(1.0, self.limit / 2)


@dataclass
class Connection:
    """A client's connection to its server, on one event loop.

    Attributes:
        address: The server's URL.
        client: The openai package's client, with its connection pool.
        limit: Maximum number of requests in flight.
        reached: Whether the server ever replied.
    """

    address: str
    client: Any
    limit: AdaptiveLimit
    reached: bool = False


RETEST_SECONDS = 600.0
"""Seconds after which a rejected format or setting is retested. Workbench default: longer than a restart takes, and one
more rejected request every ten minutes costs almost nothing."""

FORMATS = ("json_schema", "json_object", "text")
"""Reply formats, the strictest first. A format is identified by its index in this tuple."""
_TEXT = len(FORMATS) - 1

_FORMAT_COMPLAINT = re.compile(
    r"response.?format|text\.format|json.?(schema|object|mode)|structured.?output|grammar|guided",
    re.IGNORECASE,
)
_TEMPERATURE_COMPLAINT = re.compile(
    r"temperature.{0,80}(unsupported|not supported|does not support|only the default)|"
    r"(unsupported|not supported|does not support).{0,80}temperature",
    re.IGNORECASE | re.DOTALL,
)
_LOGPROBS_COMPLAINT = re.compile(r"log.?prob", re.IGNORECASE)
_BAD_REQUEST_STATUSES = frozenset({400, 415, 422})
# Some servers reply with these statuses, and not with 400, to a response format they lack.
_SERVER_FAILURE_STATUSES = frozenset({500, 501})

_capabilities: dict[tuple[str, str], Capabilities] = {}


@dataclass
class Capabilities:
    """What one model at one server supports. Formats are indices into `FORMATS`.

    Attributes:
        working_formats: Formats in which the model replied.
        lacking_formats: Formats that were rejected while a simpler one worked, with the time of their retest.
        doubtful_formats: Those of `lacking_formats` for which the server failed instead of rejecting the format.
        uses_max_completion_tokens: Whether the limit of a reply has this name here, instead of `max_tokens`.
        dropped_settings: Settings the model does not support, with the time of their retest.
        clock: Seconds since an arbitrary moment.
    """

    working_formats: set[int] = field(default_factory=set)
    lacking_formats: dict[int, float] = field(default_factory=dict)
    doubtful_formats: set[int] = field(default_factory=set)
    uses_max_completion_tokens: bool = False
    dropped_settings: dict[str, float] = field(default_factory=dict)
    clock: Callable[[], float] = time.monotonic

    def _leave_out(self, retest_times: dict[Any, float], name: Any) -> bool:
        """Whether to omit it. Once the retest is due one request tests it; the others wait for its outcome."""
        if name not in retest_times:
            return False
        if (now := self.clock()) < retest_times[name]:
            return True
        retest_times[name] = now + RETEST_SECONDS
        return False

    def adapt(self, request: Mapping[str, Any], refused: Collection[int] = ()) -> dict[str, Any]:
        """The request as this model supports it, in a format in which this request was not rejected."""
        adapted = {
            name: value for name, value in request.items() if not self._leave_out(self.dropped_settings, name)
        }
        if self.uses_max_completion_tokens and "max_tokens" in adapted:
            adapted["max_completion_tokens"] = adapted.pop("max_tokens")
        if "response_format" in adapted:
            # A generator: looking up a format may start its retest, so only the one that is sent is looked up.
            usable_formats = (
                index
                for index in range(format_index(request), _TEXT)
                if index not in refused and not self._leave_out(self.lacking_formats, index)
            )
            _set_format(adapted, next(usable_formats, _TEXT))
        return adapted

    def retest_soon(self, sent: Mapping[str, Any]) -> None:
        """Let the next request repeat this one's retest: its failure shows nothing about the model."""
        now = self.clock()
        if (index := format_index(sent)) in self.lacking_formats:
            self.lacking_formats[index] = now
        for name in self.dropped_settings.keys() & sent.keys():
            self.dropped_settings[name] = now

    def record_answer(
        self, sent: Mapping[str, Any], wanted: Mapping[str, Any], doubtful: Collection[int] = ()
    ) -> None:
        """Note that a request succeeded: its format works, and the stricter ones that were rejected are lacking.

        Args:
            sent: The request that succeeded.
            wanted: The request as the judge wants it.
            doubtful: Formats given up because the server failed, for any reason.
        """
        sent_format = format_index(sent)
        self.working_formats.add(sent_format)
        self.lacking_formats.pop(sent_format, None)
        self.doubtful_formats.discard(sent_format)
        for name in sent:
            self.dropped_settings.pop(name, None)
        for index in range(format_index(wanted), sent_format):
            # Requests run concurrently: one that fell back must not remove a format that worked for another.
            if index not in self.working_formats:
                self.doubtful_formats.update({index} & set(doubtful) - self.lacking_formats.keys())
                wait = 0.0 if index in doubtful else RETEST_SECONDS
                self.lacking_formats.setdefault(index, self.clock() + wait)

    def learn_from_refusal(
        self, status: int, message: str, sent: Mapping[str, Any], *, repeated: bool = False
    ) -> str:
        """What to do after a request was rejected.

        Args:
            status: HTTP status.
            message: The server's error message.
            sent: The request as sent.
            repeated: Whether this request was rejected in this format before.

        Returns:
            "again" to send the request as `adapt` now makes it, "simpler" to use the next simpler format, "" if the
            rejection gives no information.
        """
        if status in _BAD_REQUEST_STATUSES and self._learn_settings(message, sent):
            return "again"
        if format_index(sent) == _TEXT:
            return ""
        works = format_index(sent) in self.working_formats
        if status in _BAD_REQUEST_STATUSES and (_FORMAT_COMPLAINT.search(message) or not works):
            return "simpler"
        if status not in _SERVER_FAILURE_STATUSES:
            return ""
        # Two consecutive failures suggest that the format is lacking; a single one is more likely an outage.
        return "simpler" if repeated else "" if works else "again"

    def _learn_settings(self, message: str, sent: Mapping[str, Any]) -> bool:
        if "max_tokens" in sent and "max_completion_tokens" in message:
            self.uses_max_completion_tokens = True
            return True
        if "logprobs" in sent and _LOGPROBS_COMPLAINT.search(message):
            for name in ("logprobs", "top_logprobs"):
                self.dropped_settings[name] = self.clock() + RETEST_SECONDS
            return True
        if "temperature" in sent and _TEMPERATURE_COMPLAINT.search(message):
            self.dropped_settings["temperature"] = self.clock() + RETEST_SECONDS
            return True
        return False


def format_index(request: Mapping[str, Any]) -> int:
    """Index in `FORMATS` of a request's format."""
    wanted = request.get("response_format")
    name = wanted.get("type") if isinstance(wanted, Mapping) else "text"
    return FORMATS.index(name) if name in FORMATS else 0


def is_server_failure(status: int) -> bool:
    """Whether a status means that the server failed, for any reason."""
    return status in _SERVER_FAILURE_STATUSES


_FORMAT_NAMES = {"json_schema": "JSON schema", "json_object": "JSON object", "text": "plain text"}


def fallbacks(
    sent: Mapping[str, Any], wanted: Mapping[str, Any], doubtful: Collection[int] = ()
) -> Iterator[tuple[str, str]]:
    """What was not sent as the judge wants it, with the reason, and what was sent instead.

    Args:
        sent: The request that succeeded.
        wanted: The request as the judge wants it.
        doubtful: Formats given up because the server failed.
    """
    if (wanted_format := format_index(wanted)) < (sent_format := format_index(sent)):
        reason = "failed when sent" if wanted_format in doubtful else "does not support"
        yield f"{reason} {_FORMAT_NAMES[FORMATS[wanted_format]]}", f"as {_FORMAT_NAMES[FORMATS[sent_format]]}"
    if "temperature" in wanted and "temperature" not in sent:
        yield "does not support temperature", "without it"
    if "logprobs" in wanted and "logprobs" not in sent:
        yield "does not support log-probabilities", "without them"


def _set_format(request: dict[str, Any], index: int) -> None:
    if index == _TEXT:
        request.pop("response_format")
    elif index != format_index(request):
        request["response_format"] = {"type": FORMATS[index]}


def capabilities_of(server: str, model: str) -> Capabilities:
    """The capabilities of a model at a server; one object shared by all judges and clients of this process."""
    return _capabilities.setdefault((server, model), Capabilities())


@dataclass
class ServerState:
    """The state of a server within a run.

    Attributes:
        address: Its URL.
        fallbacks: Number of simplified requests, by model, what the model does not support or failed at, and what was
            sent instead.
        given_up: Whether a request waited for it without result and no request got a reply since.
        clock: Seconds since an arbitrary moment.
    """

    address: str = ""
    fallbacks: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    given_up: bool = False
    clock: Callable[[], float] = time.monotonic
    _last_answer: float | None = None
    _outage_start: float | None = None
    _past_outages: float = 0.0  # seconds
    _lost_questions: dict[int, object] = field(default_factory=dict)

    @property
    def answered(self) -> bool:
        """Whether it ever replied in this run."""
        return self._last_answer is not None

    def record_answer(self) -> None:
        """Note that it replied, even if only with an error status."""
        self._last_answer, self.given_up = self.clock(), False
        if self._outage_start is not None:
            self._past_outages += self._last_answer - self._outage_start
            self._outage_start = None
        self._lost_questions.clear()

    def is_restarting(self, question: object, sent_at: float, patience: float) -> bool:
        """Whether a broken connection looks like a restart of the server, which is worth waiting for.

        It does if the server replied before, has not replied at all since the request was sent, and meanwhile lost at
        least two different requests: one alone may be a request that breaks its connection whenever it is sent. All
        outages of a run together are waited for no longer than `patience`.

        Args:
            question: The request that was lost; distinguished by identity.
            sent_at: When it was sent, by `clock`.
            patience: Seconds.
        """
        if self._last_answer is None or self._last_answer > sent_at:
            return False
        if self._outage_start is None:
            self._outage_start = sent_at
        self._lost_questions[id(question)] = (
            question  # the object too, so that its id is not given to another
        )
        in_time = self._past_outages + self.clock() - self._outage_start <= patience
        return in_time and len(self._lost_questions) > 1

    def notes(self) -> Iterator[str]:
        """Notes for the report: what a model does not support, and what was sent instead."""
        for (model, lacking, sent), answers in self.fallbacks.items():
            yield (
                f"{model!r} at {self.address} {lacking}: {answers:,} requests were sent {sent}. "
                f"It is retested after {RETEST_SECONDS / 60:g} minutes."
            )
