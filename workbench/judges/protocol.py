"""The interface between judges and models: `ChatClient`, its `Reply`, its errors, and a scripted client."""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

from workbench.core.errors import WorkbenchError
from workbench.core.grade import ErrorKind

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


@dataclass(frozen=True)
class Usage:
    """What a reply cost.

    Attributes:
        prompt_tokens: Tokens of the request.
        completion_tokens: Tokens of the reply, thinking included.
        cost: US dollars, if the server reports it.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None

    @property
    def tokens(self) -> int:
        """The sum of both."""
        return self.prompt_tokens + self.completion_tokens

    def plausible(self) -> Usage:
        """The same without impossible numbers: such a count becomes 0, such a cost None."""
        cost = self.cost
        is_number = isinstance(cost, int | float) and not isinstance(cost, bool)
        possible = is_number and 0 <= cost < _IMPLAUSIBLE_DOLLARS  # type: ignore[operator]
        prompt_tokens = _plausible_count(self.prompt_tokens)
        completion_tokens = _plausible_count(self.completion_tokens)
        return Usage(prompt_tokens, completion_tokens, float(cost or 0.0) if possible else None)


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
