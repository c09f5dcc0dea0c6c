"""How much to reserve for a request, learned from the replies of the run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from workbench.judges.asking.prices import Price
from workbench.judges.protocol import Usage

__all__ = ["CHARACTERS_PER_TOKEN", "Amount", "CostEstimator", "PendingQuestion"]

CHARACTERS_PER_TOKEN = 3
"""Minimum characters per token, until the server has counted any. Workbench default: English has about four, and an
estimate should rather be too high."""
_ANSWER_TOKENS = 1_000
"""Expected tokens of a reply before the first one, if the judge sets no limit. Workbench default."""
_PROBES = 3
"""Requests to a model that are sent one at a time to learn the cost; after this number of failures the others go together."""


@dataclass(frozen=True)
class Amount:
    """Calls, tokens and money (US dollars) of one or more requests."""

    calls: int = 0
    tokens: float = 0
    money: float = 0.0

    def plus(self, other: Amount, sign: int = 1) -> Amount:
        """The sum; the difference with sign -1."""
        return Amount(
            self.calls + sign * other.calls,
            self.tokens + sign * other.tokens,
            self.money + sign * other.money,
        )


@dataclass(frozen=True)
class PendingQuestion:
    """What is known about a request before it is sent.

    Attributes:
        characters: Its length, tools included.
        answer_limit: Maximum tokens of its reply; None if the judge sets no limit.
        price: The model's; None if unknown.
        size: Its length in bytes as JSON, which is at least its number of tokens; 0 if only `characters` is known.
        model: The model that is called.
        calls: Calls it counts for; 0 for a further try of a request that is counted already.
    """

    characters: int
    answer_limit: int | None
    price: Price | None
    size: int = 0
    model: str = ""
    calls: int = 1

    @property
    def max_prompt_tokens(self) -> float:
        """The maximum number of tokens of the request, by its length."""
        return float(max(self.size, self.characters))


@dataclass
class CostEstimator:
    """What the replies of a run have shown so far about the cost of requests.

    Attributes:
        tokens_per_character: The highest ratio of any request.
        longest_answer: Tokens; 0 before the first reply.
        longest_overrun: Tokens of the longest reply that exceeded its limit.
        hidden_tokens: By model, the most tokens that a server counted for a request beyond its bytes, such as the
            server's system prompt.
        extra_fee: By model, the most dollars that a server charged for one reply beyond its price. A sum and not a
            ratio: otherwise a fee for each call would multiply the reservation for tokens that were never used.
        answered_models: Models that replied.
        failed_questions: Number of failed requests, by model.
    """

    tokens_per_character: float = 0.0
    longest_answer: float = 0.0
    longest_overrun: float = 0.0
    hidden_tokens: dict[str, float] = field(default_factory=dict)
    extra_fee: dict[str, float] = field(default_factory=dict)
    answered_models: set[str] = field(default_factory=set)
    failed_questions: Counter[str] = field(default_factory=Counter)

    def needs_probe(self, model: str) -> bool:
        """Whether the next request to a model should be sent alone, since its cost is unknown."""
        return model not in self.answered_models and self.failed_questions[model] < _PROBES

    def estimate(self, question: PendingQuestion) -> Amount:
        """The maximum cost of a request; without a limit, by the densest request and the longest reply so far."""
        if question.answer_limit is not None:
            prompt_tokens = question.max_prompt_tokens + self.hidden_tokens.get(question.model, 0.0)
            answer_tokens = float(max(question.answer_limit, self.longest_overrun))
        elif self.answered_models:
            prompt_tokens = question.characters * self.tokens_per_character
            answer_tokens = self.longest_answer
        else:
            prompt_tokens = question.characters / CHARACTERS_PER_TOKEN
            answer_tokens = float(_ANSWER_TOKENS)
        money = 0.0 if question.price is None else question.price.of(prompt_tokens, answer_tokens)
        fee = self.extra_fee.get(question.model, 0.0)
        return Amount(question.calls, prompt_tokens + answer_tokens, money + fee)

    def learn(self, question: PendingQuestion, usage: Usage, table_cost: float | None) -> bool:
        """Record what a server counted, and return whether that changes an estimate.

        Args:
            question: The request.
            usage: Its tokens, and its cost if the server reports it.
            table_cost: Its cost by the price table.
        """
        before = self._state()
        model, answer_tokens = question.model, float(usage.completion_tokens)
        self.answered_models.add(model)
        ratio = usage.prompt_tokens / max(1, question.characters)
        self.tokens_per_character = max(self.tokens_per_character, ratio)
        self.longest_answer = max(self.longest_answer, answer_tokens)
        if question.answer_limit is not None:
            overrun = answer_tokens if answer_tokens > question.answer_limit else 0.0
            self.longest_overrun = max(self.longest_overrun, overrun)
            # Without a limit the estimate goes by `tokens_per_character`, which includes hidden tokens already.
            _raise_to(self.hidden_tokens, model, usage.prompt_tokens - question.max_prompt_tokens)
        if usage.cost is not None and table_cost is not None:
            _raise_to(self.extra_fee, model, usage.cost - table_cost)
        return before != self._state()

    def _state(self) -> tuple[object, ...]:
        """What estimates depend on."""
        return (
            self.tokens_per_character, self.longest_answer, self.longest_overrun,
            dict(self.hidden_tokens), dict(self.extra_fee),
        )  # fmt: skip


def _raise_to(maxima: dict[str, float], model: str, value: float) -> None:
    if value > maxima.get(model, 0.0):
        maxima[model] = value
