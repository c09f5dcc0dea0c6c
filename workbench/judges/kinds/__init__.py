"""The judges, one family per file, and `Judge`, their base: from a sample to a request, to a model's reply, to a grade."""

from __future__ import annotations

import os
import re
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, replace
from typing import Any, ClassVar, Self

from workbench.core.discovery import higher_level
from workbench.core.errors import FormatError, WorkbenchError
from workbench.core.grade import ErrorKind, Grade, GradeError
from workbench.core.thread import StringThread
from workbench.data.extractors import Extractor, as_extractor
from workbench.data.samples import Sample
from workbench.data.templates.values import TemplateError, TemplateRunError
from workbench.graders.arguments import HANDLING
from workbench.graders.base import Grader
from workbench.judges.budget import BudgetError
from workbench.judges.cache import PendingError
from workbench.judges.judge_run import CircuitBreaker, ask, current_run
from workbench.judges.openai_client import OpenAIClient, is_reasoning_model, provider_client
from workbench.judges.prompts import check_examples, checked_examples, is_example, show_examples
from workbench.judges.protocol import (
    ChatClient,
    JudgeServerError,
    Messages,
    NoModelError,
    Reply,
    SampleError,
    check_setting,
    refuse_unless,
    sent_model,
)
from workbench.judges.response import hide_secrets_in_data, keys_in_use
from workbench.judges.verdicts import PLATFORMS, AnswerError, answer_text, without_quotes

JSON_OBJECT = {"type": "json_object"}
"""The `response_format` that requests any JSON object."""

_MAX_RAW_CHARACTERS = 10_000
"""Maximum characters of a reply in a grade's metadata. Workbench limit."""
REPAIRED_PLATFORMS = frozenset({"", "adaptive", "vllora"})
"""Rules under which a reply that cannot be parsed is requested again."""
_SERVER_FIELDS = frozenset({"base_url", "api_key_env", "client"})
"""Fields that define the model and server."""
_ROWS_AT_ONCE_WITH_STORE = 256
"""Concurrent rows if replies may come from a store, which reads many of them in one query. Workbench default."""


def json_schema(schema: Mapping[str, Any], name: str = "verdict") -> dict[str, Any]:
    """The `response_format` that requests replies of this shape from a server."""
    return {"type": "json_schema", "json_schema": {"name": name, "schema": dict(schema)}}


