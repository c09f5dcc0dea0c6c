"""Who answers a judge's questions: a protocol of one method, and the public fake."""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

from workbench.errors import WorkbenchError
from workbench.grade import ErrorKind

__all__ = [
    "ChatClient",
    "JudgeKeyError",
    "JudgeLimitError",
    "JudgeServerError",
    "JudgeTimeoutError",
    "Messages",
    "NoModelError",
    "NoServerError",
    "NotReadError",
    "Reply",
    "ScriptedClient",
    "StoppedError",
    "Usage",
]

_MOST_TOKENS, _MOST_DOLLARS = 10**9, 10**6
"""More than any answer takes."""

Messages = list[dict[str, Any]]
"""OpenAI chat messages: dicts with `role` and `content`, perhaps `tool_calls` or `tool_call_id`."""


class JudgeServerError(WorkbenchError, RuntimeError):
    """The model could not be asked, or did not answer.

    Attributes:
        kind: Error kind of the row's grade.
        passing: Whether the same question may be answered later, so that a run asks once more at its end.
        usage: What the server counted although there is no usable answer; None for nothing.
    """

    kind: ClassVar[ErrorKind] = ErrorKind.JUDGE_SERVER
    passing: bool = False
    usage: Usage | None = None


class JudgeKeyError(JudgeServerError):
    """There is no key, or the server refused it."""

    kind = ErrorKind.JUDGE_KEY


class NoServerError(JudgeServerError):
    """There is no such server, or no such model on it."""

    kind = ErrorKind.JUDGE_UNREACHABLE


class NoModelError(NoServerError):
    """The judge names no model, and the server needs one."""

    @classmethod
    def at(cls, where: str = "") -> NoModelError:
        """The error of a judge that would ask a server, with the ways out."""
        return cls(
            "a judge needs a model to ask", where=where, expected="model=, or the environment variable WORKBENCH_MODEL",
            hint="give the judge its model=, or set WORKBENCH_MODEL for all judges that name none",
        )  # fmt: skip


class JudgeLimitError(JudgeServerError):
    """The server had no room for the question, for longer than we wait."""

    kind = ErrorKind.JUDGE_LIMIT


class JudgeTimeoutError(JudgeServerError):
    """No whole answer in time."""

    kind = ErrorKind.TIMEOUT


class NotReadError(JudgeServerError):
    """The store of answers cannot be used: the question may have been paid for already, or would be again."""

    kind = ErrorKind.STORE


class StoppedError(JudgeServerError):
    """The run was stopped before the question was asked."""

    kind = ErrorKind.CANCELLED


@dataclass(frozen=True)
class Usage:
    """What an answer took.

    Attributes:
        prompt_tokens: Tokens of the question.
        completion_tokens: Tokens of the answer, thinking included.
        cost: Money in US dollars, where the server says so.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None

    @property
    def tokens(self) -> int:
        """Both together."""
        return self.prompt_tokens + self.completion_tokens

    def sound(self) -> Usage:
        """The same without what cannot be: counts that are none are 0, a cost that is none is unknown."""
        cost = self.cost
        real = isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < _MOST_DOLLARS
        return Usage(
            _count(self.prompt_tokens), _count(self.completion_tokens), float(cost or 0.0) if real else None
        )


def _count(told: Any) -> int:
    whole = isinstance(told, int) and not isinstance(told, bool)
    return int(told) if whole and 0 < told < _MOST_TOKENS else 0


@dataclass(frozen=True)
class Reply:
    """An answer.

    Attributes:
        text: What was said; "" where only tools were called.
        usage: What it took, None where unknown.
        raw: The rest: `finish_reason`, `refusal`, `tool_calls` in OpenAI's shape; perhaps `seconds` it took, and
            `kept` for an answer out of a store.
    """

    text: str
    usage: Usage | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)

    @property
    def finish_reason(self) -> str:
        """Why the answer ended: "stop", "length", "tool_calls", "content_filter", or "" where unknown."""
        return str(self.raw.get("finish_reason") or "")

    @property
    def refusal(self) -> str:
        """The server's word that the model refused, "" where it did not."""
        filtered = "the content filter stopped the answer" if self.finish_reason == "content_filter" else ""
        return str(self.raw.get("refusal") or filtered)

    @property
    def tool_calls(self) -> list[dict[str, Any]]:
        """Calls of tools, in OpenAI's shape."""
        calls = self.raw.get("tool_calls")
        return [dict(call) for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []


@runtime_checkable
class ChatClient(Protocol):
    """Anything that completes a chat."""

    async def complete(self, messages: Messages, **settings: Any) -> Reply:
        """Answer.

        Args:
            messages: The chat so far.
            settings: `model`, `temperature`, `max_tokens`, `response_format`, `tools`, `timeout` in seconds,
                `max_retries`; what does not apply is left out.

        Raises:
            JudgeServerError: No answer.
        """
        ...


Answer = str | Reply | BaseException
Script = str | Reply | BaseException | Sequence[Answer] | Mapping[str, Answer] | Callable[[Messages], Answer]


class ScriptedClient:
    r"""A client that says what it is told to: for tests, documents and trying a judge without a model.

    Args:
        script: One answer for everything; a list of answers, given in order; a dict from a text that
            the question holds to the answer (the first that fits, "" fits all); or a function of the messages.
            An answer is a text, a `Reply` or an exception, which is raised.

    Attributes:
        calls: What was asked, as (messages, settings), oldest first.

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
        """What an answer depends on beside the question; None for a function that other data hang on."""
        if not callable(self.script):
            return f"scripted {model} {self.script!r}"
        code = getattr(self.script, "__code__", None)
        held = (
            getattr(self.script, name, None) for name in ("__closure__", "__defaults__", "__kwdefaults__")
        )
        if code is None or any(held):
            return None
        return f"scripted {model} {hashlib.sha256(marshal.dumps(code)).hexdigest()}"

    async def complete(self, messages: Messages, **settings: Any) -> Reply:
        """The next answer of the script."""
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
            asked = "\n".join(str(message.get("content")) for message in messages)
            found = [answer for part, answer in script.items() if part in asked]
            return (
                found[0]
                if found
                else JudgeServerError("the script has no answer to this", found=asked[-200:])
            )
        at = len(self.calls) - 1
        return script[at] if at < len(script) else JudgeServerError("the script has no answer left")
