"""One question's place in the budget, from before it is asked until it is settled, over all its tries."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, replace

from workbench.judges.asking.budget import BudgetError, Reserved, Spending
from workbench.judges.asking.estimates import Asking
from workbench.judges.asking.prices import price_of
from workbench.judges.protocol import JudgeServerError, Usage

__all__ = ["Booking", "charge", "counted", "priced", "renewed", "under_way"]


@dataclass
class Booking:
    """What is set aside for one question.

    Attributes:
        spending: The run's.
        asking: The question.
        reserved: What is set aside; None after a try that was charged, until the next one.
        usage: What a server counted of tries that brought no usable answer; None for nothing.
    """

    spending: Spending
    asking: Asking
    reserved: Reserved | None
    usage: Usage | None = None

    def charge(self, usage: Usage | None) -> None:
        """Spend a try that brought no usable answer.

        Args:
            usage: What the server counted; None for a try whose answer never came, which it may charge all the same:
                where the budget is one of money or tokens, all that was set aside is spent.
        """
        if self.reserved is None or (usage is None and not self.spending.measured):
            return
        self.spending.charge(self.reserved, usage)
        self.reserved = None
        self.asking = replace(self.asking, calls=0)  # its call is counted
        if usage is not None:
            self.usage = priced(self.total(usage), self.asking.model)

    async def renew(self) -> None:
        """Set aside what the next try may cost.

        Raises:
            BudgetError: There is no room for it.
        """
        if self.reserved is None:
            self.reserved = await self.spending.reserve(self.asking)

    def settle(self, usage: Usage | None, said: str) -> None:
        """The answer is there. See `Spending.settle`."""
        if self.reserved is not None:
            self.spending.settle(self.reserved, usage, said)

    def fail(self, error: BaseException) -> None:
        """There is no answer: what a server counted is spent, and told by the error."""
        known = isinstance(error, JudgeServerError | BudgetError)
        if known and self.usage is None and (told := counted(error.usage)) is not None:  # type: ignore[attr-defined]
            self.charge(told)
        if known and self.usage is not None:
            error.usage = self.usage  # type: ignore[attr-defined]
        if self.reserved is not None:
            self.spending.release(self.reserved)

    def total(self, usage: Usage) -> Usage:
        """A usage with that of the tries before."""
        if (before := self.usage) is None:
            return usage
        now = priced(usage, self.asking.model)
        cost = None if before.cost is None or now.cost is None else before.cost + now.cost
        prompt = before.prompt_tokens + usage.prompt_tokens
        return Usage(prompt, before.completion_tokens + usage.completion_tokens, cost)


under_way: ContextVar[Booking | None] = ContextVar("booking", default=None)
"""The question that this task asks."""


def charge(usage: Usage | None, *, unanswered: bool) -> None:
    """Spend a try of this task's question that failed, where the server counted it or its answer never came."""
    told = counted(usage)
    if (booking := under_way.get()) is not None and (told is not None or unanswered):
        booking.charge(told)


async def renewed() -> None:
    """Set aside what the next try of this task's question may cost. See `Booking.renew`."""
    if (booking := under_way.get()) is not None:
        await booking.renew()


def counted(usage: Usage | None) -> Usage | None:
    """What a client says an answer took; None where it says nothing that can be."""
    sound = None if usage is None else usage.sound()
    return sound if sound is not None and (sound.tokens or sound.cost is not None) else None


def priced(usage: Usage, model: str) -> Usage:
    """The usage with its cost: the server's word, else by the table, else unknown."""
    price = None if usage.cost is not None else price_of(model)
    if price is None:
        return usage
    return replace(usage, cost=price.of(usage.prompt_tokens, usage.completion_tokens))
