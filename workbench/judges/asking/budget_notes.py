"""What a report's notes say of a budget."""

from __future__ import annotations

from workbench.judges.asking.estimates import Amount
from workbench.judges.asking.prices import Price

__all__ = ["answer_limit_note", "remainder_note", "unanswered_note"]


def remainder_note(
    money: tuple[float, float | None], tokens: tuple[int, int | None], cheapest: Amount
) -> str:
    """How much of the budget is left, where a question did not fit into it; "" where nothing is left.

    Args:
        money: Dollars spent, and the limit.
        tokens: Tokens spent, and the limit.
        cheapest: The cheapest question that was not asked.
    """
    dollars, max_dollars = money
    if max_dollars is not None and dollars < max_dollars:
        return (
            f"${max_dollars - dollars:.4f} of ${max_dollars:.4f} are left: each question that was not asked may cost "
            f"${cheapest.money:.4f} or more."
        )
    used, max_tokens = tokens
    if max_tokens is not None and used < max_tokens:
        return (
            f"{max_tokens - used:,} of {max_tokens:,} tokens are left: each question that was not asked may take "
            f"{cheapest.tokens:,.0f} or more."
        )
    return ""


def unanswered_note(tries: Amount) -> str:
    """How many tries were sent whose answer never came, and what they count for in the budget."""
    return (
        f"{tries.calls:,} tries were sent whose answer never came. A server may charge them, so the budget counts them "
        f"with the most they may cost: {tries.tokens:,.0f} tokens, ${tries.money:.4f}."
    )


def answer_limit_note(model: str, price: Price | None, longest_answer: float) -> str:
    """By how much a question without `max_tokens` may exceed the budget."""
    rate = "" if price is None else f" (${price.of(0, 1_000):.4g} for every 1,000 tokens more)"
    return (
        f"{repr(model) if model else 'A judge'} was asked without max_tokens: each question under way may overshoot "
        f"the budget by as much as its answer is longer than the longest so far, which had {longest_answer:,.0f} tokens"
        f"{rate}. With max_tokens= on the judge the budget is exact, for a server that charges by the price table."
    )
