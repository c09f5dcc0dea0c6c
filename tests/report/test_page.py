"""The HTML report: self-contained, escaped, written whole."""

from __future__ import annotations

import html.parser
from dataclasses import replace

import numpy as np
import pytest

import workbench as wb
from workbench.core.errors import FormatError
from workbench.core.grade import Grade
from workbench.core.grades import Grades
from workbench.data.samples import Samples
from workbench.report import Report
from workbench.report.page import render_certificate, render_html, write_html

CORPUS = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "' autofocus onfocus='alert(1)",
    "<a href='javascript:alert(1)'>x</a>",
    "<svg/onload=alert(1)>",
    "</style><script>alert(1)</script>",
    "</pre><iframe src='https://example.org'></iframe>",
    "{{ 7 * 7 }}{% for x in range(9) %}{{ config }}{% endfor %}",
    "<!--><script>alert(1)</script-->",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "\u202egnp.exe\u202c",
    "\ud800 lone \udfff",
    "\x00\x08\x1b[2J",
    "]]><script>alert(1)</script>",
]
TAGS = {
    "html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "div", "table", "thead", "tbody",
    "tr", "th", "td", "svg", "line", "rect", "path", "circle", "text", "span", "i", "b", "strong", "details", "summary",
    "pre",
}  # fmt: skip


def make_report(n=80, text="It is 4.", name="quality"):
    grades = Grades.empty(n)
    grades.put_scores(0, np.ones(n), seconds=0.1)
    grades.put(0, Grade.failed("runtime", text))
    grades.put(1, Grade(1.0, reasoning=text))
    grades.isolation = "kernel"
    samples = Samples(
        [{"prompt": f"{row} {text}", "completion": text, "reference": text} for row in range(n)]
    )
    return Report(samples, {name: grades}, sources={name: f"def grade(thread):  # {text}\n    return 1.0\n"})


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.parametrize("attack", CORPUS)
def test_hostile_text_stays_text(attack, tmp_path):
    """In name, title, source, prompt, completion, reference, reason and error: no tag and no handler of theirs."""
    report = make_report(text=attack, name=attack)
    path = write_html(
        report, tmp_path / "report.html", title=attack, generated=attack, versions={attack: attack}
    )
    page = Page(path.read_text(encoding="utf-8"))
    assert set(page.tags) <= TAGS
    names = {name for name, _ in page.attributes}
    assert not [name for name in names if name.startswith("on")]
    assert not names & {"href", "src", "action", "srcset"}


def test_templates_in_text_are_not_run():
    """What looks like a template prints as it is."""
    page = render_html(make_report(text="{{ 123457 * 8 }}"))
    assert "{{ 123457 * 8 }}" in page
    assert "987656" not in page


def test_hidden_characters_are_shown():
    """Direction and control characters appear as code points."""
    page = render_html(make_report(text="abc\u202edef\x1b"))
    assert "⟨U+202E⟩" in page
    assert "\u202e" not in page
    assert "\x1b" not in page


def test_holds_everything():
    """Summary, distributions, findings with rows, source, isolation, versions and date."""
    page = render_html(make_report(), generated="1 May 2031", versions={"workbench": "9.9"})
    for piece in ("quality", "gives every row the same score", "It is 4.", "def grade(thread)", "isolation: kernel", "1 May 2031", "workbench 9.9", "<svg"):  # fmt: skip
        assert piece in page


def test_default_versions_and_date():
    """Without being told it names Python, numpy, pandas and the time in UTC."""
    page = render_html(make_report())
    assert all(piece in page for piece in ("Python 3.", "numpy ", "pandas ", " UTC"))


def test_asks_no_host_for_anything():
    """No address, no script, and a policy that forbids both."""
    page = render_html(make_report())
    assert "http" not in page.replace('http-equiv="Content-Security-Policy"', "")
    assert "default-src 'none'" in page
    assert "script" not in Page(page).tags


def test_long_completions_are_cut():
    """A megabyte of text is cut at 2,000 characters, and the page says so."""
    page = render_html(make_report(n=40, text="y" * 1_000_000))
    assert len(page) < 400_000
    assert "998,000 more characters" in page


def test_small_and_independent_of_rows():
    """Under 300 kB, whatever the rows."""
    sizes = [len(render_html(make_report(n))) for n in (100, 10_000)]
    assert max(sizes) < 300_000
    assert abs(sizes[1] - sizes[0]) < 1_000


def test_interactive_brings_its_own_script():
    """The script comes out of the installed package, and no text can end its script."""
    page = render_html(make_report(text="</script><b>", name="</script><b>"), interactive=True)
    assert "Plotly.newPlot" in page
    assert "script-src 'unsafe-inline'" in page
    assert "<b>" not in Page(page).tags
    assert Page(page).tags.count("script") <= 2 * page.count("Plotly.newPlot(") + 2
    assert "cdn.plot.ly" not in page.split("Plotly.newPlot", 1)[1]


def test_interactive_has_every_figure_that_fits():
    """Labels, weights and prompts bring figures of their own; the script is there once."""
    rows = [{"prompt": f"p{row // 4}", "completion": "ab"[row % 2], "reference": "a"} for row in range(60)]
    suite = wb.Suite([wb.ExactMatch(), wb.Contains("a")], combine=wb.combine.Mean())
    page = render_html(suite.run(rows, progress=False, labels=[True, False] * 30), interactive=True)
    for title in (
        "Distributions",
        "Against labels",
        "Effective weights",
        "Prompts by spread",
        "Informative groups by group size",
    ):
        assert f"<h3>{title}</h3>" in page
    assert len(page) < 6_000_000


def test_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    """A failure leaves the old file and no litter."""
    path = tmp_path / "report.html"
    path.write_text("old")
    report = make_report()

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", refuse)
    with pytest.raises(FormatError, match="No space left"):
        report.to_html(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_replaces_an_older_file(tmp_path):
    """Writing twice gives the newer report, and the path is returned."""
    path = tmp_path / "report.html"
    path.write_text("old")
    assert make_report().to_html(str(path)) == path
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("rows", [0, 1])
def test_empty_reports_can_be_written(rows):
    """No rows, or no graders, still make a page."""
    samples = Samples([{"prompt": "a", "completion": "b"}]).take(range(rows))
    assert "nothing was run" in render_html(Report(samples, {}))
    assert "quality" in render_html(Report(samples, {"quality": Grades.empty(rows)}))


def certificate_named(name):
    from tests.report.certificates.making import certified, function

    made = certified([function()])
    grader = replace(made.graders[0], name=name, kind=name, models=(name,))
    return replace(made, graders=(grader,), workbench=name)


@pytest.mark.parametrize("text", CORPUS)
def test_a_certificate_page_has_no_markup_of_others(text):
    """Names are text, the page asks for nothing and runs nothing, and every fact is on it."""
    certificate = certificate_named(text)
    written = render_certificate(certificate)
    page = Page(written)
    assert set(page.tags) <= TAGS
    assert not any(name.startswith("on") or name in {"src", "href"} for name, _ in page.attributes)
    assert "default-src 'none'" in written
    assert "false positive rate (rho_0)" in written
    assert certificate.graders[0].sha256 in written


def test_a_certificate_page_is_written_whole(tmp_path):
    """`to_html` writes what is rendered, and refuses a folder that is not there."""
    certificate = certificate_named("quality")
    assert certificate.to_html(tmp_path / "c.html").read_text("utf-8") == render_certificate(certificate)
    with pytest.raises(FormatError, match="no folder"):
        certificate.to_html(tmp_path / "none" / "c.html")
