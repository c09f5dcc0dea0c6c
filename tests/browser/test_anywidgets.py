"""Our own widgets in JupyterLab: drawn, clicked, typed at, reloaded, in both themes, and fed with hostile text."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest

from tests.browser.page import opened

CHART = """
import ipywidgets as ip
import plotly.graph_objects as go
from workbench.widgets.views.chart import Chart

ends = [[at / 20, (at + 1) / 20] for at in range(20)]
bars = go.Figure(layout=dict(xaxis_title="score", yaxis_title="rows", height=240, bargap=0.1))
bars.add_bar(
    x=[low + 0.025 for low, _ in ends], y=[1 + (at * 7) % 13 for at in range(20)], width=[0.05] * 20, name="judge",
    customdata=[[{"grader": "judge", "score": pair}] for pair in ends],
)
grid = go.Figure(go.Heatmap(
    z=[[30, 4], [7, 22]], x=["good", "bad"], y=["pass", "fail"], text=[[30, 4], [7, 22]], texttemplate="%{text}",
    showscale=False, xgap=2, ygap=2,
    customdata=[[[{"verdict": "pass", "label": label}] for label in (True, False)],
                [[{"verdict": "fail", "label": label}] for label in (True, False)]],
), layout=dict(height=200, yaxis_autorange="reversed"))
one, two = Chart(bars, label="scores of judge"), Chart(grid, label="agreement")
told = ip.Label("nothing").add_class("told")
for chart in (one, two):
    chart.on_pick(lambda picks: setattr(told, "value", f"{len(picks)}: {picks}"))
ip.VBox([told, one, two])
"""

ROWS = """
import ipywidgets as ip
import numpy as np
import workbench as wb
from workbench.session.row_reader import read_row, whole_text
from workbench.widgets.views.table import Column, ScoreTable

CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 1}'}}

