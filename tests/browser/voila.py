"""A notebook as an app: Voila, as its own server or inside JupyterLab's, as Binder's link asks for."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tests.browser.lab import ROOT, Server, home_with_notebooks, running, wait_for, write_notebook
from tests.browser.page import View

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ERRORS = "[data-mime-type='application/vnd.jupyter.stderr'], [data-mime-type='application/vnd.jupyter.error']"
_READY = """() => window.jupyterapp && document.querySelector('#loading') === null
  && getComputedStyle(document.querySelector('#rendered_cells')).display !== 'none'"""


@contextlib.contextmanager
def serve(
    name: str, *, cells: list[str] | None = None, prepare: Callable[[Path], object] = lambda _: None
) -> Iterator[Server]:
    """`voila NAME` over a copy of the notebooks.

    Args:
        name: The notebook, in the folder of notebooks.
        cells: Its code cells, for a notebook that is not in the folder.
        prepare: Puts further files into the folder.
    """
    with home_with_notebooks(ROOT / "notebooks") as (home, copy):
        command = [
            sys.executable,
            "-m",
            "voila",
            name,
            "--no-browser",
            "--port={port}",
            "--Voila.ip=127.0.0.1",
        ]
        command += ["--show_tracebacks=True"]
        if cells is not None:
            write_notebook(copy / name, cells)
        prepare(copy)
        with running(command, home, copy) as server:
            server.app = "voila"
            wait_for(
                server, "/voila/static/", {200, 403, 404}
            )  # any answer: the page itself would start a kernel
            yield server


class Voilas:
    """Voila servers of a test run, each started when it is first asked for."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self._stack = stack
        self._servers: dict[Any, Server] = {}

    def __call__(self, name: str, *, cells: list[str] | None = None, **more: Any) -> Server:
        """The server of a notebook; arguments as of `serve`."""
        key = (name, tuple(cells or ()))
        if key not in self._servers:
            self._servers[key] = self._stack.enter_context(serve(name, cells=cells, **more))
        return self._servers[key]


class App(View):
    """A notebook that Voila has run and shows.

    Args:
        page: A fresh one.
        server: Voila's own, or JupyterLab's.
        name: The notebook; not needed for Voila's own server.
        dark: Whether in the dark theme.
    """

    def __init__(self, page: Page, server: Server, name: str = "", *, dark: bool = False) -> None:
        super().__init__(page, urlsplit(server.url).netloc)
        self._server = server
        path = "/" if server.app == "voila" else f"/voila/render/{name}"
        page.goto(f"{server.url}{path}?token={server.token}&theme={'dark' if dark else 'light'}")
        self.until(_READY)

    def shut_down(self) -> None:
        """End the app's kernel.

        Voila 0.5.13 by itself means to do so when its page is left, but refuses its own request (no XSRF cookie).
        """
        config = json.loads(self.page.locator("#jupyter-config-data").inner_text())
        assert self._server.post(f"/voila/api/shutdown/{config['kernelId']}") == 204

    def errors(self) -> list[str]:
        """Tracebacks and everything else on stderr that the page shows."""
        return self.find(ERRORS).all_inner_texts()


@contextlib.contextmanager
def opened(
    browser: Browser,
    server: Server,
    name: str = "",
    *,
    dark: bool = False,
    width: int = 1280,
    height: int = 900,
) -> Iterator[App]:
    """A notebook as an app in a fresh profile, closed afterwards with its kernel."""
    context = browser.new_context(viewport={"width": width, "height": height}, device_scale_factor=1)
    try:
        app = App(context.new_page(), server, name, dark=dark)
        yield app
        app.shut_down()
    finally:
        context.close()
