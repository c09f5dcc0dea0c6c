"""`Report`: the grades of graders for samples, and findings about the graders."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.diagnostics import diagnose
from workbench.analysis.finding import Finding
from workbench.analysis.suite_case import SuiteParts
from workbench.core.discovery import higher_level
from workbench.core.display import DisplayBlock, Displayed
from workbench.core.errors import ReportError
from workbench.core.grades import Grades
from workbench.graders.combine import GateResult
from workbench.report import replay
from workbench.report.agreement import Agreement, agreement_of
from workbench.report.cases import labelled_case, noise_frame, noise_lines, spending_line, weights_frame
from workbench.report.comparison import Comparison, compare_cases
from workbench.report.criteria import criteria_frame
from workbench.report.digests import merged_fields
from workbench.report.frames import long_frame, row_frame, score_frame, summary_frame
from workbench.report.ladder import LadderTable, ladder_lines, ladder_table
from workbench.report.panels import panel_lines, panels_frame
from workbench.report.parquet import read_settings, write_report
from workbench.report.replay import Replay, compare
from workbench.report.report_blocks import isolation_line, report_blocks, too_far_apart
from workbench.report.sample_columns import SampleColumns
from workbench.report.selection import (
    Histogram,
    check_graders,
    check_two_graders,
    default_order,
    histogram,
    ordered,
    select,
)
from workbench.report.sentences import Findings
from workbench.report.settings import Analysis, SamplesLike, check_lengths, label_column
from workbench.report.where import matching

__all__ = ["Report", "compare", "read_report"]


@dataclass(frozen=True, eq=False, repr=False)
class Report(Displayed):
    """Grades of one or more graders over the same samples. Immutable.

    Attributes:
        samples: The rows, n of them.
        grades: Grades by grader name, n rows each, in the samples' order.
        preset: Diagnostics used for `findings`: "workbench" (confidence bounds decide), "seed" (fixed cut-offs) or
            "vllora" (dry run and readiness gate).
        labels: Whether each row is known to be good (True) or bad (False), or unlabelled (None), (n,), or the name of a
            column; names of columns of several annotators, whose majority decides. None without labels.
        pass_threshold: Lowest score that accepts a row, on the scale; None for the middle of the scale, which is
            0.5 of 0 to 1. If a grader returns a verdict itself, that counts instead.
        scale: Lowest and highest score of the graders' scale.
        sources: Source text by grader name, for the HTML report.
        fingerprints: Digests of the settings that each grader ran with, by its name: certificates are checked with them.
        gate: The result of the suite's gate; None without a gate.
        limits: Limits of diagnostics that differ from the defaults, by kind: {"too-lenient": 0.02}.
        notes: Sentences about the run itself: that it was stopped, or that a judge could not be reached.
        suite: How the graders are combined: weights, combining rule and gate; None if unknown.

    Raises:
        ReportError: A grader has another number of rows than the samples, or `labels` names no column.
    """

    _label = "Report"

    samples: SamplesLike
    grades: Mapping[str, Grades]
    preset: str = field(default="workbench", kw_only=True)
    labels: Sequence[bool | None] | str | None = field(default=None, kw_only=True)
    pass_threshold: float | None = field(default=None, kw_only=True)
    scale: tuple[float, float] = field(default=(0.0, 1.0), kw_only=True)
    sources: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    fingerprints: Mapping[str, Mapping[str, str]] = field(default_factory=dict, kw_only=True)
    gate: GateResult | None = field(default=None, kw_only=True)
    limits: Mapping[str, float] = field(default_factory=dict, kw_only=True)
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    suite: SuiteParts | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "grades", dict(self.grades))
        object.__setattr__(self, "labels", label_column(self.samples, self.labels))
        check_lengths(self.grades, len(self.samples))

    def __getstate__(self) -> dict[str, Any]:
        """Pickled without computed values, such as findings, which may contain functions: they are computed again."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.samples)

    @property
    def graders(self) -> list[str]:
        """Names of the graders, in order."""
        return list(self.grades)

    @property
    def groups(self) -> Sequence[Hashable] | NDArray[Any]:
        """The prompt of each row, (n,)."""
        return self.samples.groups

    @cached_property
    def columns(self) -> SampleColumns:
        """Columns of the rows that diagnostics read in addition to the scores: topics and lengths."""
        return SampleColumns(self.samples)

    @cached_property
    def prompt_codes(self) -> NDArray[np.intp]:
        """The prompt of each row as a whole number, (n,): encodes `groups`."""
        return self.samples.group_codes

    @cached_property
    def analysis(self) -> Analysis:
        """Values computed once for this report; see `reuse`."""
        return Analysis()

    @property
    def known_claims(self) -> dict[Any, Any]:
        """Results that `diagnose` need not compute again."""
        return self.analysis.claims

    @cached_property
    def frame(self) -> pd.DataFrame:
        r"""One row for each sample and grader.

        Columns: sample (id), row (number), grader, status ("scored", "failed", "skipped"), score (NaN
        if unscored), passed (the grader's own verdict, missing if it returns none), reasoning, error_kind, error,
        seconds, tokens, cost (US dollars), isolation (as in `summary`). Ids, reasoning and errors can be
        written as UTF-8: a lone surrogate in them is an escape such as \ud800.
        """
        return long_frame(self.samples.ids, self.grades)

    @cached_property
    def scores(self) -> pd.DataFrame:
        """One row for each sample (index: ids), one float column for each grader, NaN if unscored."""
        return score_frame(self.samples.ids, self.grades)

    @cached_property
    def summary(self) -> pd.DataFrame:
        """One row for each grader.

        Columns: n, scored, failed, skipped; over the scored rows mean, mean_lo and mean_hi (95 %
        interval clustered by prompt; NaN if there are too few prompts), sd (sample sd, ddof=1), min, q25,
        median, q75, max; zero_variance, zero_variance_lo and zero_variance_hi (share of zero-variance prompts among those with several completions,
        with its 95 % interval; NaN for fewer than ten); seconds_total, tokens, cost (NaN if unknown) and
        isolation: the sandbox level, "not needed" (built-in code), "no sandbox", or "not run" (no row was tried).
        """
        return summary_frame(self.grades, self.prompt_codes, self.scale, self.analysis.summaries)

    @cached_property
    def noise(self) -> pd.DataFrame:
        """One row for each grader that graded its rows several times: its self-agreement.

        Columns: repeats, rows (with at least two scores), flips (rows without one verdict in all repeats), flip_share,
        flip_lo, flip_hi, icc (ICC(1,1)), icc_lo, icc_hi (95 % intervals clustered by prompt), sd_within (of one grade
        around its row's mean) and floor (change of the mean by noise alone from run to run, at 95 %).
        """
        return noise_frame(self)

    @property
    def repeats(self) -> dict[str, tuple[Grades, ...]]:
        """Grades of each repeat by grader, in the samples' order; without graders that graded every row once."""
        return {name: grades.repeats for name, grades in self.grades.items() if grades.repeats}

    @cached_property
    def weights(self) -> pd.DataFrame:
        """The contribution of each grader to the combined score, one row per grader.

        Columns: nominal, effective (share of the combined score's variance that it drives), lo and hi (95 % interval),
        decides (rows whose verdict would change without it) of (rows all scored), cost_share, seconds_share; missing if
        the suite's rule has none.
        """
        return weights_frame(self)

    @cached_property
    def criteria(self) -> pd.DataFrame:
        """One row for each criterion, and each tag (`level`), of graders with a rubric, largest share of the variance first.

        Columns: grader, criterion, level, points (mean), rows, pass_rate (met, or not met if points are below 0), labels,
        kappa (with the criterion's own labels, else of passing it with the row's label), variance (share of the score's
        variance before clipping, summing to 1 over criteria), and the 95 % intervals of the three, clustered by prompt.
        """
        return criteria_frame(self)

    @cached_property
    def panels(self) -> pd.DataFrame:
        """One row for each member of each panel.

        Columns: grader, judge, votes, failed, skipped, dissents (votes against the outcome), dissent_share, labels, kappa
        (of its verdicts with the labels), and the 95 % intervals of the two, clustered by prompt.
        """
        return panels_frame(self)

    def ladder(self, by: str, grader: str | None = None) -> LadderTable:
        """Strengths of the writers of completions by the comparisons of a `wb.Ladder`, with intervals clustered by prompt.

        Args:
            by: The column that names who wrote a completion, such as "model".
            grader: The ladder's name. May be omitted if the report has one.

        Raises:
            ReportError: No ladder, no such column, or no comparison of two writers.
        """
        return ladder_table(self, by, grader)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """The findings about the graders, most severe first; see `workbench.analysis.diagnostics.diagnose`."""
        return Findings(diagnose(
            self, preset=self.preset, labels=self.labels, pass_threshold=self.pass_threshold, scale=self.scale,
            groups=self.prompt_codes, limits=self.limits,
        ))  # fmt: skip

    @cached_property
    def errors(self) -> pd.DataFrame:
        """The failed rows: sample, row, grader, error_kind, error, seconds."""
        failed = self.frame[self.frame["status"] == "failed"]
        return failed[["sample", "row", "grader", "error_kind", "error", "seconds"]].reset_index(drop=True)

    @property
    def isolation(self) -> str:
        """How the graders were confined, such as "isolation: kernel"."""
        return isolation_line(self.summary)

    @property
    def spending(self) -> str:
        """The cost of the judges, such as "cost: $0.0123 for 45,210 tokens"; "" if no model was called."""
        return spending_line(self.grades)

    @property
    def facts(self) -> tuple[str, ...]:
        """Sentences about the whole run: unknown numbers, self-agreement of graders, cost of judges, old graders."""
        lines = (
            *too_far_apart(self.summary),
            *noise_lines(self.noise),
            *panel_lines(self),
            *ladder_lines(self),
            self.spending,
            *replay.old_lines(self),
            *replay.replay_lines(self),
        )
        return tuple(filter(None, lines))

    @cached_property
    def histograms(self) -> dict[str, Histogram]:
        """Scores of each grader counted into 20 bins."""
        return {name: histogram(grades) for name, grades in self.grades.items()}

    def diagnose(
        self,
        *,
        preset: str | None = None,
        labels: Sequence[bool | None] | str | None = None,
        pass_threshold: float | None = None,
        scale: tuple[float, float] | None = None,
        limits: Mapping[str, float] | None = None,
    ) -> Report:
        """The same report with other findings; settings that are not passed are unchanged.

        With `labels`, as in `Report`, a saturated grader can be shown to be too lenient or too strict, with the evidence
        rows. The report's pass threshold must be within a new `scale` too.

        Raises:
            ReportError: As `workbench.analysis.diagnostics.diagnose`.
        """
        settings = {
            "preset": preset, "labels": labels, "pass_threshold": pass_threshold, "scale": scale, "limits": limits,
        }  # fmt: skip
        changes: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
        report = replace(self, **changes)
        _ = report.findings  # computed now, so that a wrong argument is reported here
        return report

    def rows(
        self, grader: str | None = None, where: Any = None, *, sort: str | None = "", limit: int | None = None
    ) -> pd.DataFrame:
        """Rows to read: prompt, completion, reference, and the grader's score and reasoning.

        Args:
            grader: Its name. May be omitted if the report has one, or `where` is a finding; without a name
                the frame has one score column for each grader.
            where: All rows (None), the evidence of a `Finding`, a status ("failed"), a function of the
                score, a (low, high) bin as in the plot (high itself belongs to the bin only at the right end of
                the plot), n truth values, or row numbers in an array or list.
            sort: "score" (lowest first), "-score", or None to preserve the order. By default findings and
                row numbers preserve their order and everything else is sorted by score.
            limit: Maximum number of rows; None for all.

        Returns:
            Index: row numbers. Columns sample, prompt, completion, reference, then status, score, passed, reasoning,
            error for one grader (and repeats, such as "1, 0, 1", if it has any), or a score column for each of several.

        Raises:
            ReportError: An unknown grader, or an invalid selection of rows.
        """
        names = self._names(grader or (where.grader if isinstance(where, Finding) else None))
        grades = self.grades[names[0]] if len(names) == 1 else None
        rows = select(where, grades, len(self))
        if grades is not None:
            rows = ordered(rows, grades, default_order(where) if sort == "" else sort)
        return row_frame(self.samples, {name: self.grades[name] for name in names}, rows[:limit])

    def row_numbers(self, *conditions: Mapping[str, Any]) -> NDArray[np.intp]:
        """Numbers of the rows that meet every condition. Conditions are plain dicts, as clicks in a figure send them.

        Such as `{"grader": g, "score": [0.9, 1]}`, `{"grader": g, "status": "failed"}`, `{"grader": g, "passed":
        True}`, `{"label": False}` (None: unlabelled), `{"wrong": g}` (verdict differs from the label), `{"finding": [g, kind]}`,
        `{"apart": [a, b], "least": 0.5}`, `{"verdicts": [a, b], "are": [True, False]}`, `{"text": "words"}` or
        `{"rows": [1, 2]}`. The result can be passed to `rows(where=...)`.

        Raises:
            ReportError: An unknown condition, grader, finding or row.
        """
        return matching(self, conditions)

    def _names(self, grader: str | None) -> list[str]:
        if grader is None:
            return self.graders
        check_graders([grader], self.grades)
        return [grader]

    def compare(self, a: str, b: str) -> Comparison:
        """Two graders on the rows that both scored: paired difference, verdicts, labels and disagreements.

        Args:
            a: A grader of the report, or one that the rows came with, such as "match (old)"; "old" if there is one.
            b: Another one.

        Raises:
            ReportError: An unknown grader, or the same one twice.
        """
        whole, a, b = replay.resolved(self, a, b)
        check_two_graders(a, b, whole.grades)
        return compare_cases(
            self.samples, *(labelled_case(whole, name, self.prompt_codes) for name in (a, b))
        )

    def with_old(self) -> Report:
        """The same report with the graders that the rows came with next to its own, such as "match (old)"."""
        return replay.with_old(self)

    def replay(self) -> Replay:
        """The graders that the rows have past scores of, such as of an OpenAI export: equal and differing rows, and why.

        Raises:
            ReportError: The rows have no past scores, or none of a grader of the report.
        """
        return replay.replay_of(self, replay.old_grades_of(self.samples, {}))

    def agreement(
        self,
        grader: str | None = None,
        labels: Sequence[bool | None] | str | None = None,
        *,
        labeller: str = "",
        weights: Any = None,
    ) -> Agreement:
        """Agreement of a grader's verdicts with labels: kappa, bad rows rejected, good rows accepted.

        Args:
            grader: Its name. May be omitted if the report has one.
            labels: As in `Report`; the report's by default.
            labeller: Who gave them, shown in the text.
            weights: How many rows each labelled row represents, on any scale, (n,), if they were sampled with unequal
                probability: for example as many accepted as rejected ones (Begg & Greenes 1983). None for labels of all
                rows, of rows drawn at random, or of probes.

        Raises:
            ReportError: An unknown grader, no name although the report has several, or invalid labels or weights.
        """
        names = self._names(grader)
        if len(names) != 1:
            raise ReportError("agreement needs one grader", expected=" or ".join(map(repr, names)))
        return agreement_of(labelled_case(self, names[0], self.prompt_codes, labels), labeller, weights)

    def merge(self, other: Report, *, suffix: str = "") -> Report:
        """One report with this report's graders and the other's, over the same samples.

        Args:
            other: A report over the same rows in the same order: ids, threads and references are compared.
            suffix: Appended to the other's grader names that exist in both, such as " v2".

        Raises:
            ReportError: Other samples (the first row that differs is named), or a name that exists in both even with the suffix.
        """
        return replace(self, **merged_fields(self, other, suffix))

    def plot(self, graders: str | Sequence[str] | None = None, *, figure: str = "scores") -> Any:
        """A plotly figure: the distribution of each grader's scores with the findings above it, or another one.

        Args:
            graders: Their names, or one name; None for all.
            figure: Name of a registered figure, such as "scores", "labels" or "overview".

        Raises:
            ReportError: Unknown grader or figure.
        """
        return higher_level("draw")(self, [graders] if isinstance(graders, str) else graders, figure)

    def to_parquet(self, path: str | Path) -> Path:
        """Write grades, labels and settings as one Parquet file, which `read_report` and other tools can read.

        Columns: sample (id), label, and for each grader "<grader>.status", score, passed, reasoning, error_kind, error,
            metadata (JSON), seconds, tokens, cost, ungraded (why a row has a score although it was not graded) and
            graded_again. The rows themselves are not copied. Text is written as UTF-8: a lone surrogate becomes an escape.

        Raises:
            FormatError: The file cannot be written; an old one is untouched.
        """
        return write_report(self, path)

    def to_html(self, path: str | Path, **settings: Any) -> Path:
        """Write the report as one self-contained HTML file; see `workbench.report.page.write_html`."""
        written: Path = higher_level("write_html")(self, path, **settings)
        return written

    def __repr__(self) -> str:
        return f"Report({len(self):,} rows, graders {', '.join(map(repr, self.graders))})"

    def _blocks(self) -> Iterable[DisplayBlock]:
        return report_blocks(self)


def read_report(path: str | Path, samples: Any = None) -> Report:
    """The report that `Report.to_parquet` wrote.

    It has the same grades, labels, settings and findings. The file does not contain how a suite combines its graders, so
    findings about the suite as a whole are missing; of a gate it contains the verdict, but not which rows passed it.

    Args:
        path: The file.
        samples: The rows that were graded, in the same order; by default they are read from their original file.

    Raises:
        ReportError: Not a report, one of a newer release, or samples that are missing or not the ones that were graded.
    """
    return Report(**read_settings(path, samples))
