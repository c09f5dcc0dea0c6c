"""Diagnosis: what a column of grades says about the grader, with the rows that prove it.

One family a file: `errors`, `distribution`, `groups`, `agreement`, `human`, `seed`, `vllora`; `labels` reads what is known. A diagnostic is a function
from a `Case` (the grades of one grader) to claims and findings, registered by `@diagnostic(kind)`.
"""

from __future__ import annotations

# Imported for their registrations, in the order findings are listed in.
from workbench.diagnostics import agreement, distribution, errors, groups, human, seed, vllora
from workbench.diagnostics.case import Case as Case
from workbench.diagnostics.claim import Claim as Claim
from workbench.diagnostics.finding import Finding as Finding
from workbench.diagnostics.registry import diagnose as diagnose
from workbench.diagnostics.registry import diagnostic as diagnostic
from workbench.diagnostics.registry import kinds as kinds
from workbench.diagnostics.registry import presets as presets

__all__ = [
    "Case",
    "Claim",
    "Finding",
    "agreement",
    "diagnose",
    "diagnostic",
    "distribution",
    "errors",
    "groups",
    "human",
    "kinds",
    "presets",
    "seed",
    "vllora",
]
