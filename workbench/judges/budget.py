"""A run's budget, and the estimate of a request's cost before it is sent, with its images."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.grade import ErrorKind
from workbench.data.samples import Sample
from workbench.graders.base import is_number
from workbench.judges.prices import Price, price_of
from workbench.judges.protocol import ANSWER_LIMITS, ChatClient, Messages, SampleError, Usage, sent_settings

IMAGE_TOKENS = 50_000
"""Most tokens of one image, for reservations: gpt-4o-mini counts 2,833 + 5,667 for each of at most 8 tiles = 48,169, more than
any other model of 2026. Source: OpenAI's guide to images."""
TYPICAL_IMAGE_CHARACTERS = 4_500
"""Length of a text with the tokens of a typical image, about 1,500. Workbench default, for estimates before the first reply."""
_MAX_IMAGES = 100
"""Maximum images of a row. Workbench limit."""
_MARKER = "[image]"
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_ADDRESS = re.compile(r"https?://\S+\Z|data:image/[\w.+-]+;base64,[A-Za-z0-9+/=\s]+\Z", re.IGNORECASE)


def with_images(messages: Messages, sample: Sample, column: str) -> Messages:
    """The messages with the row's images after the text of the last one.

    Args:
        messages: A request.
        sample: The row.
        column: The column with its images; "" for none.

    Raises:
        SampleError: The row lacks the column, or contains something that is not an image.
    """
    if not column or not messages or isinstance(messages[-1]["content"], list):
        return messages  # `preview` may return a request of `questions`, which has them already
    parts = image_parts(sample, column)
    if not parts:
        return messages
    last = messages[-1]
    return [*messages[:-1], {**last, "content": [{"type": "text", "text": last["content"]}, *parts]}]


def image_parts(sample: Sample, column: str) -> list[dict[str, Any]]:
    """The row's images as content parts in OpenAI's form; none if its cell is empty.

    Raises:
        SampleError: As `with_images`.
    """
    metadata = sample.thread.metadata or {}
    if column not in metadata:
        # Only rows of messages get the column without having it, and only those with images.
        if column == "images" and not any(_MARKER in turn.content for turn in sample.thread.get_turns()):
            return []
        names = ", ".join(map(repr, metadata)) or "none"
        raise SampleError(f"the row has no images in {column!r}; its columns are: {names}"[:400])
    cell = metadata[column]
    images = cell if isinstance(cell, list | tuple) else [] if cell is None or cell == "" else [cell]
    if len(images) > _MAX_IMAGES:
        raise SampleError(f"the row has {len(images):,} images; at most {_MAX_IMAGES} are sent")
    return [_part(image, f"{column!r}, image {at}") for at, image in enumerate(images)]


def _part(image: Any, where: str) -> dict[str, Any]:
    details: dict[str, Any] = {}
    if isinstance(image, Mapping):
        inner = image.get("image_url", image)
        holder = inner if isinstance(inner, Mapping) else {"url": inner}
        details = {"detail": holder["detail"]} if holder.get("detail") in ("low", "high", "auto") else {}
        image = holder.get("bytes") or holder.get("url")
    if isinstance(image, bytes):
        image = f"data:{_media_type(image, where)};base64,{base64.b64encode(image).decode()}"
    if not isinstance(image, str) or not _ADDRESS.match(image.strip()):
        raise SampleError(
            f"{where} is not an image: found {str(image)[:60]!r}, expected an https address, a data URI "
            "(data:image/png;base64,...), the bytes of a PNG, JPEG, GIF or WebP file, or a part of a message"
        )
    return {"type": "image_url", "image_url": {"url": image.strip(), **details}}


def _media_type(data: bytes, where: str) -> str:
    for signature, media_type in _SIGNATURES:
        if data.startswith(signature):
            return media_type
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    raise SampleError(
        f"{where} is not an image: {len(data):,} bytes without the signature of a PNG, JPEG, GIF or WebP file"
    )


def without_images(messages: Messages) -> tuple[Messages, int]:
    """The messages with a short mark for each image, and the number of images: their length in bytes is not their cost."""
    if not any(isinstance(message.get("content"), list) for message in messages):
        return messages, 0
    count, plain = 0, []
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            texts = [part for part in content if part.get("type") != "image_url"]
            count += len(content) - len(texts)
            message = {**message, "content": texts}  # noqa: PLW2901 (a copy without its images)
        plain.append(message)
    return plain, count


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

    Prices are those in `PRICES`, which contains no surcharge for very long requests; a reservation counts every token
    at the dearest price of input, cached or not. Replies from a store cost nothing;
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
        money = 0.0 if question.price is None else question.price.max_of(prompt_tokens, answer_tokens)
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
    messages, n_images = without_images(messages)
    characters = n_images * TYPICAL_IMAGE_CHARACTERS + sum(
        len(message.get("content") or "") if set(message) <= {"role", "content"} else len(str(message))
        for message in messages
    )
    characters += len(str(tools)) if tools else 0
    size = _max_prompt_bytes(messages, sent) + n_images * IMAGE_TOKENS if with_size else 0
    return PendingQuestion(characters, answer_limit(sent), price_of(model), size, model)


def answer_limit(sent: Mapping[str, Any]) -> int | None:
    """Maximum tokens of all replies to a request together; None for no limit."""
    limits = [int(sent[name]) for name in ANSWER_LIMITS if sent.get(name)]
    answers = sent.get("n")
    return max(limits) * (answers if isinstance(answers, int) and answers > 1 else 1) if limits else None


def _max_prompt_bytes(messages: Messages, sent: Mapping[str, Any]) -> int:
    """Bytes of what the server passes to its model: at least as many as its byte-level tokens."""
    prompt_parts = [messages, sent.get("tools"), sent.get("response_format")]
    text = json.dumps(prompt_parts, ensure_ascii=False, default=str)
    return len(text.encode("utf-8", "surrogatepass")) + _TEMPLATE_TOKENS
