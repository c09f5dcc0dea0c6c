"""What models cost: a table to edit, since prices change and a price that is not known is not guessed."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PRICES", "Price", "price_of"]


@dataclass(frozen=True)
class Price:
    """List price of a model.

    Attributes:
        input: US dollars for a million tokens of the question.
        output: US dollars for a million tokens of the answer, thinking included.
    """

    input: float
    output: float

    def of(self, prompt_tokens: float, completion_tokens: float) -> float:
        """US dollars for one answer. Discounts, such as those for cached input, are not known here."""
        return round((prompt_tokens * self.input + completion_tokens * self.output) / 1e6, 12)


PRICES: dict[str, Price] = {
    "gpt-4o": Price(2.50, 10.00),
    "gpt-4o-mini": Price(0.15, 0.60),
    "gpt-4.1": Price(2.00, 8.00),
    "gpt-4.1-mini": Price(0.40, 1.60),
    "gpt-4.1-nano": Price(0.10, 0.40),
    "gpt-5": Price(1.25, 10.00),
    "gpt-5-mini": Price(0.25, 2.00),
    "gpt-5-nano": Price(0.05, 0.40),
    "o1": Price(15.00, 60.00),
    "o3": Price(2.00, 8.00),
    "o3-mini": Price(1.10, 4.40),
    "o4-mini": Price(1.10, 4.40),
    "claude-haiku-4-5": Price(1.00, 5.00),
    "claude-sonnet-4-5": Price(3.00, 15.00),
    "gemini-2.5-flash": Price(0.30, 2.50),
    "gemini-2.5-flash-lite": Price(0.10, 0.40),
    "gemini-2.5-pro": Price(1.25, 10.00),
}
"""Price by model, as the providers' lists had them at the end of 2025. Put your own in:
`PRICES["my-model"] = Price(input=0.2, output=0.8)`; `Price(0, 0)` for a server of your own."""

_SNAPSHOT_MARKS = "-0123456789"


def price_of(model: str) -> Price | None:
    """A model's price; a dated snapshot has its model's, a provider's prefix ("openai/") is left out.

    Returns:
        None where the table does not have it.

    Example:
        >>> price_of("openai/gpt-4o-mini-2024-07-18")
        Price(input=0.15, output=0.6)
        >>> price_of("gpt-4o-audio") is None
        True
    """
    for name in (model, model.rpartition("/")[2]):
        if name in PRICES:
            return PRICES[name]
        base = name.rstrip(_SNAPSHOT_MARKS)
        dated = [known for known in PRICES if name.startswith(f"{known}-") and len(base) <= len(known)]
        if dated:
            return PRICES[max(dated, key=len)]
    return None
