"""An agent's tools, run in the sandbox: Python functions as a file or a cell has them.

A call runs in a fresh locked worker, under the limits and the rule of trust of grade functions. What the tool returns
or raises goes back to the model as text; nothing is kept from one call to the next.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from workbench.capturing import capture
from workbench.capturing.source import MAX_BYTES, Source
from workbench.errors import FormatError
from workbench.grade import ErrorKind, Grade
from workbench.graders.function import FunctionGrader
from workbench.judges.kinds.agent.agent_file import AgentFile, AgentTool
from workbench.samples import Sample
from workbench.thread import StringThread

__all__ = ["MAX_RESULT", "ToolBox", "answers", "tool_record", "tools_sha256"]

MAX_RESULT = 10_000
"""Characters of a tool's result or error that the model is told."""

MAX_CALLS = 32
"""Calls of one reply that are run; a model that wants more is told so."""

_SAYING = "send_message"
"""Letta's tool for speaking; it changes nothing, so the agent may go on after it."""

# Letta adds the first two to every tool's parameters, for itself.
_RUN = """
import inspect as _inspect
import json as _json

_SOURCE = {source}
_NAME = {name}
_LETTAS = ("request_heartbeat", "inner_thoughts", "thinking")


async def grade(sample, submission):
    from letta_evals.models import GradeResult

    space = {{"__name__": "grader"}}
    exec(compile(_SOURCE, "<grader>", "exec", dont_inherit=True), space)
    tool = space.get(_NAME)
    if not callable(tool):
        raise NameError(f"the tool's source defines no function {{_NAME}}")
    arguments = _json.loads(submission)
    taken = _inspect.signature(tool).parameters
    named = any(one.kind is one.VAR_KEYWORD for one in taken.values())
    kept = {{key: value for key, value in arguments.items() if named or key in taken or key not in _LETTAS}}
    try:
        value = tool(**kept)
        value = await value if _inspect.isawaitable(value) else value
    except Exception as error:
        return GradeResult(score=0.0, rationale=f"{{type(error).__name__}}: {{error}}"[:{limit}])
    if not isinstance(value, str):
        try:
            value = _json.dumps(value, ensure_ascii=False)
        except (TypeError, ValueError, RecursionError):
            value = str(value)
    if len(value) > {limit}:
        value = value[:{limit}] + f"... ({{len(value) - {limit}:,}} characters more)"
    return GradeResult(score=1.0, rationale=value)
"""


@dataclass(frozen=True)
class ToolBox:
    """The tools of one agent, ready to run.

    Args:
        file: The agent's.
        grade_tool: The one that hands the grade in: it is read, not run.
        timeout: Seconds a call may take.
        memory_mb: MiB of address space a call may use beyond what a worker starts with.
        kernel_only: Whether the sources are a stranger's: they run only where the kernel confines them.
    """

    file: AgentFile
    grade_tool: str
    timeout: float
    memory_mb: int
    kernel_only: bool

    def check_ready(self) -> None:
        """Refuse a stranger's tools where the machine cannot confine them.

        Raises:
            IsolationError: With the label found and the way out.
        """
        for runner in self._runners.values():
            runner.check_ready()
            return  # one answer holds for all

    async def answer(self, name: str, arguments: str) -> str:
        """What the model is told of one call of one tool: its result, or why there is none.

        Raises:
            IsolationError: A stranger's tool where nothing confines it.
        """
        if name == _SAYING:
            return "OK"
        if name not in self._tools:
            there = ", ".join(sorted(self._tools)) or "none"
            return f"Error: there is no tool {name[:80]!r}. The tools are: {there}."
        if name not in self._runners:
            why = "is too large" if self._tools[name].source.strip() else "is not in its file"
            return f"Error: the tool {name!r} cannot run here: its source {why}."
        try:
            told = json.loads(arguments or "{}", strict=False)  # models put raw line breaks into strings
        except (ValueError, RecursionError):
            told = None
        if not isinstance(told, dict):
            return f"Error: the arguments of {name!r} must be one JSON object; they were {arguments[:200]!r}."
        row = StringThread([("assistant", json.dumps(told))], {})
        return _told(name, await self._runners[name].grade_in_worker(Sample("tool", row, None, "tool")))

    @property
    def names(self) -> frozenset[str]:
        """The tools that really run here."""
        return frozenset(self._runners)

    @cached_property
    def _tools(self) -> dict[str, AgentTool]:
        return self.file.tools

    @cached_property
    def _runners(self) -> dict[str, FunctionGrader]:
        unrun = {_SAYING, self.grade_tool}
        made = {name: self._runner(tool) for name, tool in self._tools.items() if name not in unrun}
        return {name: runner for name, runner in made.items() if runner is not None}

    def _runner(self, tool: AgentTool) -> FunctionGrader | None:
        text = _RUN.format(source=repr(tool.source), name=repr(tool.name), limit=MAX_RESULT)
        if not tool.source.strip() or len(text.encode()) > MAX_BYTES:
            return None
        source = Source(text, "grade", "agent file", imported=self.kernel_only)
        return FunctionGrader(
            source=source, name=tool.name, signature="letta", timeout=self.timeout, memory_mb=self.memory_mb
        )


