"""The endpoint grader: a service of the user's own that scores threads, by Adaptive's reward-server protocol."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from workbench.columns import Grades
from workbench.dialects.values import plain_values
from workbench.errors import FormatError, WorkbenchError
from workbench.grade import ErrorKind, Grade
from workbench.graders.base import Control, Grader, kind, made_samples
from workbench.judges.base import refuse_unless
from workbench.samples import Sample, Samples

__all__ = ["Endpoint"]

MAX_ANSWER = 8 * 2**20
"""Bytes of an answer that are read."""

_ROWS = 32
"""Rows of one batch."""

_AT_ONCE = 8
"""Requests at once. Upstream opens 32 connections, which a plain development server answers with resets."""

_SECRET = re.compile(r"auth|key|token|secret|cookie|password|signature", re.IGNORECASE)


@dataclass(frozen=True)
class _Line:
    """Connections, and how many may be in use."""

    client: Any
    room: asyncio.Semaphore


_line: ContextVar[_Line | None] = ContextVar("line", default=None)


class EndpointError(WorkbenchError):
    """The service did not answer as the protocol says."""


@kind("endpoint")
@dataclass(frozen=True, kw_only=True)
class Endpoint(Grader):
    """The reward a service gives: any finite number.

    One row is `POST {url}/score` of `{turns, metadata, id}`, answered by `{reward, metadata, id}`; a batch is
    `POST {url}/batch_score` of `{requests: [...]}`, answered by `{responses: [...]}` in the same order. The answer's
    `metadata.reason` is the reasoning. Redirects are not followed.

    Attributes:
        url: http or https, without a name or password in it.
        headers: More headers. A value that starts with $ is read from that environment variable when it is sent;
            headers that look like keys must be given so.
        timeout: Seconds a request may take.
        batch: Whether many rows go in one request.

    Error kinds: endpoint, timeout, sample.

    Source: Adaptive's reward servers.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 30.0
    batch: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_url(self.url)
        right = (
            isinstance(self.timeout, int | float) and not isinstance(self.timeout, bool) and self.timeout > 0
        )
        refuse_unless(right, "timeout must be above 0 seconds", self.timeout)
        refuse_unless(isinstance(self.headers, Mapping), "headers must be a dict of texts", self.headers)
        object.__setattr__(self, "headers", dict(self.headers))
        for name, value in self.headers.items():
            _check_header(name, value)

    def check_ready(self) -> None:
        """Raise if a header's environment variable is not set."""
        self._headers()

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
            answer = await self._post("score", _request(sample))
            return _graded(answer, sample.id, time.perf_counter() - start)
        except TimeoutError:
            return Grade.failed(ErrorKind.TIMEOUT, f"no answer from the endpoint within {self.timeout:g} s")
        except WorkbenchError as error:
            return Grade.failed(ErrorKind.ENDPOINT, str(error))

    async def grade_all(self, samples: Samples, control: Control) -> Grades:
        """Row by row, or in batches; over one set of connections."""
        async with self._connected():
            return await (
                self._batches(samples, control) if self.batch else super().grade_all(samples, control)
            )

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[_Line]:
        """The run's connections, or new ones for a single row."""
        import httpx

        if (line := _line.get()) is not None:
            yield line
            return
        async with httpx.AsyncClient(follow_redirects=False, timeout=self.timeout) as client:
            line = _Line(client, asyncio.Semaphore(_AT_ONCE))
            token = _line.set(line)
            try:
                yield line
            finally:
                _line.reset(token)

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
        except TimeoutError:
            why = f"no answer from the endpoint within {self.timeout:g} s"
            result |= {row: Grade.failed(ErrorKind.TIMEOUT, why) for row, _ in asked}
        except WorkbenchError as error:
            result |= {row: Grade.failed(ErrorKind.ENDPOINT, str(error)) for row, _ in asked}
        return result

    async def _many(self, samples: list[Sample]) -> list[Any]:
        if not samples:
            return []
        answer = await self._post("batch_score", {"requests": [_request(sample) for sample in samples]})
        answers = answer.get("responses") if isinstance(answer, Mapping) else None
        if not isinstance(answers, list) or len(answers) != len(samples):
            found = f"{len(answers)} responses" if isinstance(answers, list) else type(answers).__name__
            raise EndpointError(
                "the endpoint's answer has the wrong shape", found=found, expected=f"{len(samples)} responses"
            )
        return answers

    async def _post(self, route: str, body: dict[str, Any]) -> Any:
        import httpx

        sent = json.dumps(body, ensure_ascii=True).encode()
        headers = {"content-type": "application/json", **self._headers()}
        try:
            async with self._connected() as line, line.room, asyncio.timeout(self.timeout):
                address = _address(self.url, route)
                async with line.client.stream("POST", address, content=sent, headers=headers) as answer:
                    return _read(answer.status_code, await _body(answer))
        except httpx.TimeoutException:
            raise TimeoutError from None
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, OSError) as error:
            if isinstance(error, TimeoutError):
                raise
            found = f"{type(error).__name__}: {error}"[:300]
            raise EndpointError("the endpoint did not answer", where=self.url, found=found) from None


async def _body(answer: Any) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in answer.aiter_bytes():
        size += len(part)
        if size > MAX_ANSWER:
            raise EndpointError(
                "the endpoint's answer is too large", expected=f"at most {MAX_ANSWER:,} bytes"
            )
        parts.append(part)
    return b"".join(parts)


def _read(status: int, body: bytes) -> Any:
    if status != 200:
        shown = body[:200].decode("utf-8", "replace")
        hint = "redirects are not followed; give the final address" if 300 <= status < 400 else ""
        raise EndpointError(f"the endpoint answered with status {status}", found=shown, hint=hint)
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        shown = body[:200].decode("utf-8", "replace")
        raise EndpointError("the endpoint's answer is no JSON", found=shown) from None


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
    except ValueError as error:
        raise EndpointError("the endpoint's reward is no finite number", found=str(error)) from None


def _address(url: str, route: str) -> str:
    base = re.sub(r"/(batch_score|score)?/*\Z", "", url)
    return f"{base}/{route}"


def _check_url(url: Any) -> None:
    refuse_unless(isinstance(url, str), "url must be text", url)
    try:
        parts = urlsplit(url)
        host, named = parts.hostname, parts.username or parts.password
        parts.port  # noqa: B018 (refuses a port that is none)
    except ValueError as error:
        raise FormatError("url is no address", found=str(error)) from None
    refuse_unless(
        parts.scheme in {"http", "https"} and host,
        "url must be an http or https address",
        url,
        "https://host/path",
    )
    refuse_unless(
        not named, "url may hold no name or password", "", "headers, with values from the environment"
    )
    refuse_unless(
        not parts.query and not parts.fragment, "url may have no query: the routes are put behind it", url
    )


def _check_header(name: Any, value: Any) -> None:
    refuse_unless(isinstance(name, str) and isinstance(value, str), "headers must be texts", name)
    refuse_unless(re.fullmatch(r"[\w!#$%&'*+.^`|~-]+", name, re.ASCII), "this is no header's name", name)
    refuse_unless(value.isprintable() and value.isascii(), f"header {name!r} must be one line of ASCII")
    if _SECRET.search(name) and not value.startswith("$"):
        raise FormatError(
            f"header {name!r} looks like a secret, which no file may hold", expected="$NAME of an environment variable",
            hint=f"set the variable, and write headers={{{name!r}: '$NAME'}}",
        )  # fmt: skip
