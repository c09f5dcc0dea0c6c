"""The settings of a request and their bounds, checked on loading and on sending, and the estimate of its cost.

A file may be untrusted: it must not choose another model than the one that is priced, request a hundred replies instead
of one, or send what no judge needs. Settings that the user makes in Python on a client (`OpenAIClient(models=...)`) are not
restricted to this list.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.core.display_text import did_you_mean
from workbench.core.errors import FormatError
from workbench.data.templates import Template
from workbench.data.templates.values import TemplateRunError
from workbench.graders.base import is_number
from workbench.judges.budget import Price, price_of
from workbench.judges.protocol import ChatClient, Messages, Usage


def refuse_unless(condition: object, message: str, found: object = "", expected: str = "") -> None:
    """Raise a `FormatError` with this message unless a field's condition is true; "unknown ..." proposes the nearest name."""
    if not condition:
        names = [name.strip("'") for name in expected.split(", ")] if message.startswith("unknown") else []
        raise FormatError(
            message, found=repr(found)[:80] if found != "" else "", expected=expected,
            hint=did_you_mean(str(found), names),
        )  # fmt: skip


def check_template_names(template: Template, values: Mapping[str, Any], platform: str) -> None:
    """Reject a template variable without a value: a misspelt one would send an empty text for every row.

    Args:
        template: A prompt of the author.
        values: The variables' values.
        platform: The judge's. Platforms leave such a variable empty, and so do their rules here.

    Raises:
        TemplateRunError: It names the variable, and those that have a value.
    """
    unknown = sorted(template.variables - set(values)) if not platform else []
    if unknown:
        raise TemplateRunError(
            f"the prompt uses the variable {unknown[0]!r}, which has no value",
            expected=", ".join(sorted(values)),
        )


def check_number(name: str, value: object, *, above: float | None = None) -> None:
    """Raise a `FormatError` unless a field is a finite number, above a bound if one is given."""
    requirement = "must be a number" if above is None else f"must be a number above {above:g}"
    valid = is_number(value) and (above is None or float(value) > above)  # type: ignore[arg-type]
    refuse_unless(valid, f"{name} {requirement}", value)


MAX_TOKENS = 131_072
"""Maximum tokens of a reply: the largest limit of the models of 2026."""
_MAX_SEED = 2**63 - 1
"""The largest 64-bit integer, which is the type that servers parse a seed into."""

ANSWER_LIMITS = ("max_tokens", "max_completion_tokens", "max_completions_tokens")
"""Names of the reply limit in tokens: the older one, that of reasoning models, and that of OpenAI's graders."""


@dataclass(frozen=True)
class Setting:
    """The values that a setting may have.

    Attributes:
        low: Minimum of a number.
        high: Maximum of a number.
        integer: Whether the number must be an integer.
        choices: The texts allowed, for a setting that is a text.
    """

    low: float = 0.0
    high: float = 0.0
    integer: bool = False
    choices: tuple[str, ...] = ()

    def allows(self, value: object) -> bool:
        """Whether a value is allowed."""
        if self.choices:
            return isinstance(value, str) and value in self.choices
        if not is_number(value) or (self.integer and not isinstance(value, int)):
            return False
        return self.low <= value <= self.high  # type: ignore[operator]

    def __str__(self) -> str:
        if self.choices:
            return ", ".join(self.choices)
        return f"a {'whole ' if self.integer else ''}number, {self.low:,g} to {self.high:,g}"


SAMPLING: dict[str, Setting] = {
    "temperature": Setting(0, 2),
    "top_p": Setting(0, 1),
    "frequency_penalty": Setting(-2, 2),
    "presence_penalty": Setting(-2, 2),
    "seed": Setting(-_MAX_SEED, _MAX_SEED, integer=True),
    "reasoning_effort": Setting(choices=("none", "minimal", "low", "medium", "high", "xhigh", "max")),
    **dict.fromkeys(ANSWER_LIMITS, Setting(1, MAX_TOKENS, integer=True)),
}
"""How a reply is sampled. Source: OpenAI (chat completions; `sampling_params` of its graders)."""

