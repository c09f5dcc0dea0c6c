"""`FindingGroup`: the findings of a report as a person reads them, one lead for each grader, with what follows from it folded.

A report of a dozen graders has dozens of findings. Each is in `Report.findings`; what is printed is one lead per grader, its
consequences in a few words, one line for a fact that is true of several graders, and one for the limits that a grader meets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from workbench.analysis.finding import Finding, Severity, leading, short_verdict
from workbench.core.display_text import counted, one_line

COUNT = re.compile(
    r"(?:all |both )?\d[\d,]*(?: of \d[\d,]*)?(?: known-(?:bad|good)| scored| labelled)? (?:rows?|scores?|prompts?|completions?|pairs?|labels?)"
)
"""The rows of a finding in its sentence, such as "50 of 290 known-bad rows"."""

_MAX_NAMES = 4
"""Maximum graders that are named in one line. Workbench limit."""
_MAX_NOTES = 6
"""Maximum groups of facts in a printed report; what is inconclusive, questions and verdicts are all shown. Workbench limit."""
_SENTENCE, _NAME, _SHORT = 1_300, 60, 60
"""Maximum characters of a sentence, a name and a verdict in a few words. Workbench limits."""
_INDENT = " " * 11


@dataclass(frozen=True)
class FindingGroup:
    """A finding with what is read below it.

    Attributes:
        graders: Names of the graders to which the lead applies; several only for a sentence that is the same of each.
        lead: The finding that is read first.
        consequences: Findings about the same grader that the lead explains.
        others: Further findings about the same grader, also those with another cause.
    """

    graders: tuple[str, ...]
    lead: Finding
    consequences: tuple[Finding, ...] = ()
    others: tuple[Finding, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All of them, in the order in which they are read."""
        return (self.lead, *self.consequences, *self.others)

    @property
    def severity(self) -> Severity:
        """That of the most severe among the lead and what follows from it: a cause is not milder than its consequence."""
        return min((one.severity for one in (self.lead, *self.consequences)), key=lambda each: each.rank)

    @property
    def has_advice_line(self) -> bool:
        """Whether the second line is what to do next: of a verdict."""
        return self.lead.is_verdict and bool(self.lead.advice)

    def lines(self, n_graders: int) -> Iterator[str]:
        """The group as text, one line for the lead and each further one.

        Args:
            n_graders: Number of graders in the report, which decides whether "all" is correct.
        """
        yield f"{self.severity:<8} {names_of(self.graders, n_graders)}: {self.lead.sentence}"[:_SENTENCE]
        if self.has_advice_line:
            yield f"{_INDENT}Next: {self.lead.advice}."
        if self.consequences:
            yield f"{_INDENT}So also {', '.join(map(in_short, self.consequences))}."
        for one in self.others:
            yield f"{_INDENT}Also, {one.severity}: {one.sentence}"[:_SENTENCE]


def in_short(finding: Finding) -> str:
    """A finding in a few words, with the rows: "too strict (67 of 153 known-good rows)", "biased towards writer 'b'"."""
    head, colon, _ = finding.message.partition(": ")
    found = COUNT.search(finding.message)
    words = one_line(head) if colon and len(head) <= _SHORT else short_verdict(finding.kind)
    return words + (f" ({found[0]})" if found and found[0] not in words else "")


def names_of(graders: Sequence[str], n_graders: int) -> str:
    """Several graders in one line: "a, b", "all 12 graders", "a, b, c and 4 more"."""
    if len(graders) == n_graders > 1:
        return "both graders" if n_graders == 2 else f"all {n_graders} graders"
    named = [one_line(name, _NAME) for name in graders]
    if len(named) <= _MAX_NAMES:
        return ", ".join(named)
    return f"{', '.join(named[: _MAX_NAMES - 1])} and {len(named) - _MAX_NAMES + 1} more"


