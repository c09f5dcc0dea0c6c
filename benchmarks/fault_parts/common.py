"""What the parts share: a line of the table, and child processes."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CHILDREN = Path(__file__).with_name("children.py")


@dataclass(frozen=True)
class Line:
    """One guarantee under one kind of fault.

    Attributes:
        injected: The fault.
        found: The result.
        allowed: The results that the guarantee allows.
        kept: Whether the guarantee was met.
    """

    injected: str
    found: str
    allowed: str
    kept: bool


def start_child(name: str, *words: object, **settings: Any) -> subprocess.Popen[str]:
    """Run a function of `children.py` in a separate process, with these arguments."""
    command = [sys.executable, str(CHILDREN), name, *map(str, words)]
    environment = {**os.environ, "OPENAI_API_KEY": "local", "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, **settings)


def output_of(process: subprocess.Popen[str]) -> str:
    """The output of a child; "" of one that was killed before it printed."""
    return process.communicate()[0]
