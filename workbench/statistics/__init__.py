"""Intervals, effective sample sizes and spread, on numpy alone.

`shares` holds what is exact for shares (Wilson, clusters, Holm), `resampling` the
cluster bootstrap, `spread` the measures of a column of scores,
`passes` and `runs` several tries of one test. Scores are float64 (n,) without
NaN: whoever calls has already left out rows that have no score.
"""

from __future__ import annotations

from workbench.statistics.passes import pass_at_k as pass_at_k
from workbench.statistics.resampling import Bootstrap as Bootstrap
from workbench.statistics.resampling import bootstrap as bootstrap
from workbench.statistics.resampling import mean_interval as mean_interval
from workbench.statistics.runs import pass_rate as pass_rate
from workbench.statistics.runs import pass_to_the_k as pass_to_the_k
from workbench.statistics.shares import Interval as Interval
from workbench.statistics.shares import Share as Share
from workbench.statistics.shares import effective_n as effective_n
from workbench.statistics.shares import holm as holm
from workbench.statistics.shares import share as share
from workbench.statistics.shares import wilson as wilson
from workbench.statistics.spread import mean as mean
from workbench.statistics.spread import quantiles as quantiles
from workbench.statistics.spread import sample_sd as sample_sd

__all__ = [
    "Bootstrap",
    "Interval",
    "Share",
    "bootstrap",
    "effective_n",
    "holm",
    "mean",
    "mean_interval",
    "pass_at_k",
    "pass_rate",
    "pass_to_the_k",
    "quantiles",
    "sample_sd",
    "share",
    "wilson",
]
