"""What every judge shares: a prompt out of a sample, an answer, and the way from the answer to a grade."""

from __future__ import annotations

import os
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, replace
from typing import Any, Self

from workbench.errors import FormatError, WorkbenchError
from workbench.extractors import Extractor, as_extractor
from workbench.grade import ErrorKind, Grade, GradeError
from workbench.graders.base import Grader, as_sample, is_number
from workbench.judges.answers.quotes import without_quotes
from workbench.judges.answers.verdicts import RULES, AnswerError, text_of
from workbench.judges.asking.breaker import Breaker
from workbench.judges.asking.budget import BudgetError
from workbench.judges.asking.judge_run import ask, current
from workbench.judges.asking.requests import model_of
from workbench.judges.asking.settings import check_setting
from workbench.judges.client.openai import OpenAIClient, provider_client, thinks
from workbench.judges.protocol import ChatClient, JudgeServerError, Messages, NoModelError, Reply
from workbench.samples import Sample
from workbench.templates import Template, TemplateError, TemplateRunError
from workbench.thread import StringThread

__all__ = [
    "JSON_OBJECT",
    "Judge",
    "SampleError",
    "as_sample",
    "check_names",
    "check_number",
    "json_schema",
    "refuse_unless",
]

JSON_OBJECT = {"type": "json_object"}

_MAX_RAW = 10_000
"""Characters of an answer kept in a grade's metadata."""
_REPAIRING = frozenset({"", "adaptive", "vllora"})
"""Rules that ask once more after an answer that cannot be read."""
_READ_AT_ONCE = 256


class SampleError(Exception):
    """A sample the judge cannot be asked about; the message says what is missing."""


def refuse_unless(condition: object, what: str, found: object = "", expected: str = "") -> None:
    """Raise a `FormatError` unless a field is as it must be."""
    if not condition:
        raise FormatError(what, found=repr(found)[:80] if found != "" else "", expected=expected)


def check_names(template: Template, values: Mapping[str, Any], rules: str) -> None:
    """Refuse a name that nothing fills: a misspelt one would ask an empty question about every row.

    Args:
        template: A prompt of the author's own.
        values: What it is filled with.
        rules: The judge's; platforms leave such a hole empty, and so do their rules here.

    Raises:
        TemplateRunError: Naming the hole, and what there is.
    """
    unknown = sorted(template.variables - set(values)) if not rules else []
    if unknown:
        raise TemplateRunError(
            f"the prompt asks for {unknown[0]!r}, which nothing fills", expected=", ".join(sorted(values))
        )


def check_number(name: str, value: object, *, above: float | None = None) -> None:
    """Raise a `FormatError` unless a field is a finite number, above a bound where one is given."""
    wanted = "must be a number" if above is None else f"must be a number above {above:g}"
    refuse_unless(is_number(value) and (above is None or float(value) > above), f"{name} {wanted}", value)  # type: ignore[arg-type]


def json_schema(schema: Mapping[str, Any], name: str = "verdict") -> dict[str, Any]:
    """The `response_format` that asks a server for answers of this shape."""
    return {"type": "json_schema", "json_schema": {"name": name, "schema": dict(schema)}}


