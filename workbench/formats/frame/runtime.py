"""The code around graders in exported files: only the parts a file needs, using only the standard library.

The workbench does not call anything here. Each name begins with `_wb_`, so that graders can use all other names;
imports are renamed likewise.
"""
# mypy: ignore-errors

from __future__ import annotations

import math as _wb_math
from collections import namedtuple as _wb_namedtuple
from json import dumps as _wb_dumps

_WB_REFERENCE = ("reference", "expected", "ground_truth", "label", "answer")
_WB_MORE_REFERENCES = (
    "target",
    "ideal",
    "gold",
    "gold_answer",
    "expected_output",
    "reference_answer",
    "correct_answer",
    "expected_answer",
    "ground_truths",
    "golden_answer",
    "expected_response",
    "reference_response",
    "reference_output",
    "referenceResponse",
    "solution",
    "gts",
    "expectations",
    "answers",
    "reward_model",
)
_wb_Turn = _wb_namedtuple("Turn", "role content")
_wb_Answer = _wb_namedtuple(
    "Answer", "score passed reason failure metadata", defaults=(None, None, "", "", None)
)


class StringThread:
    """The conversation as the graders below read it."""

    def __init__(self, turns=(), metadata=None):
        self._turns = [_wb_Turn(role, content) for role, content in turns]
        self.metadata = metadata
        self.tools = []
        self._calls = {}
        self._answers = {}

    def completion(self):
        last = self._turns[-1] if self._turns else None
        return last.content if last and last.role == "assistant" else None

    def messages(self):
        ends = self._turns and self._turns[-1].role == "assistant"
        return self._turns[:-1] if ends else list(self._turns)

    def get_turns(self):
        return list(self._turns)

    def last_content(self):
        return self._turns[-1].content

    def tool_calls(self):
        return [call for index in sorted(self._calls) for call in self._calls[index]]

    def turn_calls(self, index):
        return list(self._calls.get(index) or [])

    def turn_answers(self, index):
        return self._answers.get(index)


_wb_Thread = StringThread


class Skip(Exception):
    """Raised if a grader below does not apply to a row."""


class Grade:
    """What a grader below may return instead of a number."""

    def __init__(
        self,
        score=None,
        *,
        passed=None,
        reasoning=None,
        error=None,
        metadata=None,
        seconds=None,
        tokens=None,
        cost=None,
        printed=None,
    ):
        self.score, self.passed, self.reasoning, self.error = score, passed, reasoning, error
        self.metadata = dict(metadata or {})

    @classmethod
    def failed(cls, kind, message, **rest):
        return cls(error=f"{kind}: {message}", **rest)

    @classmethod
    def skipped(cls, reasoning=None, **rest):
        return cls(reasoning=reasoning, **rest)


_wb_Grade = Grade
_wb_Skip = Skip


def _wb_alone(names, text):
    """A grader in a separate namespace, because another grader of this file uses the same names differently."""
    given = ("__name__", "StringThread", "Grade", "Skip", "_wb_names")
    own = {name: names[name] for name in given if name in names}
    exec(compile(text, f"{names.get('__file__', 'a grader')}", "exec", dont_inherit=True), own)
    return own["grade"]


def _wb_scored(value):
    if type(value) not in (int, float) or not _wb_math.isfinite(value):
        raise TypeError(f"grade must return a finite number, not {value!r:.80}")
    return _wb_Answer(float(value))


def _wb_graded(value):
    if type(value) is not _wb_Grade:
        return _wb_scored(value)
    note = {"reason": value.reasoning or "", "passed": value.passed, "metadata": value.metadata or None}
    if value.error is not None:
        return _wb_Answer(failure=str(value.error), **note)
    return _wb_Answer(**note) if value.score is None else _wb_scored(value.score)._replace(**note)


def _wb_answering(grade):
    """The grader as a function that never raises: an error fails only this row."""

    async def answer(thread):
        try:
            return _wb_scored(await grade(thread))
        except (Exception, SystemExit) as error:
            return _wb_Answer(failure=f"{type(error).__name__}: {error}")

    return answer


def _wb_answering_in_full(grade):
    """The grader as a function that never raises; it may return a `Grade` or raise `Skip`."""

    async def answer(thread):
        try:
            return _wb_graded(await grade(thread))
        except _wb_Skip as skip:
            return _wb_Answer(reason=str(skip))
        except (Exception, SystemExit) as error:
            return _wb_Answer(failure=f"{type(error).__name__}: {error}")

    return answer


