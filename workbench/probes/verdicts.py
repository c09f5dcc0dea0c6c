"""Findings from the results: which holes are confirmed, and which properties are only noted."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.analysis.diagnostics.finding import Finding, Severity
from workbench.probes.case import MOST, ProbeCase
from workbench.probes.causes import failing, follows_from, form_only, leading, says_more
from workbench.probes.shapes import PLAIN
from workbench.probes.tried import Family

__all__ = ["ProbeVerdicts", "verdicts"]

_JUDGE_ACCEPTS, _JUDGE_REJECTS = 0.05, 0.1
"""Lower bounds above which a model's errors are a finding: a model makes occasional errors (Thakur 2024, 2406.12624)."""
_FEW_ROWS = 8
"""Number of rows below which two misgraded rows suffice. Workbench limit."""
_SYSTEMATIC = 0.2
"""Share of rows from which the rejection of a form is the grader's rule rather than a coincidence. Workbench limit."""
_ORDERS = frozenset({"injection", "fake-verdict", "closed-delimiter"})
_LATER = 50
_SAY_ALL = frozenset({"accepts-anything", "fails", "inconsistent"})
"""Causes that make properties irrelevant."""


@dataclass(frozen=True)
class ProbeVerdicts:
    """The results of a probe.

    Attributes:
        findings: Confirmed holes, the cause first.
        notes: Properties: true of sound graders too.
        consequences: Findings that add nothing to a cause among `findings`.
        held: Transformations that apply to this grader: the correct grade of their texts is known.
    """

    findings: tuple[Finding, ...]
    notes: tuple[Finding, ...]
    consequences: tuple[Finding, ...]
    held: frozenset[str]


def verdicts(case: ProbeCase) -> ProbeVerdicts:
    """Evaluate all results of one grader."""
    fooled = [family for family in sorted(case.found, key=lambda one: _order(case, one)) if family.wrong_rows]
    proven = [family for family in fooled if _is_alarm(case, family)]
    told = [family for family in fooled if family not in proven and _is_worth_telling(case, family)]
    if case.is_form_check:
        told = [family for family in told if says_more(family)]
    lead = leading(case, proven)
    follows = [family for family in proven if follows_from(family, lead, proven)]
    own = [case.finding(family, _severity(family)) for family in proven if family not in follows]
    if lead and lead[0].kind in _SAY_ALL:
        told = []
    notes = [*form_only(case), *(case.finding(family, Severity.NOTE) for family in told)]
    return ProbeVerdicts(
        (*lead, *own, *failing(case)),
        tuple(notes),
        tuple(case.finding(family, _severity(family)) for family in follows),
        frozenset(family.variant.name for family in case.found if _is_meant(case, family)),
    )


def _order(case: ProbeCase, family: Family) -> tuple[int, float]:
    """Its position: orders to a judge come first for a judge, and last for code."""
    later = _LATER if family.variant.name in _ORDERS and not case.judge else 0
    return family.variant.rank + later, -family.share.value


def _severity(family: Family) -> Severity:
    """Accepting wrong texts is worse than rejecting correct ones: a trained policy finds and exploits it."""
    return Severity.ERROR if family.variant.expects == "reject" else Severity.WARNING


def _is_alarm(case: ProbeCase, family: Family) -> bool:
    """Whether the misgraded texts are a hole, and enough rows show it."""
    if not _is_meant(case, family):
        return False
    rejects = family.variant.expects == "reject"
    if case.judge:
        return family.interval.lo > (_JUDGE_ACCEPTS if rejects else _JUDGE_REJECTS)
    if not rejects and family.variant.name != "as-it-is" and family.share.value < _SYSTEMATIC:
        return False
    least = family.variant.least if rejects else 2
    return len(family.wrong_rows) >= (least if len(family.rows) >= _FEW_ROWS else 2)


def _is_meant(case: ProbeCase, family: Family) -> bool:
    """Whether the transformation applies to this grader: see `Variant.alarm`.

    A check of the form accepts any text of that form. For a user's grader it is still reported that its pattern finds the
    form inside other letters, unless it requires only letters; the settings of a workbench rule define where it looks.
    """
    variant = family.variant
    if variant.distinct and not case.base.distinct:
        return False
    if case.is_form_check:
        return variant.alarm == "form" and case.mined.readable and not case.takes("gibberish")
    held = {
        "always": True,
        # A text from its source that passes while no reference does is what it really looks for.
        "reference": case.reads or (variant.name == "magic-text" and case.rejects_right),
        "form": not case.reads,
        "free": case.base.free,
        "strict": not case.base.free and case.reads,
        "number": case.numbers,
        "never": False,
    }
    return held[variant.alarm] or any(name in case.mined.text for name in variant.names)


def _is_worth_telling(case: ProbeCase, family: Family) -> bool:
    """Whether a property is noted: it is true for most rows, and the form could be expected."""
    expected = family.variant.expects == "reject" or case.base.shape == PLAIN or case.base.free
    return expected and family.share.value >= MOST
