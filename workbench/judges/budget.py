"""A run's budget: what its judges may spend, as a stop that holds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any

from workbench.errors import WorkbenchError
from workbench.grade import ErrorKind
from workbench.graders.base import is_number
from workbench.judges.prices import price_of

__all__ = ["Budget", "BudgetError", "Spending", "as_budget", "check_priced"]


class BudgetError(WorkbenchError, RuntimeError):
    """A question that the budget has no room for; it was not asked."""

    kind = ErrorKind.BUDGET


@dataclass(frozen=True)
class Budget:
    """The most that the judges of a run may spend; None for no limit.

    A question is asked only where what was spent, what is under way and what it may cost itself fit. What it may
    cost is the most that one cost so far; to know that, the first question goes alone. Answers out of a store cost
    nothing. So a budget is overrun by one question at most: by the first, or by one that costs more than all before.

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

    def most(self, other: _Amount) -> _Amount:
        return _Amount(1, max(self.tokens, other.tokens), max(self.money, other.money))


class Spending:
    """What a run spends, held against its budget. Used on one event loop.

    Args:
        budget: The limits; None to count only.

    Attributes:
        calls: Questions answered and paid for.
        tokens: Tokens of them.
        money: US dollars, of those whose cost is known.
        unpriced: Answers whose cost is not known.
        kept: Answers that came out of the store.
    """

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget = budget
        self.unpriced = 0
        self.kept = 0
        self._spent, self._under_way = _Amount(), _Amount()
        self._largest: _Amount | None = None
        self._settled = asyncio.Event()

    @property
    def calls(self) -> int:
        """Questions answered."""
        return self._spent.calls

    @property
    def tokens(self) -> int:
        """Tokens paid for."""
        return int(self._spent.tokens)

    @property
    def money(self) -> float:
        """US dollars, as far as known."""
        return self._spent.money

    async def reserve(self, tokens: int, price: Callable[[int], float]) -> _Amount:
        """Set aside what a question may cost, and wait for those under way where there is only room without them.

        Args:
            tokens: How many it may take at most, as far as can be known.
            price: US dollars for so many tokens.

        Raises:
            BudgetError: There is no room for it.
        """
        while True:
            amount = self._largest or _Amount(1, tokens, price(tokens))
            if self._is_probe() or self._fits(amount):
                self._under_way = self._under_way.plus(amount)
                return amount
            if not self._under_way.calls:
                raise BudgetError(
                    "the budget is spent", found=self._told(), expected=f"at most {self.budget!r}"
                )
            self._settled.clear()
            await self._settled.wait()

    def _is_probe(self) -> bool:
        """Whether this is the first question, which tells what the others may cost."""
        return self._largest is None and not self._under_way.calls and not self._spent.calls

    def _fits(self, amount: _Amount) -> bool:
        if self.budget is None:
            return True
        sized = self.budget.money is not None or self.budget.tokens is not None
        if sized and self._largest is None and self._under_way.calls:
            return False  # the first is not back yet
        after = self._spent.plus(self._under_way).plus(amount)
        limits = (
            (after.calls, self.budget.calls),
            (after.tokens, self.budget.tokens),
            (after.money, self.budget.money),
        )
        return all(limit is None or value <= limit for value, limit in limits)

    def settle(self, reserved: _Amount, tokens: int, cost: float | None) -> None:
        """Put what an answer really cost in the place of what was set aside."""
        real = _Amount(1, tokens, cost or 0.0)
        self._largest = real if self._largest is None else self._largest.most(real)
        self.unpriced += cost is None
        self._put(reserved, real)

    def release(self, reserved: _Amount) -> None:
        """The question was not answered: it counts as a call and nothing more."""
        self._put(reserved, _Amount(1))

    def _put(self, reserved: _Amount, real: _Amount) -> None:
        self._under_way = self._under_way.plus(reserved, -1)
        self._spent = self._spent.plus(real)
        self._settled.set()

    def _told(self) -> str:
        return f"{self.calls:,} calls, {self.tokens:,} tokens, ${self.money:.4f}"
