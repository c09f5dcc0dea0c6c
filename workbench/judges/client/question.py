"""One question on its way to a server: tried again where that may help, asked more simply where it must be."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from workbench.graders.rows import in_second_pass
from workbench.judges.asking.abilities import Ability, ability, fallbacks, form_of, given_up_for_a_fault
from workbench.judges.asking.booking import charge, renewed
from workbench.judges.asking.judge_run import check_running, server_of, waiting_for_room
from workbench.judges.asking.servers import Server
from workbench.judges.client.completion import reply_of
from workbench.judges.client.faults import Asked, FailedError, Fault, fault_of
from workbench.judges.client.pacing import Pace
from workbench.judges.protocol import JudgeServerError, Reply

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
        patience: Seconds to wait in all for a server that is full, or that went away in the run.
        refused: Formats that were refused to this question.
        doubted: Those among them that were given up for a fault that may have been about anything.
        failed_once: Formats that failed once.
    """

    left: int
    patience: float
    refused: set[int] = field(default_factory=set)
    doubted: set[int] = field(default_factory=set)
    failed_once: set[int] = field(default_factory=set)
    failed: int = 0
    patient: int = 0
    _since: float | None = None

    def wait(self, fault: Fault, *, reached: bool, away: bool) -> float | None:
        """Seconds until the next try; None where there is none.

        Args:
            fault: What went wrong.
            reached: Whether the server ever answered.
            away: Whether it answered in this run and now does not.
        """
        if fault.crowded or away:
            return self._wait_for_room(fault)
        return self._wait_for_better(fault, reached=reached) if fault.retry else None

    def _wait_for_room(self, fault: Fault) -> float | None:
        now = time.monotonic()
        self._since = self._since or now
        self.patient += 1
        wait = _wanted(fault, _CROWDED_WAIT if fault.crowded else _FIRST_WAIT, self.patient)
        over = now + wait - self._since > self.patience
        return None if over or not self.left else wait

    def _wait_for_better(self, fault: Fault, *, reached: bool) -> float | None:
        self.failed += 1
        wait = _wanted(fault, _FIRST_WAIT, self.failed)
        over = self.failed > (self.left if reached else min(self.left, _UNREACHED_TRIES))
        return None if over or wait > max(self.patience, _LONGEST_WAIT) else wait


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
        server = server_of(self.asked.where)
        while True:
            await renewed()  # a try before this one may have spent what was set aside
            sent = known.fit(self.request, so_far.refused)
            try:
                async with self.connection.pace:
                    check_running()  # a run may have been stopped while this waited for its turn
                    asked_at = server.clock()
                    reply = await self._once(sent)
            except FailedError as failure:
                fault = failure.fault
                self._note(fault, server)
                if not self._learned(known, fault, sent, so_far):
                    known.untold(sent)
                    lost = fault.lost and not in_second_pass() and server.silent(self, asked_at, patience)
                    away = lost or (fault.away and server.answered)
                    try:
                        await self._pause(fault, so_far, away=away and not server.given_up)
                    except JudgeServerError:
                        server.given_up = server.given_up or away  # later judges need not wait for it again
                        raise
                continue
            self._answered(server, known, sent, so_far)
            return reply

    def _note(self, fault: Fault, server: Server) -> None:
        charge(fault.usage, unanswered=fault.unanswered)
        if fault.status > 0:
            self.connection.reached = True
            server.heard()
        if fault.crowded:
            self.connection.pace.refused()

    def _answered(self, server: Server, known: Ability, sent: Mapping[str, Any], so_far: _Tries) -> None:
        self.connection.reached = True
        self.connection.pace.answered()
        server.heard()
        known.worked(sent, self.request, so_far.doubted)
        server.fallbacks.update(
            (self.asked.model, *one) for one in fallbacks(sent, self.request, known.shaky)
        )

    def _learned(self, known: Ability, fault: Fault, sent: Mapping[str, Any], so_far: _Tries) -> bool:
        """Whether the fault says how to ask better."""
        if fault.wait is not None:
            return False  # a server that says when to come back says nothing of formats
        form = form_of(sent)
        lesson = known.lesson(fault.status, fault.said, sent, again=form in so_far.failed_once)
        (so_far.refused if lesson == "simpler" else so_far.failed_once).add(form)
        if lesson == "simpler" and given_up_for_a_fault(fault.status):
            so_far.doubted.add(form)
        return bool(lesson)

    async def _pause(self, fault: Fault, so_far: _Tries, *, away: bool) -> None:
        wait = so_far.wait(fault, reached=self.connection.reached, away=away)
        if wait is None:
            fault.error.passing = fault.retry and not fault.crowded and not fault.away
            raise fault.error from None
        check_running()
        with waiting_for_room() if fault.crowded or away else nullcontext():
            await asyncio.sleep(wait)

    async def _once(self, sent: Mapping[str, Any]) -> Reply:
        start = time.perf_counter()
        try:
            async with asyncio.timeout(self.timeout):
                # Not `chat.completions.create`, whose typed parsing of both ways costs more than the request.
                answer = await self.connection.client.post(
                    "/chat/completions", body=dict(sent), cast_to=object, options=self._options()
                )
        except Exception as error:  # noqa: BLE001 (whatever lies under the package)
            raise FailedError(fault_of(error, self.asked)) from None
        return reply_of(answer, self.asked, time.perf_counter() - start)

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"timeout": self.timeout, "max_retries": 0, "follow_redirects": False}
        if not self.asked.key:
            from openai import Omit

            options["headers"] = {"Authorization": Omit()}
        return options


def _wanted(fault: Fault, first: float, times: int) -> float:
    """Seconds to wait: what the server asks for, else twice as long each time."""
    return _doubled(first, times) if fault.wait is None else max(fault.wait, _SHORTEST_WAIT)


def _doubled(first: float, times: int) -> float:
    """Seconds, twice as many each time, with a random share less."""
    share = 1 - 0.25 * random.random()  # noqa: S311 (so that those refused together do not return together)
    return float(min(_LONGEST_WAIT, first * 2.0 ** min(times - 1, 20)) * share)
