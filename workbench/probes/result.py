"""`Probe`: what transformations of the rows showed about a grader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from workbench.diagnostics import Finding
from workbench.display_text import counted, one_line
from workbench.errors import ReportError
from workbench.grade import ErrorKind, Grade
from workbench.grades import Grades
from workbench.higher_level import higher_level
from workbench.markup import bundle
from workbench.probes.again import Again, again
from workbench.probes.base import Base
from workbench.probes.board import Outcome, with_texts
from workbench.probes.kept import kept_rows, kinds_behind
from workbench.probes.rich import as_html, as_markdown
from workbench.probes.tried import Family, table
from workbench.report import Report
from workbench.safe_frame import SafeFrame
from workbench.samples import Samples

__all__ = ["Probe"]


@dataclass(frozen=True, eq=False, repr=False)
class Probe:
    """What known-bad and known-good variants of the rows showed about a grader. Never changes; prints as sentences.

    Attributes:
        grader: The grader's name.
        samples: The rows drawn.
        findings: Holes that are proven, the cause first; each names its text, and its rows in `report`.
        notes: Properties that sound graders may have too, such as that a full stop after the answer is not taken.
        consequences: Findings that follow from a cause among `findings`, such as a sign that is not read where any number passes.
        run_notes: Sentences about the run itself, such as that a budget was spent.
        seconds: How long it took.
        tries: Texts that were graded.
        fingerprints: Digests of the settings of what was probed, as in `Report`.
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
        """The pass mark of the rule; None where a text has to score as high as its row's right answer."""
        return self._base.rule.mark if self._base else None

    @cached_property
    def table(self) -> pd.DataFrame:
        """One line a transformation.

        Columns: transformation, expects ("reject" or "accept"), tried (texts), rows, wrong (rows fooled), share of the
        rows, lo and hi (its 95 % interval), failed (texts without a score), difference (mean score minus that of the
        right answer in the same row, NaN where it is not known).
        """
        return table(self._families)

    def texts(self, name: str | None = None) -> pd.DataFrame:
        """The texts that fooled the grader, the shortest first: transformation, sample, prompt, reference, text, score.

        Args:
            name: A transformation, or a finding's kind; None for all that findings name.

        Raises:
            ReportError: No such transformation was tried.
        """
        names = [family.variant.name for family in self._families]
        wanted = kinds_behind(
            {name} if name is not None else {finding.kind for finding in self.findings}, self._families
        )
        if name is not None and not wanted & {*names}:
            raise ReportError("no such transformation was tried", found=repr(name), expected=", ".join(names))
        return self._fooled(wanted)

    def _fooled(self, names: AbstractSet[str]) -> pd.DataFrame:
        """The texts of some transformations that fooled the grader."""
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
        """All texts that were tried as a report: column `probe` names the transformation, labels are what is known.

        Texts of transformations that are only told have no label. Findings' rows are rows of this report.
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
        """Regression rows to keep: what fooled the grader, and right answers that it takes.

        Columns beside the rows' own: `probe` (the transformation, or "right answer"), `label` (True: to be accepted,
        False: to be rejected) and `was` (whether the grader was right about it when it was probed).
        """
        return kept_rows(self.samples, self._families, self._base, self.findings, self._held)

    def again(self, grader: Any, *, budget: Any = None) -> Again:
        """Grade the regression rows with the mended grader: which holes are closed, and which right answers are lost.

        Args:
            grader: The mended grader.
            budget: As in `probe`.
        """
        return again(grader, self.rows, pass_threshold=self._mark, budget=budget)

    def plot(self) -> Any:
        """The probe chart, a plotly figure: a bar a transformation, the share that fooled the grader, its interval."""
        return higher_level("draw")(self.report, None, "probes")

    @property
    def ok(self) -> bool:
        """Whether texts were tried and no hole was found."""
        return bool(self.tries) and not self.findings

    @property
    def _head(self) -> str:
        """What was tried, and how many holes there are."""
        if not self.tries:
            return f"{one_line(self.grader)}: nothing could be tried, there are no rows or no right answers to start from"
        found = f"{counted(len(self.findings), 'hole')} found" if self.findings else "no hole found"
        tried = f"{counted(self.tries, 'text')} tried on {counted(len(self.samples), 'row')}"
        return f"{one_line(self.grader)}: {tried}, {found}"

    def __str__(self) -> str:
        """The findings, a sentence each, the properties, and what was tried."""
        lines = [
            self._head,
            *(f"  {finding.severity:<8}{one_line(finding.sentence, 900)}" for finding in self.findings),
        ]
        if more := [finding for finding in self.consequences if not self._is_said(finding)]:
            lines.append(f"  so it also {_listed(more)}")
        if self.notes:
            lines.append(f"  worth knowing, sound graders may do so too: it {_listed(self.notes)}")
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
            {"that follow": self.consequences, "worth knowing, true of sound graders too": self.notes},
            self.table,
            self._texts_of,
            run_notes=self.run_notes,
        )

    def _repr_markdown_(self) -> str:
        return as_markdown(self._head, self.findings, self.table, run_notes=self.run_notes)

    def _texts_of(self, finding: Finding) -> pd.DataFrame:
        """The texts behind a finding; none for what is no transformation."""
        return self._fooled(kinds_behind({finding.kind}, self._families))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return bundle(self)


def _listed(findings: Sequence[Finding]) -> str:
    """What findings say, without examples and intervals, in one line."""
    return f"{'; '.join(one_line(_claim(finding), 120) for finding in findings)}."


def _claim(finding: Finding) -> str:
    """What a finding says, without the numbers behind it."""
    return finding.message.partition(":")[0]


def _grade(outcome: Outcome) -> Grade:
    if outcome.error:
        kind, _, message = outcome.error.partition(": ")
        return Grade.failed(ErrorKind(kind), message)
    return Grade(outcome.score, passed=outcome.passed)


def _scale(grades: Grades) -> tuple[float, float]:
    """0 to 1, or from the lowest to the highest score where some lie outside."""
    scores = grades.scores[~np.isnan(grades.scores)]
    lo, hi = min(0.0, float(scores.min(initial=0.0))), max(1.0, float(scores.max(initial=1.0)))
    return lo, hi
