"""How much to reserve for a question, learned from the answers of the run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from workbench.judges.asking.prices import Price
from workbench.judges.protocol import Usage

__all__ = ["CHARACTERS_PER_TOKEN", "Amount", "CostEstimator", "PendingQuestion"]

CHARACTERS_PER_TOKEN = 3
"""Characters a token has at least, as long as the server has counted nothing. Ours: English has about four, and an
estimate should rather be too high."""
_ANSWER_TOKENS = 1_000
"""Tokens an answer is expected to take before the first one, where the judge sets no limit. Ours."""
_PROBES = 3
"""Questions to a model that are asked alone to learn what one costs; once so many failed, the others go together."""


@dataclass(frozen=True)
class Amount:
    """Calls, tokens and money (US dollars) of one question, or of many."""

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
    """What is known of a question before it is asked.

    Attributes:
        characters: Its length, tools included.
        answer_limit: Tokens its answer may take; None where the judge sets no limit.
        price: The model's; None where it is not known.
        size: Its length in bytes as JSON, which is at least its number of tokens; 0 where only `characters` is known.
        model: The model that is asked.
        calls: Calls it counts for; 0 for a further try of a question that is counted already.
    """

    characters: int
    answer_limit: int | None
    price: Price | None
    size: int = 0
    model: str = ""
    calls: int = 1

    @property
    def max_prompt_tokens(self) -> float:
        """The most tokens the question can have, by its length."""
        return float(max(self.size, self.characters))


@dataclass
class CostEstimator:
    """What the answers of a run have shown so far about what questions cost.

    Attributes:
        tokens_per_character: The highest ratio of any question.
        longest_answer: Tokens; 0 before the first answer.
        longest_overrun: Tokens of the longest answer that was longer than its limit.
        hidden_tokens: By model, the most tokens that a server counted for a question beyond its bytes: a system prompt
            of its own.
        extra_fee: By model, the most dollars that a server charged for one answer beyond its price. A sum and no
            ratio: a fee for each call would otherwise multiply what is reserved for tokens that nobody used.
        answered_models: Models that answered.
        failed_questions: How many questions failed, by model.
    """

    tokens_per_character: float = 0.0
    longest_answer: float = 0.0
    longest_overrun: float = 0.0
    hidden_tokens: dict[str, float] = field(default_factory=dict)
    extra_fee: dict[str, float] = field(default_factory=dict)
    answered_models: set[str] = field(default_factory=set)
    failed_questions: Counter[str] = field(default_factory=Counter)

    def needs_probe(self, model: str) -> bool:
        """Whether the next question to a model should go alone, since nothing is known of its costs yet."""
        return model not in self.answered_models and self.failed_questions[model] < _PROBES

    def estimate(self, question: PendingQuestion) -> Amount:
        """The most a question may cost; without a limit, by the densest question and the longest answer so far."""
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
        """Take in what a server counted, and return whether that changes an estimate.

        Args:
            question: The question.
            usage: Its tokens, and its cost where the server says it.
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
