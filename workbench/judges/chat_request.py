"""One request for a chat completion: its concurrency limit, its retries, in a simpler format if necessary, and its reply."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.core.user_functions import attempt_async
from workbench.graders.concurrent_rows import in_second_pass
from workbench.judges.budget import TYPICAL_IMAGE_CHARACTERS, answer_limit, without_images
from workbench.judges.judge_run import check_running, count_as_waiting, server_state
from workbench.judges.protocol import JudgeServerError, NoServerError, Reply, Usage
from workbench.judges.rate_limit import RateLimit, rate_window
from workbench.judges.request_headers import RequestExtras
from workbench.judges.response import (
    RequestFailedError,
    RequestFault,
    RequestTarget,
    fault_of,
    hide_secrets_in_reply,
    refusal_fault,
)
from workbench.judges.responses_api import APIS, capabilities_key, chat_completion, response_request
from workbench.judges.server import (
    Capabilities,
    Connection,
    ServerState,
    capabilities_of,
    fallbacks,
    format_index,
    is_server_failure,
)
from workbench.judges.spending import charge_failed_try, reserve_next_try

_FIRST_WAIT, _MAX_WAIT_SECONDS = 0.5, 8.0
"""Seconds before the second try, and the maximum after doubling. Source: the openai package."""
_OVERLOAD_WAIT = 0.1
"""Seconds before the second try if the server was overloaded. Workbench default: the adaptive limit has already lowered the
load, so there is room sooner than after another fault."""
_SHORTEST_WAIT = 0.05
"""Seconds, if an overloaded server reports that no wait is needed. Workbench default."""
_TRIES_UNREACHED = 2
"""Retries while the server has never replied. Workbench default: a wrong address should be reported soon."""


@dataclass
class _RetryState:
    """The tries of one request so far. Formats are indices into `server.FORMATS`.

    Attributes:
        max_retries: Tries after the first, for transient faults.
        patience: Total seconds to wait for a server that is overloaded or unreachable.
        refused_formats: Formats that were rejected for this request.
        doubtful_formats: Those among them for which the server failed, for any reason.
        failed_formats: Formats in which a try failed and the same format is tried again.
        retries: Retries after transient faults so far.
        waits: Waits for an overloaded or unreachable server so far.
    """

    max_retries: int
    patience: float
    refused_formats: set[int] = field(default_factory=set)
    doubtful_formats: set[int] = field(default_factory=set)
    failed_formats: set[int] = field(default_factory=set)
    retries: int = 0
    waits: int = 0
    _first_wait_at: float | None = None

    def wait_seconds(self, fault: RequestFault, *, reached: bool, outage: bool) -> float | None:
        """Seconds until the next try; None if there is none.

        Args:
            fault: What went wrong.
            reached: Whether the server ever replied.
            outage: Whether it replied in this run and is unreachable now.
        """
        if fault.overloaded or outage:
            return self._wait_for_server(fault)
        return self._wait_to_retry(fault, reached=reached) if fault.retry else None

    def _wait_for_server(self, fault: RequestFault) -> float | None:
        """Limited by time, however often the server rejects the request."""
        now = time.monotonic()
        self._first_wait_at = self._first_wait_at or now
        self.waits += 1
        wait = _wait_after(fault, _OVERLOAD_WAIT if fault.overloaded else _FIRST_WAIT, self.waits)
        too_long = now + wait - self._first_wait_at > self.patience
        return None if too_long or not self.max_retries else wait

    def _wait_to_retry(self, fault: RequestFault, *, reached: bool) -> float | None:
        """Limited by the number of tries."""
        self.retries += 1
        wait = _wait_after(fault, _FIRST_WAIT, self.retries)
        allowed = self.max_retries if reached else min(self.max_retries, _TRIES_UNREACHED)
        too_long = wait > max(self.patience, _MAX_WAIT_SECONDS)
        return None if self.retries > allowed or too_long else wait


@dataclass
class ChatRequest:
    """One request for a chat completion.

    Attributes:
        connection: Of the client, on this event loop.
        body: The request, with the settings as the judge wants them.
        target: The server and model.
        timeout: Seconds one try may take.
        extras: Headers and query parameters of the client.
        rate: The client's requests and tokens per minute; None for no limit.
        api: The form in which it is sent, a key of `APIS`.
    """

    connection: Connection
    body: Mapping[str, Any]
    target: RequestTarget
    timeout: float
    extras: RequestExtras = field(default_factory=RequestExtras)
    rate: RateLimit | None = None
    api: str = "chat"

    async def send(self, max_retries: int, patience: float) -> Reply:
        """Try until there is a reply, a permanent fault, or no try left."""
        capabilities = capabilities_of(capabilities_key(self.target.address, self.api), self.target.model)
        tries = _RetryState(max_retries, patience)
        server = server_state(self.target.address)
        while True:
            await reserve_next_try()  # an earlier try may have spent the reservation
            sent = capabilities.adapt(self.body, tries.refused_formats)
            try:
                # Only while sending: a request that waits for its next try must not take the slot of another.
                async with self.connection.limit:
                    check_running()  # the run may have been stopped while this waited for its turn
                    sent_at = server.clock()
                    reply = await self._send_in_turn(sent)
            except RequestFailedError as failure:
                fault = failure.fault
                self._record_fault(fault, server)
                if not self._learn(capabilities, fault, sent, tries):
                    capabilities.retest_soon(sent)
                    await self._wait(fault, tries, server, sent_at)
                continue
            self._record_answer(server, capabilities, sent, tries)
            return reply

    def _record_fault(self, fault: RequestFault, server: ServerState) -> None:
        charge_failed_try(fault.usage, unanswered=fault.unanswered)
        if fault.status > 0:  # a reply, even if only an error
            self.connection.reached = True
            server.record_answer()
        if fault.overloaded:
            self.connection.limit.record_overload()

    def _record_answer(
        self, server: ServerState, capabilities: Capabilities, sent: Mapping[str, Any], tries: _RetryState
    ) -> None:
        self.connection.reached = True
        self.connection.limit.record_answer()
        server.record_answer()
        capabilities.record_answer(sent, self.body, tries.doubtful_formats)
        server.fallbacks.update(
            (self.target.model, *fallback)
            for fallback in fallbacks(sent, self.body, capabilities.doubtful_formats)
        )

    def _learn(
        self, capabilities: Capabilities, fault: RequestFault, sent: Mapping[str, Any], tries: _RetryState
    ) -> bool:
        """Whether the fault shows that a simpler request may succeed."""
        if fault.retry_after is not None:
            return False  # a server that reports when to retry does not reject the format
        index = format_index(sent)
        repeated = index in tries.failed_formats
        lesson = capabilities.learn_from_refusal(fault.status, fault.message, sent, repeated=repeated)
        (tries.refused_formats if lesson == "simpler" else tries.failed_formats).add(index)
        if lesson == "simpler" and is_server_failure(fault.status):
            tries.doubtful_formats.add(index)
        return bool(lesson)

    async def _wait(
        self, fault: RequestFault, tries: _RetryState, server: ServerState, sent_at: float
    ) -> None:
        """Wait for the next try, or raise the fault's error if there is none."""
        restarting = (
            fault.connection_lost
            and not in_second_pass()  # the second pass does not wait a second time
            and server.is_restarting(self, sent_at, tries.patience)
        )
        outage = restarting or (fault.unreachable and server.answered)
        try:
            await self._pause(fault, tries, outage=outage and not server.given_up)
        except JudgeServerError:
            server.given_up = server.given_up or outage  # later judges need not wait for it again
            raise

    async def _pause(self, fault: RequestFault, tries: _RetryState, *, outage: bool) -> None:
        wait = tries.wait_seconds(fault, reached=self.connection.reached, outage=outage)
        if wait is None:
            # Overload and outages have been waited for already, so the run's second pass leaves them out.
            fault.error.transient = fault.retry and not fault.overloaded and not fault.unreachable
            raise fault.error from None
        check_running()
        with count_as_waiting() if fault.overloaded or outage else nullcontext():
            await asyncio.sleep(wait)

    async def _send_in_turn(self, sent: Mapping[str, Any]) -> Reply:
        """Send when the client's requests and tokens per minute allow it."""
        if self.rate is None:
            return await self._send_once(sent)
        window = rate_window(self.target.address)
        messages, n_images = without_images(sent["messages"])
        text = json.dumps({**sent, "messages": messages}, default=str)
        characters = len(text) + n_images * TYPICAL_IMAGE_CHARACTERS
        async with window.turn(self.rate, characters, answer_limit(sent)) as entry:
            try:
                reply = await self._send_once(sent)
            except RequestFailedError as failure:
                window.settle(entry, failure.fault.usage)
                raise
            window.settle(entry, reply.usage)
        return reply

    async def _send_once(self, sent: Mapping[str, Any]) -> Reply:
        start = time.perf_counter()
        answer = await self._answer_or_fault(sent)
        if isinstance(answer, RequestFault):
            # Not inside `except`: the package's error would become its context, and contains the request with the key.
            # Some programs pickle contexts, too, such as Dask's.
            raise RequestFailedError(answer)
        completion = answer if self.api == "chat" else chat_completion(answer)
        return read_completion(completion, self.target, time.perf_counter() - start)

    async def _answer_or_fault(self, sent: Mapping[str, Any]) -> Any:
        body = dict(sent) if self.api == "chat" else response_request(sent)

        async def posted() -> Any:
            # The package's timeout limits only the wait for the next bytes: a slow drip would never end.
            async with asyncio.timeout(self.timeout):
                # Not `chat.completions.create`: its validation of both bodies takes longer than the request.
                return await self.connection.client.post(
                    APIS[self.api], body=body, cast_to=object, options=self._options()
                )

        answer = await attempt_async(posted())  # the package's transports raise their own exceptions
        return fault_of(answer, self.target) if isinstance(answer, Exception) else answer

    def _options(self) -> dict[str, Any]:
        # No retries by the package: it has no budgets and cannot stop with a run.
        # No redirects: they would send the key and the rows to an address that the user did not choose.
        own, query = self.extras.resolved(self.target.address)
        headers: dict[str, Any] = dict(own)
        options: dict[str, Any] = {"timeout": self.timeout, "max_retries": 0, "follow_redirects": False}
        if not self.target.key and not self.extras.has_authorization:
            from openai import Omit

            # Otherwise the placeholder for a missing key would be sent as a key.
            headers["Authorization"] = Omit()
        return {**options, "headers": headers, "params": query}


