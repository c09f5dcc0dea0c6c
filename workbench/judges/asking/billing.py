"""One question's place in the budget, from before it is asked until it is settled, over all its tries."""

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
    """What one question has cost so far, and what is reserved for it.

    Attributes:
        spending: The run's.
        question: The question.
        reservation: What is set aside; None after a try that was charged, until the next try.
        usage: What a server counted for tries without a usable answer; None for nothing.
    """

    spending: Spending
    question: PendingQuestion
    reservation: Reservation | None
    usage: Usage | None = None

    def charge(self, usage: Usage | None) -> None:
        """Spend a try that brought no usable answer.

        Args:
            usage: What the server counted; None for a try whose answer never came. The server may charge that one all
                the same, so all that was reserved is spent where the budget limits money or tokens.
        """
        if self.reservation is None or (usage is None and not self.spending.limits_cost):
            return
        self.spending.charge(self.reservation, usage)
        self.reservation = None
        self.question = replace(self.question, calls=0)  # a question is one call, however often it is tried
        if usage is not None:
            self.usage = with_cost(self.total(usage), self.question.model)

    async def reserve_next_try(self) -> None:
        """Reserve what the next try may cost, unless that is done already.

        Raises:
            BudgetError: The budget has no room for it.
        """
        if self.reservation is None:
            self.reservation = await self.spending.reserve(self.question)

    def settle(self, usage: Usage | None, text: str) -> None:
        """Spend what the answer cost. See `Spending.settle`."""
        if self.reservation is not None:
            self.spending.settle(self.reservation, usage, text)

    def fail(self, error: BaseException) -> None:
        """Spend what a server counted although there is no answer, and put it on the error."""
        carries_usage = isinstance(error, JudgeServerError | BudgetError)
        if (
            carries_usage and self.usage is None and (usage := plausible_usage(error.usage)) is not None  # type: ignore[attr-defined]
        ):
            self.charge(usage)
        # The row's grade shows what it cost from here.
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
"""The bill of the question that this task asks. The client, which retries, reaches it here: the `ChatClient` protocol
knows nothing of budgets."""


def charge_failed_try(usage: Usage | None, *, unanswered: bool) -> None:
    """Spend a failed try of this task's question, where the server counted it or its answer never came."""
    counted = plausible_usage(usage)
    if (bill := current_bill.get()) is not None and (counted is not None or unanswered):
        bill.charge(counted)


async def reserve_next_try() -> None:
    """Reserve what the next try of this task's question may cost. See `QuestionBill.reserve_next_try`."""
    if (bill := current_bill.get()) is not None:
        await bill.reserve_next_try()


def plausible_usage(usage: Usage | None) -> Usage | None:
    """A client's usage without impossible numbers; None where nothing is left."""
    plausible = None if usage is None else usage.plausible()
    return plausible if plausible is not None and (plausible.tokens or plausible.cost is not None) else None


def with_cost(usage: Usage, model: str) -> Usage:
    """The usage with its cost: as the server says, else by the price table, else unknown."""
    price = None if usage.cost is not None else price_of(model)
    if price is None:
        return usage
    return replace(usage, cost=price.of(usage.prompt_tokens, usage.completion_tokens))
