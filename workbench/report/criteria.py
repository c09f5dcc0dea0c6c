"""The criteria of rubrics in a report: pass rate, agreement with labels, and share of the score's variance of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.finding import percent
from workbench.analysis.statistics import Flags, Floats, Interval, compact
from workbench.analysis.statistics.means import share
from workbench.analysis.statistics.resampling import variance_share
from workbench.core.display import DisplayBlock, Paragraph, TableBlock
from workbench.core.display_text import interval_text, number, one_line
from workbench.core.grades import SCORED, Grades
from workbench.core.safe_frame import SafeFrame
from workbench.report.cases import kappa_cells, label_codes
from workbench.report.settings import ReportLike

Rows = NDArray[np.intp]

_COLUMNS = (
    "grader", "criterion", "level", "points", "rows", "pass_rate", "pass_lo", "pass_hi", "labels", "kappa", "kappa_lo",
    "kappa_hi", "variance", "variance_lo", "variance_hi",
)  # fmt: skip
_MIN_PROMPTS = 10  # with fewer an interval would not be valid
_MAX_LINES = 200  # criteria, and tags, of one grader: those in most rows
_MAX_BOOTSTRAPS = 50  # those with the largest shares: an interval takes about 20 ms
_SHOWN = 12  # lines of a printed report


@dataclass(frozen=True, eq=False)
class RubricVerdicts:
    """The verdicts of one grader on criteria, v of them.

    Attributes:
        rows: Number of each verdict's row in the report, (v,).
        texts: Text of each criterion, (v,).
        tags: Tags of each criterion, (v,).
        points: (v,).
        met: (v,).
        labels: An annotator's verdict on the criterion: 1 met, 0 not met, -1 unlabelled, (v,).
        shares: Contribution to the row's score: points if it is met, over the possible points, (v,).
    """

    rows: Rows
    texts: Sequence[str]
    tags: Sequence[tuple[str, ...]]
    points: Floats
    met: Flags
    labels: NDArray[np.int8]
    shares: Floats

    @property
    def passes(self) -> Flags:
        """Whether the completion is as wanted: the criterion is met, or a fault is not, (v,)."""
        wanted: Flags = self.met == (self.points >= 0)
        return wanted


def rubric_verdicts(grades: Grades) -> RubricVerdicts | None:
    """The verdicts on criteria in a grader's metadata; None if it has none."""
    found = [
        (row, record, float(metadata["possible"]))
        for row, metadata in grades.metadata.items()
        if grades.codes[row] == SCORED
        and "possible" in metadata
        and isinstance(metadata.get("criteria"), list)
        for record in metadata["criteria"]
    ]
    if not found:
        return None
    records = [record for _, record, _ in found]
    points = np.array([float(record["points"]) for record in records])
    met = np.array([bool(record["met"]) for record in records])
    labels = [record.get("label") for record in records]
    return RubricVerdicts(
        np.array([row for row, _, _ in found], np.intp),
        [str(record["criterion"]) for record in records],
        [tuple(record.get("tags", ())) for record in records],
        points,
        met,
        np.array([-1 if label is None else int(label) for label in labels], np.int8),
        np.where(met, points, 0.0) / np.array([possible for _, _, possible in found]),
    )


def criteria_frame(report: ReportLike) -> pd.DataFrame:
    """One row for each criterion and each tag of a grader; see `Report.criteria`."""
    lines = [
        {"grader": name, **line}
        for name, grades in report.grades.items()
        if (verdicts := rubric_verdicts(grades)) is not None
        for line in _lines(report, verdicts)
    ]
    return SafeFrame(lines, columns=list(_COLUMNS))


def _lines(report: ReportLike, verdicts: RubricVerdicts) -> Iterator[dict[str, Any]]:
    rows, place = np.unique(verdicts.rows, return_inverse=True)
    total: Floats = np.bincount(place, weights=verdicts.shares).astype(np.float64)
    context = _Context(report, verdicts, rows, place, total)
    by_tag: dict[str, list[int]] = {}
    by_text: dict[str, list[int]] = {}
    for at, (text, tags) in enumerate(zip(verdicts.texts, verdicts.tags, strict=True)):
        by_text.setdefault(text, []).append(at)
        for tag in tags:
            by_tag.setdefault(tag, []).append(at)
    for level, members in (("criterion", by_text), ("tag", by_tag)):
        largest = sorted(members.items(), key=lambda item: -len(item[1]))[:_MAX_LINES]
        found = [context.line(text, level, np.array(at, np.intp)) for text, at in largest]
        by_size = sorted(found, key=lambda line: -abs(np.nan_to_num(line["variance"])))
        for line in by_size[:_MAX_BOOTSTRAPS]:
            line["variance_lo"], line["variance_hi"] = context.variance_interval(
                np.array(members[line["criterion"]])
            )
        yield from by_size


