"""A run's budget, the list prices of models, and the estimate of a request's cost before it is sent."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields
from datetime import date, timedelta
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.grade import ErrorKind
from workbench.graders.base import is_number
from workbench.judges.protocol import ANSWER_LIMITS, ChatClient, Messages, Usage, sent_settings

_MAX_AGE = timedelta(days=180)
"""Age above which a run reports that its prices are old: providers changed their prices about twice a year in 2026."""
_today = date.today  # replaced by tests


@dataclass(frozen=True)
class Price:
    """List price of a model.

    Attributes:
        input: US dollars per million tokens of the request.
        output: US dollars per million tokens of the reply, thinking included.
        read: Day on which it was read from the provider's list; None for a user's price, which never counts as old.
    """

    input: float
    output: float
    read: date | None = field(default=None, compare=False, repr=False)

    def of(self, prompt_tokens: float, completion_tokens: float) -> float:
        """US dollars for one reply. Discounts, such as those for cached input, are not included."""
        return round((prompt_tokens * self.input + completion_tokens * self.output) / 1e6, 12)


_READ = date(2026, 10, 3)
# US dollars per million tokens of the request, and of the reply.
_LIST_PRICES: dict[str, tuple[float, float]] = {
    # OpenAI: developers.openai.com/api/docs/pricing, standard tier, up to 272,000 tokens of input.
    "gpt-6-astra": (10.00, 50.00),
    "gpt-6.1-sol": (2.00, 10.00),
    "gpt-6-sol": (2.00, 10.00),
    "gpt-6-luna": (0.10, 0.50),
    "gpt-5.6-sol": (5.00, 30.00),  # 4.00 and 20.00 was promised until 21 November 2026 only
    "gpt-5.6-terra": (2.00, 12.00),
    "gpt-5.6-luna": (0.20, 1.20),
    "gpt-5.5": (5.00, 30.00),
    "gpt-5.5-pro": (30.00, 180.00),
    "gpt-5.4": (2.50, 15.00),
    "gpt-5.4-mini": (0.75, 4.50),
    "gpt-5.4-nano": (0.20, 1.25),
    "gpt-5.2": (1.75, 14.00),
    "gpt-5.1": (1.25, 10.00),
    "gpt-5": (1.25, 10.00),
    "gpt-5-mini": (0.25, 2.00),
    "gpt-5-nano": (0.05, 0.40),
    "gpt-4.1": (2.00, 8.00),
    "gpt-4.1-mini": (0.40, 1.60),
    "gpt-4.1-nano": (0.10, 0.40),
    "gpt-4o": (2.50, 10.00),
    "gpt-4o-mini": (0.15, 0.60),
    "o1": (15.00, 60.00),
    "o3": (2.00, 8.00),
    "o3-mini": (1.10, 4.40),
    "o4-mini": (1.10, 4.40),
    # Anthropic: platform.claude.com/docs/en/about-claude/pricing.
    "claude-fable-5-1": (10.00, 50.00),
    "claude-fable-5": (10.00, 50.00),
    "claude-opus-5-5": (4.00, 20.00),
    "claude-opus-5": (5.00, 25.00),
    "claude-opus-4-8": (5.00, 25.00),
    "claude-opus-4-7": (5.00, 25.00),
    "claude-opus-4-6": (5.00, 25.00),
    "claude-opus-4-5": (5.00, 25.00),
    "claude-sonnet-5-5": (2.00, 10.00),
    "claude-sonnet-5": (2.00, 10.00),
    "claude-sonnet-4-6": (3.00, 15.00),
    "claude-sonnet-4-5": (3.00, 15.00),
    "claude-haiku-4-5": (1.00, 5.00),
    # Google: ai.google.dev/gemini-api/docs/pricing, paid tier, up to 200,000 tokens of input.
    "gemini-3.8-flash": (1.50, 7.50),  # half of it until 31 December 2026
    "gemini-3.6-flash": (1.50, 7.50),  # half of it until 31 December 2026
    "gemini-3.5-flash": (1.50, 9.00),
    "gemini-3.5-flash-lite": (0.30, 2.50),
    "gemini-3.1-pro-preview": (2.00, 12.00),
    "gemini-2.5-pro": (1.25, 10.00),
    "gemini-2.5-flash": (0.30, 2.50),
    "gemini-2.5-flash-lite": (0.10, 0.40),
}

PRICES: dict[str, Price] = {
    **{model: Price(*prices, read=_READ) for model, prices in _LIST_PRICES.items()},
    "claude-haiku-5-5": Price(0.10, 0.50, read=date(2026, 10, 16)),  # up to 100,000 tokens of input
    "gpt-6.1-terra": Price(1.00, 5.00, read=date(2026, 10, 27)),  # up to 272,000 tokens of input
}
"""Price by model, as the providers' lists had them on the day in `Price.read`, taken from dated public copies of these
lists (the price data of github.com/SergeevDmitry/llm-kit of 3 October 2026, and for the two newest models the releases
of github.com/TheKrush/PromptFuel). Temporary discounts are left out, so that a budget is not exceeded when they end.

