"""Installs packages into another Python: by uv where it is installed, with what pip is set to, and otherwise by pip.

uv takes a tenth of pip's time. It does not read pip's settings, so that they are handed to it; where pip is set to something
that uv is not told here, pip installs. `python -m tests.installing PYTHON WORDS...` is what `.ci/run` calls.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

NO_NETWORK = (
    "name resolution",
    "NewConnectionError",
    "Connection refused",
    "ProxyError",
    "ConnectTimeout",
    "error sending request",
    "dns error",
)
"""What pip and uv say where there is no network."""

PLACES = {
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "constraint": ("UV_CONSTRAINT", " "),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "cert": ("SSL_CERT_FILE", " "),
}
"""Settings of pip: uv's variable of the same meaning, and what stands there between several values."""

ALIKE = {
    "default-timeout",
    "timeout",
    "retries",
    "disable-pip-version-check",
    "progress-bar",
    "quiet",
    "no-input",
    "root-user-action",
    "compile",
    "no-compile",
    "cache-dir",
}
"""Settings of pip that do not change what is installed."""


def settings(listed: str) -> dict[str, str] | None:
    """The variables of uv for what pip is set to.

    Args:
        listed: What `pip config list` prints.

    Returns:
        Name to value; None where pip is set to something that uv is not told here.
    """
    found: dict[str, dict[str, str]] = {}
    for line in listed.splitlines():
        key, equals, value = line.partition("=")
        section, dot, name = key.partition(".")
        if equals and dot and section in {"global", "install", ":env:"}:
            found.setdefault(name, {})[section] = str(ast.literal_eval(value))
    if not set(found) <= set(PLACES) | ALIKE:
        return None
    variables = {"UV_INDEX_STRATEGY": "unsafe-best-match"}  # of all places the newest release, as pip does
    for name, by_section in found.items():
        if name in PLACES:
            variable, between = PLACES[name]
            value = next(by_section[one] for one in (":env:", "install", "global") if one in by_section)
            variables[variable] = between.join(value.split())
    return variables


def command(python: Path | str, words: list[str]) -> tuple[list[str], Mapping[str, str]]:
    """The command that installs into an environment, and the variables it needs.

    Args:
        python: The environment's interpreter; it needs no pip.
        words: As after `pip install`: what pip and uv both understand.
    """
    if importlib.util.find_spec("uv") is not None:
        listed = subprocess.run(
            [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
        )
        variables = settings(listed.stdout)
        if variables is not None:
            uv = [sys.executable, "-m", "uv", "--quiet", "--no-config", "pip", "install"]
            return [*uv, "--python", str(python), *words], {**os.environ, **variables}
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install"]
    # Without compiling: most of what is installed is never imported.
    return [*pip, "--quiet", "--disable-pip-version-check", "--no-compile", *words], os.environ


def install(python: Path | str, *words: str) -> subprocess.CompletedProcess[str]:
    """Install into the environment of an interpreter; arguments as of `command`. Whoever calls looks at the return code."""
    line, environment = command(python, list(words))
    return subprocess.run(line, env=environment, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    done = install(sys.argv[1], *sys.argv[2:])
    print(done.stdout[-10_000:], done.stderr[-10_000:], sep="", end="", file=sys.stderr)
    sys.exit(done.returncode)