DELIVERY: dict[str, Setting] = {
    "timeout": Setting(0.001, 3_600),
    "max_retries": Setting(0, 20, integer=True),
    "max_steps": Setting(1, 200, integer=True),
}
"""Time limit and number of requests of a judge: seconds, tries after the first, replies of an agent."""

_SET_BY_JUDGE = frozenset({"model", "response_format", "tools", "timeout", "max_retries"})
"""Settings taken from a judge's fields, which are checked there."""

_BREAKS_ACCOUNTING = frozenset(
    {
        *("stream", "stream_options", "best_of", "models", "route", "provider", "plugins", "service_tier"),
        *("web_search_options", "audio", "modalities", "base_url", "api_key", "headers", "query"),
        *("extra_body", "extra_headers", "extra_query"),
    }
)
"""Settings that would call another model or server, or request replies that are not paid by their tokens."""


def check_setting(name: str, value: object, *, where: str = "") -> None:
    """Reject a value outside its bounds.

    Raises:
        FormatError: It names the bounds.
    """
    bounds = SAMPLING.get(name) or DELIVERY[name]
    if not bounds.allows(value):
        raise FormatError(
            f"{name} is out of its bounds", where=where, found=repr(value)[:80], expected=str(bounds)
        )


def check_sampling(params: Any) -> dict[str, Any]:
    """A file's sampling parameters, checked: each is known and within its bounds. A value of None counts as not set.

    Raises:
        FormatError: Not a dict, a name that is not in `SAMPLING`, a value out of bounds, or two names of the reply limit.
    """
    if not isinstance(params, Mapping):
        raise FormatError("sampling_params must be a dict", found=repr(params)[:80])
    for name, value in params.items():
        if name not in SAMPLING:
            raise FormatError(
                f"sampling_params may not set {str(name)[:80]!r}", expected=", ".join(SAMPLING),
                hint="settings for your server belong to your client: OpenAIClient(models={model: {...}})",
            )  # fmt: skip
        if value is not None:
            check_setting(name, value, where="sampling_params")
    if len(limits := [name for name in ANSWER_LIMITS if params.get(name) is not None]) > 1:
        raise FormatError("sampling_params sets the reply limit twice", found=", ".join(limits))
    return dict(params)


def check_request(settings: Mapping[str, Any]) -> None:
    """Reject settings that would break accounting or redirect the request, just before it is sent.

    Other names are accepted: a file cannot set them, so a subclass of a judge did.

    Raises:
        FormatError: It names the setting.
    """
    for name, value in settings.items():
        if value is None or name in _SET_BY_JUDGE:
            continue
        if name in _BREAKS_ACCOUNTING or (name == "n" and value != 1):
            raise FormatError(
                f"a judge may not send {str(name)[:80]!r}", expected="nothing that changes the model, the server or the price",
                hint="set it on your client instead: OpenAIClient(models={model: {...}})",
            )  # fmt: skip
        if name in SAMPLING:
            check_setting(name, value, where="the judge's request")


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


def merge_settings(settings: Mapping[str, Any], client_settings: Mapping[str, Any]) -> dict[str, Any]:
    """A judge's settings, overridden by the client's settings for that model, with `extra_body` as plain settings.

    A reply limit set by the client replaces the judge's, whichever of the limit's names each uses.
    """
    extra_body = client_settings.get("extra_body") or {}
    plain = {
        name: value for name, value in client_settings.items() if name != "extra_body" and value is not None
    }
    overrides = {**plain, **extra_body}
    has_limit = any(name in overrides for name in ANSWER_LIMITS)
    judge_settings = {
        name: value
        for name, value in settings.items()
        if value is not None and not (has_limit and name in ANSWER_LIMITS)
    }
    return {**judge_settings, **overrides}


def sent_settings(client: ChatClient, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as the client sends them."""
    models = getattr(client, "models", None)  # may be anything on a user's client
    own = models.get(str(settings.get("model")), {}) if isinstance(models, Mapping) else {}
    return merge_settings(settings, own if isinstance(own, Mapping) else {})


def sent_model(client: ChatClient, model: str) -> str:
    """The model that is called, and so has to be paid, if a judge names this one."""
    return str(sent_settings(client, {"model": model.strip()}).get("model") or "")


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
