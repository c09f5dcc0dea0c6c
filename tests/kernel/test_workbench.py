"""The Workbench in real kernels, old and new: clicks, runs beside other cells, and nothing lost or left behind."""

from __future__ import annotations

import pytest

from tests.kernel.messages import Cell

SETUP = """
import asyncio, threading
import workbench as wb

ROWS = [{"prompt": f"question {n}", "completion": "yes" if n % 2 else "no", "good": bool(n % 2)} for n in range(200)]
go = threading.Event()

async def wait(thread):
    while not go.is_set():
        await asyncio.sleep(0.01)
    return 1.0

def graders():
    return [wb.Contains(expected="yes", name="has yes"), wb.CustomGrader(wait, name="waits")]
"""
APP = "app = wb.Workbench(ROWS, graders(), store=None)\napp"
FAST = 'app = wb.Workbench(ROWS, [wb.Contains(expected="yes"), wb.ExactMatch()], store=None)\napp'
TABS = ("Write", "Try", "Run", "Results", "Label", "Compare", "Export")


def run_as(kernel, name, code):
    """Run a cell under a name, as JupyterLab, Notebook and VS Code send it: a second run has the same name."""
    cell, client = Cell(0, code), kernel._client
    content = {
        "code": code,
        "silent": False,
        "store_history": True,
        "user_expressions": {},
        "allow_stdin": False,
    }
    message = client.session.msg("execute_request", content, metadata={"cellId": name})
    kernel._cells[message["header"]["msg_id"]] = cell
    client.shell_channel.send(message)
    return kernel.finish(cell)


def open_tab(kernel, title):
    """Click a tab; what it holds is there afterwards."""
    tabs = kernel.find(name="Tab")
    tabs.set(selected_index=TABS.index(title))
    return tabs


def open_all(kernel):
    """Click every tab, and end on Run."""
    for title in TABS:
        open_tab(kernel, title)
    open_tab(kernel, "Run")


def told(kernel, css):
    """What a reader reads of a widget."""
    return kernel.find(css).text()


def wait_for(kernel, css, words):
    """Wait until a widget says something."""
    kernel.wait(lambda: words in told(kernel, css), what=f"{css} says {words!r}")


def clean(kernel):
    """Nothing was printed or raised where nobody sees it."""
    assert kernel.lost == []
    assert kernel.log == ""


@pytest.fixture
def page(anykernel):
    """The app with graders of which one waits for `go`, its Run tab open."""
    anykernel.run(SETUP)
    anykernel.run(APP)
    open_tab(anykernel, "Run")
    return anykernel


def test_a_click_runs_and_every_panel_shows_it(anykernel):
    """Run from a click: bar, line, table and chart follow, and nothing is lost."""
    anykernel.run(SETUP)
    anykernel.run(FAST)
    open_all(anykernel)
    anykernel.find("wb-start").click()
    wait_for(anykernel, "wb-status", "done: 200 rows, 2 graders")
    assert anykernel.find("wb-bar")["value"] == anykernel.find("wb-bar")["max"] == 400
    results = anykernel.find("wb-results")
    (table,) = anykernel.all(name="ScoreTable", under=results)
    anykernel.wait(lambda: table["count"] == 200, what="the rows")
    assert anykernel.all(name="Chart", under=results)[0]["spec"]
    assert not any(
        "class='wb-problem'" in str(one.state.get("value")) for one in anykernel.find("wb-app").tree()
    )
    clean(anykernel)


def test_another_cell_runs_meanwhile(page):
    """The kernel stays free during a run, and the next cell reads what is known."""
    page.find("wb-start").click()
    wait_for(page, "wb-status", "of 400")
    assert page.run("print('here', app.session.runs.running, app.report)").text.strip() == "here True None"
    page.run("go.set()")
    wait_for(page, "wb-status", "done: 200 rows")
    assert page.value("len(app.report)") == 200
    clean(page)


def test_a_run_goes_on_while_a_cell_blocks(page):
    """A cell that holds the kernel holds neither the run nor its bar."""
    page.find("wb-start").click()
    wait_for(page, "wb-status", "of 400")
    cell = page.start(
        "go.set()\nover = app.session.runs.job.report(60)\nheld = threading.Event()\nheld.wait(3)\nlen(over)"
    )
    page.wait(
        lambda: "done: 200 rows" in told(page, "wb-status"), what="the end, while the cell holds the kernel"
    )
    assert not cell.done
    assert page.find("wb-bar")["value"] == 400
    assert page.finish(cell).text == "200"
    clean(page)


