"""Start a clean interpreter for the sandbox: the same Python program with a fixed environment."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path

from workbench.core.errors import SandboxError
from workbench.core.system_limits import is_limit, refusal

__all__ = ["HINT", "StartError", "environment", "start", "warn_absent"]

# A fixed hash seed makes the iteration order of sets, and thus some graders' scores, reproducible.
_FIXED = {"PYTHONHASHSEED": "0", "PYTHONUTF8": "1", "LC_ALL": "C.UTF-8", "TZ": "UTC", "PATH": ""}
_DYLD = ("LIBRARY_PATH", "FALLBACK_LIBRARY_PATH", "FRAMEWORK_PATH", "FALLBACK_FRAMEWORK_PATH")
_LOADER = tuple(f"DYLD_{name}" for name in _DYLD) if sys.platform == "darwin" else ("LD_LIBRARY_PATH",)
"""Where the system's loader searches for libraries; a Python with a separate shared library may need it to start.
Variables that inject code into a process, such as LD_PRELOAD and DYLD_INSERT_LIBRARIES, are excluded."""
HINT = "check that this Python runs alone: python -s -S -P -B -c pass"
"""The hint if the interpreter does not start."""
_warned: list[str] = []


class StartError(SandboxError):
    """The sandbox cannot start, so no grader can run in it."""

    @property
    def message(self) -> str:
        """The error as one line."""
        details = " ".join(self.found.split())
        return f"{self.what} ({details})" if details else self.what


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables that the sandbox's interpreter starts with; it removes the loader's before it creates a worker.

    Args:
        variables: This process's variables.
    """
    loader = {name: _absolute(variables[name]) for name in _LOADER if variables.get(name)}
    return {**_FIXED, **loader}


def _absolute(folders: str) -> str:
    """The same folders as absolute paths, since the interpreter starts in another folder. Empty means the current one."""
    parts = re.split("[:;]" if sys.platform != "darwin" else ":", folders)
    # $ORIGIN and similar are loader variables, not folders.
    return ":".join(part if part.startswith("$") else str(Path(part).absolute()) for part in parts)


def start(script: Path, control: int, engine: str) -> subprocess.Popen[bytes]:
    """Run a script of this package with a clean interpreter.

    Args:
        script: The file.
        control: The only descriptor it inherits apart from the standard ones.
        engine: Path of the JavaScript engine, "" for none.

    Raises:
        StartError: The system has no fork, or the interpreter's program cannot be run.
    """
    if not hasattr(os, "fork"):
        raise StartError(
            "the sandbox needs a system with fork (Linux or macOS)",
            found=sys.platform,
            hint="run the workbench under Linux: WSL2, a container or Binder",
        )
    # Not -I, which would ignore the hash seed. -S excludes installed packages and the code their .pth files run.
    # Compiled files are cached as this process caches its files: without them, compiling takes half of the start-up time.
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
            start_new_session=True,  # an interrupt in the notebook must not end it
            cwd="/",
        )
    except OSError as error:
        if is_limit(error):
            raise refusal(error, StartError, "the sandbox process did not start") from error
        raise StartError(
            "the sandbox process did not start",
            found=f"{sys.executable or 'this Python has no program'}: {error.strerror or error}",
            hint=HINT,
        ) from error


def warn_absent(error: StartError) -> None:
    """Warn once per process that code graders can be defined on this system but not run."""
    if _warned:
        return
    _warned.append(error.what)
    warnings.warn(
        f"{error.message}: code graders can be defined on this system, but neither validated nor run. Rules, judges, "
        f"labels and comparisons work. Next step: {error.hint or 'see workbench.sandbox_info()'}",
        stacklevel=2,
    )
