"""Intervals, effective sample sizes and spread, on numpy alone.

`shares` holds what is exact for shares (Wilson, clusters, rows needed, Holm), `resampling` the
cluster bootstrap, `spread` the measures of a column of scores. Scores are float64 (n,) without
NaN: whoever calls has already left out rows that have no score.
"""

from __future__ import annotations

from workbench.statistics.resampling import Bootstrap as Bootstrap
from workbench.statistics.resampling import bootstrap as bootstrap
from workbench.statistics.resampling import mean_interval as mean_interval
from workbench.statistics.resampling import sd_upper_bound as sd_upper_bound
from workbench.statistics.shares import Interval as Interval
from workbench.statistics.shares import Share as Share
from workbench.statistics.shares import effective_n as effective_n
from workbench.statistics.shares import holm as holm
from workbench.statistics.shares import rows_needed as rows_needed
from workbench.statistics.shares import share as share
from workbench.statistics.shares import wilson as wilson
from workbench.statistics.spread import effective_levels as effective_levels
from workbench.statistics.spread import icc1 as icc1
from workbench.statistics.spread import mean as mean
from workbench.statistics.spread import quantiles as quantiles
from workbench.statistics.spread import sample_sd as sample_sd

__all__ = [
    "Bootstrap",
    "Interval",
    "Share",
    "bootstrap",
    "effective_levels",
    "effective_n",
    "holm",
    "icc1",
    "mean",
    "mean_interval",
    "quantiles",
    "rows_needed",
    "sample_sd",
    "sd_upper_bound",
    "share",
    "wilson",
]
