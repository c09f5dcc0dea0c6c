"""What a run spends, held against its budget."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace

from workbench.judges.asking.budget import Budget, BudgetError
from workbench.judges.asking.budget_notes import answer_limit_note, remainder_note, unanswered_note
from workbench.judges.asking.estimates import CHARACTERS_PER_TOKEN, Amount, CostEstimator, PendingQuestion
from workbench.judges.asking.prices import Price
from workbench.judges.protocol import Usage

__all__ = ["Reservation", "Spending"]

_REFUSALS_TO_END = 5
"""Questions in a row that did not fit, after which the run ends if not even the smallest question so far fits. Ours."""
_REFUSALS_TO_END_UNSTARTED = 250
"""The same where no question was asked yet. Ours: high, so that long rows at the front of the data fail alone."""
_ROUNDING = 1e-12
"""Share of a limit that is allowed for floating-point rounding: 3 * $0.1 is more than $0.3."""


@dataclass(eq=False)
class Reservation:
    """What is reserved for a question under way."""

    question: PendingQuestion
    amount: Amount


class Spending:
    """What a run has spent and reserved, held against its budget. Used on one event loop, so it needs no lock.

    The judges of a suite run one after the other, and each gets an equal share of what is left: see `start_share`.

    Args:
        budget: The limits; None to count only.

    Attributes:
        from_store: Number of answers that came from the store.
        share_spent: Whether the current judge's share is spent: one question that is too large does not end it.
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
        """Count what was spent elsewhere, such as in a worker of a cluster.

        Args:
            calls: Questions asked.
            tokens: Paid for.
            money: US dollars.
            from_store: Answers that came from the store.
        """
        self._spent = self._spent.plus(Amount(calls, tokens, money))
        self.from_store += from_store

    def start_share(self, shares: int) -> None:
        """Begin the next judge's share: from now on one of so many equal parts of what is left may be spent."""
        self._shares, self._spent_before_share = max(1, shares), self._spent
        self._smallest, self._refused_in_a_row, self.share_spent = None, 0, False

    @property
    def limits_cost(self) -> bool:
        """Whether there is a budget in money or tokens."""
        return self.budget is not None and self.budget.limits_cost

    @property
    def calls(self) -> int:
        """Questions asked, answered or not."""
        return self._spent.calls

    @property
    def tokens(self) -> int:
        """Tokens paid for; estimated by length where the server does not count."""
        return int(self._spent.tokens)

    @property
    def money(self) -> float:
        """US dollars, as far as known."""
        return self._spent.money

    async def reserve(self, question: PendingQuestion) -> Reservation:
        """Reserve what a question may cost; waits where it would fit without those under way.

        Raises:
            BudgetError: The budget has no room for it.
        """
        if question.answer_limit is None:
            self._models_without_limit[question.model] = question.price
        if self._smallest is None or question.max_prompt_tokens < self._smallest.max_prompt_tokens:
            self._smallest = question
        while True:
            # Inside the loop: answers that came while this waited may have changed the estimate.
            amount = self._estimator.estimate(question)
            if not self._fits(question, amount, self._spent):
                raise self._refuse(amount)
            if self._may_start(question, amount):
                return self._reserve_now(question, amount)
            # Nothing is awaited between the check and this, so no wake-up is lost.
            self._settled.clear()
            await self._settled.wait()

    def _reserve_now(self, question: PendingQuestion, amount: Amount) -> Reservation:
        reservation = Reservation(question, amount)
        self._reservations.add(reservation)
        self._reserved = self._reserved.plus(amount)
        self._refused_in_a_row = 0
        return reservation

    def _may_start(self, question: PendingQuestion, amount: Amount) -> bool:
        """Whether it fits beside the questions under way, and need not wait for the first answer of its model."""
        if self.budget is None:
            return True
        is_probe = self.budget.limits_cost and self._estimator.needs_probe(question.model)
        if is_probe and any(other.question.model == question.model for other in self._reservations):
            return False
        return self._fits(question, amount, self._spent.plus(self._reserved))

    def _fits(self, question: PendingQuestion, amount: Amount, used: Amount) -> bool:
        """Whether an amount fits into the current share beside what is used."""
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
            return True  # an estimate by length alone, before any answer, is too rough to refuse a question
        limits = ((total.tokens, budget.tokens, before.tokens), (total.money, budget.money, before.money))
        return all(
            limit is None or value <= self._share_end(limit, spent_before) * (1 + _ROUNDING)
            for value, limit, spent_before in limits
        )

    def _refuse(self, amount: Amount) -> BudgetError:
        """Note that a question does not fit, and say why: it is too large for what is left, or nothing fits."""
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
            "the budget is spent"
            if nothing_fits and started
            else "the question may cost more than the budget has left"
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
        """How much may be spent in all when the current judge's share ends."""
        return spent_before + (limit - spent_before) / self._shares

    def settle(self, reservation: Reservation, usage: Usage | None, text: str) -> None:
        """Replace a reservation by what the answer really cost.

        Args:
            reservation: What `reserve` returned.
            usage: What the server counted; None where it does not count.
            text: The answer, to estimate its tokens by length then.
        """
        prompt_tokens = reservation.question.characters // CHARACTERS_PER_TOKEN
        self._settle(reservation, usage or Usage(prompt_tokens, len(text) // CHARACTERS_PER_TOKEN))

    def _settle(self, reservation: Reservation, usage: Usage) -> None:
        question, price = reservation.question, reservation.question.price
        table_cost = None if price is None else price.of(usage.prompt_tokens, usage.completion_tokens)
        money = table_cost if usage.cost is None else usage.cost
        self._replace(reservation, Amount(question.calls, usage.tokens, money or 0.0))
        if self._estimator.learn(question, usage, table_cost) and self.budget is not None:
            self._update_reservations()

    def charge(self, reservation: Reservation, usage: Usage | None) -> None:
        """Spend a try that brought no usable answer.

        Args:
            reservation: What `reserve` returned.
            usage: What the server counted; None where its answer never came, so that all that was reserved is spent.
        """
        if usage is not None:
            self._settle(reservation, usage)
            return
        self._unanswered = self._unanswered.plus(replace(reservation.amount, calls=1))
        self._estimator.failed_questions[reservation.question.model] += 1
        self._replace(reservation, reservation.amount)

    def _update_reservations(self) -> None:
        """Estimate the questions under way anew: what one answer showed holds for them as well."""
        for reservation in self._reservations:
            amount = self._estimator.estimate(reservation.question)
            self._reserved = self._reserved.plus(reservation.amount, -1).plus(amount)
            reservation.amount = amount

    def release(self, reservation: Reservation) -> None:
        """End a question that was not answered: it counts as a call and costs nothing."""
        self._estimator.failed_questions[reservation.question.model] += 1
        self._replace(reservation, Amount(reservation.question.calls))

    def _replace(self, reservation: Reservation, spent: Amount) -> None:
        self._reservations.discard(reservation)
        # Starting anew at zero whenever nothing is reserved keeps rounding errors from adding up.
        self._reserved = self._reserved.plus(reservation.amount, -1) if self._reservations else Amount()
        self._spent = self._spent.plus(spent)
        self._settled.set()

    def _state_with(self, amount: Amount) -> str:
        spent = f"{self.calls:,} calls, {self.tokens:,} tokens, ${self.money:.4f}"
        return f"{spent}; the next question may take {amount.tokens:,.0f} tokens, ${amount.money:.4f}"

    def notes(self) -> Iterator[str]:
        """Notes for the report: where the budget rests on estimates, what is left of it, and by how much it was missed."""
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
