"""`CheckResult`: the tests of a check with their outcomes, as JUnit XML, a Markdown summary, annotations of GitHub, and JSON."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from workbench.core.display import DisplayBlock, Displayed, Items, Paragraph
from workbench.core.display_text import one_line, visible
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


_MAX_ROWS = 100
"""Maximum rows of one test in a document."""
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot contain."""


def junit_xml(result: CheckResult, *, name: str = "workbench check") -> str:
    """The tests as JUnit XML: a failed test is a failure, an inconclusive one is skipped, one that could not run is an error."""
    cases = [_junit_case(decision) for decision in result.decisions]
    cases += [
        f'    <testcase classname="run" name={_attribute(missed)}>\n      <error message={_attribute(missed)}/>\n    </testcase>'
        for missed in result.missed
    ]
    counts = (
        f'tests="{len(cases)}" failures="{_count(result, FAIL)}" errors="{len(result.missed)}" '
        f'skipped="{_count(result, INCONCLUSIVE)}"'
    )
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>', f"<testsuites {counts}>", f"  <testsuite name={_attribute(name)} {counts}>",
        *cases, "  </testsuite>", "</testsuites>",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _count(result: CheckResult, outcome: Any) -> int:
    return sum(decision.outcome is outcome for decision in result.decisions)


def _junit_case(decision: Decision) -> str:
    head = (
        f"    <testcase classname={_attribute(decision.grader or 'suite')} name={_attribute(decision.test)}"
    )
    text = _text("\n".join([str(decision), *shown_rows(decision, _MAX_ROWS)]))
    if decision.outcome is FAIL:
        inner = f"<failure message={_attribute(decision.sentence)}>{text}</failure>"
    elif decision.outcome is INCONCLUSIVE:
        inner = f"<skipped message={_attribute(f'inconclusive: {decision}')}/>"
    else:
        inner = f"<system-out>{text}</system-out>"
    return f"{head}>\n      {inner}\n    </testcase>"


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("\ufffd", one_line(text, 1_000)))


def _text(text: str) -> str:
    return escape(_NOT_XML.sub("\ufffd", visible(text)))


_SIGNS = {PASS: "✅ pass", FAIL: "❌ fail", INCONCLUSIVE: "❔ inconclusive"}


def markdown(result: CheckResult) -> str:
    """The check as Markdown: a table of tests, rows that show failures, and notes."""
    lines = [
        f"## Grader check: {_cell(result.summary)}",
        "",
        "| outcome | grader | test | result |",
        "| --- | --- | --- | --- |",
    ]
    for decision in result.decisions:
        sentence = str(decision).removeprefix(f"{decision.title}: ")
        lines.append(
            f"| {_SIGNS[decision.outcome]} | {_cell(decision.grader)} | {decision.test} | {_cell(sentence)} |"
        )
    lines += [f"| ⛔ not run | | | {_cell(missed)} |" for missed in result.missed]
    for decision in result.decisions:
        if decision.outcome is not PASS and decision.rows:
            rows = [f"- {_cell(row)}" for row in shown_rows(decision, 20)]
            lines += ["", f"<details><summary>{_cell(decision.title)}</summary>", "", *rows, "", "</details>"]
    if result.notes:
        lines += ["", *(f"- {_cell(note)}" for note in result.notes)]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Text of a dataset or a grader in Markdown: without markup of Markdown or HTML."""
    return re.sub(r"([\\`*_{}\[\]<>|#!~&])", r"\\\1", one_line(text, 1_000))


def github_annotations(result: CheckResult, *, file: str = "") -> Iterator[str]:
    """Commands that make GitHub Actions annotate a run: errors, and warnings for inconclusive tests."""
    place = f"file={_property(file)}," if file else ""
    for decision in result.decisions:
        if decision.outcome is PASS:
            continue
        level = "error" if decision.outcome is FAIL else "warning"
        text = "\n".join([str(decision), *shown_rows(decision)])
        yield f"::{level} {place}title={_property(f'{decision.title} {decision.outcome.value}')}::{_message(text)}"
    for missed in result.missed:
        yield f"::error {place}title=could not run::{_message(missed)}"


def _message(text: str) -> str:
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(one_line(text, 200)).replace(":", "%3A").replace(",", "%2C")


def check_json(result: CheckResult) -> dict[str, Any]:
    """The check as JSON."""
    return {
        "outcome": result.outcome.value,
        "tests": [_decision_json(decision) for decision in result.decisions],
        "not_run": list(result.missed),
        "notes": list(result.notes),
    }


def _decision_json(decision: Decision) -> dict[str, Any]:
    return {
        "test": decision.test, "grader": decision.grader, "outcome": decision.outcome.value, "sentence": decision.sentence,
        "value": None if math.isnan(decision.value) else decision.value,
        "limit": None if math.isnan(decision.limit) else decision.limit,
        "needed": decision.needed, "unit": decision.unit, "rows": list(decision.rows[:_MAX_ROWS]), "n_rows": len(decision.rows),
    }  # fmt: skip
