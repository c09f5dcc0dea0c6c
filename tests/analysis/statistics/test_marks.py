"""Pass marks, partial rank correlation, and prompts whose answers all get one score."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from workbench.analysis.statistics import group_spans
from workbench.analysis.statistics.association import rank_correlation
from workbench.analysis.statistics.confusion import Marks
from workbench.analysis.statistics.group_scores import zero_variance_share


class TestMarks:
    def scored(self, n=200, seed=0):
        rng = np.random.default_rng(seed)
        good = rng.random(n) < 0.5
        return Marks(np.where(good, 0.6, 0.3) + rng.normal(0, 0.05, n), good, np.arange(n))

    def test_best_is_between_good_and_bad(self):
        """And its interval holds it."""
        marks = self.scored()
        assert 0.35 < marks.best < 0.55
        assert marks.accuracy > 0.97
        lo, hi = marks.interval()
        assert lo <= marks.best <= hi

    def test_verdicts_come_from_the_other_half(self):
        """Scores of pure noise gain nothing: about half of the verdicts are right."""
        rng = np.random.default_rng(1)
        good = rng.random(2_000) < 0.5
        marks = Marks(rng.random(2_000), good, np.arange(2_000))
        assert 0.45 < np.mean(marks.crossed_verdicts() == good) < 0.55


class TestRankCorrelation:
    def test_matches_scipy(self):
        """Spearman's, without a third column."""
        rng = np.random.default_rng(0)
        a, b = rng.random(80), rng.random(80)
        assert rank_correlation(a, b).value == pytest.approx(stats.spearmanr(a, b).statistic)

    def test_what_the_third_column_explains_is_left_out(self):
        """Two columns that both follow a third are not correlated given it."""
        rng = np.random.default_rng(0)
        label = (rng.random(400) < 0.5) * 1.0
        a, b = label + rng.random(400) / 4, label + rng.random(400) / 4
        assert rank_correlation(a, b).value > 0.6
        assert (
            rank_correlation(a, b, given=label).interval().lo
            < 0
            < rank_correlation(a, b, given=label).interval().hi
        )

    @pytest.mark.parametrize("n", [0, 5])
    def test_few_rows_have_none(self, n):
        """NaN, with the reason, and no warning."""
        result = rank_correlation(np.arange(n) * 1.0, np.arange(n) * 1.0)
        assert math.isnan(result.value)
        assert result.reason


class TestDeadPrompts:
    def test_counts_prompts_with_several_answers(self):
        """Of three prompts one is dead; the one with a single answer does not count."""
        scores, groups = np.array([1.0, 1, 0, 1, 0.5, 0.2, 0.3]), np.array([0, 0, 1, 1, 2, 3, 3])
        dead = zero_variance_share(scores, groups)
        assert (dead.k, dead.n) == (1, 3)
        sizes, spans = group_spans(scores, groups)
        assert sizes.tolist() == [2, 2, 1, 2]
        assert spans == pytest.approx([0, 1, 0, 0.1])
