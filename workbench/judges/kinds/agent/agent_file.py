"""Letta's agent files (.af): one agent's system prompt, memory, model and tools, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.errors import FormatError
from workbench.judges.base import refuse_unless

__all__ = ["AgentFile", "AgentTool"]

_OPEN_ENDED = {"type": "object", "properties": {}, "additionalProperties": True}


@dataclass(frozen=True)
class AgentTool:
    """A tool as its file has it.

    Attributes:
        name: What the model calls it, and its function in the module.
        source: Its Python module, "" where the file holds none: then it belongs to Letta.
        offer: What the model is told of it, in OpenAI's shape.
    """

    name: str
    source: str
    offer: Mapping[str, Any]

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> AgentTool:
        """A tool out of its record."""
        name, source = record.get("name"), record.get("source_code")
        schema = record.get("json_schema")
        shape = dict(schema) if isinstance(schema, Mapping) else {}
        offer = {
            "name": str(name),
            "description": str(shape.get("description") or record.get("description") or ""),
            "parameters": shape.get("parameters") or _OPEN_ENDED,
        }
        written = source if isinstance(source, str) else ""
        return cls(str(name), written, {"type": "function", "function": offer})


@dataclass(frozen=True)
class AgentFile:
    """The content of an agent file, read without running anything of it.

    Today's files hold a list under `agents`, with tools and blocks beside it; older ones are the agent itself.

    Raises:
        FormatError: From every property: not one agent, no model.
    """

    content: Mapping[str, Any]

    @property
    def state(self) -> Mapping[str, Any]:
        """The one agent."""
        agents = self.content.get("agents")
        if not isinstance(agents, list):
            return self.content
        one = len(agents) == 1 and isinstance(agents[0], Mapping)
        refuse_unless(one, "an agent judge needs one agent", len(agents), "one")
        state: Mapping[str, Any] = agents[0]
        return state

    @property
    def tools(self) -> dict[str, AgentTool]:
        """The agent's tools by name: those it lists, or all there are where it lists none."""
        found = _mappings(self.content.get("tools"))
        listed = self.state.get("tool_ids")
        if isinstance(listed, list) and listed:
            found = [one for one in found if one.get("id") is None or one.get("id") in listed]
        return {tool.name: tool for tool in map(AgentTool.read, found)}

    @property
    def model(self) -> str:
        """The model the agent names."""
        name = self._named_model
        named = isinstance(name, str) and name
        refuse_unless(named, "the agent names no model", name or "", "llm_config.model, or model=")
        return str(name)

    @property
    def names_model(self) -> bool:
        """Whether it names one, if only one that cannot be."""
        return bool(self._named_model)

    @property
    def _named_model(self) -> object:
        settings = self.state.get("llm_config")
        found = settings.get("model") if isinstance(settings, Mapping) else None
        return found or self.state.get("model")

    @property
    def system(self) -> str:
        """The system prompt, and the memory blocks the agent lists."""
        blocks = _mappings(self.content.get("blocks") or self.state.get("core_memory"))
        listed = self.state.get("block_ids")
        if isinstance(listed, list):
            blocks = [one for one in blocks if one.get("id") in listed]
        shown = [
            f"<{one.get('label')}>\n{one.get('value')}\n</{one.get('label')}>"
            for one in blocks
            if one.get("value")
        ]
        return "\n\n".join(filter(None, [str(self.state.get("system") or ""), *shown]))

    def check_grade_tool(self, name: str) -> None:
        """Refuse a file whose tool to hand a grade in is missing, or does not take `score` and `rationale`.

        Raises:
            FormatError: With the tools there are.
        """
        expected = f"def {name}(score: float, rationale: str)"
        if name not in self.tools:
            raise FormatError(
                f"the agent has no tool {name!r} to hand its grade in",
                found=", ".join(sorted(self.tools)) or "no tools", expected=expected,
                hint="name another one: judge_tool_name=",
            )  # fmt: skip
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
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