def finding_groups(findings: Iterable[Finding]) -> list[FindingGroup]:
    """Findings in the groups in which they are read, in the order of their leads; without limits that are not exceeded.

    Args:
        findings: Of all graders, most severe first, each cause before its consequences.
    """
    faults = [one for one in findings if one.severity is not Severity.WITHIN_LIMIT]
    shared = _shared(faults)
    by_grader: dict[str, list[Finding]] = {}
    for one in faults:
        if _key(one) not in shared:
            by_grader.setdefault(one.grader, []).append(one)
    groups: list[FindingGroup] = []
    seen: set[object] = set()
    for one in faults:
        key: object = _key(one) if _key(one) in shared else one.grader
        if key in seen:
            continue
        seen.add(key)
        if _key(one) in shared:
            groups.append(FindingGroup(tuple(dict.fromkeys(each.grader for each in shared[_key(one)])), one))
        else:
            groups.append(_group(by_grader[one.grader]))
    return groups


def _key(finding: Finding) -> tuple[str, str]:
    return finding.kind, finding.sentence


def _shared(findings: Sequence[Finding]) -> dict[tuple[str, str], list[Finding]]:
    """Facts whose sentence is the same of several graders, each with its findings; not causes, which are read with what follows."""
    causes = {(one.grader, one.cause) for one in findings if one.cause}
    found: dict[tuple[str, str], list[Finding]] = {}
    for one in findings:
        if not one.cause and one.interval is None and (one.grader, one.kind) not in causes:
            found.setdefault(_key(one), []).append(one)
    return {key: same for key, same in found.items() if len({one.grader for one in same}) > 1}


def _group(findings: Sequence[Finding]) -> FindingGroup:
    lead = leading(findings) or findings[0]
    rest = [one for one in findings if one is not lead]
    # A consequence is folded only below its own cause; a second cause is read with its full sentence.
    following = tuple(one for one in rest if one.cause == lead.kind)
    others = tuple(one for one in rest if one.cause != lead.kind)
    return FindingGroup((lead.grader,), lead, following, others)


def limits_met(findings: Iterable[Finding], n_graders: int) -> list[tuple[str, str]]:
    """What graders are shown not to exceed, by their names; those of which the same is shown are named together.

    Args:
        findings: Of all graders.
        n_graders: Number of graders in the report.

    Returns:
        Such as [("a, b", "accepts at most 4.5 % of known-bad rows")].
    """
    by_grader: dict[str, list[str]] = {}
    for one in findings:
        if one.severity is Severity.WITHIN_LIMIT:
            by_grader.setdefault(one.grader, []).append(_clause(one.message))
    by_clauses: dict[str, list[str]] = {}
    for grader, clauses in by_grader.items():
        by_clauses.setdefault(", ".join(clauses), []).append(grader)
    return [(names_of(graders, n_graders), clauses) for clauses, graders in by_clauses.items()]


def _clause(message: str) -> str:
    """Such as "accepts at most 4.5 % of known-bad rows", of the sentence with its counts and its limit."""
    name, colon, rest = message.partition(": ")
    main = (rest if colon and name.startswith("not ") else message).partition(", ")[0]
    return main.partition(";")[0]


def finding_lines(findings: Sequence[Finding], n_graders: int) -> list[str]:
    """What a person reads of findings, one line each: at most one lead for a grader, and not more than a few notes.

    Args:
        findings: Of all graders, most severe first.
        n_graders: Number of graders in the report.
    """
    groups = finding_groups(findings)
    notes = [
        one
        for one in groups
        if all(each.severity is Severity.NOTE and not each.undecided for each in one.findings)
    ]
    left = {id(one): one for one in notes[_MAX_NOTES:]}
    lines = [line for one in groups if id(one) not in left for line in one.lines(n_graders)]
    if left:
        n_left = sum(len(one.findings) * len(one.graders) for one in left.values())
        lines.append(f"{'note':<8} and {counted(n_left, 'more note')} in report.findings")
    return [*lines, *met_lines(findings, n_graders)]


def met_lines(findings: Iterable[Finding], n_graders: int) -> list[str]:
    """One line for what is shown of one or several graders, such as "within limit a, b: accepts at most 4.5 % of known-bad rows"."""
    return [f"within limit {names}: {clauses}." for names, clauses in limits_met(findings, n_graders)]
