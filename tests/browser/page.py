"""A notebook in a browser page: open it, run it, look at it.

Everything waits on state (kernel status, execution counts, elements), never on time.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from re import Pattern
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tests.browser import look
from tests.browser.lab import ROOT, Server

if TYPE_CHECKING:
    from playwright.sync_api import (
        Browser,
        ConsoleMessage,
        FloatRect,
        Locator,
        LocatorAssertions,
        Page,
        Request,
    )

ARTIFACTS = ROOT / "artifacts"

CHROMIUM_FLAGS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    # No other host is found: a page gets nothing from elsewhere, whatever it asks for.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]

IGNORED_CONSOLE: dict[str, str] = {
    "/labextensions/@jupyter-notebook/lab-extension/": "Notebook 7's extension is loaded by Voila, where it has no use",
    "Cannot read properties of undefined (reading 'schema')": "Notebook 7.6 says so of its own settings, on any page",
}
"""Console errors that are not ours: a piece of the text, and the reason."""

KNOWN_STRANGERS: dict[str, str] = {
    "https://cdn.jsdelivr.net/npm/@fortawesome/": "Voila's own template asks for icons of buttons there",
    "https://cdnjs.cloudflare.com/ajax/libs/mathjax/": "Voila inside JupyterLab's server asks for MathJax there",
}
"""Addresses on other hosts that are not asked for by us: how they begin, and the reason. They are not found all the same."""

TIMEOUT_MS = 120_000

_FRAME = 200
"""Pixels above and below what a page shows of a notebook: menus and tool bars."""


def chromium() -> str | None:
    """The browser's path: WORKBENCH_CHROMIUM, or a Chromium or Chrome on PATH."""
    names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
    found = [os.environ.get("WORKBENCH_CHROMIUM"), *map(shutil.which, names)]
    return next((path for path in found if path and Path(path).exists()), None)


@dataclass
class Trouble:
    """What a page must not do.

    Attributes:
        console: Errors in the console, and uncaught ones.
        strangers: Addresses on other hosts it asked for; it found none of them.
        known: Those of them that are not ours to avoid; not found either.
    """

    console: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)

    def watch(self, page: Page, host: str) -> None:
        """Collect from now on.

        No route stands in between: one would ask Python about every file of a page, and keep none of them in the cache.
        """

        def asked(request: Request) -> None:
            address = urlsplit(request.url)
            if address.scheme not in {"data", "blob", "about"} and address.netloc != host:
                (self.known if _known(request.url) else self.strangers).append(request.url)

        page.on("request", asked)
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self._note(f"uncaught: {error}"))

    def forget(self) -> None:
        """Begin anew: what was collected belongs to another test."""
        for collected in (self.console, self.strangers, self.known):
            collected.clear()

    def _heard(self, message: ConsoleMessage) -> None:
        address = message.location.get("url", "")
        if message.type == "error" and not _known(address):
            self._note(f"{message.text} ({address})")

    def _note(self, text: str) -> None:
        if not any(piece in text for piece in IGNORED_CONSOLE):
            self.console.append(text)


def _known(address: str) -> bool:
    return any(address.startswith(begin) for begin in KNOWN_STRANGERS)


