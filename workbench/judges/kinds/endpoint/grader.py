"""The endpoint grader: a service of the user's own that scores threads, by Adaptive's reward-server protocol."""

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

from workbench import background
from workbench.errors import WorkbenchError
from workbench.grade import ErrorKind, Grade
from workbench.graders.base import Control, Grader, kind, made_samples
from workbench.grades import Grades
from workbench.judges.asking.settings import check_setting
from workbench.judges.base import refuse_unless
from workbench.judges.client.url_policy import service_sha256, stands_inside, untrusted
from workbench.judges.kinds.endpoint.reward_server import (
    EndpointError,
    Stopped,
    Terms,
    Wire,
    check_header,
    check_url,
    connected,
    route,
)
from workbench.judges.redaction import hide, hide_in
from workbench.samples import Sample, Samples
from workbench.sandbox.host.validation import mock_thread
from workbench.templates.values import plain_values

__all__ = ["Endpoint", "EndpointInfo"]

_ROWS = 32
"""Rows of one batch."""

_wire: ContextVar[Wire | None] = ContextVar("wire", default=None)


@dataclass(frozen=True)
class EndpointInfo:
    """What a service says of itself.

    Attributes:
        version: Of the protocol or the service, as it says.
        name: Of the service.
        description: What it scores.
    """

    version: str
    name: str
    description: str


