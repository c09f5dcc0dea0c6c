"""Parses Letta's agent files (.af): one agent's system prompt, memory, model and tools, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.core.errors import FormatError
from workbench.judges.field_checks import refuse_unless

__all__ = ["AgentFile", "AgentTool"]

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
