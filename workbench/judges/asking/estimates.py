"""What the answers of a run say of the questions to come: how much to set aside for each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from workbench.judges.asking.prices import Price
from workbench.judges.protocol import Usage

__all__ = ["LETTERS_A_TOKEN", "Amount", "Asking", "Learned"]

LETTERS_A_TOKEN = 3
"""Letters that are a token at least, before anything is counted; English has about four."""
_ANSWER_TOKENS = 1_000
"""Tokens an answer may take before anything is known, where the judge sets no limit."""
_PROBES = 3
"""Questions to a model that are asked alone to learn what one costs; where all failed, the others go together."""


@dataclass(frozen=True)
class Amount:
    """Calls, tokens and money of one question, or of many."""

    calls: int = 0
    tokens: float = 0
    money: float = 0.0

    def plus(self, other: Amount, sign: int = 1) -> Amount:
        """The sum; the difference with -1."""
        return Amount(
            self.calls + sign * other.calls,
            self.tokens + sign * other.tokens,
            self.money + sign * other.money,
        )


@dataclass(frozen=True)
class Asking:
    """What is known of a question before it is asked.

    Attributes:
        letters: Characters of it, tools included.
        limit: Tokens its answer may take; None where the judge sets no limit.
        price: The model's; None where nobody knows.
        size: Bytes of it as JSON, at least as many as its tokens; 0 where only the letters are known.
        model: Who is asked.
        calls: Calls it counts for; 0 for a further try of a question that is counted already.
    """

    letters: int
    limit: int | None
    price: Price | None
    size: int = 0
    model: str = ""
    calls: int = 1

    @property
    def most(self) -> float:
        """Tokens of the question at most, by its length."""
        return float(max(self.size, self.letters))


@dataclass
class Learned:
    """What answers have said so far.

    Attributes:
        a_letter: Most tokens a letter.
        answer: Tokens of the longest answer; 0 before the first.
        beyond: Tokens of the longest answer that its limit did not hold.
        hidden: By model, the most tokens that a server counted of a question beyond its bytes: a system prompt of
            its own.
        fee: By model, the most dollars that a server asked for one answer beyond its price. A sum and no ratio: a
            fee of a call would multiply what is set aside for tokens that nobody used.
        answered: Models that answered.
        failed: Questions that failed, by model.
    """

    a_letter: float = 0.0
    answer: float = 0.0
    beyond: float = 0.0
    hidden: dict[str, float] = field(default_factory=dict)
    fee: dict[str, float] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)
    failed: Counter[str] = field(default_factory=Counter)

    def alone(self, model: str) -> bool:
        """Whether the next question to a model should go alone, since nothing is known of its server yet."""
        return model not in self.answered and self.failed[model] < _PROBES

    def estimate(self, asking: Asking) -> Amount:
        """The most it may cost; without a limit the densest question so far, and the longest answer."""
        if asking.limit is not None:
            prompt = asking.most + self.hidden.get(asking.model, 0.0)
            answer = float(max(asking.limit, self.beyond))
        elif self.answered:
            prompt, answer = asking.letters * self.a_letter, self.answer
        else:
            prompt, answer = asking.letters / LETTERS_A_TOKEN, float(_ANSWER_TOKENS)
        money = 0.0 if asking.price is None else asking.price.of(prompt, answer)
        return Amount(asking.calls, prompt + answer, money + self.fee.get(asking.model, 0.0))

    def learn(self, asking: Asking, counted: Usage, listed: float | None) -> bool:
        """Take in what a server counted; whether that changes an estimate.

        Args:
            asking: The question.
            counted: Its tokens, and the server's word for its cost.
            listed: Its cost by the table.
        """
        before = (self.a_letter, self.answer, self.beyond, dict(self.hidden), dict(self.fee))
        model, answer = asking.model, float(counted.completion_tokens)
        self.answered.add(model)
        self.a_letter = max(self.a_letter, counted.prompt_tokens / max(1, asking.letters))
        self.answer = max(self.answer, answer)
        if asking.limit is not None:
            self.beyond = max(self.beyond, answer if answer > asking.limit else 0.0)
            _raise_to(self.hidden, model, counted.prompt_tokens - asking.most)
        if counted.cost is not None and listed is not None:
            _raise_to(self.fee, model, counted.cost - listed)
        return before != (self.a_letter, self.answer, self.beyond, self.hidden, self.fee)


def _raise_to(most: dict[str, float], model: str, value: float) -> None:
    if value > most.get(model, 0.0):
        most[model] = value
