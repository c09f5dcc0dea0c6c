"""Runs an agent's tools in the sandbox: Python functions of an agent file or a notebook cell.

A call runs in a new sandboxed worker, under the same limits and rules of trust as a grade function. What the tool
returns or raises is sent to the model as text; no state is shared between calls.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from workbench.core.cached import cached_property
from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind, Grade
from workbench.core.thread import StringThread
from workbench.data.samples import Sample
from workbench.graders.capture import capture
from workbench.graders.capture.source import MAX_BYTES, Source
from workbench.graders.code.function import FunctionGrader
from workbench.judges.kinds.agent.agent_file import AgentFile, AgentTool

__all__ = ["MAX_CALLS", "MAX_RESULT", "ToolBox", "call_tools", "tool_record", "tools_sha256"]

MAX_RESULT = 10_000
"""Maximum characters of a tool's result or error that the model gets. Workbench limit."""

MAX_CALLS = 32
"""Maximum tool calls of one reply that are run; the others get an error. Workbench limit."""

_SEND_MESSAGE = "send_message"
"""Letta's tool for messages to the user. It has no effect here, so it returns without being run."""

# A tool runs as a grade function: its call's arguments are the submission, and the rationale contains its result.
# `_LETTAS` are parameters that Letta adds to tools for its own use, so most functions do not take them.
_RUNNER_TEMPLATE = """
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
    parameters = _inspect.signature(tool).parameters
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    arguments = {{
        key: value
        for key, value in arguments.items()
        if takes_any or key in parameters or key not in _LETTAS
    }}
    try:
        value = tool(**arguments)
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
        file: The agent's file.
        grade_tool: The tool that submits the grade: its call is parsed, not run.
        timeout: Seconds a call may take.
        memory_mb: MiB of address space that a call may use in addition to a worker's initial memory.
        kernel_only: Whether the sources are untrusted: they run only under kernel confinement.
    """

    file: AgentFile
    grade_tool: str
    timeout: float
    memory_mb: int
    kernel_only: bool

    def check_ready(self) -> None:
        """Reject imported tools if the kernel cannot confine them.

        Raises:
            IsolationError: It names the isolation level of this machine, and what to do.
        """
        for runner in self._runners.values():
            runner.check_ready()
            return  # the result is the same for all

    async def call(self, name: str, arguments: str) -> str:
        """The result of one call of a tool as text for the model, or why there is none.

        Args:
            name: The tool's name.
            arguments: A JSON object.

        Raises:
            IsolationError: The tool is imported, and nothing confines it.
        """
        if name == _SEND_MESSAGE:
            return "OK"
        if name not in self._tools:
            names = ", ".join(sorted(self._tools)) or "none"
            return f"Error: there is no tool {name[:80]!r}. The tools are: {names}."
        if name not in self._runners:
            problem = "is too large" if self._tools[name].source.strip() else "is not in its file"
            return f"Error: the tool {name!r} cannot run here: its source {problem}."
        try:
            values = json.loads(arguments or "{}", strict=False)  # models put raw line breaks into strings
        except (ValueError, RecursionError):
            values = None
        if not isinstance(values, dict):
            return f"Error: the arguments of {name!r} must be one JSON object; they were {arguments[:200]!r}."
        row = StringThread([("assistant", json.dumps(values))], {})
        return _result_text(
            name, await self._runners[name].grade_in_worker(Sample("tool", row, None, "tool"))
        )

    @property
    def names(self) -> frozenset[str]:
        """The tools that can be run."""
        return frozenset(self._runners)

    @cached_property
    def _tools(self) -> dict[str, AgentTool]:
        return self.file.tools

    @cached_property
    def _runners(self) -> dict[str, FunctionGrader]:
        not_run = {_SEND_MESSAGE, self.grade_tool}
        runners = {name: self._runner(tool) for name, tool in self._tools.items() if name not in not_run}
        return {name: runner for name, runner in runners.items() if runner is not None}

    def _runner(self, tool: AgentTool) -> FunctionGrader | None:
        text = _RUNNER_TEMPLATE.format(source=repr(tool.source), name=repr(tool.name), limit=MAX_RESULT)
        if not tool.source.strip() or len(text.encode()) > MAX_BYTES:
            return None
        source = Source(text, "grade", "agent file", imported=self.kernel_only)
        return FunctionGrader(
            source=source, name=tool.name, signature="letta", timeout=self.timeout, memory_mb=self.memory_mb
        )


