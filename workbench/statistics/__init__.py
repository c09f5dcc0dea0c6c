"""Intervals, effective sample sizes and spread, on numpy and scipy's special functions.

`shares` has intervals of shares (Wilson, clusters) and Holm's correction, `resampling` the cluster bootstrap,
`agreement` kappa and AC1, `raters` several annotators and the human ceiling, `differences` and `steps` means of parts of
the rows, `confusion` verdicts against the labels, `weighted` rows with unequal weights, `ranks` Spearman and AUROC,
`paired` two graders on the same rows, `spread` the measures of a column of scores, `passes` and `runs` several attempts
at one test. Scores are float64 (n,) without NaN: the caller has already excluded rows without a score.
"""

from __future__ import annotations

from workbench.statistics.agreement import ac1 as ac1
from workbench.statistics.agreement import kappa as kappa
from workbench.statistics.agreement import weighted_kappa as weighted_kappa
from workbench.statistics.bounded import BoundedMean as BoundedMean
from workbench.statistics.bounded import bounded_mean as bounded_mean
from workbench.statistics.clusters import compact as compact
from workbench.statistics.clusters import effective_n as effective_n
from workbench.statistics.confusion import Confusion as Confusion
from workbench.statistics.confusion import corrected_rate as corrected_rate
from workbench.statistics.estimate import Estimate as Estimate
from workbench.statistics.groups import dead_share as dead_share
from workbench.statistics.groups import group_spans as group_spans
from workbench.statistics.intervals import Interval as Interval
from workbench.statistics.intervals import clopper_pearson as clopper_pearson
from workbench.statistics.intervals import growth_needed as growth_needed
from workbench.statistics.intervals import holm as holm
from workbench.statistics.intervals import wilson as wilson
from workbench.statistics.means import likely_scale as likely_scale
from workbench.statistics.means import mean_interval as mean_interval
from workbench.statistics.paired import Difference as Difference
from workbench.statistics.paired import Verdicts as Verdicts
from workbench.statistics.paired import accuracy_difference as accuracy_difference
from workbench.statistics.paired import mcnemar as mcnemar
from workbench.statistics.paired import paired_difference as paired_difference
from workbench.statistics.passes import pass_at_k as pass_at_k
from workbench.statistics.ranks import auroc as auroc
from workbench.statistics.ranks import spearman as spearman
from workbench.statistics.resampling import Bootstrap as Bootstrap
from workbench.statistics.resampling import bootstrap as bootstrap
from workbench.statistics.runs import pass_rate as pass_rate
from workbench.statistics.runs import pass_to_the_k as pass_to_the_k
from workbench.statistics.shares import Share as Share
from workbench.statistics.shares import share as share
from workbench.statistics.spread import mean as mean
from workbench.statistics.spread import quantiles as quantiles
from workbench.statistics.spread import sample_sd as sample_sd
from workbench.statistics.weighted import Weighted as Weighted

__all__ = [
    "Bootstrap",
    "BoundedMean",
    "Confusion",
    "Difference",
    "Estimate",
    "Interval",
    "Share",
    "Verdicts",
    "Weighted",
    "ac1",
    "accuracy_difference",
    "auroc",
    "bootstrap",
    "bounded_mean",
    "clopper_pearson",
    "compact",
    "corrected_rate",
    "dead_share",
    "effective_n",
    "group_spans",
    "growth_needed",
    "holm",
    "kappa",
    "likely_scale",
    "mcnemar",
    "mean",
    "mean_interval",
    "paired_difference",
    "pass_at_k",
    "pass_rate",
    "pass_to_the_k",
    "quantiles",
    "sample_sd",
    "share",
    "spearman",
    "weighted_kappa",
    "wilson",
]
