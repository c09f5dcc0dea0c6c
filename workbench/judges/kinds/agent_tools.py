"""An agent's file and its tools: Python functions of the file or of a notebook cell, run in the sandbox.

A call runs in a new sandboxed worker, under the same limits and rules of trust as a grade function. What the function
returns or raises is sent to the model as text; no state is shared between calls.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind, Grade
from workbench.core.python_text import cached_property
from workbench.core.thread import StringThread
from workbench.data.samples import Sample
from workbench.graders.capture import capture
from workbench.graders.capture.source import MAX_BYTES, Source
from workbench.graders.code.function import FunctionGrader
from workbench.judges.protocol import refuse_unless

_ANY_ARGUMENTS = {"type": "object", "properties": {}, "additionalProperties": True}


@dataclass(frozen=True)
class AgentTool:
    """A tool in an agent file.

    Attributes:
        name: The name by which the model calls it, and of its function in the module.
        source: Its Python module; "" for a built-in tool of Letta, whose file contains none.
        definition: The tool as the model sees it, in OpenAI's format.
    """

    name: str
    source: str
    definition: Mapping[str, Any]

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> AgentTool:
        """The tool of a record in an agent file."""
        name, source = record.get("name"), record.get("source_code")
        schema = record.get("json_schema")
        fields = dict(schema) if isinstance(schema, Mapping) else {}
        function = {
            "name": str(name),
            "description": str(fields.get("description") or record.get("description") or ""),
            "parameters": fields.get("parameters") or _ANY_ARGUMENTS,
        }
        module = source if isinstance(source, str) else ""
        return cls(str(name), module, {"type": "function", "function": function})


@dataclass(frozen=True)
class AgentFile:
    """The content of an agent file, parsed without running any of its code.

    Current files have a list under `agents`, and tools and memory blocks next to it; older files are the agent itself.

    Raises:
        FormatError: From the properties: there is not exactly one agent, or it names no model.
    """

    content: Mapping[str, Any]

    @property
    def state(self) -> Mapping[str, Any]:
        """The record of the agent."""
        agents = self.content.get("agents")
        if not isinstance(agents, list):
            return self.content
        is_single = len(agents) == 1 and isinstance(agents[0], Mapping)
        refuse_unless(is_single, "an agent judge needs exactly one agent", len(agents), "one")
        state: Mapping[str, Any] = agents[0]
        return state

    @property
    def tools(self) -> dict[str, AgentTool]:
        """The agent's tools by name: those it lists, or all of the file if it lists none."""
        records = _mappings(self.content.get("tools"))
        listed = self.state.get("tool_ids")
        if isinstance(listed, list) and listed:
            records = [record for record in records if record.get("id") is None or record.get("id") in listed]
        return {tool.name: tool for tool in map(AgentTool.read, records)}

    @property
    def model(self) -> str:
        """The agent's model."""
        name = self._model_value
        is_name = isinstance(name, str) and name
        refuse_unless(is_name, "the agent names no model", name or "", "llm_config.model, or model=")
        return str(name)

    @property
    def names_model(self) -> bool:
        """Whether the file has a value for the model, valid or not."""
        return bool(self._model_value)

    @property
    def _model_value(self) -> object:
        settings = self.state.get("llm_config")
        model = settings.get("model") if isinstance(settings, Mapping) else None
        return model or self.state.get("model")

    @property
    def system(self) -> str:
        """The system prompt, and the memory blocks the agent lists."""
        blocks = _mappings(self.content.get("blocks") or self.state.get("core_memory"))
        listed = self.state.get("block_ids")
        if isinstance(listed, list):
            blocks = [block for block in blocks if block.get("id") in listed]
        sections = [
            f"<{block.get('label')}>\n{block.get('value')}\n</{block.get('label')}>"
            for block in blocks
            if block.get("value")
        ]
        return "\n\n".join(filter(None, [str(self.state.get("system") or ""), *sections]))

    def check_grade_tool(self, name: str) -> None:
        """Reject a file whose tool for submitting the grade is missing, or does not take `score` and `rationale`.

        Raises:
            FormatError: It names the tools of the file.
        """
        expected = f"def {name}(score: float, rationale: str)"
        if name not in self.tools:
            raise FormatError(
                f"the agent has no tool {name!r} to submit its grade with",
                found=", ".join(sorted(self.tools)) or "no tools", expected=expected,
                hint="name another one: judge_tool_name=",
            )  # fmt: skip
        # By the text alone: untrusted source is parsed only in the sandbox.
        source = self.tools[name].source
        missing = [
            part for part in ("score", "rationale") if f"{part}:" not in source and f"{part} :" not in source
        ]
        if missing:
            raise FormatError(
                f"the tool {name!r} must have the parameter {missing[0]!r}",
                found=source[:80] or "no source code",
                expected=expected,
            )


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


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
