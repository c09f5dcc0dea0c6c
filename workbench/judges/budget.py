"""A run's budget: what its judges may spend, as a stop that holds."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any

from workbench.errors import WorkbenchError
from workbench.grade import ErrorKind
from workbench.graders.base import is_number
from workbench.judges.client import Usage
from workbench.judges.prices import Price, price_of

__all__ = ["LETTERS_A_TOKEN", "Asking", "Budget", "BudgetError", "Spending", "as_budget", "check_priced"]


LETTERS_A_TOKEN = 3
"""Letters that are a token at least, before anything is counted; English has about four."""

_ANSWER_TOKENS = 1_000
"""Tokens an answer may take before anything is known, where the judge sets no limit."""
_PROBES = 3
"""Questions that are asked alone to learn what one costs; where all failed, the others are guessed by length."""


class BudgetError(WorkbenchError, RuntimeError):
    """A question that the budget has no room for; it was not asked."""

    kind = ErrorKind.BUDGET


@dataclass(frozen=True)
class Budget:
    """The most that the judges of a run may spend; None for no limit.

    A question is asked only where what was spent, the most that those under way may cost, and the most that it may
    cost itself fit. What is set aside for a question is settled with its true cost when the answer is there; one that
    does not fit waits for those under way, and where it still does not, the budget is spent.

    **With `max_tokens` on the judge the budget is never exceeded**, by what the server counts: an answer takes
    `max_tokens` at most, thinking included, and a question no more tokens than its bytes, since a token of the usual
    tokenizers (byte-level BPE) is one byte or more. Towards its end such a run asks fewer questions at once.

    Without `max_tokens` nobody knows what an answer may take: set aside is the longest answer so far, also for the
    questions under way, and the first question goes alone to learn from. One question may overshoot by what its
    answer is longer than that, at the model's price, and so may each of those under way with it; a note of the
    report says by how much. Calls are never overrun in either case.

    Prices are those in `PRICES`, which know no surcharge for very long questions. Answers out of a store cost nothing;
    where a server does not count, tokens are guessed by length. A question that fails counts as a call and costs
    nothing: what a server charges for an answer that never arrived, nobody tells.

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
            hint=f"{'' if model else 'give the judge model=; '}wb.PRICES[{name!r}] = wb.Price(input=..., output=...), "
            "in dollars for a million tokens; or give the budget in tokens or calls",
        )


@dataclass(frozen=True)
class _Amount:
    """Calls, tokens and money of one question, or of many."""

    calls: int = 0
    tokens: float = 0
    money: float = 0.0

    def plus(self, other: _Amount, sign: int = 1) -> _Amount:
        return _Amount(
            self.calls + sign * other.calls,
            self.tokens + sign * other.tokens,
            self.money + sign * other.money,
        )


@dataclass(frozen=True)
class Asking:
    """What is known of a question before it is asked.

    Attributes:
        letters: Characters of it, tools included.
        limit: Tokens its answer may take; None where the judge sets no limit.
        price: The model's; None where nobody knows.
        size: Bytes of it as JSON, at least as many as its tokens; 0 where only the letters are known.
        model: Who is asked.
    """

    letters: int
    limit: int | None
    price: Price | None
    size: int = 0
    model: str = ""


@dataclass(eq=False)
class _Reserved:
    """A question under way, and what is set aside for it."""

    asking: Asking
    amount: _Amount


