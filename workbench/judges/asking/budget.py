"""A run's budget: the maximum that its judges may spend."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.grade import ErrorKind
from workbench.graders.base import is_number
from workbench.judges.asking.prices import price_of
from workbench.judges.protocol import Usage

__all__ = ["Budget", "BudgetError", "as_budget", "check_priced"]


class BudgetError(WorkbenchError, RuntimeError):
    """The remaining budget is too small for a request, so it was not sent, or not retried.

    Attributes:
        usage: What a server counted for earlier tries of the request; None for nothing.
    """

    kind = ErrorKind.BUDGET
    usage: Usage | None = None


@dataclass(frozen=True)
class Budget:
    """The maximum that the judges of a run may spend; None for no limit.

    Before a request is sent, its maximum cost is reserved. It is sent only if that fits into the budget together with
    what was spent and what is reserved for the requests in flight. A request that would fit without those waits for
    them. When the reply arrives, its true cost replaces the reservation.

    **With `max_tokens` on the judge the budget is exact if the server charges by the price table and counts the
    messages sent.** A reply takes at most `max_tokens`, thinking included. A request takes at most as many tokens as it
    has bytes, since a token of the usual tokenizers (byte-level BPE) is one byte or more. Near its end such a run sends
    fewer requests concurrently. What a server counts in addition (its system prompt, a fee) is learned from its replies
    and reserved from then on; the first request to each model is sent alone to learn it.

    Without `max_tokens` the length of a reply has no known limit: the longest reply so far is reserved, also for the
    requests in flight. Each request in flight may exceed the budget by the tokens of its reply beyond that length, at
    the model's price; a note of the report gives the amount. Calls are never exceeded.

    A request that may cost more than the remaining budget fails its row, and the run continues with rows that fit. The
    run ends when not even the smallest request so far fits; a note gives the remaining amount.

    Prices are those in `PRICES`, which contains no surcharge for very long requests. Replies from a store cost nothing;
    if a server does not count tokens, they are estimated by length. A request that fails counts as a call and costs what
    the server counted. Whether a server charges for a reply that never arrived is unknown: in money and tokens
    `OpenAIClient` counts each try that timed out or was disconnected at its maximum cost, and a note gives their number.

    Attributes:
        money: US dollars, as the server reports or by `PRICES`.
        tokens: Of requests and replies together.
        calls: Requests sent. A failed one counts too; its retries do not.

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
        """Whether it limits money or tokens, which depend on the length of a reply."""
        return self.money is not None or self.tokens is not None


def as_budget(budget: Any) -> Budget | None:
    """The `budget=` of `run` as a `Budget`: a number is money."""
    return budget if budget is None or isinstance(budget, Budget) else Budget(budget)


def check_priced(budget: Budget, model: str) -> None:
    """Reject a budget in money for a model without a price.

    Raises:
        BudgetError: It names the model and the table to add its price to.
    """
    if budget.money is not None and price_of(model) is None:
        name = model or "my-model"
        raise BudgetError(
            "a budget in money needs the model's price",
            found=f"no price of {model!r}" if model else "a judge without a model",
            hint=f"{'' if model else 'give the judge model=; '}wb.judges.PRICES[{name!r}] = wb.judges.Price(input=..., output=...), "
            "in dollars for a million tokens; or give the budget in tokens or calls",
        )
