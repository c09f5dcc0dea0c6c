"""One question on its way to a server: tried again where that may help, asked more simply where it must be."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.judges.abilities import ability
from workbench.judges.client import JudgeServerError, Reply, Usage
from workbench.judges.faults import Asked, Fault, fault_of
from workbench.judges.pacing import Pace
from workbench.judges.secrets import hide_in

__all__ = ["Connection", "Question"]

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 8.0
"""Seconds before the second try, and the most that doubling makes of it: as the openai package has them."""
_CROWDED_WAIT = 0.1
"""Seconds before the second try where the server was full: less is asked at once then, so room comes sooner."""
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
class Question:
    """One question on its way, with what was tried."""

    line: Connection
    request: Mapping[str, Any]
    asked: Asked
    timeout: float

    async def ask(self, tries: int, patience: float) -> Reply:
        """Try until there is an answer, a fault that stays, or no try left."""
        known = ability(self.asked.where, self.asked.model)
        step = failed = refused = 0
        while True:
            sent = known.fit(self.request, step)
            try:
                async with self.line.pace:
                    start = time.perf_counter()
                    reply = _reply(await self._send(sent), self.asked, start)
            except _FailedError as failure:
                fault = failure.fault
            else:
                self.line.reached = True
                self.line.pace.answered()
                known.worked(sent, self.request)
                return reply
            self._note(fault)
            lesson = known.lesson(fault.status, fault.said, sent)
            if lesson:
                step += lesson == "simpler"
                continue
            failed, refused = failed + (not fault.crowded), refused + fault.crowded
            patience -= await self._pause(fault, failed if not fault.crowded else refused, tries, patience)

    def _note(self, fault: Fault) -> None:
        self.line.reached = self.line.reached or fault.status > 0
        if fault.crowded:
            self.line.pace.refused()

    async def _pause(self, fault: Fault, times: int, tries: int, patience: float) -> float:
        """Wait before the next try; the seconds that count against the patience. Raises where there is none."""
        if not fault.crowded and not self.line.reached:
            tries = min(tries, _UNREACHED_TRIES)
        wait = _wait(fault, times)
        over = (wait > patience) if fault.crowded and tries else times > tries
        if not fault.retry or over:
            raise fault.error from None
        await asyncio.sleep(wait)
        return wait if fault.crowded else 0.0

    async def _send(self, sent: Mapping[str, Any]) -> Any:
        extra = sent.get("extra_body")
        body = {name: value for name, value in sent.items() if name != "extra_body"}
        try:
            async with asyncio.timeout(self.timeout):
                # Not `chat.completions.create`, whose typed parsing of both ways costs more than the request.
                return await self.line.client.post(
                    "/chat/completions", body={**body, **(extra or {})}, cast_to=object,
                    options={"timeout": self.timeout, "max_retries": 0},
                )  # fmt: skip
        except Exception as error:  # noqa: BLE001 (whatever lies under the package)
            raise _FailedError(fault_of(error, self.asked)) from None


class _FailedError(Exception):
    """A try that failed."""

    def __init__(self, fault: Fault) -> None:
        super().__init__()
        self.fault = fault


def _wait(fault: Fault, times: int) -> float:
    """Seconds until the next try: as the server says, else doubling, with a random share less."""
    if fault.wait is not None:
        return fault.wait
    first = _CROWDED_WAIT if fault.crowded else _FIRST_WAIT
    share = 1 - 0.25 * random.random()  # noqa: S311 (so that those refused together do not return together)
    return float(min(_LONGEST_WAIT, first * 2.0 ** (times - 1)) * share)


def _reply(answer: Any, asked: Asked, start: float) -> Reply:
    """The first choice of an answer, with the seconds it took since `start`.

    Raises:
        JudgeServerError: Something that is no completion, such as a page in HTML.
    """
    choices = answer.get("choices") if isinstance(answer, Mapping) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
        raise JudgeServerError(
            "the judge's server answered without a choice" if isinstance(answer, Mapping) else
            "the judge's server answered with something that is no completion",
            where=asked.where, found=asked.clean(str(answer)[:200]), hint="check base_url, which usually ends with /v1",
        )  # fmt: skip
    told = hide_in({name: value for name, value in message.items() if value is not None}, [asked.key])
    took = {"finish_reason": choice.get("finish_reason"), "seconds": time.perf_counter() - start}
    return Reply(str(told.get("content") or ""), _usage(answer), {**told, **took})


def _usage(answer: Mapping[str, Any]) -> Usage | None:
    told = answer.get("usage")
    if not isinstance(told, Mapping):
        return None
    cost = told.get("cost")
    paid = float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None
    return Usage(_count(told.get("prompt_tokens")), _count(told.get("completion_tokens")), paid)


def _count(told: Any) -> int:
    return told if isinstance(told, int) and not isinstance(told, bool) and told > 0 else 0