def _wb_answering_as(call, grade):
    """A trainer's native function as one that never raises: `call` passes it one row as that trainer does."""

    async def answer(thread):
        try:
            value, read = call(grade, thread)
            value = read(await value if hasattr(value, "__await__") else value)
            if value is None:
                return _wb_Answer(reason="None: no score")
            return _wb_scored(float(value) if type(value) is bool else value)
        except (Exception, SystemExit) as error:
            return _wb_Answer(failure=f"{type(error).__name__}: {error}")

    return answer


def _wb_accepted(grade, given):
    """The arguments that a function accepts, by its parameters' names; of a decorated one, those of the original."""
    while hasattr(grade, "__wrapped__"):
        grade = grade.__wrapped__
    code = grade.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return given if code.co_flags & 8 else {key: value for key, value in given.items() if key in names}


def _wb_last_said(thread):
    return next((turn.content for turn in reversed(thread.get_turns()) if turn.role == "assistant"), "")


def _wb_asked(thread):
    """The turns of the prompt and those of the completion, as messages."""
    turns = [{"role": turn.role, "content": turn.content} for turn in thread.get_turns()]
    first = max((at + 1 for at, turn in enumerate(turns) if turn["role"] == "user"), default=0)
    return turns[:first], turns[first:]


def _wb_reference(thread):
    return next(
        (thread.metadata[name] for name in (*_WB_REFERENCE, *_WB_MORE_REFERENCES) if name in thread.metadata),
        None,
    )


def _wb_only(values):
    (value,) = values
    return value


def _wb_as_trl_chat(grade, thread):
    return _wb_as_trl(grade, thread, chat=True)


def _wb_as_trl(grade, thread, chat=False):
    asked, said = _wb_asked(thread)
    columns = {key: [value] for key, value in thread.metadata.items()}
    texts = ["\n".join(turn["content"] for turn in asked)], [_wb_last_said(thread)]
    prompts, completions = ([asked], [said]) if chat else texts
    logs = {"log_extra": lambda *_: None, "log_metric": lambda *_: None}
    return grade(
        **_wb_accepted(grade, {**columns, "prompts": prompts, "completions": completions, **logs})
    ), _wb_only


def _wb_as_verl(grade, thread):
    given = {"data_source": thread.metadata.get("data_source", ""), "solution_str": _wb_last_said(thread)}
    own = thread.metadata.get("extra_info")
    extra_info = {**thread.metadata, **(own if isinstance(own, dict) else {})}
    given = {**given, "ground_truth": _wb_reference(thread), "extra_info": extra_info}
    return grade(
        **_wb_accepted(grade, given)
    ), lambda value: value["score"] if isinstance(value, dict) else value


def _wb_as_openrlhf(grade, thread):
    prompt = "\n".join(turn["content"] for turn in _wb_asked(thread)[0])
    value = grade(queries=[prompt + _wb_last_said(thread)], prompts=[prompt], labels=[_wb_reference(thread)])
    return value, _wb_rewards


def _wb_rewards(value):
    value = value.get("rewards") if isinstance(value, dict) else value
    return _wb_only(value) if isinstance(value, (list, tuple)) else value


def _wb_as_together(grade, thread):
    return grade(_wb_last_said(thread), _wb_reference(thread)), lambda value: value


def _wb_entry(answer, *, verdict=False, negate=False, pass_threshold=None, on_error="fail", opposite=False):
    """The grader with the settings that it has in its suite."""

    async def counted(thread):
        found = await answer(thread)
        if found.failure and on_error != "fail":
            value = float(opposite) if on_error == "zero" else None
            return _wb_Answer(value, value == 1.0, reason=found.failure)
        if found.score is None:
            return found
        passed = found.score >= 1.0 if verdict else found.passed
        passed = passed if pass_threshold is None else found.score >= pass_threshold
        if not negate:
            return found._replace(passed=passed)
        return found._replace(score=1.0 - found.score, passed=None if passed is None else not passed)

    return counted


def _wb_copied(value):
    """A copy of plain values for each grader, so that no grader changes what another sees."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, float) and _wb_math.isnan(value):  # tables use NaN for a missing value
        return None
    if isinstance(value, dict):
        return {key: _wb_copied(one) for key, one in value.items()}
    return [_wb_copied(one) for one in value] if isinstance(value, list) else value


async def _wb_ask(graders, thread_of, *row):
    """Every grader's result for one row, each with its own copy of the thread."""
    try:
        threads = {name: thread_of(*row) for name in graders}
    except Exception as error:
        return {name: _wb_Answer(failure=f"{type(error).__name__}: {error}") for name in graders}
    return {name: await answer(threads[name]) for name, answer in graders.items()}


