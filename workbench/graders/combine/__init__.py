"""Several graders as one: entries with weight and severity, rules that combine rows, gates that judge a whole run."""

from __future__ import annotations

from workbench.graders.combine.combined import Combined
from workbench.graders.combine.entry import Counted, Entry, Outcome
from workbench.graders.combine.formula import Expression, FormulaError
from workbench.graders.combine.gates import Gate, GateResult, LogicalGate, SimpleGate, WeightedGate
from workbench.graders.combine.rules import RULES, AllPass, Formula, Mean, Rule, Sum
from workbench.graders.turns import PerTurn

__all__ = [
    "RULES",
    "AllPass",
    "Combined",
    "Counted",
    "Entry",
    "Expression",
    "Formula",
    "FormulaError",
    "Gate",
    "GateResult",
    "LogicalGate",
    "Mean",
    "Outcome",
    "PerTurn",
    "Rule",
    "SimpleGate",
    "Sum",
    "WeightedGate",
]
