"""A long run in JupyterLab: it shows how far it is, and it can be stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.browser.kernel import ask
from tests.browser.lab import wait_until
from tests.browser.page import opened

if TYPE_CHECKING:
    import psutil

SETUP = "import workbench as wb\nsamples = wb.demo_samples('arithmetic').head(600)"

SLOW = """
@wb.grader
async def slow(thread: wb.StringThread) -> float:
    import time
    time.sleep({seconds})
    return 0.5
"""
RUN = "report = slow.run(samples)\nreport"
SPARES = (
    "[one.pid for one in __import__('workbench.sandbox.host.pool', fromlist=['pool']).pool()._spares.workers]"
)
"""Workers that wait for the next run: nothing of a grader runs in them."""
KEPT = "[len(report.frame), int(report.frame['score'].notna().sum())]"


def workers(server) -> list[psutil.Process]:
    """Sandbox workers of the server's kernels: children of a zygote."""
    import psutil

    found = []
    for process in server.processes():
        try:
            if any(part.endswith("zygote.py") for part in process.parent().cmdline()):
                found.append(process)
        except (psutil.NoSuchProcess, AttributeError):
            continue
    return found


def alive(process: psutil.Process) -> bool:
    """Whether it still runs: one that only waits to be collected does not."""
    import psutil

    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_progress_is_visible_while_a_run_lasts(browser, lab):
    """The bar moves before the run ends, and says rows, rate and errors."""
    name = lab.write("progress.ipynb", [SETUP, SLOW.format(seconds=0.005), RUN])
    with opened(browser, lab, name) as notebook:
        notebook.start_all()
        bar = notebook.find(".jupyter-widgets.widget-hbox").first
        bar.wait_for()
        notebook.until(
            "() => { const at = document.querySelector('.jp-Notebook .widget-hbox')?.innerText.match(/(\\d+)\\/600/);"
            " return at && Number(at[1]) > 0 && Number(at[1]) < 600; }"
        )
        text = bar.inner_text()
        notebook.picture("progress", bar)
        notebook.wait_done()
        assert "slow" in text
        assert "rows/s" in text
        assert "errors=0" in text
        notebook.expect(bar).to_contain_text("600/600")
        assert notebook.errors() == []
        assert notebook.trouble.console == []


def test_interrupt_keeps_what_was_graded_and_ends_the_workers(browser, lab):
    """After Interrupt the report holds the rows done so far, the rest has no score, and no worker goes on."""
    name = lab.write("interrupt.ipynb", [SETUP, SLOW.format(seconds=0.05), RUN])
    before = {process.pid for process in workers(lab)}
    with opened(browser, lab, name) as notebook:
        notebook.start_all()
        notebook.until(
            "() => { const at = document.querySelector('.jp-Notebook .widget-hbox')?.innerText.match(/(\\d+)\\/600/);"
            " return at && Number(at[1]) > 5; }"
        )
        busy = [process for process in workers(lab) if process.pid not in before]
        assert busy
        notebook.command("notebook:interrupt-kernel")
        notebook.wait_done()
        assert notebook.errors() == []
        assert any("Interrupted" in "".join(output.get("text", "")) for output in notebook.outputs())
        notebook.picture("interrupted")
        spares = ask(notebook, SPARES)
        graded = [process for process in busy if process.pid not in spares]
        assert graded
        wait_until(lambda: not any(map(alive, graded)), what="the workers end")
        total, scored = ask(notebook, KEPT)
        assert total == 600
        assert 0 < scored < 600
        notebook.expect(notebook.find(".widget-hbox").first).not_to_contain_text("600/600")
