"""JavaScript graders in QuickJS, inside the confined worker. Standard library only; loaded by its path.

A context has the language's built-in globals and a `console` whose lines are stored: no require, no process, no file,
no network, no timers. The row is passed as JSON text. The result is a number or JSON text made by `javascript.js`, which
saves the language functions it needs before the script runs. The engine limits time (its clock, in regexes too), memory
and stack; the watchdog ends a script that evades the engine's limits.

Globals of the script persist between rows of one worker, and are reset after a row that ran out of time or
memory. Rows are distributed over workers, so scripts must not rely on persisting globals.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any

_checks = sys.modules["_wb_checks"]
_drive = sys.modules["_wb_drive"]
_signatures = sys.modules["_wb_signatures"]
_determinism = sys.modules["_wb_determinism"]
_engine: Any = sys.modules.get("_wb_quickjs")
CheckFailed = _checks.CheckFailed

NAMES = ("grade", "evaluate")
_STACK_BYTES = 1024 * 1024
_LOAD_SHARE = 0.9  # of the time to load, so that the engine ends a script before the host would
_UNTOLD = {"_error": {"code": "metadata_not_serializable", "detail": "nested too deeply"}}
# The harness has such high line numbers that none of them can be mistaken for one of the script's.
_FAR = 100_000
_HARNESS = "\n" * _FAR + Path(__file__).with_name("javascript.js").read_text("utf-8")
_encode = json.JSONEncoder(allow_nan=False).encode
_PLACE = re.compile(r"<input>:(\d+)(?::\d+)?")
_NO_PARAMETERS = re.compile(r"(async\s+)?(function\s*\*?\s*[\w$]*\s*)?\(\s*\)")
_ENDS = (("interrupted", "timeout"), ("out of memory", "memory"))


class Context:
    """One engine with the harness loaded, and with the script once it was run."""

    def __init__(self, megabytes: int) -> None:
        self._context = _engine.Context()
        self._context.set_memory_limit(megabytes * 1024 * 1024)
        self._context.set_max_stack_size(_STACK_BYTES)
        self.ask = self._context.eval(_HARNESS)
        self.more = self._context.execute_pending_job

    def limit(self, seconds: float) -> None:
        """Set the time limit of the next call."""
        self._context.set_time_limit(seconds)

    def query(self, *question: Any) -> list[str | None]:
        """Call the harness, which returns a type and up to three values."""
        return _parts(self.ask(*question))

    def run_script(self, text: str) -> None:
        """Run the script's top level."""
        # The last line prevents conversion of the script's last value to Python.
        self._context.eval(text + "\n;undefined")

    def function(self, name: str) -> Any:
        """A top-level function of the script, None if the name is something else."""
        return self._context.eval(f"typeof {name} === 'function' ? {name} : null")


def _parts(text: str) -> list[str | None]:
    fields = json.loads(text)
    return [fields.get(key) for key in ("type", "first", "second", "third")]


