"""The interface between judges and models: messages, settings and their bounds, replies, errors, and a scripted client.

A file may be untrusted: it must not choose another model than the one that is priced, request a hundred replies instead
of one, or send what no judge needs. Settings that the user makes in Python on a client (`OpenAIClient(models=...)`) are not
restricted to the bounds of this module.
"""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

from workbench.core.display_text import did_you_mean
from workbench.core.errors import FormatError, WorkbenchError
from workbench.core.grade import ErrorKind
from workbench.graders.base import is_number

_IMPLAUSIBLE_TOKENS, _IMPLAUSIBLE_DOLLARS = 10**9, 10**6
"""Far more than any reply costs: a server that reports this is mistaken."""

Messages = list[dict[str, Any]]
"""OpenAI chat messages: dicts with `role` and `content`, optionally `tool_calls` or `tool_call_id`."""


class JudgeServerError(WorkbenchError, RuntimeError):
    """The request could not be sent, or got no usable reply.

    Attributes:
        kind: Error kind of the row's grade.
        transient: Whether the same request may succeed later, so that a run retries it once at its end.
        usage: What the server counted although there is no usable reply; None for nothing.
    """

    kind: ClassVar[ErrorKind] = ErrorKind.JUDGE_SERVER
    transient: bool = False
    usage: Usage | None = None


class JudgeKeyError(JudgeServerError):
    """There is no API key, or the server rejected it."""

    kind = ErrorKind.JUDGE_KEY


class NoServerError(JudgeServerError):
    """There is no such server, or no such model on it."""

    kind = ErrorKind.JUDGE_UNREACHABLE


class NoModelError(NoServerError):
    """The judge names no model, and the server needs one."""

    @classmethod
    def at(cls, address: str = "") -> NoModelError:
        """The error of a judge that would call the server at this address, with a hint."""
        return cls(
            "a judge needs a model", where=address, expected="model=, or the environment variable WORKBENCH_MODEL",
            hint="give the judge its model=, or set WORKBENCH_MODEL for all judges that name none",
        )  # fmt: skip


class JudgeLimitError(JudgeServerError):
    """The server was overloaded (429, 503, 529) for longer than the client's patience."""

    kind = ErrorKind.JUDGE_LIMIT


class JudgeTimeoutError(JudgeServerError):
    """The reply was not complete in time."""

    kind = ErrorKind.TIMEOUT


class ReplyTooLongError(JudgeServerError):
    """The reply exceeds the maximum number of bytes."""

    kind = ErrorKind.JUDGE_TOO_LONG


class ReplyStoreError(JudgeServerError):
    """The store of replies failed: the request may have been paid for already, or would be paid for again."""

    kind = ErrorKind.STORE


class StoppedError(JudgeServerError):
    """The run was stopped before the request was sent."""

    kind = ErrorKind.CANCELLED


class SampleError(Exception):
    """A sample lacks something that the judge's request needs; the message names it."""


@dataclass(frozen=True)
class Usage:
    """What a reply cost.

    Attributes:
        prompt_tokens: Tokens of the request.
        completion_tokens: Tokens of the reply, thinking included.
        cost: US dollars, if the server reports it.
        cached_tokens: Those of `prompt_tokens` that the server read from its cache.
        cache_write_tokens: Those of `prompt_tokens` that it stored there.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    cached_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Those of request and reply together."""
        return self.prompt_tokens + self.completion_tokens

    def plausible(self) -> Usage:
        """The same without impossible numbers: such a count becomes 0, such a cost None."""
        cost = self.cost
        is_number = isinstance(cost, int | float) and not isinstance(cost, bool)
        possible = is_number and 0 <= cost < _IMPLAUSIBLE_DOLLARS  # type: ignore[operator]
        prompt_tokens = _plausible_count(self.prompt_tokens)
        cached_tokens = min(prompt_tokens, _plausible_count(self.cached_tokens))
        return Usage(
            prompt_tokens,
            _plausible_count(self.completion_tokens),
            float(cost or 0.0) if possible else None,
            cached_tokens,
            min(prompt_tokens - cached_tokens, _plausible_count(self.cache_write_tokens)),
        )

    def plus(self, other: Usage) -> Usage:
        """The sum; its cost is unknown if one of the two is."""
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            cost,
            self.cached_tokens + other.cached_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
        )


