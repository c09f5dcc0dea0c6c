"""A real JupyterLab or Notebook 7 server over a copy of the notebooks."""

from __future__ import annotations

import contextlib
import json
import os
import random
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
from typing import TYPE_CHECKING, Any

import workbench

if TYPE_CHECKING:
    import psutil

    from tests.browser.page import Notebook

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = {
    # Off-screen cells must be in the document, or their outputs never draw.
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none", "autosaveInterval": 0},
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/extensionmanager-extension:plugin": {"enabled": False},
    "@jupyterlab/apputils-extension:themes": {"theme": "JupyterLab Light"},
}


def free_port() -> int:
    """A port nobody listens on, below those that the system gives away: no other process gets it in the meantime."""
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def wait_until(true: Callable[[], Any], *, what: str, seconds: float = 600) -> Any:
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
    """A server on a port of its own, with settings of its own, over a folder of its own.

    Attributes:
        url: Where it answers.
        token: Whoever knows it may use the server; empty where everybody may.
        notebooks: The folder it serves.
        log: What it wrote.
        app: `lab`, `notebook` or `voila`.
        idle: Pages of it that show no notebook now.
    """

    process: subprocess.Popen[Any]
    url: str
    token: str
    notebooks: Path
    log: Path
    app: str = "lab"
    idle: list[Notebook] = field(default_factory=list)

    def address(self, name: str) -> str:
        """Where a notebook is opened; in JupyterLab each time in a workspace of its own."""
        if self.app == "notebook":
            return f"{self.url}/notebooks/{name}?token={self.token}"
        return f"{self.url}/lab/workspaces/test-{uuid.uuid4().hex[:8]}/tree/{name}?reset&token={self.token}"

    def get(self, path: str) -> int:
        """The status of a page; 0 when nobody is there."""
        return self._ask(path, "GET")

    def post(self, path: str) -> int:
        """The status of what is asked for by POST."""
        return self._ask(path, "POST")

    def _ask(self, path: str, method: str) -> int:
        own = {
            "Cookie": "_xsrf=own",
            "X-XSRFToken": "own",
        }  # a pair of one's own making is what a page has, too
        own |= {"Authorization": f"token {self.token}"} if self.token else {}
        request = urllib.request.Request(f"{self.url}{path}", headers=own, method=method)
        try:
            with urllib.request.urlopen(request, timeout=5) as reply:
                return int(reply.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def processes(self) -> list[psutil.Process]:
        """Everything below the server now: kernels, and what they started."""
        import psutil

        with contextlib.suppress(psutil.NoSuchProcess):
            return psutil.Process(self.process.pid).children(recursive=True)
        return []

    def write(self, name: str, cells: list[str]) -> str:
        """Write a notebook of code cells; its name."""
        write_notebook(self.notebooks / name, cells)
        return name


def write_notebook(path: Path, cells: list[str]) -> None:
    """Write a notebook of code cells."""
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
    path.write_text(json.dumps(notebook), "utf-8")


PROGRAMS = {
    "lab": ("jupyterlab", "--LabApp.expose_app_in_browser=True"),
    "notebook": ("notebook", "--JupyterNotebookApp.expose_app_in_browser=True"),
}


@contextlib.contextmanager
def serve(notebooks: Path, *, app: str = "lab") -> Iterator[Server]:
    """Start JupyterLab or Notebook 7 over a copy of a folder of notebooks; end it and its kernels as one group."""
    with home_with_notebooks(notebooks) as (home, copy):
        _settle(home)
        token = uuid.uuid4().hex
        command = [sys.executable, "-m", *PROGRAMS[app], f"--IdentityProvider.token={token}", "--no-browser"]
        command += [f"--ServerApp.root_dir={copy}", "--VoilaConfiguration.show_tracebacks=True"]
        command += ["--ServerApp.port={port}", "--ServerApp.port_retries=0", "--ServerApp.ip=127.0.0.1"]
        command += ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        with running(command, home, copy) as server:
            server.token, server.app = token, app
            wait_for(server, "/api/status", {200})
            yield server


@contextlib.contextmanager
def home_with_notebooks(notebooks: Path) -> Iterator[tuple[Path, Path]]:
    """A folder for a server's own files, and in it a copy of the notebooks."""
    with tempfile.TemporaryDirectory(prefix="workbench-jupyter-", ignore_cleanup_errors=True) as made:
        home = Path(made)
        copy = home / "notebooks"
        shutil.copytree(notebooks, copy, ignore=shutil.ignore_patterns("*.html", "*.json", ".*"))
        yield home, copy


@contextlib.contextmanager
def running(command: list[str], home: Path, notebooks: Path) -> Iterator[Server]:
    """Start a Jupyter server's program; end it and all it started as one group.

    Args:
        command: `{port}` in it becomes a free one.
        home: For the server's own files.
        notebooks: Where it works.
    """
    port, log = free_port(), home / "server.log"
    command = [word.replace("{port}", str(port)) for word in command]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, cwd=notebooks, env=_environment(home), stdout=out, stderr=out, start_new_session=True
        )
    try:
        yield Server(process, f"http://127.0.0.1:{port}", "", notebooks, log)
    finally:
        end_group(process)


def wait_for(server: Server, path: str, statuses: set[int]) -> None:
    """Until the server answers.

    Raises:
        RuntimeError: It ended instead.
    """
    wait_until(
        lambda: server.process.poll() is not None or server.get(path) in statuses, what="server", seconds=600
    )
    if server.process.poll() is not None:
        raise RuntimeError(f"the server ended at once:\n{server.log.read_text()[-3000:]}")


def _settle(home: Path) -> None:
    settings = home / "config" / "labconfig"
    settings.mkdir(parents=True)
    (settings / "default_setting_overrides.json").write_text(json.dumps(SETTINGS))


def _environment(home: Path) -> dict[str, str]:
    # The workbench under test, whatever is installed beside it.
    source = str(Path(workbench.__file__).resolve().parents[1])
    folders = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "runtime"}
    own = {name: str(home / folder) for name, folder in {**folders, "IPYTHONDIR": "ipython"}.items()}
    paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, **own, "PYTHONPATH": os.pathsep.join(paths)}
