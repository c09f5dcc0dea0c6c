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


def view(kernel):
    """The app on the page."""
    return kernel.find(name="Workbench")


def tell(kernel, do, **message):
    """Send what a page sends for an action."""
    view(kernel).send({"do": do, "id": 1, "page": "p", **message})


def state(kernel):
    """What the head says is going on."""
    return view(kernel)["head"]["state"]["text"]


def line(kernel, name):
    """A grader's line in the rail, a draft's too."""
    rail = view(kernel)["rail"]
    return next(each for each in [*rail["lines"], *rail["drafts"]] if each["name"] == name)


def start(kernel):
    """Press Run, and wait until the run is under way."""
    tell(kernel, "run")
    kernel.wait(lambda: view(kernel)["progress"]["running"], what="the run")


def wait_for_end(kernel):
    """Wait until nothing is under way."""
    kernel.wait(
        lambda: not view(kernel)["progress"]["running"] and view(kernel)["head"]["state"]["shape"] != "busy",
        what="the end",
    )


def clean(kernel):
    """Nothing was printed or raised where nobody sees it."""
    assert kernel.lost == []
    assert kernel.log == ""


@pytest.fixture
def page(anykernel):
    """The app with graders of which one waits for `go`."""
    anykernel.run(SETUP)
    anykernel.run(APP)
    return anykernel


def test_a_message_runs_and_every_part_shows_it(anykernel):
    """Run from a page: bars, verdicts, rows and state follow, and nothing is lost."""
    anykernel.run(SETUP)
    anykernel.run(FAST)
    tell(anykernel, "run")
    anykernel.wait(lambda: state(anykernel) == "up to date", what="the run")
    shown = view(anykernel)
    assert shown["progress"]["running"] is False
    assert all(each["counts"] for each in shown["rail"]["lines"])
    assert (shown["table"]["count"], shown["chosen"]["name"]) == (200, "contains")
    assert shown["head"]["problem"] is None
    clean(anykernel)


def test_what_costs_nothing_is_graded_when_a_page_opens(page):
    """The page says that it is there: rules and code are graded, what waits for somebody is not."""
    tell(page, "open")
    page.wait(lambda: line(page, "has yes")["counts"], what="the first grades")
    assert line(page, "waits")["counts"] is None
    assert "waits for Run" in line(page, "waits")["say"]
    clean(page)


def test_another_cell_runs_meanwhile(page):
    """The kernel stays free during a run, and the next cell reads what is known."""
    start(page)
    assert page.run("print('here', app.session.runs.running, app.report)").text.strip() == "here True None"
    page.run("go.set()")
    page.wait(lambda: state(page) == "up to date", what="the end")
    assert page.value("len(app.report)") == 200
    clean(page)


def test_a_run_goes_on_while_a_cell_blocks(page):
    """A cell that holds the kernel holds neither the run nor what is shown of it."""
    start(page)
    cell = page.start(
        "go.set()\nover = app.session.runs.job.report(60)\nheld = threading.Event()\nheld.wait(3)\nlen(over)"
    )
    page.wait(lambda: state(page) == "up to date", what="the end, while the cell holds the kernel")
    assert not cell.done
    assert line(page, "has yes")["counts"]
    assert page.finish(cell).text == "200"
    clean(page)


def test_stop_keeps_what_was_graded(page):
    """Stop ends the run; the report has what was graded, and the head says so."""
    start(page)
    tell(page, "stop")
    wait_for_end(page)
    assert any("Interrupted: 200 of 400 grades completed." in note for note in view(page)["head"]["notes"])
    assert page.value("int(app.report.summary.loc['has yes', 'scored'])") == 200
    assert view(page)["head"]["can_run"]
    clean(page)


def test_an_interrupt_of_a_cell_leaves_the_run(page):
    """The notebook's stop button ends the cell that waits, and the run of the app goes on."""
    start(page)
    cell = page.start("print('waits', flush=True)\napp.session.runs.job.report(60)")
    page.wait(lambda: "waits" in cell.text, what="the cell waits")
    page.interrupt()
    assert "KeyboardInterrupt" in page.finish(cell, check=False).errors[0].text
    assert page.value("app.session.runs.running") is True
    page.run("go.set()")
    page.wait(lambda: state(page) == "up to date", what="the end")
    clean(page)