Add your prices: `PRICES["my-model"] = Price(input=0.2, output=0.8)`; `Price(0, 0)` for a server that you run."""

_SNAPSHOT = re.compile(r"-(?:\d{4}-\d\d-\d\d|\d{8}|\d\d-\d{4}|\d{3,4})\Z")
"""How providers end the name of a snapshot: with a date or number. Another version, such as 4-5 for 4, is not a snapshot."""


def price_of(model: str) -> Price | None:
    """A model's price. A dated snapshot has the price of its model; a provider's prefix ("openai/") is ignored.

    Returns:
        None if the table does not have it.

    Example:
        >>> price_of("openai/gpt-4o-mini-2024-07-18")
        Price(input=0.15, output=0.6)
        >>> price_of("gpt-4o-audio") is None
        True
    """
    for name in (model, model.rpartition("/")[2]):
        for listed_name in (name, _SNAPSHOT.sub("", name)):
            if listed_name in PRICES:
                return PRICES[listed_name]
    return None


def old_prices_note(models: Iterable[str]) -> str:
    """A note for a run of these models if a price is older than 180 days; otherwise ""."""
    dates = [price.read for price in map(price_of, models) if price is not None and price.read is not None]
    if not dates or _today() - min(dates) <= _MAX_AGE:
        return ""
    return (
        f"Prices in wb.judges.PRICES were read on {min(dates)}, more than {_MAX_AGE.days} days ago; the cost of this run uses them. "
        'Look up current prices and set them: wb.judges.PRICES["my-model"] = wb.judges.Price(input=..., output=...).'
    )


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


_TEMPLATE_TOKENS = 100
"""Tokens that a server's chat template may put around a request: its system prompt, turn markers. Workbench default; what
exceeds it is learned from the replies."""


def pending_question(
    client: ChatClient, messages: Messages, settings: Mapping[str, Any], *, with_size: bool
) -> PendingQuestion:
    """What is known about a request before it is sent.

    Args:
        client: The client that sends it.
        messages: The request.
        settings: The judge's.
        with_size: Whether its size in bytes is needed, which takes longer to compute.
    """
    sent = sent_settings(client, settings)
    tools, model = sent.get("tools"), str(sent.get("model") or "")
    characters = sum(
        len(message.get("content") or "") if set(message) <= {"role", "content"} else len(str(message))
        for message in messages
    )
    characters += len(str(tools)) if tools else 0
    size = _max_prompt_bytes(messages, sent) if with_size else 0
    return PendingQuestion(characters, _answer_limit(sent), price_of(model), size, model)


def _answer_limit(sent: Mapping[str, Any]) -> int | None:
    """Maximum tokens of all replies to a request together; None for no limit."""
    limits = [int(sent[name]) for name in ANSWER_LIMITS if sent.get(name)]
    answers = sent.get("n")
    return max(limits) * (answers if isinstance(answers, int) and answers > 1 else 1) if limits else None


def _max_prompt_bytes(messages: Messages, sent: Mapping[str, Any]) -> int:
    """Bytes of what the server passes to its model: at least as many as its byte-level tokens."""
    prompt_parts = [messages, sent.get("tools"), sent.get("response_format")]
    text = json.dumps(prompt_parts, ensure_ascii=False, default=str)
    return len(text.encode("utf-8", "surrogatepass")) + _TEMPLATE_TOKENS
