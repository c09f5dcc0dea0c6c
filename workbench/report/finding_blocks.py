"""The blocks of a report's findings: one group for each grader, its lead first, what follows from it folded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from workbench.analysis.finding import Finding, joint_line, leading
from workbench.analysis.finding_groups import (
    FindingGroup,
    finding_groups,
    finding_lines,
    in_short,
    limits_met,
    met_lines,
    names_of,
)
from workbench.core.display import (
    DisplayBlock,
    Drawing,
    Folded,
    Group,
    Items,
    Only,
    Paragraph,
    Parts,
    Span,
    StripBlock,
)
from workbench.core.display_html import sign
from workbench.core.display_text import capital
from workbench.report.frames import rows_table
from workbench.report.sentences import finding_data

_IN_SIGHT, _MAX_GROUPS = 5, 12
"""Groups that are not folded in HTML, and groups in HTML and Markdown. Workbench limits."""
_MAX_ROWS, _MAX_ROWS_OF_OTHERS = 5, 3
"""Rows shown with the first finding, and with each other one. Workbench limits."""


def ordered(findings: Sequence[Finding]) -> list[Finding]:
    """The most severe first, the others in their order."""
    first = leading(findings)
    return [] if first is None else [first, *(one for one in findings if one is not first)]


Evidence = Callable[[Finding, bool], DisplayBlock | None]
"""The rows of a finding, given whether it is the first of all; None for none."""


def finding_blocks(report: Any) -> Iterator[DisplayBlock]:
    """The findings in groups, the most severe first; HTML with some of their rows, at most 12 groups in HTML and Markdown."""
    groups = finding_groups(ordered(report.findings))
    shown, n_more = groups[:_MAX_GROUPS], sum(len(one.findings) for one in groups[_MAX_GROUPS:])
    more = f"and {n_more:,} more in report.findings" if n_more > 0 else ""
    yield Only("text", _plain_findings(report.findings, len(report.grades)))
    yield Only("html", _rich_findings(report, shown, more))
    yield Only("markdown", _listed_findings(report, shown, more))


def _plain_findings(findings: Sequence[Finding], n_graders: int) -> Iterator[DisplayBlock]:
    lines = [*finding_lines(findings, n_graders), *filter(None, [joint_line(findings)])]
    yield Paragraph("findings:" if lines else "no findings")
    yield Items(lines)


def _rich_findings(report: Any, groups: Sequence[FindingGroup], more: str) -> Iterator[DisplayBlock]:
    blocks = list(group_blocks(report, groups, lambda finding, leads: _rows_of(report, finding, leads)))
    n_hidden = len(blocks) - _IN_SIGHT
    yield from blocks if n_hidden < 2 else blocks[:_IN_SIGHT]
    if n_hidden > 1:
        yield Folded(f"{n_hidden:,} more findings", blocks[_IN_SIGHT:])
    if not report.findings:
        yield Paragraph("no findings")
    yield Paragraph(more, "quiet")
    yield from met_blocks(report)


def met_blocks(report: Any) -> Iterator[DisplayBlock]:
    """One line for the limits that one or several graders are shown to meet."""
    for names, clauses in limits_met(report.findings, len(report.grades)):
        line = Parts(
            Drawing(sign("good")), Span(names, "mono"), " ", Span("Within limit:"), " ", f"{clauses}."
        )
        yield Group("finding", [Paragraph(line)])


def group_blocks(report: Any, groups: Sequence[FindingGroup], evidence: Evidence) -> Iterator[DisplayBlock]:
    """One block for each group: its lead with the rows, what follows from it folded, and further findings.

    Args:
        report: The report.
        groups: As `finding_groups` returns them.
        evidence: The rows of a finding.
    """
    for at, group in enumerate(groups):
        names = names_of(group.graders, len(report.grades))
        lead = finding_block(group.lead, names, leads=at == 0, evidence=evidence(group.lead, at == 0))
        following, others = (
            [finding_block(one, names, evidence=evidence(one, False)) for one in some]
            for some in (group.consequences, group.others)
        )
        title = f"So also {', '.join(map(in_short, group.consequences))}"
        below = [*([Folded(title, following)] if following else []), *others]
        yield Group("", [lead, *([Group("follows", below)] if below else [])])


def _rows_of(report: Any, finding: Finding, leads: bool) -> DisplayBlock | None:
    count = min(_MAX_ROWS if leads else _MAX_ROWS_OF_OTHERS, len(finding.rows))
    if not count:
        return None
    return Folded(f"{count} of its rows", [rows_table(report.rows(where=finding, limit=count))])


def finding_block(
    finding: Finding, names: str, *, leads: bool = False, evidence: DisplayBlock | None = None
) -> DisplayBlock:
    """A finding as a sentence; the interval of the first one is drawn.

    Args:
        finding: The finding.
        names: The graders to which it applies, as `names_of` returns them.
        leads: Whether it is the first, which is larger than the others.
        evidence: Its rows, below it.
    """
    data = finding_data(finding)
    strip = data["strip"]
    sentence = Parts(
        Drawing(sign(data["shape"])), Span(names, "mono"), " ", Span(f"{data['lead']}:"), " ",
        data["before"], Span(data["link"]), data["after"],
        *([] if leads or strip is None else [" ", Span(f"{strip['value_text']}, {strip['interval_name']} {strip['interval_text']}", "quiet")]),
    )  # fmt: skip
    blocks: list[DisplayBlock] = [Paragraph(sentence, "lead" if leads else "", limit=900)]
    blocks += [StripBlock(strip)] if leads and strip else []
    blocks += [Paragraph(data["advice"], "" if leads else "quiet", limit=900)]
    blocks += [] if evidence is None else [evidence]
    return Group("finding", blocks)


def _listed_findings(report: Any, groups: Sequence[FindingGroup], more: str) -> Iterator[DisplayBlock]:
    n_graders = len(report.grades)
    if not report.findings:
        yield Paragraph(Span("No findings."))
    if groups:
        first = groups[0].lead
        advice = f"{capital(first.advice)}." if first.advice else ""
        yield Paragraph(Parts(Span(f"{names_of(groups[0].graders, n_graders)}: {first.sentence}"), advice))
    texts = [[" ".join(line.split()) for line in one.lines(n_graders)] for one in groups]
    if texts:
        del texts[0][: 1 + groups[0].has_advice_line]
    items = [" ".join(lines) for lines in texts if lines]
    yield Items([*items, *filter(None, [more]), *met_lines(report.findings, n_graders)])
