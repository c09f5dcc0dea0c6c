"""The agent judge: a model with an agent's system prompt and tools, which hands its grade in by calling one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.errors import FormatError
from workbench.grade import ErrorKind, Grade
from workbench.graders.base import kind
from workbench.judges.answers import AnswerError, number
from workbench.judges.base import as_sample, refuse_unless
from workbench.judges.client import Messages, Reply
from workbench.judges.rubric import RubricPrompt
from workbench.samples import Sample
from workbench.thread import StringThread

__all__ = ["AgentJudge"]

_SAYING = "send_message"
"""Letta's tool for speaking; it changes nothing, so the agent may go on after it."""


@kind("agent-judge")
@dataclass(frozen=True, kw_only=True)
class AgentJudge(RubricPrompt):
    """A score and rationale that an agent hands in by calling a tool.

    The agent is the content of a Letta agent file (.af): its system prompt, memory blocks, model and tools. The first
    call of the judge's tool is the grade. Other tools are offered but not run here: a call of one is a failed grade
    that names the tool.

    Attributes:
        agent: The .af file's content. It must hold one agent, and a tool named `judge_tool_name` whose source
            has the parameters `score:` and `rationale:`.
        judge_tool_name: The tool that hands the grade in.
        model: "" for the agent's own.
        max_steps: Answers the agent may give until it hands the grade in.

    With `rules="letta"` a missing score is 0.0 and any score is clamped to 0..1.

    Source: Letta Evals (`rubric` with `agent_file`).
    """

    agent: Mapping[str, Any]
    judge_tool_name: str = "submit_grade"
    model: str = ""
    max_steps: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_unless(isinstance(self.agent, Mapping), "agent must be the content of an .af file", self.agent)
        refuse_unless(
            isinstance(self.max_steps, int) and self.max_steps > 0,
            "max_steps must be above 0",
            self.max_steps,
        )
        object.__setattr__(self, "agent", dict(self.agent))
        _check_tool(self.agent, self.judge_tool_name)
        if not self.model:
            object.__setattr__(self, "model", _model(self._state()))

    def _state(self) -> Mapping[str, Any]:
        """The one agent: under `agents` in today's files, the file itself in older ones."""
        agents = self.agent.get("agents")
        if not isinstance(agents, list):
            return self.agent
        refuse_unless(
            len(agents) == 1 and isinstance(agents[0], Mapping),
            "an agent judge needs one agent",
            len(agents),
            "one",
        )
        state: Mapping[str, Any] = agents[0]
        return state

    def preview(self, sample: Sample | StringThread) -> Messages:
        """The agent's system prompt with its memory, and the question."""
        text = self.rendered(as_sample(sample), low=0.0, high=1.0, tool=self.judge_tool_name)
        state = self._state()
        parts = [str(state.get("system") or ""), *_memory(self.agent, state)]
        system = [{"role": "system", "content": "\n\n".join(filter(None, parts))}] if any(parts) else []
        return [*system, {"role": "user", "content": text}]

    def answer_format(self) -> None:
        """No format: the grade comes as a tool call."""
        return

    def asked(self) -> dict[str, Any]:
        """With the agent's tools."""
        return {**super().asked(), "tools": [_offered(tool) for tool in _tools(self.agent)]}

    async def ask(self, sample: Sample, replies: list[Reply]) -> Grade:
        """Let the agent speak until it hands its grade in."""
        messages = self.preview(sample)
        for _ in range(self.max_steps):
            reply = await self.say(messages, replies)
            if reply.refusal:
                raise AnswerError(ErrorKind.JUDGE_REFUSAL, f"the judge refused: {reply.refusal[:300]}")
            handed_in = [call for call in reply.tool_calls if _name(call) == self.judge_tool_name]
            if handed_in:
                return self.read(_arguments(handed_in[0]))
            messages = [*messages, *self._answered(reply)]
        raise AnswerError(
            ErrorKind.JUDGE_PARSE, f"no {self.judge_tool_name} call within {self.max_steps} answers"
        )

    def _answered(self, reply: Reply) -> Messages:
        """The reply and the results of its tools, or why there are none."""
        names = [_name(call) for call in reply.tool_calls]
        if not names:
            raise AnswerError(ErrorKind.JUDGE_PARSE, f"no {self.judge_tool_name} call in the agent's answer")
        if other := [name for name in names if name != _SAYING]:
            raise AnswerError(
                ErrorKind.JUDGE_PARSE,
                f"the agent called the tool {other[0]!r}, which cannot be run here"[:200],
            )
        said = {"role": "assistant", "content": reply.text, "tool_calls": reply.tool_calls}
        return [
            said,
            *({"role": "tool", "tool_call_id": call.get("id"), "content": "OK"} for call in reply.tool_calls),
        ]

    def read(self, text: str) -> Grade:
        """Score and rationale out of the call's arguments."""
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise AnswerError(
                ErrorKind.JUDGE_PARSE,
                f"{self.judge_tool_name} was called with {text[:200]!r}, no JSON object",
            )
        told = found.get("score", 0.0 if self.rules == "letta" else None)
        return Grade(number(told, self.rules), reasoning=str(found.get("rationale") or ""))

    def unread(self, error: AnswerError, replies: list[Reply]) -> Grade:
        """Failed; in Letta's words under its rules."""
        if self.rules != "letta":
            return super().unread(error, replies)
        message = f"Error during agent judge grading: {error}"
        return Grade.failed(error.kind, message, metadata={"error": str(error)})


