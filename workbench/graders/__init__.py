"""Graders: objects that score a sample, with one base class for all."""

from __future__ import annotations

import sys

from workbench.core.discovery import load_modules
from workbench.graders.base import KINDS, Grader, from_spec, kind
from workbench.graders.code import SandboxedGrader
from workbench.graders.code.code_tests import CodeTests
from workbench.graders.code.custom import CustomGrader
from workbench.graders.code.function import FunctionGrader, grader
from workbench.graders.code.rollout import RolloutGrader
from workbench.graders.code.script import ScriptGrader
from workbench.graders.code.sql_result import SqlResult
from workbench.graders.combine import Combined, Entry, PerTurn
from workbench.graders.concurrent_rows import Control
from workbench.graders.measures import Citations, Language, LatencyCostTokens, Repetition
from workbench.graders.structure import Guardrail, JsonKeys, JsonSchema, ToolCallMatch
from workbench.graders.structure.json_match import JsonMatch
from workbench.graders.structure.tool_calls import ToolCalls
from workbench.graders.structure.well_formed import WellFormed
from workbench.graders.text import AsciiPrintable, Contains, ExactMatch, LabelSet, Length, Regex
from workbench.graders.text.openai_text import StringCheck, TextSimilarity
from workbench.graders.values import Choice, ListMatch, Number, SetMatch, TokenF1
from workbench.graders.values.math_equal import MathEqual

# Kinds are found by import: every module registers its kind. `rules` and `portable` contain none.
load_modules(sys.modules[__name__], exclude=("rules", "portable"))

__all__ = [
    "KINDS",
    "AsciiPrintable",
    "Choice",
    "Citations",
    "CodeTests",
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
    "JsonMatch",
    "JsonSchema",
    "LabelSet",
    "Language",
    "LatencyCostTokens",
    "Length",
    "ListMatch",
    "MathEqual",
    "Number",
    "PerTurn",
    "Regex",
    "Repetition",
    "RolloutGrader",
    "SandboxedGrader",
    "ScriptGrader",
    "SetMatch",
    "SqlResult",
    "StringCheck",
    "TextSimilarity",
    "TokenF1",
    "ToolCallMatch",
    "ToolCalls",
    "WellFormed",
    "from_spec",
    "grader",
    "kind",
]
