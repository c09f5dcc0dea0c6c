"""Diagnostics: statistical findings about a grader from its column of grades, with the rows as evidence.

Each file of `families/` contains one family of diagnostics; `labels` parses labels. A diagnostic is a function from a
`Case` (the grades of one grader) to claims and findings, registered by `@diagnostic(kind)`. A
diagnostic of a suite is a function from a `SuiteCase` (several graders over the same rows), registered by
`@suite_diagnostic(kind)`.
"""

from __future__ import annotations

from workbench.analysis.diagnostics import families
from workbench.analysis.diagnostics.case import Case as Case
from workbench.analysis.diagnostics.claim import Claim as Claim
from workbench.analysis.diagnostics.finding import Finding as Finding
from workbench.analysis.diagnostics.registry import diagnose as diagnose
from workbench.analysis.diagnostics.registry import diagnostic as diagnostic
from workbench.analysis.diagnostics.registry import kinds as kinds
from workbench.analysis.diagnostics.registry import presets as presets
from workbench.analysis.diagnostics.suite_case import SuiteCase as SuiteCase
from workbench.analysis.diagnostics.suite_case import SuiteParts as SuiteParts
from workbench.analysis.diagnostics.suite_case import suite_diagnostic as suite_diagnostic
from workbench.analysis.diagnostics.suite_case import suite_kinds as suite_kinds
from workbench.core.discovery import load_modules

# Each of these modules registers its diagnostics on import; findings are listed in that order.
load_modules(families)

__all__ = [
    "Case",
    "Claim",
    "Finding",
    "SuiteCase",
    "SuiteParts",
    "diagnose",
    "diagnostic",
    "kinds",
    "presets",
    "suite_diagnostic",
    "suite_kinds",
]
