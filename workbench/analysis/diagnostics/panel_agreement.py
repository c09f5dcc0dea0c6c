"""Findings about a panel of judges: members that do not agree, and rows on which one is against the others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from workbench.analysis.case import Case, Claim, bootstrap_claim
from workbench.analysis.diagnostics import diagnostic
from workbench.analysis.finding import Finding, Severity, percent
from workbench.analysis.panel_verdicts import panel_verdicts
from workbench.analysis.statistics import compact
from workbench.analysis.statistics.means import share

_ALPHA = 0.667
"""Krippendorff's (2004) lowest alpha for tentative conclusions."""
_MIN_ROWS = 20  # with fewer the interval of alpha is not simulated


@diagnostic("panel-disagrees")
def panel_disagrees(case: Case) -> Iterable[Claim]:
    """Krippendorff's alpha of a panel's members is below 0.667 (upper bound), from 20 rows on.

    Members called only on disputed rows, as with early stopping, do not count.
    """
    votes = panel_verdicts(case.grades)
    if votes is None or len(votes.always_called) < 2:
        return
    alpha = votes.alpha(case.groups)
    if not len(alpha.draws):
        return
    message = f"its {len(votes.always_called)} judges agree little beyond chance: Krippendorff's alpha {alpha.value:.2f}"
    finding = case.finding(
        "panel-disagrees",
        Severity.WARNING,
        "Krippendorff's alpha",
        message,
        "read the rows with dissent, and make the criterion decide them; a majority of judges that disagree is noise",
        votes.rows[votes.has_dissent],
    )
    missing = max(0, _MIN_ROWS - alpha.units)
    yield bootstrap_claim(replace(finding, n=len(votes.rows)), alpha, _ALPHA, missing=missing)


@diagnostic("panel-dissent")
def panel_dissent(case: Case) -> Iterable[Finding]:
    """A note on the rows of a panel on which a member is against the outcome or the vote is a tie: a fact."""
    votes = panel_verdicts(case.grades)
    if votes is None or not votes.has_dissent.any():
        return
    found = share(votes.has_dissent, compact(case.groups[votes.rows]))
    ties = f", {int(votes.is_tie.sum()):,} of them ties" if votes.is_tie.any() else ""
    finding = case.finding(
        "panel-dissent",
        Severity.NOTE,
        "share of rows with dissent",
        f"its judges are divided on {found.k:,} of {found.n:,} rows, {percent(found.value)}{ties}",
        "read them first when you label: they are the rows on which the criterion is unclear or a judge is wrong",
        votes.rows[votes.has_dissent],
    )
    yield replace(finding, value=found.value, n=found.n, interval=found.interval())
