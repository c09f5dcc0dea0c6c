"""Several graders as one: entries with weight and severity, rules that combine rows, gates that judge a whole run."""

from __future__ import annotations

from workbench.graders.combine.combined import Combined, PerTurn
from workbench.graders.combine.combining_rules import (
    COMBINING_RULES,
    AllPass,
    Assertions,
    CombiningRule,
    Formula,
    Mean,
    Sum,
)
from workbench.graders.combine.entry import Counted, Entry, EntryOutcome
from workbench.graders.combine.for_rows import ForRows, Transformed
from workbench.graders.combine.formula import Expression, FormulaError
from workbench.graders.combine.gates import Gate, GateResult, LogicalGate, SimpleGate, WeightedGate

__all__ = [
    "COMBINING_RULES",
    "AllPass",
    "Assertions",
    "Combined",
    "CombiningRule",
    "Counted",
    "Entry",
    "EntryOutcome",
    "Expression",
    "ForRows",
    "Formula",
    "FormulaError",
    "Gate",
    "GateResult",
    "LogicalGate",
    "Mean",
    "PerTurn",
    "SimpleGate",
    "Sum",
    "Transformed",
    "WeightedGate",
]