def test_stop_by_click_keeps_what_was_graded(page):
    """Stop ends the run; the report has what was graded."""
    page.find("wb-start").click()
    wait_for(page, "wb-status", "of 400")
    page.find("wb-stop").click()
    wait_for(page, "wb-status", "Interrupted: 200 of 400 grades kept.")
    assert page.value("int(app.report.summary.loc['has yes', 'scored'])") == 200
    page.wait(lambda: not page.find("wb-start")["disabled"], what="Run is there again")
    assert page.find("wb-stop")["disabled"]
    clean(page)


def test_an_interrupt_of_a_cell_leaves_the_run(page):
    """The notebook's stop button ends the cell that waits, and the run of the app goes on."""
    page.find("wb-start").click()
    wait_for(page, "wb-status", "of 400")
    cell = page.start("print('waits', flush=True)\napp.session.runs.job.report(60)")
    page.wait(lambda: "waits" in cell.text, what="the cell waits")
    page.interrupt()
    assert "KeyboardInterrupt" in page.finish(cell, check=False).errors[0].text
    assert page.value("app.session.runs.running") is True
    page.run("go.set()")
    wait_for(page, "wb-status", "done: 200 rows")
    clean(page)


def test_news_come_ten_times_a_second_at_most_and_the_last_is_shown(anykernel):
    """A fast run of many rows sends few messages, and ends with all of them counted."""
    anykernel.run(SETUP)
    anykernel.run(
        "import time\napp = wb.Workbench([ROWS[n % 200] for n in range(30_000)], [wb.Contains(expected='yes')], store=None)\n"
        "news = []\napp.session.runs.observe(lambda change: news.append(time.monotonic()), 'progress')\napp"
    )
    open_tab(anykernel, "Run")
    rows = anykernel.find(description="Rows")
    rows.set(value=30_000)
    before = anykernel.traffic
    anykernel.find("wb-start").click()
    wait_for(anykernel, "wb-status", "done: 30,000 rows")
    sent = anykernel.traffic - before
    count = anykernel.value("len(news)")
    seconds = anykernel.value("news[-1] - news[0]")
    assert count <= 10 * seconds + 4
    assert sent.messages < 8 * count + 40
    assert anykernel.find("wb-bar")["value"] == 30_000
    clean(anykernel)


def test_an_exception_of_a_callback_ends_in_the_panel(page):
    """What is wrong with our own code, or with what was typed, is read in the panel and printed nowhere."""
    page.run("app.session.runs.start = lambda *a, **k: 1 / 0")
    page.find("wb-start").click()
    page.wait(lambda: "ZeroDivisionError" in page.find("wb-run").text(), what="the error")
    assert "traceback" in page.find("wb-run").text()
    page.run("del app.session.runs.start\ngo.set()")
    page.find("wb-start").click()
    wait_for(page, "wb-status", "done: 200 rows")
    assert "ZeroDivisionError" not in page.find("wb-run").text()
    clean(page)


def test_a_cell_that_is_run_again_goes_on(anykernel):
    """The report, labels, a grader written in the app and what is shown stay; no widget is there twice."""
    anykernel.run(SETUP + "\ngo.set()")
    run_as(anykernel, "the-app", APP)
    at_first = len(anykernel.comms())
    open_all(anykernel)
    anykernel.find("wb-start").click()
    wait_for(anykernel, "wb-status", "done: 200 rows")
    anykernel.run(
        "before, session = app.report, app.session\napp.session.label('3', True)\n"
        "app.session.graders.add_text('async def grade(thread):\\n    return 0.5\\n', name='mine')\napp.session.results.look({'text': 'question 7'})"
    )
    opened = len(anykernel.comms())
    for _ in range(2):
        run_as(anykernel, "the-app", APP)
        assert anykernel.value("[app.session is session, app.report is before, app.labels[3], list(app.graders)]") == [
            True, True, True, ["has yes", "waits", "mine"],
        ]  # fmt: skip
        assert len(anykernel.comms()) == at_first
        open_all(anykernel)
        assert len(anykernel.comms()) == opened
        assert len(anykernel.all("wb-app")) == 1
    assert "done: 200 rows" in told(anykernel, "wb-status")
    clean(anykernel)


