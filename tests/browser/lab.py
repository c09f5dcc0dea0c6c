"""A real JupyterLab server over a copy of the notebooks."""

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
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import workbench

if TYPE_CHECKING:
    import psutil

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = {
    # Off-screen cells must be in the document, or their outputs never draw.
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none", "autosaveInterval": 0},
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/extensionmanager-extension:plugin": {"enabled": False},
}


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
        import psutil

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
