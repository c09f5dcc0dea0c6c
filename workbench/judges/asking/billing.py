"""The budget entry of one request, from its reservation to its final cost, over all its tries."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, replace

from workbench.judges.asking.budget import BudgetError
from workbench.judges.asking.estimates import PendingQuestion
from workbench.judges.asking.prices import price_of
from workbench.judges.asking.spending import Reservation, Spending
from workbench.judges.protocol import JudgeServerError, Usage

__all__ = [
    "QuestionBill",
    "charge_failed_try",
    "current_bill",
    "plausible_usage",
    "reserve_next_try",
    "with_cost",
]


@dataclass
class QuestionBill:
    """What one request has cost so far, and the reservation for it.

    Attributes:
        spending: The run's spending.
        question: The request.
        reservation: The amount reserved; None after a try that was charged, until the next try.
        usage: What a server counted for tries without a usable reply; None for nothing.
    """

    spending: Spending
    question: PendingQuestion
    reservation: Reservation | None
    usage: Usage | None = None

    def charge(self, usage: Usage | None) -> None:
        """Charge a try that returned no usable reply.

        Args:
            usage: What the server counted; None for a try that got no reply. The server may still charge for it, so
                the whole reservation is spent if the budget limits money or tokens.
        """
        if self.reservation is None or (usage is None and not self.spending.limits_cost):
            return
        self.spending.charge(self.reservation, usage)
        self.reservation = None
        self.question = replace(self.question, calls=0)  # a request is one call, however often it is retried
        if usage is not None:
            self.usage = with_cost(self.total(usage), self.question.model)

    async def reserve_next_try(self) -> None:
        """Reserve the maximum cost of the next try, unless it is reserved already.

        Raises:
            BudgetError: The remaining budget is too small.
        """
        if self.reservation is None:
            self.reservation = await self.spending.reserve(self.question)

    def settle(self, usage: Usage | None, text: str) -> None:
        """Spend the cost of the reply. See `Spending.settle`."""
        if self.reservation is not None:
            self.spending.settle(self.reservation, usage, text)

    def fail(self, error: BaseException) -> None:
        """Spend what a server counted although there is no reply, and attach it to the error."""
        carries_usage = isinstance(error, JudgeServerError | BudgetError)
        if (
            carries_usage and self.usage is None and (usage := plausible_usage(error.usage)) is not None  # type: ignore[attr-defined]
        ):
            self.charge(usage)
        # The row's grade reads its cost from here.
        if carries_usage and self.usage is not None:
            error.usage = self.usage  # type: ignore[attr-defined]
        if self.reservation is not None:
            self.spending.release(self.reservation)

    def total(self, usage: Usage) -> Usage:
        """A try's usage plus that of the tries before it."""
        if (before := self.usage) is None:
            return usage
        now = with_cost(usage, self.question.model)
        cost = None if before.cost is None or now.cost is None else before.cost + now.cost
        prompt_tokens = before.prompt_tokens + usage.prompt_tokens
        return Usage(prompt_tokens, before.completion_tokens + usage.completion_tokens, cost)


current_bill: ContextVar[QuestionBill | None] = ContextVar("question_bill", default=None)
"""The bill of this task's request. The client, which retries, reads it here, because the `ChatClient` protocol has no
budgets."""


def charge_failed_try(usage: Usage | None, *, unanswered: bool) -> None:
    """Charge a failed try of this task's request, if the server counted it or it got no reply."""
    counted = plausible_usage(usage)
    if (bill := current_bill.get()) is not None and (counted is not None or unanswered):
        bill.charge(counted)


async def reserve_next_try() -> None:
    """Reserve the cost of the next try of this task's request. See `QuestionBill.reserve_next_try`."""
    if (bill := current_bill.get()) is not None:
        await bill.reserve_next_try()


def plausible_usage(usage: Usage | None) -> Usage | None:
    """A client's usage without impossible numbers; None if none is usable."""
    plausible = None if usage is None else usage.plausible()
    return plausible if plausible is not None and (plausible.tokens or plausible.cost is not None) else None


def with_cost(usage: Usage, model: str) -> Usage:
    """The usage with its cost: as the server reports it, else by the price table, else unknown."""
    price = None if usage.cost is not None else price_of(model)
    if price is None:
        return usage
    return replace(usage, cost=price.of(usage.prompt_tokens, usage.completion_tokens))
