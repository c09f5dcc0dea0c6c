"""A run's budget: what its judges may spend, as a stop that holds."""

from __future__ import annotations

import asyncio
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


_PROBES = 3
"""Questions that are asked alone to learn what one costs; where all failed, the others are guessed by length."""


class BudgetError(WorkbenchError, RuntimeError):
    """A question that the budget has no room for; it was not asked."""

    kind = ErrorKind.BUDGET


@dataclass(frozen=True)
class Budget:
    """The most that the judges of a run may spend; None for no limit.

    A question is asked only where what was spent, what is under way and what it may cost itself fit. What it may
    cost is guessed from its length and the longest answer so far; to know that, the first question goes alone. Calls
    are never overrun; tokens and money are by the first question alone, or where answers under way together are longer
    than all before. Answers out of a store cost nothing; where a server does not count, tokens are guessed.

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


def as_budget(given: Any) -> Budget | None:
    """A budget as `run` takes it: a number is money."""
    return given if given is None or isinstance(given, Budget) else Budget(given)


def check_priced(budget: Budget, model: str) -> None:
    """Raise where a budget in money cannot be held, since nobody knows what the model costs.

    Raises:
        BudgetError: Naming the model and the table to put its price into.
    """
    if budget.money is not None and price_of(model) is None:
        raise BudgetError(
            "a budget in money needs the model's price",
            found=f"no price of {model!r}",
            hint=f"wb.PRICES[{model!r}] = wb.Price(input=..., output=...), in dollars for a million tokens; "
            "or give the budget in tokens or calls",
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
        limit: Tokens its answer may take.
        price: The model's; None where nobody knows.
    """

    letters: int
    limit: int
    price: Price | None


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
        self._seen: tuple[float, float] | None = None  # most tokens a letter, most tokens an answer
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

    async def reserve(self, asking: Asking) -> _Amount:
        """Set aside what a question may cost, and wait for those under way where there is only room without them.

        Raises:
            BudgetError: There is no room for it.
        """
        while True:
            amount = self._estimate(asking)
            if self._fits(amount):
                self._under_way = self._under_way.plus(amount)
                return amount
            if not self._under_way.calls:
                raise BudgetError(
                    "the budget is spent", found=self._told(), expected=f"at most {self.budget!r}"
                )
            self._settled.clear()
            await self._settled.wait()

    def _estimate(self, asking: Asking) -> _Amount:
        """As many tokens a letter as the densest question had, and an answer as long as the longest."""
        a_letter, answer = self._seen or (1 / LETTERS_A_TOKEN, asking.limit)
        prompt = asking.letters * a_letter
        return _Amount(1, prompt + answer, 0.0 if asking.price is None else asking.price.of(prompt, answer))

    def _fits(self, amount: _Amount) -> bool:
        budget = self.budget
        if budget is None:
            return True
        after = self._spent.plus(self._under_way).plus(amount)
        if budget.calls is not None and after.calls > self._part(budget.calls, self._before.calls):
            return False
        if self._seen is None and (budget.money is not None or budget.tokens is not None):
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

    def settle(self, reserved: _Amount, asking: Asking, usage: Usage | None, said: str) -> None:
        """Put what an answer really cost in the place of what was set aside.

        Args:
            reserved: What `reserve` returned.
            asking: The question.
            usage: What the server counted; None where it does not.
            said: The answer's text, to guess from then.
        """
        counted = usage or Usage(asking.letters // LETTERS_A_TOKEN, len(said) // LETTERS_A_TOKEN)
        money = counted.cost
        if money is None and asking.price is not None:
            money = asking.price.of(counted.prompt_tokens, counted.completion_tokens)
        a_letter, answer = self._seen or (0.0, 0.0)
        self._seen = (
            max(a_letter, counted.prompt_tokens / max(1, asking.letters)),
            max(answer, counted.completion_tokens),
        )
        self._put(reserved, _Amount(1, counted.tokens, money or 0.0))

    def release(self, reserved: _Amount) -> None:
        """The question was not answered: it counts as a call and nothing more."""
        self._failed += 1
        self._put(reserved, _Amount(1))

    def _put(self, reserved: _Amount, real: _Amount) -> None:
        self._under_way = self._under_way.plus(reserved, -1)
        self._spent = self._spent.plus(real)
        self._settled.set()

    def _told(self) -> str:
        return f"{self.calls:,} calls, {self.tokens:,} tokens, ${self.money:.4f}"