def test_a_changed_cell_begins_anew_and_leaves_nothing(anykernel):
    """Other samples in the same cell are another session; the old run is stopped and its widgets are gone."""
    anykernel.run(SETUP)
    run_as(anykernel, "the-app", APP)
    at_first = len(anykernel.comms())
    open_tab(anykernel, "Run")
    anykernel.find("wb-start").click()
    wait_for(anykernel, "wb-status", "of 400")
    anykernel.run("old = app.session")
    run_as(anykernel, "the-app", APP.replace("ROWS", "ROWS[:50]"))
    assert anykernel.value("[old is app.session, old.runs.job.report(60) is not None, len(app.samples)]") == [
        False,
        True,
        50,
    ]
    assert len(anykernel.comms()) == at_first
    clean(anykernel)


def test_two_panels_of_a_kind_in_one_cell(anykernel):
    """A cell may show several; run again each goes on where it was, and none closes another."""
    anykernel.run(SETUP + "\nimport ipywidgets\ngo.set()")
    code = (
        "one = wb.widgets.RunPanel(ROWS[:10], graders(), store=None)\n"
        "two = wb.widgets.RunPanel(ROWS[:20], graders(), store=None)\nipywidgets.VBox([one, two])"
    )
    run_as(anykernel, "two", code)
    assert len(anykernel.all("wb-start")) == 2
    for button in anykernel.all("wb-start"):
        button.click()
    anykernel.wait(lambda: [one.text() for one in anykernel.all("wb-status")][1:] and all("done" in one.text() for one in anykernel.all("wb-status")), what="both")  # fmt: skip
    anykernel.run("sessions = one.session, two.session")
    run_as(anykernel, "two", code)
    assert anykernel.value("[one.session is sessions[0], two.session is sessions[1]]") == [True, True]
    assert ["done: 10 rows" in anykernel.all("wb-status")[0].text(), "done: 20 rows" in anykernel.all("wb-status")[1].text()] == [True, True]  # fmt: skip
    clean(anykernel)


def test_close_leaves_no_comm(anykernel):
    """Every panel opened, a run made, an error shown: closed, the kernel holds no widget of it."""
    anykernel.run(SETUP)
    anykernel.run(FAST)
    open_all(anykernel)
    anykernel.find("wb-start").click()
    wait_for(anykernel, "wb-status", "done: 200 rows")
    anykernel.find(description="Row").set(value="nothing of the kind")
    assert anykernel.comms()
    anykernel.run("app.close()")
    assert anykernel.comms() == set()
    assert anykernel.shown() == []
    clean(anykernel)


def test_a_grader_of_a_later_cell_shows_up(page):
    """Defined by decorator or magic in a later cell it is in the open app; redefined it is to be run and proved."""
    page.run("go.set()\n@wb.grader\nasync def later(thread):\n    return 0.25")
    page.wait(
        lambda: any("later" in one for one in page.find(description="Graders")["_options_labels"]),
        what="later",
    )
    page.run("%load_ext workbench")
    page.run("%%grader magical\nasync def grade(thread):\n    return 0.5")
    page.wait(
        lambda: any("magical" in one for one in page.find(description="Graders")["_options_labels"]),
        what="magical",
    )
    assert page.value(
        "[app.session.graders.proofs['later'] is None, app.session.graders.proofs['magical'].ok]"
    ) == [True, True]
    page.find("wb-start").click()
    wait_for(page, "wb-status", "done: 200 rows, 4 graders")
    page.run("@wb.grader\nasync def later(thread):\n    return 0.75")
    page.wait(
        lambda: "later · changed · not validated" in page.find(description="Graders")["_options_labels"],
        what="the change",
    )
    page.find("wb-start").click()
    page.wait(
        lambda: "later · not validated" in page.find(description="Graders")["_options_labels"], what="the run"
    )
    assert page.value(
        "sorted(set(app.versions.scores['later'])) + sorted(set(app.versions.scores['later (before)']))"
    ) == [
        0.75,
        0.25,
    ]
    clean(page)


