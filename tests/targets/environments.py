"""Environments with the packages that call exported files, and without the workbench: made once, kept between runs.

They stand in `.pytest_cache/targets`, or in the folder that `WORKBENCH_TARGETS` names; each is made anew when its
requirements change. Tests that need one are skipped unless `CI=true` (then all are made) or `WORKBENCH_TARGETS` is set: to `1`,
to `all` (what takes gigabytes for one test as well), to a folder, or to several of these with commas between them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.installing import install

HERE = Path(__file__).parent

REQUIREMENTS = HERE / "requirements"

MEGABYTES = {"train": 1440, "evaluate": 470, "eval_protocol": 270}
"""Environments of Python, and what each takes on disk."""

PROMPTFOO = "promptfoo@0.123.1"
"""The package of the command line: 33 MB alone, with its Python module; 1,640 MB with what it needs to run."""

NODE = "node@22"
"""Promptfoo runs on Node 22 and later."""

PYTHON = (3, 11)
"""The version for which the requirements are pinned."""

READY = "ready"
"""Written last into a folder; one without it was left half-made."""


def words() -> list[str]:
    """The value of `WORKBENCH_TARGETS`."""
    return [word for word in os.environ.get("WORKBENCH_TARGETS", "").split(",") if word]


def wanted(*, everything: bool = False) -> bool:
    """Whether environments may be made here, and with `everything` the largest one too. CI makes all of them."""
    return os.environ.get("CI") == "true" or ("all" in words() if everything else bool(words()))


def folder() -> Path:
    """The folder of environments."""
    named = [word for word in words() if word not in {"1", "all"}]
    return Path(named[0]) if named else HERE.parents[1] / ".pytest_cache" / "targets"


def python_of(environment: str) -> Path:
    """The Python of an environment, made if there is none; the test is skipped where none may be made.

    Args:
        environment: A name of `MEGABYTES`.

    Returns:
        The path of a Python that has the environment's packages and not the workbench.

    Raises:
        subprocess.CalledProcessError: They could not be installed; the message is shown.
    """
    size = MEGABYTES[environment]
    if not wanted():
        pytest.skip(f"set WORKBENCH_TARGETS=1 to install {size} MB of trainers and run this")
    if sys.version_info[:2] != PYTHON:
        pytest.skip(f"the packages are pinned for Python {'.'.join(map(str, PYTHON))}")
    return python_with(REQUIREMENTS / f"{environment}.txt")


def python_with(requirements: Path) -> Path:
    """The Python of an environment with what one file of requirements lists."""
    key = hashlib.sha256(requirements.read_bytes()).hexdigest()[:12]
    name = f"{requirements.stem}-{key}-{sys.version_info.major}.{sys.version_info.minor}"
    return made(name, lambda place: _install(place, requirements)) / "bin" / "python"


def promptfoo_package() -> Path:
    """The folder of promptfoo's package as it is published, without what it needs to run its command line."""
    if not wanted():
        pytest.skip("set WORKBENCH_TARGETS=1 to download 7 MB of promptfoo and run this")
    _need_npm()
    return made(PROMPTFOO, _pack) / "package"


def promptfoo_command_line() -> tuple[Path, Path]:
    """The folder of an installed promptfoo, and the Node program that runs it."""
    if not wanted(everything=True):
        pytest.skip("set WORKBENCH_TARGETS=all to install 1,640 MB of promptfoo and run this")
    _need_npm()
    modules = made(f"{PROMPTFOO}-{NODE}", _install_promptfoo) / "node_modules"
    return modules / "promptfoo", modules / "node" / "bin" / "node"


def made(name: str, make: Callable[[Path], None]) -> Path:
    """A folder of that name, which `make` fills once: other processes wait for it, and a half-made one is made again."""
    place = folder() / name
    with _alone(name):
        if not (place / READY).exists():
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            make(place)
            (place / READY).touch()
    return place


@contextmanager
def _alone(name: str) -> Iterator[None]:
    """Holds the lock of one environment."""
    fcntl = pytest.importorskip("fcntl", reason="environments are made where files have POSIX locks")
    folder().mkdir(parents=True, exist_ok=True)
    with (folder() / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install(place: Path, requirements: Path) -> None:
    """Makes an environment. Every package is pinned, so that there is nothing to resolve."""
    _run([sys.executable, "-m", "venv", "--without-pip", str(place)])
    _check(install(place / "bin" / "python", "--no-deps", "-r", str(requirements)))


def _pack(place: Path) -> None:
    """Downloads a package as it is published and unpacks it."""
    _run(["npm", "pack", PROMPTFOO, "--silent", "--pack-destination", str(place)])
    (archive,) = place.glob("*.tgz")
    with tarfile.open(archive) as packed:
        packed.extractall(place, filter="data")
    archive.unlink()


def _install_promptfoo(place: Path) -> None:
    """Installs promptfoo with all it needs."""
    _run(["npm", "install", "--prefix", str(place), "--no-audit", "--no-fund", "--silent", NODE, PROMPTFOO])


def _need_npm() -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")


def _run(command: list[str]) -> None:
    """Runs a program, and shows its output if it failed."""
    _check(subprocess.run(command, capture_output=True, text=True, check=False))


def main() -> None:
    """Create all missing environments that the tests need, sequentially and early, so that tests wait less."""
    parts = [*(partial(python_of, name) for name in MEGABYTES), promptfoo_package, promptfoo_command_line]
    for part in parts:
        try:
            part()
        except pytest.skip.Exception as reason:
            print(reason)


def _check(done: subprocess.CompletedProcess[str]) -> None:
    if done.returncode:
        print(done.stdout[-4000:], done.stderr[-4000:], sep="\n")
    done.check_returncode()


if __name__ == "__main__":
    main()
