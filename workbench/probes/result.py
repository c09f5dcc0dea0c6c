"""`Probe`: the results of grading variants of the rows; and `Again`, those of grading the same texts after a fix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from workbench.analysis.finding import Finding, Severity, shape_of
from workbench.core.discovery import higher_level
from workbench.core.display import (
    DisplayBlock,
    Displayed,
    Drawing,
    Folded,
    Group,
    Items,
    Only,
    Paragraph,
    Parts,
    Span,
)
from workbench.core.display_html import sign
from workbench.core.display_text import counted, one_line
from workbench.core.errors import ReportError
from workbench.core.grade import ErrorKind, Grade
from workbench.core.grades import Grades
from workbench.core.safe_frame import SafeFrame
from workbench.data.samples import Samples
from workbench.probes.board import ProbeOutcome, with_texts
from workbench.probes.probe_basis import Base
from workbench.probes.regression import Again, again, kept_rows, kinds_behind
from workbench.probes.tried import Family, table
from workbench.report import Report
from workbench.report.frames import rows_table
from workbench.run.suite import Suite

_MAX_FINDINGS, _MAX_TEXTS = 12, 5
"""Maximum findings shown, and texts of each."""
_COLUMNS = ["sample", "prompt", "reference", "text", "score"]


@dataclass(frozen=True, eq=False, repr=False)
class Probe(Displayed):
    """What adversarial and equivalent variants of the rows showed about a grader. Immutable; prints as sentences.

    Attributes:
        grader: The grader's name.
        samples: The rows drawn.
        findings: Confirmed holes, the cause first; each names its text, and its rows in `report`.
        notes: Properties that sound graders may have too, such as that a full stop after the reference is rejected.
        allowed: Findings that the grader allows on purpose; see `allow`.
        consequences: Findings that follow from a cause among `findings`, such as an ignored sign if any number passes.
        run_notes: Sentences about the run itself, such as that a budget was exhausted.
        seconds: How long it took.
        tries: Number of graded texts.
        fingerprints: Digests of the settings of the probed graders, as in `Report`.
    """

    _label = "Probe"

    grader: str
    samples: Samples
    findings: tuple[Finding, ...]
    notes: tuple[Finding, ...]
    consequences: tuple[Finding, ...] = ()
    allowed: tuple[Finding, ...] = ()
    run_notes: tuple[str, ...] = ()
    seconds: float = 0.0
    tries: int = 0
    fingerprints: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    _families: tuple[Family, ...] = field(default=(), repr=False)
    _base: Base | None = field(default=None, repr=False)
    _held: frozenset[str] = field(default=frozenset(), repr=False)
    _suite: Suite | None = field(default=None, repr=False)

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
        frame = SafeFrame(lines, columns=["transformation", "sample", "prompt", "reference", "text", "score"])
        return frame[~frame[["transformation", "prompt", "reference", "text"]].duplicated()].reset_index(
            drop=True
        )

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
    def sources(self) -> list[int]:
        """The row of `samples` that each row of `report` was made of."""
        return [text.row for family in self._families for text in family.texts]

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

    def allow(self, *kinds: str) -> Suite:
        r"""The grader with some findings marked as intended, such as that another unit is accepted.

        Probes of the returned suite report them as allowed; this is saved with the suite, and is in its certificate. No score
        changes.

        Args:
            kinds: Kinds of findings or notes of this probe, such as "unit".

        Returns:
            The suite that was probed, or one of the grader alone: use it instead.

        Raises:
            ReportError: The probe has no such finding.

        Example:
            >>> import workbench as wb
            >>> rows = [{"prompt": f"Sort {n}, 1, 2", "completion": f"1, 2, {n}", "expected": f"1, 2, {n}"} for n in range(3, 12)]
            >>> source = "async def grade(thread):\n    return float({*thread.completion().split(', ')} == {*thread.metadata['expected'].split(', ')})"
            >>> grader = wb.FunctionGrader.from_source(source)
            >>> probe = wb.probe(grader, rows, progress=False)
            >>> "entry-twice" in [finding.kind for finding in probe.findings]
            True
            >>> grader = probe.allow("entry-twice")
            >>> [finding.kind for finding in wb.probe(grader, rows, progress=False).allowed]
            ['entry-twice']
        """
        known = [finding.kind for finding in (*self.findings, *self.notes, *self.consequences)]
        if unknown := [kind for kind in kinds if kind not in known]:
            raise ReportError(
                f"the probe has no finding {unknown[0]!r}",
                expected=", ".join(dict.fromkeys(known)) or "none: there is nothing to allow",
            )
        assert self._suite is not None
        suite = self._suite
        entries = [
            replace(entry, allows=tuple(dict.fromkeys([*entry.allows, *kinds]))) for entry in suite.entries
        ]
        return Suite(
            entries, combine=suite.combine, gate=suite.gate, name=suite.name, description=suite.description
        )

    def plot(self) -> Any:
        """The probe chart, a plotly figure: one bar per transformation, the share of misgraded rows, its interval."""
        return higher_level("draw")(self.report, None, "probes")

    @property
    def ok(self) -> bool:
        """Whether texts were graded and no error was found; a question is for you to decide."""
        return bool(self.tries) and not self._count(Severity.ERROR)

    def _count(self, severity: Severity) -> int:
        return sum(finding.severity is severity for finding in self.findings)

    @property
    def _head(self) -> str:
        """The number of graded texts and of holes."""
        if not self.tries:
            return f"{one_line(self.grader)}: nothing to grade, because there are no rows or no correct completions to start from"
        holes, open_questions = self._count(Severity.ERROR), self._count(Severity.QUESTION)
        found = f"{counted(holes, 'hole')} found" if holes else "no hole found"
        if open_questions:
            found += f", {counted(open_questions, 'question')}: intended? Then probe.allow(...)"
        tried = f"{counted(self.tries, 'text')} tried on {counted(len(self.samples), 'row')}"
        return f"{one_line(self.grader)}: {tried}, {found}"

    def _blocks(self) -> Iterator[DisplayBlock]:
        run_notes = [Paragraph(note, "failed", limit=400) for note in self.run_notes]
        shown, n_more = self.findings[:_MAX_FINDINGS], len(self.findings) - _MAX_FINDINGS
        more = f"and {n_more:,} more in probe.findings" if n_more > 0 else ""
        items = [f"{one.sentence} {one.advice}" for one in shown]
        yield Only("html markdown", [Paragraph(Span(self._head), "lead"), *run_notes])
        yield Only("text", self._lines())
        yield Only("markdown", [Items([*items, *filter(None, [more])])])
        yield Only("html", (self._finding_block(finding, leads=at == 0) for at, finding in enumerate(shown)))
        yield Only("html", [Paragraph(more, "quiet")])
        for heading, some in (
            ("allowed", self.allowed),
            ("that follow", self.consequences),
            ("that sound graders may have too", self.notes),
        ):
            if some:
                yield Folded(f"{len(some):,} {heading}", [Items([one.sentence for one in some], limit=600)])
        table = rows_table(self.table, None)
        yield Only("markdown", [table])
        yield Folded("all transformations", [table])

    def _lines(self) -> Iterator[DisplayBlock]:
        yield Paragraph(self._head)
        lines = [f"{finding.severity:<8} {one_line(finding.sentence, 900)}" for finding in self.findings]
        if more := [finding for finding in self.consequences if not self._is_said(finding)]:
            lines.append(f"so it also {_listed(more)}")
        if self.allowed:
            lines.append(f"allowed: it {_listed(self.allowed)}")
        if self.notes:
            lines.append(f"sound graders may do this too: it {_listed(self.notes)}")
        yield Items([*lines, *self.run_notes])

    def _finding_block(self, finding: Finding, *, leads: bool) -> DisplayBlock:
        texts = self._fooled(kinds_behind({finding.kind}, self._families))
        blocks: list[DisplayBlock] = [
            Paragraph(
                Parts(Drawing(sign(shape_of(finding))), finding.sentence),
                "lead" if leads else "",
                limit=1_000,
            ),
            Paragraph(finding.advice, "quiet", limit=400),
        ]
        if len(texts):
            first = texts[_COLUMNS].head(_MAX_TEXTS)
            blocks.append(Folded(f"{len(first)} of its {len(texts):,} texts", [rows_table(first, None)]))
        return Group("finding", blocks)

    def _is_said(self, finding: Finding) -> bool:
        """Whether the leading sentence names it already."""
        return _claim(finding).removeprefix("accepts ") in self.findings[0].message

    def __repr__(self) -> str:
        return f"Probe({self.grader!r}, {counted(len(self.findings), 'finding')}, {self.tries:,} texts)"


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
