# Written by grader workbench for TRL reward functions (GRPO, RLOO; Unsloth). Edit the graders between the marks.
# GRPOTrainer(reward_funcs=reward_funcs, args=GRPOConfig(reward_weights=reward_weights, ...), ...)
from __future__ import annotations

import math as _wb_math
from collections import namedtuple as _wb_namedtuple


_wb_Turn = _wb_namedtuple("Turn", "role content")


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

    def tool_calls(self):
        return [call for index in sorted(self._calls) for call in self._calls[index]]


class Skip(Exception):
    """Raised where a grader below does not apply to a row."""


class _wb_names:
    """What the graders below import from the workbench; no module is made or changed."""

    StringThread = StringThread
    Skip = Skip


# --- grader workbench: the grader's own text begins ---
import re
# given by this file: import workbench as wb
wb = _wb_names  # in its place


async def grade(thread: wb.StringThread) -> float:
    """The last number of the answer is the expected one."""
    numbers = re.findall(r"-?\d+(?:\.\d+)?", (thread.completion() or "").replace(",", ""))
    if not numbers:
        raise wb.Skip("no number in the answer")
    return 1.0 if float(numbers[-1]) == float((thread.metadata or {}).get("expected", "4")) else 0.0
# --- grader workbench: the grader's own text ends ---
_wb_own_0 = grade


# --- grader workbench: the grader's own text begins ---
# moved to the top: from __future__ import annotations


async def grade(thread: wb.StringThread) -> float:
    """Longer answers get less."""
    return 1.0 / (1.0 + len(thread.completion() or "") / 200)
# --- grader workbench: the grader's own text ends ---
_wb_own_1 = grade


_wb_Answer = _wb_namedtuple(
    "Answer", "score passed reason failure metadata", defaults=(None, None, "", "", None)
)


def _wb_scored(value):
    if type(value) not in (int, float) or not _wb_math.isfinite(value):
        raise TypeError(f"grade must return a finite number, not {value!r:.80}")
    return _wb_Answer(float(value))


def _wb_answering(grade):
    """The grader as a function that never raises: what fails is this row's failure and no other's."""

    async def answer(thread):
        try:
            return _wb_scored(await grade(thread))
        except (Exception, SystemExit) as error:
            return _wb_Answer(failure=f"{type(error).__name__}: {error}")

    return answer


_wb_Skip = Skip


class Grade:
    """What a grader below may return in the place of a number."""

    def __init__(self, score=None, *, passed=None, reasoning=None, error=None, metadata=None, **rest):
        self.score, self.passed, self.reasoning, self.error = score, passed, reasoning, error
        self.metadata = dict(metadata or {})

    @classmethod
    def failed(cls, kind, message, **rest):
        return cls(error=f"{kind}: {message}", **rest)

    @classmethod
    def skipped(cls, reasoning=None, **rest):
        return cls(reasoning=reasoning, **rest)


_wb_Grade = Grade


def _wb_graded(value):
    if type(value) is not _wb_Grade:
        return _wb_scored(value)
    note = {"reason": value.reasoning or "", "passed": value.passed, "metadata": value.metadata or None}
    if value.error is not None:
        return _wb_Answer(failure=str(value.error), **note)
    return _wb_Answer(**note) if value.score is None else _wb_scored(value.score)._replace(**note)


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


async def _wb_ask(graders, thread_of, *row):
    """Every grader's answer on one row, each on a thread of its own."""
    try:
        threads = {name: thread_of(*row) for name in graders}
    except Exception as error:
        return {name: _wb_Answer(failure=f"{type(error).__name__}: {error}") for name in graders}
    return {name: await answer(threads[name]) for name, answer in graders.items()}


def _wb_drive(coroutine):
    """Run a grader's coroutine to its end here: it waits for nothing."""
    try:
        while coroutine.send(None) is None:  # `await asyncio.sleep(0)`
            pass
        coroutine.throw(RuntimeError("the grader waits for something, and there is no event loop here"))
    except StopIteration as done:
        return done.value


_wb_Thread = StringThread


def _wb_copied(value):
    """Plain values of its own for each grader, so that none changes what another sees."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, dict):
        return {key: _wb_copied(one) for key, one in value.items()}
    return [_wb_copied(one) for one in value] if isinstance(value, list) else value


def _wb_thread(turns, metadata):
    return _wb_Thread(turns, _wb_copied(metadata))


def _wb_part_text(part):
    if isinstance(part, str):
        return part
    return part.get("text") or ("[image]" if "image" in str(part.get("type", "")) else "")


def _wb_text(content):
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(map(_wb_part_text, content))


def _wb_thread_of(messages, metadata, tools=()):
    """The conversation out of chat messages: dicts with role, content and perhaps tool_calls."""
    turns = [(message["role"], _wb_text(message.get("content"))) for message in messages]
    thread = _wb_thread(turns, metadata)
    thread.tools = list(tools or ())
    thread._calls = {at: list(one["tool_calls"]) for at, one in enumerate(messages) if one.get("tool_calls")}
    thread._answers = {at: one["tool_call_id"] for at, one in enumerate(messages) if one.get("tool_call_id")}
    return thread


_wb_graders = {
    "last_number": _wb_answering_in_full(_wb_own_0),
    "brief": _wb_answering(_wb_own_1),
}


def _wb_whole(answers):
    return answers["last_number"]


_WB_NOT_COLUMNS = {"completion_ids", "prompt_ids", "trainer_state", "log_extra", "log_metric", "environments"}


def _wb_row(prompt, completion, columns):
    asked = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    said = [{"role": "assistant", "content": completion}] if isinstance(completion, str) else completion
    return _wb_thread_of([*asked, *said], columns)


def _wb_answers(graders, prompts, completions, columns):
    own = {key: values for key, values in columns.items() if key not in _WB_NOT_COLUMNS}
    rows = [{key: values[at] for key, values in own.items()} for at in range(len(prompts))]
    return [_wb_drive(_wb_ask(graders, _wb_row, *row)) for row in zip(prompts, completions, rows, strict=True)]


def _wb_scores(name, prompts, completions, columns):
    graders = {name: _wb_graders[name]}
    return [answers[name].score for answers in _wb_answers(graders, prompts, completions, columns)]


def last_number(prompts, completions, **columns):
    return _wb_scores("last_number", prompts, completions, columns)


def brief(prompts, completions, **columns):
    return _wb_scores("brief", prompts, completions, columns)


reward_funcs = [last_number, brief]
reward_weights = [0.9, 0.1]

# settings: {"target": "trl", "version": 1, "graders": [{"name": "last_number", "function": "last_number", "weight": 0.9, "timeout": 0.5, "description": "The last number of the answer is the expected one."}, {"name": "brief", "function": "brief", "weight": 0.1, "description": "Longer answers get less."}]}
