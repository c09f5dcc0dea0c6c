"""What the judges of one run share: the budget, the store of answers, and the count of what was spent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.errors import WorkbenchError
from workbench.judges.budget import Spending, check_priced
from workbench.judges.client import ChatClient, JudgeServerError, Messages, Reply, Usage
from workbench.judges.prices import price_of
from workbench.judges.replies import ReplyStore, content_key

__all__ = ["Line", "ask", "current", "sharing"]

_ANSWER_TOKENS = 1_000
"""Tokens an answer may take before anything is known, where the judge sets no limit."""
_LETTERS_A_TOKEN = 3
"""Letters of a question that are a token at least; English has about four."""


@dataclass
class Line:
    """What the judges of one run share.

    Attributes:
        spending: What was spent, and how much may be.
        replies: Where answers are kept; None for nowhere.
        not_kept: Why answers could not be kept, one text each. They count all the same: they were paid for.
    """

    spending: Spending = field(default_factory=Spending)
    replies: ReplyStore | None = None
    not_kept: list[str] = field(default_factory=list)
    _under_way: dict[str, asyncio.Future[Reply]] = field(default_factory=dict)

    async def ask(self, client: ChatClient, messages: Messages, settings: dict[str, Any]) -> Reply:
        """An answer, out of the store if it is there; two rows that ask the same at once ask once."""
        if self.replies is None:
            return await self._paid(client, messages, settings)
        key = content_key(_server(client, settings), messages, settings)
        if (kept := await self.replies.get(key)) is not None:
            return self._kept(kept)
        if (asked := self._under_way.get(key)) is not None:
            return self._kept(await asyncio.shield(asked))
        asked = self._under_way[key] = asyncio.ensure_future(self._new(key, client, messages, settings))
        try:
            return await asked
        finally:
            del self._under_way[key]

    async def _new(self, key: str, client: ChatClient, messages: Messages, settings: dict[str, Any]) -> Reply:
        assert self.replies is not None
        reply = await self._paid(client, messages, settings)
        if worth_keeping(reply):
            try:
                await self.replies.put(key, reply, model=str(settings.get("model")))
            except WorkbenchError as error:
                self.not_kept.append(str(error))
        return reply

    def _kept(self, reply: Reply) -> Reply:
        self.spending.kept += 1
        raw = {name: value for name, value in reply.raw.items() if name != "seconds"}
        return Reply(reply.text, Usage(cost=0.0), {**raw, "kept": True})

    async def _paid(self, client: ChatClient, messages: Messages, settings: dict[str, Any]) -> Reply:
        model = str(settings.get("model"))
        letters, limit = _letters(messages), _limit(settings)
        reserved = await self.spending.reserve(
            letters // _LETTERS_A_TOKEN + limit, _money(model, self.spending)
        )
        try:
            reply = await _complete(client, messages, settings)
        except BaseException:
            self.spending.release(reserved)
            raise
        usage = _priced(reply.usage, model)
        guessed = (letters + len(reply.text)) // _LETTERS_A_TOKEN  # for a server that does not count
        self.spending.settle(reserved, usage.tokens if usage else guessed, usage.cost if usage else None)
        return replace(reply, usage=usage)


def worth_keeping(reply: Reply) -> bool:
    """Whether an answer may be had again from the store: not one that is empty or was cut short."""
    return bool(reply.text or reply.tool_calls or reply.refusal) and reply.finish_reason != "length"


async def _complete(client: ChatClient, messages: Messages, settings: dict[str, Any]) -> Reply:
    try:
        return await client.complete(messages, **settings)
    except WorkbenchError:
        raise
    except Exception as error:  # a client may be anybody's
        found = f"{type(error).__name__}: {error}"[:300]
        raise JudgeServerError("the judge's client failed", found=found) from error


def _server(client: ChatClient, settings: dict[str, Any]) -> str:
    """Who is asked, for the key of a question."""
    content = getattr(client, "content", None)
    kind = type(client)
    return str(content(str(settings.get("model")))) if content else f"{kind.__module__}.{kind.__qualname__}"


def _letters(messages: Messages) -> int:
    return sum(len(str(message.get("content") or "")) for message in messages)


def _limit(settings: Mapping[str, Any]) -> int:
    """Tokens the answer may take."""
    return int(settings.get("max_completion_tokens") or settings.get("max_tokens") or _ANSWER_TOKENS)


def _money(model: str, spending: Spending) -> Callable[[int], float]:
    """US dollars for so many tokens, at the price of the answer's.

    Raises:
        BudgetError: The budget is in money, and the model has no price.
    """
    price = price_of(model)
    if price is None and spending.budget is not None:
        check_priced(spending.budget, model)
    return lambda tokens: price.of(0, tokens) if price else 0.0


def _priced(usage: Usage | None, model: str) -> Usage | None:
    """The usage with its cost: the server's word, else by the table, else unknown."""
    if usage is None or usage.cost is not None:
        return usage
    price = price_of(model)
    return (
        usage
        if price is None
        else replace(usage, cost=price.of(usage.prompt_tokens, usage.completion_tokens))
    )


_line: ContextVar[Line | None] = ContextVar("judges", default=None)


def current() -> Line | None:
    """The run's line; None outside a run."""
    return _line.get()


@contextmanager
def sharing(line: Line) -> Iterator[Line]:
    """Make a line that of all judges asked within the block, in this task and those it starts."""
    token = _line.set(line)
    try:
        yield line
    finally:
        _line.reset(token)


async def ask(client: ChatClient, messages: Messages, settings: dict[str, Any]) -> Reply:
    """One answer, over the run's line where there is one."""
    return await (_line.get() or Line()).ask(client, messages, settings)