@dataclass(frozen=True, kw_only=True)
class Judge(Grader):
    """A grader that asks a model. Subclasses say what is asked and how the answer is read.

    Attributes:
        model: Which model is asked; by default the one that the environment variable `WORKBENCH_MODEL` names. It is
            taken from there once, so that the judge's spec names the model that was asked. A judge can be made,
            previewed and answered by a `ScriptedClient` without any.
        temperature: Above 0 for varied answers. 0.0 is sent as 1.0 to reasoning models, which take no other.
        max_tokens: Tokens an answer may take, 131,072 at most; None for the server's own limit. With it a budget is
            exact where the server charges by the price table and counts the messages sent.
        extractor: Which text of the thread is judged.
        rules: Whose rule decides about unclean answers, out of `answers.RULES`. "" is ours: no JSON, a number
            outside the range, a refusal, a cut answer are failed grades.
        client: Who is asked; None for OpenAI with the key in `OPENAI_API_KEY`. No part of spec, repr or equality.

    Metadata holds `raw` (the answer's text, 10,000 characters at most) and `kept` where it came out of a store.

    Error kinds: judge_server, judge_unreachable, judge_key, judge_limit, timeout (the server), judge_parse,
    judge_cut, judge_refusal, out_of_range, not_finite (the answer), budget, store, template, sample.
    """

    machinery = (
        "answer_format ask ask_messages asked chat_client counted judged label material priced_model read rendered say "
        "sent_temperature statements_key system unfilled unread"
    )
    model: str = ""
    temperature: float = 0.0
    max_tokens: int | None = None
    extractor: Extractor = field(default_factory=Extractor)
    rules: str = ""
    client: ChatClient | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "extractor", as_extractor(self.extractor))
        refuse_unless(isinstance(self.model, str), "model must be a model's name", self.model)
        self._take_model()
        refuse_unless(self.rules in RULES, "unknown rules", self.rules, ", ".join(map(repr, RULES)))
        warm = isinstance(self.temperature, int | float) and not isinstance(self.temperature, bool)
        refuse_unless(warm and 0 <= self.temperature <= 2, "temperature must be 0 to 2", self.temperature)
        object.__setattr__(self, "temperature", float(self.temperature))
        if self.max_tokens is not None:
            check_setting("max_tokens", self.max_tokens)

    def spec(self) -> dict[str, Any]:
        """The judge as a plain dict; never its client."""
        return {name: value for name, value in super().spec().items() if name != "client"}

    def _field_spec(self, f: Field[Any]) -> Any:
        if f.name == "extractor":
            return self.extractor.spec()
        value = getattr(self, f.name)
        return list(value) if isinstance(value, tuple) else value

    @classmethod
    def build(cls, values: dict[str, Any]) -> Self:
        """The judge out of a spec's fields. See `Grader.build`."""
        if "client" in values:
            raise FormatError("a file cannot name a judge's client", hint="set it on the judge: client=")
        return super().build(values)

    @abstractmethod
    def preview(self, sample: Sample | StringThread) -> Messages:
        """What would be asked, without asking.

        Raises:
            TemplateError: A prompt that cannot be read.
            TemplateRunError: A prompt that does not fit the sample.
            SampleError: The sample has nothing to judge.
        """

    def questions(self, sample: Sample | StringThread) -> list[Messages]:
        """All questions that would be asked, where a judge asks several; else the one of `preview`."""
        return [self.preview(sample)]

    @abstractmethod
    def read(self, text: str) -> Grade:
        """The grade an answer means. Raise `AnswerError` where it means none.

        Args:
            text: The answer without thinking, fences and quoted objects (see `quotes`).
        """

    def answer_format(self) -> dict[str, Any] | None:
        """The `response_format` asked of the server; None to ask for none."""
        return JSON_OBJECT

    def asked(self) -> dict[str, Any]:
        """The settings sent with the messages."""
        self._take_model()
        settings = {"model": self.model, "temperature": self.sent_temperature, "max_tokens": self.max_tokens}
        return {**settings, "response_format": self.answer_format()}

    @property
    def sent_temperature(self) -> float:
        """The temperature, as the model takes it."""
        if self.rules == "letta":
            fixed = self.model.startswith(("o1", "o3")) or "gpt-5" in self.model.lower()
            return 1.0 if fixed and self.temperature == 0 else self.temperature
        return (
            1.0
            if thinks(self.model) and (self.temperature == 0 or self.rules == "adaptive")
            else self.temperature
        )

    def _default_model(self) -> str:
        """The model of a judge that names none; "" where nobody does."""
        return os.environ.get("WORKBENCH_MODEL", "").strip()

    def _take_model(self) -> None:
        """Name the default model once and for all: what was asked is what is exported."""
        if not self.model.strip() and (model := self._default_model()):
            object.__setattr__(self, "model", model)

    @property
    def priced_model(self) -> str:
        """The model that is paid: a client of one's own may ask another one than the judge names."""
        return model_of(self.chat_client(), self.model)

    def check_ready(self) -> None:
        """Raise what would end a run before its first row: no key, no model.

        Raises:
            JudgeKeyError: The variable of the key is not set.
            NoModelError: The server needs a model, and neither the judge nor `WORKBENCH_MODEL` names one.
        """
        self._take_model()
        client = self.chat_client()
        check = getattr(client, "check_ready", None)
        if check is not None:
            check()
        if not self.priced_model and getattr(client, "needs_model", False):
            raise NoModelError.at()

    def chat_client(self) -> ChatClient:
        """Who is asked."""
        return self.client if self.client is not None else provider_client("openai")

    async def grade(self, sample: Sample) -> Grade:
        """Ask, and read the answer; once more where it cannot be read and the rules say so."""
        start = time.perf_counter()
        replies: list[Reply] = []
        try:
            grade = await self.ask(sample, replies)
            await _keep(replies)
        except (TemplateError, TemplateRunError) as error:
            grade = Grade.failed(ErrorKind.TEMPLATE, str(error))
        except SampleError as error:
            grade = Grade.failed(ErrorKind.SAMPLE, str(error))
        except (JudgeServerError, BudgetError) as error:
            passing = getattr(error, "passing", False)
            grade = Grade(error=GradeError(error.kind, str(error), passing))
        except WorkbenchError as error:
            grade = Grade.failed(ErrorKind.JUDGE_SERVER, str(error))
        except AnswerError as error:
            grade = self.unread(error, replies)
        finally:
            _drop(replies)
        return _complete(grade, replies, time.perf_counter() - start)

    async def ask(self, sample: Sample, replies: list[Reply]) -> Grade:
        """One question, one answer; what was answered is added to `replies`, whatever happens then."""
        return await self.ask_messages(sample, self.preview(sample), replies)

    async def ask_messages(self, sample: Sample, messages: Messages, replies: list[Reply]) -> Grade:
        """The grade that the answer to these messages means, with one try at repair."""
        try:
            return await self._answer_read(sample, messages, replies)
        except BaseException:
            _drop(replies)  # at once: another question of the same row may be equal, and wait for this answer
            raise

    async def _answer_read(self, sample: Sample, messages: Messages, replies: list[Reply]) -> Grade:
        await self.say(messages, replies)
        try:
            grade = self._read(sample, messages, replies[-1])
        except AnswerError as error:
            if error.kind is not ErrorKind.JUDGE_PARSE or self.rules not in _REPAIRING:
                raise
            more = [
                {"role": "assistant", "content": replies[-1].text},
                {"role": "user", "content": _again(error)},
            ]
        else:
            await _keep(replies)
            return grade
        await self.say([*messages, *more], replies)
        grade = self._read(sample, messages, replies[-1])
        await _keep(replies)
        return grade

    def _read(self, sample: Sample, messages: Messages, reply: Reply) -> Grade:
        return self.read(without_quotes(text_of(reply, self.rules), sample, messages))

    async def say(self, messages: Messages, replies: list[Reply]) -> Reply:
        """One answer of the client, out of the run's store or paid for, added to `replies`."""
        try:
            reply = await ask(self.chat_client(), messages, self.asked())
        except (JudgeServerError, BudgetError) as error:
            if error.usage is not None:
                replies.append(Reply("", error.usage, {"failed": True}))  # no answer, but paid for
            raise
        replies.append(reply)
        return reply

    @property
    def at_once(self) -> int:
        """As many rows as the client takes questions; more with a store, whose answers need no client."""
        client, judge_run = self.chat_client(), current()
        most = int(getattr(client, "concurrency", 0)) or super().at_once
        reads = isinstance(client, OpenAIClient) and judge_run is not None and judge_run.replies is not None
        return max(most, _READ_AT_ONCE) if reads else most

    def ends_run(self) -> Callable[[Grade], GradeError | None]:
        """A spent budget or a broken store ends a run, and three rows in a row without a server or a valid key."""
        judge_run = current()
        return Breaker() if judge_run is None else Breaker(lambda: judge_run.spending.over)

    def unread(self, error: AnswerError, replies: list[Reply]) -> Grade:  # noqa: ARG002 (for platforms' rules)
        """The grade of an answer that means none: failed."""
        return Grade.failed(error.kind, str(error))

    def judged(self, sample: Sample) -> str:
        """The text under judgement."""
        return self.extractor.extract(sample.thread)


