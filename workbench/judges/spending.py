"""What a run and each of its requests spend, compared with the budget, and the notes about it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextvars import ContextVar, Token
from dataclasses import dataclass, replace
from typing import Self

from workbench.judges.budget import (
    CHARACTERS_PER_TOKEN,
    Amount,
    Budget,
    BudgetError,
    CostEstimator,
    PendingQuestion,
)
from workbench.judges.prices import Price, price_of
from workbench.judges.protocol import JudgeServerError, Usage

_REFUSALS_TO_END = 5
"""Consecutive requests that did not fit, after which the run ends if not even the smallest request so far fits. Workbench limit."""
_REFUSALS_TO_END_UNSTARTED = 250
"""The same before any request was sent. Workbench limit: high, so that long rows at the start of the data fail alone."""
_ROUNDING = 1e-12
"""Share of a limit that is allowed for floating-point rounding: 3 * $0.1 is more than $0.3."""


@dataclass(eq=False)
class Reservation:
    """What is reserved for a request in flight."""

    question: PendingQuestion
    amount: Amount


class Spending:
    """What a run has spent and reserved, compared with its budget. Used on one event loop, so it needs no lock.

    The judges of a suite run one after the other, and each gets an equal share of the remaining budget: see `allocate`.

    Args:
        budget: The limits; None to count only.

    Attributes:
        from_store: Number of replies read from the store.
        share_spent: Whether the current judge's share is spent: one request that is too large does not end it.
        any_share_spent: Whether any judge's share was ever spent.
    """

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget = budget
        self.from_store = 0
        self._spent, self._reserved = Amount(), Amount()
        self._reservations: set[Reservation] = set()
        self._estimator = CostEstimator()
        self._models_without_limit: dict[str, Price | None] = {}
        self._settled = asyncio.Event()
        self._unanswered = Amount()
        self._shares, self._spent_before_share = 1, Amount()
        self._smallest: PendingQuestion | None = None
        self._refused_in_a_row = 0
        self._cheapest_refused: Amount | None = None
        self.share_spent = self.any_share_spent = False

    def add(self, calls: int, tokens: float, money: float, from_store: int = 0) -> None:
        """Add what was spent in another process, such as in a worker of a cluster.

        Args:
            calls: Requests sent.
            tokens: Paid for.
            money: US dollars.
            from_store: Replies read from the store.
        """
        self._spent = self._spent.plus(Amount(calls, tokens, money))
        self.from_store += from_store

    def allocate(self, shares: int) -> None:
        """Start the next judge's share: from now on one of this number of equal parts of the remainder may be spent."""
        self._shares, self._spent_before_share = max(1, shares), self._spent
        self._smallest, self._refused_in_a_row, self.share_spent = None, 0, False

    @property
    def limits_cost(self) -> bool:
        """Whether there is a budget in money or tokens."""
        return self.budget is not None and self.budget.limits_cost

    @property
    def calls(self) -> int:
        """Requests sent, with or without a reply."""
        return self._spent.calls

    @property
    def tokens(self) -> int:
        """Tokens paid for; estimated by length if the server does not count them."""
        return int(self._spent.tokens)

    @property
    def money(self) -> float:
        """US dollars, as far as known."""
        return self._spent.money

    @property
    def reserved(self) -> float:
        """US dollars reserved for the requests in flight."""
        return max(0.0, self._reserved.money)

    async def reserve(self, question: PendingQuestion) -> Reservation:
        """Reserve the maximum cost of a request; waits if it would fit without those in flight.

        Raises:
            BudgetError: The remaining budget is too small.
        """
        if question.answer_limit is None:
            self._models_without_limit[question.model] = question.price
        if self._smallest is None or question.max_prompt_tokens < self._smallest.max_prompt_tokens:
            self._smallest = question
        while True:
            # Inside the loop: replies that arrived while this waited may have changed the estimate.
            amount = self._estimator.estimate(question)
            if not self._fits(question, amount, self._spent):
                raise self._refuse(amount)
            if self._may_start(question, amount):
                return self._reserve_now(question, amount)
            # Nothing is awaited between the check and this, so no wake-up is missed.
            self._settled.clear()
            await self._settled.wait()

    def commit(self, question: PendingQuestion) -> None:
        """Count the maximum cost of a request as spent: it is sent in a batch, after the run.

        Raises:
            BudgetError: It does not fit into the budget, or its cost has no maximum.
        """
        if self.budget is None:
            return
        if self._smallest is None or question.max_prompt_tokens < self._smallest.max_prompt_tokens:
            self._smallest = question
        if question.answer_limit is None and self.budget.limits_cost:
            raise BudgetError(
                "the cost of a batch has no maximum", found="a judge without max_tokens",
                hint="set max_tokens= on the judge, or give the budget in calls",
            )  # fmt: skip
        amount = self._estimator.estimate(question)
        share = 1.0 if question.price is None else question.price.batch
        amount = replace(amount, money=amount.money * share)
        if not self._fits(question, amount, self._spent):
            raise self._refuse(amount)
        self._spent, self._refused_in_a_row = self._spent.plus(amount), 0

    def _reserve_now(self, question: PendingQuestion, amount: Amount) -> Reservation:
        reservation = Reservation(question, amount)
        self._reservations.add(reservation)
        self._reserved = self._reserved.plus(amount)
        self._refused_in_a_row = 0
        return reservation

    def _may_start(self, question: PendingQuestion, amount: Amount) -> bool:
        """Whether it fits together with the requests in flight, and need not wait for the first reply of its model."""
        if self.budget is None:
            return True
        is_probe = self.budget.limits_cost and self._estimator.needs_probe(question.model)
        if is_probe and any(other.question.model == question.model for other in self._reservations):
            return False
        return self._fits(question, amount, self._spent.plus(self._reserved))

    def _fits(self, question: PendingQuestion, amount: Amount, used: Amount) -> bool:
        """Whether an amount fits into the current share together with what is used."""
        budget, before = self.budget, self._spent_before_share
        if budget is None:
            return True
        total = used.plus(amount)
        if budget.calls is not None and total.calls > self._share_end(budget.calls, before.calls):
            return False
        estimator = self._estimator
        if (
            question.answer_limit is None
            and not estimator.answered_models
            and estimator.needs_probe(question.model)
        ):
            return True  # an estimate by length alone, before any reply, is too rough to reject a request
        limits = ((total.tokens, budget.tokens, before.tokens), (total.money, budget.money, before.money))
        return all(
            limit is None or value <= self._share_end(limit, spent_before) * (1 + _ROUNDING)
            for value, limit, spent_before in limits
        )

    def _refuse(self, amount: Amount) -> BudgetError:
        """Note that a request does not fit, and return why: larger than the remainder, or nothing fits."""
        assert self._smallest is not None
        smallest_amount = self._estimator.estimate(self._smallest)
        nothing_fits = not self._fits(self._smallest, smallest_amount, self._spent)
        self._refused_in_a_row += 1
        started = self._spent.calls > self._spent_before_share.calls
        refusals_to_end = _REFUSALS_TO_END if started else _REFUSALS_TO_END_UNSTARTED
        end = nothing_fits and self._refused_in_a_row >= refusals_to_end
        self.share_spent = self.share_spent or self._calls_spent() or end
        self.any_share_spent = self.any_share_spent or self.share_spent or (nothing_fits and started)
        self._note_refused(amount)
        problem = (
            "budget exhausted"
            if nothing_fits and started
            else "the request may cost more than the remaining budget"
        )
        return BudgetError(problem, found=self._state_with(amount), expected=f"at most {self.budget!r}")

    def _note_refused(self, amount: Amount) -> None:
        cheapest = self._cheapest_refused
        if cheapest is None or (amount.money, amount.tokens) < (cheapest.money, cheapest.tokens):
            self._cheapest_refused = amount

    def _calls_spent(self) -> bool:
        if self.budget is None or self.budget.calls is None:
            return False
        return self._spent.calls + 1 > self._share_end(self.budget.calls, self._spent_before_share.calls)

    def _share_end(self, limit: float, spent_before: float) -> float:
        """The maximum to be spent in total when the current judge's share ends."""
        return spent_before + (limit - spent_before) / self._shares

    def settle(self, reservation: Reservation, usage: Usage | None, text: str) -> None:
        """Replace a reservation by the true cost of the reply.

        Args:
            reservation: What `reserve` returned.
            usage: What the server counted; None if it does not count.
            text: The reply, to estimate its tokens by length in that case.
        """
        prompt_tokens = reservation.question.characters // CHARACTERS_PER_TOKEN
        self._settle(reservation, usage or Usage(prompt_tokens, len(text) // CHARACTERS_PER_TOKEN))

    def _settle(self, reservation: Reservation, usage: Usage) -> None:
        question, price = reservation.question, reservation.question.price
        table_cost = None if price is None else price.of(usage)
        money = table_cost if usage.cost is None else usage.cost
        self._replace(reservation, Amount(question.calls, usage.tokens, money or 0.0))
        if self._estimator.learn(question, usage, table_cost) and self.budget is not None:
            self._update_reservations()

    def charge(self, reservation: Reservation, usage: Usage | None) -> None:
        """Charge a try that returned no usable reply.

        Args:
            reservation: What `reserve` returned.
            usage: What the server counted; None if no reply arrived, so that the whole reservation is spent.
        """
        if usage is not None:
            self._settle(reservation, usage)
            return
        self._unanswered = self._unanswered.plus(replace(reservation.amount, calls=1))
        self._estimator.failed_questions[reservation.question.model] += 1
        self._replace(reservation, reservation.amount)

    def _update_reservations(self) -> None:
        """Estimate the requests in flight again: what one reply showed is true for them as well."""
        for reservation in self._reservations:
            amount = self._estimator.estimate(reservation.question)
            self._reserved = self._reserved.plus(reservation.amount, -1).plus(amount)
            reservation.amount = amount

    def release(self, reservation: Reservation) -> None:
        """End a request that got no reply: it counts as a call and costs nothing."""
        self._estimator.failed_questions[reservation.question.model] += 1
        self._replace(reservation, Amount(reservation.question.calls))

    def _replace(self, reservation: Reservation, spent: Amount) -> None:
        self._reservations.discard(reservation)
        # Restarting at zero whenever nothing is reserved keeps rounding errors from adding up.
        self._reserved = self._reserved.plus(reservation.amount, -1) if self._reservations else Amount()
        self._spent = self._spent.plus(spent)
        self._settled.set()

    def _state_with(self, amount: Amount) -> str:
        spent = f"{self.calls:,} calls, {self.tokens:,} tokens, ${self.money:.4f}"
        return f"{spent}; the next request may take {amount.tokens:,.0f} tokens, ${amount.money:.4f}"

    def notes(self) -> Iterator[str]:
        """Notes for the report: whether the budget depends on estimates, the remainder, and by how much it was exceeded."""
        budget = self.budget
        if budget is None or not budget.limits_cost:
            return
        longest_answer = self._estimator.longest_answer
        for model, price in self._models_without_limit.items():
            yield answer_limit_note(model, price, longest_answer)
        if self._unanswered.calls:
            yield unanswered_note(self._unanswered)
        money, tokens = (self.money, budget.money), (self.tokens, budget.tokens)
        if self._cheapest_refused is not None and (
            note := remainder_note(money, tokens, self._cheapest_refused)
        ):
            yield note
        if budget.tokens is not None and self._spent.tokens > budget.tokens:
            yield f"The budget was exceeded by {self._spent.tokens - budget.tokens:,.0f} tokens."
        if budget.money is not None and self.money > budget.money * (1 + _ROUNDING):
            yield f"The budget was exceeded by ${self.money - budget.money:.4f}."


@dataclass
class QuestionBill:
    """What one request has cost so far, and the reservation for it.

    As a context manager it is the bill of this task's request; an error that leaves the block ends the request.

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
    _token: Token[QuestionBill | None] | None = None

    def __enter__(self) -> Self:
        self._token = current_bill.set(self)
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        assert self._token is not None
        current_bill.reset(self._token)
        if error is not None:
            self._fail(error)

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

    def _fail(self, error: BaseException) -> None:
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
        return before.plus(with_cost(usage, self.question.model))


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
    return replace(usage, cost=price.of(usage))


def remainder_note(
    money: tuple[float, float | None], tokens: tuple[int, int | None], cheapest: Amount
) -> str:
    """How much of the budget remains if a request did not fit into it; "" if nothing remains.

    Args:
        money: Dollars spent, and the limit.
        tokens: Tokens spent, and the limit.
        cheapest: The cheapest request that was not sent.
    """
    dollars, max_dollars = money
    if max_dollars is not None and dollars < max_dollars:
        return (
            f"${max_dollars - dollars:.4f} of ${max_dollars:.4f} remaining; every unsent request could cost "
            f"${cheapest.money:.4f} or more."
        )
    used, max_tokens = tokens
    if max_tokens is not None and used < max_tokens:
        return (
            f"{max_tokens - used:,} of {max_tokens:,} tokens remaining; every unsent request could take "
            f"{cheapest.tokens:,.0f} or more."
        )
    return ""


def unanswered_note(tries: Amount) -> str:
    """How many requests got no reply, and what they count for in the budget."""
    return (
        f"{tries.calls:,} requests got no reply. A server may charge for them, so the budget counts them at their "
        f"maximum cost: {tries.tokens:,.0f} tokens, ${tries.money:.4f}."
    )


def answer_limit_note(model: str, price: Price | None, longest_answer: float) -> str:
    """By how much a request without `max_tokens` may exceed the budget."""
    rate = "" if price is None else f" (${price.max_of(0, 1_000):.4g} per 1,000 additional tokens)"
    return (
        f"{repr(model) if model else 'A judge'} was called without max_tokens: each request in flight may exceed the "
        f"budget by the tokens of its reply beyond the longest reply so far, which had {longest_answer:,.0f} tokens"
        f"{rate}. Set max_tokens= on the judge to make the budget exact if the server charges by the price table."
    )
