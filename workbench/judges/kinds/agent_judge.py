"""The agent judge: a model with an agent's system prompt and tools, which submits its grade by calling one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from workbench.core.errors import FormatError, SandboxError
from workbench.core.files import read_bytes
from workbench.core.grade import ErrorKind, Grade
from workbench.core.python_text import cached_property
from workbench.core.thread import StringThread
from workbench.data.samples import Sample
from workbench.graders.arguments import HANDLING
from workbench.graders.base import as_sample, kind
from workbench.judges.kinds.agent_tools import AgentFile, ToolBox, call_tools, tool_record, tools_sha256
from workbench.judges.kinds.rubric import RubricPrompt
from workbench.judges.prompts import prompt as built_in_prompt
from workbench.judges.protocol import Messages, Reply, check_number, check_setting, refuse_unless
from workbench.judges.verdicts import AnswerError, check_complete, parse_json, score_value
from workbench.sandbox.host.program import IMPORTED_MB, IMPORTED_SECONDS

_MAX_FILE_BYTES = 16 * 2**20
"""Maximum size of an agent file. Workbench limit."""
_SUBMIT_TOOL: dict[str, Any] = {
    "name": "submit_grade",
    "source_code": 'def submit_grade(score: float, rationale: str):\n    """Hand the grade in."""\n',
    "source_type": "python",
    "json_schema": {
        "name": "submit_grade",
        "description": "Hand the grade in.",
        "parameters": {
            "type": "object",
            "properties": {
                "score": {"type": "number", "description": "0.0 (complete failure) to 1.0 (perfect)"},
                "rationale": {"type": "string", "description": "Why."},
            },
            "required": ["score", "rationale"],
        },
    },
}


@kind("agent-judge", family="judges")
@dataclass(frozen=True, kw_only=True)
class AgentJudge(RubricPrompt):
    """A score and rationale that an agent submits by calling a tool.

    The agent is the content of a Letta agent file (.af): its system prompt, memory blocks, model and tools. The first
    call of the judge's tool is the grade; its arguments are parsed, and it is not run. Other tools run in the sandbox,
    each call in a new worker, and their results are returned to the model. If a tool raises, times out, does not exist
    or has no source (as Letta's built-in tools, which work on its memory), the model gets an error text and continues;
    `send_message` returns "OK". Metadata: `tool_runs`, how many calls got a result, and `tools`, their names.

    A file's tools are *imported* source: they run only under kernel confinement, or when trusted.

    Attributes:
        agent: The .af file's content. It must contain one agent, and a tool named `judge_tool_name` whose source
            has the parameters `score:` and `rationale:`.
        judge_tool_name: The tool that submits the grade.
        model: "" for the agent's model.
        max_steps: Maximum number of replies until the agent submits the grade, up to 200.
        tool_timeout: Seconds a call of a tool may take.
        tool_memory_mb: MiB of address space that a call may use in addition to a worker's initial memory.
        imported: Whether the tools come from a file or store and so are untrusted.
        trusted_sha256: Hash of tools that may run even if the machine cannot confine them; "" for none.

    A model that replies with text, without a call, is reminded once that the grade is missing. With `platform="letta"` it
    is not reminded, a missing score is 0.0 and any score is clamped to 0..1.

    Error kinds: as `Judge`; sandbox if a tool may not run here.

    Source: Letta Evals (`rubric` with `agent_file`).
    """

    agent: Mapping[str, Any] = field(kw_only=False)
    prompt: str = ""
    judge_tool_name: str = "submit_grade"
    model: str = ""
    max_steps: int = 20
    tool_timeout: float = field(default=10.0, metadata=HANDLING)
    tool_memory_mb: int = field(default=512, metadata=HANDLING)
    imported: bool = field(default=False, compare=False, metadata=HANDLING)
    trusted_sha256: str = field(default="", compare=False, metadata=HANDLING)

    ceilings: ClassVar[Mapping[str, float]] = {
        "tool_timeout": IMPORTED_SECONDS,
        "tool_memory_mb": IMPORTED_MB,
    }
    """The maximum that a file or a store may set; see `workbench.graders.serialization.limit_imported`."""

    def __post_init__(self, prompt_path: str | os.PathLike[str] | None) -> None:
        super().__post_init__(prompt_path)
        refuse_unless(not self.examples, "an agent judge has no examples", "", "write them into its prompt")
        refuse_unless(isinstance(self.agent, Mapping), "agent must be the content of an .af file", self.agent)
        check_setting("max_steps", self.max_steps)
        check_number("tool_timeout in seconds", self.tool_timeout, above=0)
        check_number("tool_memory_mb", self.tool_memory_mb, above=0)
        object.__setattr__(self, "agent", dict(self.agent))
        self._file.check_grade_tool(self.judge_tool_name)
        if not self.model.strip():
            default = super()._default_model()
            from_file = self._file.names_model or not default
            object.__setattr__(self, "model", self._file.model if from_file else default)

    def _default_model(self) -> str:
        return ""  # `__post_init__` chooses: the agent's model has priority over the environment's

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], *, trust: bool = False, **settings: Any) -> Self:
        """The judge of an agent file.

        Args:
            path: The .af file.
            trust: Run its tools even if the machine cannot confine them. Read them first.
            settings: Other fields: `prompt` or `prompt_path`, `judge_tool_name`, ...

        Raises:
            FormatError: There is no such file, it is not JSON, or its agent cannot judge.
        """
        content = _read_json(Path(path).expanduser())
        judge = cls(agent=content, imported=True, **settings)
        return judge.trusted() if trust else judge

    @classmethod
    def with_tools(
        cls, tools: Iterable[Callable[..., Any]], *, model: str, system: str = "", **settings: Any
    ) -> Self:
        """A judge with Python functions as tools.

        Each function is captured like a grade function; the model sees its name, its docstring and the types of its
        parameters. The tool `submit_grade` is added.

        Args:
            tools: Functions with named parameters, sync or async; their results reach the model as text, or as JSON.
            model: The model to call.
            system: The system prompt.
            settings: Other fields: `prompt` or `prompt_path`, `max_steps`, `tool_timeout`, ...

        Raises:
            CaptureError: A function needs something that cannot be captured in a separate module.
        """
        agent = {
            "agents": [{"system": system, "llm_config": {"model": model}}],
            "tools": [*map(tool_record, tools), _SUBMIT_TOOL],
        }
        return cls(agent=agent, **settings)

    @property
    def _file(self) -> AgentFile:
        return AgentFile(self.agent)

    @cached_property
    def _tool_box(self) -> ToolBox:
        return ToolBox(
            self._file,
            self.judge_tool_name,
            float(self.tool_timeout),
            self.tool_memory_mb,
            self.imported and not self.trust,
        )

    @classmethod
    def imported_sha256(cls, spec: Mapping[str, Any]) -> str:
        """SHA-256 of the names and sources of the agent's tools."""
        agent = spec.get("agent")
        return tools_sha256(AgentFile(agent)) if isinstance(agent, dict) else ""

    @property
    def trust(self) -> bool:
        """Whether exactly these tools are trusted to run unconfined."""
        return self.trusted_sha256 == tools_sha256(self._file)

    def trusted(self) -> Self:
        """The same judge, whose tools may run on a machine that cannot confine them."""
        return replace(self, trusted_sha256=tools_sha256(self._file))

    def as_imported(self, *, trust: bool = False) -> Self:
        """The same judge with its tools marked as imported: they run only under kernel confinement."""
        imported = replace(self, imported=True, trusted_sha256="")
        return imported.trusted() if trust else imported

    @property
    def needs_answer(self) -> str:
        """Whether the thread must end with a completion."""
        return "turn"

    def check_ready(self) -> None:
        """See `Judge.check_ready`; also reject tools that may not run here.

        Raises:
            IsolationError: The tools are imported, and the kernel cannot confine them.
        """
        super().check_ready()
        self._tool_box.check_ready()

    def preview(self, sample: Sample | StringThread) -> Messages:
        """The agent's system prompt with its memory, and the request."""
        text = self.user_message(as_sample(sample), low=0.0, high=1.0, tool=self.judge_tool_name)
        system = self._file.system
        system_messages = [{"role": "system", "content": system}] if system else []
        return [*system_messages, {"role": "user", "content": text}]

    def answer_format(self) -> None:
        """No format: the grade is a tool call."""
        return

    def request_settings(self) -> dict[str, Any]:
        """See `Judge.request_settings`; with the agent's tools."""
        return {
            **super().request_settings(),
            "tools": [dict(tool.definition) for tool in self._file.tools.values()],
        }

    async def ask(self, sample: Sample, replies: list[Reply]) -> Grade:
        """Send requests until the agent submits its grade."""
        messages = self.preview(sample)
        reminded = bool(self.platform)  # platforms never remind
        for _ in range(self.max_steps):
            reply = await self.ask_model(messages, replies)
            check_complete(reply, self.platform)
            grade_calls = [call for call in reply.tool_calls if _name(call) == self.judge_tool_name]
            if grade_calls:
                return self._with_tool_names(self._grade_of(grade_calls), replies)
            if not reply.tool_calls and reminded:
                raise AnswerError(
                    ErrorKind.JUDGE_PARSE, f"no {self.judge_tool_name} call in the agent's reply"
                )
            reminded = reminded or not reply.tool_calls
            try:
                messages = [*messages, *await self._next_messages(reply)]
            except SandboxError as error:
                return self._with_tool_names(Grade.failed(ErrorKind.SANDBOX, str(error)), replies)
        raise AnswerError(
            ErrorKind.JUDGE_PARSE, f"no {self.judge_tool_name} call within {self.max_steps} replies"
        )

    def _grade_of(self, calls: list[dict[str, Any]]) -> Grade:
        """The grade of the first call; under the workbench's rules all calls must agree."""
        grade = self.read(_arguments(calls[0]))
        other_scores = [] if self.platform else [self.read(_arguments(call)).score for call in calls[1:]]
        different = next((score for score in other_scores if score != grade.score), None)
        if different is not None:
            raise AnswerError(
                ErrorKind.JUDGE_PARSE,
                f"the agent submitted two grades: {grade.score:g} and {different:g}",
            )
        return grade

    async def _next_messages(self, reply: Reply) -> Messages:
        """The reply and the results of its tools; after a reply without calls, a reminder to submit the grade."""
        answer: dict[str, Any] = {"role": "assistant", "content": reply.text}
        if not reply.tool_calls:
            return [
                answer,
                {"role": "user", "content": built_in_prompt("agent_nudge", tool=self.judge_tool_name)},
            ]
        calls = [(_name(call), _arguments(call)) for call in reply.tool_calls]
        results = await call_tools(self._tool_box, calls)
        return [
            {**answer, "tool_calls": reply.tool_calls},
            *(
                {"role": "tool", "tool_call_id": call.get("id"), "content": text}
                for call, text in zip(reply.tool_calls, results, strict=True)
            ),
        ]

    def _with_tool_names(self, grade: Grade, replies: list[Reply]) -> Grade:
        """The grade with the tools that were called before it in its metadata."""
        names_by_reply = [[_name(call) for call in reply.tool_calls] for reply in replies]
        # The calls of the reply with the grade got no result.
        names = [name for names in names_by_reply if self.judge_tool_name not in names for name in names]
        return replace(grade, metadata={**grade.metadata, "tool_runs": len(names), "tools": names})

    def read(self, text: str) -> Grade:
        """Score and rationale of a call's arguments."""
        arguments = parse_json(text, strict=False)  # models put raw line breaks into strings
        if not isinstance(arguments, dict):
            raise AnswerError(
                ErrorKind.JUDGE_PARSE,
                f"{self.judge_tool_name} was called with {text[:200]!r}, not a JSON object",
            )
        score = arguments.get("score", 0.0 if self.platform == "letta" else None)
        return Grade(score_value(score, self.platform), reasoning=str(arguments.get("rationale") or ""))

    def unreadable_grade(self, error: AnswerError, replies: list[Reply]) -> Grade:
        """Failed; under Letta's rules with its message."""
        grade = super().unreadable_grade(error, replies)
        if self.platform == "letta":
            message = f"Error during agent judge grading: {error}"
            grade = Grade.failed(error.kind, message, metadata={"error": str(error)})
        return self._with_tool_names(grade, replies)


def _read_json(path: Path) -> Any:
    try:
        data = read_bytes(path, FormatError, _MAX_FILE_BYTES + 1)
        if len(data) > _MAX_FILE_BYTES:
            raise FormatError(
                "the agent file is too large", where=str(path), expected=f"{_MAX_FILE_BYTES:,} bytes"
            )
        return json.loads(data.decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, FormatError):
            raise
        found = getattr(error, "strerror", None) or str(error)
        raise FormatError(
            "the agent file cannot be read",
            where=str(path),
            found=found[:200],
            expected="a JSON object (.af)",
        ) from None


def _name(call: Mapping[str, Any]) -> str:
    function = call.get("function")
    return str(function.get("name")) if isinstance(function, Mapping) else ""


def _arguments(call: Mapping[str, Any]) -> str:
    function = call.get("function")
    arguments = function.get("arguments") if isinstance(function, Mapping) else None
    return arguments if isinstance(arguments, str) else json.dumps(arguments)