def _wait_after(fault: RequestFault, first_wait: float, attempt: int) -> float:
    """Seconds to wait: as the server requests, else doubled with each try."""
    if fault.retry_after is not None:
        return max(fault.retry_after, _SHORTEST_WAIT)
    return _backoff(first_wait, attempt)


def _backoff(first_wait: float, attempt: int) -> float:
    """Seconds, doubled with each try, less a random share of up to a quarter."""
    share = 1 - 0.25 * random.random()  # noqa: S311 (so that requests rejected together do not return together)
    return float(min(_MAX_WAIT_SECONDS, first_wait * 2.0 ** min(attempt - 1, 20)) * share)


def read_completion(answer: Any, target: RequestTarget, seconds: float) -> Reply:
    """The first choice of a chat completion.

    Args:
        answer: The body, as JSON.
        target: The server and model.
        seconds: How long it took.

    Raises:
        RequestFailedError: The body is not a completion, for example an HTML page, or an error with status 200.
    """
    choices = answer.get("choices") if isinstance(answer, Mapping) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
        usage = _usage(answer) if isinstance(answer, Mapping) else None  # it may be charged nevertheless
        raise RequestFailedError(replace(_no_completion(answer, target), usage=usage))
    fields = hide_secrets_in_reply(
        {name: value for name, value in message.items() if value is not None}, target.secrets
    )
    content = fields.get("content")
    refusal = fields.get("refusal") or _joined_parts(content, "refusal")
    outcome = {"refusal": refusal, "finish_reason": choice.get("finish_reason"), "seconds": seconds}
    # A reply with a key has none: its tokens would spell the key.
    if content == message.get("content") and (logprobs := plain_logprobs(choice.get("logprobs"))) is not None:
        outcome["logprobs"] = logprobs
    return Reply(_text(content), _usage(answer), {**fields, **outcome})