class ScriptLoading(_checks.Loading):  # type: ignore[misc, name-defined]  # loaded by path
    """The five checks of a script, and its calls."""

    noted = True

    def __init__(self, text: str, thread_type: type, options: dict[str, Any] | None = None) -> None:
        super().__init__(text, thread_type, options)
        self._megabytes = int(self.options.get("memory_mb", 64))
        self._seconds = float(self.options.get("row_seconds", 1.0))
        self._load_seconds = _LOAD_SHARE * float(self.options.get("load_seconds", 5.0))
        self._context: Context | None = None
        self._name = ""
        # The log is read after every row, except for scripts that never mention the console.
        self._speaks = "console" in text

    def _syntax(self) -> str:
        size = len(self.text.encode("utf-8", "surrogatepass"))
        if size > _checks.MAX_BYTES:
            raise CheckFailed(f"the script is {size:,} bytes; the limit is {_checks.MAX_BYTES:,} (64 KiB)")
        if _engine is None:
            raise CheckFailed("the JavaScript engine is not installed: pip install quickjs-ng")
        if "\0" in self.text:
            raise CheckFailed("the script contains a null character")
        type_, _, message, stack = self._fresh().query("compile", self.text)
        if type_ == "thrown":
            # An error at the end of the script (a missing brace) is reported on a line that the engine added.
            line = min(_line(stack, self._offset()), self.text.count("\n") + 1)
            excerpt = self._excerpt(line)
            raise CheckFailed(f"{f'line {line}: ' if line else ''}{message}{excerpt}")
        count = len(self.text.splitlines())
        return f"{count} {'line compiles' if count == 1 else 'lines compile'}"

    def _fresh(self) -> Context:
        context = Context(self._megabytes)
        context.limit(self._load_seconds)
        return context

    def _offset(self) -> int:
        """Number of lines that the engine adds above the code it compiles."""
        stack = self._fresh().query("compile", "@")[3]
        return (_line(stack, 0) or 1) - 1

    def _excerpt(self, line: int) -> str:
        lines = self.text.splitlines()
        return f" in `{lines[line - 1].strip()[:120]}`" if 0 < line <= len(lines) else ""

    def _structure(self) -> str:
        for name in NAMES:
            type_, count, source, _ = self._fresh().query("probe", name, self.text)
            if type_ != "none":
                self._name, self._definition = name, (type_, count, source)
                return f"function {name}" + ("" if type_ == "function" else ", made when the script runs")
        nested = re.search(r"\bfunction\s+(grade|evaluate)\b", self.text)
        where = (
            f"; {nested[1]} at line {self.text.count(chr(10), 0, nested.start()) + 1} is nested"
            if nested
            else ""
        )
        raise CheckFailed(f"no top-level `function grade(input)`{where}")

    def afresh(self) -> None:
        """Create a new context: see `Loading.afresh`."""
        self._start()

    self_contained = True  # a script can only access its context

    def look_for_state(self) -> None:
        """Warn of randomness and of top-level variables that functions write, as far as the script's text shows them."""
        self.warnings += _determinism.script_warnings(self.text)

    def _signature(self) -> str:
        type_, count, source = self._definition
        return (
            self._one_parameter(count, source) if type_ == "function" else "checked once the script has run"
        )

    def _one_parameter(self, count: Any, source: Any) -> str:
        takes_nothing = count == 0 and _NO_PARAMETERS.match(source or "")
        if takes_nothing or (count or 0) > 1:
            raise CheckFailed(f"{self._name} must take exactly one parameter, the input; it takes {count}")
        return "one parameter"

    def _execution(self) -> str:
        self._start()
        self.grade = self._grade
        return f"the script runs and {self._name} is callable"

    def _start(self) -> None:
        """A new context in which the script's top level has run."""
        context = self._fresh()
        try:
            context.run_script(self.text)
            function = context.function(self._name)
        except _engine.JSException as error:
            endless = "interrupted" in str(error)
            message = f"timed out: the script did not load within {self._load_seconds:g} s"
            raise CheckFailed(message if endless else _engine_message(error)) from None
        if function is None:
            raise CheckFailed(f"after the script ran, {self._name} is not a function")
        _, count, source, _ = context.query("use", function, self._name == "grade")
        self._one_parameter(count, source)
        context.limit(self._seconds)
        self._context = context
        if self._speaks:
            self._print()

    async def _grade(self, row: Any) -> Any:
        if self._context is None:
            self._start()
        try:
            return self._read(self._answer(_input_text(row)))
        except _engine.JSException as error:
            raise self._ended(error) from None
        finally:
            if self._context is None:
                self._restart()
            if self._speaks:
                self._print()

    def _restart(self) -> None:
        """A new context, on the time of the row that ruined the last one: the next row must not pay for it."""
        # Only the host's watchdog may interrupt this: after the soft alarm, the next row would have to repeat it.
        before = signal.signal(signal.SIGALRM, signal.SIG_IGN)
        try:
            with contextlib.suppress(CheckFailed, _engine.JSException):
                self._start()
        finally:
            signal.signal(signal.SIGALRM, before)

    def _print(self) -> None:
        """Pass on what the script wrote to its console, like the printed output of a Python grader."""
        if self._context is not None and (printed := self._context.query("log")[1]):
            print(printed, end="")  # noqa: T201 (stored by the worker, up to its limit)

    def _answer(self, text: str) -> Any:
        assert self._context is not None
        answer = self._context.ask("run", text)
        return self._awaited(self._context) if answer is None else answer

    def _awaited(self, context: Context) -> Any:
        """The result of a promise; jobs run until it is available or no job remains."""
        # The engine's clock covers a single call; a promise that creates jobs without end is timed here.
        until = time.monotonic() + self._seconds
        while (answer := context.ask("box")) is None:
            if time.monotonic() > until:
                self._context = None
                raise _drive.Refused("timeout", f"timed out: no score within {self._seconds:g} s")
            if not context.more():
                raise _drive.Refused(
                    "runtime",
                    f"the promise of {self._name} never settles: the sandbox has no timers and no network",
                )
        return answer

    def _ended(self, error: BaseException) -> BaseException:
        """The error if the engine ended the script; the context is not used again."""
        self._context = None
        kind = next((kind for sign, kind in _ENDS if sign in str(error)), "runtime")
        line = _line(str(error), 0)
        place = f" (line {line})" if line else ""
        messages = {
            "timeout": f"timed out: no score within {self._seconds:g} s{place}",
            "memory": f"out of memory{place}",
        }
        return self._refused(kind, messages.get(kind) or _engine_message(error))

    def _read(self, answer: Any) -> Any:
        if type(answer) in (int, float):
            return answer
        type_, first, second, third = _parts(answer)
        if type_ == "result":
            return self._result(float(str(first)), second, third)
        if type_ == "thrown":
            raise self._thrown(first, second, third)
        rule = f"{self._name} must return a number"
        if type_ == "no score":
            raise _drive.Refused(
                "return_type", f"{self._name}: score must be a number, not {first} ({second})"
            )
        hint = "; call the function evaluate to return {score, reason}" if second == "object" else ""
        raise _drive.Refused("return_type", f"{rule}, not {_once(first, second)}{hint}")

    def _result(self, score: float, reason: str | None, extra: str | None) -> Any:
        if not math.isfinite(score):
            return score
        try:
            metadata = json.loads(extra) if extra else {}
        except (ValueError, RecursionError):
            metadata = _UNTOLD
        passed = metadata.pop("passed") if isinstance(metadata.get("passed"), bool) else None
        note = {key: value for key, value in {"reasoning": reason, "metadata": metadata}.items() if value}
        return _drive.Noted(score, note if passed is None else {**note, "passed": passed})

    def _thrown(self, name: str | None, message: str | None, stack: str | None) -> BaseException:
        line = _line(stack, 0)
        text = f"{name}: {message}" if name and message else name or message or "an error without a message"
        kind = "memory" if (name, message) == ("InternalError", "out of memory") else "runtime"
        if (name, message) == ("", "null"):
            # The engine throws null if no memory remains for an error.
            text = f"null was thrown: by the script, or because its {self._megabytes} MiB of memory ran out"
        if kind == "memory" or message == "null":
            self._context = None
        return self._refused(kind, text + (f" (line {line}){self._excerpt(line)}" if line else ""))

    def _refused(self, kind: str, message: str) -> BaseException:
        refused: BaseException = _drive.Refused(kind, message)
        return refused


