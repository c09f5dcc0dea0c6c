"""Batching of many requests through one reward: small requests that arrive together are graded together.

Each gets its response as soon as its own rows are graded, regardless of the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.deploy.reward import Reward
from workbench.deploy.reward.grading import Early, RewardGrades
from workbench.deploy.reward.rows import RewardRow, row_of, with_column
from workbench.deploy.serve.limits import RequestError
from workbench.deploy.serve.wire_form import Outcomes
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
        try:
            rows = [row for request in group for row in request.rows]
            early = _answers(group) if len(group) > 1 else None
            outcomes = await self._grade(rows, early)
        except Exception as error:  # noqa: BLE001 (raised in the waiting requests)
            for request in group:
                if not request.future.done():
                    request.future.set_exception(error)
            return
        _answer(group, outcomes, np.ones(len(rows), bool))


def _answers(group: Sequence[_ScoringRequest]) -> _Early:
    return lambda outcomes: _answer(group, outcomes, outcomes.graded.known)


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