def _text(content: Any) -> str:
    """A message's text: the content itself, or its text parts joined. Thinking, images and unknown parts are left out."""
    if isinstance(content, str):
        return content
    return _joined_parts(content, "text") or _joined_parts(content, "output_text", "text")


def _joined_parts(content: Any, kind: str, key: str = "") -> str:
    """The texts of all parts of one type, joined; "" if there is no list of parts."""
    parts = [content] if isinstance(content, Mapping) else content
    if not isinstance(parts, list):
        return ""
    chosen = [part for part in parts if isinstance(part, Mapping) and part.get("type") == kind]
    return "".join(text for part in chosen if isinstance(text := part.get(key or kind), str))


def _no_completion(answer: Any, target: RequestTarget) -> RequestFault:
    error = answer.get("error") if isinstance(answer, Mapping) else None
    details = error if isinstance(error, Mapping) else {}
    code = details.get("code")
    if isinstance(code, int) and 400 <= code < 600:  # some gateways report errors with status 200
        return refusal_fault(code, "", target.clean(str(details.get("message") or "")), {}, target)
    is_object = isinstance(answer, Mapping)
    problem = "without a choice" if is_object else "with something that is not a completion"
    hint = "" if details else "check base_url, which usually ends with /v1"
    # Redacted before it is truncated: a truncated key would not be recognised.
    found = target.clean(str(details.get("message") or answer))[:200]
    # A server that sends pages or bare text with status 200 is not a model server.
    error_type = JudgeServerError if is_object else NoServerError
    return RequestFault(
        error_type(f"the judge's server replied {problem}", where=target.address, found=found, hint=hint)
    )


