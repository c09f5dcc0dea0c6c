"""The browserless harness, on a small app whose behaviour is known."""

from __future__ import annotations

import pytest

from tests.kernel.starting import SharedKernel, lowest, started

APP = """
import threading
import anywidget, ipywidgets as w, traitlets as t

class Probe(anywidget.AnyWidget):
    _esm = "export default {render() {}}"
    data = t.Dict().tag(sync=True)

    def __init__(self):
        super().__init__(data={"bytes": b"12345", "list": [1, b"z"]})
        self.on_msg(lambda _, content, buffers: self.send({"back": content}, [b"!" + bytes(buffers[0])]))

button, count = w.Button(description="Count"), w.HTML("<b>0</b> &lt;clicks&gt;")
level, pick, probe = w.IntSlider(description="level"), w.Dropdown(options=["red", "blue"]), Probe()
button.add_class("wb-count")
clicks = []

def on_click(_):
    clicks.append(threading.current_thread() is threading.main_thread())
    print("nobody sees this")
    count.value = f"<b>{len(clicks)}</b> &lt;clicks&gt;"
    if level.value == 7:
        raise ValueError("seven")

button.on_click(on_click)
app = w.VBox([button, count, level, pick, probe])
app
"""


def test_app_is_found_and_read(anykernel):
    """Widgets are found by class, CSS class and description; text is what a reader sees; others are named."""
    cell = anykernel.run(APP)
    (app,) = anykernel.shown()
    assert [app.model] == cell.shown
    assert anykernel.find("wb-count") is anykernel.find(name="Button") is anykernel.find(description="Count")
    assert anykernel.find(name="Probe") in app.tree()
    assert app.text() == "Count\n0 <clicks>\nlevel 0\nred"
    with pytest.raises(LookupError, match=r"0 widgets fit .*wb-none.*wb-count 'Count'"):
        anykernel.find("wb-none")
    anykernel.run("hidden = w.Button(description='never displayed')")
    assert anykernel.all(description="never displayed") == []


def test_click_reaches_the_callback_and_its_state_comes_back(anykernel):
    """What the callback changed is known when the click has been handled."""
    anykernel.run(APP)
    anykernel.find("wb-count").click()
    anykernel.wait(lambda: "1 <clicks>" in anykernel.shown()[0].text(), what="the count")
    assert anykernel.value("len(clicks)") == 1


def test_set_and_send_carry_bytes_both_ways(anykernel):
    """Traits and custom messages arrive with their buffers in place."""
    anykernel.run(APP)
    probe = anykernel.find(name="Probe")
    assert probe["data"] == {"bytes": b"12345", "list": [1, b"z"]}
    probe.send({"n": 1}, [b"abc"])
    assert anykernel.wait(lambda: probe.customs, what="an answer") == [({"back": {"n": 1}}, [b"!abc"])]
    probe.set(data={"more": b"678", "list": [b"9"]})
    assert anykernel.value("[bytes(probe.data['more']).decode(), bytes(probe.data['list'][0]).decode()]") == [
        "678",
        "9",
    ]
    anykernel.find(name="IntSlider").set(value=3)
    assert anykernel.value("level.value") == 3


def test_lost_outputs_are_seen(anykernel):
    """A callback's print and its error land in no cell, and the harness has both."""
    anykernel.run(APP)
    anykernel.find(name="IntSlider").set(value=7)
    anykernel.find("wb-count").click()
    assert [(one.kind, one.name) for one in anykernel.lost] == [("stream", "stdout"), ("error", "ValueError")]
    assert "ValueError: seven" in anykernel.lost[1].text
    assert anykernel.log == ""


def test_late_outputs_are_seen(anykernel):
    """What a thread prints when no cell runs counts as lost, in whichever cell it lands."""
    cell = anykernel.run(
        "import threading\nimport ipywidgets as w\nbutton, go = w.Button(), threading.Event()\n"
        "threading.Thread(target=lambda: (go.wait(60), print('later'))).start()\n"
        "button.on_click(lambda _: go.set())\nprint('now')\nbutton"
    )
    assert anykernel.lost == []
    anykernel.find(name="Button").click()
    anykernel.wait(lambda: anykernel.lost, what="the thread's words")
    assert "later" in "".join(one.text for one in anykernel.lost)
    assert "now" in cell.text


def test_cell_that_fails_is_an_error_here(anykernel):
    """A failing cell raises unless it may fail; its error is readable without colours."""
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        anykernel.run("1 / 0")
    assert "ZeroDivisionError: division by zero" in anykernel.run("1 / 0", check=False).errors[0].text


def test_reload_shows_what_the_kernel_holds(anykernel):
    """A page loaded anew has all states again, bytes included, and goes on working."""
    anykernel.run(APP)
    anykernel.find("wb-count").click()
    anykernel.wait(lambda: anykernel.find(name="HTML")["value"].startswith("<b>1"), what="the count")
    before = {model: widget.state for model, widget in anykernel.widgets.items()}
    anykernel.reload()
    assert {model: widget.state for model, widget in anykernel.widgets.items()} == before
    anykernel.find("wb-count").click()
    anykernel.wait(lambda: "2 <clicks>" in anykernel.shown()[0].text(), what="the count")


def test_comms_are_counted(anykernel):
    """Every open comm is counted, and closing the widgets leaves none."""
    anykernel.run(APP)
    button = anykernel.find("wb-count")
    assert anykernel.comms() == set(anykernel.widgets)
    anykernel.run("w.Widget.close_all()")
    assert anykernel.comms() == set()
    assert anykernel.widgets == {}
    assert button.closed
    with pytest.raises(AssertionError, match="closed"):
        button.click()