_WHY = {
    ErrorKind.TIMEOUT: "it took too long",
    ErrorKind.MEMORY: "it took too much memory",
    ErrorKind.CRASH: "its process ended",
}
"""For the model: the grader's words speak of scores, and of the lines around the tool's own."""


def _told(name: str, grade: Grade) -> str:
    said = grade.reasoning or ""
    if grade.error is None and grade.score == 1.0:
        return said
    why = said if grade.error is None else _WHY.get(grade.error.kind, grade.error.message)
    return f"Error: the tool {name!r} failed: {why}"[:MAX_RESULT]


async def answers(box: ToolBox, calls: list[tuple[str, str]]) -> list[str]:
    """The answers to several calls of one reply, run side by side, in their order."""
    found = await asyncio.gather(*(box.answer(name, arguments) for name, arguments in calls[:MAX_CALLS]))
    left = len(calls) - len(found)
    return [*found, *[f"Error: only {MAX_CALLS} calls of one reply are run."] * left]


def tools_sha256(file: AgentFile) -> str:
    """The hash that trust in an agent's tools is bound to: over their names and sources."""
    sources = [[tool.name, tool.source] for tool in file.tools.values()]
    return hashlib.sha256(json.dumps(sources).encode()).hexdigest()


def tool_record(fn: Callable[..., Any]) -> dict[str, Any]:
    """A function of one's own as an agent file's tool: captured, with the schema of its signature and docstring.

    Raises:
        CaptureError: Something the function reads cannot travel.
        FormatError: A parameter that no JSON object can name.
    """
    if getattr(fn, "__name__", "") == "<lambda>":
        raise FormatError(
            "a tool needs a name that the model can call",
            found="a lambda",
            expected="def name(argument: str) -> str: ...",
        )
    source = capture(fn)
    about, parameters = _docstring(fn)
    hints = get_type_hints(fn)
    properties, required = {}, []
    for name, parameter in inspect.signature(fn).parameters.items():
        if parameter.kind not in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}:
            raise FormatError(
                f"the tool {fn.__name__!r} has the parameter {parameter}",
                expected="parameters with a name each",
            )
        told = {"description": parameters[name]} if name in parameters else {}
        properties[name] = {**_schema(hints.get(name, Any)), **told}
        if parameter.default is parameter.empty:
            required.append(name)
    shape = {"type": "object", "properties": properties, "required": required}
    schema = {"name": fn.__name__, "description": about, "parameters": shape}
    # A captured function is called grade; the tool goes by its own name.
    text = source.text if fn.__name__ == "grade" else f"{source.text}\n\n{fn.__name__} = grade\n"
    return {"name": fn.__name__, "source_code": text, "source_type": "python", "json_schema": schema}


_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object", type(None): "null"}


def _schema(hint: Any) -> dict[str, Any]:
    """The JSON schema of an annotation; anything where there is none of its kind."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"enum": list(inner)}
    if origin in {Union, types.UnionType}:
        return {"anyOf": [_schema(one) for one in inner]}
    if hint in {list, tuple, set} or origin in {list, tuple, set}:
        return {"type": "array", **({"items": _schema(inner[0])} if inner else {})}
    name = _TYPES.get(origin or hint)
    return {"type": name} if name else {}


def _docstring(fn: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """What a Google docstring says of the function, and of each parameter under `Args:`."""
    about, _, rest = (inspect.getdoc(fn) or "").partition("\nArgs:\n")
    found: dict[str, str] = {}
    name = ""
    for line in rest.splitlines():
        if line.strip() and not line.startswith(" "):
            break  # the next section
        head, colon, told = line.strip().partition(":")
        if line.startswith("    ") and not line.startswith("     ") and colon:
            name = head.partition("(")[0].strip()
            found[name] = told.strip()
        elif name and line.strip():
            found[name] += f" {line.strip()}"
    return about.strip(), found
