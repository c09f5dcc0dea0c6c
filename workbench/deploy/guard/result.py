"""`CheckResult`: the tests of a check with their outcomes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from workbench.core.display import DisplayBlock, Displayed, Items, Paragraph
from workbench.core.errors import ReportError
from workbench.deploy.guard.baseline import Baseline
from workbench.deploy.guard.decisions import FAIL, INCONCLUSIVE, PASS, Decision, DecisionOutcome, shown_rows
from workbench.report import Report


@dataclass(frozen=True, eq=False, repr=False)
class CheckResult(Displayed):
    """The outcome of a check. Prints as one line per test.

    Attributes:
        decisions: Its tests.
        reports: The report of each set of rows that is not one of regression rows.
        notes: Sentences on versions, rows and replays that decide nothing.
        missed: Why some tests could not run; empty if all could.
        baseline: The scores of this check, to save for the next one; None if only regression rows were graded.
    """

    _label = "Check"

    decisions: tuple[Decision, ...]
    reports: tuple[Report, ...] = ()
    notes: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()
    baseline: Baseline | None = field(default=None)

    @property
    def outcome(self) -> DecisionOutcome:
        """Fail if a test failed, else inconclusive if one is or could not run, else pass."""
        outcomes = {decision.outcome for decision in self.decisions}
        if FAIL in outcomes:
            return FAIL
        return INCONCLUSIVE if INCONCLUSIVE in outcomes or self.missed else PASS

    @property
    def ok(self) -> bool:
        """Whether all tests passed."""
        return self.outcome is PASS

    def save(self, path: str | Path) -> Path:
        """Write the scores as the baseline of the next check.

        Raises:
            ReportError: There are none.
            FormatError: The file cannot be written.
        """
        if self.baseline is None:
            raise ReportError("there are no scores to save", hint="check rows other than regression rows")
        return self.baseline.save(path)

    def lines(self) -> Iterator[str]:
        """The text: tests, rows that show them, notes, and the outcome."""
        for decision in self.decisions:
            yield f"{decision.outcome.value:<12} {decision}"
            if decision.outcome is not PASS:
                yield from (f"             {row}" for row in shown_rows(decision))
        yield from (f"note         {note}" for note in self.notes)
        yield from (f"not run      {one}" for one in self.missed)
        yield f"check: {self.summary}"

    @property
    def summary(self) -> str:
        """The outcome with the number of tests, such as "fail (1 failed, 3 passed)"."""
        counts = [
            (FAIL, "failed"), (INCONCLUSIVE, "inconclusive"), (PASS, "passed"),
        ]  # fmt: skip
        listed = [
            f"{n} {word}"
            for outcome, word in counts
            if (n := sum(decision.outcome is outcome for decision in self.decisions))
        ]
        missed = [f"{len(self.missed)} could not run"] if self.missed else []
        return f"{self.outcome.value} ({', '.join([*listed, *missed]) or 'no tests'})"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _blocks(self) -> Iterator[DisplayBlock]:
        yield Paragraph(f"Check: {self.summary}.", "lead")
        yield Items([line.strip() for line in list(self.lines())[:-1]])

    def __repr__(self) -> str:
        return f"CheckResult({self.summary})"