def test_rerun_cell_replaces_what_it_showed(anykernel):
    """After a second run only the new widget is on the page."""
    cell = anykernel.run("import ipywidgets as w\nbutton = w.Button(description='one')\nbutton")
    first = anykernel.find(name="Button")
    anykernel.rerun(cell)
    assert anykernel.find(name="Button") is not first
    assert first.model in anykernel.comms()


def test_nobody_can_press_what_is_disabled_or_hidden(anykernel):
    """A disabled or hidden button is refused here, as a page would."""
    anykernel.run(APP)
    button = anykernel.find("wb-count")
    anykernel.run("button.disabled = True")
    with pytest.raises(AssertionError, match="disabled"):
        button.click()
    anykernel.run("button.disabled = False; button.layout.display = 'none'")
    with pytest.raises(AssertionError, match="hidden"):
        button.click()
    assert "Count" not in anykernel.shown()[0].text()


def test_traffic_is_measured(anykernel):
    """Messages and bytes are counted, so that payloads can be compared."""
    anykernel.run("import ipywidgets as w\nbox = w.HTML()\nbox")
    sizes = []
    for length in (1_000, 100_000):
        before = anykernel.traffic
        anykernel.run(f"box.value = 'x' * {length}")
        sizes.append(anykernel.traffic - before)
    assert [seen.messages for seen in sizes] == [1, 1]
    assert [seen.bytes // 1_000 for seen in sizes] == [1, 100]


def test_wait_says_what_is_on_the_page(kernel):
    """A condition that never holds ends with the page's words and what was lost."""
    kernel.run(APP)
    kernel.find("wb-count").click()
    with pytest.raises(TimeoutError, match=r"(?s)a miracle: not within.*nobody sees this.*1 <clicks>"):
        kernel.wait(lambda: False, what="a miracle", seconds=0.3)


def test_dead_kernel_is_an_error_at_once(kernel):
    """A kernel that dies ends the wait, with its last words."""
    kernel.start("import os, sys\nprint('last words', file=sys.__stderr__, flush=True)\nos._exit(3)")
    with pytest.raises(RuntimeError, match="the kernel died"):
        kernel.wait(lambda: False, what="nothing", seconds=30)


@pytest.mark.parametrize("dies", [False, True])
def test_the_next_page_finds_nothing_of_the_last(tmp_path, dies):
    """Names and widgets are gone, in the same kernel where it lives, in another where it died."""
    shared = SharedKernel(tmp_path)
    try:
        with shared.page() as page:
            first = page.manager
            page.run("held = 1\nimport ipywidgets\nipywidgets.HTML('seen')")
            assert page.comms()
            if dies:
                page.start("import os\nos._exit(3)")
                with pytest.raises(RuntimeError, match="the kernel died"):
                    page.wait(lambda: False, what="nothing")
        with shared.page() as page:
            assert (page.manager is first) is not dies
            assert page.value("'held' in globals()") is False
            assert (page.widgets, page.comms(), page.shown(), page.lost, page.log) == ({}, set(), [], [], "")
    finally:
        shared.close()


def test_callbacks_run_in_a_thread_there(threaded):
    """The kernel of 7.3 calls back in a subshell's thread, also while a cell blocks the kernel."""
    threaded.run(APP)
    threaded.find("wb-count").click()
    cell = threaded.start("import time\nwhile len(clicks) < 2:\n    time.sleep(0.01)")
    threaded.find("wb-count").click()
    threaded.finish(cell)
    assert threaded.value("clicks") == [False, False]


def test_a_nudge_reaches_the_subshell(threaded):
    """While a cell holds the kernel, its subshell answers: a message that it sleeps on would be handled."""
    cell = threaded.start("import threading\nprint('holds', flush=True)\nthreading.Event().wait(60)")
    threaded.wait(lambda: "holds" in cell.text, what="the cell holds the kernel")
    _, asked = threaded.nudge()
    threaded.wait(lambda: asked in threaded._idle, what="the subshell's answer")
    assert not cell.done
    threaded.interrupt()
    threaded.finish(cell, check=False)


def test_oldest_kernel_is_the_oldest(oldest):
    """The environment holds the lowest versions that pyproject.toml allows, and the workbench works there."""
    ask = "[__import__('importlib.metadata').metadata.version(p) for p in ('ipykernel', 'ipywidgets', 'anywidget')]"
    found = dict(zip(("ipykernel", "ipywidgets", "anywidget"), oldest.value(ask), strict=True))
    for name, version in found.items():
        assert any(line == f"{name}=={'.'.join(version.split('.')[:2])}" for line in lowest()), (
            name,
            version,
        )
    oldest.run(
        "import workbench as wb\nreport = wb.Contains('1').run(wb.demo_samples().head(20), progress=False)"
    )
    assert oldest.value("len(report.frame)") == 20


def test_kernel_leaves_nothing_behind(tmp_path):
    """The kernel and what it started are gone afterwards."""
    psutil = pytest.importorskip("psutil")
    with started(tmp_path / "kernel") as kernel:
        pid = kernel.manager.provisioner.pid
        kernel.run("import subprocess\nchild = subprocess.Popen(['sleep', '60'])")
        (child,) = [process for process in kernel.processes() if process.name() == "sleep"]
    psutil.wait_procs([child], timeout=600)
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    assert not child.is_running()
