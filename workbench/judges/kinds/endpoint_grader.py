"""The endpoint grader: a user's service that scores threads, by Adaptive's reward-server protocol."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Self

from workbench.core import background
from workbench.core.errors import WorkbenchError
from workbench.core.grade import ErrorKind, Grade
from workbench.core.grades import Grades
from workbench.data.samples import Sample, Samples
from workbench.data.templates.values import plain_values
from workbench.graders.arguments import HANDLING, LIMIT
from workbench.graders.base import Grader, kind
from workbench.graders.concurrent_rows import Control
from workbench.judges.kinds.endpoint_connection import (
    SECRET_NAME,
    EndpointError,
    RequestPolicy,
    RewardServerConnection,
    RunStoppedError,
    check_header,
    check_url,
    is_internal,
    open_connection,
    route_url,
    service_sha256,
    untrusted_error,
)
from workbench.judges.protocol import check_setting, refuse_unless
from workbench.judges.response import hide_secrets, hide_secrets_in_data, keys_in_use, register_key_variable
from workbench.sandbox.host.validation import mock_thread

_BATCH_ROWS = 32
"""Rows sent in one request. Workbench default."""

_connection: ContextVar[RewardServerConnection | None] = ContextVar("connection", default=None)
"""The connection that all rows of this task's run share."""


@dataclass(frozen=True)
class EndpointInfo:
    """A service's description of itself.

    Attributes:
        version: The version of the protocol or the service.
        name: The service's name.
        description: What it scores.
    """

    version: str
    name: str
    description: str