class Spending:
    """What a run spends, held against its budget. Used on one event loop.

    Args:
        budget: The limits; None to count only.

    Attributes:
        kept: Answers that came out of the store.
    """

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget = budget
        self.kept = 0
        self._spent, self._under_way = _Amount(), _Amount()
        self._open: set[_Reserved] = set()
        self._seen: tuple[float, float] | None = None  # most tokens a letter, most tokens an answer
        self._beyond = 0  # tokens of the longest answer that its limit did not hold
        self._dearer: dict[str, float] = {}  # how many times the table's price a server asked
        self._unlimited: dict[str, Price | None] = {}
        self._settled = asyncio.Event()
        self._failed = 0
        self._parts, self._before = 1, _Amount()

    def share(self, parts: int) -> None:
        """From now on only one of so many equal parts of what is left may be spent: judges of one suite share."""
        self._parts, self._before = max(1, parts), self._spent

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

    async def reserve(self, asking: Asking) -> _Reserved:
        """Set aside what a question may cost, and wait for those under way where there is only room without them.

        Raises:
            BudgetError: There is no room for it.
        """
        if asking.limit is None:
            self._unlimited[asking.model] = asking.price
        while True:
            amount = self._estimate(asking)
            if self._fits(asking, amount):
                reserved = _Reserved(asking, amount)
                self._open.add(reserved)
                self._under_way = self._under_way.plus(amount)
                return reserved
            if not self._under_way.calls:
                raise BudgetError(
                    "the budget is spent", found=self._told(amount), expected=f"at most {self.budget!r}"
                )
            self._settled.clear()
            await self._settled.wait()

    def _estimate(self, asking: Asking) -> _Amount:
        """The most it may cost; without a limit the densest question so far, and the longest answer."""
        if asking.limit is not None:
            prompt, answer = float(max(asking.size, asking.letters)), float(max(asking.limit, self._beyond))
        else:
            a_letter, answer = self._seen or (1 / LETTERS_A_TOKEN, _ANSWER_TOKENS)
            prompt = asking.letters * a_letter
        money = 0.0 if asking.price is None else asking.price.of(prompt, answer)
        return _Amount(1, prompt + answer, money * self._dearer.get(asking.model, 1.0))

    def _fits(self, asking: Asking, amount: _Amount) -> bool:
        budget = self.budget
        if budget is None:
            return True
        after = self._spent.plus(self._under_way).plus(amount)
        if budget.calls is not None and after.calls > self._part(budget.calls, self._before.calls):
            return False
        if self._seen is None and budget.measured and asking.limit is None:
            if not self._under_way.calls:
                return True  # one alone, to learn from
            if self._failed < _PROBES:
                return False
        held = (
            (after.tokens, budget.tokens, self._before.tokens),
            (after.money, budget.money, self._before.money),
        )
        return all(limit is None or value <= self._part(limit, before) for value, limit, before in held)

    def _part(self, limit: float, before: float) -> float:
        """How far the judge at work may go."""
        return before + (limit - before) / self._parts

    def settle(self, reserved: _Reserved, usage: Usage | None, said: str) -> None:
        """Put what an answer really cost in the place of what was set aside.

        Args:
            reserved: What `reserve` returned.
            usage: What the server counted; None where it does not.
            said: The answer's text, to guess from then.
        """
        asking = reserved.asking
        counted = usage or Usage(asking.letters // LETTERS_A_TOKEN, len(said) // LETTERS_A_TOKEN)
        listed = (
            None
            if asking.price is None
            else asking.price.of(counted.prompt_tokens, counted.completion_tokens)
        )
        money = listed if counted.cost is None else counted.cost
        self._put(reserved, _Amount(1, counted.tokens, money or 0.0))
        self._learn(asking, counted, listed)

    def _learn(self, asking: Asking, counted: Usage, listed: float | None) -> None:
        """What an answer says of those to come: for the questions under way as well."""
        a_letter, answer = seen = self._seen or (0.0, 0.0)
        self._seen = (
            max(a_letter, counted.prompt_tokens / max(1, asking.letters)),
            max(answer, counted.completion_tokens),
        )
        if asking.limit is not None and counted.completion_tokens > asking.limit:
            self._beyond = max(self._beyond, counted.completion_tokens)
        if listed and counted.cost is not None:
            self._dearer[asking.model] = max(self._dearer.get(asking.model, 1.0), counted.cost / listed)
        if self.budget is not None and self._seen != seen:
            for one in self._open:
                amount = self._estimate(one.asking)
                self._under_way = self._under_way.plus(one.amount, -1).plus(amount)
                one.amount = amount

    def release(self, reserved: _Reserved) -> None:
        """The question was not answered: it counts as a call and nothing more."""
        self._failed += 1
        self._put(reserved, _Amount(1))

    def _put(self, reserved: _Reserved, real: _Amount) -> None:
        self._open.discard(reserved)
        self._under_way = self._under_way.plus(reserved.amount, -1) if self._open else _Amount()
        self._spent = self._spent.plus(real)
        self._settled.set()

    def _told(self, amount: _Amount) -> str:
        spent = f"{self.calls:,} calls, {self.tokens:,} tokens, ${self.money:.4f}"
        return f"{spent}; the next question may take {amount.tokens:,.0f} tokens, ${amount.money:.4f}"

    def notes(self) -> Iterator[str]:
        """What a person should read of the budget: that it was held by guesses, and by how much it was missed."""
        budget = self.budget
        if budget is None or not budget.measured:
            return
        longest = (self._seen or (0.0, 0.0))[1]
        yield from (_open_ended(model, price, longest) for model, price in self._unlimited.items())
        if budget.tokens is not None and self._spent.tokens > budget.tokens:
            yield f"The budget was exceeded by {self._spent.tokens - budget.tokens:,.0f} tokens."
        if budget.money is not None and self.money > budget.money:
            yield f"The budget was exceeded by ${self.money - budget.money:.4f}."


def _open_ended(model: str, price: Price | None, longest: float) -> str:
    """By how much one question to a model may overshoot."""
    more = "" if price is None else f" (${price.of(0, 1_000):.4g} for every 1,000 tokens more)"
    return (
        f"{repr(model) if model else 'A judge'} was asked without max_tokens: each question under way may overshoot "
        f"the budget by as much as its answer is longer than the longest so far, which had {longest:,.0f} tokens"
        f"{more}. With max_tokens= on the judge the budget is exact."
    )