_ERROR_TEXTS = {
    ErrorKind.TIMEOUT: "it took too long",
    ErrorKind.MEMORY: "it took too much memory",
    ErrorKind.CRASH: "its process ended",
}
"""Texts for the model, instead of the grader's messages, which are about scores and the runner's lines."""


def _result_text(name: str, grade: Grade) -> str:
    text = grade.reasoning or ""
    if grade.error is None and grade.score == 1.0:
        return text
    reason = text if grade.error is None else _ERROR_TEXTS.get(grade.error.kind, grade.error.message)
    return f"Error: the tool {name!r} failed: {reason}"[:MAX_RESULT]


async def call_tools(tool_box: ToolBox, calls: list[tuple[str, str]]) -> list[str]:
    """The results of all calls of one reply, given as (name, arguments), in their order; run concurrently."""
    results = await asyncio.gather(*(tool_box.call(name, arguments) for name, arguments in calls[:MAX_CALLS]))
    not_run = len(calls) - len(results)
    return [*results, *[f"Error: only {MAX_CALLS} calls of one reply are run."] * not_run]


def tools_sha256(file: AgentFile) -> str:
    """Hash of the names and sources of an agent's tools, to which trust is bound."""
    sources = [[tool.name, tool.source] for tool in file.tools.values()]
    return hashlib.sha256(json.dumps(sources).encode()).hexdigest()


def tool_record(fn: Callable[..., Any]) -> dict[str, Any]:
    """A Python function as a tool's record in an agent file: captured, with a schema of its signature and docstring.

    Raises:
        CaptureError: The function reads something that cannot be captured in a separate module.
        FormatError: It is a lambda, or a parameter cannot be passed by name.
    """
    if getattr(fn, "__name__", "") == "<lambda>":
        raise FormatError(
            "a tool needs a name that the model can call",
            found="a lambda",
            expected="def name(argument: str) -> str: ...",
        )
    source = capture(fn)
    summary, descriptions = _parse_docstring(fn)
    hints = get_type_hints(fn)
    properties, required = {}, []
    for name, parameter in inspect.signature(fn).parameters.items():
        if parameter.kind not in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}:
            raise FormatError(
                f"the tool {fn.__name__!r} has the parameter {parameter}",
                expected="parameters with a name each",
            )
        description = {"description": descriptions[name]} if name in descriptions else {}
        properties[name] = {**_schema(hints.get(name, Any)), **description}
        if parameter.default is parameter.empty:
            required.append(name)
    parameters = {"type": "object", "properties": properties, "required": required}
    schema = {"name": fn.__name__, "description": summary, "parameters": parameters}
    # Capturing renames the function to `grade`; the model calls the tool by its own name.
    text = source.text if fn.__name__ == "grade" else f"{source.text}\n\n{fn.__name__} = grade\n"
    return {"name": fn.__name__, "source_code": text, "source_type": "python", "json_schema": schema}


_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object", type(None): "null"}


def _schema(hint: Any) -> dict[str, Any]:
    """The JSON schema of a type annotation; one that allows anything for other annotations."""
    origin, type_args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"enum": list(type_args)}
    if origin in {Union, types.UnionType}:
        return {"anyOf": [_schema(member) for member in type_args]}
    if hint in {list, tuple, set} or origin in {list, tuple, set}:
        return {"type": "array", **({"items": _schema(type_args[0])} if type_args else {})}
    name = _TYPES.get(origin or hint)
    return {"type": name} if name else {}


def _parse_docstring(fn: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """The text of a Google-style docstring, and its descriptions of the parameters under `Args:`."""
    summary, _, sections = (inspect.getdoc(fn) or "").partition("\nArgs:\n")
    descriptions: dict[str, str] = {}
    name = ""
    for line in sections.splitlines():
        if line.strip() and not line.startswith(" "):
            break  # the next section
        head, colon, description = line.strip().partition(":")
        if line.startswith("    ") and not line.startswith("     ") and colon:
            name = head.partition("(")[0].strip()  # without a type, as in "name (str): ..."
            descriptions[name] = description.strip()
        elif name and line.strip():
            descriptions[name] += f" {line.strip()}"
    return summary.strip(), descriptions
