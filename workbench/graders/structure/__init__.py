"""Graders of structure: JSON, tool calls, guardrails."""

from __future__ import annotations

from workbench.graders.structure.guardrail import Guardrail
from workbench.graders.structure.json import JsonKeys, JsonSchema
from workbench.graders.structure.tool_call import ToolCallMatch

__all__ = ["Guardrail", "JsonKeys", "JsonSchema", "ToolCallMatch"]
