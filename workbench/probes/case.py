"""What verdicts are made from: everything tried on one grader, and how a finding about it is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from workbench.diagnostics.finding import Finding, Severity
from workbench.display_text import one_line
from workbench.probes.base import Base
from workbench.probes.board import Pair
from workbench.probes.mining import Mined
from workbench.probes.shapes import PLAIN
from workbench.probes.tried import Family, Text
from workbench.statistics import Interval

__all__ = ["HALF", "MOST", "ProbeCase"]

MOST, HALF = 0.9, 0.5
"""Shares of rows that count as nearly all, and as the grader's own way. Ours."""


@dataclass(frozen=True)
class ProbeCase:
    """All that was tried on one grader.

    Attributes:
        grader: Its name.
        found: What every transformation came to.
        base: What is right, and in which form the grader takes it.
        mined: What the grader's text gave away.
        judge: Whether a model was asked: then only a bound is a verdict, not a single row.
        row_numbers: Numbers of texts in the probe's report.
        column: Name of the reference's column; "" without one.
        changed: Texts that got another score when they were graded once more.
        regraded: How many were.
        alone: Whether the same text gets the same grade in rows that ask for something else.
        form: Whether the grader is a check of the form by what is known of it.
    """

    grader: str
    found: Sequence[Family]
    base: Base
    mined: Mined
    judge: bool
    row_numbers: Callable[[Sequence[Text]], list[int]]
    column: str = ""
    changed: Sequence[Pair] = ()
    regraded: int = 0
    alone: bool = False
    form: bool = False

    @property
    def is_form_check(self) -> bool:
        """Whether it looks at the form alone, as it is meant to: then what it takes is told, and no alarm."""
        return self.alone and self.form and not self.reads

    @cached_property
    def by_name(self) -> Mapping[str, Family]:
        """What was tried, by the transformation's name."""
        return {family.variant.name: family for family in self.found}

    @cached_property
    def reads(self) -> bool:
        """Whether the grader reads the reference: its text names it, or it tells other rows' answers from the right ones."""
        if self.judge or (self.mined.readable and self.mined.reads([self.column])):
            return True
        other = self.by_name.get("other-answer")
        return (
            not self.alone and other is not None and other.share.value < MOST and self.base.shape_rate >= HALF
        )

    def takes(self, name: str) -> bool:
        """Whether a text of a transformation was taken that should not be."""
        return name in self.by_name and bool(self.by_name[name].wrong_rows)

    @cached_property
    def numbers(self) -> bool:
        """Whether numbers are evidently read as numbers: 42.0 passes for 42, or sentences do."""
        zeros = self.by_name.get("decimal-zeros")
        return self.base.free or (zeros is not None and zeros.share.value < 1 - MOST)

    @property
    def rejects_right(self) -> bool:
        """Whether references are rejected as they are written."""
        return self.base.shape != PLAIN or self.base.shape_rate < HALF

    def finding(self, family: Family, severity: Severity) -> Finding:
        """What one transformation showed, as a sentence with the shortest text that shows it."""
        variant, wrong, rows = family.variant, family.wrong_rows, family.rows
        verb = "accepts" if variant.expects == "reject" else "rejects the right answer"
        mends = variant.name == "as-it-is" and self.base.shape.mends
        message = f"{verb} {variant.says}: {len(wrong):,} of {len(rows):,} rows{self.example(family)}"
        return self.about(
            variant.name, severity, message + (f"; accepts it {self.base.shape.name}" if mends else ""), variant.advice,
            family, family.fooled,
        )  # fmt: skip

    def about(
        self, kind: str, severity: Severity, message: str, advice: str, family: Family, texts: Sequence[Text]
    ) -> Finding:
        """A finding with the share and interval of one transformation, and the rows of some texts."""
        return Finding(
            self.grader, kind, severity, "share of rows", family.share.value, family.interval, len(family.rows), 0,
            message, advice, self.row_numbers(texts), preset="probe",
        )  # fmt: skip

    def count(
        self, kind: str, severity: Severity, message: str, advice: str, texts: Sequence[Text], total: int
    ) -> Finding:
        """A plain fact about some of all texts, without an interval."""
        value = len(texts) / total if total else float("nan")
        none = Interval(float("nan"), float("nan"))
        return Finding(
            self.grader, kind, severity, "share of texts", value, none, total, 0, message, advice, self.row_numbers(texts),
            preset="probe",
        )  # fmt: skip

    def example(self, family: Family) -> str:
        """The shortest text that fooled the grader, with the right answer beside it."""
        shown = next((text for text in family.fooled if (text.text or "").strip()), None)
        if shown is None:
            return ""
        reference = self.base.references[shown.row] if family.variant.expects == "reject" else ""
        right = f" where {one_line(repr(reference), 60)} is right" if reference else ""
        return f", such as {one_line(repr(shown.text), 100)}{right}"