def test_news_come_ten_times_a_second_at_most_and_the_last_is_shown(anykernel):
    """A fast run of many rows sends few messages, and ends with all of them counted."""
    anykernel.run(SETUP)
    anykernel.run(
        "import time\napp = wb.Workbench([ROWS[n % 200] for n in range(30_000)], [wb.Contains(expected='yes')], store=None)\n"
        "news = []\napp.session.runs.observe(lambda change: news.append(time.monotonic()), 'progress')\napp"
    )
    tell(anykernel, "draw", draw={"n": 0})
    before = anykernel.traffic
    tell(anykernel, "run")
    anykernel.wait(lambda: state(anykernel) == "up to date", what="the run")
    sent = anykernel.traffic - before
    count = anykernel.value("len(news)")
    seconds = anykernel.value("news[-1] - news[0]")
    assert count <= 10 * seconds + 4
    assert sent.messages < 8 * count + 40
    assert sum(line(anykernel, "contains")["counts"].values()) == 30_000
    clean(anykernel)


def test_an_exception_of_an_action_ends_in_the_view(page):
    """What is wrong with our own code, or with what was typed, is read in the view and printed nowhere."""
    page.run("app.session.runs.start = lambda *a, **k: 1 / 0")
    tell(page, "run")
    page.wait(lambda: view(page)["head"]["problem"], what="the error")
    assert "ZeroDivisionError" in view(page)["head"]["problem"]["what"]
    assert "Traceback" in view(page)["head"]["problem"]["trace"]
    page.run("del app.session.runs.start\ngo.set()")
    tell(page, "run")
    page.wait(lambda: state(page) == "up to date", what="the run")
    assert view(page)["head"]["problem"] is None
    clean(page)


def test_a_cell_that_is_run_again_goes_on(anykernel):
    """The report, labels, a grader written in the app and what is shown stay; no widget is there twice."""
    anykernel.run(SETUP + "\ngo.set()")
    run_as(anykernel, "the-app", APP)
    at_first = len(anykernel.comms())
    tell(anykernel, "run")
    anykernel.wait(lambda: state(anykernel) == "up to date", what="the run")
    anykernel.run(
        "before, session = app.report, app.session\napp.session.label('3', True)\n"
        "app.session.graders.add_text('async def grade(thread):\\n    return 0.5\\n', name='mine')\n"
        "app.session.results.look({'text': 'question 7'})"
    )
    for _ in range(2):
        run_as(anykernel, "the-app", APP)
        assert anykernel.value("[app.session is session, app.report is before, app.labels[3], list(app.graders)]") == [
            True, True, True, ["has yes", "waits", "mine"],
        ]  # fmt: skip
        assert len(anykernel.comms()) == at_first
        assert view(anykernel)["table"]["filters"][0]["text"] == "“question 7”"
    clean(anykernel)


def test_a_changed_cell_begins_anew_and_leaves_nothing(anykernel):
    """Other samples in the same cell are another session; the old run is stopped and its widgets are gone."""
    anykernel.run(SETUP)
    run_as(anykernel, "the-app", APP)
    at_first = len(anykernel.comms())
    start(anykernel)
    anykernel.run("old = app.session")
    run_as(anykernel, "the-app", APP.replace("ROWS", "ROWS[:50]"))
    assert anykernel.value("[old is app.session, old.runs.job.report(60) is not None, len(app.samples)]") == [
        False,
        True,
        50,
    ]
    assert len(anykernel.comms()) == at_first
    clean(anykernel)


def test_two_parts_of_a_kind_in_one_cell(anykernel):
    """A cell may show several; run again each goes on where it was, and none closes another."""
    anykernel.run(SETUP + "\nimport ipywidgets\ngo.set()")
    code = (
        "one = wb.widgets.RunPanel(ROWS[:10], graders(), store=None)\n"
        "two = wb.widgets.RunPanel(ROWS[:20], graders(), store=None)\nipywidgets.VBox([one, two])"
    )
    run_as(anykernel, "two", code)
    for panel in anykernel.all(name="RunPanel"):
        panel.send({"do": "run", "id": 1, "page": "p"})
    anykernel.wait(lambda: [each["head"]["state"]["text"] for each in anykernel.all(name="RunPanel")] == ["up to date"] * 2, what="both")  # fmt: skip
    anykernel.run("sessions = one.session, two.session")
    run_as(anykernel, "two", code)
    assert anykernel.value("[one.session is sessions[0], two.session is sessions[1]]") == [True, True]
    assert [each["head"]["total"] for each in anykernel.all(name="RunPanel")] == [10, 20]
    clean(anykernel)


def test_close_leaves_no_comm(anykernel):
    """Every mode opened, a run made, an error shown: closed, the kernel holds no widget of it."""
    anykernel.run(SETUP)
    anykernel.run(FAST)
    tell(anykernel, "run")
    anykernel.wait(lambda: state(anykernel) == "up to date", what="the run")
    for mode in ("try", "label", "compare", "export", "history", "grade"):
        tell(anykernel, "mode", mode=mode)
    tell(anykernel, "try_row", query="nothing of the kind")
    anykernel.wait(lambda: view(anykernel)["head"]["problem"], what="the error")
    assert anykernel.comms()
    anykernel.run("app.close()")
    assert anykernel.comms() == set()
    assert anykernel.shown() == []
    clean(anykernel)


