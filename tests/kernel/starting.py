"""Kernels of several ages: this environment's, the lowest versions the package allows, and one with subshells."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import workbench
from tests.installing import NO_NETWORK, install
from tests.kernel.harness import SECONDS, Kernel

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(workbench.__file__).resolve().parents[1]

FIRST = {"regex": "2024.4.*", "quickjs-ng": "0.17.*"}
"""Where no release has the very number of the lower bound."""

COMPILED = {"numpy", "pandas", "pyarrow", "rapidfuzz", "regex", "pyyaml", "sqlalchemy"}
"""The oldest of these have wheels for the lowest supported Python only."""

THREADED = "ipykernel==7.3.*"
"""The last kernels that always ran a widget's callback in a thread of a subshell, under JupyterLab 4.4 and later."""


class CannotInstall(Exception):
    """The environment could not be made: there is no network."""


@contextlib.contextmanager
def started(
    folder: Path, *, python: str = sys.executable, path: Path | None = None, subshell: bool = True
) -> Iterator[Kernel]:
    """A kernel of any Python that has ipykernel, with the workbench of this checkout; ended in the end.

    Args:
        folder: An empty one: where the kernel works and keeps its settings.
        python: The kernel's interpreter.
        path: A folder whose packages come before the interpreter's own.
        subshell: Whether to use subshells where the kernel has them, as JupyterLab and Notebook 7 do; Voila does not.
    """
    with running(folder, python=python, path=path) as (manager, client):
        yield _page(manager, client, folder, subshell=subshell)


@contextlib.contextmanager
def running(folder: Path, *, python: str, path: Path | None) -> Iterator[tuple[Any, Any]]:
    """A kernel's manager and a client that is ready; arguments as of `started`."""
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import KernelManager

    specs = KernelSpecManager(kernel_dirs=[str(_specify(folder, python))], ensure_native_kernel=False)
    manager = KernelManager(kernel_name="under-test", kernel_spec_manager=specs)
    work = folder / "work"
    work.mkdir()
    with _log(folder).open("wb") as out:
        manager.start_kernel(cwd=str(work), env=_environment(folder, path), stdout=out, stderr=out)
    client = manager.blocking_client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=SECONDS)
        yield manager, client
    finally:
        client.stop_channels()
        if manager.has_kernel:
            manager.shutdown_kernel(now=True)
        manager.cleanup_resources()


class SharedKernel:
    """A kernel for one test after another: each gets a page of its own, and no widget or name of the last one.

    Args:
        folder: Where the kernels have folders of their own.
        python: The kernel's interpreter.
        path: A folder whose packages come before the interpreter's own.
    """

    def __init__(self, folder: Path, *, python: str = sys.executable, path: Path | None = None) -> None:
        self._folder, self._python, self._path = folder, python, path
        self._stack, self._count = contextlib.ExitStack(), 0
        self._found: tuple[Any, Any] | None = None

    @contextlib.contextmanager
    def page(self) -> Iterator[Kernel]:
        """A page in front of the kernel. A kernel that cannot be used again is ended."""
        kernel = _page(*self._ready(), self._folder / str(self._count), subshell=True)
        reusable = False
        try:
            yield kernel
            reusable = kernel.clear()
        finally:
            if not reusable:
                self.close()

    def close(self) -> None:
        """End the kernel; the next page has another."""
        self._found = None
        self._stack.close()

    def _ready(self) -> tuple[Any, Any]:
        if self._found is None:
            self._count += 1
            folder = self._folder / str(self._count)
            folder.mkdir(parents=True)
            self._found = self._stack.enter_context(running(folder, python=self._python, path=self._path))
        return self._found


def _page(manager: Any, client: Any, folder: Path, *, subshell: bool) -> Kernel:
    kernel = Kernel(manager, client, _log(folder))
    if subshell:
        kernel.use_subshell()
    return kernel


def _log(folder: Path) -> Path:
    return folder / "kernel.log"


def _specify(folder: Path, python: str) -> Path:
    kernels = folder / "kernels"
    (kernels / "under-test").mkdir(parents=True)
    command = [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    about = {"argv": command, "display_name": "under test", "language": "python"}
    (kernels / "under-test" / "kernel.json").write_text(json.dumps(about), "utf-8")
    return kernels


def _environment(folder: Path, path: Path | None) -> dict[str, str]:
    own = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    folders = {name: str(folder / name.lower()) for name in own}
    quiet = {"PYDEVD_DISABLE_FILE_VALIDATION": "1"}  # a remark of the debugger's
    paths = [str(path or ""), str(SOURCE), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, **folders, **quiet, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def lowest() -> list[str]:
    """The lowest version of every run-time dependency and of ipykernel, as pyproject.toml allows them."""
    from packaging.requirements import Requirement

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = project["dependencies"] + project["optional-dependencies"]["lab"]
    wanted = [Requirement(line) for line in lines]
    return [
        _lowest(one.name, str(one.specifier), ",".join(sorted(one.extras)))
        for one in wanted
        if one.name not in {"jupyterlab", "voila"} and (one.marker is None or one.marker.evaluate())
    ]


def _lowest(name: str, specifier: str, extras: str) -> str:
    least = re.search(r">=([\d.]+)", specifier)
    assert least, f"{name} has no lower bound in pyproject.toml"
    if name in COMPILED and sys.version_info >= (3, 12):
        return f"{name}{specifier}"
    return f"{name}{f'[{extras}]' if extras else ''}=={FIRST.get(name, least[1])}"


def oldest_python(cache: Path) -> str:
    """An interpreter whose environment has the lowest versions; made once for each cache folder.

    Raises:
        CannotInstall: There is no network.
    """
    made = _once(cache, "oldest", lowest(), lambda folder, pins: _install(_venv(folder), pins))
    return str(made / "bin" / "python")


def threaded_path(cache: Path) -> Path:
    """A folder with the ipykernel that always uses threads, to go before this environment's packages.

    Raises:
        CannotInstall: There is no network.
    """

    def make(folder: Path, pins: list[str]) -> None:
        _install(sys.executable, ["--no-deps", "--target", str(folder), *pins])

    return _once(cache, "threaded", [THREADED], make)


def _venv(folder: Path) -> str:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return str(folder / "bin" / "python")


def _once(cache: Path, name: str, pins: list[str], make: Callable[[Path, list[str]], None]) -> Path:
    """What `make` makes, from the cache where these pins and this Python made it before."""
    name = f"{name}-{sys.version_info[0]}.{sys.version_info[1]}"
    mark = hashlib.sha256("\n".join([sys.version, sys.prefix, *pins]).encode()).hexdigest()[:12]
    made, draft = cache / f"{name}-{mark}", cache / f"draft-{uuid.uuid4().hex[:8]}"
    if not made.is_dir():
        for old in cache.glob(f"{name}-*"):  # hundreds of megabytes that nobody asks for again
            shutil.rmtree(old, ignore_errors=True)
        try:
            make(draft, pins)
            with contextlib.suppress(OSError):  # another run was quicker: its folder is as good
                draft.rename(made)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return made


def _install(python: str, words: list[str]) -> None:
    done = install(python, "--only-binary", ":all:", *words)
    if done.returncode and any(piece in done.stderr for piece in NO_NETWORK):
        raise CannotInstall(done.stderr[-3000:])
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stderr[-3000:]}"
