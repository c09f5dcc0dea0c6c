"""Runs a script that uses the workbench together with a trainer's packages, in a separate process."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

__all__ = ["last_line"]

ROOT = Path(__file__).resolve().parents[2]
_BEHIND = "import runpy, sys; sys.path.append(sys.argv.pop(1)); sys.argv.pop(0); runpy.run_path(sys.argv[0], run_name='__main__')"
"""Runs a script with the workbench's own packages behind those of the trainer."""


def last_line(script: Path, *arguments: Any, python: Path, first: bool = False) -> Any:
    """What a script prints in its last line, read as JSON.

    Args:
        script: The script.
        arguments: Its words.
        python: Of the trainer's environment.
        first: Whether the workbench's own packages are found before the trainer's, and by processes that the script starts, too.

    Raises:
        AssertionError: The script failed; the end of what it wrote to stderr is shown.
    """
    own = sysconfig.get_paths()["purelib"]
    # Processes that the script starts, such as an actor, find packages by the variable alone.
    path = [str(ROOT), *([own] if first else [])]
    done = subprocess.run(
        [str(python), "-c", _BEHIND, own, str(script), *map(str, arguments)],
        capture_output=True, text=True, timeout=500, cwd=ROOT, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path), "PYTHONWARNINGS": "ignore", "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])
