"""The ladder of a report: strengths of the writers of completions, and the effect of the order in which a judge reads them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from workbench.analysis.finding import percent
from workbench.analysis.statistics import Codes, Interval, compact, critical_value
from workbench.core.display import DisplayBlock, Displayed, Paragraph, TableBlock
from workbench.core.display_text import counted, interval_text, number, one_line
from workbench.core.errors import ReportError
from workbench.core.grades import Grades
from workbench.core.safe_frame import SafeFrame
from workbench.data.samples.plain import is_missing
from workbench.judges.bradley_terry import BradleyTerryFit, PairResults, fit
from workbench.report.settings import ReportLike

_ELO = 400 / math.log(10)
"""Elo points of one unit of log-odds."""
_MIN_PROMPTS = 10  # with fewer an interval would not be valid
_MAX_WRITERS = 200


@dataclass(frozen=True, eq=False, repr=False)
class LadderTable(Displayed):
    """Strengths of writers, strongest first. Prints as a table.

    Attributes:
        by: The column that names the writers.
        table: One row per writer (index): `strength`, log-odds against an average writer, with its 95 % interval `lo` and
            `hi`, clustered by prompt; `elo`, the same in Elo points around 0; `beats_average`, the chance to beat an average
            writer; comparisons, wins, ties and losses, both orders counted; `rank_lo` and `rank_hi`, the ranks that the
            intervals of the differences allow.
        order_effect: Chance that the completion that is read first wins against an equal one.
        order_interval: Its 95 % interval; NaN with fewer than 10 prompts.
        n_pairs: Number of comparisons; each was judged in both orders.
        prompts: Number of prompts with a comparison of two writers.
        tie_share: Share of results that are ties.
        n_inconsistent: Number of pairs on which the two orders have different winners.
    """

    by: str
    table: pd.DataFrame = field(repr=False)
    order_effect: float
    order_interval: Interval
    n_pairs: int
    prompts: int
    tie_share: float
    n_inconsistent: int

    @property
    def sentence(self) -> str:
        """The comparisons, ties and the effect of the order."""
        low, high = self.order_interval
        interval = (
            ""
            if math.isnan(low)
            else f" (95 % interval {percent(low)} to {percent(high)}; 50 % without an effect)"
        )
        return (
            f"{counted(self.n_pairs, 'pair')} on {counted(self.prompts, 'prompt')}, each in both orders; "
            f"{percent(self.tie_share)} of results are ties; {self.n_inconsistent:,} pairs have another winner in the other order; "
            f"the completion read first wins {percent(self.order_effect)} of equal pairs{interval}"
        )

    def __repr__(self) -> str:
        return f"LadderTable({len(self.table)} writers by {self.by!r}, {self.n_pairs:,} pairs)"

    def _blocks(self) -> Iterator[DisplayBlock]:
        yield TableBlock(
            (self.by, "strength", "95 % interval", "Elo", "beats average", "wins", "ties", "losses", "rank"),
            [self._cells(str(name), line) for name, line in self.table.iterrows()],
            numbers=range(1, 9),
        )
        yield Paragraph(self.sentence)

    @staticmethod
    def _cells(name: str, line: Any) -> list[str]:
        low, high = int(line["rank_lo"]), int(line["rank_hi"])
        counts = [f"{line[column]:,.0f}" for column in ("wins", "ties", "losses")]
        return [
            one_line(name, 60), number(line["strength"]), interval_text(line["lo"], line["hi"]), f"{line['elo']:+.0f}",
            percent(line["beats_average"]), *counts, f"{low}" if low == high else f"{low} to {high}",
        ]  # fmt: skip


def ladder_table(report: ReportLike, by: str, grader: str | None = None) -> LadderTable:
    """The ladder of a report; see `Report.ladder`."""
    name = _ladder_of(report, grader)
    pairs, prompts = _comparisons(report, report.grades[name])
    writers = _writers(report, by)
    named = [
        (_name_of(writers, a), _name_of(writers, b), first, second, prompt)
        for (a, b, first, second), prompt in zip(pairs, prompts, strict=True)
    ]
    between = [pair for pair in named if pair[0] != pair[1]]
    if not between:
        raise ReportError(
            f"no comparison is between two values of {by!r}",
            found=counted(len(named), "comparison"),
            hint="name the column of the model or writer that wrote each completion",
        )
    players = sorted({player for pair in between for player in pair[:2]})
    if len(players) > _MAX_WRITERS:
        raise ReportError(
            f"{by!r} has too many values", found=f"{len(players):,}", expected=f"at most {_MAX_WRITERS}"
        )
    return _table(by, players, between)


def _ladder_of(report: ReportLike, grader: str | None) -> str:
    names = [name for name, grades in report.grades.items() if _is_ladder(grades)]
    wanted = [name for name in names if grader in (None, name)]
    if len(wanted) != 1:
        raise ReportError(
            "a ladder needs one grader with comparisons", found=repr(grader) if grader else counted(len(names), "ladder"),
            expected=", ".join(map(repr, names)) or "a wb.Ladder in the run", hint="report.ladder(by=..., grader=...)",
        )  # fmt: skip
    return wanted[0]


def _is_ladder(grades: Grades) -> bool:
    return any(
        "comparisons" in metadata and "failed_comparisons" in metadata
        for metadata in grades.metadata.values()
    )


Pair = tuple[Any, Any, float, float]


def _comparisons(report: ReportLike, grades: Grades) -> tuple[list[Pair], list[int]]:
    """Row, the other row (or the anchor's name) and both results of each pair, and the pair's prompt."""
    row_of = {str(name): row for row, name in enumerate(report.samples.ids)}
    pairs: list[Pair] = []
    prompts: list[int] = []
    for row, metadata in grades.metadata.items():
        for one in metadata.get("comparisons", ()):
            against = str(one["against"])
            other = against if against.startswith("anchor ") else row_of.get(against)
            if other is not None:
                pairs.append((row, other, float(one["first"]), float(one["second"])))
                prompts.append(int(report.prompt_codes[row]))
    return pairs, prompts


def _writers(report: ReportLike, by: str) -> list[str]:
    names = [str(name) for name in report.samples.column_names]
    if by not in names:
        raise ReportError("the rows have no such column", found=repr(by), expected=", ".join(names))
    return ["(none)" if is_missing(value) else str(value) for value in report.samples.column(by).tolist()]


def _name_of(writers: list[str], player: Any) -> str:
    return player if isinstance(player, str) else writers[player]


def _table(by: str, players: list[str], pairs: list[tuple[str, str, float, float, int]]) -> LadderTable:
    code = {player: at for at, player in enumerate(players)}
    a = np.repeat([code[pair[0]] for pair in pairs], 2)
    b = np.repeat([code[pair[1]] for pair in pairs], 2)
    results = np.array([result for pair in pairs for result in pair[2:4]])
    clusters = compact(np.repeat([pair[4] for pair in pairs], 2).astype(np.intp))
    is_first = np.tile([True, False], len(pairs))
    fitted = fit(PairResults(a, b, results, is_first, clusters, len(players)))
    enough = fitted.clusters >= _MIN_PROMPTS
    critical = critical_value(0.95, fitted.clusters - 1) if enough else math.nan
    counts = {
        name: _count(a[results == value], len(players)) + _count(b[results == 1 - value], len(players))
        for name, value in (("wins", 1.0), ("ties", 0.5), ("losses", 0.0))
    }
    low_rank, high_rank = _ranks(fitted, critical)
    columns = {
        "strength": fitted.strengths,
        "lo": fitted.strengths - critical * fitted.errors,
        "hi": fitted.strengths + critical * fitted.errors,
        "elo": fitted.strengths * _ELO,
        "beats_average": [_chance(value) for value in fitted.strengths],
        "comparisons": sum(counts.values()),
        **counts,
        "rank_lo": low_rank,
        "rank_hi": high_rank,
    }
    table = SafeFrame(columns, index=pd.Index(players, name=by, dtype=object))
    reach = critical * fitted.order_error
    ends = Interval(_chance(fitted.order_effect - reach), _chance(fitted.order_effect + reach))
    inconsistent = sum(pair[2] != pair[3] for pair in pairs)
    return LadderTable(
        by, table.sort_values("strength", ascending=False), _chance(fitted.order_effect), ends, len(pairs), fitted.clusters,
        float((results == 0.5).mean()), inconsistent,
    )  # fmt: skip


def _count(players: Codes, n: int) -> Codes:
    return np.bincount(players, minlength=n).astype(np.intp)


def _ranks(fitted: BradleyTerryFit, critical: float) -> tuple[list[int], list[int]]:
    """Ranks that the 95 % intervals of the differences allow; all ranks without intervals."""
    n = len(fitted.strengths)
    if math.isnan(critical):
        return [1] * n, [n] * n
    apart = fitted.strengths[:, None] - fitted.strengths[None, :]
    reach = critical * fitted.difference_errors
    return (1 + (apart < -reach).sum(1)).tolist(), (n - (apart > reach).sum(1)).tolist()


def _chance(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds)) if not math.isnan(log_odds) else math.nan


def ladder_lines(report: ReportLike) -> Iterator[str]:
    """A sentence for each ladder: comparisons, ties, and pairs that depend on the order."""
    for name, grades in report.grades.items():
        if not _is_ladder(grades):
            continue
        pairs, _ = _comparisons(report, grades)
        failed = sum(metadata.get("failed_comparisons", 0) for metadata in grades.metadata.values())
        ties = sum((first == 0.5) + (second == 0.5) for *_, first, second in pairs)
        first_wins = sum((first == 1.0) + (second == 0.0) for *_, first, second in pairs)
        decided = 2 * len(pairs) - ties
        parts = [
            f"ladder: {one_line(name, 60)}: {counted(len(pairs), 'pair')} in both orders",
            f"{ties:,} of {2 * len(pairs):,} results are ties",
            f"the completion read first won {first_wins:,} of {decided:,} others",
            f"{failed:,} failed comparisons were left out" if failed else "",
        ]
        yield "; ".join(filter(None, parts))