@dataclass(frozen=True, kw_only=True)
class Judge(Grader):
    """A grader that calls a model. Subclasses define the request and how the reply is parsed.

    Attributes:
        model: The model to call; by default the one that the environment variable `WORKBENCH_MODEL` names. The variable
            is read once, so that the judge's spec names the model that was called. Without a model a judge can be
            made and previewed, and a `ScriptedClient` can reply to it.
        temperature: 0 to 2; above 0 for varied replies. 0.0 is sent as 1.0 to reasoning models, which accept no other.
        max_tokens: Maximum tokens of a reply, up to 131,072; None for the server's limit. With it a budget is exact if
            the server charges by the price table and counts the messages sent.
        extractor: Which text of the thread is judged.
        images: Column with the row's images, which are sent after the text of the request; "" for none. Images in messages
            are in the column "images". See `judges/budget.py` for what a cell may contain.
        platform: Whose conventions decide how the request is built and how malformed replies are parsed; one of
            `judges.PLATFORMS`. Under "", the workbench's rules, a reply without JSON, a number outside the range, a
            refusal and a truncated reply are failed grades.
        base_url: URL of a server that implements OpenAI's protocol; "" for the default. Short for
            `client=OpenAIClient(base_url)`.
        api_key_env: Environment variable with the key of that server; "" for `OPENAI_API_KEY`. Keys themselves are
            rejected.
        examples: Graded rows to show before the request, dicts with `input` (text or messages), `output`, `reply` (what the
            judge should reply) and optionally `reference` and `metadata`. A row that is an example is skipped. See `with_examples`.
        client: The client that sends requests; None for OpenAI with the key in `OPENAI_API_KEY`. Like `base_url` and
            `api_key_env` it is not part of spec, repr or equality: a file cannot name a server.

    Metadata contains `raw` (the reply's text, at most 10,000 characters) and `cached` if it was read from a store.

    Error kinds: judge_server, judge_unreachable, judge_key, judge_limit, timeout (the server), judge_parse,
    judge_cut, judge_too_long, judge_refusal, out_of_range, not_finite (the reply), budget, pending (in a batch), store,
    template, sample.
    """

    hidden_from_dir = (
        "answer_format ask ask_messages ask_model chat_client check_count has_own_examples judged_text label_reply material priced_model read read_reply "
        "shows_question request_settings sent_temperature statements_key system_prompt unfilled_placeholders unreadable_grade "
        "user_message verdict_key"
    )
    has_own_examples: ClassVar[bool] = False
    """Whether the kind has another form of examples, which its prompt contains."""

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        show_examples(cls)

    model: str = ""
    temperature: float = 0.0
    max_tokens: int | None = None
    extractor: Extractor = field(default_factory=Extractor)
    images: str = ""
    platform: str = ""
    examples: tuple[Mapping[str, Any], ...] = ()
    base_url: str = field(default="", compare=False, repr=False, metadata=HANDLING)
    api_key_env: str = field(default="", compare=False, repr=False, metadata=HANDLING)
    client: ChatClient | None = field(default=None, compare=False, repr=False, metadata=HANDLING)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "extractor", as_extractor(self.extractor))
        refuse_unless(isinstance(self.model, str), "model must be a model's name", self.model)
        self._resolve_model()
        if self.base_url or self.api_key_env:
            self._make_client()
        refuse_unless(
            self.platform in PLATFORMS, "unknown platform", self.platform, ", ".join(map(repr, PLATFORMS))
        )
        numeric = isinstance(self.temperature, int | float) and not isinstance(self.temperature, bool)
        refuse_unless(numeric and 0 <= self.temperature <= 2, "temperature must be 0 to 2", self.temperature)
        object.__setattr__(self, "temperature", float(self.temperature))
        refuse_unless(isinstance(self.images, str), "images must be the name of a column", self.images)
        if self.max_tokens is not None:
            check_setting("max_tokens", self.max_tokens)
        if not self.has_own_examples:
            object.__setattr__(self, "examples", checked_examples(self.examples))

    def _make_client(self) -> None:
        """Create the client of `base_url` and `api_key_env`."""
        refuse_unless(isinstance(self.base_url, str), "base_url must be a URL", self.base_url)
        # Tracebacks and histories would show a key; the message does not repeat its text either.
        is_name = isinstance(self.api_key_env, str) and re.fullmatch(r"[A-Za-z_]\w*|", self.api_key_env)
        refuse_unless(
            is_name, "api_key_env must be the name of an environment variable, not a key", "", "'MY_API_KEY'"
        )
        client = OpenAIClient(self.base_url or None, self.api_key_env or OpenAIClient.key_variable)
        # A copy of a judge has both: the settings, and the client created from them.
        if self.client is not None and self.client != client:
            raise FormatError(
                "a judge takes a client, or base_url and api_key_env, not both",
                hint="give them to the client: client=wb.judges.OpenAIClient(base_url, key_variable)",
            )
        object.__setattr__(self, "client", client if self.client is None else self.client)

    def spec(self) -> dict[str, Any]:
        """The judge as a plain dict, without its server."""
        return {name: value for name, value in super().spec().items() if name not in _SERVER_FIELDS}

    def _field_spec(self, f: Field[Any]) -> Any:
        if f.name == "extractor":
            return self.extractor.spec()
        value = getattr(self, f.name)
        return list(value) if isinstance(value, tuple) else value

    @classmethod
    def build(cls, values: dict[str, Any]) -> Self:
        """The judge of a spec. See `Grader.build`."""
        if named := _SERVER_FIELDS & set(values):
            raise FormatError(
                "a file cannot name the judge's server",
                found=min(named),
                hint="set it on the judge: base_url=",
            )
        return super().build(values)

    @property
    def needs_answer(self) -> str:
        """See `Grader.needs_answer`: an extractor decides which turn it reads."""
        return "completion" if self.extractor.name == "last_assistant" else "turn"

    @abstractmethod
    def preview(self, sample: Sample | StringThread) -> Messages:
        """The messages that would be sent, without sending them.

        Raises:
            TemplateError: The prompt is not a valid template.
            TemplateRunError: The prompt does not fit the sample.
            SampleError: The sample has nothing to judge.
        """

    def questions(self, sample: Sample | StringThread) -> list[Messages]:
        """All requests that would be sent for a sample: the one of `preview`, unless a judge sends several."""
        return [self.preview(sample)]

    @abstractmethod
    def read(self, text: str) -> Grade:
        """The grade of a reply. Raise `AnswerError` if the reply has no grade.

        Args:
            text: The reply without thinking, code fences and quoted objects (see `without_quotes`).
        """

    def answer_format(self) -> dict[str, Any] | None:
        """The `response_format` to send; None to send none."""
        return JSON_OBJECT

    def request_settings(self) -> dict[str, Any]:
        """The settings sent with the messages."""
        self._resolve_model()
        settings = {"model": self.model, "temperature": self.sent_temperature, "max_tokens": self.max_tokens}
        return {**settings, "response_format": self.answer_format()}

    @property
    def sent_temperature(self) -> float:
        """The temperature as the model accepts it."""
        if self.platform == "letta":
            fixed = self.model.startswith(("o1", "o3")) or "gpt-5" in self.model.lower()
            return 1.0 if fixed and self.temperature == 0 else self.temperature
        return (
            1.0
            if is_reasoning_model(self.model) and (self.temperature == 0 or self.platform == "adaptive")
            else self.temperature
        )

    def _default_model(self) -> str:
        """The default model of a judge without one; "" if the environment names none either."""
        return os.environ.get("WORKBENCH_MODEL", "").strip()

    def _resolve_model(self) -> None:
        """Set the default model on the judge, so that its spec names the model that was called."""
        if not self.model.strip() and (model := self._default_model()):
            object.__setattr__(self, "model", model)

    @property
    def priced_model(self) -> str:
        """The model that is paid: a client may call another one than the judge names."""
        return sent_model(self.chat_client(), self.model)

    def check_ready(self) -> None:
        """Raise an error that would fail every row of a run: no key, no model.

        Raises:
            JudgeKeyError: The environment variable of the key is not set.
            NoModelError: The server needs a model, and neither the judge nor `WORKBENCH_MODEL` names one.
        """
        self._resolve_model()
        check_examples(self)
        client = self.chat_client()
        check = getattr(client, "check_ready", None)
        if check is not None:
            check()
        if not self.priced_model and getattr(client, "needs_model", False):
            raise NoModelError.at()

    def chat_client(self) -> ChatClient:
        """The client that sends the requests."""
        return self.client if self.client is not None else provider_client("openai")

    async def grade(self, sample: Sample) -> Grade:
        """Send the request and parse the reply; request a second reply if the rules provide for that."""
        start = time.perf_counter()
        replies: list[Reply] = []
        if not self.platform and is_example(self, sample):
            return Grade.skipped("this row is one of the judge's examples")
        try:
            self._require_question(sample)
            grade = await self.ask(sample, replies)
            await _confirm(replies)
        except (TemplateError, TemplateRunError) as error:
            grade = Grade.failed(ErrorKind.TEMPLATE, str(error))
        except SampleError as error:
            grade = Grade.failed(ErrorKind.SAMPLE, str(error))
        except PendingError as error:
            await _confirm(replies)
            grade = Grade.failed(error.kind, str(error))
        except (JudgeServerError, BudgetError) as error:
            transient = getattr(error, "transient", False)  # a `BudgetError` never is
            grade = Grade(error=GradeError(error.kind, str(error), transient))
        except WorkbenchError as error:
            grade = Grade.failed(ErrorKind.JUDGE_SERVER, str(error))
        except AnswerError as error:
            grade = self.unreadable_grade(error, replies)
        finally:
            _discard(replies)
        return _without_keys(_with_costs(grade, replies, time.perf_counter() - start))

    @property
    def shows_question(self) -> bool:
        """Whether the request contains the row's prompt, so that a row without one is not sent."""
        return False

    def _require_question(self, sample: Sample) -> None:
        """Fail a row whose request would contain an empty prompt.

        Raises:
            SampleError: There is no user turn, or an empty one.
        """
        if self.shows_question and not any(
            turn.content.strip() for turn in sample.thread.messages() if turn.role == "user"
        ):
            raise SampleError(
                "no prompt: the conversation has no user turn with a text before the completion; "
                'if a column contains the prompts, map it: columns={"prompt": ...}'
            )

    async def ask(self, sample: Sample, replies: list[Reply]) -> Grade:
        """Send one request, and parse its reply. Every reply is added to `replies`, even if an error follows."""
        return await self.ask_messages(sample, self.preview(sample), replies)

    async def ask_messages(self, sample: Sample, messages: Messages, replies: list[Reply]) -> Grade:
        """Send these messages and parse the reply; if it cannot be parsed, request a repaired one once."""
        try:
            return await self._ask_and_repair(sample, messages, replies)
        except PendingError:
            await _confirm(replies)  # the next step, which is in a batch, continues from them
            raise
        finally:
            # Of replies that were not parsed, and immediately: an equal request of the same row may wait for this one.
            _discard(replies)

    async def _ask_and_repair(self, sample: Sample, messages: Messages, replies: list[Reply]) -> Grade:
        await self.ask_model(messages, replies)
        try:
            grade = self.read_reply(sample, messages, replies[-1])
        except AnswerError as error:
            if error.kind is not ErrorKind.JUDGE_PARSE or self.platform not in REPAIRED_PLATFORMS:
                raise
            repair = [
                {"role": "assistant", "content": replies[-1].text},
                {
                    "role": "user",
                    "content": f"This could not be read: {error}. Answer again, with the JSON object alone and complete.",
                },
            ]
        else:
            await _confirm(replies)
            return grade
        await self.ask_model([*messages, *repair], replies)
        grade = self.read_reply(sample, messages, replies[-1])
        await _confirm(replies)
        return grade

    def read_reply(self, sample: Sample, messages: Messages, reply: Reply) -> Grade:
        """The grade of a reply to these messages. Raise `AnswerError` if it has no grade for this sample."""
        return self.read(without_quotes(answer_text(reply, self.platform), sample, messages))

    async def ask_model(self, messages: Messages, replies: list[Reply]) -> Reply:
        """One reply of the model, or from the run's store, added to `replies`."""
        try:
            reply = await ask(self.chat_client(), messages, self.request_settings())
        except (JudgeServerError, BudgetError) as error:
            if error.usage is not None:
                # There is no reply, but the grade has to report what it cost.
                replies.append(Reply("", error.usage, {"failed": True}))
            raise
        replies.append(reply)
        return reply

    @property
    def at_once(self) -> int:
        """Concurrent rows: as many as the client's requests; more with a store, whose replies need no client."""
        client, judge_run = self.chat_client(), current_run()
        concurrency = int(getattr(client, "concurrency", 0)) or super().at_once
        # `OpenAIClient` limits its requests itself; another client would get all of these rows concurrently.
        has_store = judge_run is not None and judge_run.replies is not None
        if isinstance(client, OpenAIClient) and has_store:
            return max(concurrency, _ROWS_AT_ONCE_WITH_STORE)
        return concurrency

    def ends_run(self) -> Callable[[Grade], GradeError | None]:
        """What ends a run early: exhausted budget, store failure, three consecutive rows without a server or valid key."""
        judge_run = current_run()
        if judge_run is None:
            return CircuitBreaker()
        return CircuitBreaker(lambda: judge_run.spending.share_spent)

    def unreadable_grade(self, error: AnswerError, replies: list[Reply]) -> Grade:  # noqa: ARG002 (for platforms' rules)
        """The grade of a reply that cannot be parsed: failed."""
        return Grade.failed(error.kind, str(error))

    def with_examples(self, rows: Any, labels: Any = None, *, n: int = 4, seed: int = 0) -> Self:
        """This judge with examples from labelled rows, half of them good; these rows are skipped, so that no figure has them.

        Args:
            rows: Rows, or a report with labels.
            labels: As in `Report`; the report's by default.
            n: Number of examples, from as many prompts.
            seed: Of the draw.

        Raises:
            ReportError: Fewer labelled rows than needed.
            FormatError: The kind cannot express a label as a reply: write `examples=`.
        """
        judge: Self = higher_level("judge_with_examples")(self, rows, labels, n, seed)
        return judge

    def label_reply(self, *, good: bool) -> Mapping[str, Any] | None:  # noqa: ARG002 (for kinds that can)
        """The reply that a label means; None for a kind whose replies are more than a label."""
        return None

    def judged_text(self, sample: Sample) -> str:
        """The judged text of the sample."""
        return self.extractor.extract(sample.thread)


