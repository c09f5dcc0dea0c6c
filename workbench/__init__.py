"""Grader workbench: write a grader in a cell, prove it, run it, diagnose it, export it.

The public names below load on first use, so that `import workbench` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from workbench import errors as errors
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
    from workbench.graders import Combined as Combined
    from workbench.graders import FunctionGrader as FunctionGrader
    from workbench.graders import Grader as Grader
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
    from workbench.plots import plot_scores as plot_scores
    from workbench.report import Report as Report
    from workbench.samples import Sample as Sample
    from workbench.samples import Samples as Samples
    from workbench.samples import read_samples as read_samples
    from workbench.sandbox.capture import capture as capture
    from workbench.sandbox.info import sandbox_info as sandbox_info
    from workbench.sandbox.source import Source as Source
    from workbench.sandbox.validate import Validation as Validation
    from workbench.suite import Suite as Suite
    from workbench.thread import StringThread as StringThread

__version__ = "0.1.0"

_HOMES = {
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
}

__all__ = [
    "AllPass",
    "Combined",
    "Entry",
    "ErrorKind",
    "Extractor",
    "Finding",
    "Formula",
    "FunctionGrader",
    "Grade",
    "GradeError",
    "Grader",
    "Grades",
    "LogicalGate",
    "Mean",
    "Report",
    "Sample",
    "Samples",
    "SimpleGate",
    "Source",
    "StringThread",
    "Suite",
    "Sum",
    "Validation",
    "WeightedGate",
    "capture",
    "convert",
    "demo_samples",
    "errors",
    "export",
    "extractor",
    "grader",
    "kind",
    "load",
    "loads",
    "plot_scores",
    "read_samples",
    "sandbox_info",
    "save",
    "validate",
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