class View:
    """A page that is watched.

    Args:
        page: A fresh one.
        host: The only host it may ask, with its port.

    Attributes:
        scope: The part of the page that is looked at, as a selector.
    """

    scope = "body"

    def __init__(self, page: Page, host: str) -> None:
        self.page, self.trouble = page, Trouble()
        page.set_default_timeout(TIMEOUT_MS)
        self.trouble.watch(page, host)

    def find(self, selector: str) -> Locator:
        """Elements of what the page shows: cells and outputs, not the menus around them."""
        return self.page.locator(f"{self.scope} {selector}")

    def until(self, true: str, given: object = None) -> None:
        """Wait until JavaScript is true of the page.

        It is asked twenty times a second: a page that is asked at every frame, as Playwright would, draws every frame.
        """
        self.page.wait_for_function(true, arg=given, polling=50)

    def click(self, selector: str) -> None:
        """Click the first element that fits, once it is there and can be clicked."""
        self.find(selector).first.click()

    def text(self, selector: str) -> str:
        """The text of the first element that fits, once it is there."""
        return self.find(selector).first.inner_text()

    def wait_text(self, selector: str, text: str | Pattern[str]) -> Locator:
        """Wait until an element that fits holds a text; the element."""
        found = self.find(selector).filter(has_text=text).first
        found.wait_for()
        return found

    def expect(self, what: str | Locator) -> LocatorAssertions:
        """Assertions that wait until they hold: pages answer when they can, and one part after another."""
        from playwright.sync_api import expect

        expect.set_options(timeout=TIMEOUT_MS)
        return expect(self.find(what) if isinstance(what, str) else what)

    def picture(
        self, name: str, element: Locator | None = None, *, clip: tuple[Locator, Locator] | None = None
    ) -> Path:
        """Write a screenshot to the artefact folder; its path.

        Args:
            name: Of the file, without ending.
            element: What to show; the window by default.
            clip: First and last element of a part of the window.
        """
        ARTIFACTS.mkdir(exist_ok=True)
        path = ARTIFACTS / f"{name}.png"
        if element is not None:
            with self._tall_enough(element):
                element.screenshot(path=path)
        elif clip is not None:
            self.page.screenshot(path=path, clip=_around(*clip))
        else:
            self.page.screenshot(path=path)
        return path

    @contextlib.contextmanager
    def _tall_enough(self, element: Locator) -> Iterator[None]:
        """A window that shows all of an element: what a notebook has scrolled away would be grey in a picture."""
        element.scroll_into_view_if_needed()
        size, box = self.page.viewport_size, element.bounding_box()
        assert size is not None
        assert box is not None
        if box["height"] + _FRAME <= size["height"]:
            yield
            return
        self.page.set_viewport_size({"width": size["width"], "height": int(box["height"]) + _FRAME})
        element.scroll_into_view_if_needed()
        look.wait_still(self.page, [element])
        yield
        self.page.set_viewport_size(size)

    def sound(
        self, name: str, *elements: Locator | str, of: Locator | None = None, colours: int = 24
    ) -> Path:
        """Write a screenshot and assert that it is one: not empty, nothing without size, nothing covered.

        Args:
            name: Of the file, without ending.
            elements: Selectors or locators. All they find must have a size and lie apart, or one inside the other.
            of: What to show; the window by default.
            colours: At least so many; text alone has dozens, an empty panel a handful.
        """
        self.page.evaluate(look.FRAMES)
        path = self.picture(name, of)
        seen = look.colours(self.page, path.read_bytes())
        assert seen >= colours, f"{path}: only {seen} colours"
        found = [self.find(one) if isinstance(one, str) else one for one in elements]
        look.wait_still(self.page, found)
        look.assert_sized(found)
        look.assert_apart(found)
        return path


_PANEL = "window.jupyterapp?.shell?.currentWidget"
_READY = f"""() => {{
  const panel = {_PANEL}, kernel = panel?.sessionContext?.session?.kernel;
  return panel?.content?.model?.cells?.length > 0 && kernel?.status === 'idle'
    && kernel?.connectionStatus === 'connected' && document.querySelector('#jupyterlab-splash') === null;
}}"""
_RUN_ALL = """() => {
  window.workbenchRan = false;
  window.jupyterapp.commands.execute('notebook:run-all-cells').finally(() => { window.workbenchRan = true; });
}"""
_OPEN = """name => window.jupyterapp.commands.execute('docmanager:open', {path: name}).then(() => null)"""
_THEME = """theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme}).then(() => null)"""
# A cell that fails by a UsageError has no error output, so "all cells numbered" may never come: ask Lab itself.
_DONE = f"""() => window.workbenchRan && {_PANEL}.sessionContext.session.kernel.status === 'idle'"""