@kind("endpoint")
@dataclass(frozen=True, kw_only=True)
class Endpoint(Grader):
    """The reward a service gives: any finite number.

    One row is `POST {url}/score` of `{turns, metadata, id}`, answered by `{reward, metadata, id}`; a batch is
    `POST {url}/batch_score` of `{requests: [...]}`, answered by `{responses: [...]}` in the same order. The answer's
    `metadata.reason` is the reasoning; keys beyond the protocol's are passed over.

    Only the address as it is typed is asked, private ones included: redirects are refused, and proxies and logins of
    the environment are not used. An answer may have 8 MiB; NaN and infinities are refused.

    A connection that fails or breaks, and the statuses 429, 502, 503 and 504, are tried again, after the time the
    service asks for in `Retry-After` (60 s at most), else after 0.2 s, 0.4 s and so on. So one row may reach the
    service twice. A request that takes too long is not repeated: the service may still be at work on it.

    One that came from a file or a store is *imported*: until it is trusted it is refused where a header reads the
    environment, and where its address, or what its name resolves to, is of this machine or its network.

    Attributes:
        url: http or https, without a name or password in it.
        headers: More headers. A value that starts with $ is read from that environment variable when it is sent;
            headers that look like keys must be given so.
        timeout: Seconds a request may take, 3,600 at most.
        batch: Whether many rows go in one request.
        max_retries: How often a request is tried again, 20 at most.
        imported: Whether somebody else wrote it.
        trusted_sha256: Hash of the url and headers that were trusted; "" for none.

    Error kinds: endpoint, timeout, sample, cancelled.

    Source: Adaptive's reward servers.
    """

    url: str = field(kw_only=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 30.0
    batch: bool = False
    max_retries: int = 2
    imported: bool = field(default=False, compare=False)
    trusted_sha256: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_url(self.url)
        check_setting("timeout", self.timeout)
        check_setting("max_retries", self.max_retries)
        refuse_unless(isinstance(self.headers, Mapping), "headers must be a dict of texts", self.headers)
        object.__setattr__(self, "headers", dict(self.headers))
        for name, value in self.headers.items():
            check_header(name, value)

    @property
    def trust(self) -> bool:
        """Whether this very address with these very headers was trusted."""
        return self.trusted_sha256 == service_sha256(self.url, self.headers)

    def trusted(self) -> Self:
        """The same endpoint, which may be sent what its headers name, wherever it is."""
        return replace(self, trusted_sha256=service_sha256(self.url, self.headers))

    def as_imported(self, *, trust: bool = False) -> Self:
        """The same endpoint as somebody else's."""
        marked = replace(self, imported=True, trusted_sha256="")
        return marked.trusted() if trust else marked

    def check_ready(self) -> None:
        """Refuse an imported endpoint nobody trusted, and a header whose environment variable is not set.

        Raises:
            IsolationError: It came from a file, and would be sent secrets or reach into this network.
            WorkbenchError: With the variable's name.
        """
        self._require_trust()
        self._headers()

    @property
    def _open(self) -> bool:
        """Whether it may be sent everything, wherever it is."""
        return not self.imported or self.trust

    def _require_trust(self) -> None:
        if self._open:
            return
        if names := sorted({value[1:] for value in self.headers.values() if value.startswith("$")}):
            what = f"endpoint {self.name!r} came from a file or a store and would be sent values of your environment"
            raise untrusted(what, self.url, f"the values of {', '.join(names)} would be sent to {self.url}")
        if stands_inside(self.url):
            what = f"endpoint {self.name!r} came from a file or a store and would send rows into your own network"
            raise untrusted(what, self.url, "an address of this machine or its network")

    def info(self) -> EndpointInfo:
        """What the service says of itself at `GET {url}/info`; nothing is scored.

        Raises:
            EndpointError: No answer, or not the protocol's.
            TimeoutError: No answer in time.
        """
        return background.run(self._info())

    def test(self) -> Grade:
        """The grade of the mock thread (user "What is 2+2?", assistant "4"): whether the service can be used."""
        return self(mock_thread())

    async def _info(self) -> EndpointInfo:
        told = await self._ask("GET", "info")
        if not isinstance(told, Mapping):
            raise EndpointError(
                "the endpoint's info has the wrong shape", found=str(told)[:200],
                expected='{"version": ..., "name": ..., "description": ...}',
            )  # fmt: skip
        parts = [told.get(key) for key in ("version", "name", "description")]
        return EndpointInfo(*("" if part is None else str(part)[:2000] for part in parts))

    def _headers(self) -> dict[str, str]:
        missing = [
            value[1:]
            for value in self.headers.values()
            if value.startswith("$") and value[1:] not in os.environ
        ]
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
        """One row, one request."""
        start = time.perf_counter()
        try:
            answer = await self._ask("POST", "score", _request(sample))
            return _graded(answer, sample.id, time.perf_counter() - start)
        except (TimeoutError, Stopped, WorkbenchError) as error:
            return self._failed(error)

    def _failed(self, error: Exception) -> Grade:
        if isinstance(error, TimeoutError):
            return Grade.failed(ErrorKind.TIMEOUT, f"no answer from the endpoint within {self.timeout:g} s")
        if isinstance(error, Stopped):
            return Grade.failed(ErrorKind.CANCELLED, "the run was stopped before the endpoint answered")
        return Grade.failed(ErrorKind.ENDPOINT, str(error))

    async def grade_all(self, samples: Samples, control: Control) -> Grades:
        """Row by row, or in batches; over one set of connections."""
        async with self._connected(control.cancel):
            return await (
                self._batches(samples, control) if self.batch else super().grade_all(samples, control)
            )

    @asynccontextmanager
    async def _connected(self, cancel: threading.Event | None = None) -> AsyncIterator[Wire]:
        """The run's connections, or new ones for a single row."""
        if (wire := _wire.get()) is not None:
            yield wire
            return
        async with connected(cancel) as wire:
            token = _wire.set(wire)
            try:
                yield wire
            finally:
                _wire.reset(token)

    async def _batches(self, samples: Samples, control: Control) -> Grades:
        grades = Grades.empty(len(samples))
        failed = done = 0
        for start in range(0, len(samples), _ROWS):
            if control.cancel.is_set():
                break
            rows = range(start, min(start + _ROWS, len(samples)))
            for row, grade in (await self._batch(samples, rows)).items():
                grades.put(row, grade)
                done, failed = done + 1, failed + (row in grades.errors)
            if control.on_rows:
                control.on_rows(done, failed)
        grades.finish()
        return grades

    async def _batch(self, samples: Samples, rows: range) -> dict[int, Grade]:
        made = dict(zip(rows, await asyncio.to_thread(made_samples, samples, rows), strict=True))
        result = {
            row: Grade.failed(ErrorKind.SAMPLE, one) for row, one in made.items() if isinstance(one, str)
        }
        asked = [(row, one) for row, one in made.items() if isinstance(one, Sample)]
        start = time.perf_counter()
        try:
            answers = await self._many([sample for _, sample in asked])
            seconds = (time.perf_counter() - start) / max(1, len(asked))
            for (row, sample), answer in zip(asked, answers, strict=True):
                result[row] = _safely(answer, sample.id, seconds)
        except (TimeoutError, Stopped, WorkbenchError) as error:
            result |= {row: self._failed(error) for row, _ in asked}
        return result

    async def _many(self, samples: list[Sample]) -> list[Any]:
        if not samples:
            return []
        body = {"requests": [_request(sample) for sample in samples]}
        answer = await self._ask("POST", "batch_score", body)
        answers = answer.get("responses") if isinstance(answer, Mapping) else None
        if not isinstance(answers, list) or len(answers) != len(samples):
            found = f"{len(answers)} responses" if isinstance(answers, list) else type(answers).__name__
            raise EndpointError(
                "the endpoint's answer has the wrong shape", found=found, expected=f"{len(samples)} responses"
            )
        return answers

    async def _ask(self, method: str, name: str, body: Any = None) -> Any:
        self._require_trust()
        typed = {"content-type": "application/json"} if method == "POST" else {}
        headers = {**typed, **self._headers()}
        terms = Terms(self.timeout, self.max_retries + 1, public=not self._open)
        async with self._connected() as wire:
            try:
                told = await wire.ask(method, route(self.url, name), body=body, headers=headers, terms=terms)
            except EndpointError as error:
                found = hide(error.found, self._secrets())
                raise EndpointError(error.what, where=error.where, found=found, hint=error.hint) from None
        return hide_in(told, self._secrets())

    def _secrets(self) -> list[str]:
        """Values out of the environment, which a service may repeat: whole, and the part behind "Bearer"."""
        given = [os.environ.get(value[1:], "") for value in self.headers.values() if value.startswith("$")]
        return [*given, *(part for value in given for part in value.split() if len(part) >= 8)]


def _request(sample: Sample) -> dict[str, Any]:
    turns = [{"role": turn.role, "content": turn.content} for turn in sample.thread.get_turns()]
    held = sample.thread.metadata
    metadata = (
        plain_values({str(name): value for name, value in held.items()}) if isinstance(held, Mapping) else {}
    )
    return {"turns": turns, "metadata": _json_safe(metadata), "id": sample.id}


def _json_safe(metadata: dict[str, Any]) -> dict[str, Any]:
    try:
        json.dumps(metadata, allow_nan=False)
    except (ValueError, TypeError) as error:
        raise EndpointError("the row's metadata cannot be sent as JSON", found=str(error)) from None
    return metadata


def _safely(answer: Any, row_id: str, seconds: float) -> Grade:
    try:
        return _graded(answer, row_id, seconds)
    except WorkbenchError as error:
        return Grade.failed(ErrorKind.ENDPOINT, str(error))


def _graded(answer: Any, row_id: str, seconds: float) -> Grade:
    reward = answer.get("reward") if isinstance(answer, Mapping) else None
    if isinstance(reward, bool) or not isinstance(reward, int | float):
        raise EndpointError(
            "the endpoint's answer has no reward", found=str(answer)[:200], expected='{"reward": 0.5, ...}'
        )
    if answer.get("id", row_id) not in (row_id, None):
        raise EndpointError(
            "the endpoint answered for another row", found=str(answer["id"])[:80], expected=row_id
        )
    told = answer.get("metadata")
    metadata = dict(told) if isinstance(told, Mapping) else {}
    reason = metadata.get("reason")
    try:
        return Grade(
            reward, reasoning=None if reason is None else str(reason), metadata=metadata, seconds=seconds
        )
    except (ValueError, OverflowError) as error:
        raise EndpointError("the endpoint's reward is no finite number", found=str(error)) from None
