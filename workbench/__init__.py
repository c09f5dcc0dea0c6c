"""Grader workbench: write a grader in a cell, prove it, run it, diagnose it, export it.

The public names below load on first use, so that `import workbench` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from workbench import errors as errors
    from workbench import widgets as widgets
    from workbench.columns import Grades as Grades
    from workbench.demo import demo_samples as demo_samples
    from workbench.diagnostics import Finding as Finding
    from workbench.extractors import Extractor as Extractor
    from workbench.extractors import extractor as extractor
    from workbench.formats import convert as convert
    from workbench.formats import export as export
    from workbench.formats import load as load
    from workbench.formats import loads as loads
    from workbench.formats import save as save
    from workbench.grade import ErrorKind as ErrorKind
    from workbench.grade import Grade as Grade
    from workbench.grade import GradeError as GradeError
    from workbench.graders import AsciiPrintable as AsciiPrintable
    from workbench.graders import Combined as Combined
    from workbench.graders import Contains as Contains
    from workbench.graders import CustomGrader as CustomGrader
    from workbench.graders import ExactMatch as ExactMatch
    from workbench.graders import FunctionGrader as FunctionGrader
    from workbench.graders import Grader as Grader
    from workbench.graders import Guardrail as Guardrail
    from workbench.graders import JsonKeys as JsonKeys
    from workbench.graders import JsonSchema as JsonSchema
    from workbench.graders import LabelSet as LabelSet
    from workbench.graders import Length as Length
    from workbench.graders import PerTurn as PerTurn
    from workbench.graders import Regex as Regex
    from workbench.graders import RolloutGrader as RolloutGrader
    from workbench.graders import ScriptGrader as ScriptGrader
    from workbench.graders import StringCheck as StringCheck
    from workbench.graders import TextSimilarity as TextSimilarity
    from workbench.graders import ToolCall as ToolCall
    from workbench.graders import grader as grader
    from workbench.graders import kind as kind
    from workbench.graders.combine import AllPass as AllPass
    from workbench.graders.combine import Entry as Entry
    from workbench.graders.combine import Formula as Formula
    from workbench.graders.combine import LogicalGate as LogicalGate
    from workbench.graders.combine import Mean as Mean
    from workbench.graders.combine import SimpleGate as SimpleGate
    from workbench.graders.combine import Sum as Sum
    from workbench.graders.combine import WeightedGate as WeightedGate
    from workbench.graders.function import validate as validate
    from workbench.judges import PRICES as PRICES
    from workbench.judges import AgentJudge as AgentJudge
    from workbench.judges import AnswerRelevancy as AnswerRelevancy
    from workbench.judges import BinaryJudge as BinaryJudge
    from workbench.judges import Budget as Budget
    from workbench.judges import ContextRelevancy as ContextRelevancy
    from workbench.judges import CriteriaJudge as CriteriaJudge
    from workbench.judges import Endpoint as Endpoint
    from workbench.judges import Faithfulness as Faithfulness
    from workbench.judges import GuardrailJudge as GuardrailJudge
    from workbench.judges import LabelModel as LabelModel
    from workbench.judges import OpenAIClient as OpenAIClient
    from workbench.judges import PairwiseJudge as PairwiseJudge
    from workbench.judges import Price as Price
    from workbench.judges import RubricJudge as RubricJudge
    from workbench.judges import SchemaJudge as SchemaJudge
    from workbench.judges import ScoreModel as ScoreModel
    from workbench.judges import ScriptedClient as ScriptedClient
    from workbench.plots import plot_scores as plot_scores
    from workbench.report import Report as Report
    from workbench.report.agreement import agreement as agreement
    from workbench.report.compare import compare as compare
    from workbench.samples import Sample as Sample
    from workbench.samples import Samples as Samples
    from workbench.samples import read_samples as read_samples
    from workbench.sandbox.capture import capture as capture
    from workbench.sandbox.info import sandbox_info as sandbox_info
    from workbench.sandbox.source import Source as Source
    from workbench.sandbox.validate import Validation as Validation
    from workbench.store import Store as Store
    from workbench.store import StoreError as StoreError
    from workbench.store import open_store as open_store
    from workbench.suite import Suite as Suite
    from workbench.thread import StringThread as StringThread
    from workbench.widgets.app import Workbench as Workbench

__version__ = "0.1.0"

_HOMES = {
    "agreement": "report.agreement",
    "compare": "report.compare",
    "StoreError": "store",
    "open_store": "store",
    "Store": "store",
    "PairwiseJudge": "judges",
    "PRICES": "judges",
    "Price": "judges",
    "Budget": "judges",
    "ScriptedClient": "judges",
    "ScoreModel": "judges",
    "SchemaJudge": "judges",
    "RubricJudge": "judges",
    "OpenAIClient": "judges",
    "LabelModel": "judges",
    "GuardrailJudge": "judges",
    "Faithfulness": "judges",
    "Endpoint": "judges",
    "CriteriaJudge": "judges",
    "ContextRelevancy": "judges",
    "BinaryJudge": "judges",
    "AnswerRelevancy": "judges",
    "AgentJudge": "judges",
    "ToolCall": "graders",
    "TextSimilarity": "graders",
    "StringCheck": "graders",
    "ScriptGrader": "graders",
    "RolloutGrader": "graders",
    "Regex": "graders",
    "PerTurn": "graders",
    "Length": "graders",
    "LabelSet": "graders",
    "JsonSchema": "graders",
    "JsonKeys": "graders",
    "Guardrail": "graders",
    "ExactMatch": "graders",
    "CustomGrader": "graders",
    "Contains": "graders",
    "AsciiPrintable": "graders",
    "loads": "formats",
    "export": "formats",
    "convert": "formats",
    "extractor": "extractors",
    "Extractor": "extractors",
    "LogicalGate": "graders.combine",
    "WeightedGate": "graders.combine",
    "SimpleGate": "graders.combine",
    "Sum": "graders.combine",
    "Mean": "graders.combine",
    "Formula": "graders.combine",
    "AllPass": "graders.combine",
    "Entry": "graders.combine",
    "Combined": "graders",
    "ErrorKind": "grade",
    "Finding": "diagnostics",
    "FunctionGrader": "graders",
    "Grade": "grade",
    "GradeError": "grade",
    "Grader": "graders",
    "Grades": "columns",
    "Report": "report",
    "Sample": "samples",
    "Samples": "samples",
    "Source": "sandbox.source",
    "StringThread": "thread",
    "Suite": "suite",
    "Validation": "sandbox.validate",
    "capture": "sandbox.capture",
    "demo_samples": "demo",
    "errors": "",
    "grader": "graders",
    "kind": "graders",
    "load": "formats",
    "plot_scores": "plots",
    "read_samples": "samples",
    "sandbox_info": "sandbox.info",
    "save": "formats",
    "validate": "graders.function",
    "widgets": "",
    "Workbench": "widgets.app",
}

__all__ = [
    "PRICES",
    "AgentJudge",
    "AllPass",
    "AnswerRelevancy",
    "AsciiPrintable",
    "BinaryJudge",
    "Budget",
    "Combined",
    "Contains",
    "ContextRelevancy",
    "CriteriaJudge",
    "CustomGrader",
    "Endpoint",
    "Entry",
    "ErrorKind",
    "ExactMatch",
    "Extractor",
    "Faithfulness",
    "Finding",
    "Formula",
    "FunctionGrader",
    "Grade",
    "GradeError",
    "Grader",
    "Grades",
    "Guardrail",
    "GuardrailJudge",
    "JsonKeys",
    "JsonSchema",
    "LabelModel",
    "LabelSet",
    "Length",
    "LogicalGate",
    "Mean",
    "OpenAIClient",
    "PairwiseJudge",
    "PerTurn",
    "Price",
    "Regex",
    "Report",
    "RolloutGrader",
    "RubricJudge",
    "Sample",
    "Samples",
    "SchemaJudge",
    "ScoreModel",
    "ScriptGrader",
    "ScriptedClient",
    "SimpleGate",
    "Source",
    "Store",
    "StoreError",
    "StringCheck",
    "StringThread",
    "Suite",
    "Sum",
    "TextSimilarity",
    "ToolCall",
    "Validation",
    "WeightedGate",
    "Workbench",
    "agreement",
    "capture",
    "compare",
    "convert",
    "demo_samples",
    "errors",
    "export",
    "extractor",
    "grader",
    "kind",
    "load",
    "loads",
    "open_store",
    "plot_scores",
    "read_samples",
    "sandbox_info",
    "save",
    "validate",
    "widgets",
]


def __getattr__(name: str) -> Any:
    """Load a public name, or a module of ours such as `wb.errors`, when it is first asked for."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'workbench' has no attribute {name!r}")
    if not home:
        return importlib.import_module(f"workbench.{name}")
    value = getattr(importlib.import_module(f"workbench.{home}"), name)
    globals()[name] = value
    return value


def load_ipython_extension(shell: InteractiveShell) -> None:
    """`%load_ext workbench`: registers `%%grader`."""
    from workbench.widgets.magics import load as load_magics

    load_magics(shell)


def __dir__() -> list[str]:
    """The public names, for tab completion."""
    return sorted({*globals(), *__all__})
