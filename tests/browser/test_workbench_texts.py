"""Texts and numbers that nobody hopes for: scripts in every text, long names, many graders, an answer of a megabyte."""

from __future__ import annotations

import re

from tests.browser.layout import assert_fits, longest_text
from tests.browser.page import opened
from tests.browser.walk import MODES, Walk

HOSTILE = [
    "<img src=x onerror=window.pwned=1>",
    "<script>window.pwned=1</script>",
    "'\"><svg onload=alert(1)>",
    "[x](javascript:alert(1))",
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

FOREIGN = ".gwb :is(img, script, iframe, object, embed, a, [onload], [onerror], [onclick])"


def harmless(walk: Walk) -> None:
    """Nothing ran, and no element came from a text."""
    assert walk.view.page.evaluate("window.pwned") is None
    assert walk.view.page.locator(FOREIGN).count() == 0


def test_hostile_text_is_text_in_every_mode(browser, lab):
    """Scripts in answers, metadata, judges' words, errors, names, labels, typed texts: shown, and nothing runs."""
    name = lab.write("hostile.ipynb", [XSS])
    with opened(browser, lab, name, width=1600, height=1000, fresh=True) as notebook:
        dialogs: list[str] = []
        notebook.page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        notebook.run_all()
        assert notebook.errors() == []
        walk = Walk(notebook, "hostile")
        walk.graded()
        walk.app.get_by_role("button", name="Run", exact=True).click()
        notebook.expect(walk.app.locator(".g .bar")).to_have_count(3)
        walk.graded()
        walk.at(".grid .tr").click()
        notebook.expect(walk.at(".reader")).to_contain_text("onerror")
        search = walk.at(".part-rows input[type=search]")
        search.fill(HOSTILE[0])
        notebook.expect(walk.at(".grid mark")).to_contain_text("onerror")
        harmless(walk)
        for mode in MODES:
            walk.open(mode)
            notebook.expect(walk.app).to_contain_text("onerror")
            harmless(walk)
        hostile_typing(walk)
        harmless(walk)
        assert dialogs == []
        assert notebook.trouble.console == []
        assert notebook.trouble.strangers == []


def hostile_typing(walk: Walk) -> None:
    """Type scripts wherever one can type."""
    walk.open("Label")
    walk.view.expect(walk.at(".label-card")).to_be_focused()
    walk.press("n")
    walk.view.expect(walk.at(".label-card .note input")).to_be_focused()
    walk.press_text(HOSTILE[1])
    walk.press("Enter", "1")
    walk.view.expect(walk.at(".mode-label .head b")).to_have_text("1")
    walk.open("Try")
    walk.at("textarea.yours").fill(HOSTILE[0] + HOSTILE[1])
    walk.app.get_by_role("button", name="Paste a conversation").click()
    walk.at(".paste textarea").fill(HOSTILE[1])
    walk.app.get_by_role("button", name="Use it").click()
    walk.at(".problem[role=alert]").wait_for()
    walk.open("Export")
    walk.at("table.fit .names").get_by_role("button", name=re.compile("native")).click()
    walk.at(".export-panel .setting input").fill(HOSTILE[0])
    walk.at(".export-panel .setting input").press("Tab")
    walk.view.expect(walk.at(".export-panel")).to_contain_text(re.compile(r"\S"))


MANY = """
import workbench as wb
names = [{name!r}.format(n=n) for n in range({count})]
app = wb.Workbench(wb.demo_samples("arithmetic").head(60),
                   [wb.Contains(name=name, expected=str(n)) for n, name in enumerate(names)], labels="good", store=None)
app
"""
LONG = "grader {n} with a name as long as nobody would write it, " + "on and on " * 8


def test_twenty_graders_with_long_names(browser, lab):
    """Names are cut where they have no room, in every mode; nothing is pushed out of sight."""
    name = lab.write("many.ipynb", [MANY.format(name=LONG, count=20)])
    with opened(browser, lab, name, width=1400, height=1000) as notebook:
        notebook.run_all()
        walk = Walk(notebook, "many")
        walk.graded()
        notebook.expect(walk.app.locator(".g .bar")).to_have_count(20)
        for mode in MODES:
            walk.open(mode)
            assert_fits(walk)
            walk.sound(mode.lower(), ".top", ".body", ".foot")
        walk.quiet()


SCROLLED = "e => e.scrollHeight > 2 * e.clientHeight && e.scrollTop > e.clientHeight"


def test_a_hundred_graders_scroll(browser, lab):
    """All hundred are in the list, which scrolls; the last is chosen by a click and its neighbour by a key."""
    name = lab.write("hundred.ipynb", [MANY.format(name="grader_{n}", count=100)])
    with opened(browser, lab, name, width=1600, height=1000) as notebook:
        notebook.run_all()
        walk = Walk(notebook, "hundred")
        walk.graded()
        notebook.expect(walk.app.locator(".g .bar")).to_have_count(100)
        walk.choose("grader_99")
        assert walk.at(".rail > .scroll").evaluate(SCROLLED)
        walk.press("ArrowUp")
        notebook.expect(walk.at(".mid h2.name")).to_have_text("grader_98")
        notebook.expect(walk.at(".rail .legend")).to_be_in_viewport()
        walk.sound("list", ".rail", ".mid", ".part-rows")
        walk.quiet()


HUGE = """
import workbench as wb
words = " ".join(f"word{n}" for n in range(110_000))[:1_000_000]
rows = [{"prompt": "Count.", "completion": words, "expected": "word77777", "good": True},
        {"prompt": "Count.", "completion": "word0", "expected": "word1", "good": False}]
app = wb.Workbench(rows, [wb.Contains(name="contains", expected="word77777")], labels="good", store=None)
app
"""
PIECE = 10_000


def test_a_megabyte_is_read_in_pieces(browser, lab):
    """In no mode does a node hold more than ten thousand characters; further pieces come, and words inside are found."""
    with opened(browser, lab, lab.write("huge.ipynb", [HUGE]), width=1600, height=1000) as notebook:
        notebook.run_all()
        walk = Walk(notebook, "huge")
        walk.graded()
        walk.at(".grid .tr").click()
        walk.at(".reader .next-piece").click()
        notebook.expect(walk.app.locator(".reader .long").first.locator(".piece")).to_have_count(2)
        assert longest_text(walk) <= PIECE
        inside = walk.at(".reader .find-inside input")
        inside.fill("word77777")
        inside.press("Enter")
        notebook.expect(walk.at(".reader .find-inside [role=status]")).to_have_text("1 of 1")
        notebook.expect(walk.at(".reader .piece mark")).to_have_text("word77777")
        assert longest_text(walk) <= PIECE
        walk.sound("reader", ".rail", ".mid", ".reader")
        for mode in MODES:
            walk.open(mode)
            assert longest_text(walk) <= PIECE, mode
        walk.quiet()
