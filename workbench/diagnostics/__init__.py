"""Diagnosis: what a column of grades shows about the grader, with the rows that are evidence for it.

Each file of `families/` holds one family of diagnostics; `labels` reads labels. A diagnostic is a function from a
`Case` (the grades of one grader) to claims and findings, registered by `@diagnostic(kind)`.
"""

from __future__ import annotations

from workbench.diagnostics import families
from workbench.diagnostics.case import Case as Case
from workbench.diagnostics.claim import Claim as Claim
from workbench.diagnostics.finding import Finding as Finding
from workbench.diagnostics.registry import diagnose as diagnose
from workbench.diagnostics.registry import diagnostic as diagnostic
from workbench.diagnostics.registry import kinds as kinds
from workbench.diagnostics.registry import presets as presets
from workbench.discovery import load_modules

# Every module in `families` registers its diagnostics when it is loaded; findings are listed in that order.
load_modules(families)

__all__ = ["Case", "Claim", "Finding", "diagnose", "diagnostic", "kinds", "presets"]
