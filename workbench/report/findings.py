"""The findings of a report, for printing."""

from __future__ import annotations

from workbench.analysis.diagnostics import Finding
from workbench.report.terminal import finding_line

__all__ = ["Findings"]


class Findings(tuple[Finding, ...]):
    """Findings that print as one sentence per line."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(finding_line, self)) or "no findings"