class Notebook(View):
    """One open notebook, in JupyterLab or Notebook 7.

    Args:
        page: A fresh page.
        server: Who serves it.
        name: The notebook's path below the served folder.
    """

    scope = ".jp-Notebook"

    def __init__(self, page: Page, server: Server, name: str) -> None:
        super().__init__(page, urlsplit(server.url).netloc)
        page.goto(server.address(name))
        self.wait_ready()

    def wait_ready(self) -> None:
        """Until the kernel is connected and idle: what is asked before is lost."""
        self.until(_READY)

    def command(self, name: str) -> None:
        """Execute one of JupyterLab's commands and wait until it has ended."""
        self.page.evaluate("name => window.jupyterapp.commands.execute(name)", name)

    def start_all(self) -> None:
        """Run all cells, without waiting."""
        self.page.evaluate(_RUN_ALL)

    def wait_done(self) -> None:
        """Until the last cell has ended, or one has failed, the kernel is idle, and what came is drawn."""
        self.until(_DONE)
        self.page.evaluate(look.FRAMES)

    def run_all(self) -> None:
        """Run all cells to the end."""
        self.start_all()
        self.wait_done()

    def cells(self) -> list[dict[str, Any]]:
        """The code cells as they would be saved."""
        cells = self.page.evaluate(f"() => {_PANEL}.content.model.toJSON().cells")
        return [cell for cell in cells if cell["cell_type"] == "code"]

    def outputs(self) -> list[dict[str, Any]]:
        """All outputs, in order."""
        return [output for cell in self.cells() for output in cell["outputs"]]

    def errors(self) -> list[str]:
        """Error outputs, and everything written to stderr."""
        found = [f"{o['ename']}: {o['evalue']}" for o in self.outputs() if o["output_type"] == "error"]
        return found + ["".join(o["text"]) for o in self.outputs() if o.get("name") == "stderr"]

    def save_and_reload(self) -> None:
        """Save, then load the page anew from the file."""
        self.command("docmanager:save")
        self.page.reload()
        self.wait_ready()

    @contextlib.contextmanager
    def dark(self) -> Iterator[None]:
        """JupyterLab's dark theme for a while: a person changes it with the notebook open, too."""
        self._change_theme("Dark")
        try:
            yield
        finally:
            self._change_theme("Light")

    def _change_theme(self, name: str) -> None:
        self.page.evaluate(_THEME, f"JupyterLab {name}")
        self.until("light => document.body.dataset.jpThemeLight === light", str(name == "Light").lower())
        self.page.evaluate(look.FRAMES)

    def shut_down(self) -> None:
        """End the notebook's kernel: the next one who opens it gets a fresh one."""
        self.page.evaluate(f"() => {_PANEL}.sessionContext.shutdown()")

    def close(self) -> None:
        """Take the notebook off the page, saved or not, and leave the page to the next one."""
        self.page.evaluate(f"() => {_PANEL}.dispose()")
        self.page.mouse.move(0, 0)
        self.find("").first.wait_for(state="detached")

    def reopen(self, name: str, *, width: int, height: int) -> None:
        """Open another notebook in the page that the last one left."""
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.evaluate(_OPEN, name)
        self.wait_ready()
        self.trouble.forget()

    def rest(self) -> None:
        """Look untouched: no cell is active in view, and the pointer is elsewhere."""
        self.page.mouse.move(0, 0)
        self.page.evaluate(
            f"() => {{ const all = {_PANEL}.content; all.activeCellIndex = all.widgets.length - 1; }}"
        )


def _around(first: Locator, last: Locator) -> FloatRect:
    above, below = first.bounding_box(), last.bounding_box()
    assert above is not None
    assert below is not None
    height = below["y"] + below["height"] - above["y"]
    return {"x": above["x"], "y": above["y"], "width": above["width"], "height": height}


@contextlib.contextmanager
def opened(
    browser: Browser, server: Server, name: str, *, width: int = 1280, height: int = 900, fresh: bool = False
) -> Iterator[Notebook]:
    """A notebook with a kernel of its own, closed afterwards.

    Args:
        browser: Where a page is made.
        server: Who serves the notebook. JupyterLab's pages are kept: loading one takes far longer than a notebook in it.
        name: The notebook's path below the served folder.
        width: Of the window, in pixels.
        height: Of the window, in pixels.
        fresh: Whether in a profile of its own, for tests that reload the page or change what is around the notebook.
    """
    if server.idle and not fresh:
        notebook = server.idle.pop()
        notebook.reopen(name, width=width, height=height)
    else:
        context = browser.new_context(viewport={"width": width, "height": height}, device_scale_factor=1)
        notebook = Notebook(context.new_page(), server, name)
    try:
        yield notebook
        notebook.shut_down()
        if server.app == "lab" and not fresh:
            notebook.close()
            server.idle.append(notebook)
    finally:
        if notebook not in server.idle:
            notebook.page.context.close()