async def _keep(replies: list[Reply]) -> None:
    """Answers that were read go into the run's store."""
    if (judge_run := current()) is not None:
        await judge_run.keep(replies)


def _drop(replies: list[Reply]) -> None:
    """Answers that meant no grade are forgotten, and asked for again in the next run."""
    if (judge_run := current()) is not None:
        judge_run.drop(replies)


def _again(error: AnswerError) -> str:
    return f"This could not be read: {error}. Answer again, with the JSON object alone and complete."


def _complete(grade: Grade, replies: list[Reply], seconds: float) -> Grade:
    """The grade with what it took and what was said."""
    used = [reply.usage for reply in replies if reply.usage is not None]
    paid = [usage.cost for usage in used if usage.cost is not None]
    said = [reply.text for reply in replies if not reply.raw.get("failed")]
    raw: dict[str, Any] = {"raw": said[-1][:_MAX_RAW]} if said and "raw" not in grade.metadata else {}
    if replies and all(reply.raw.get("kept") for reply in replies):
        raw["kept"] = True
    took: list[Any] = [reply.raw.get("seconds") for reply in replies]
    return replace(
        grade,
        # The server's time where it is known: waiting for a turn says nothing of the judge.
        seconds=sum(map(float, took)) if took and None not in took else seconds,
        tokens=sum(usage.tokens for usage in used) if used else grade.tokens,
        cost=sum(paid) if paid and len(paid) == len(replies) else grade.cost,
        metadata={**grade.metadata, **raw},
    )
