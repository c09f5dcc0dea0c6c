"""`Probe`: the results of grading variants of the rows, and their display."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from workbench.analysis.diagnostics import Finding
from workbench.analysis.diagnostics.finding import shape_of
from workbench.core.discovery import higher_level
from workbench.core.display import (
    bundle,
    escaped,
    folded,
    html_block,
    markdown_lines,
    markdown_text,
    paragraph,
    sign,
)
from workbench.core.display_text import counted, one_line
from workbench.core.errors import ReportError
from workbench.core.grade import ErrorKind, Grade
from workbench.core.grades import Grades
from workbench.core.safe_frame import SafeFrame
from workbench.data.samples import Samples
from workbench.probes.base import Base
from workbench.probes.board import ProbeOutcome, with_texts
from workbench.probes.regression import Again, again, kept_rows, kinds_behind
from workbench.probes.tried import Family, table
from workbench.report import Report
from workbench.report.frames import rows_markdown, rows_table

_MAX_FINDINGS, _MAX_TEXTS = 12, 5
_COLUMNS = ["sample", "prompt", "reference", "text", "score"]


@dataclass(frozen=True, eq=False, repr=False)
class Probe:
    """What adversarial and equivalent variants of the rows showed about a grader. Immutable; prints as sentences.

    Attributes:
        grader: The grader's name.
        samples: The rows drawn.
        findings: Confirmed holes, the cause first; each names its text, and its rows in `report`.
        notes: Properties that sound graders may have too, such as that a full stop after the reference is rejected.
        consequences: Findings that follow from a cause among `findings`, such as an ignored sign if any number passes.
        run_notes: Sentences about the run itself, such as that a budget was exhausted.
        seconds: How long it took.
        tries: Number of graded texts.
        fingerprints: Digests of the settings of the probed graders, as in `Report`.
    """

    grader: str
    samples: Samples
    findings: tuple[Finding, ...]
    notes: tuple[Finding, ...]
    consequences: tuple[Finding, ...] = ()
    run_notes: tuple[str, ...] = ()
    seconds: float = 0.0
    tries: int = 0
    fingerprints: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    _families: tuple[Family, ...] = field(default=(), repr=False)
    _base: Base | None = field(default=None, repr=False)
    _held: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def _mark(self) -> float | None:
        """The pass threshold of the rule; None if a text has to score as high as its row's correct completion."""
        return self._base.rule.mark if self._base else None

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per transformation.

        Columns: transformation, expects ("reject" or "accept"), tried (texts), rows, wrong (rows with a misgraded text),
        share of the rows, lo and hi (its 95 % interval), failed (texts without a score), difference (mean score minus
        that of the correct completion in the same row, NaN if unknown).
        """
        return table(self._families)

    def texts(self, name: str | None = None) -> pd.DataFrame:
        """The misgraded texts, the shortest first: transformation, sample, prompt, reference, text, score.

        Args:
            name: A transformation, or a finding's kind; None for all that findings name.

        Raises:
            ReportError: No such transformation was graded.
        """
        names = [family.variant.name for family in self._families]
        wanted = kinds_behind(
            {name} if name is not None else {finding.kind for finding in self.findings}, self._families
        )
        if name is not None and not wanted & {*names}:
            raise ReportError(
                "no such transformation was graded", found=repr(name), expected=", ".join(names)
            )
        return self._fooled(wanted)

    def _fooled(self, names: AbstractSet[str]) -> pd.DataFrame:
        """The misgraded texts of some transformations."""
        chosen = [family for family in self._families if family.variant.name in names]
        lines = [
            {
                "transformation": family.variant.name,
                "sample": self.samples.ids[text.row],
                "prompt": self._base.rows[text.row].prompt if self._base else "",
                "reference": self._base.references[text.row] if self._base else "",
                "text": text.text,
                "score": text.outcome.score,
            }
            for family in chosen
            for text in family.fooled
        ]
        return SafeFrame(lines, columns=["transformation", "sample", "prompt", "reference", "text", "score"])

    @cached_property
    def report(self) -> Report:
        """All graded texts as a report: column `probe` names the transformation; labels are the known truth.

        Texts of transformations without a known truth have no label. Findings' rows are rows of this report.
        """
        lines = [(family, text) for family in self._families for text in family.texts]
        grades = Grades.empty(len(lines))
        for row, (_, text) in enumerate(lines):
            grades.put(row, _grade(text.outcome))
        labels = [
            family.variant.expects == "accept" if family.variant.name in self._held else None
            for family, _ in lines
        ]
        samples = with_texts(
            self.samples, [text.row for _, text in lines], [text.text for _, text in lines],
            probe=[family.variant.name for family, _ in lines],
        )  # fmt: skip
        mark = self._base.rule.usual_mark if self._base else None
        return Report(
            samples, {self.grader: grades}, labels=labels, pass_threshold=mark, scale=_scale(grades)
        )

    @cached_property
    def rows(self) -> Samples:
        """Regression rows to save: misgraded texts, and correct completions that the grader accepts.

        Columns in addition to the rows': `probe` (the transformation, or `right answer`), `label` (True: to be accepted,
        False: to be rejected) and `was` (whether the grader was right about it when it was probed).
        """
        return kept_rows(self.samples, self._families, self._base, self.findings, self._held)

    def again(self, grader: Any, *, budget: Any = None) -> Again:
        """Grade the regression rows with the fixed grader: which holes are closed, which correct completions it rejects.

        Args:
            grader: The fixed grader.
            budget: As in `probe`.
        """
        return again(grader, self.rows, pass_threshold=self._mark, budget=budget)

    def plot(self) -> Any:
        """The probe chart, a plotly figure: one bar per transformation, the share of misgraded rows, its interval."""
        return higher_level("draw")(self.report, None, "probes")

    @property
    def ok(self) -> bool:
        """Whether texts were graded and no hole was found."""
        return bool(self.tries) and not self.findings

    @property
    def _head(self) -> str:
        """The number of graded texts and of holes."""
        if not self.tries:
            return f"{one_line(self.grader)}: nothing to grade, because there are no rows or no correct completions to start from"
        found = f"{counted(len(self.findings), 'hole')} found" if self.findings else "no hole found"
        tried = f"{counted(self.tries, 'text')} tried on {counted(len(self.samples), 'row')}"
        return f"{one_line(self.grader)}: {tried}, {found}"

    def __str__(self) -> str:
        """One sentence per finding, the properties, and the number of graded texts."""
        lines = [
            self._head,
            *(
                f"  {finding.severity.replace('_', ' '):<7} {one_line(finding.sentence, 900)}"
                for finding in self.findings
            ),
        ]
        if more := [finding for finding in self.consequences if not self._is_said(finding)]:
            lines.append(f"  so it also {_listed(more)}")
        if self.notes:
            lines.append(f"  sound graders may do this too: it {_listed(self.notes)}")
        return "\n".join([*lines, *(f"  {one_line(note, 400)}" for note in self.run_notes)])

    def _is_said(self, finding: Finding) -> bool:
        """Whether the leading sentence names it already."""
        return _claim(finding).removeprefix("accepts ") in self.findings[0].message

    def __repr__(self) -> str:
        return f"Probe({self.grader!r}, {len(self.findings)} findings, {self.tries:,} texts)"

    def _repr_html_(self) -> str:
        return as_html(
            self._head,
            self.findings,
            {"that follow": self.consequences, "that sound graders may have too": self.notes},
            self.table,
            self._texts_of,
            run_notes=self.run_notes,
        )

    def _repr_markdown_(self) -> str:
        return as_markdown(self._head, self.findings, self.table, run_notes=self.run_notes)

    def _texts_of(self, finding: Finding) -> pd.DataFrame:
        """The texts of a finding; none if it is not of a transformation."""
        return self._fooled(kinds_behind({finding.kind}, self._families))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return bundle(self)


def _listed(findings: Sequence[Finding]) -> str:
    """The claims of findings, without examples and intervals, in one line."""
    return f"{'; '.join(one_line(_claim(finding), 120) for finding in findings)}."


def _claim(finding: Finding) -> str:
    """A finding's claim, without its numbers."""
    return finding.message.partition(":")[0]


