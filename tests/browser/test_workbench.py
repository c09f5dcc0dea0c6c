"""The Workbench in JupyterLab, Notebook 7 and Voila, walked through as a person would."""

from __future__ import annotations

import re

from tests.browser import voila as voila_page
from tests.browser.page import opened
from tests.browser.walk import Walk

NAME = "05_workbench.ipynb"


def test_every_panel_in_jupyterlab_and_the_same_after_a_reload(browser, lab):
    """All main paths by clicks and keys; the page loaded anew shows the same run, rows, labels and panel."""
    with opened(browser, lab, NAME, height=1400, fresh=True) as notebook:
        notebook.run_all()
        assert notebook.errors() == []
        walk = Walk(notebook, "lab")
        walk.all()
        walk.open("Results")
        shown = notebook.text(".wb-shown")
        notebook.save_and_reload()
        again = Walk(notebook, "lab-reloaded")
        notebook.wait_text(".wb-shown", shown)
        notebook.find(".wb-results .wb-chart .main-svg").first.wait_for()
        notebook.find(".wb-results .wb-table [role=row]:not([aria-busy])").nth(1).wait_for()
        notebook.expect(again.open("Run")).to_contain_text("done: 300 rows")
        notebook.expect(again.open("Label")).to_contain_text("3 of 300")
        again.quiet()


def test_every_panel_in_the_dark_and_narrow(browser, dark_lab):
    """The same in the dark theme with half the room: nothing covers anything."""
    with opened(browser, dark_lab, NAME, width=820, height=1400) as notebook:
        notebook.run_all()
        Walk(notebook, "dark").all()


def test_notebook_7_answers_clicks_and_keys(browser, notebook7):
    """What a front end can get wrong: a run by a click, its figures and rows, and keys that are the card's alone."""
    with opened(browser, notebook7, NAME, height=1400) as notebook:
        notebook.run_all()
        before = len(notebook.cells())
        walk = Walk(notebook, "notebook7")
        walk.run()
        walk.results()
        walk.open("Label")
        card = notebook.find(".wb-label .wb-card").first
        card.focus()
        for key in "bdda":
            card.press(key)
        card.press("?")
        assert len(notebook.cells()) == before
        walk.quiet()


def test_voila_is_a_usable_app(browser, voila):
    """No code in sight: pick a grader, run, find why it is lenient, label 20 rows, compare, export; come back."""
    with voila_page.opened(browser, voila(NAME), height=1400) as page:
        walk = Walk(page, "voila")
        walk.run()
        walk.results()
        walk.label(20)
        page.wait_text(".wb-label .wb-card", re.compile("kappa|agreement"))
        walk.compare()
        walk.write()
        walk.export()
        page.find(".wb-export input[type=text]").first.fill("from-voila")
        page.find(".wb-export input[type=text]").first.press("Tab")
        page.click(".wb-write-file")
        page.wait_text(".wb-written", "wrote from-voila.json")
        with page.page.expect_download() as download:
            page.click(".wb-export .wb-source-download")
        assert download.value.suggested_filename == "from-voila.json"
        assert page.errors() == []
        walk.quiet()
    with voila_page.opened(browser, voila(NAME)) as later:
        Walk(later, "voila-later").open("Write")
        later.find(".wb-write select").nth(1).select_option("kept: mentions")
        later.expect(".wb-editor textarea").to_have_value(re.compile("KEYWORDS"))


CELLS = [
    "%load_ext workbench\nimport workbench as wb",
    "app = wb.Workbench(wb.demo_samples('arithmetic'), [wb.Contains(name='contains_number')], store=None)\napp",
    "@wb.grader\nasync def late(thread: wb.StringThread) -> float:\n    return 1.0\n",
    "%%grader late\nasync def grade(thread: StringThread) -> float:\n    return 0.5\n",
]


def test_graders_of_later_cells_appear(browser, lab):
    """One is defined, then redefined, in later cells: it is there, proved by the magic, and not yet run."""
    with opened(browser, lab, lab.write("later.ipynb", CELLS)) as notebook:
        notebook.run_all()
        walk = Walk(notebook, "later")
        walk.open("Run")
        notebook.expect(".wb-run select option:has-text('late')").to_have_text("late · not run yet")
        walk.open("Write")
        notebook.find(".wb-write select").first.select_option("late")
        notebook.wait_text(".wb-write .wb-source", "return 0.5")
        walk.quiet()