async def _confirm(replies: list[Reply]) -> None:
    """Store replies that were parsed."""
    if (judge_run := current_run()) is not None:
        await judge_run.confirm(replies)


def _discard(replies: list[Reply]) -> None:
    """Discard replies that could not be parsed: the next run requests them again."""
    if (judge_run := current_run()) is not None:
        judge_run.discard(replies)


def _without_keys(grade: Grade) -> Grade:
    """The grade without any key in use: a server may return a key in an escaped form, which parsing the reply decodes."""
    keys = keys_in_use()
    if not keys:
        return grade
    error = grade.error
    if error is not None:
        error = replace(error, message=hide_secrets_in_data(error.message, keys))
    reasoning, metadata = (hide_secrets_in_data(part, keys) for part in (grade.reasoning, grade.metadata))
    return replace(grade, reasoning=reasoning, error=error, metadata=metadata)


def _with_costs(grade: Grade, replies: list[Reply], seconds: float) -> Grade:
    """The grade with its time, tokens and cost, and the text of the last reply."""
    usages = [reply.usage for reply in replies if reply.usage is not None]
    costs = [usage.cost for usage in usages if usage.cost is not None]
    texts = [reply.text for reply in replies if not reply.raw.get("failed")]
    metadata: dict[str, Any] = (
        {"raw": texts[-1][:_MAX_RAW_CHARACTERS]} if texts and "raw" not in grade.metadata else {}
    )
    if replies and all(reply.raw.get("cached") for reply in replies):
        metadata["cached"] = True
    reply_seconds: list[Any] = [reply.raw.get("seconds") for reply in replies]
    return replace(
        grade,
        # The servers' time if it is known: how long a request waited for its turn is not a property of the judge.
        seconds=sum(map(float, reply_seconds)) if reply_seconds and None not in reply_seconds else seconds,
        tokens=sum(usage.tokens for usage in usages) if usages else grade.tokens,
        # A sum without the replies of unknown cost would be too low.
        cost=sum(costs) if costs and len(costs) == len(replies) else grade.cost,
        metadata={**grade.metadata, **metadata},
    )
