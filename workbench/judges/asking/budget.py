"""A run's budget: what its judges may spend, as a stop that holds."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Any

from workbench.errors import WorkbenchError
from workbench.grade import ErrorKind
from workbench.graders.base import is_number
from workbench.judges.asking.budget_notes import left_of, open_ended, unanswered
from workbench.judges.asking.estimates import LETTERS_A_TOKEN, Amount, Asking, Learned
from workbench.judges.asking.prices import Price, price_of
from workbench.judges.protocol import Usage

__all__ = ["Asking", "Budget", "BudgetError", "Reserved", "Spending", "as_budget", "check_priced"]


_WORN_OUT = 5
"""Questions in a row without room after which the run ends, where not even the smallest so far has room."""
_NONE_FIT = 250
"""The same where no question was asked yet, so that long rows at the front of the data cost only themselves."""
_ROUNDING = 1e-12
"""Share of a limit that is taken for rounding: three times $0.1 are $0.3."""


class BudgetError(WorkbenchError, RuntimeError):
    """A question that the budget has no room for; it was not asked, or not once more.

    Attributes:
        usage: What a server counted of tries before.
    """

    kind = ErrorKind.BUDGET
    usage: Usage | None = None


@dataclass(frozen=True)
class Budget:
    """The most that the judges of a run may spend; None for no limit.

    A question is asked only where what was spent, the most that those under way may cost, and the most that it may
    cost itself fit. What is set aside for a question is settled with its true cost when the answer is there; one that
    does not fit beside those under way waits for them.

    **With `max_tokens` on the judge the budget is exact where the server charges by the price table and counts the
    messages sent**: an answer takes `max_tokens` at most, thinking included, and a question no more tokens than its
    bytes, since a token of the usual tokenizers (byte-level BPE) is one byte or more. Towards its end such a run asks
    fewer questions at once. What a server counts beyond that (a system prompt of its own, a fee) is learned from its
    answers and set aside from then on; the first question to each model goes alone to learn from.

    Without `max_tokens` nobody knows what an answer may take: set aside is the longest answer so far, also for the
    questions under way. One question may overshoot by what its answer is longer than that, at the model's price, and
    so may each of those under way with it; a note of the report says by how much. Calls are never overrun.

    A question that may cost more than what is left fails its own row, and the run goes on with rows that fit. It ends
    where not even the smallest question so far fits; a note names what is left.

    Prices are those in `PRICES`, which know no surcharge for very long questions. Answers out of a store cost nothing;
    where a server does not count, tokens are guessed by length. A question that fails counts as a call and
    costs what the server counted. What it charges for an answer that never arrived, nobody tells: in money and tokens
    `OpenAIClient` counts each try that timed out or broke off with the most it may cost, and a note says how many.

    Attributes:
        money: US dollars, by the prices in `PRICES` or as the server says.
        tokens: Of questions and answers together.
        calls: Questions asked; one that fails in the end counts too, its tries before that do not.

    Raises:
        ValueError: No limit at all, or one that is not above 0.

    Example:
        >>> Budget(0.5, calls=200)
        Budget(money=0.5, calls=200)
    """

    money: float | None = None
    _: KW_ONLY
    tokens: int | None = None
    calls: int | None = None

    def __post_init__(self) -> None:
        given = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) is not None}
        if not given:
            raise ValueError("a budget needs a limit: money, tokens or calls")
        for name, value in given.items():
            if not is_number(value) or value <= 0:
                raise ValueError(f"a budget's {name} must be a number above 0, not {value!r}")

    def __repr__(self) -> str:
        given = [
            f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if getattr(self, f.name) is not None
        ]
        return f"Budget({', '.join(given)})"

    @property
    def measured(self) -> bool:
        """Whether it limits what an answer's length decides: money or tokens."""
        return self.money is not None or self.tokens is not None


def as_budget(given: Any) -> Budget | None:
    """A budget as `run` takes it: a number is money."""
    return given if given is None or isinstance(given, Budget) else Budget(given)