HOSTILE = [
    "<img src=x onerror=window.pwned=1>",
    "<script>window.pwned=1</script>",
    "'\"><svg onload=window.pwned=1>",
    "[x](javascript:window.pwned=1)",
    "\\u202egpj.exe",
]

XSS = f"""
import workbench as wb
bad = {HOSTILE!r}
rows = [{{"prompt": text, "completion": other, "expected": text, "id": text + str(n), text: other, "good": n % 2 == 0,
          "metadata": {{text: other}}}} for n, (text, other) in enumerate((a, b) for a in bad for b in bad)]
judge = wb.BinaryJudge(name=bad[0], criteria=bad[1], model="m", client=wb.ScriptedClient(
    lambda messages: '{{"reasoning": "' + bad[0].replace('"', "'") + '", "score": "PASS"}}'))
strict = wb.ExactMatch(name=bad[2])
broken = wb.CustomGrader(lambda thread: 1 / (len(thread.completion()) - len(thread.completion())), name=bad[4])
app = wb.Workbench(rows, [judge, strict, broken], labels="good", store=None, labeller=bad[0], dataset=bad[1])
app
"""


def test_hostile_text_is_text_everywhere(browser, lab):
    """Scripts in completions, metadata, judge's answers, errors, names, labels and files: shown, and nothing runs."""
    with opened(browser, lab, lab.write("hostile.ipynb", [XSS]), height=1400) as notebook:
        notebook.run_all()
        assert notebook.errors() == []
        walk = Walk(notebook, "hostile")
        walk.open("Try")
        notebook.click(".wb-try .wb-score")
        notebook.wait_text(".wb-tried", "ZeroDivisionError")
        walk.open("Run")
        notebook.click(".wb-start")
        notebook.wait_text(".wb-status", "done: 25 rows")
        walk.open("Results")
        notebook.find(".wb-results .main-svg").first.wait_for()
        notebook.find(".wb-results .wb-table [role=row]:not([aria-busy])").nth(2).click()
        notebook.wait_text(".wb-results .wb-table-reader", "onerror")
        walk.open("Label")
        card = notebook.find(".wb-label .wb-card").first
        card.focus()
        card.press("1")
        notebook.wait_text(".wb-label", "1 good")
        walk.open("Compare")
        notebook.wait_text(".wb-verdict", "onerror")
        walk.open("Export")
        name = notebook.find(".wb-export input[type=text]").first
        name.fill("<img src=x onerror=window.pwned=1>")
        name.press("Tab")
        notebook.wait_text(".wb-losses", re.compile(r"\S"))
        walk.open("Write")
        notebook.wait_text(".wb-write .wb-source", "onerror")
        assert notebook.page.evaluate("window.pwned") is None
        notebook.expect(".wb-app img, .wb-app script").to_have_count(0)
        assert notebook.trouble.strangers == []


MANY = """
import workbench as wb
names = [f"grader {n} with a name as long as nobody would write it, " + "on and on " * 8 for n in range(20)]
app = wb.Workbench(wb.demo_samples("arithmetic"), [wb.Contains(name=name, expected=str(n)) for n, name in enumerate(names)], store=None)
app
"""


def test_twenty_graders_with_long_names(browser, lab):
    """The overview comes first, tables and lists keep their room, and rows asked for come into view."""
    with opened(browser, lab, lab.write("many.ipynb", [MANY]), width=1000, height=1400) as notebook:
        notebook.run_all()
        walk = Walk(notebook, "many")
        walk.run(200)
        walk.open("Results")
        notebook.find(".wb-results .main-svg").first.wait_for()
        notebook.find(".wb-results .wb-table [role=row]:not([aria-busy])").nth(1).wait_for()
        walk.sound("results", ".wb-chart .main-svg >> nth=0", ".wb-findings", ".wb-table")
        notebook.find(".wb-finding:enabled").last.click()
        notebook.expect(".wb-results .wb-table").to_be_in_viewport(ratio=0.9)
        assert notebook.find(".wb-findings").evaluate("e => e.clientHeight") <= 560
        walk.open("Try")
        notebook.wait_text(".wb-tried", "grader 19")
        walk.sound("try", ".wb-answer", ".wb-tried")
        wide = notebook.page.evaluate(
            "() => { const a = document.querySelector('.wb-app'); return a.scrollWidth - a.clientWidth; }"
        )
        assert wide <= 2
        walk.quiet()
