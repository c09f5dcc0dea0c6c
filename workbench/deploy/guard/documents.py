"""A check as documents of pipelines: JUnit XML, a Markdown summary, annotations of GitHub, and JSON."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from workbench.core.display_text import one_line, visible
from workbench.deploy.guard.decisions import FAIL, INCONCLUSIVE, PASS, Decision, shown_rows
from workbench.deploy.guard.result import CheckResult

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
