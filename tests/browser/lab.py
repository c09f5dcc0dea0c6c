"""A real JupyterLab server, and one notebook of it in a browser page.

Everything waits on state (kernel status, execution counts, elements), never on time.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Route

import workbench

ROOT = Path(__file__).resolve().parents[2]
ARTIFACTS = ROOT / "artifacts"

CHROMIUM_FLAGS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]

SETTINGS = {
    # Off-screen cells must be in the document, or their outputs never draw.
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none", "autosaveInterval": 0},
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/extensionmanager-extension:plugin": {"enabled": False},
}

IGNORED_CONSOLE: dict[str, str] = {}
"""Console errors that are JupyterLab's own: a piece of the text, and the reason."""

TIMEOUT_MS = 120_000


def chromium() -> str | None:
    """The browser's path: WORKBENCH_CHROMIUM, or a Chromium or Chrome on PATH."""
    names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
    found = [os.environ.get("WORKBENCH_CHROMIUM"), *map(shutil.which, names)]
    return next((path for path in found if path and Path(path).exists()), None)


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(true: Callable[[], Any], *, what: str, seconds: float = 60) -> Any:
    """Poll a state until it holds; its value.

    Raises:
        TimeoutError: It never did.
    """
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := true():
            return value
        time.sleep(0.05)
    raise TimeoutError(f"{what}: not within {seconds} s")


def end_group(process: subprocess.Popen[Any]) -> None:
    """End a process that leads its own group, and the group with it: politely first."""
    for number, patience in ((signal.SIGTERM, 15), (signal.SIGKILL, 5)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)
            return


@dataclass
class Server:
    """JupyterLab on a port of its own, with settings of its own, over a folder of its own.

    Attributes:
        url: Where it answers.
        notebooks: The folder it serves.
    """

    process: subprocess.Popen[Any]
    url: str
    token: str
    notebooks: Path
    log: Path

    def get(self, path: str) -> int:
        """The status of a page."""
        request = urllib.request.Request(
            f"{self.url}{path}", headers={"Authorization": f"token {self.token}"}
        )
        try:
            with urllib.request.urlopen(request, timeout=5) as reply:
                return int(reply.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def processes(self) -> list[psutil.Process]:
        """Everything below the server now: kernels, and what they started."""
        with contextlib.suppress(psutil.NoSuchProcess):
            return psutil.Process(self.process.pid).children(recursive=True)
        return []

    def write(self, name: str, cells: list[str]) -> str:
        """Write a notebook of code cells; its name."""
        body = [
            {
                "cell_type": "code",
                "id": f"cell-{n}",
                "metadata": {},
                "source": text,
                "outputs": [],
                "execution_count": None,
            }
            for n, text in enumerate(cells)
        ]
        kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
        notebook = {"cells": body, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
        (self.notebooks / name).write_text(json.dumps(notebook), "utf-8")
        return name


@contextlib.contextmanager
def serve(notebooks: Path, *, dark: bool = False) -> Iterator[Server]:
    """Start JupyterLab over a copy of a folder of notebooks; end it and its kernels as one group."""
    with tempfile.TemporaryDirectory(prefix="workbench-lab-", ignore_cleanup_errors=True) as made:
        home = Path(made)
        copy = home / "notebooks"
        shutil.copytree(notebooks, copy, ignore=shutil.ignore_patterns("*.html", "*.json", ".*"))
        server = _start(home, copy, dark=dark)
        try:
            wait_until(
                lambda: server.process.poll() is not None or server.get("/api/status") == 200,
                what="server",
                seconds=90,
            )
            if server.process.poll() is not None:
                raise RuntimeError(f"JupyterLab ended at once:\n{server.log.read_text()[-3000:]}")
            yield server
        finally:
            end_group(server.process)


def _start(home: Path, notebooks: Path, *, dark: bool) -> Server:
    settings = home / "config" / "labconfig"
    settings.mkdir(parents=True)
    theme = {"theme": "JupyterLab Dark" if dark else "JupyterLab Light"}
    overrides = {**SETTINGS, "@jupyterlab/apputils-extension:themes": theme}
    (settings / "default_setting_overrides.json").write_text(json.dumps(overrides))
    port, token, log = free_port(), uuid.uuid4().hex, home / "server.log"
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--LabApp.expose_app_in_browser=True"]
    command += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0", f"--ServerApp.root_dir={notebooks}"]
    command += ["--ServerApp.ip=127.0.0.1", f"--IdentityProvider.token={token}"]
    command += ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, cwd=notebooks, env=_environment(home), stdout=out, stderr=out, start_new_session=True
        )
    return Server(process, f"http://127.0.0.1:{port}", token, notebooks, log)


def _environment(home: Path) -> dict[str, str]:
    # The workbench under test, whatever is installed beside it.
    source = str(Path(workbench.__file__).resolve().parents[1])
    folders = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "runtime"}
    own = {name: str(home / folder) for name, folder in {**folders, "IPYTHONDIR": "ipython"}.items()}
    paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, **own, "PYTHONPATH": os.pathsep.join(paths)}


