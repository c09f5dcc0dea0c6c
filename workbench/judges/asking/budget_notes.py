"""What a report's notes say of a budget."""

from __future__ import annotations

from workbench.judges.asking.estimates import Amount
from workbench.judges.asking.prices import Price

__all__ = ["left_of", "open_ended", "unanswered"]


def left_of(money: tuple[float, float | None], tokens: tuple[int, int | None], least: Amount) -> str:
    """What was not spent, and why, where a question had no room; "" where nothing is left.

    Args:
        money: Dollars spent, and the limit.
        tokens: Tokens spent, and the limit.
        least: The cheapest question that was not asked.
    """
    spent, limit = money
    if limit is not None and spent < limit:
        return (
            f"${limit - spent:.4f} of ${limit:.4f} are left: each question that was not asked may cost "
            f"${least.money:.4f} or more."
        )
    used, most = tokens
    if most is not None and used < most:
        return (
            f"{most - used:,} of {most:,} tokens are left: each question that was not asked may take "
            f"{least.tokens:,.0f} or more."
        )
    return ""


def unanswered(tries: Amount) -> str:
    """How many tries were sent whose answer never came, and what that cost the budget."""
    return (
        f"{tries.calls:,} tries were sent whose answer never came. A server may charge them, so the budget counts them "
        f"with the most they may cost: {tries.tokens:,.0f} tokens, ${tries.money:.4f}."
    )


def open_ended(model: str, price: Price | None, longest: float) -> str:
    """By how much one question to a model may overshoot."""
    more = "" if price is None else f" (${price.of(0, 1_000):.4g} for every 1,000 tokens more)"
    return (
        f"{repr(model) if model else 'A judge'} was asked without max_tokens: each question under way may overshoot "
        f"the budget by as much as its answer is longer than the longest so far, which had {longest:,.0f} tokens"
        f"{more}. With max_tokens= on the judge the budget is exact, for a server that charges by the price table."
    )
