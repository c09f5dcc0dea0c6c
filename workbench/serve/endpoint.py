"""One request of a wire form on its way: read, admitted, graded, answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from workbench.errors import SandboxError
from workbench.rewards.rows import Row
from workbench.serve.admission import Admission
from workbench.serve.errors import RequestError, stopping
from workbench.serve.fields import parsed
from workbench.serve.http import Receive, Scope, Send, read_body, send_json
from workbench.serve.observed import LOG, SEEN
from workbench.serve.outcomes import NOTHING, Outcomes
from workbench.serve.scoring import Scoring
from workbench.serve.settings import Limits
from workbench.serve.wire_form import WireForm

__all__ = ["Endpoint"]


class Endpoint:
    """A wire form at its path.

    Args:
        form: How rows come in and grades go out.
        scoring: What grades.
        admission: How much is held at once.
        limits: How much one request may have.
        log_rows: Whether what was sent goes into the log.
    """

    def __init__(
        self,
        form: WireForm,
        scoring: Scoring,
        admission: Admission,
        limits: Limits,
        *,
        log_rows: bool = False,
    ) -> None:
        self._form, self._scoring, self._admission = form, scoring, admission
        self._limits, self._log_rows = limits, log_rows

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request.

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
        await send_json(send, answer)

    async def _answered(self, scope: Scope, receive: Receive, only: str, doing: list[str | int]) -> Any:
        """The answer; `doing` says what takes so long, and the status where it takes too long."""
        body = await read_body(scope, receive, self._admission, most=self._limits.max_bytes)
        doing[:] = ["the rows were not graded", 504]
        try:
            return await self._answer(parsed(body), scope, only)
        finally:
            self._admission.drop(len(body))

    async def _answer(self, value: Any, scope: Scope, only: str) -> Any:
        rows = self._form.read(value)
        scope[SEEN]["rows"] = len(rows)
        if len(rows) > self._limits.max_rows:
            message = (
                f"{len(rows):,} rows, and one request may have {self._limits.max_rows:,}; send fewer at once"
            )
            raise RequestError(413, "too_many_rows", message, max_rows=self._limits.max_rows)
        if self._log_rows:
            LOG.info("asked %s: %s", self._form.path, json.dumps(value))
        if not rows:
            return self._form.write(value, rows, NOTHING)
        with self._admission.of_rows(len(rows)):
            outcomes = await self._graded(rows, only)
        return self._form.write(value, rows, outcomes)

    async def _graded(self, rows: Sequence[Row], only: str) -> Outcomes:
        try:
            outcomes = await self._scoring.score(rows, only=only)
        except SandboxError as error:
            LOG.error("the sandbox: %s", error.what)
            raise RequestError(503, "sandbox", f"the sandbox cannot work: {error.what}") from None
        if outcomes.cut_off:
            raise stopping()
        return outcomes
