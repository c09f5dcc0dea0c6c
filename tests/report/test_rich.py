"""What a notebook shows of a report and of what it gives: the verdict first, every text as text."""

from __future__ import annotations

import html.parser

import numpy as np
import pytest

import workbench as wb
from tests.report.test_report import make_grades, make_samples
from workbench.core.display_html import STYLE
from workbench.core.grade import Grade
from workbench.report import Report
from workbench.report.report_blocks import histogram_html

EVIL = "<script>alert(1)</script> | `x` **b** \u202egnp.exe ![i](http://h.example/i.png)"
OURS = {
    "div", "style", "table", "thead", "tbody", "tr", "th", "td", "svg", "line", "rect", "path", "circle", "text",
    "title", "b", "i", "strong", "span", "details", "summary", "p",
}  # fmt: skip
GRADERS = ["lenient", "strict", "right", "fails", "skips"]


class Page(html.parser.HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text = set(), set(), ""
        self.feed(text.replace(STYLE, ""))

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.text += data


def make_report(names=GRADERS, text="It is 4.", n=200):
    """Five graders on rows of which half are good: one lenient, one strict, one right, one failing, one skipping."""
    good, half = np.arange(n) % 2 == 0, np.arange(n) % 4 < 2
    failed, skipped = Grade.failed("runtime", text), Grade.skipped(text)
    columns = [
        make_grades((good | half).astype(float)),
        make_grades((good & half).astype(float), row3=Grade(0.0, reasoning=text)),
        make_grades(good.astype(float)),
        make_grades(good.astype(float), **{f"row{row}": failed for row in range(0, n, 3)}),
        make_grades(good.astype(float), row1=skipped),
    ]
    samples = make_samples(n, completion=text.replace("{", "{{").replace("}", "}}"))
    return Report(samples, dict(zip(names, columns, strict=True)), labels=good.tolist())


@pytest.fixture(scope="module")
def report():
    return make_report()


def test_the_verdicts_lead(report):
    """Each grader in two words with its mean, then the leading finding, then the table."""
    said = Page(report._repr_html_()).text
    words = (
        "too lenient",
        "get no score",
        "Too lenient: it accepts 50 of 100 known-bad rows",
        "95 % intervalsd",
    )
    places = [said.index(each) for each in words]
    assert places == sorted(places)
    assert "too strict" in said
    assert "often fails" in said


def test_the_interval_of_the_leading_finding_is_drawn(report):
    """Once, with its limit; the others' are text."""
    page = report._repr_html_()
    assert page.count("<svg class='strip'") == 1
    assert "limit" in page


def test_bars_show_what_rows_came_to(report):
    """A lenient grader accepts all bad rows, a failing one has rows without a score."""
    page = report._repr_html_()
    assert "100 known good, accepted, 50 known bad, accepted, 50 known bad, rejected" in page
    assert "67 failed: no score" in page


def test_five_graders_stay_small(report):
    """Below 40 KB of HTML and 4 KB of Markdown."""
    assert len(report._repr_html_().encode()) < 40_000
    assert len(report._repr_markdown_().encode()) < 4_000


def test_without_labels_nobody_is_too_lenient(report):
    """The text states this, and the bar has one hue."""
    page = Page(report.diagnose(labels=[None] * len(report))._repr_html_()).text
    assert "accepted, unlabelled" in page
    assert "too lenient" not in page


def test_a_report_without_graders_is_told():
    """It states that nothing was run, in both forms."""
    empty = Report(make_samples(2), {})
    assert "nothing was run" in empty._repr_html_()
    assert "nothing was run" in empty._repr_markdown_()


def shown():
    """Everything that a report gives, with hostile names and texts."""
    report = make_report([f"{name} {EVIL}" for name in GRADERS], EVIL)
    first, second = report.graders[:2]
    return {
        "report": report,
        "comparison": report.compare(first, second),
        "agreement": report.agreement(first, labeller=EVIL),
        "rows": report.rows(first, limit=25),
        "failed rows": report.rows(report.graders[3], where="failed"),
    }


@pytest.mark.parametrize("name", ["report", "comparison", "agreement", "rows", "failed rows"])
def test_hostile_texts_stay_texts(name):
    """In names, completions, reasons and errors: no tag, handler, link or hidden character from them in either form."""
    thing = shown()[name]
    page, markdown = Page(thing._repr_html_()), thing._repr_markdown_()
    assert page.tags <= OURS
    assert page.attributes <= {
        "class", "style", "role", "aria-label", "aria-hidden", "title", "scope", "width", "height", "viewbox", "fill",
        "d", "x", "y", "rx", "cx", "cy", "r", "x1", "x2", "y1", "y2", "stroke", "stroke-width", "stroke-dasharray",
        "stroke-linecap", "stroke-opacity", "text-anchor", "font-size",
    }  # fmt: skip
    assert "<script>alert(1)" in page.text
    assert "\u202e" not in page.text + markdown
    assert "⟨U+202E⟩" in markdown
    for raw in ("<script", "![", " | `x`", " **b**"):
        assert raw not in markdown


@pytest.mark.parametrize("name", ["report", "comparison", "agreement", "rows", "failed rows"])
def test_markdown_keeps_its_tables(name):
    """Rendered, it has no element of others, and each table its columns."""
    mistune = pytest.importorskip("mistune")
    page = Page(mistune.create_markdown(escape=False, plugins=["table"])(shown()[name]._repr_markdown_()))
    assert page.tags <= {"p", "strong", "ul", "li", "table", "thead", "tbody", "tr", "th", "td"}
    assert page.attributes <= {"style"}
    assert "table" in page.tags


def test_a_comparison_begins_with_who_is_stricter(report):
    """Then the four groups of rows, then who is closer to the labels."""
    compared = report.compare("lenient", "right")
    said = Page(compared._repr_html_()).text
    places = [
        said.index(words)
        for words in ("B is stricter: it rejects 50 rows", "Both accept", "B is closer to the labels")
    ]
    assert places == sorted(places)
    assert compared._repr_markdown_().startswith("**B is stricter: it rejects 50 rows that A accepts,**")
    assert "| Only A accepts | 50 | 0 good, 50 bad |" in compared._repr_markdown_()


def test_a_comparison_without_labels_says_so_once(report):
    """Neither good nor bad is counted."""
    compared = report.diagnose(labels=[None] * len(report)).compare("lenient", "right")
    assert "None of these rows is labelled." in compared._repr_html_()
    assert "| Only A accepts | 50 | unlabelled |" in compared._repr_markdown_()


def test_rows_that_are_not_shown_are_counted(report):
    """Twenty rows, and how many more there are."""
    rows = report.rows("right")
    assert "180 more rows" in rows._repr_html_()
    assert rows._repr_markdown_().rstrip().endswith("180 more rows")
    assert "<NA>" not in rows._repr_markdown_()


def test_the_bars_tell_good_from_bad():
    """Each bar of the table has the rows of each label in its colour; without labels there is one colour."""
    rows = [{"completion": text, "good": good} for text, good in [("a", True), ("a", False), ("b", False)]]
    report = wb.Contains("a", name="has a").run(rows, progress=False)
    plain, labelled = (histogram_html(each, "has a") for each in (report, report.diagnose(labels="good")))
    assert "class='good'" not in plain
    assert "<title>0.95 to 1: 2</title>" in plain
    assert labelled.count("class='good'") == 1
    assert labelled.count("class='bad'") == 2
    assert "0.95 to 1: 1 known good, 1 known bad" in labelled
