"""The agent judge: a model with an agent's system prompt and tools, which hands its grade in by calling one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

from workbench.errors import FormatError, SandboxError
from workbench.grade import ErrorKind, Grade
from workbench.graders.base import kind
from workbench.judges.answers.verdicts import AnswerError, loaded, number
from workbench.judges.asking.settings import check_setting
from workbench.judges.base import as_sample, check_number, refuse_unless
from workbench.judges.kinds.agent.agent_file import AgentFile
from workbench.judges.kinds.agent.tools import ToolBox, answers, tool_record, tools_sha256
from workbench.judges.kinds.rubric import RubricPrompt
from workbench.judges.prompts.files import prompt as built_in
from workbench.judges.protocol import Messages, Reply
from workbench.samples import Sample
from workbench.sandbox.host.limits import IMPORTED_MB, IMPORTED_SECONDS
from workbench.thread import StringThread

__all__ = ["AgentJudge"]

_MAX_FILE = 16 * 2**20
_SUBMIT: dict[str, Any] = {
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


@kind("agent-judge")
@dataclass(frozen=True, kw_only=True)
class AgentJudge(RubricPrompt):
    """A score and rationale that an agent hands in by calling a tool.

    The agent is the content of a Letta agent file (.af): its system prompt, memory blocks, model and tools. The first
    call of the judge's tool is the grade; it is read, not run. Other tools run in the sandbox, each call in a fresh
    worker, and what they return goes back to the model. A tool that raises, takes too long, does not exist or has no
    source (Letta's own, which work on its memory) answers the model with an error text, and the agent goes on;
    `send_message` is answered "OK". Metadata: `tool_runs`, how many calls were answered, and `tools`, their names.

    A file's tools are *imported* source: they run only where the kernel confines them, or when trusted.

    Attributes:
        agent: The .af file's content. It must hold one agent, and a tool named `judge_tool_name` whose source
            has the parameters `score:` and `rationale:`.
        judge_tool_name: The tool that hands the grade in.
        model: "" for the agent's own.
        max_steps: Answers the agent may give until it hands the grade in, 200 at most.
        tool_timeout: Seconds a call of a tool may take.
        tool_memory_mb: MiB of address space beyond what a worker starts with, for a call.
        imported: Whether the tools are somebody else's.
        trusted_sha256: Hash of tools that may run even where the machine cannot confine them; "" for none.

    An answer in text is told once that the grade is missing. With `rules="letta"` it is not, a missing score is 0.0
    and any score is clamped to 0..1.

    Error kinds: as `Judge`; sandbox where a tool may not run here.

    Source: Letta Evals (`rubric` with `agent_file`).
    """

    agent: Mapping[str, Any] = field(kw_only=False)
    prompt: str = ""
    judge_tool_name: str = "submit_grade"
    model: str = ""
    max_steps: int = 20
    tool_timeout: float = 10.0
    tool_memory_mb: int = 512
    imported: bool = field(default=False, compare=False)
    trusted_sha256: str = field(default="", compare=False)

    ceilings: ClassVar[Mapping[str, float]] = {
        "tool_timeout": IMPORTED_SECONDS,
        "tool_memory_mb": IMPORTED_MB,
    }
    """The most that a file or a store may set; see `workbench.serialization.held`."""

    def __post_init__(self, prompt_path: str | os.PathLike[str] | None) -> None:
        super().__post_init__(prompt_path)
        refuse_unless(isinstance(self.agent, Mapping), "agent must be the content of an .af file", self.agent)
        check_setting("max_steps", self.max_steps)
        check_number("tool_timeout in seconds", self.tool_timeout, above=0)
        check_number("tool_memory_mb", self.tool_memory_mb, above=0)
        object.__setattr__(self, "agent", dict(self.agent))
        self._file.check_grade_tool(self.judge_tool_name)
        if not self.model.strip():
            named = self._file.names_model or not super()._default_model()
            object.__setattr__(self, "model", self._file.model if named else super()._default_model())

    def _default_model(self) -> str:
        return ""  # the agent's own goes before the environment's

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], *, trust: bool = False, **settings: Any) -> Self:
        """The judge of an agent file.

        Args:
            path: The .af file.
            trust: Run its tools even where the machine cannot confine them. Read them first.
            settings: Other fields: `prompt` or `prompt_path`, `judge_tool_name`, ...

        Raises:
            FormatError: No such file, no JSON, or an agent that cannot judge.
        """
        content = _read_json(Path(path).expanduser())
        made = cls(agent=content, imported=True, **settings)
        return made.trusted() if trust else made

    @classmethod
    def with_tools(
        cls, tools: Iterable[Callable[..., Any]], *, model: str, system: str = "", **settings: Any
    ) -> Self:
        """A judge of one's own, with Python functions as tools.

        A function is captured as a grade function is; the model sees its name, its docstring and the types of its
        parameters. `submit_grade` is added.

        Args:
            tools: Functions of named parameters, sync or async; what they return is shown as text, or as JSON.
            model: Which model is asked.
            system: The system prompt.
            settings: Other fields: `prompt` or `prompt_path`, `max_steps`, `tool_timeout`, ...

        Raises:
            CaptureError: A function that cannot travel.
        """
        agent = {
            "agents": [{"system": system, "llm_config": {"model": model}}],
            "tools": [*map(tool_record, tools), _SUBMIT],
        }
        return cls(agent=agent, **settings)

    @property
    def _file(self) -> AgentFile:
        return AgentFile(self.agent)

    @cached_property
    def _box(self) -> ToolBox:
        return ToolBox(
            self._file,
            self.judge_tool_name,
            float(self.tool_timeout),
            self.tool_memory_mb,
            self.imported and not self.trust,
        )

    @property
    def trust(self) -> bool:
        """Whether these very tools were trusted to run unconfined."""
        return self.trusted_sha256 == tools_sha256(self._file)

    def trusted(self) -> Self:
        """The same judge, whose tools may run where the machine cannot confine them."""
        return replace(self, trusted_sha256=tools_sha256(self._file))

    def as_imported(self, *, trust: bool = False) -> Self:
        """The same judge with its tools as somebody else's: they run only where the kernel confines them."""
        marked = replace(self, imported=True, trusted_sha256="")
        return marked.trusted() if trust else marked

    def check_ready(self) -> None:
        """Raise what would end a run before its first row: no key, or tools that may not run here.

        Raises:
            IsolationError: Imported tools where the kernel confines nothing.
        """
        super().check_ready()
        self._box.check_ready()

    def preview(self, sample: Sample | StringThread) -> Messages:
        """The agent's system prompt with its memory, and the question."""
        text = self.rendered(as_sample(sample), low=0.0, high=1.0, tool=self.judge_tool_name)
        told = self._file.system
        system = [{"role": "system", "content": told}] if told else []
        return [*system, {"role": "user", "content": text}]

    def answer_format(self) -> None:
        """No format: the grade comes as a tool call."""
        return

    def asked(self) -> dict[str, Any]:
        """With the agent's tools."""
        return {**super().asked(), "tools": [dict(tool.offer) for tool in self._file.tools.values()]}

    async def ask(self, sample: Sample, replies: list[Reply]) -> Grade:
        """Let the agent speak until it hands its grade in."""
        messages, nudged = self.preview(sample), bool(self.rules)
        for _ in range(self.max_steps):
            reply = await self.say(messages, replies)
            self._check(reply)
            handed_in = [call for call in reply.tool_calls if _name(call) == self.judge_tool_name]
            if handed_in:
                return self._noted(self._handed_in(handed_in), replies)
            if not reply.tool_calls and nudged:
                raise AnswerError(
                    ErrorKind.JUDGE_PARSE, f"no {self.judge_tool_name} call in the agent's answer"
                )
            nudged = nudged or not reply.tool_calls
            try:
                messages = [*messages, *await self._answered(reply)]
            except SandboxError as error:
                return self._noted(Grade.failed(ErrorKind.SANDBOX, str(error)), replies)
        raise AnswerError(
            ErrorKind.JUDGE_PARSE, f"no {self.judge_tool_name} call within {self.max_steps} answers"
        )

    def _handed_in(self, calls: list[dict[str, Any]]) -> Grade:
        """The grade of a reply's calls: the first one's; under our own rules all must agree."""
        grade = self.read(_arguments(calls[0]))
        others = [] if self.rules else [self.read(_arguments(call)).score for call in calls[1:]]
        different = next((score for score in others if score != grade.score), None)
        if different is not None:
            raise AnswerError(
                ErrorKind.JUDGE_PARSE,
                f"the agent handed in two grades: {grade.score:g} and {different:g}",
            )
        return grade

    def _check(self, reply: Reply) -> None:
        """Refuse an answer that is no step: a refusal, and under our own rules one that was cut short."""
        if reply.refusal:
            raise AnswerError(ErrorKind.JUDGE_REFUSAL, f"the judge refused: {reply.refusal[:300]}")
        if reply.finish_reason == "length" and not self.rules:
            raise AnswerError(ErrorKind.JUDGE_CUT, "the judge's answer was cut short; raise max_tokens")

    async def _answered(self, reply: Reply) -> Messages:
        """The reply and the results of its tools; for one without calls, what is missing."""
        said: dict[str, Any] = {"role": "assistant", "content": reply.text}
        if not reply.tool_calls:
            return [said, {"role": "user", "content": built_in("agent_nudge", tool=self.judge_tool_name)}]
        calls = [(_name(call), _arguments(call)) for call in reply.tool_calls]
        found = await answers(self._box, calls)
        return [
            {**said, "tool_calls": reply.tool_calls},
            *(
                {"role": "tool", "tool_call_id": call.get("id"), "content": text}
                for call, text in zip(reply.tool_calls, found, strict=True)
            ),
        ]

    def _noted(self, grade: Grade, replies: list[Reply]) -> Grade:
        """The grade with the tools that were called on the way to it."""
        called = [[_name(call) for call in reply.tool_calls] for reply in replies]
        names = [name for step in called if self.judge_tool_name not in step for name in step]
        return replace(grade, metadata={**grade.metadata, "tool_runs": len(names), "tools": names})

    def read(self, text: str) -> Grade:
        """Score and rationale out of the call's arguments."""
        found = loaded(text, strict=False)  # models put raw line breaks into strings
        if not isinstance(found, dict):
            raise AnswerError(
                ErrorKind.JUDGE_PARSE,
                f"{self.judge_tool_name} was called with {text[:200]!r}, no JSON object",
            )
        told = found.get("score", 0.0 if self.rules == "letta" else None)
        return Grade(number(told, self.rules), reasoning=str(found.get("rationale") or ""))

    def unread(self, error: AnswerError, replies: list[Reply]) -> Grade:
        """Failed; in Letta's words under its rules."""
        grade = super().unread(error, replies)
        if self.rules == "letta":
            message = f"Error during agent judge grading: {error}"
            grade = Grade.failed(error.kind, message, metadata={"error": str(error)})
        return self._noted(grade, replies)


def _read_json(path: Path) -> Any:
    try:
        if path.stat().st_size > _MAX_FILE:
            raise FormatError("the agent file is too large", where=str(path), expected=f"{_MAX_FILE:,} bytes")
        return json.loads(path.read_text("utf-8-sig"))
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
    told = function.get("arguments") if isinstance(function, Mapping) else None
    return told if isinstance(told, str) else json.dumps(told)
