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
    """One promise under one kind of fault.

    Attributes:
        injected: What was done to the program.
        found: What came of it.
        allowed: What the promise allows.
        kept: Whether the promise was kept.
    """

    injected: str
    found: str
    allowed: str
    kept: bool


def start_child(name: str, *words: object, **settings: Any) -> subprocess.Popen[str]:
    """Run a function of `children.py` in a process of its own, with these words."""
    command = [sys.executable, str(CHILDREN), name, *map(str, words)]
    environment = {**os.environ, "OPENAI_API_KEY": "local", "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, **settings)


def output_of(process: subprocess.Popen[str]) -> str:
    """What a child printed until it ended; "" of one that was killed before it printed."""
    return process.communicate()[0]
