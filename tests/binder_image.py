"""What Binder would build, in a folder: the pinned environment, the repository, a plain user, a memory limit."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
import sys
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import pytest

from tests.browser.lab import wait_until
from tests.installing import NO_NETWORK, command

ROOT = Path(__file__).resolve().parents[1]
BINDER = ROOT / "binder"
LIMIT = 2 * 1024**3
"""Bytes that Binder gives."""
NOBODY = 65534
GROUPS = Path("/sys/fs/cgroup/memory")

ENTER = """
import os, resource, sys
limit, group, user, *command = sys.argv[1:]
if group:
    open(group, "w").write(str(os.getpid()))
else:
    resource.setrlimit(resource.RLIMIT_DATA, (int(limit), int(limit)))
if user:
    os.setgroups([])
    os.setgid(int(user))
    os.setuid(int(user))
os.execv("/usr/bin/env", ["env", *command])
"""
"""Enters the memory group, becomes the plain user, and turns into the command."""


@dataclass
class Image:
    """What Binder would build, in a folder.

    Attributes:
        home: The plain user's home; holds `venv` and `repo`.
        group: The memory group's folder, or None where the limit is one of the process.
        user: The plain user's number, or empty for ourselves.
    """

    home: Path
    group: Path | None
    user: str
    environment: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        kept = {name: value for name, value in os.environ.items() if name in {"LANG", "TZ", "TMPDIR"}}
        path = f"{self.home / 'venv' / 'bin'}:/usr/local/bin:/usr/bin:/bin"
        # Dask locks a folder for temporary files, which is another user's if tests of this machine's user run at the same time.
        dask = {"DASK_TEMPORARY_DIRECTORY": str(self.home / "dask")}
        self.environment = {**kept, **dask, "HOME": str(self.home), "PATH": path, "PYTHONUNBUFFERED": "1"}

    @property
    def repo(self) -> Path:
        return self.home / "repo"

    def command(self, *words: str) -> list[str]:
        group = str(self.group / "cgroup.procs") if self.group else ""
        return [sys.executable, "-c", ENTER, str(LIMIT), group, self.user, *words]

    def run(self, *words: str, timeout: float = 900) -> str:
        """Run a command as the plain user, in the repository; what it printed."""
        done = subprocess.run(
            self.command(*words),
            cwd=self.repo,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert done.returncode == 0, f"{words[:2]}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        return done.stdout

    def peak(self) -> str:
        """The most memory all its processes held together, the files they read included."""
        if self.group is None:
            return "unknown (no memory group)"
        most, fails = (
            int((self.group / f"memory.{name}").read_text()) for name in ("max_usage_in_bytes", "failcnt")
        )
        return f"{most / 2**20:,.0f} MiB of {LIMIT / 2**20:,.0f}; refused {fails} times"


def missing(what: str) -> NoReturn:
    """Skip with the reason; on a build server the same is a failure."""
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(f"the Binder test needs {what}, and CI=true", pytrace=False)
    pytest.skip(f"the Binder test needs {what}")


def open_to_all(path: Path) -> bool:
    """Whether a plain user may reach a file."""
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in [path, *path.parents])


def interpreter(*, plain: bool) -> str:
    """A Python that the project supports and the user of the test may read.

    Args:
        plain: Whether that is another user than ourselves.
    """
    names = ["python3.12", "python3.13", "python3.11", "python3"]
    found = [
        getattr(sys, "_base_executable", sys.executable),
        *(f"/usr/bin/{n}" for n in names),
        *map(shutil.which, names),
    ]
    for path in filter(None, found):
        if not Path(path).exists() or (plain and not open_to_all(Path(path).resolve())):
            continue
        ask = "import sys, venv; print(sys.version_info >= (3, 11))"
        if subprocess.run([path, "-c", ask], capture_output=True, text=True).stdout.strip() == "True":
            return path
    missing("a Python 3.11 or later that a plain user may read, with venv")


def memory_group() -> Path | None:
    """A memory group of ours with the limit; None where we may not make one."""
    group = GROUPS / f"workbench-binder-{uuid.uuid4().hex[:8]}"
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(LIMIT))
    except OSError:
        return None
    return group


def install(venv: Path, python: str) -> None:
    """A fresh environment with pip and the pinned requirements; nothing of ours."""
    subprocess.run([python, "-m", "venv", "--without-pip", str(venv)], check=True)
    line, environment = command(venv / "bin" / "python", ["pip", "-r", str(BINDER / "requirements.txt")])
    # Copies: the files are given to the plain user, and links would give away those that are kept for others.
    environment = {**environment, "UV_LINK_MODE": "copy"}
    done = subprocess.run(line, env=environment, capture_output=True, text=True)
    if done.returncode and any(piece in done.stderr for piece in NO_NETWORK):
        missing("a network for pip")
    assert done.returncode == 0, done.stderr[-3000:]


def copy_repository(target: Path) -> None:
    """What a commit of this working tree would hold."""
    listed = subprocess.run(
        ["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode:
        missing("a git checkout")
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def remove(group: Path) -> None:
    """Take the memory group away once the last process has left it."""
    with contextlib.suppress(TimeoutError):
        wait_until(lambda: not (group / "cgroup.procs").read_text(), what="the group empties", seconds=10)
    with contextlib.suppress(OSError):
        group.rmdir()