def test_a_page_loaded_anew_shows_the_same(anykernel):
    """After a reload every panel says what it said, and its buttons still work."""
    anykernel.run(SETUP)
    anykernel.run(FAST)
    open_all(anykernel)
    anykernel.find("wb-start").click()
    wait_for(anykernel, "wb-status", "done: 200 rows")
    anykernel.value("app.session.runs.job.report(60) and None")  # the session has shown it all
    before = anykernel.shown()[0].text()
    assert "Figure" in before
    anykernel.reload()
    assert anykernel.shown()[0].text() == before
    anykernel.run("app.session.results.look({'text': 'question 7'})")
    anykernel.find("wb-start").click()
    anykernel.wait(
        lambda: "Stop" in anykernel.shown()[0].text() and "done" in told(anykernel, "wb-status"),
        what="a second run",
    )
    anykernel.wait(
        lambda: anykernel.value("app.session.results.where") == [], what="all rows of the second run"
    )
    # The kernel may have dropped the page's control channel before the page closes it.
    assert [one for one in anykernel.lost if "No such comm: control-" not in one.text] == []


def test_messages_do_not_grow_with_rows(kernel):
    """First paint, a run's news, a click on a bar: 50,000 rows take no more bytes than 1,000, but for digits."""
    kernel.run(SETUP)
    seen = {}
    for rows in (1_000, 50_000):
        kernel.run(f"data = wb.read_samples([ROWS[n % 200] for n in range({rows})])\ndata.packed()")
        before = kernel.traffic
        kernel.run(
            "app = wb.Workbench(data, [wb.Contains(expected='yes'), wb.ExactMatch()], store=None)\napp"
        )
        open_all(kernel)
        paint = kernel.traffic - before
        kernel.run("app.session.runs.start().report(300)", seconds=300)
        results = kernel.find("wb-results")
        chart, table = (
            kernel.all(name="Chart", under=results)[0],
            kernel.all(name="ScoreTable", under=results)[0],
        )
        sizes = [paint.bytes]
        for picks in (
            [[{"grader": "contains", "passed": True}]],
            [[{"label": None}], [{"grader": "contains", "passed": False}]],
        ):
            before = kernel.traffic
            chart.send({"do": "pick", "picks": picks})
            sizes.append((kernel.traffic - before).bytes)
        before = kernel.traffic
        table.send({"ask": "rows", "start": 0, "stop": 100, "version": table["version"]})
        sizes.append((kernel.traffic - before).bytes)
        before = kernel.traffic
        kernel.run("app.session.label('5', True)")
        kernel.all(name="LabelCard")[0].send(
            {
                "do": "decide",
                "action": "good",
                "note": "",
                "turn": "1",
                "seq": kernel.all(name="LabelCard")[0]["card"]["seq"],
            }
        )
        sizes.append((kernel.traffic - before).bytes)
        seen[rows] = sizes
        kernel.run("app.close()")
    for small, large in zip(seen[1_000], seen[50_000], strict=True):
        assert large < 1.1 * small + 200, seen
    clean(kernel)


def test_twenty_graders_with_long_names(kernel):
    """They run, are told apart, and are clicked like any other."""
    kernel.run(SETUP)
    kernel.run(
        "app = wb.Workbench(ROWS, [wb.Contains(expected=str(n), name='n' * 98 + f'{n:02}') for n in range(20)], store=None)\napp"
    )
    open_all(kernel)
    kernel.find("wb-start").click()
    wait_for(kernel, "wb-status", "done: 200 rows, 20 graders")
    assert len(set(kernel.find(description="Graders")["_options_labels"])) == 20
    clean(kernel)


def test_clicks_in_another_thread(threaded):
    """Where callbacks run in a subshell's thread, run, stop and proof work too, also while a cell blocks."""
    threaded.run(SETUP)
    threaded.run(APP)
    open_all(threaded)
    cell = threaded.start("held = threading.Event()\nprint('holds', flush=True)\nheld.wait(60)")
    threaded.wait(lambda: "holds" in cell.text, what="the cell holds the kernel")
    threaded.find("wb-start").click()
    wait_for(threaded, "wb-status", "of 400")
    threaded.find("wb-stop").click()
    wait_for(threaded, "wb-status", "Interrupted")
    threaded.find("wb-editor").set(value="async def grade(thread):\n    return 0.5\n")
    threaded.find("wb-add").click()
    threaded.wait(lambda: "validated" in threaded.find("wb-write").text(), what="the proof")
    assert not cell.done
    threaded.interrupt()
    threaded.finish(cell, check=False)
    assert [one for one in threaded.lost if one.kind == "stream"] == []
