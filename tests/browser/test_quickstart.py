"""The quickstart in JupyterLab, as a newcomer meets it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from tests.browser import look
from tests.browser.page import Notebook, opened

if TYPE_CHECKING:
    from playwright.sync_api import Locator

NAME = "01_quickstart.ipynb"
CHECKS = ["syntax", "structure", "signature", "execution", "test run"]

LINES = """element => {
  const range = document.createRange();
  range.selectNodeContents(element);
  return new Set([...range.getClientRects()].map(box => Math.round(box.top))).size;
}"""

TOO_WIDE = """() => [...document.querySelectorAll('.jp-OutputArea-output, .jp-OutputArea-output *')]
  .filter(e => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== 'visible' && e.clientWidth > 0)
  .filter(e => !e.closest('svg, .js-plotly-plot, .jupyter-widgets, .workbench-samples, .wb-cell .scroll, .wb-cell pre'))
  .map(e => [e.className, e.innerText.slice(0, 60), e.scrollWidth, e.clientWidth])"""

CONTRASTS = """element => {
  const parse = text => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const over = (top, below) => {
    const alpha = top[3] ?? 1;
    return [0, 1, 2].map(i => alpha * top[i] + (1 - alpha) * below[i]);
  };
  const light = rgb => {
    const [r, g, b] = rgb.map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = node => {
    const layers = [];
    for (let at = node; at; at = at.parentElement) layers.push(parse(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const found = [];
  for (const node of element.querySelectorAll('*')) {
    const text = [...node.childNodes].filter(n => n.nodeType === 3).map(n => n.data).join('').trim();
    if (!text || node.tagName === 'STYLE' || !node.getClientRects().length) continue;
    const style = getComputedStyle(node), behind = ground(node);
    let opacity = 1;
    for (let at = node; at; at = at.parentElement) opacity *= Number(getComputedStyle(at).opacity);
    const colour = parse(node.namespaceURI.endsWith('svg') ? style.fill : style.color);
    colour[3] = (colour[3] ?? 1) * opacity;
    const pair = [light(over(colour, behind)), light(behind)].sort((a, b) => b - a);
    found.push([text.slice(0, 40), (pair[0] + 0.05) / (pair[1] + 0.05)]);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def run(browser, lab):
    """The notebook, opened and run once, in a profile of its own: the last of its tests loads the page anew."""
    with opened(browser, lab, NAME, fresh=True) as notebook:
        notebook.run_all()
        yield notebook


def chart(notebook: Notebook) -> Locator:
    """The drawn plotly chart."""
    drawn = notebook.find(".js-plotly-plot:has(.main-svg)").first
    drawn.wait_for()
    return drawn


def assert_chart(drawn: Locator) -> None:
    box = drawn.locator(".main-svg").first.bounding_box()
    assert box is not None
    assert box["width"] > 300
    assert box["height"] > 100
    bars = drawn.evaluate(
        "e => e.data.map(trace => [trace.type, trace.x.length, trace.y.reduce((a, b) => a + b, 0)])"
    )
    assert bars
    assert all(kind == "bar" and width > 1 and height > 0 for kind, width, height in bars)


def test_every_cell_runs_without_errors(run):
    """All code cells get a number, none shows an error or writes to stderr."""
    assert run.errors() == []
    assert all(cell["execution_count"] for cell in run.cells())


def test_checklists_show_five_checks(run):
    """The cell magic shows five ticks; the first try shows its cross and what to do."""
    run.find(".wb-checks").nth(1).wait_for()
    lists = run.find(".wb-checks").all()
    first, second = (
        [text.strip() for text in checks.locator(".check").all_inner_texts()] for checks in lists[:2]
    )
    assert first == [f"{mark} {name}" for mark, name in zip("✓✓✓✓✗", CHECKS, strict=True)]
    assert "→" in lists[0].inner_text()
    assert second == [f"✓ {name}" for name in CHECKS]


def test_chart_is_drawn(run):
    """The chart has a size and holds the counts."""
    assert_chart(chart(run))


def test_report_names_the_finding_with_its_evidence(run):
    """The report says too lenient, with an interval, and unfolds to rows."""
    report = run.find(".wb-report").filter(has_text="too lenient").first
    run.expect(report).to_contain_text("95 % interval")
    evidence = report.locator("details").first
    evidence.locator("summary").click()
    run.expect(evidence.locator("tr").nth(1)).to_be_visible()
    evidence.locator("summary").click()


def test_nothing_is_cut_or_broken_in_the_middle_of_a_word(run):
    """Each check stands on one line, and no output is wider than its cell."""
    for cell in run.find(".wb-checks .check").all():
        assert cell.evaluate(LINES) <= 1, cell.inner_text()
    assert run.page.evaluate(TOO_WIDE) == []


def test_headings_keep_their_words_whole(run):
    """No heading of a table is squeezed until its words break."""
    heads = run.find(".jp-OutputArea-output th:visible").all()
    broken = [head.inner_text() for head in heads if head.evaluate(LINES) > len(head.inner_text().split())]
    assert broken == []


def test_text_stands_on_the_left(run):
    """Words are aligned left, figures right, against JupyterLab's own rule for tables."""
    aligned = run.find(".wb-report th:not(.num), .wb-report td:not(.num)").evaluate_all(
        "all => all.map(e => [e.innerText.slice(0, 20), getComputedStyle(e).textAlign])"
    )
    assert [text for text, side in aligned if side not in {"left", "start"}] == []


def test_page_is_quiet_and_stays_at_home(run):
    """No console error, and no request to another host, drawn charts included."""
    chart(run)
    assert run.trouble.console == []
    assert run.trouble.strangers == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_can_be_read_in_both_themes(run, theme):
    """Text has the contrast WCAG AA asks for: 4.5, and 3 for marks, badges and the chart's grey."""
    with run.dark() if theme == "dark" else contextlib.nullcontext():
        drawn = chart(run)
        for number, cell in enumerate(run.find(".jp-Cell").all()):
            run.picture(f"{theme}-{number:02}", cell)
        weak = []
        for element in run.find(".wb-checks, .wb-report").all():
            weak += [
                pair for pair in element.evaluate(CONTRASTS) if pair[1] < (4.5 if len(pair[0]) > 8 else 3)
            ]
        weak += [pair for pair in drawn.evaluate(CONTRASTS) if pair[1] < 3]
        assert weak == []


def test_saved_notebook_shows_the_same_after_a_reload(run):
    """Checklist, report and chart are there again without running anything."""
    notebook = run
    before = chart(notebook).evaluate("e => JSON.stringify(e.data.map(trace => [trace.x, trace.y]))")
    # The extension adds a picture of the chart to the file: wait, so that it is saved with the rest.
    notebook.until(
        "() => window.jupyterapp.shell.currentWidget.content.model.toJSON().cells"
        ".some(cell => (cell.outputs ?? []).some(output => 'image/png' in (output.data ?? {})))"
    )
    counts = [notebook.find(kind).count() for kind in (".wb-checks", ".wb-report")]
    notebook.save_and_reload()
    notebook.find(".plot-img, .js-plotly-plot .main-svg").first.wait_for()
    assert [notebook.find(kind).count() for kind in (".wb-checks", ".wb-report")] == counts
    if notebook.find(".plot-img").count():  # a picture first; it comes alive under the pointer
        assert notebook.find(".plot-img").first.evaluate("e => e.naturalWidth") > 300
        notebook.find(".jp-RenderedPlotly").first.hover()
    again = chart(notebook)
    assert_chart(again)
    assert again.evaluate("e => JSON.stringify(e.data.map(trace => [trace.x, trace.y]))") == before
    assert notebook.errors() == []
    assert notebook.trouble.console == []
    assert notebook.trouble.strangers == []


@look.renews_pictures
def test_picture_for_the_readme(browser, lab):
    """The view of the README: the report that says too lenient, the rows that prove it, and the chart."""
    with opened(browser, lab, NAME, width=1100, height=1000) as notebook:
        notebook.command("application:toggle-left-area")
        notebook.run_all()
        chart(notebook)
        cells = notebook.find(".jp-CodeCell")
        first = cells.filter(has_text="report.diagnose(labels=").first
        last = cells.filter(has=notebook.page.locator(".js-plotly-plot")).first
        first.locator("summary").first.click()
        notebook.rest()
        first.evaluate("e => e.scrollIntoView({block: 'start'})")
        path = notebook.picture("quickstart", clip=(first, last))
        assert path.stat().st_size < 400_000
        notebook.command("application:toggle-left-area")  # the page goes on to the next test
