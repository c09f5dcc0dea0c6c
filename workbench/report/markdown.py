"""A report as Markdown, for editors and chats: the findings first, then a table of the graders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.core.display import markdown_lines, markdown_table, markdown_text
from workbench.core.display_text import counted
from workbench.report.grader_lines import GraderLine, grader_lines
from workbench.report.rich import ordered
from workbench.report.terminal import isolation_line

if TYPE_CHECKING:
    from workbench.analysis.diagnostics import Finding

__all__ = ["as_markdown", "findings_markdown"]

_MAX_FINDINGS = 12
_HEADS = ("grader", "verdict", "mean", "95 % interval", "accepted", "rejected", "failed", "skipped")


def as_markdown(report: Any) -> str:
    """The report's sentences and one table."""
    lines = grader_lines(report)
    table = markdown_table(_HEADS, map(_cells, lines), numbers=range(2, len(_HEADS)))
    return markdown_lines(
        [
            findings_markdown(report),
            f"**{markdown_text(report.gate, 1_300)}**" if report.gate is not None else "",
            f"{counted(len(lines), 'grader')} on {counted(len(report), 'row')}:",
            table if lines else "",
            *(markdown_text(note, 600) for note in (*report.samples.notes, *report.facts)),
            markdown_text(isolation_line(report.summary), 600),
        ]
    )


def findings_markdown(report: Any) -> str:
    """The findings, the most severe first."""
    findings = ordered(report.findings)
    if not findings:
        return "**No findings.**"
    first, *others = findings[:_MAX_FINDINGS]
    more = len(findings) - _MAX_FINDINGS
    items = [f"- {_sentence(one)}" for one in others]
    items += [f"- and {more:,} more in report.findings"] if more > 0 else []
    lead = f"**{_sentence(first)}** {_advice(first)}".strip()
    return "\n\n".join(filter(None, [lead, "\n".join(items)]))


def _sentence(finding: Finding) -> str:
    return markdown_text(finding, 1_300)


def _advice(finding: Finding) -> str:
    text = finding.advice
    return markdown_text(f"{text[:1].upper()}{text[1:]}.", 400) if text else ""


def _cells(line: GraderLine) -> list[str]:
    counts = line.counts
    done = [
        sum(counts[part] for part in counts if part.endswith(verdict)) for verdict in ("accepted", "refused")
    ]
    numbers = [f"{count:,}" for count in (*done, counts["failed"], counts["skipped"])]
    return [line.name, line.words, line.mean_text, line.interval_text, *numbers]