def _usage(answer: Mapping[str, Any]) -> Usage | None:
    usage = answer.get("usage")
    if not isinstance(usage, Mapping):
        return None
    details = usage.get("prompt_tokens_details")
    cache = details if isinstance(details, Mapping) else {}
    return Usage(
        usage.get("prompt_tokens") or 0,
        usage.get("completion_tokens") or 0,
        usage.get("cost"),
        cache.get("cached_tokens") or 0,
        cache.get("cache_write_tokens") or 0,
    ).plausible()


_MAX_TOKENS = 20_000
"""Maximum tokens of a reply whose probabilities are read. Workbench limit."""


def plain_logprobs(value: Any) -> list[dict[str, Any]] | None:
    """The `logprobs` of a choice as a list of `token` and `top`, pairs of token and log-probability; None if unreadable."""
    tokens = value.get("content") if isinstance(value, Mapping) else None
    if not isinstance(tokens, list) or not tokens or len(tokens) > _MAX_TOKENS:
        return None
    plain = [_plain_token(token) for token in tokens]
    return None if None in plain else [token for token in plain if token is not None]


def _plain_token(token: Any) -> dict[str, Any] | None:
    if not isinstance(token, Mapping) or not isinstance(token.get("token"), str):
        return None
    top = token.get("top_logprobs")
    pairs = [
        [one["token"], float(one["logprob"])]
        for one in (top if isinstance(top, list) else [])
        if isinstance(one, Mapping)
        and isinstance(one.get("token"), str)
        and _is_log_probability(one.get("logprob"))
    ]
    return {"token": token["token"], "top": pairs}


def _is_log_probability(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value <= 1e-6
