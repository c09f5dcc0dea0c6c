"""Intervals, effective sample sizes and spread, on numpy and scipy's special functions.

`intervals` has intervals of one share, estimates and Holm's correction, `means` means and shares over clusters of rows,
`resampling` the cluster bootstrap, `agreement` kappa, AC1 and the human ceiling, `confusion` verdicts against labels and
paired graders, `differences` means of parts of the rows, `ranks` Spearman and AUROC, `spread` the measures of a column of
scores, `arrays` the types of all arrays. Scores are float64 (n,) without NaN: the caller has already excluded rows without
a score.
"""

from __future__ import annotations

from workbench.analysis.statistics.agreement import Weighted as Weighted
from workbench.analysis.statistics.agreement import ac1 as ac1
from workbench.analysis.statistics.agreement import kappa as kappa
from workbench.analysis.statistics.agreement import weighted_kappa as weighted_kappa
from workbench.analysis.statistics.confusion import Confusion as Confusion
from workbench.analysis.statistics.confusion import Difference as Difference
from workbench.analysis.statistics.confusion import PairedVerdicts as PairedVerdicts
from workbench.analysis.statistics.confusion import accuracy_difference as accuracy_difference
from workbench.analysis.statistics.confusion import corrected_rate as corrected_rate
from workbench.analysis.statistics.confusion import mcnemar as mcnemar
from workbench.analysis.statistics.confusion import paired_difference as paired_difference
from workbench.analysis.statistics.group_scores import group_spans as group_spans
from workbench.analysis.statistics.group_scores import zero_variance_share as zero_variance_share
from workbench.analysis.statistics.intervals import Estimate as Estimate
from workbench.analysis.statistics.intervals import Interval as Interval
from workbench.analysis.statistics.intervals import clopper_pearson as clopper_pearson
from workbench.analysis.statistics.intervals import compact as compact
from workbench.analysis.statistics.intervals import effective_n as effective_n
from workbench.analysis.statistics.intervals import growth_needed as growth_needed
from workbench.analysis.statistics.intervals import holm as holm
from workbench.analysis.statistics.intervals import wilson as wilson
from workbench.analysis.statistics.means import BoundedMean as BoundedMean
from workbench.analysis.statistics.means import Share as Share
from workbench.analysis.statistics.means import bounded_mean as bounded_mean
from workbench.analysis.statistics.means import likely_scale as likely_scale
from workbench.analysis.statistics.means import mean_interval as mean_interval
from workbench.analysis.statistics.means import share as share
from workbench.analysis.statistics.ranks import auroc as auroc
from workbench.analysis.statistics.ranks import spearman as spearman
from workbench.analysis.statistics.resampling import Bootstrap as Bootstrap
from workbench.analysis.statistics.resampling import bootstrap as bootstrap
from workbench.analysis.statistics.spread import mean as mean
from workbench.analysis.statistics.spread import pass_at_k as pass_at_k
from workbench.analysis.statistics.spread import pass_rate as pass_rate
from workbench.analysis.statistics.spread import pass_to_the_k as pass_to_the_k
from workbench.analysis.statistics.spread import quantiles as quantiles
from workbench.analysis.statistics.spread import sample_sd as sample_sd

__all__ = [
    "Bootstrap",
    "BoundedMean",
    "Confusion",
    "Difference",
    "Estimate",
    "Interval",
    "PairedVerdicts",
    "Share",
    "Weighted",
    "ac1",
    "accuracy_difference",
    "auroc",
    "bootstrap",
    "bounded_mean",
    "clopper_pearson",
    "compact",
    "corrected_rate",
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
    "zero_variance_share",
]