def _plausible_count(count: Any) -> int:
    is_integer = isinstance(count, int) and not isinstance(count, bool)
    return int(count) if is_integer and 0 < count < _IMPLAUSIBLE_TOKENS else 0


@dataclass(frozen=True)
class Reply:
    """A model's reply.

    Attributes:
        text: Its text; "" if it only calls tools.
        usage: What it cost; None if unknown.
        raw: The rest: `finish_reason`, `refusal`, `tool_calls` in OpenAI's format; optionally the `seconds` it took, and
            `cached` for a reply from a store.
    """

    text: str
    usage: Usage | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)

    @property
    def finish_reason(self) -> str:
        """Why the reply ended: "stop", "length", "tool_calls", "content_filter", or "" if unknown."""
        return str(self.raw.get("finish_reason") or "")

    @property
    def refusal(self) -> str:
        """Why the model refused, in the server's words; "" if it did not refuse."""
        filtered = "the content filter stopped the reply" if self.finish_reason == "content_filter" else ""
        return str(self.raw.get("refusal") or filtered)

    @property
    def tool_calls(self) -> list[dict[str, Any]]:
        """The tools it calls, in OpenAI's format."""
        calls = self.raw.get("tool_calls")
        return [dict(call) for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []


def refuse_unless(condition: object, message: str, found: object = "", expected: str = "") -> None:
    """Raise a `FormatError` with this message unless a field's condition is true; "unknown ..." proposes the nearest name."""
    if not condition:
        names = [name.strip("'") for name in expected.split(", ")] if message.startswith("unknown") else []
        raise FormatError(
            message, found=repr(found)[:80] if found != "" else "", expected=expected,
            hint=did_you_mean(str(found), names),
        )  # fmt: skip


def check_number(name: str, value: object, *, above: float | None = None) -> None:
    """Raise a `FormatError` unless a field is a finite number, above a bound if one is given."""
    requirement = "must be a number" if above is None else f"must be a number above {above:g}"
    valid = is_number(value) and (above is None or float(value) > above)  # type: ignore[arg-type]
    refuse_unless(valid, f"{name} {requirement}", value)


MAX_TOKENS = 131_072
"""Maximum tokens of a reply: the largest limit of the models of 2026."""


_MAX_SEED = 2**63 - 1
"""The largest 64-bit integer, which is the type that servers parse a seed into."""
ANSWER_LIMITS = ("max_tokens", "max_completion_tokens", "max_completions_tokens")
"""Names of the reply limit in tokens: the older one, that of reasoning models, and that of OpenAI's graders."""


@dataclass(frozen=True)
class Setting:
    """The values that a setting may have.

    Attributes:
        low: Minimum of a number.
        high: Maximum of a number.
        integer: Whether the number must be an integer.
        choices: The texts allowed, for a setting that is a text.
    """

    low: float = 0.0
    high: float = 0.0
    integer: bool = False
    choices: tuple[str, ...] = ()

    def allows(self, value: object) -> bool:
        """Whether a value is allowed."""
        if self.choices:
            return isinstance(value, str) and value in self.choices
        if not is_number(value) or (self.integer and not isinstance(value, int)):
            return False
        return self.low <= value <= self.high  # type: ignore[operator]

    def __str__(self) -> str:
        if self.choices:
            return ", ".join(self.choices)
        return f"a {'whole ' if self.integer else ''}number, {self.low:,g} to {self.high:,g}"


SAMPLING: dict[str, Setting] = {
    "temperature": Setting(0, 2),
    "top_p": Setting(0, 1),
    "frequency_penalty": Setting(-2, 2),
    "presence_penalty": Setting(-2, 2),
    "seed": Setting(-_MAX_SEED, _MAX_SEED, integer=True),
    "reasoning_effort": Setting(choices=("none", "minimal", "low", "medium", "high", "xhigh", "max")),
    **dict.fromkeys(ANSWER_LIMITS, Setting(1, MAX_TOKENS, integer=True)),
}
"""How a reply is sampled. Source: OpenAI (chat completions; `sampling_params` of its graders)."""


DELIVERY: dict[str, Setting] = {
    "timeout": Setting(0.001, 3_600),
    "max_retries": Setting(0, 20, integer=True),
    "max_steps": Setting(1, 200, integer=True),
}
"""Time limit and number of requests of a judge: seconds, tries after the first, replies of an agent."""


_SET_BY_JUDGE = frozenset({"model", "response_format", "tools", "timeout", "max_retries"})
"""Settings taken from a judge's fields, which are checked there."""
_BREAKS_ACCOUNTING = frozenset(
    {
        *("stream", "stream_options", "best_of", "models", "route", "provider", "plugins", "service_tier"),
        *("web_search_options", "audio", "modalities", "base_url", "api_key", "headers", "query"),
        *("extra_body", "extra_headers", "extra_query"),
    }
)
"""Settings that would call another model or server, or request replies that are not paid by their tokens."""


def check_setting(name: str, value: object, *, where: str = "") -> None:
    """Reject a value outside its bounds.

    Raises:
        FormatError: It names the bounds.
    """
    bounds = SAMPLING.get(name) or DELIVERY[name]
    if not bounds.allows(value):
        raise FormatError(
            f"{name} is out of its bounds", where=where, found=repr(value)[:80], expected=str(bounds)
        )


def check_sampling(params: Any) -> dict[str, Any]:
    """A file's sampling parameters, checked: each is known and within its bounds. A value of None counts as not set.

    Raises:
        FormatError: Not a dict, a name that is not in `SAMPLING`, a value out of bounds, or two names of the reply limit.
    """
    if not isinstance(params, Mapping):
        raise FormatError("sampling_params must be a dict", found=repr(params)[:80])
    for name, value in params.items():
        if name not in SAMPLING:
            raise FormatError(
                f"sampling_params may not set {str(name)[:80]!r}", expected=", ".join(SAMPLING),
                hint="settings for your server belong to your client: OpenAIClient(models={model: {...}})",
            )  # fmt: skip
        if value is not None:
            check_setting(name, value, where="sampling_params")
    if len(limits := [name for name in ANSWER_LIMITS if params.get(name) is not None]) > 1:
        raise FormatError("sampling_params sets the reply limit twice", found=", ".join(limits))
    return dict(params)


def check_request(settings: Mapping[str, Any]) -> None:
    """Reject settings that would break accounting or redirect the request, just before it is sent.

    Other names are accepted: a file cannot set them, so a subclass of a judge did.

    Raises:
        FormatError: It names the setting.
    """
    for name, value in settings.items():
        if value is None or name in _SET_BY_JUDGE:
            continue
        if name in _BREAKS_ACCOUNTING or (name == "n" and value != 1):
            raise FormatError(
                f"a judge may not send {str(name)[:80]!r}", expected="nothing that changes the model, the server or the price",
                hint="set it on your client instead: OpenAIClient(models={model: {...}})",
            )  # fmt: skip
        if name in SAMPLING:
            check_setting(name, value, where="the judge's request")


@runtime_checkable
class ChatClient(Protocol):
    """Anything that completes a chat."""

    async def complete(self, messages: Messages, **settings: Any) -> Reply:
        """Request the next message from the model.

        Args:
            messages: The chat so far.
            settings: `model`, `temperature`, `max_tokens`, `response_format`, `tools`, `timeout` in seconds,
                `max_retries`; those that do not apply are left out.

        Raises:
            JudgeServerError: There is no reply. Its subclasses give the reason.
        """
        ...


Answer = str | Reply | BaseException
Script = str | Reply | BaseException | Sequence[Answer] | Mapping[str, Answer] | Callable[[Messages], Answer]


def merge_settings(settings: Mapping[str, Any], client_settings: Mapping[str, Any]) -> dict[str, Any]:
    """A judge's settings, overridden by the client's settings for that model, with `extra_body` as plain settings.

    A reply limit set by the client replaces the judge's, whichever of the limit's names each uses.
    """
    extra_body = client_settings.get("extra_body") or {}
    plain = {
        name: value for name, value in client_settings.items() if name != "extra_body" and value is not None
    }
    overrides = {**plain, **extra_body}
    has_limit = any(name in overrides for name in ANSWER_LIMITS)
    judge_settings = {
        name: value
        for name, value in settings.items()
        if value is not None and not (has_limit and name in ANSWER_LIMITS)
    }
    return {**judge_settings, **overrides}


def sent_settings(client: ChatClient, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as the client sends them."""
    models = getattr(client, "models", None)  # may be anything on a user's client
    own = models.get(str(settings.get("model")), {}) if isinstance(models, Mapping) else {}
    return merge_settings(settings, own if isinstance(own, Mapping) else {})


def sent_model(client: ChatClient, model: str) -> str:
    """The model that is called, and so has to be paid, if a judge names this one."""
    return str(sent_settings(client, {"model": model.strip()}).get("model") or "")


class ScriptedClient:
    r"""A client that returns prepared replies: for tests, examples and judges without a model.

    Args:
        script: One reply to everything; a list of replies, returned in order; a dict whose keys are texts to search for
            in the request (the first key that is found selects the reply, "" always matches); or a function of the
            messages. A reply is a text, a `Reply`, or an exception to raise.

    Attributes:
        calls: The requests so far, as (messages, settings), oldest first.

    Example:
        >>> import workbench.judges as judges, workbench as wb
        >>> fake = judges.ScriptedClient('{"reasoning": "polite", "score": "PASS"}')
        >>> judge = judges.BinaryJudge(criteria="is polite", client=fake)
        >>> judge(wb.StringThread([("user", "Hi"), ("assistant", "Good day")])).score
        1.0
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.calls: list[tuple[Messages, dict[str, Any]]] = []

    def __repr__(self) -> str:
        return f"ScriptedClient({len(self.calls)} calls)"

    def content(self, model: str) -> str | None:
        """What a reply depends on apart from the request; None for a function that reads other data."""
        if not callable(self.script):
            return f"scripted {model} {self.script!r}"
        code = getattr(self.script, "__code__", None)
        # The code alone would give two functions with different data the same key in a store.
        own_data = (
            getattr(self.script, name, None) for name in ("__closure__", "__defaults__", "__kwdefaults__")
        )
        if code is None or any(own_data):
            return None
        return f"scripted {model} {hashlib.sha256(marshal.dumps(code)).hexdigest()}"

    async def complete(self, messages: Messages, **settings: Any) -> Reply:
        """The next reply of the script."""
        self.calls.append((messages, settings))
        answer = self._answer(messages)
        if isinstance(answer, BaseException):
            raise answer
        return answer if isinstance(answer, Reply) else Reply(answer, raw={"finish_reason": "stop"})

    def _answer(self, messages: Messages) -> Answer:
        script = self.script
        if isinstance(script, str | Reply | BaseException):
            return script
        if callable(script):
            return script(messages)
        if isinstance(script, Mapping):
            question = "\n".join(str(message.get("content")) for message in messages)
            no_answer = JudgeServerError("the script has no reply to this request", found=question[-200:])
            return next((answer for text, answer in script.items() if text in question), no_answer)
        index = len(self.calls) - 1
        if index < len(script):
            return script[index]
        return JudgeServerError(
            "the script has no reply left", found=f"request {len(self.calls)} for {len(script)} replies",
            hint="a reply that cannot be parsed is requested again: add a reply for that, too",
        )  # fmt: skip
