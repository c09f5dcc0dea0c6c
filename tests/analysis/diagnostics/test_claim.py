"""A statistic against its limit: when it is a verdict, what clears it, and what is still needed."""

from __future__ import annotations

from math import nan

import numpy as np
import pytest

from workbench.analysis.case import (
    bootstrap_claim,
    claim_of,
    decide,
    estimate_claim,
    share_claim,
)
from workbench.analysis.finding import Finding, Severity
from workbench.analysis.statistics import Estimate, Interval, clopper_pearson, level_counts, levels_of
from workbench.analysis.statistics.means import share as share_of
from workbench.analysis.statistics.resampling import bootstrap

FINDING = Finding("g", "too-lenient", Severity.ERROR, "share", nan, None, 40, 0, "too lenient", "look")


def flags(k, n):
    return np.arange(n) < k


class TestShares:
    def test_a_verdict_needs_no_minimum(self):
        """Three of four are enough where the limit is one in twenty."""
        (finding,) = decide([share_claim(FINDING, share_of(flags(3, 4)), 0.05)])
        assert (finding.severity, finding.n, finding.limit) == ("error", 4, 0.05)

    def test_none_of_sixty_clears(self):
        """The one-sided bound of 4.9 % lies below 5 %; none of 58 leaves 5.03 %."""
        said = "at most {bound} are accepted"
        (finding,) = decide([share_claim(FINDING, share_of(flags(0, 60)), 0.05, within_limit=said)])
        assert (finding.severity, finding.message) == (
            "within_limit",
            "not too lenient: at most 4.9 % are accepted",
        )
        assert finding.interval.hi == pytest.approx(1 - 0.05 ** (1 / 60))
        assert str(finding).endswith("(95 % confidence).")
        assert decide([share_claim(FINDING, share_of(flags(0, 58)), 0.05, within_limit=said)]) == []

    def test_an_undecided_one_is_a_note(self):
        """Three of twenty against a limit of one in twenty: no verdict, a plan or the reason why there is none."""
        (finding,) = decide([share_claim(FINDING, share_of(flags(3, 20)), 0.05)])
        assert (finding.severity, finding.undecided) == ("note", True)
        assert finding.message == "possibly too lenient"
        assert finding.interval == clopper_pearson(3, 20)

    def test_prompts_are_counted_where_rows_share_them(self):
        """A plan is in prompts then."""
        share = share_of(np.repeat(flags(4, 20), 5), np.repeat(np.arange(20), 5))
        claim = share_claim(FINDING, share, 0.05)
        assert claim.finding.unit == "prompt"
        assert claim.units == 20

    def test_the_interval_shown_is_that_of_95_percent(self):
        """However many claims share the level."""
        claims = [share_claim(Finding(f"g{at}", *_rest()), share_of(flags(30, 60)), 0.05) for at in range(10)]
        findings = decide(claims)
        assert {finding.interval for finding in findings} == {clopper_pearson(30, 60)}
        assert max(finding.claims for finding in findings) == 10


def _rest():
    return ("too-lenient", Severity.ERROR, "share", nan, None, 60, 0, "too lenient", "look")


class TestOthers:
    def test_a_bootstrapped_statistic_below_its_limit(self):
        """The levels in use of 60 equal scores, with one unseen row."""
        boot = bootstrap(level_counts(np.full(60, 0.5)), levels_of, unseen=np.eye(21)[0])
        (finding,) = decide([bootstrap_claim(FINDING, boot, 1.5)])
        assert finding.severity == "error"
        assert decide([bootstrap_claim(FINDING, boot, 1.0)]) == []

    def test_an_estimate_without_a_plan_is_silent_until_it_is_shown(self):
        """`plan_rows=False`."""
        unclear = Estimate(-0.1, 40, 0.2, -0.1, 0.2)
        assert decide([estimate_claim(FINDING, unclear, 0.0, plan_rows=False)]) == []
        clear = Estimate(-0.9, 40, 0.1, -0.9, 0.1)
        assert decide([estimate_claim(FINDING, clear, 0.0, plan_rows=False)])[0].severity == "error"

    def test_nobody_is_sent_for_thousands_of_rows(self):
        """A plan of more than 1,000 is none."""
        claim = claim_of(FINDING, 0.03, lambda _: Interval(0.04, 0.2), limit=0.05, units=1_000)
        (finding,) = decide([claim])
        assert finding.needed == 0
        assert "inconclusive: the interval contains the limit of 5 %" in str(finding)