def _grade(outcome: ProbeOutcome) -> Grade:
    if outcome.error:
        kind, _, message = outcome.error.partition(": ")
        return Grade.failed(ErrorKind(kind), message)
    return Grade(outcome.score, passed=outcome.passed)


def _scale(grades: Grades) -> tuple[float, float]:
    """0 to 1, or from the lowest to the highest score if some are outside."""
    scores = grades.scores[~np.isnan(grades.scores)]
    lo, hi = min(0.0, float(scores.min(initial=0.0))), max(1.0, float(scores.max(initial=1.0)))
    return lo, hi


def as_html(
    head: str,
    findings: Sequence[Finding],
    more: Mapping[str, Sequence[Finding]],
    table: pd.DataFrame,
    texts: Callable[[Finding], pd.DataFrame],
    *,
    run_notes: Sequence[str] = (),
) -> str:
    """Findings with the texts that show them, properties, and the table of transformations, folded.

    Args:
        head: The number of graded texts, in a sentence.
        findings: Confirmed holes.
        more: Further findings to fold away, by their heading.
        table: `Probe.table`.
        texts: The texts of a finding, empty if there are none.
        run_notes: Sentences about the run.
    """
    parts = [
        f"<p class='lead'><strong>{escaped(head, 400)}</strong></p>",
        *(paragraph(note, "failed", limit=400) for note in run_notes),
        *(
            _item(finding, texts(finding), leads=at == 0)
            for at, finding in enumerate(findings[:_MAX_FINDINGS])
        ),
        paragraph(_rest(findings), "quiet"),
        *(folded(f"{len(some):,} {heading}", _quiet(some)) for heading, some in more.items() if some),
        folded("all transformations", rows_table(table, None)),
    ]
    return html_block("".join(parts), "wb-report", label="Probe")