def check_priced(budget: Budget, model: str) -> None:
    """Raise where a budget in money cannot be held, since nobody knows what the model costs.

    Raises:
        BudgetError: Naming the model and the table to put its price into.
    """
    if budget.money is not None and price_of(model) is None:
        name = model or "my-model"
        raise BudgetError(
            "a budget in money needs the model's price",
            found=f"no price of {model!r}" if model else "a judge without a model",
            hint=f"{'' if model else 'give the judge model=; '}wb.judges.PRICES[{name!r}] = wb.judges.Price(input=..., output=...), "
            "in dollars for a million tokens; or give the budget in tokens or calls",
        )


@dataclass(eq=False)
class Reserved:
    """A question under way, and what is set aside for it."""

    asking: Asking
    amount: Amount


class Spending:
    """What a run spends, held against its budget. Used on one event loop.

    Args:
        budget: The limits; None to count only.

    Attributes:
        kept: Answers that came out of the store.
        over: Whether the part of the judge at work is spent: one question that is too large does not end it.
        ended: Whether a judge's part was ever spent.
    """

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget = budget
        self.kept = 0
        self._spent, self._under_way = Amount(), Amount()
        self._open: set[Reserved] = set()
        self._learned = Learned()
        self._unlimited: dict[str, Price | None] = {}
        self._settled = asyncio.Event()
        self._unanswered = Amount()
        self._parts, self._before = 1, Amount()
        self._smallest: Asking | None = None
        self._refused = 0  # questions in a row without room
        self._left_out: list[Amount] = []  # the cheapest question that had no room
        self.over = self.ended = False

    def share(self, parts: int) -> None:
        """From now on only one of so many equal parts of what is left may be spent: judges of one suite share."""
        self._parts, self._before = max(1, parts), self._spent
        self._smallest, self._refused, self.over = None, 0, False

    @property
    def measured(self) -> bool:
        """Whether there is a budget in money or tokens."""
        return self.budget is not None and self.budget.measured

    @property
    def calls(self) -> int:
        """Questions asked, answered or not."""
        return self._spent.calls

    @property
    def tokens(self) -> int:
        """Tokens paid for; guessed from the length where the server does not count."""
        return int(self._spent.tokens)

    @property
    def money(self) -> float:
        """US dollars, as far as known."""
        return self._spent.money

    async def reserve(self, asking: Asking) -> Reserved:
        """Set aside what a question may cost, and wait for those under way where there is only room without them.

        Raises:
            BudgetError: There is no room for it.
        """
        if asking.limit is None:
            self._unlimited[asking.model] = asking.price
        if self._smallest is None or asking.most < self._smallest.most:
            self._smallest = asking
        while True:
            amount = self._learned.estimate(asking)
            if not self._room(asking, amount, self._spent):
                raise self._refuse(amount)
            if self._goes_now(asking, amount):
                return self._opened(asking, amount)
            self._settled.clear()
            await self._settled.wait()

    def _opened(self, asking: Asking, amount: Amount) -> Reserved:
        reserved = Reserved(asking, amount)
        self._open.add(reserved)
        self._under_way = self._under_way.plus(amount)
        self._refused = 0
        return reserved

    def _goes_now(self, asking: Asking, amount: Amount) -> bool:
        """Whether it fits beside those under way, and need not wait for what the first to its model teaches."""
        if self.budget is None:
            return True
        lonely = self.budget.measured and self._learned.alone(asking.model)
        if lonely and any(one.asking.model == asking.model for one in self._open):
            return False
        return self._room(asking, amount, self._spent.plus(self._under_way))

    def _room(self, asking: Asking, amount: Amount, used: Amount) -> bool:
        """Whether so much fits beside what is used."""
        budget = self.budget
        if budget is None:
            return True
        after = used.plus(amount)
        if budget.calls is not None and after.calls > self._part(budget.calls, self._before.calls):
            return False
        if asking.limit is None and not self._learned.answered and self._learned.alone(asking.model):
            return True  # guesses by length alone refuse nothing
        held = (
            (after.tokens, budget.tokens, self._before.tokens),
            (after.money, budget.money, self._before.money),
        )
        return all(
            limit is None or value <= self._part(limit, before) * (1 + _ROUNDING)
            for value, limit, before in held
        )

    def _refuse(self, amount: Amount) -> BudgetError:
        """Why a question was not asked: it is too large for what is left, or nothing more fits."""
        assert self._smallest is not None
        least = self._learned.estimate(self._smallest)
        spent = not self._room(self._smallest, least, self._spent)
        calls = self.budget is not None and self.budget.calls is not None and self._no_call_left()
        self._refused += 1
        began = self._spent.calls > self._before.calls
        worn_out = self._refused >= (_WORN_OUT if began else _NONE_FIT)
        self.over = self.over or calls or (spent and worn_out)
        self.ended = self.ended or self.over or (spent and began)
        self._left_out = [min([*self._left_out, amount], key=lambda one: (one.money, one.tokens))]
        what = (
            "the budget is spent"
            if spent and began
            else "the question may cost more than the budget has left"
        )
        return BudgetError(what, found=self._told(amount), expected=f"at most {self.budget!r}")

    def _no_call_left(self) -> bool:
        assert self.budget is not None
        assert self.budget.calls is not None
        return self._spent.calls + 1 > self._part(self.budget.calls, self._before.calls)

    def _part(self, limit: float, before: float) -> float:
        """How far the judge at work may go."""
        return before + (limit - before) / self._parts

    def settle(self, reserved: Reserved, usage: Usage | None, said: str) -> None:
        """Put what an answer really cost in the place of what was set aside.

        Args:
            reserved: What `reserve` returned.
            usage: What the server counted; None where it does not.
            said: The answer's text, to guess from then.
        """
        letters = reserved.asking.letters
        self._settle(reserved, usage or Usage(letters // LETTERS_A_TOKEN, len(said) // LETTERS_A_TOKEN))

    def _settle(self, reserved: Reserved, counted: Usage) -> None:
        asking, price = reserved.asking, reserved.asking.price
        listed = None if price is None else price.of(counted.prompt_tokens, counted.completion_tokens)
        money = listed if counted.cost is None else counted.cost
        self._put(reserved, Amount(asking.calls, counted.tokens, money or 0.0))
        if self._learned.learn(asking, counted, listed) and self.budget is not None:
            self._estimate_again()

    def charge(self, reserved: Reserved, usage: Usage | None) -> None:
        """A try brought no usable answer, but a server counted it, or may.

        Args:
            reserved: What `reserve` returned.
            usage: What the server counted; None where its answer never came, so that all that was set aside is spent.
        """
        if usage is not None:
            self._settle(reserved, usage)
            return
        self._unanswered = self._unanswered.plus(replace(reserved.amount, calls=1))
        self._learned.failed[reserved.asking.model] += 1
        self._put(reserved, reserved.amount)

    def _estimate_again(self) -> None:
        """What was learned holds for the questions under way as well."""
        for one in self._open:
            amount = self._learned.estimate(one.asking)
            self._under_way = self._under_way.plus(one.amount, -1).plus(amount)
            one.amount = amount

    def release(self, reserved: Reserved) -> None:
        """The question was not answered: it counts as a call and nothing more."""
        self._learned.failed[reserved.asking.model] += 1
        self._put(reserved, Amount(reserved.asking.calls))

    def _put(self, reserved: Reserved, real: Amount) -> None:
        self._open.discard(reserved)
        self._under_way = self._under_way.plus(reserved.amount, -1) if self._open else Amount()
        self._spent = self._spent.plus(real)
        self._settled.set()

    def _told(self, amount: Amount) -> str:
        spent = f"{self.calls:,} calls, {self.tokens:,} tokens, ${self.money:.4f}"
        return f"{spent}; the next question may take {amount.tokens:,.0f} tokens, ${amount.money:.4f}"

    def notes(self) -> Iterator[str]:
        """What a person should read of the budget: that it was held by guesses, and by how much it was missed."""
        budget = self.budget
        if budget is None or not budget.measured:
            return
        longest = self._learned.answer
        yield from (open_ended(model, price, longest) for model, price in self._unlimited.items())
        if self._unanswered.calls:
            yield unanswered(self._unanswered)
        money, tokens = (self.money, budget.money), (self.tokens, budget.tokens)
        yield from filter(None, (left_of(money, tokens, least) for least in self._left_out))
        if budget.tokens is not None and self._spent.tokens > budget.tokens:
            yield f"The budget was exceeded by {self._spent.tokens - budget.tokens:,.0f} tokens."
        if budget.money is not None and self.money > budget.money * (1 + _ROUNDING):
            yield f"The budget was exceeded by ${self.money - budget.money:.4f}."