def _wb_thread(turns, metadata):
    for role, content in turns:
        if not isinstance(content, str):
            raise TypeError(f"the {role}'s turn must be a text, not {type(content).__name__}")
    return _wb_Thread(turns, _wb_copied(metadata))


def _wb_text(content):
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(map(_wb_part_text, content))


def _wb_part_text(part):
    if isinstance(part, str):
        return part
    return part.get("text") or ("[image]" if "image" in str(part.get("type", "")) else "")


def _wb_as_messages(value, role):
    """A text as one message; messages unchanged."""
    if isinstance(value, (str, dict)):
        return [value if isinstance(value, dict) else {"role": role, "content": value}]
    if value is None:
        raise TypeError(f"the {role}'s turn is None")
    return list(value)


def _wb_answer_messages(value):
    """A completion as messages.

    Raises:
        ValueError: It has no assistant message with content or tool calls.
    """
    messages = _wb_as_messages(value, "assistant")
    said = [one for one in messages if one["role"] == "assistant"]
    if all(one.get("content") is None and not one.get("tool_calls") for one in said):
        raise ValueError("the completion has no assistant message")
    return messages


def _wb_thread_of(messages, metadata, tools=()):
    """The conversation from chat messages: dicts with role, content and optionally tool_calls."""
    turns = [(message["role"], _wb_text(message.get("content"))) for message in messages]
    thread = _wb_thread(turns, metadata)
    thread.tools = list(tools or ())
    thread._calls = {at: list(one["tool_calls"]) for at, one in enumerate(messages) if one.get("tool_calls")}
    thread._answers = {at: one["tool_call_id"] for at, one in enumerate(messages) if one.get("tool_call_id")}
    return thread


def _wb_with_reference(metadata, reference):
    """The row's columns, with the reference under each name that graders use; under the first it is the reference."""
    columns = dict(metadata or {})
    if reference is None:
        return columns
    own = {key: value for key, value in columns.items() if value is not None}
    return {**columns, **dict.fromkeys(_WB_REFERENCE, reference), **own, _WB_REFERENCE[0]: reference}


def _wb_drive(coroutine):
    """Run a grader's coroutine to completion; it must not wait for anything."""
    try:
        while coroutine.send(None) is None:  # `await asyncio.sleep(0)`
            pass
        coroutine.throw(RuntimeError("the grader waits for an event loop, and there is none here"))
    except StopIteration as done:
        return done.value


def _wb_number(answer, on_error):
    """The score; if it is missing, raise or return a number, as set at export."""
    if answer.score is not None:
        return answer.score
    if on_error is None:
        raise RuntimeError(f"no score: {_wb_why(answer)}")
    return on_error


def _wb_why(answer):
    """Why there is no score."""
    return answer.failure or f"skipped: {answer.reason or 'the grader does not apply to this row'}"


def _wb_score_of(value):
    """The score of what a grader returned, for platforms that take only a number; a skipped row raises."""
    if not isinstance(value, _wb_Grade):
        return value
    if value.error is not None:
        raise RuntimeError(value.error)
    if value.score is None:
        raise _wb_Skip(value.reasoning)
    return value.score


def _wb_scoring(function):
    async def scored(thread):
        return _wb_score_of(await function(thread))

    return scored


def _wb_blocks(content, name):
    """The values under a name in the parts of a message's content."""
    return (
        [part[name] for part in content if isinstance(part, dict) and name in part]
        if isinstance(content, list)
        else []
    )


def _wb_content_text(content):
    if not isinstance(content, list):
        return content or ""
    inner = [_wb_content_text(one.get("content")) for one in _wb_blocks(content, "toolResult")]
    return "".join([text for text in _wb_blocks(content, "text") if isinstance(text, str)] + inner)


def _wb_content_calls(message):
    used = _wb_blocks(message.get("content"), "toolUse")
    named = [
        {
            "id": one.get("toolUseId"),
            "type": "function",
            "function": {"name": one.get("name"), "arguments": _wb_dumps(one.get("input"))},
        }
        for one in used
    ]
    return list(message.get("tool_calls") or []) + named


def _wb_content_answered(message):
    results = [one.get("toolUseId") for one in _wb_blocks(message.get("content"), "toolResult")]
    return message.get("tool_call_id") or (results[0] if results else None)