class Rows:
    columns = (Column("row", "row", "row"), Column("prompt", "prompt"), Column("completion", "completion"),
               Column("judge", "judge of politeness", "score"), Column("pass", "pass", "verdict"),
               Column("status", "status", "status"), Column("label", "label", "verdict"))

    def __init__(self, count):
        self.order, self.scores = np.arange(count), (np.arange(count) * 7919 % 1000) / 1000

    def __len__(self):
        return len(self.order)

    def window(self, start, stop):
        return [self.cells(int(at)) for at in self.order[start:stop]]

    def cells(self, at):
        failed = at % 11 == 5
        status = {"text": "failed: timeout", "kind": "failed"} if failed else "scored"
        score, label = float(self.scores[at]), {"text": "good", "kind": "good"} if at % 3 == 0 else None
        return [at, f"What is {at} + {at}? Say it in a whole sentence, please.", f"It is {2 * at}.",
                None if failed else score, None if failed else score > 0.5, status, label]

    def sort(self, key, descending):
        values = {"judge": self.scores}.get(key, np.arange(len(self.order)))
        self.order = np.argsort(-values if descending else values, kind="stable")

    def sample(self, at):
        said = f"It is **{2 * at}**.\\n\\n[more](javascript:alert(1))"
        messages = [
            {"role": "system", "content": "You are a calculator."}, {"role": "user", "content": f"What is {at} + {at}?"},
            {"role": "assistant", "content": "", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": "2"},
            {"role": "assistant", "content": said + (" and so on" * 1000 if at == 1 else "")},
        ]
        thread = wb.StringThread.from_messages(messages, {"documents": ["Sums are even."], "topic": "sums"})
        return wb.Sample(f"row-{at}", thread, str(2 * at), "")

    def grades(self, at):
        return {"judge": wb.Grade(float(self.scores[at]), passed=bool(self.scores[at] > 0.5), seconds=1.42,
                                  reasoning="Polite, but it offers more than was asked for.",
                                  metadata={"raw": '{"score": 4}'}),
                "exact": wb.Grade.failed("timeout", "no answer within 1 s")}

    def detail(self, at):
        at = int(self.order[at])
        return read_row(self.sample(at), self.grades(at), label=at % 2 == 0)

    def more(self, at, part):
        at = int(self.order[at])
        return whole_text(self.sample(at), self.grades(at), part)

rows = Rows(100_000)
"""

TABLE = """
told = ip.Label("nothing").add_class("told")
table = ScoreTable(rows, label="graded rows")
table.on_select(lambda at: setattr(told, "value", f"{at}: row-{rows.order[at]}"))
ip.VBox([told, table])
"""

CARD = """
from workbench.widgets.views.label_card import LabelCard

told, kept = ip.Label("nothing").add_class("told"), []

def card_of(at):
    return {**read_row(rows.sample(at), {}), "seq": at, "note": ""} if at < 6 else {}

card = LabelCard(card=card_of(0), upcoming=card_of(1), total=6, status=[("agreement", "83 %"), ("κ", "0.61")])

def decide(action, note, seq):
    if seq != card.card.get("seq", -1):
        return
    kept.append([action, seq, note])
    told.value = str(kept)
    at = {"undo": max(card.done - 1, 0), "note": card.done}.get(action, card.done + 1)
    card.card, card.upcoming, card.done = card_of(at), card_of(at + 1), at

card.on_decide(decide)
ip.VBox([told, card])
"""

HOSTILE = """
import ipywidgets as ip
import plotly.graph_objects as go
import workbench as wb
from workbench.widgets.views.label_card import LabelCard
from workbench.widgets.views.chart import Chart
from workbench.session.row_reader import read_row, whole_text
from workbench.widgets.views.table import Column, ScoreTable

CORPUS = [
    "<script>window.__pwned = 1</script>", "<img src=x onerror='window.__pwned = 1'>",
    "<svg onload='window.__pwned = 1'><a href='javascript:window.__pwned=1'>a</a></svg>",
    "<a href='javascript:window.__pwned=1'>click</a>", "[click](javascript:window.__pwned=1)",
    "![x](https://example.org/x.png)", "</div></details><iframe srcdoc='<script>parent.__pwned=1</script>'></iframe>",
    "'\\"><style>*{display:none}</style>", "abc\\u202edef\\u2066", "nul\\x00nul", "$$\\\\require{x}\\\\href{javascript:1}{x}$$",
    "x" * 300_000,
]
ALL = "\\n".join(CORPUS)

def row_of(at):
    text, call = CORPUS[at], {"function": {"name": CORPUS[at], "arguments": CORPUS[at]}}
    messages = [{"role": text[:99], "content": text}, {"role": "document", "content": text},
                {"role": "assistant", "content": text, "tool_calls": [call]}]
    thread = wb.StringThread.from_messages(messages, {"documents": [text], text: text})
    grades = {text: wb.Grade(0.5, reasoning=text, metadata={"raw": text}), text + "2": wb.Grade.failed("crash", text),
              text + "3": wb.Grade.skipped(text)}
    return wb.Sample(text, thread, text, ""), grades

class Rows:
    columns = tuple(Column(str(at), text, "text") for at, text in enumerate(CORPUS))
    def __len__(self): return len(CORPUS)
    def window(self, start, stop):
        return [[text, {"text": text, "kind": text}] + [text] * (len(CORPUS) - 2) for text in CORPUS[start:stop]]
    def sort(self, key, descending): pass
    def detail(self, at): return read_row(*row_of(at))
    def more(self, at, part): return whole_text(*row_of(at), part)

table = ScoreTable(Rows(), label=ALL[:900])
figure = go.Figure(layout=dict(title=CORPUS[2], xaxis_title=CORPUS[1], height=300))
figure.add_bar(x=CORPUS[:8], y=[3] * 8, name=CORPUS[3], customdata=CORPUS[:8], text=CORPUS[:8], hovertemplate=CORPUS[3])
figure.add_bar(x=CORPUS[:8], y=[2] * 8, name=CORPUS[0])
chart = Chart(figure, label=ALL[:900])
card = LabelCard(card={**read_row(*row_of(0)), "seq": 0, "note": CORPUS[0]}, total=2, message=ALL[:900],
                 status=[(text, text) for text in CORPUS[:8]], label=CORPUS[1], bindings={"good": "1", CORPUS[0]: "<"},
                 recent=[{"seq": 1, "id": CORPUS[1], "action": CORPUS[0]}])
close = ip.Button(description="close").add_class("close")
close.on_click(lambda _: [one.close() for one in (chart, table, card)])
ip.VBox([chart, table, card, close])
"""


def told(notebook, text):
    """Wait until Python has said so."""
    notebook.find(".told").filter(has_text=text).wait_for()


def wait(notebook, script, value=None):
    notebook.page.wait_for_function(script, arg=value)


def untroubled(notebook):
    return (notebook.errors(), notebook.trouble.console, notebook.trouble.strangers) == ([], [], [])


def bar(notebook, at):
    """The middle of a bar, in pixels of the page."""
    box = notebook.find(".wb-chart .barlayer .point path").nth(at).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(notebook, start, end):
    mouse = notebook.page.mouse
    mouse.move(*start)
    mouse.down()
    mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2, steps=4)
    mouse.move(*end, steps=4)
    mouse.up()


PICKED = """count => document.querySelectorAll('.wb-chart')[0].querySelectorAll('.barlayer .point path').length === 20 &&
  [...document.querySelectorAll('.wb-chart')[0].querySelectorAll('.barlayer .point path')]
    .filter(path => Number(getComputedStyle(path).opacity) === 1).length === count"""
"""How many bars are not faded."""


def test_chart_is_drawn_picked_and_found_again(browser, lab):
    """Bars and cells are picked by click, box and key; Python knows what they mean; a reload shows the same."""
    with opened(browser, lab, lab.write("chart.ipynb", [CHART, "one.picked"]), fresh=True) as notebook:
        notebook.run_all()
        notebook.find(".wb-chart .js-plotly-plot .main-svg").nth(2).wait_for()
        sizes = [box.bounding_box() for box in notebook.find(".js-plotly-plot .main-svg").all()]
        assert all(size["width"] > 400 and size["height"] >= 200 for size in sizes)
        assert notebook.page.evaluate("[globalThis.workbenchPlotly.size, typeof globalThis.Plotly]") == [
            1,
            "undefined",
        ]
        click_and_clear(notebook)
        box_and_cell(notebook)
        by_key(notebook)
        notebook.picture("chart-picked", notebook.find(".wb-chart").first)
        notebook.save_and_reload()
        notebook.find(".wb-chart .main-svg").nth(2).wait_for()
        wait(notebook, PICKED, 1)
        notebook.page.mouse.click(*bar(notebook, 3))
        told(notebook, "[0.15, 0.2]")
        assert untroubled(notebook)


def click_and_clear(notebook):
    notebook.page.mouse.click(*bar(notebook, 6))
    told(notebook, "1: [[{'grader': 'judge', 'score': [0.3, 0.35]}]]")
    wait(notebook, PICKED, 1)
    notebook.page.mouse.click(*bar(notebook, 6))
    told(notebook, "0: []")
    wait(notebook, PICKED, 20)


def box_and_cell(notebook):
    (left, _), (right, _) = bar(notebook, 8), bar(notebook, 10)
    area = notebook.find(".wb-chart .nsewdrag").first.bounding_box()
    drag(notebook, (left - 8, area["y"] + 5), (right + 8, area["y"] + area["height"] - 5))
    told(notebook, "3: [[{'grader': 'judge', 'score': [0.4, 0.45]}]")
    wait(notebook, PICKED, 3)
    notebook.page.mouse.dblclick(left, area["y"] + 2)
    told(notebook, "0: []")
    cell = notebook.find(".wb-chart").nth(1).locator(".nsewdrag").bounding_box()
    notebook.page.mouse.click(cell["x"] + cell["width"] * 0.75, cell["y"] + cell["height"] * 0.25)
    told(notebook, "1: [[{'verdict': 'pass', 'label': False}]]")
    notebook.find(".wb-chart").nth(1).locator(".shapelayer path").wait_for()


def by_key(notebook):
    press = notebook.page.keyboard.press
    notebook.find(".wb-chart").nth(1).focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        press(key)
    said = notebook.find(".wb-chart .wb-said")
    said.nth(1).filter(has_text="bad, fail, 22").wait_for()
    press("Enter")
    told(notebook, "1: [[{'verdict': 'fail', 'label': False}]]")
    notebook.find(".wb-chart").first.focus()
    press("ArrowRight")
    press("ArrowRight")
    said.first.filter(has_text="judge, score 0.075, rows 8").wait_for()
    notebook.find(".wb-chart .hoverlayer .hovertext").wait_for()
    press("Enter")
    told(notebook, "[0.05, 0.1]")
    press("Escape")
    told(notebook, "0: []")
    press("End")
    press("Enter")
    told(notebook, "[0.95, 1]")


def test_chart_follows_theme_size_and_figure(browser, dark_lab):
    """A dark page gets a dark chart; switching the theme, narrowing the window and a new figure redraw it."""
    more = "tabs = ip.Tab([ip.Label('first'), Chart(bars, label='hidden')], titles=['a', 'b']).add_class('tabs')\ntabs\n"
    change = "button = ip.Button(description='change').add_class('change')\nbutton.on_click(lambda _: setattr(one, 'figure', go.Figure(go.Bar(y=[1, 2], name='new'), layout=dict(height=160))))\nbutton"
    ink = "rgb => document.querySelector('.wb-chart .xtick text')?.style.fill === rgb"
    with opened(browser, dark_lab, dark_lab.write("theme.ipynb", [CHART, more, change])) as notebook:
        notebook.run_all()
        notebook.find(".wb-chart .main-svg").nth(2).wait_for()
        wait(notebook, ink, "rgb(255, 255, 255)")
        notebook.picture("chart-dark", notebook.find(".wb-chart").first)
        notebook.picture("chart-dark-grid", notebook.find(".wb-chart").nth(1))
        switch_theme(notebook, "Light", ink, "rgb(0, 0, 0)")
        assert notebook.find(".tabs .main-svg").count() == 0
        notebook.find(".tabs .lm-TabBar-tab").nth(1).click()
        notebook.find(".tabs .main-svg").first.wait_for()
        notebook.page.set_viewport_size({"width": 760, "height": 900})
        wait(
            notebook,
            "() => { const root = document.querySelector('.wb-chart'), svg = root?.querySelector('.main-svg');"
            " return svg && root.clientWidth < 650 && Math.abs(svg.clientWidth - root.clientWidth) <= 1; }",
        )
        notebook.picture("chart-narrow", notebook.find(".wb-chart").first)
        notebook.find(".change").click()
        wait(notebook, "() => document.querySelector('.wb-chart .main-svg').clientHeight === 160")
        switch_theme(notebook, "Dark", ink, "rgb(255, 255, 255)")  # the server keeps it
        # JupyterLab's own splash screen sometimes goes twice.
        notebook.trouble.console = [text for text in notebook.trouble.console if "removeChild" not in text]
        assert untroubled(notebook)


def switch_theme(notebook, name, ink, rgb):
    """Ask for a theme until the chart has its ink: under load the echo of an earlier change can undo this one."""
    from playwright.sync_api import TimeoutError as PlaywrightTimeout

    script = "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})"
    for _ in range(6):
        notebook.page.evaluate(script, f"JupyterLab {name}")
        with suppress(PlaywrightTimeout):
            notebook.page.wait_for_function(ink, arg=rgb, timeout=20_000)
            return
    raise AssertionError(f"the chart did not follow the theme {name}")


def test_table_of_a_hundred_thousand_rows_is_moved_through_sorted_and_read(browser, lab):
    """Only rows in view are in the page; keys, clicks and the head do what they say; a reload shows the selection."""
    with opened(browser, lab, lab.write("table.ipynb", [ROWS, TABLE]), width=1500, fresh=True) as notebook:
        notebook.run_all()
        row(notebook, "It is 0.").wait_for()
        few_rows(notebook)
        scrolled(notebook)
        sorted_by_head(notebook)
        moved(notebook)
        notebook.picture("table-light", notebook.find(".wb-table"))
        notebook.save_and_reload()
        notebook.find(".wb-reader-id").filter(has_text="row-0").wait_for()
        row(notebook, "It is 0.").wait_for()
        assert untroubled(notebook)


def test_table_obeys_code(browser, lab):
    """Rows that changed are fetched anew in place, a row selected by code is shown and read, new rows start on top."""
    steps = """
def button(name, act):
    made = ip.Button(description=name).add_class(name)
    made.on_click(lambda _: act())
    return made

def change():
    rows.cells = lambda at: [at, "changed", f"Now {at}.", 0.5, True, "scored", None]
    table.refresh()

ip.HBox([button("change", change), button("choose", lambda: setattr(table, "selected", 5_000)),
         button("fewer", lambda: setattr(table, "source", Rows(3))), button("none", lambda: setattr(table, "source", None))])
"""
    with opened(browser, lab, lab.write("obeys.ipynb", [ROWS, TABLE, steps]), width=700) as notebook:
        notebook.run_all()
        row(notebook, "It is 4.").click()
        notebook.find(".wb-reader-id").filter(has_text="row-2").wait_for()
        notebook.find("button.change").click()
        row(notebook, "Now 2.").wait_for()
        notebook.expect(row(notebook, "Now 2.")).to_contain_class("wb-chosen")
        notebook.find("button.choose").click()
        notebook.find(".wb-reader-id").filter(has_text="row-5000").wait_for()
        row(notebook, "Now 5000.").wait_for()
        notebook.picture("table-narrow", notebook.find(".wb-table"))
        told(notebook, "2: row-2")  # what code selects is not told to code
        notebook.find("button.fewer").click()
        row(notebook, "It is 4.").wait_for()
        notebook.find(".wb-table-reader").wait_for(state="hidden")
        notebook.expect(".wb-row").to_have_count(3)
        notebook.find("button.none").click()
        notebook.find(".wb-facts").filter(has_text="no rows").wait_for()
        assert untroubled(notebook)


def row(notebook, text):
    return notebook.find(".wb-row").filter(has=notebook.page.get_by_text(text, exact=True))


def few_rows(notebook):
    assert 10 < notebook.find(".wb-row").count() < 40
    grid = notebook.expect(".wb-grid")
    for name, value in {"role": "grid", "aria-rowcount": "100001", "aria-label": "graded rows"}.items():
        grid.to_have_attribute(name, value)
    notebook.expect(row(notebook, "It is 10.")).to_contain_text("failed: timeout")


def scrolled(notebook):
    notebook.page.evaluate(
        "() => { const grid = document.querySelector('.wb-grid'); grid.scrollTop = grid.scrollHeight; }"
    )
    row(notebook, "It is 199998.").wait_for()
    assert notebook.find(".wb-row").count() < 40
    last = notebook.expect(row(notebook, "It is 199998."))
    last.to_have_attribute("aria-rowindex", "100001")
    last.to_be_visible()


def sorted_by_head(notebook):
    head = notebook.find(".wb-th").filter(has_text="judge of politeness")
    head.locator("button").click()
    row(notebook, "It is 2000.").wait_for()  # every thousandth row has the score 0
    notebook.expect(head).to_have_attribute("aria-sort", "ascending")
    head.locator("button").click()
    notebook.find(".wb-facts").filter(has_text="by judge of politeness ↓").wait_for()
    notebook.find(".wb-td").filter(has_text="0.999").first.wait_for()
    notebook.page.keyboard.press("Enter")  # the head keeps the focus: once more is the natural order
    row(notebook, "It is 0.").wait_for()
    notebook.expect(head).to_have_attribute("aria-sort", "none")


def moved(notebook):
    press = notebook.page.keyboard.press
    row(notebook, "It is 4.").click()
    told(notebook, "2: row-2")
    notebook.find(".wb-reader-id").filter(has_text="row-2").wait_for()
    for key in ("j", "ArrowDown", "k", "End"):
        press(key)
    told(notebook, "99999: row-99999")
    notebook.find(".wb-reader-id").filter(has_text="row-99999").wait_for()
    press("Escape")
    notebook.find(".wb-table-reader").wait_for(state="hidden")
    press("Home")
    told(notebook, "0: row-0")
    press("PageDown")
    press("PageUp")
    press("Enter")
    notebook.find(".wb-reader-id").filter(has_text="row-0").wait_for()
    notebook.expect(".wb-row.wb-chosen").to_have_attribute("aria-selected", "true")
    notebook.expect(".wb-grid").to_have_attribute("aria-activedescendant", re.compile(r"-0$"))


def test_reader_shows_the_whole_row(browser, dark_lab):
    """Roles, tool calls and answers, documents, metadata, grades and raw answers; cut texts come whole on demand."""
    with opened(browser, dark_lab, dark_lab.write("reader.ipynb", [ROWS, TABLE]), width=1500) as notebook:
        notebook.run_all()
        row(notebook, "It is 2.").click()
        reader = notebook.find(".wb-reader")
        roles = ["system", "user", "assistant", "tool", "assistant", "reference"]
        notebook.expect(reader.locator(".wb-turn > .wb-role")).to_have_text(roles)
        notebook.expect(reader.locator(".wb-call")).to_contain_text("add")
        notebook.expect(reader).to_contain_text("[more](javascript:alert(1))")
        notebook.expect(reader.locator(".wb-grade")).to_have_count(2)
        notebook.expect(reader).to_contain_text("timeout: no answer within 1 s")
        reader.locator("summary", has_text="Document 1").click()
        reader.get_by_text("Sums are even.").wait_for()
        reader.locator("summary", has_text="Metadata").click()
        reader.get_by_text('"topic": "sums"').wait_for()
        reader.locator("summary", has_text="Raw answer").click()
        reader.get_by_text('{"score": 4}').wait_for()
        reader.locator(".wb-link", has_text="more characters").click()
        reader.locator(".wb-link").wait_for(state="detached")
        assert reader.locator(".wb-role-assistant .wb-text").last.inner_text().count("and so on") == 1000
        notebook.find(".wb-pane-bar .wb-tool").nth(1).click()
        notebook.find(".wb-reader-id").filter(has_text="row-2").wait_for()
        notebook.expect(reader.get_by_text('"topic": "sums"')).to_be_visible()  # what was open stays open
        notebook.picture("reader-dark", notebook.find(".wb-table"))
        notebook.find(".wb-close").click()
        notebook.find(".wb-table-reader").wait_for(state="hidden")
        assert untroubled(notebook)


def test_card_is_judged_by_keys(browser, lab):
    """Keys act at once and only on the card; the note takes letters; undo goes back; at the end it says so."""
    with opened(browser, lab, lab.write("card.ipynb", [ROWS, CARD])) as notebook:
        notebook.run_all()
        card = notebook.find(".wb-card")
        card.locator(".wb-reader-id", has_text="row-0").wait_for()
        card.locator(".wb-card-body").click()
        press, cells = notebook.page.keyboard.press, len(notebook.cells())
        for key in ("b", "d", "d", "a", "m", "x"):
            press(key)
        assert len(notebook.cells()) == cells == 2
        told(notebook, "nothing")
        judged(notebook, card)
        note_typed(notebook, card)
        notebook.picture("card-light", card)
        ended(notebook, card)
        assert len(notebook.cells()) == cells
        assert untroubled(notebook)


def judged(notebook, card):
    press = notebook.page.keyboard.press
    for at, key in enumerate("10s"):
        card.locator(".wb-reader-id", has_text=f"row-{at}").wait_for()
        press(key)
    told(notebook, "[['good', 0, ''], ['bad', 1, ''], ['skip', 2, '']]")
    card.locator(".wb-reader-id", has_text="row-3").wait_for()
    card.locator(".wb-card-count", has_text="3 of 6").wait_for()
    card.locator(".wb-card-recent", has_text="row-1").wait_for()
    press("u")
    told(notebook, "['undo', 3, '']")
    card.locator(".wb-reader-id", has_text="row-2").wait_for()
    press("?")
    card.locator(".wb-card-help", has_text="leave the note").wait_for()


def note_typed(notebook, card):
    press = notebook.page.keyboard.press
    press("n")
    notebook.page.keyboard.type("10 sud?")
    notebook.expect(card.locator("textarea")).to_have_value("10 sud?")
    press("Escape")
    told(notebook, "['note', 2, '10 sud?']")
    notebook.expect(card.locator("textarea")).to_have_value("10 sud?")
    press("1")
    told(notebook, "['good', 2, '10 sud?']")
    card.locator(".wb-reader-id", has_text="row-3").wait_for()
    notebook.expect(card.locator("textarea")).to_have_value("")


def ended(notebook, card):
    card.locator("button", has_text="Bad").click()
    told(notebook, "['bad', 3, '']")
    for at in (4, 5):
        card.locator(".wb-reader-id", has_text=f"row-{at}").wait_for()
        notebook.page.keyboard.press("1")
    card.get_by_text("all done").wait_for()
    card.locator(".wb-card-count", has_text="6 of 6").wait_for()
    notebook.expect(card.locator("button", has_text="Good")).to_be_disabled()
    notebook.page.keyboard.press("u")
    card.locator(".wb-reader-id", has_text="row-5").wait_for()


BUSY_FIRST = """def slow(*_):
    import pathlib, time
    while not pathlib.Path(GO).exists():
        time.sleep(0.01)

card.on_decide(slow)

def decide"""

WATCH = """() => {
  window.seenCards = [];
  const body = document.querySelector('.wb-card-body');
  new MutationObserver(() => {
    const name = body.querySelector('.wb-reader-id')?.textContent;
    if (name) window.seenCards.push(name);
  }).observe(body, {childList: true});
}"""


def test_card_does_not_wait_for_a_slow_kernel(browser, lab):
    """The next card is shown before Python has answered, quick keys are not lost, and nothing jumps back."""
    go = lab.notebooks / "slow.go"
    cells = [f"GO = {str(go)!r}", ROWS, CARD.replace("def decide", BUSY_FIRST)]
    with opened(browser, lab, lab.write("slow.ipynb", cells)) as notebook:
        notebook.run_all()
        card = notebook.find(".wb-card")
        card.locator(".wb-reader-id", has_text="row-0").wait_for()
        card.locator(".wb-card-body").click()
        notebook.page.evaluate(WATCH)
        notebook.page.keyboard.press("1")
        card.locator(".wb-reader-id", has_text="row-1").wait_for()
        assert notebook.find(".told").inner_text() == "nothing"
        notebook.page.keyboard.press("0")
        go.touch()
        told(notebook, "[['good', 0, ''], ['bad', 1, '']]")
        card.locator(".wb-reader-id", has_text="row-2").wait_for()
        card.locator(".wb-card-count", has_text="2 of 6").wait_for()
        seen = notebook.page.evaluate("window.seenCards")
        assert seen == sorted(seen)
        assert untroubled(notebook)


def test_card_that_changes_keeps_what_is_being_written(browser, lab):
    """A run that ends or scores that appear change the card under the reader; the note half written stays."""
    changed = CARD.replace("def decide", BUSY_FIRST).replace(
        "card.card, card.upcoming, card.done = card_of(at)",
        "card.card, card.upcoming, card.done = other_of(at)",
    )
    other = 'other_of = lambda at: {**card_of(at), "id": f"row-{at}, changed"}\n\ncard ='
    cell = changed.replace("\ncard =", f"\n{other}", 1)
    go = lab.notebooks / "changes.go"
    with opened(browser, lab, lab.write("changes.ipynb", [f"GO = {str(go)!r}", ROWS, cell])) as notebook:
        notebook.run_all()
        card = notebook.find(".wb-card")
        card.locator(".wb-reader-id", has_text="row-0").wait_for()
        card.locator(".wb-card-body").click()
        notebook.page.keyboard.press("1")
        notebook.page.keyboard.press("n")
        notebook.page.keyboard.type("half a th")
        go.touch()
        card.locator(".wb-reader-id", has_text="row-1, changed").wait_for()
        notebook.expect(card.locator("textarea")).to_have_value("half a th")
        assert untroubled(notebook)


OPEN_ALL = "() => document.querySelectorAll('.wb-table details').forEach(fold => { fold.open = true; })"


@pytest.mark.parametrize("width", [1280, 700])
def test_hostile_text_is_shown_and_never_run(browser, lab, width):
    """Markup, links, scripts and hidden characters in every text of every widget stay text."""
    with opened(browser, lab, lab.write("hostile.ipynb", [HOSTILE]), width=width) as notebook:
        notebook.run_all()
        notebook.find(".wb-chart .main-svg").first.wait_for()
        notebook.find(".wb-row").nth(11).filter(has_text="xxx").wait_for()
        for at in range(12):
            notebook.find(".wb-row").nth(at).click()
            notebook.find(".wb-pane-bar").filter(has_text=f"row {at + 1} of 12").wait_for()
            notebook.find(".wb-table-reader .wb-reader-host:not([aria-busy])").wait_for()
            notebook.page.evaluate(OPEN_ALL)
        notebook.find(".wb-card .wb-card-keys").click()
        for point in range(3):
            notebook.page.mouse.click(*bar(notebook, point))
        found = notebook.page.evaluate(
            "() => [window.__pwned, document.querySelectorAll("
            "'.wb-table :is(script, img, iframe, a, svg, style), .wb-card :is(script, img, iframe, a, svg, style),"
            ' .wb-chart :is(script, img, iframe), .wb-chart a[href^="javascript"]\').length]'
        )
        assert found == [None, 0]
        text = notebook.page.evaluate("document.querySelector('.wb-table').textContent")
        assert "<script>window.__pwned = 1</script>" in text
        assert "⟨U+202E⟩" in text
        assert "\u202e" not in text
        notebook.picture(f"hostile-{width}", notebook.find(".wb-table"))
        notebook.find("button.close").click()
        notebook.page.locator(":is(.wb-chart, .wb-table, .wb-card)").first.wait_for(state="detached")
        assert untroubled(notebook)
