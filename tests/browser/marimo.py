"""The app in a marimo notebook, which its server runs and shows without code."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tests.browser.lab import ROOT, Server, home_with_notebooks, running, wait_for
from tests.browser.page import View

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NOTEBOOK = '''# /// script
# [tool.marimo.display]
# theme = "system"
# ///
import marimo

app = marimo.App(width="full")


@app.cell
def _():
    import re

    import marimo as mo

    import workbench as wb

    return mo, re, wb


@app.cell
def _(wb):
    @wb.grader
    async def contains_number(thread: wb.StringThread) -> float:
        """The completion contains the expected number."""
        expected = (thread.metadata or {}).get("expected", "")
        return 1.0 if expected and expected in (thread.completion() or "") else 0.0

    return (contains_number,)


@app.cell
def _(re, wb):
    NUMBER = r"-?\\d+(?:\\.\\d+)?"

    @wb.grader
    async def last_number(thread: wb.StringThread) -> float:
        """The last number of the answer is the expected one."""
        numbers = re.findall(NUMBER, thread.completion() or "")
        return 1.0 if numbers and numbers[-1] == (thread.metadata or {}).get("expected") else 0.0

    return (last_number,)


@app.cell
def _(contains_number, last_number, mo, wb):
    workbench = wb.Workbench(
        wb.demo_samples("arithmetic"),
        [contains_number, last_number, wb.ExactMatch(name="exact_match")],
        labels="good",
        store="sqlite:///of-marimo.db",
    )
    mo.ui.anywidget(workbench)
    return


if __name__ == "__main__":
    app.run()
'''


@contextlib.contextmanager
def serve(notebook: str = NOTEBOOK, prepare: Callable[[Path], object] = lambda _: None) -> Iterator[Server]:
    """`marimo run` of a notebook with the app: whoever opens it has graders and cells of their own.

    Args:
        notebook: Its text.
        prepare: Puts files into its folder.
    """
    command = [
        sys.executable,
        "-m",
        "marimo",
        "-y",
        "run",
        "notebook.py",
        "--headless",
    ]
    command += ["--no-token", "--host=127.0.0.1", "--port={port}"]
    with home_with_notebooks(ROOT / "notebooks") as (home, folder):
        (folder / "notebook.py").write_text(notebook)
        prepare(folder)
        with running(command, home, folder) as server:
            wait_for(server, "/health", {200})
            yield server


@contextlib.contextmanager
def opened(
    browser: Browser, server: Server, *, dark: bool = False, width: int = 1400, height: int = 1000
) -> Iterator[View]:
    """The app in a marimo notebook, in a fresh profile.

    Args:
        browser: Where it is shown.
        server: marimo's.
        dark: Whether in the dark theme, which a person's system asks for.
        width: Of the window in pixels.
        height: Of the window in pixels.
    """
    context = browser.new_context(
        viewport={"width": width, "height": height},
        device_scale_factor=1,
        color_scheme="dark" if dark else "light",
    )
    try:
        view = View(context.new_page(), urlsplit(server.url).netloc)
        view.page.goto(server.url)
        yield view
    finally:
        context.close()