@dataclass
class Trouble:
    """What a page must not do.

    Attributes:
        console: Errors in the console, and uncaught ones.
        strangers: Addresses on other hosts it asked for; all were refused.
    """

    console: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)

    def watch(self, page: Page, host: str) -> None:
        """Collect from now on, and block other hosts."""

        def guard(route: Route) -> None:
            address = urlsplit(route.request.url)
            if address.scheme in {"data", "blob", "about"} or address.netloc == host:
                route.continue_()
            else:
                self.strangers.append(route.request.url)
                route.abort()

        page.route("**/*", guard)
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.console.append(f"uncaught: {error}"))

    def _note(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not any(piece in message.text for piece in IGNORED_CONSOLE):
            self.console.append(f"{message.text} ({message.location.get('url', '')})")


_PANEL = "window.jupyterapp?.shell?.currentWidget"
_READY = f"""() => {{
  const panel = {_PANEL}, kernel = panel?.sessionContext?.session?.kernel;
  return panel?.content?.model?.cells?.length > 0 && kernel?.status === 'idle'
    && kernel?.connectionStatus === 'connected' && document.querySelector('#jupyterlab-splash') === null;
}}"""
_DONE = f"""() => {{
  const panel = {_PANEL}, kernel = panel.sessionContext.session.kernel;
  const cells = panel.content.model.toJSON().cells.filter(cell => cell.cell_type === 'code');
  const failed = cells.some(cell => cell.outputs.some(output => output.output_type === 'error'));
  return kernel.status === 'idle' && (failed || cells.every(cell => cell.execution_count !== null));
}}"""


class Notebook:
    """One open notebook.

    Args:
        page: A fresh page.
        server: Who serves it.
        name: The notebook's path below the served folder.
    """

    def __init__(self, page: Page, server: Server, name: str) -> None:
        self.page, self.trouble, self._server = page, Trouble(), server
        page.set_default_timeout(TIMEOUT_MS)
        self.trouble.watch(page, urlsplit(server.url).netloc)
        workspace = f"test-{uuid.uuid4().hex[:8]}"
        page.goto(f"{server.url}/lab/workspaces/{workspace}/tree/{name}?reset&token={server.token}")
        self.wait_ready()

    def wait_ready(self) -> None:
        """Until the kernel is connected and idle: what is asked before is lost."""
        self.page.wait_for_function(_READY)

    def command(self, name: str) -> None:
        """Execute one of JupyterLab's commands and wait until it has ended."""
        self.page.evaluate("name => window.jupyterapp.commands.execute(name)", name)

    def start_all(self) -> None:
        """Run all cells, without waiting."""
        self.page.evaluate("() => { void window.jupyterapp.commands.execute('notebook:run-all-cells'); }")

    def wait_done(self) -> None:
        """Until every code cell has a number, or one has failed, and the kernel is idle."""
        self.page.wait_for_function(_DONE)

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

    def find(self, selector: str) -> Locator:
        """Elements of the notebook's cells."""
        return self.page.locator(f".jp-Notebook {selector}")

    def save_and_reload(self) -> None:
        """Save, then load the page anew from the file."""
        self.command("docmanager:save")
        self.page.reload()
        self.wait_ready()

    def picture(self, name: str, element: Locator | None = None) -> Path:
        """Write a screenshot to the artefact folder: of one element, or of what the window shows."""
        ARTIFACTS.mkdir(exist_ok=True)
        path = ARTIFACTS / f"{name}.png"
        if element is None:
            self.page.screenshot(path=path)
        else:
            element.scroll_into_view_if_needed()
            element.screenshot(path=path)
        return path


@contextlib.contextmanager
def opened(
    browser: Browser, server: Server, name: str, *, width: int = 1280, height: int = 900
) -> Iterator[Notebook]:
    """A notebook in a fresh profile, closed afterwards."""
    context = browser.new_context(viewport={"width": width, "height": height}, device_scale_factor=1)
    try:
        yield Notebook(context.new_page(), server, name)
    finally:
        context.close()
