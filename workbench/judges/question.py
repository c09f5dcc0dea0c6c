"""One question on its way to a server: tried again where that may help, asked more simply where it must be."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from workbench.judges.abilities import Ability, ability, form_of
from workbench.judges.client import Reply
from workbench.judges.completion import reply_of
from workbench.judges.faults import Asked, FailedError, Fault, fault_of
from workbench.judges.line import check_running, waiting_for_room
from workbench.judges.pacing import Pace

__all__ = ["Connection", "Question"]

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 8.0
"""Seconds before the second try, and the most that doubling makes of it: as the openai package has them."""
_CROWDED_WAIT = 0.1
"""Seconds before the second try where the server was full: less is asked at once then, so room comes sooner."""
_SHORTEST_WAIT = 0.05
"""Seconds, for a server that says it is full and that no wait is needed."""
_UNREACHED_TRIES = 2
"""Tries while the server has never answered: a wrong address should be told soon."""


@dataclass
class Connection:
    """What belongs to one event loop.

    Attributes:
        address: Where the server is.
        client: The package's client with its connections.
        pace: How many questions may be under way.
        reached: Whether the server ever answered.
    """

    address: str
    client: Any
    pace: Pace
    reached: bool = False


@dataclass
class _Tries:
    """What was tried for one question.

    Attributes:
        left: Tries after the first, for faults that may pass.
        patience: Seconds to wait in all for a server that is full.
        refused: Formats that were refused to this question, and those that failed once.
    """

    left: int
    patience: float
    refused: set[int] = field(default_factory=set)
    failed_once: set[int] = field(default_factory=set)
    failed: int = 0
    crowded: int = 0
    _full_since: float | None = None

    def wait(self, fault: Fault, *, reached: bool) -> float | None:
        """Seconds until the next try; None where there is none."""
        if not fault.retry:
            return None
        return self._wait_for_room(fault) if fault.crowded else self._wait_for_better(reached=reached)

    def _wait_for_room(self, fault: Fault) -> float | None:
        now = time.monotonic()
        self._full_since = self._full_since or now
        self.crowded += 1
        wait = (
            _doubled(_CROWDED_WAIT, self.crowded) if fault.wait is None else max(fault.wait, _SHORTEST_WAIT)
        )
        over = now + wait - self._full_since > self.patience
        return None if over or not self.left else wait

    def _wait_for_better(self, *, reached: bool) -> float | None:
        self.failed += 1
        over = self.failed > (self.left if reached else min(self.left, _UNREACHED_TRIES))
        return None if over else _doubled(_FIRST_WAIT, self.failed)


@dataclass
class Question:
    """One question on its way."""

    connection: Connection
    request: Mapping[str, Any]
    asked: Asked
    timeout: float

    async def ask(self, tries: int, patience: float) -> Reply:
        """Try until there is an answer, a fault that stays, or no try left."""
        known, so_far = ability(self.asked.where, self.asked.model), _Tries(tries, patience)
        while True:
            sent = known.fit(self.request, so_far.refused)
            try:
                async with self.connection.pace:
                    check_running()  # a run may have been stopped while this waited for its turn
                    reply = await self._once(sent)
            except FailedError as failure:
                self._note(failure.fault)
                if not self._learned(known, failure.fault, sent, so_far):
                    await self._pause(failure.fault, so_far)
                continue
            self.connection.reached = True
            self.connection.pace.answered()
            known.worked(sent, self.request)
            return reply

    def _note(self, fault: Fault) -> None:
        self.connection.reached = self.connection.reached or fault.status > 0
        if fault.crowded:
            self.connection.pace.refused()

    def _learned(self, known: Ability, fault: Fault, sent: Mapping[str, Any], so_far: _Tries) -> bool:
        """Whether the fault says how to ask better."""
        form = form_of(sent)
        lesson = known.lesson(fault.status, fault.said, sent, again=form in so_far.failed_once)
        (so_far.refused if lesson == "simpler" else so_far.failed_once).add(form)
        return bool(lesson)

    async def _pause(self, fault: Fault, so_far: _Tries) -> None:
        wait = so_far.wait(fault, reached=self.connection.reached)
        if wait is None:
            raise fault.error from None
        check_running()
        with waiting_for_room() if fault.crowded else nullcontext():
            await asyncio.sleep(wait)

    async def _once(self, sent: Mapping[str, Any]) -> Reply:
        start = time.perf_counter()
        body = {name: value for name, value in sent.items() if name != "extra_body"}
        try:
            async with asyncio.timeout(self.timeout):
                # Not `chat.completions.create`, whose typed parsing of both ways costs more than the request.
                answer = await self.connection.client.post(
                    "/chat/completions", body={**body, **(sent.get("extra_body") or {})}, cast_to=object,
                    options=self._options(),
                )  # fmt: skip
        except Exception as error:  # noqa: BLE001 (whatever lies under the package)
            raise FailedError(fault_of(error, self.asked)) from None
        return reply_of(answer, self.asked, time.perf_counter() - start)

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"timeout": self.timeout, "max_retries": 0, "follow_redirects": False}
        if not self.asked.key:
            from openai import Omit

            options["headers"] = {"Authorization": Omit()}
        return options


def _doubled(first: float, times: int) -> float:
    """Seconds, twice as many each time, with a random share less."""
    share = 1 - 0.25 * random.random()  # noqa: S311 (so that those refused together do not return together)
    return float(min(_LONGEST_WAIT, first * 2.0 ** min(times - 1, 20)) * share)
