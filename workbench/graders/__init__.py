"""Graders: what scores a sample. One kind a file, one base for all."""

from __future__ import annotations

import sys

from workbench.discovery import load_modules
from workbench.graders.base import KINDS, Control, Grader, from_spec, kind
from workbench.graders.combine import Combined, Entry
from workbench.graders.custom import CustomGrader
from workbench.graders.function import FunctionGrader, grader
from workbench.graders.guardrail import Guardrail
from workbench.graders.rollout import RolloutGrader
from workbench.graders.sandboxed import SandboxedGrader
from workbench.graders.script import ScriptGrader
from workbench.graders.similarity import TextSimilarity
from workbench.graders.structure import JsonKeys, JsonSchema
from workbench.graders.text import AsciiPrintable, Contains, ExactMatch, LabelSet, Length, Regex, StringCheck
from workbench.graders.tools import ToolCallMatch
from workbench.graders.turns import PerTurn

# A kind is found by being there: every module registers its own. `rules` and `portable` hold none.
load_modules(sys.modules[__name__], but=("rules", "portable"))

__all__ = [
    "KINDS",
    "AsciiPrintable",
    "Combined",
    "Contains",
    "Control",
    "CustomGrader",
    "Entry",
    "ExactMatch",
    "FunctionGrader",
    "Grader",
    "Guardrail",
    "JsonKeys",
    "JsonSchema",
    "LabelSet",
    "Length",
    "PerTurn",
    "Regex",
    "RolloutGrader",
    "SandboxedGrader",
    "ScriptGrader",
    "StringCheck",
    "TextSimilarity",
    "ToolCallMatch",
    "from_spec",
    "grader",
    "kind",
]
