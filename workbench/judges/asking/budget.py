"""A run's budget: the most that its judges may spend."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields
from typing import Any

from workbench.errors import WorkbenchError
from workbench.grade import ErrorKind
from workbench.graders.base import is_number
from workbench.judges.asking.prices import price_of
from workbench.judges.protocol import Usage

__all__ = ["Budget", "BudgetError", "as_budget", "check_priced"]


class BudgetError(WorkbenchError, RuntimeError):
    """The budget has no room for a question, so it was not asked, or not tried again.

    Attributes:
        usage: What a server counted for earlier tries of the question; None for nothing.
    """

    kind = ErrorKind.BUDGET
    usage: Usage | None = None


@dataclass(frozen=True)
class Budget:
    """The most that the judges of a run may spend; None for no limit.

    Before a question is asked, the most that it may cost is reserved. It is asked only where that fits beside what was
    spent and what is reserved for the questions under way; one that would fit without those waits for them. When the
    answer is there, its true cost replaces the reservation.

    **With `max_tokens` on the judge the budget is exact where the server charges by the price table and counts the
    messages sent**: an answer takes at most `max_tokens`, thinking included, and a question takes no more tokens than
    it has bytes, since a token of the usual tokenizers (byte-level BPE) is one byte or more. Towards its end such a run
    asks fewer questions at once. What a server counts beyond that (a system prompt of its own, a fee) is learned from
    its answers and reserved from then on; the first question to each model goes alone, to learn from it.

    Without `max_tokens` an answer has no known limit: the longest answer so far is reserved, for the questions under
    way too. Each question under way may exceed the budget by what its answer is longer than that, at the model's
    price; a note of the report says by how much. Calls are never exceeded.

    A question that may cost more than what is left fails its own row, and the run goes on with rows that fit. It ends
    where not even the smallest question so far fits; a note says how much is left.

    Prices are those in `PRICES`, which hold no surcharge for very long questions. Answers from a store cost nothing;
    where a server does not count tokens, they are estimated by length. A question that fails counts as a call and
    costs what the server counted. Nobody can know whether a server charges for an answer that never arrived: in money
    and tokens `OpenAIClient` counts each try that timed out or broke off with the most it may cost, and a note says how
    many there were.

    Attributes:
        money: US dollars, as the server says or by `PRICES`.
        tokens: Of questions and answers together.
        calls: Questions asked. A failed one counts too; its retries do not.

    Raises:
        ValueError: There is no limit at all, or one that is not above 0.

    Example:
        >>> Budget(0.5, calls=200)
        Budget(money=0.5, calls=200)
    """

    money: float | None = None
    _: KW_ONLY
    tokens: int | None = None
    calls: int | None = None

    def __post_init__(self) -> None:
        if not (limits := self._limits()):
            raise ValueError("a budget needs a limit: money, tokens or calls")
        for name, value in limits.items():
            if not is_number(value) or value <= 0:
                raise ValueError(f"a budget's {name} must be a number above 0, not {value!r}")

    def _limits(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) is not None}

    def __repr__(self) -> str:
        limits = [f"{name}={value!r}" for name, value in self._limits().items()]
        return f"Budget({', '.join(limits)})"

    @property
    def limits_cost(self) -> bool:
        """Whether it limits what depends on an answer's length: money or tokens."""
        return self.money is not None or self.tokens is not None


def as_budget(budget: Any) -> Budget | None:
    """The `budget=` of `run` as a `Budget`: a number is money."""
    return budget if budget is None or isinstance(budget, Budget) else Budget(budget)


def check_priced(budget: Budget, model: str) -> None:
    """Refuse a budget in money for a model without a price.

    Raises:
        BudgetError: It names the model and the table to put its price into.
    """
    if budget.money is not None and price_of(model) is None:
        name = model or "my-model"
        raise BudgetError(
            "a budget in money needs the model's price",
            found=f"no price of {model!r}" if model else "a judge without a model",
            hint=f"{'' if model else 'give the judge model=; '}wb.judges.PRICES[{name!r}] = wb.judges.Price(input=..., output=...), "
            "in dollars for a million tokens; or give the budget in tokens or calls",
        )
