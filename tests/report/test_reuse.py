"""Custom limits, and what a report reuses of the one before an edit."""

from __future__ import annotations

from dataclasses import replace

import pytest

import workbench as wb
from workbench.report import frames
from workbench.report.sentences import strip_data
from workbench.report.settings import reuse


def test_a_limit_is_the_users_own():
    """What is too lenient for one purpose is not for another: verdict and sentence go by the limit that is set."""
    samples = wb.demo_samples("arithmetic").draw(500, seed=0)
    report = wb.Suite([wb.Contains()]).run(samples, labels="good", progress=False)
    lenient = next(finding for finding in report.findings if finding.kind == "too-lenient")
    assert (lenient.severity, lenient.limit) == ("error", 0.05)
    other = report.diagnose(limits={"too-lenient": 0.4})
    cleared = next(finding for finding in other.findings if finding.kind == "too-lenient")
    assert (cleared.severity, cleared.limit) == ("within_limit", 0.4)
    assert "limit 40 %" in cleared.message
    for wrong in ({"too-lenient": 1.5}, {"broken": 0.1}):
        with pytest.raises(wb.errors.ReportError, match="invalid limit"):
            report.diagnose(limits=wrong)


def test_findings_that_are_reused_are_those_that_would_be_made_anew():
    """A report in which one grader changed equals the one computed without reuse."""
    samples = wb.demo_samples("arithmetic").draw(300, seed=0)
    first = wb.Suite([wb.Contains(), wb.ExactMatch()]).run(samples, labels="good", progress=False)
    _ = first.findings
    alone = wb.Suite([wb.Contains(expected="the")]).run(samples, labels="good", progress=False)
    changed = replace(first, grades={**first.grades, **alone.grades})
    anew = [str(finding) for finding in replace(changed).findings]
    assert [str(finding) for finding in reuse(changed, first).findings] == anew
    unlabelled = replace(changed, labels=None)
    assert [str(finding) for finding in reuse(replace(unlabelled), first).findings] == [
        str(finding) for finding in unlabelled.findings
    ]


def test_nothing_is_reused_under_another_setting():
    """Another pass threshold or limit is another computation, even of the same grades."""
    samples = wb.demo_samples("arithmetic").draw(300, seed=0)
    first = wb.Suite([wb.Contains(), wb.ExactMatch()]).run(samples, labels="good", progress=False)
    _ = first.findings
    for changes in (
        {"pass_threshold": 1.0},
        {"limits": {"too-lenient": 0.3, "too-strict": 0.9}},
        {"scale": (0.0, 2.0)},
    ):
        other = replace(first, **changes)
        assert [*map(str, reuse(replace(other), first).findings)] == [*map(str, other.findings)]


def test_the_summary_of_an_unchanged_grader_is_computed_once(monkeypatch):
    """An edit changes one grader of many: only its line is new, and all lines are those without reuse."""
    samples = wb.demo_samples("arithmetic").draw(200, seed=0)
    first = wb.Suite([wb.Contains(), wb.ExactMatch()]).run(samples, labels="good", progress=False)
    _ = first.summary
    alone = wb.Suite([wb.Contains(expected="the")]).run(samples, labels="good", progress=False)
    changed = replace(first, grades={**first.grades, **alone.grades})
    anew, summary, computed = replace(changed).summary, frames._summary, []
    monkeypatch.setattr(frames, "_summary", lambda *of: computed.append(of) or summary(*of))
    assert reuse(changed, first).summary.equals(anew)
    assert len(computed) == 1
    scaled = replace(changed, scale=(0.0, 2.0))
    assert reuse(replace(scaled), first).summary.equals(scaled.summary)


def test_a_bound_is_named_as_one():
    """Below a limit only one side matters: the number is not called an interval, which would end higher."""
    samples = wb.demo_samples("arithmetic").draw(500, seed=0)
    report = wb.Suite([wb.Contains()]).run(samples, labels="good", progress=False)
    found = {finding.kind: strip_data(finding) for finding in report.findings}
    assert found["too-lenient"]["interval_name"] == "95 % interval"
    assert " to " in found["too-lenient"]["interval_text"]
    within = next(finding for finding in report.findings if finding.severity == "within_limit")
    strip = strip_data(within)
    assert strip["interval_name"] == "95 % bound"
    assert strip["interval_text"] in within.message