def _once(text: Any, kind: Any) -> str:
    return str(text) if text == kind else f"{text} ({kind})"


def _line(stack: str | None, offset: int) -> int:
    """The first of the script's lines in a stack; 0 if there is none."""
    numbers = (int(match[1]) - offset for match in _PLACE.finditer(stack or ""))
    return next((line for line in numbers if 0 < line < _FAR), 0)


def _engine_message(error: BaseException) -> str:
    """An exception raised by the engine: its first line, and where."""
    first, _, stack = str(error).partition("\n")
    line = _line(stack, 0)
    return first[:2000] + (f" (line {line})" if line else "")


def _input_text(thread: Any) -> str:
    """The `input` of a script, as JSON."""
    value = script_input(thread)
    try:
        return _encode(value)
    except (TypeError, ValueError):
        return _encode(_jsonable(value))


def _jsonable(value: Any) -> Any:
    """The value as JSON can represent it: NaN and the infinities become null, bytes text, other keys text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, dict):
        return {str(key): _jsonable(item) for key, item in value.items()}
    return [_jsonable(item) for item in value] if isinstance(value, list | tuple) else value


def script_input(thread: Any) -> dict[str, Any]:
    """`messages`, `response`, `toolCalls`, `metadata` and the other fields of a script's input except `history`.

    `messages` is the conversation without the final assistant turn, `response` that turn's text ("" if
    there is none), `toolCalls` the calls made since the last user turn.
    """
    turns = thread.get_turns()
    answered = bool(turns) and turns[-1].role == "assistant"
    before = turns[:-1] if answered else turns
    metadata = thread.metadata
    return {
        "messages": [_message(thread, index, turn) for index, turn in enumerate(before)],
        "response": turns[-1].content if answered else "",
        "toolCalls": _signatures.answer_calls(thread),
        "metadata": metadata if isinstance(metadata, dict) else {},
        "lastUserMessage": next((turn.content for turn in reversed(turns) if turn.role == "user"), ""),
        "systemPrompt": next((turn.content for turn in turns if turn.role == "system"), ""),
        "tools": thread.tools,
    }


def _message(thread: Any, index: int, turn: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": turn.role, "content": turn.content}
    if calls := thread.turn_calls(index):
        message["tool_calls"] = [{key: v for key, v in call.items() if key != "toolUse"} for call in calls]
    answered = thread.turn_answers(index)
    return message if answered is None else {**message, "tool_call_id": answered}