def test_a_grader_of_a_later_cell_is_graded_and_its_change_told(page):
    """Defined by decorator or magic in a later cell it is validated and graded; redefined, the line says what changed."""
    tell(page, "open")
    page.run("go.set()\n@wb.grader\nasync def later(thread):\n    return 0.25")
    page.run("%load_ext workbench")
    page.run("%%grader magical\nasync def grade(thread):\n    return 0.5")
    page.wait(lambda: line(page, "later")["counts"] and line(page, "magical")["counts"], what="both graded")
    assert [line(page, name)["validation"] for name in ("later", "magical")] == ["validated", "validated"]
    tell(page, "choose", name="later")
    page.run("@wb.grader\nasync def later(thread):\n    return 0.75")
    page.wait(
        lambda: (view(page)["chosen"]["changed"] or {}).get("sentence") == "Your edit changed 200 rows",
        what="the change",
    )
    assert page.value(
        "sorted(set(app.versions.scores['later'])) + sorted(set(app.versions.scores['later (before)']))"
    ) == [0.75, 0.25]
    clean(page)


def test_a_page_loaded_anew_shows_the_same(anykernel):
    """After a reload the view says what it said, and its messages still work."""
    anykernel.run(SETUP)
    anykernel.run(FAST)
    tell(anykernel, "run")
    anykernel.wait(lambda: state(anykernel) == "up to date", what="the run")
    tell(anykernel, "look", where=[{"text": "question 7"}])
    parts = ("head", "rail", "chosen", "table", "mode", "code")
    before = {name: view(anykernel)[name] for name in parts}
    anykernel.reload()
    assert {name: anykernel.shown()[0][name] for name in parts} == before
    tell(anykernel, "look", where=[])
    anykernel.wait(lambda: view(anykernel)["table"]["count"] == 200, what="all rows")
    # The kernel may have dropped the page's control channel before the page closes it.
    assert [one for one in anykernel.lost if "No such comm: control-" not in one.text] == []


def test_messages_do_not_grow_with_rows(kernel):
    """First paint, a click on a bar, a window, a label: 50,000 rows take no more bytes than 1,000, but for digits."""
    kernel.run(SETUP)
    seen = {}
    for rows in (1_000, 50_000):
        kernel.run(f"data = wb.read_samples([ROWS[n % 200] for n in range({rows})])\ndata.packed()")
        before = kernel.traffic
        kernel.run(
            "app = wb.Workbench(data, [wb.Contains(expected='yes'), wb.ExactMatch()], store=None)\napp"
        )
        sizes = [(kernel.traffic - before).bytes]
        tell(kernel, "draw", draw={"n": 0})
        kernel.run("app.session.runs.start(rows=app.session.rows.rows).report(300)", seconds=300)
        kernel.wait(lambda rows=rows: view(kernel)["table"]["total"] == rows, what="the rows")
        for message in (
            {"do": "look", "where": [{"grader": "contains", "passed": True}]},
            {"ask": "rows", "start": 0, "stop": 100, "revision": -1},
            {"do": "mode", "mode": "label"},
        ):
            before = kernel.traffic
            view(kernel).send({"id": 1, "page": "p", **message})
            sizes.append((kernel.traffic - before).bytes)
        before = kernel.traffic
        seq = view(kernel)["label"]["cards"][0]["seq"]
        tell(kernel, "label", action="good", note="", turn=1, seq=seq)
        sizes.append((kernel.traffic - before).bytes)
        seen[rows] = sizes
        kernel.run("app.close()")
    for small, large in zip(seen[1_000], seen[50_000], strict=True):
        assert large < 1.1 * small + 400, seen
    clean(kernel)


def test_messages_in_another_thread(threaded):
    """Where callbacks run in a subshell's thread, run, stop and validation work too, also while a cell blocks."""
    threaded.run(SETUP)
    threaded.run(APP)
    cell = threaded.start("held = threading.Event()\nprint('holds', flush=True)\nheld.wait(60)")
    threaded.wait(lambda: "holds" in cell.text, what="the cell holds the kernel")
    start(threaded)
    tell(threaded, "stop")
    wait_for_end(threaded)
    assert any("Interrupted" in note for note in view(threaded)["head"]["notes"])
    tell(threaded, "open")
    tell(threaded, "add", text="async def grade(thread):\n    return 0.5\n", name="half")
    threaded.wait(lambda: line(threaded, "half")["validation"] == "validated", what="the validation")
    assert not cell.done
    threaded.interrupt()
    threaded.finish(cell, check=False)
    assert [one for one in threaded.lost if one.kind == "stream"] == []
