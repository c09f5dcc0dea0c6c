"""What a grader may use, and the words for how well it is kept in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.cached import cached_property
from workbench.errors import IsolationError
from workbench.sandbox.host.needs import needs_library

__all__ = [
    "CHECKS",
    "IMPORTED_MB",
    "IMPORTED_SECONDS",
    "ISOLATION",
    "LANGUAGES",
    "MOCK_LABEL",
    "OVERTIME_SECONDS",
    "OWN_PROCESS_HINT",
    "SHARED_SECONDS",
    "SIGNATURES",
    "Limits",
    "Program",
    "weakest",
]

CHECKS = ("syntax", "structure", "signature", "execution", "test_run")
"""The five checks, in order."""

OWN_PROCESS_HINT = (
    "compute it beforehand in a column of the data, which graders read from thread.metadata; or run a function of one thread "
    "with your rights, in a process of its own: wb.CustomGrader(function, own_process=True, timeout=10)"
)
"""The next step for a grader that needs an installed package."""

MOCK_LABEL = "the mock thread"
"""The label of the test run on `mock_thread`. Columns that the grader requires are made up for it, and said in its line."""

ISOLATION = {
    "kernel": "Isolated (kernel-enforced): no file, network, process or environment; tested in every worker",
    "partial": "Partly isolated (kernel limits): cannot open files or sockets, nor reach other processes' memory; "
    "could rename or delete files or signal your processes",
    "process": "Process only: stops accidents, not an attacker",
    "none": "Not isolated: runs with your rights",
}
"""Isolation labels, strongest first, and what each promises."""


LANGUAGES = ("python", "javascript", "rollout")
"""What a worker can load: a Python function, a JavaScript function, an Osmosis `Grader` class."""

SIGNATURES = ("thread", "letta", "openai", "osmosis", "trl", "verl", "openrlhf", "together")
"""What a Python grade function takes: `(thread)`, `(sample, submission)`, `(sample, item)`,
`(solution_str, ground_truth, extra_info)`, and what trainers give: `(prompts, completions, **columns)`,
`(data_source, solution_str, ground_truth, extra_info)`, `(queries, prompts, labels)`, `(prediction, target)`."""

SHARED_SECONDS = 0.2
"""Seconds that rows of one command may take together. Then all rows behind the one under way go back, and from there on only
the host's clock counts: how far a worker is stands in memory that its grader can write to. Four times what a command aims
at, so that rows of an even pace are not affected."""
OVERTIME_SECONDS = 0.5
"""Seconds beyond its limit after which a row's worker is ended: a grader can swallow the limit's exception, and C code never
sees it. With `SHARED_SECONDS` and two looks at the clock a row costs at most 0.8 s more than its limit."""
IMPORTED_SECONDS = 60.0
"""Seconds a row, or a call of a tool, that source from elsewhere may ask for: sixty times the default. Three workers that
hang at that limit cost six minutes, then a run stops."""
IMPORTED_MB = 2048
"""MiB that source from elsewhere may ask for: four times the default, so that a laptop's workers together do not swap."""

_NAMES = {"row_seconds": "timeout"}  # what the author of a grader wrote


_OUTCOMES = re.compile(r"\b(Grade|Skip)\b")
"""What a Python grader has to name to answer with more than a number. Another use of the words costs only speed."""


@dataclass(frozen=True)
class Limits:
    """Limits of one run in the sandbox.

    Attributes:
        row_seconds: Time for one row; a worker that ignores it is ended within a second after it.
        load_seconds: Time for compiling and executing the module; a worker that ignores it is ended a fifth of a
            second later.
        memory_mb: Address space beyond what a worker starts with, in MiB.
        lost_workers: Workers lost with no row graded in between before a run stops.
    """

    row_seconds: float = 1.0
    load_seconds: float = 5.0
    memory_mb: int = 512
    lost_workers: int = 3

    def __post_init__(self) -> None:
        for name in ("row_seconds", "load_seconds", "memory_mb", "lost_workers"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
                raise ValueError(f"{_NAMES.get(name, name)} must be above 0, a finite number, not {value!r}")

    @classmethod
    def of(cls, timeout: float, **limits: Any) -> Limits:
        """The limits of a grader whose author gave it `timeout` seconds a row.

        Loading may take 0.75 s longer than a row, but never above 5 s: a module that never loads is given up within
        a second after the time its author allowed, at the cost of one worker.

        Raises:
            ValueError: The time, or another limit, is out of range.
        """
        rows = cls(row_seconds=timeout, **limits)
        return replace(rows, load_seconds=min(cls.load_seconds, timeout + 0.75))

    def test_command(self, row: tuple[str, Sequence[Any]]) -> dict[str, Any]:
        """The command of one test run. The mock row may be given columns that the grader needs; see `MOCK_LABEL`."""
        label, wire = row
        mock = label == MOCK_LABEL
        return {"op": "test", "label": label, "thread": wire, "seconds": self.row_seconds, "mock": mock}

    @property
    def hard_load_seconds(self) -> float:
        """When a worker that still loads is ended."""
        return self.load_seconds + 0.2

    @property
    def hard_row_seconds(self) -> float:
        """When the worker of a row is ended, by the host's clock."""
        return self.row_seconds + OVERTIME_SECONDS


@dataclass(frozen=True)
class Program:
    """What a worker loads: source text, and how it is called.

    Attributes:
        text: The module or script.
        limits: What it may use.
        kernel_only: Refuse workers that are not confined by the kernel: for imported source.
        language: Out of `LANGUAGES`.
        signature: Out of `SIGNATURES`; only Python functions have a choice.
        options: Plain values the loader of this language or signature knows, such as a memory limit.
    """

    text: str
    limits: Limits = Limits()
    kernel_only: bool = False
    language: str = "python"
    signature: str = "thread"
    options: Mapping[str, Any] = field(default_factory=dict)

    @cached_property  # the run asks for every batch, and a text may be 64 KiB
    def noted(self) -> bool:
        """Whether it may give more than a number a row: reasoning, metadata, a verdict, a skip."""
        if self.language != "python" or self.signature != "thread":
            return True
        return _OUTCOMES.search(self.text) is not None

    @cached_property
    def needs_library(self) -> bool:
        """Whether its workers must have all of the standard library that graders may import."""
        if self.language != "python" or self.signature != "thread":
            return True
        return needs_library(self.text)

    def load_command(self, op: str) -> dict[str, Any]:
        """The command that makes a worker read this program."""
        command = {"op": op, "text": self.text, "seconds": self.limits.load_seconds}
        settings = {
            "language": self.language, "signature": self.signature, "options": dict(self.options), "noted": self.noted,
        }  # fmt: skip
        return {**command, **settings, "row_seconds": self.limits.row_seconds}

    def require(self, level: str) -> None:
        """Refuse a worker that does not confine this program well enough.

        Raises:
            IsolationError: The program must be confined by the kernel and the worker is not.
        """
        if self.kernel_only and level != "kernel":
            raise IsolationError("imported source met a worker that is not confined", found=level)


def weakest(*levels: str) -> str:
    """The weakest of some isolation labels; "" counts for nothing."""
    order = list(ISOLATION)
    return max((level for level in levels if level), key=order.index, default="")