def _tools(agent: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    tools = agent.get("tools")
    return [tool for tool in tools if isinstance(tool, Mapping)] if isinstance(tools, list) else []


def _check_tool(agent: Mapping[str, Any], name: str) -> None:
    tools = {str(tool.get("name")): tool for tool in _tools(agent)}
    if name not in tools:
        raise FormatError(
            f"the agent has no tool {name!r} to hand its grade in", found=", ".join(sorted(tools)) or "no tools",
            expected=f"def {name}(score: float, rationale: str)", hint="name another one: judge_tool_name=",
        )  # fmt: skip
    source = tools[name].get("source_code")
    written = source if isinstance(source, str) else ""
    missing = [
        part for part in ("score", "rationale") if f"{part}:" not in written and f"{part} :" not in written
    ]
    if missing:
        raise FormatError(
            f"the tool {name!r} must have the parameter {missing[0]!r}",
            found="no source code" if not written else written[:80],
            expected=f"def {name}(score: float, rationale: str)",
        )


def _model(state: Mapping[str, Any]) -> str:
    settings = state.get("llm_config")
    found = settings.get("model") if isinstance(settings, Mapping) else None
    name = found or state.get("model")
    refuse_unless(
        isinstance(name, str) and name, "the agent names no model", name or "", "llm_config.model, or model="
    )
    return str(name)


def _memory(agent: Mapping[str, Any], state: Mapping[str, Any]) -> list[str]:
    """Memory blocks as text: those the agent lists, or an older file's own."""
    blocks = agent.get("blocks") or state.get("core_memory")
    listed = state.get("block_ids")
    kept = [one for one in blocks if isinstance(one, Mapping)] if isinstance(blocks, list) else []
    if isinstance(listed, list):
        kept = [one for one in kept if one.get("id") in listed]
    return [
        f"<{one.get('label')}>\n{one.get('value')}\n</{one.get('label')}>" for one in kept if one.get("value")
    ]


def _offered(tool: Mapping[str, Any]) -> dict[str, Any]:
    schema = tool.get("json_schema")
    shape = dict(schema) if isinstance(schema, Mapping) else {}
    open_ended = {"type": "object", "properties": {}, "additionalProperties": True}
    function = {
        "name": str(tool.get("name")),
        "description": str(shape.get("description") or tool.get("description") or ""),
        "parameters": shape.get("parameters") or open_ended,
    }
    return {"type": "function", "function": function}


def _name(call: Mapping[str, Any]) -> str:
    function = call.get("function")
    return str(function.get("name")) if isinstance(function, Mapping) else ""


def _arguments(call: Mapping[str, Any]) -> str:
    function = call.get("function")
    told = function.get("arguments") if isinstance(function, Mapping) else None
    return told if isinstance(told, str) else json.dumps(told)
