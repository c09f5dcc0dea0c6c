"""Diagnosis: what a column of grades says about the grader, with the rows that prove it.

One family a file in `families/`; `labels` reads what is known. A diagnostic is a function from a `Case` (the grades of
one grader) to claims and findings, registered by `@diagnostic(kind)`.
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

# A family is found by being there: every module registers its diagnostics, and findings are listed in this order.
load_modules(families)

__all__ = ["Case", "Claim", "Finding", "diagnose", "diagnostic", "kinds", "presets"]