@kind("endpoint", family="remote")
@dataclass(frozen=True, kw_only=True)
class Endpoint(Grader):
    """The reward that a service returns: any finite number.

    One row is `POST {url}/score` of `{turns, metadata, id}`; the response is `{reward, metadata, id}`. A batch is
    `POST {url}/batch_score` of `{requests: [...]}`; the response is `{responses: [...]}` in the same order. The response's
    `metadata.reason` is the reasoning; keys beyond the protocol's are ignored.

    Only the address as typed is called, private ones included: redirects are rejected, and the environment's proxies
    and .netrc logins are not used. A response may have 8 MiB; NaN and infinities are rejected.

    After a connection that fails or breaks, and after the statuses 429, 502, 503 and 504, the request is retried: after
    the time that the service requests in `Retry-After` (at most 60 s), else after 0.2 s, 0.4 s and so on. So a row may
    reach the service twice. A request that times out is not retried: the service may still be at work.

    An endpoint from a file or a store is *imported*: until it is trusted it is rejected if a header reads the
    environment, or if its address, or what its name resolves to, belongs to this machine or its network.

    Attributes:
        url: http or https, without a name or password in it.
        headers: Further headers. A value that starts with $ is read from that environment variable when it is sent;
            headers that look like keys must be given in this way.
        timeout: Seconds a request may take, up to 3,600.
        batch: Whether many rows are sent in one request.
        max_retries: Retries of a request, up to 20.
        imported: Whether it comes from a file or store and so is untrusted.
        trusted_sha256: Hash of the url and headers that were trusted; "" for none.

    Error kinds: endpoint, timeout, sample, cancelled.

    Source: Adaptive's reward servers.
    """

    url: str = field(kw_only=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float = field(default=30.0, metadata=LIMIT)
    batch: bool = field(default=False, metadata=LIMIT)
    max_retries: int = field(default=2, metadata=HANDLING)
    imported: bool = field(default=False, compare=False, metadata=HANDLING)
    trusted_sha256: str = field(default="", compare=False, metadata=HANDLING)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_url(self.url)
        check_setting("timeout", self.timeout)
        check_setting("max_retries", self.max_retries)
        refuse_unless(isinstance(self.headers, Mapping), "headers must be a dict of texts", self.headers)
        object.__setattr__(self, "headers", dict(self.headers))
        for name, value in self.headers.items():
            check_header(name, value)

    @classmethod
    def imported_sha256(cls, spec: Mapping[str, Any]) -> str:
        """SHA-256 of the address and the headers."""
        return service_sha256(spec.get("url"), spec.get("headers", {}))

    @property
    def trust(self) -> bool:
        """Whether exactly this address with these headers is trusted."""
        return self.trusted_sha256 == service_sha256(self.url, self.headers)

    def trusted(self) -> Self:
        """The same endpoint, trusted: it may get what its headers name, and be at any address."""
        return replace(self, trusted_sha256=service_sha256(self.url, self.headers))

    def as_imported(self, *, trust: bool = False) -> Self:
        """The same endpoint, marked as imported."""
        imported = replace(self, imported=True, trusted_sha256="")
        return imported.trusted() if trust else imported

    def check_ready(self) -> None:
        """Reject an imported endpoint that is not trusted, and a header whose environment variable is not set.

        Raises:
            IsolationError: It came from a file, and would get secrets or reach into this network.
            WorkbenchError: It names the variable.
        """
        self._require_trust()
        self._resolved_headers()

    @property
    def _is_trusted(self) -> bool:
        """Whether it may get secrets and be at any address."""
        return not self.imported or self.trust

    def _require_trust(self) -> None:
        if self._is_trusted:
            return
        if names := sorted({value[1:] for value in self.headers.values() if value.startswith("$")}):
            message = f"endpoint {self.name!r} came from a file or a store and would be sent values of your environment"
            raise untrusted_error(
                message, self.url, f"the values of {', '.join(names)} would be sent to {self.url}"
            )
        if is_internal(self.url):
            message = f"endpoint {self.name!r} came from a file or a store and would send rows into your own network"
            raise untrusted_error(message, self.url, "an address of this machine or its network")

    def info(self) -> EndpointInfo:
        """The service's description of itself at `GET {url}/info`; nothing is scored.

        Raises:
            EndpointError: There is no response, or it does not follow the protocol.
            TimeoutError: There is no response in time.
        """
        return background.run(self._info())

    def test(self) -> Grade:
        """The grade of the mock thread (user "What is 2+2?", assistant "4"), which shows whether the service works."""
        return self(mock_thread())

    async def _info(self) -> EndpointInfo:
        answer = await self._ask("GET", "info")
        if not isinstance(answer, Mapping):
            raise EndpointError(
                "the endpoint's info has the wrong shape", found=str(answer)[:200],
                expected='{"version": ..., "name": ..., "description": ...}',
            )  # fmt: skip
        parts = [answer.get(key) for key in ("version", "name", "description")]
        return EndpointInfo(*("" if part is None else str(part)[:2000] for part in parts))

    def _resolved_headers(self) -> dict[str, str]:
        variables = [value[1:] for value in self.headers.values() if value.startswith("$")]
        for name, value in self.headers.items():
            # Others, such as the name of a stage, are common in completions.
            if value.startswith("$") and (SECRET_NAME.search(name) or SECRET_NAME.search(value)):
                register_key_variable(value[1:])
        missing = [variable for variable in variables if variable not in os.environ]
        if missing:
            raise WorkbenchError(
                "the endpoint needs a value from the environment",
                expected=f"the environment variable {missing[0]}",
            )
        return {
            name: os.environ[value[1:]] if value.startswith("$") else value
            for name, value in self.headers.items()
        }

    async def grade(self, sample: Sample) -> Grade:
        """See `Grader.grade`: one request for one row."""
        start = time.perf_counter()
        try:
            answer = await self._ask("POST", "score", _request_body(sample))
            return _grade_of(answer, sample.id, time.perf_counter() - start)
        except (TimeoutError, RunStoppedError, WorkbenchError) as error:
            return self._failed_grade(error)

    def _failed_grade(self, error: Exception) -> Grade:
        if isinstance(error, TimeoutError):
            return Grade.failed(ErrorKind.TIMEOUT, f"no response from the endpoint within {self.timeout:g} s")
        if isinstance(error, RunStoppedError):
            return Grade.failed(ErrorKind.CANCELLED, "the run was stopped before the endpoint responded")
        return Grade.failed(ErrorKind.ENDPOINT, str(error))

    async def grade_all(self, samples: Samples, control: Control) -> Grades:
        """See `Grader.grade_all`: row by row or in batches, over one connection."""
        async with self._shared_connection(control.cancel):
            return await (
                self._grade_batches(samples, control) if self.batch else super().grade_all(samples, control)
            )

    @asynccontextmanager
    async def _shared_connection(
        self, cancel: threading.Event | None = None
    ) -> AsyncIterator[RewardServerConnection]:
        """The run's connection, or a new one for a single row."""
        if (connection := _connection.get()) is not None:
            yield connection
            return
        async with open_connection(cancel) as connection:
            token = _connection.set(connection)
            try:
                yield connection
            finally:
                _connection.reset(token)

    async def _grade_batches(self, samples: Samples, control: Control) -> Grades:
        grades = Grades.empty(len(samples))
        failed = done = 0
        for start in range(0, len(samples), _BATCH_ROWS):
            if control.cancel.is_set():
                break
            rows = range(start, min(start + _BATCH_ROWS, len(samples)))
            for row, grade in (await self._grade_batch(samples, rows)).items():
                grades.put(row, grade)
                done, failed = done + 1, failed + (row in grades.errors)
            control.progress(done, failed, grades)
        grades.finish()
        return grades

    async def _grade_batch(self, samples: Samples, rows: range) -> dict[int, Grade]:
        # In a thread: building samples may take long, and the event loop serves other graders too.
        outcomes = dict(zip(rows, await asyncio.to_thread(samples[rows.start : rows.stop].read), strict=True))
        grades = {
            row: Grade.failed(ErrorKind.SAMPLE, outcome)
            for row, outcome in outcomes.items()
            if isinstance(outcome, str)
        }
        valid_rows = [(row, outcome) for row, outcome in outcomes.items() if isinstance(outcome, Sample)]
        start = time.perf_counter()
        try:
            answers = await self._ask_batch([sample for _, sample in valid_rows])
            # The service reports no time of its rows, so each gets an equal part.
            seconds = (time.perf_counter() - start) / max(1, len(valid_rows))
            for (row, sample), answer in zip(valid_rows, answers, strict=True):
                grades[row] = _grade_or_failure(answer, sample.id, seconds)
        except (TimeoutError, RunStoppedError, WorkbenchError) as error:
            grades |= {row: self._failed_grade(error) for row, _ in valid_rows}
        return grades

    async def _ask_batch(self, samples: list[Sample]) -> list[Any]:
        if not samples:
            return []
        body = {"requests": [_request_body(sample) for sample in samples]}
        answer = await self._ask("POST", "batch_score", body)
        answers = answer.get("responses") if isinstance(answer, Mapping) else None
        if not isinstance(answers, list) or len(answers) != len(samples):
            found = f"{len(answers)} responses" if isinstance(answers, list) else type(answers).__name__
            raise EndpointError(
                "the endpoint's response has the wrong shape",
                found=found,
                expected=f"{len(samples)} responses",
            )
        return answers

    async def _ask(self, method: str, route: str, body: Any = None) -> Any:
        self._require_trust()
        content_type = {"content-type": "application/json"} if method == "POST" else {}
        headers = {**content_type, **self._resolved_headers()}
        policy = RequestPolicy(self.timeout, self.max_retries + 1, public_only=not self._is_trusted)
        async with self._shared_connection() as connection:
            try:
                answer = await connection.ask(
                    method, route_url(self.url, route), body=body, headers=headers, policy=policy
                )
            except EndpointError as error:
                found = hide_secrets(error.found, keys_in_use())[:300]
                raise EndpointError(error.what, where=error.where, found=found, hint=error.hint) from None
        return hide_secrets_in_data(answer, keys_in_use())


def _request_body(sample: Sample) -> dict[str, Any]:
    turns = [{"role": turn.role, "content": turn.content} for turn in sample.thread.get_turns()]
    columns = sample.thread.metadata
    metadata = (
        plain_values({str(name): value for name, value in columns.items()})
        if isinstance(columns, Mapping)
        else {}
    )
    return {"turns": turns, "metadata": _require_json(metadata), "id": sample.id}


def _require_json(metadata: dict[str, Any]) -> dict[str, Any]:
    try:
        json.dumps(metadata, allow_nan=False)
    except (ValueError, TypeError) as error:
        raise EndpointError("the row's metadata cannot be sent as JSON", found=str(error)) from None
    return metadata


def _grade_or_failure(answer: Any, row_id: str, seconds: float) -> Grade:
    try:
        return _grade_of(answer, row_id, seconds)
    except WorkbenchError as error:
        return Grade.failed(ErrorKind.ENDPOINT, str(error))


def _grade_of(answer: Any, row_id: str, seconds: float) -> Grade:
    reward = answer.get("reward") if isinstance(answer, Mapping) else None
    if isinstance(reward, bool) or not isinstance(reward, int | float):
        raise EndpointError(
            "the endpoint's response has no reward", found=str(answer)[:200], expected='{"reward": 0.5, ...}'
        )
    if answer.get("id", row_id) not in (row_id, None):
        raise EndpointError(
            "the endpoint's response is for another row", found=str(answer["id"])[:80], expected=row_id
        )
    answer_metadata = answer.get("metadata")
    metadata = dict(answer_metadata) if isinstance(answer_metadata, Mapping) else {}
    reason = metadata.get("reason")
    try:
        return Grade(
            reward, reasoning=None if reason is None else str(reason), metadata=metadata, seconds=seconds
        )
    except (ValueError, OverflowError) as error:
        raise EndpointError("the endpoint's reward is not a finite number", found=str(error)) from None
