"""A report as Markdown."""

from __future__ import annotations

from tests.report.test_rich import GRADERS, make_report
from workbench.report import Report


def test_the_leading_sentence_stands_first():
    """In bold, with its interval and what to do; then the others, then a line a grader."""
    text = make_report()._repr_markdown_()
    assert text.startswith("**fails: broken: 67 of 200 rows failed")
    assert "95 % interval" in text.partition("\n")[0]
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert [line.split(" | ")[0] for line in lines[2:]] == [f"| {name}" for name in GRADERS]
    assert lines[2].startswith("| lenient | too lenient | 0.75 | ")
    assert lines[2].endswith("| 150 | 50 | 0 | 0 |")


def test_no_finding_is_said():
    """A report of nothing begins with that."""
    assert (
        Report(make_report().samples, {})
        ._repr_markdown_()
        .startswith("**No findings.**\n\n0 graders on 200 rows")
    )
