"""Start a clean interpreter for the sandbox: the same Python program, in an environment with fixed variables."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path

from workbench.errors import SandboxError
from workbench.system_limits import is_limit, refusal

__all__ = ["HINT", "StartError", "environment", "start", "warn_absent"]

# A fixed hash seed keeps the order of sets, and with it some graders' scores, the same from run to run.
_FIXED = {"PYTHONHASHSEED": "0", "PYTHONUTF8": "1", "LC_ALL": "C.UTF-8", "TZ": "UTC", "PATH": ""}
_DYLD = ("LIBRARY_PATH", "FALLBACK_LIBRARY_PATH", "FRAMEWORK_PATH", "FALLBACK_FRAMEWORK_PATH")
_LOADER = tuple(f"DYLD_{name}" for name in _DYLD) if sys.platform == "darwin" else ("LD_LIBRARY_PATH",)
"""Where the system's loader looks for libraries. A Python built with a shared library of its own may not start without.
Variables that put code into a process, such as LD_PRELOAD and DYLD_INSERT_LIBRARIES, are not among them."""
HINT = "check that this Python runs on its own: python -s -S -P -B -c pass"
"""The next step where it does not start."""
_warned: list[str] = []


class StartError(SandboxError):
    """No sandbox starts here, so that nothing can be graded in one."""

    @property
    def message(self) -> str:
        """What went wrong, in one line."""
        details = " ".join(self.found.split())
        return f"{self.what} ({details})" if details else self.what


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables that the sandbox's interpreter is started with; it drops the loader's before it makes a worker.

    Args:
        variables: This process's variables.
    """
    loader = {name: _absolute(variables[name]) for name in _LOADER if variables.get(name)}
    return {**_FIXED, **loader}


def _absolute(folders: str) -> str:
    """The same folders seen from elsewhere: the interpreter starts in another one. Empty means the current one."""
    parts = re.split("[:;]" if sys.platform != "darwin" else ":", folders)
    # $ORIGIN and its like are words of the loader's, no folders.
    return ":".join(part if part.startswith("$") else str(Path(part).absolute()) for part in parts)


def start(script: Path, control: int, engine: str) -> subprocess.Popen[bytes]:
    """Run a file of ours with a clean interpreter.

    Args:
        script: The file.
        control: The one descriptor it inherits beside the standard ones.
        engine: Path of the JavaScript engine, "" for none.

    Raises:
        StartError: This system has no fork, or the interpreter's program cannot be run.
    """
    if not hasattr(os, "fork"):
        raise StartError(
            "the sandbox needs a system with fork (Linux or macOS)",
            found=sys.platform,
            hint="run the workbench under Linux: WSL2, a container or Binder",
        )
    # Not -I, which would ignore the hash seed. -S keeps out installed packages and what their .pth files run.
    # Compiled files are kept as this process keeps its own: our files are half of what a start without them takes.
    keeps = ["-B"] if sys.dont_write_bytecode else []
    command = [sys.executable, "-s", "-S", "-P", *keeps, str(script), str(control), engine]
    try:
        return subprocess.Popen(
            command,
            pass_fds=[control],
            env=environment(os.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,  # an Interrupt in the notebook must not end it
            cwd="/",
        )
    except OSError as error:
        if is_limit(error):
            raise refusal(error, StartError, "the sandbox process did not start") from error
        raise StartError(
            "the sandbox process did not start",
            found=f"{sys.executable or 'no program of this Python'}: {error.strerror or error}",
            hint=HINT,
        ) from error


def warn_absent(error: StartError) -> None:
    """Warn, once in a process, that graders which are code can be defined here and not be run."""
    if _warned:
        return
    _warned.append(error.what)
    warnings.warn(
        f"{error.message}: graders that are code can be written here, but neither checked nor run. Rules, judges, "
        f"labels and comparing work. Next step: {error.hint or 'look at workbench.sandbox_info()'}",
        stacklevel=2,
    )
