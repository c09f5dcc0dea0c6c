"""The register of diagnostics over several graders; `diagnose` runs them together with those of each grader."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from workbench.analysis.diagnostics.claim import Claim
from workbench.analysis.diagnostics.finding import Finding
from workbench.analysis.diagnostics.suite_case import SuiteCase
from workbench.core.discovery import refuse_taken

__all__ = ["suite_diagnostic", "suite_kinds", "suite_results"]

SuiteDiagnostic = Callable[[SuiteCase], Iterable[Claim | Finding]]
_REGISTER: dict[str, SuiteDiagnostic] = {}


def suite_diagnostic(kind: str) -> Callable[[SuiteDiagnostic], SuiteDiagnostic]:
    """Register a function from `SuiteCase` to claims and findings under its kind, in the preset "workbench".

    Raises:
        ValueError: Another function has the name.
    """

    def register(function: SuiteDiagnostic) -> SuiteDiagnostic:
        refuse_taken("diagnostic of suites", kind, _REGISTER.get(kind), function)
        _REGISTER[kind] = function
        return function

    return register


def suite_kinds() -> dict[str, SuiteDiagnostic]:
    """The diagnostics of suites, by kind."""
    return dict(_REGISTER)


def suite_results(case: SuiteCase, preset: str) -> list[Claim | Finding]:
    """Their claims; none for a single grader, or in another preset than "workbench"."""
    if preset != "workbench" or len(case.single_graders) < 2:
        return []
    return [result for rule in _REGISTER.values() for result in rule(case)]
