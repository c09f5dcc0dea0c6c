"""`ProbeCase`: all results of probing one grader, which the verdicts are computed from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from workbench.analysis.finding import Finding, Severity
from workbench.analysis.statistics import Interval
from workbench.core.display_text import one_line
from workbench.probes.acceptance import HALF, MOST
from workbench.probes.board import Pair
from workbench.probes.completion_forms import PLAIN
from workbench.probes.probe_basis import Base
from workbench.probes.row_rules import sets_apart
from workbench.probes.shapes import Mined
from workbench.probes.signs import begins_with_removed, reason
from workbench.probes.tried import Family, TriedText


@dataclass(frozen=True)
class ProbeCase:
    """All results of probing one grader.

    Attributes:
        grader: Its name.
        found: The results of every transformation.
        base: What is correct, and in which form the grader accepts it.
        mined: What the grader's source reveals.
        judge: Whether it calls a model: then only a confidence bound decides, not a single row.
        row_numbers: Numbers of texts in the probe's report.
        column: Name of the reference's column; "" without one.
        changed: Texts that got another score when they were graded again.
        regraded: Number of texts graded again.
        alone: Whether the same text gets the same grade in rows with another prompt or reference.
        reads_prompt: Whether texts that it accepts are rejected with another prompt.
        allows: Kinds of findings that the grader allows on purpose.
        own_thread: Whether it is called with a conversation: a trainer's function always gets a completion.
        form: Whether its name, docstrings and settings show that it is a check of the form.
    """

    grader: str
    found: Sequence[Family]
    base: Base
    mined: Mined
    judge: bool
    row_numbers: Callable[[Sequence[TriedText]], list[int]]
    column: str = ""
    changed: Sequence[Pair] = ()
    regraded: int = 0
    alone: bool = False
    form: bool = False
    reads_prompt: bool = False
    own_thread: bool = True
    allows: frozenset[str] = frozenset()

    @property
    def is_form_check(self) -> bool:
        """Whether it looks only at the form, by design: then accepted texts are notes, not findings."""
        return self.alone and self.form and not self.reads

    @cached_property
    def by_name(self) -> Mapping[str, Family]:
        """Results by the transformation's name."""
        return {family.variant.name: family for family in self.found}

    @cached_property
    def reads(self) -> bool:
        """Whether the grader reads the reference: its text names it, or it rejects other rows' references."""
        if self.judge or (self.mined.readable and self.mined.reads([self.column])):
            return True
        other = self.by_name.get("other-answer")
        return (
            not self.alone and other is not None and other.share.value < MOST and self.base.shape_rate >= HALF
        )

    @cached_property
    def is_rule(self) -> bool:
        """Whether rows have no reference and it rejects some of their completions: a text without content may keep its rule."""
        rejected = any(text not in row.accepted for row in self.base.rows for text in row.own)
        return rejected and not self.base.distinct

    def does(self, name: str) -> bool:
        """Whether the texts of a transformation are graded right in nearly all rows."""
        family = self.by_name.get(name)
        return family is not None and family.share.value <= 1 - MOST

    def takes(self, name: str) -> bool:
        """Whether an adversarial text of a transformation was accepted."""
        return name in self.by_name and bool(self.by_name[name].wrong_rows)

    @cached_property
    def numbers(self) -> bool:
        """Whether it evidently parses numbers: 42.0 passes for 42, or sentences do."""
        zeros = self.by_name.get("decimal-zeros")
        return self.base.free or (zeros is not None and zeros.share.value < 1 - MOST)

    @property
    def rejects_right(self) -> bool:
        """Whether references are rejected as written."""
        return self.base.shape != PLAIN or self.base.shape_rate < HALF

    def finding(self, family: Family, severity: Severity) -> Finding:
        """The result of one transformation, as a sentence with the shortest text that shows it."""
        variant, wrong, rows = family.variant, family.wrong_rows, family.rows
        verb = "accepts" if variant.expects == "reject" else "rejects the reference"
        mends = variant.name == "as-it-is" and self.base.shape.mends
        message = f"{verb} {variant.says}: {len(wrong):,} of {len(rows):,} rows{self.example(family)}"
        cause = self.cause(variant.name, wrong)
        return self.about(
            variant.name, severity, message + (f"; accepts it {self.base.shape.name}" if mends else "") + cause, variant.advice,
            family, family.fooled,
        )  # fmt: skip

    def cause(self, kind: str, rows: Sequence[int]) -> str:
        """What explains a finding, to end its sentence: what sets its rows apart, and the line of the source; "" if unknown."""
        apart = sets_apart(self.base, rows)
        stripped = [sign for sign in self.mined.signs if sign.kind == "strip-set"]
        if stripped and not all(begins_with_removed(stripped, self.base.references[row]) for row in rows):
            stripped = []
        signs = [sign for sign in self.mined.signs if sign.kind != "strip-set" or stripped]
        return (f", all rows {apart}" if apart else "") + reason(signs, kind)

    def about(
        self,
        kind: str,
        severity: Severity,
        message: str,
        advice: str,
        family: Family,
        texts: Sequence[TriedText],
    ) -> Finding:
        """A finding with the share and interval of one transformation, and the rows of some texts."""
        return Finding(
            self.grader, kind, severity, "share of rows", family.share.value, family.interval, len(family.rows), 0,
            message, advice, self.row_numbers(texts), preset="probe",
        )  # fmt: skip

    def count(
        self, kind: str, severity: Severity, message: str, advice: str, texts: Sequence[TriedText], total: int
    ) -> Finding:
        """A plain fact about some of all texts, without an interval."""
        value = len(texts) / total if total else float("nan")
        none = Interval(float("nan"), float("nan"))
        return Finding(
            self.grader, kind, severity, "share of texts", value, none, total, 0, message, advice, self.row_numbers(texts),
            preset="probe",
        )  # fmt: skip

    def example(self, family: Family) -> str:
        """The shortest misgraded text, with the reference."""
        shown = next((text for text in family.fooled if (text.text or "").strip()), None)
        if shown is None:
            return ""
        reference = self.base.references[shown.row] if family.variant.expects == "reject" else ""
        right = f" for the reference {_quoted(reference, 60)}" if reference else ""
        return f", such as {_quoted(shown.text or '', 100)}{right}"


def _quoted(text: str, limit: int) -> str:
    """A text in quotation marks, which are closed even if the text is cut."""
    more = f"… ({len(text) - limit:,} more characters)" if len(text) > limit else ""
    return one_line(repr(text[:limit]), 4 * limit) + more
