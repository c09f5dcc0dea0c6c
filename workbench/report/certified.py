"""The parts of a certificate: about the labels and about each grader, as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.diagnostics.label_agreement import against_labels
from workbench.analysis.statistics import Interval
from workbench.analysis.statistics.confusion import Confusion
from workbench.analysis.statistics.means import Share
from workbench.report.cases import labelled_case
from workbench.report.digests import digest, short_digest
from workbench.report.settings import ReportLike

RATES = ("true_positive_rate", "true_negative_rate", "false_positive_rate", "false_negative_rate", "youden_j")
"""Fields of a grader that are error rates, or None without labels."""


@dataclass(frozen=True)
class Rate:
    """An error rate with its 95 % interval.

    Attributes:
        value: The share, or for J a number from -1 to 1; None if there are no such rows.
        low: Lower end of the interval; None if there are too few rows for one.
        high: Upper end of the interval.
        count: Rows it counts; None for J.
        of: Rows it is a share of; for J all rows with a score and a label.
    """

    value: float | None
    low: float | None
    high: float | None
    count: int | None
    of: int


@dataclass(frozen=True)
class LabelCounts:
    """The labels that error rates are measured with.

    Attributes:
        good: Rows labelled good.
        bad: Rows labelled bad.
        sha256: Digest of the labels in the rows' order.
    """

    good: int
    bad: int
    sha256: str


@dataclass(frozen=True)
class SourceChecks:
    """The five checks that one source has passed.

    Attributes:
        name: Of the grader that has this source.
        sha256: Of the source.
        checks: Whether each check passed, by its name.
        isolation: The sandbox level they ran at.
    """

    name: str
    sha256: str
    checks: Mapping[str, bool]
    isolation: str


@dataclass(frozen=True)
class Probed:
    """The result of a probe.

    Attributes:
        rows: Rows whose variants were tried.
        texts: Texts that were graded.
        holes: Kinds of the findings, such as "mention"; empty if none was found.
        allowed: Kinds that were found and are intended; see `Probe.allow`.
    """

    rows: int
    texts: int
    holes: tuple[str, ...]
    allowed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Certified:
    """The certified data of one grader, or of the combined score of a suite.

    Attributes:
        name: Its name in the suite.
        kind: Its kind, such as "function"; "combined" for a suite's score.
        settings: A digest by the name of each setting; `source` has the SHA-256 of the text.
        validations: The validation of each source in it; empty if it has no source.
        models: Models that were called.
        isolation: As in `Report.summary`.
        scored: Rows with a score.
        failed: Rows that failed.
        skipped: Rows that were skipped.
        pass_threshold: Lowest score that accepts a row, if the grader returns no verdict itself.
        true_positive_rate: Share of good rows accepted; this and the next four are None without labels.
        true_negative_rate: Share of bad rows rejected.
        false_positive_rate: Share of bad rows accepted, rho_0 in Cai et al. 2025 (arXiv 2510.00915).
        false_negative_rate: Share of good rows rejected, rho_1 there.
        youden_j: TPR + TNR - 1: 1 without errors, 0 for guessing.
        probe: The result of a probe; None if there was none.
        digests: A digest of each field above.
    """

    name: str
    kind: str
    settings: Mapping[str, str]
    validations: tuple[SourceChecks, ...]
    models: tuple[str, ...]
    isolation: str
    scored: int
    failed: int
    skipped: int
    pass_threshold: float
    true_positive_rate: Rate | None = None
    true_negative_rate: Rate | None = None
    false_positive_rate: Rate | None = None
    false_negative_rate: Rate | None = None
    youden_j: Rate | None = None
    probe: Probed | None = None
    digests: Mapping[str, str] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        """Digest of its source; of all its settings if it has none."""
        return self.settings.get("source") or digest(self.settings)

    @property
    def has_rates(self) -> bool:
        """Whether it was run on labelled rows."""
        return self.youden_j is not None

    @classmethod
    def build(cls, values: Mapping[str, Any]) -> Self:
        """The part from plain data that matches the schema."""
        rates = {name: values[name] and Rate(**values[name]) for name in RATES}
        lists = {name: tuple((values["probe"] or {}).get(name, ())) for name in ("holes", "allowed")}
        probe = values["probe"] and Probed(**{**values["probe"], **lists})
        validations = tuple(SourceChecks(**validation) for validation in values["validations"])
        return cls(
            **{
                **values,
                **rates,
                "probe": probe,
                "validations": validations,
                "models": tuple(values["models"]),
            }
        )


def seals(part: Any) -> dict[str, str]:
    """A digest of each field of a part, by its name; for graders only of their names, since each has its own digests."""
    sealed = [f.name for f in fields(part) if f.name not in {"digests", "sha256", "claimed"}]
    values = {name: getattr(part, name) for name in sealed}
    if "graders" in values:
        values["graders"] = [grader.name for grader in values["graders"]]
    return {name: short_digest(_plain(value)) for name, value in values.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return asdict(value) if hasattr(value, "__dataclass_fields__") else value


_MIN_ROWS = 10
"""Minimum rows (prompts, if several rows share one) of each class for an interval of J."""

_DECIMALS = 6


def error_rates(report: ReportLike, grader: str, groups: NDArray[np.intp]) -> dict[str, Rate]:
    """The five rates of `Certified` over the scored rows that have a label.

    The first four have the exact interval that *too lenient* and *too strict* use, clustered by prompt.
    J has that of `Confusion.youden`, if each class has at least ten rows.

    Args:
        report: The report, with labels.
        grader: Name of a grader of it.
        groups: Prompt of each row as an integer code, (n,).
    """
    confusion, _ = against_labels(labelled_case(report, grader, groups))
    tpr, tnr = confusion.sensitivity, confusion.specificity
    return {
        "true_positive_rate": _rate(tpr),
        "true_negative_rate": _rate(tnr),
        "false_positive_rate": _rate(tnr.complement),
        "false_negative_rate": _rate(tpr.complement),
        "youden_j": _youden(confusion),
    }


def _rate(share: Share) -> Rate:
    if not share.n:
        return Rate(None, None, None, 0, 0)
    return Rate(**_numbers(share.value, share.interval()), count=share.k, of=share.n)


def _youden(confusion: Confusion) -> Rate:
    youden = confusion.youden
    if math.isnan(youden.value):
        return Rate(None, None, None, None, len(confusion))
    fewest = min(confusion.sensitivity.units, confusion.specificity.units)
    interval = youden.interval() if fewest >= _MIN_ROWS else Interval(math.nan, math.nan)
    return Rate(**_numbers(youden.value, interval), count=None, of=len(confusion))


def _numbers(value: float, interval: Interval) -> dict[str, Any]:
    numbers = {"value": value, "low": interval.lo, "high": interval.hi}
    return {
        name: None if math.isnan(number) else round(float(number), _DECIMALS)
        for name, number in numbers.items()
    }