def _item(finding: Finding, texts: pd.DataFrame, *, leads: bool) -> str:
    kind = " class='lead'" if leads else ""
    sentence = f"<p{kind}>{sign(shape_of(finding))}{escaped(finding.sentence, 1_000)}</p>"
    few = texts[_COLUMNS].head(_MAX_TEXTS) if len(texts) else texts
    validation = (
        folded(f"{len(few)} of its {len(texts):,} texts", rows_table(few, None)) if len(texts) else ""
    )
    return f"<div class='finding'>{sentence}{paragraph(finding.advice, 'quiet', limit=400)}{validation}</div>"


def _rest(findings: Sequence[Finding]) -> str:
    """How many findings are not shown; "" for none."""
    more = len(findings) - _MAX_FINDINGS
    return f"and {more:,} more in probe.findings" if more > 0 else ""


def _quiet(findings: Sequence[Finding]) -> str:
    lines = (f"<li class='quiet'>{escaped(finding.sentence, 600)}</li>" for finding in findings)
    return f"<ul>{''.join(lines)}</ul>"


def as_markdown(
    head: str, findings: Sequence[Finding], table: pd.DataFrame, *, run_notes: Sequence[str] = ()
) -> str:
    """The number of graded texts, the holes, and the table of transformations; see `as_html`."""
    shown = findings[:_MAX_FINDINGS]
    items = [f"- {markdown_text(f'{one.sentence} {one.advice}', 1_400)}" for one in shown]
    items += [f"- {_rest(findings)}"] if _rest(findings) else []
    notes = (markdown_text(note, 400) for note in run_notes)
    return markdown_lines(
        [f"**{markdown_text(head, 400)}**", *notes, "\n".join(items), rows_markdown(table, None)]
    )