@dataclass(frozen=True, eq=False)
class _Context:
    """What all criteria of a grader share.

    Attributes:
        report: The report.
        verdicts: All verdicts, v of them.
        rows: Numbers of the rows with verdicts, (m,).
        place: Index of each verdict's row among these, (v,).
        total: Score of each row before clipping, (m,).
    """

    report: ReportLike
    verdicts: RubricVerdicts
    rows: Rows
    place: Rows
    total: Floats

    def line(self, text: str, level: str, at: Rows) -> dict[str, Any]:
        """The numbers of some verdicts, without the interval of their variance share."""
        verdicts = self.verdicts
        rate = share(verdicts.passes[at], self._prompts(at))
        low, high = rate.interval()
        away = self.total - self.total.mean()
        spread = float(away @ away)
        varies = spread > 1e-12 * len(away)
        return {
            "criterion": text,
            "level": level,
            "points": float(verdicts.points[at].mean()),
            "rows": len(np.unique(verdicts.rows[at])),
            "pass_rate": rate.value,
            "pass_lo": low,
            "pass_hi": high,
            **self._kappa(at),
            "variance": float(verdicts.shares[at] @ away[self.place[at]]) / spread if varies else nan,
            "variance_lo": nan,
            "variance_hi": nan,
        }

    def _kappa(self, at: Rows) -> dict[str, Any]:
        """Agreement with the criterion's own labels if it has any, else of passing it with the row's label."""
        own = self.verdicts.labels[at]
        if (own >= 0).any():
            verdicts, labels = self.verdicts.met[at], own
        else:
            verdicts, labels = self.verdicts.passes[at], label_codes(self.report)[self.verdicts.rows[at]]
        return kappa_cells(verdicts, labels, self.report.prompt_codes[self.verdicts.rows[at]])

    def _prompts(self, at: Rows) -> Rows:
        return compact(self.report.prompt_codes[self.verdicts.rows[at]])

    def variance_interval(self, at: Rows) -> Interval:
        """The 95 % interval of the share of the score's variance, clustered by prompt; NaN for few prompts."""
        prompts = compact(self.report.prompt_codes[self.rows])
        if prompts.max() + 1 < _MIN_PROMPTS or len(np.unique(self._prompts(at))) < _MIN_PROMPTS:
            return Interval(nan, nan)
        part = np.bincount(self.place[at], weights=self.verdicts.shares[at], minlength=len(self.rows))
        return variance_share(part.astype(np.float64), self.total, prompts).interval()


_HEADS = ("criterion", "points", "rows", "pass rate", "95 % interval", "kappa", "95 % interval", "share of variance", "95 % interval")  # fmt: skip


def criteria_blocks(report: Any) -> Iterator[DisplayBlock]:
    """A table of the criteria of each grader with a rubric: those with the largest share of the variance, then tags."""
    frame = report.criteria
    for grader, lines in frame.groupby("grader", sort=False):
        tags = lines[lines["level"] == "tag"]
        shown = tags if len(tags) and _are_single(lines) else lines[lines["level"] == "criterion"]
        more = f", the first {_SHOWN} of {len(shown):,}; all: report.criteria" if len(shown) > _SHOWN else ""
        kind = "tags" if shown is tags else "criteria"
        yield Paragraph(f"{kind} of {one_line(str(grader), 60)} by their share of the score's variance{more}")
        yield TableBlock(
            _HEADS, [_cells(line) for _, line in shown.head(_SHOWN).iterrows()], range(1, len(_HEADS))
        )


def _are_single(lines: pd.DataFrame) -> bool:
    """Whether most criteria are in one row only, so that their tags are more informative."""
    criteria = lines[lines["level"] == "criterion"]
    return bool((criteria["rows"] == 1).mean() > 1 / 2)


def _cells(line: Mapping[str, Any]) -> list[str]:
    return [
        one_line(line["criterion"], 80),
        f"{line['points']:+.3g}",
        f"{line['rows']:,}",
        percent(line["pass_rate"]),
        f"{percent(line['pass_lo'])} to {percent(line['pass_hi'])}",
        number(line["kappa"]),
        interval_text(line["kappa_lo"], line["kappa_hi"]),
        "" if np.isnan(line["variance"]) else percent(line["variance"]),
        interval_text(line["variance_lo"], line["variance_hi"]),
    ]
