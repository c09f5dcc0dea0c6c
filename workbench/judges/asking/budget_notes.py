"""The notes of a report about the budget."""

from __future__ import annotations

from workbench.judges.asking.estimates import Amount
from workbench.judges.asking.prices import Price

__all__ = ["answer_limit_note", "remainder_note", "unanswered_note"]


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
    rate = "" if price is None else f" (${price.of(0, 1_000):.4g} per 1,000 additional tokens)"
    return (
        f"{repr(model) if model else 'A judge'} was called without max_tokens: each request in flight may exceed the "
        f"budget by the tokens of its reply beyond the longest reply so far, which had {longest_answer:,.0f} tokens"
        f"{rate}. Set max_tokens= on the judge to make the budget exact if the server charges by the price table."
    )
