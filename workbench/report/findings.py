"""The findings of a report as they print."""

from __future__ import annotations

from workbench.diagnostics import Finding

__all__ = ["Findings"]


class Findings(tuple[Finding, ...]):
    """Findings that print as one sentence a line."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(f"{finding.severity:<8}{finding}" for finding in self) or "no findings"
