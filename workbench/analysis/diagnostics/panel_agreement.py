"""Findings about a panel of judges: members that do not agree, and rows on which one is against the others.

The verdicts of the members are columns, read from the metadata of the panel's grades.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from workbench.analysis.case import Case, Claim, bootstrap_claim
from workbench.analysis.diagnostics import diagnostic
from workbench.analysis.finding import Finding, Severity, percent
from workbench.analysis.statistics import Codes, Flags, Floats, compact
from workbench.analysis.statistics.means import share
from workbench.analysis.statistics.resampling import Bootstrap, krippendorff_alpha
from workbench.core.grades import Grades


@dataclass(frozen=True, eq=False)
class PanelVerdicts:
    """The votes of m members on r rows.

    Attributes:
        rows: Number of each row in the report, (r,).
        names: The members, (m,).
        by_score: Whether the panel combines scores rather than verdicts.
        verdicts: 1 pass, 0 fail, 0.5 neither, NaN without a vote, (r, m).
        scores: NaN without one, (r, m).
        is_called: Whether the member was called, (r, m): with early stopping only some are.
        is_failed: (r, m).
        is_dissent: Whether the member's vote is against the outcome, (r, m).
        is_tie: (r,).
    """

    rows: Codes
    names: tuple[str, ...]
    by_score: bool
    verdicts: Floats
    scores: Floats
    is_called: Flags
    is_failed: Flags
    is_dissent: Flags
    is_tie: Flags

    @property
    def has_dissent(self) -> Flags:
        """Whether a row is a tie or a member is against its outcome, (r,)."""
        dissent: Flags = self.is_dissent.any(1) | self.is_tie
        return dissent

    @cached_property
    def always_called(self) -> Codes:
        """Indices of the members that were called on every row.

        The others were called on disputed rows only, so that their agreement would be understated.
        """
        return np.flatnonzero(self.is_called.all(0))

    def alpha(self, prompts: Codes) -> Bootstrap:
        """Krippendorff's alpha of the members that were called on every row.

        Args:
            prompts: Prompt of each row of the report, (n,).
        """
        values = (self.scores if self.by_score else self.verdicts)[:, self.always_called]
        return krippendorff_alpha(values, compact(prompts[self.rows]))


def panel_verdicts(grades: Grades) -> PanelVerdicts | None:
    """The votes in a grader's metadata; None if it is not a panel."""
    found = [(row, metadata) for row, metadata in grades.metadata.items() if _is_panel(metadata)]
    if not found:
        return None
    names = tuple(dict.fromkeys(str(vote["judge"]) for _, metadata in found for vote in metadata["votes"]))
    place = {name: at for at, name in enumerate(names)}
    shape = (len(found), len(names))
    verdicts, scores = np.full(shape, np.nan), np.full(shape, np.nan)
    is_called, is_failed, is_dissent = np.zeros(shape, bool), np.zeros(shape, bool), np.zeros(shape, bool)
    for at, (_, metadata) in enumerate(found):
        for vote in metadata["votes"]:
            cell = at, place[str(vote["judge"])]
            is_called[cell], is_failed[cell] = True, vote["status"] == "failed"
            if vote.get("score") is not None:
                verdicts[cell], scores[cell] = float(vote["passes"]), float(vote["score"])
        is_dissent[at, [place[name] for name in metadata.get("dissent", ()) if name in place]] = True
    return PanelVerdicts(
        np.array([row for row, _ in found], np.intp), names, found[0][1].get("vote") != "majority", verdicts, scores,
        is_called, is_failed, is_dissent, np.array([bool(metadata.get("tie")) for _, metadata in found]),
    )  # fmt: skip


def _is_panel(metadata: Mapping[str, Any]) -> bool:
    votes = metadata.get("votes")
    return "members" in metadata and isinstance(votes, list) and bool(votes)


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
