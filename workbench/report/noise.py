"""The self-agreement of each grader of a report, if rows were graded several times."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pandas as pd

from workbench.analysis.diagnostics.finding import percent
from workbench.analysis.diagnostics.repeats import Repeats, repeats_of
from workbench.analysis.statistics.noise import noise_floor
from workbench.core.display_text import one_line
from workbench.core.safe_frame import SafeFrame
from workbench.report.cases import labelled_case
from workbench.report.protocols import ReportLike

__all__ = ["noise_frame", "noise_lines"]

_COLUMNS = (
    "repeats", "rows", "flips", "flip_share", "flip_lo", "flip_hi", "icc", "icc_lo", "icc_hi", "sd_within", "floor",
)  # fmt: skip


def noise_frame(report: ReportLike) -> pd.DataFrame:
    """One row for each grader with repeats; see `Report.noise`."""
    repeated = [name for name, grades in report.grades.items() if grades.repeats]
    found = {name: repeats_of(labelled_case(report, name, report.prompt_codes)) for name in repeated}
    lines = {name: _line(repeats, report.scale) for name, repeats in found.items() if repeats is not None}
    index = pd.Index(list(lines), dtype=object, name="grader")
    return SafeFrame(list(lines.values()), columns=list(_COLUMNS), index=index)


def _line(repeats: Repeats, scale: tuple[float, float]) -> dict[str, Any]:
    flips, icc = repeats.flip_share, repeats.reliability
    span, n = min(scale[1] - scale[0], sys.float_info.max), len(repeats.rows)
    flip_ends, icc_ends = flips.interval(), icc.interval()
    floor = noise_floor(repeats.grade_sd, repeats.grade_sd, n) * span
    values = (
        repeats.scores.shape[1], n, flips.k, flips.value, *flip_ends, icc.value, *icc_ends,
        repeats.within_sd * span, floor,
    )  # fmt: skip
    return dict(zip(_COLUMNS, values, strict=True))


def noise_lines(noise: pd.DataFrame) -> Iterator[str]:
    """A sentence for each row of `Report.noise`."""
    for name, line in noise.iterrows():
        reliability = "" if line["icc"] != line["icc"] else (  # NaN is not itself: scores that do not vary have none
            f", ICC {line['icc']:.2f} ({line['icc_lo']:.2f} to {line['icc_hi']:.2f})"
        )  # fmt: skip
        yield (
            f"noise: {one_line(str(name))} graded {line['rows']:,.0f} rows {line['repeats']:.0f} times; {line['flips']:,.0f} got "
            f"different verdicts, {percent(line['flip_share'])} (95 % interval {percent(line['flip_lo'])} to "
            f"{percent(line['flip_hi'])}){reliability}; noise alone moves its mean by up to {line['floor']:.2g}"
        )
