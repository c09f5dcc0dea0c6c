"""Resource limits of a grader, and the labels of the isolation levels."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.core.cached import cached_property
from workbench.core.errors import IsolationError
from workbench.sandbox.host.needs import needs_full_stdlib

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
    "compute it beforehand in a column of the data and read thread.metadata; or run a function of one thread "
    "with your rights, in a separate process: wb.CustomGrader(function, own_process=True, timeout=10)"
)
"""The hint for a grader that needs an installed package."""

MOCK_LABEL = "the mock thread"
"""Label of the test run on `mock_thread`. Columns that the grader requires are generated, and its line lists them."""

ISOLATION = {
    "kernel": "Isolated (kernel-enforced): no file, network, process or environment; tested in every worker",
    "partial": "Partly isolated (kernel limits): cannot open files or sockets, nor reach other processes' memory; "
    "could rename or delete files or signal your processes",
    "process": "Process only: stops accidents, not an attacker",
    "none": "Not isolated: runs with your rights",
}
"""Isolation labels, strongest first, and what each guarantees."""


LANGUAGES = ("python", "javascript", "rollout")
"""What a worker can load: a Python function, a JavaScript function, an Osmosis `Grader` class."""

SIGNATURES = ("thread", "letta", "openai", "osmosis", "trl", "verl", "openrlhf", "together")
"""Parameters of a Python grade function: `(thread)`, `(sample, submission)`, `(sample, item)`,
`(solution_str, ground_truth, extra_info)`, and the trainers' signatures: `(prompts, completions, **columns)`,
`(data_source, solution_str, ground_truth, extra_info)`, `(queries, prompts, labels)`, `(prediction, target)`."""

SHARED_SECONDS = 0.2
"""Seconds that rows of one command may take together. After that, all rows after the current one are returned, and only
the host's clock counts, because the progress counter is in memory that the grader can write to. Four times the target
duration of a command, so rows of even duration are not affected."""
OVERTIME_SECONDS = 0.5
"""Seconds beyond its limit after which a row's worker is ended: a grader can swallow the limit's exception, and C code
never sees it. With `SHARED_SECONDS` and two clock checks, a row takes at most 0.8 s more than its limit."""
IMPORTED_SECONDS = 60.0
"""Maximum seconds for a row, or a tool call, that imported source may request: sixty times the default. Three workers
that hang at that limit take six minutes, then a run stops."""
IMPORTED_MB = 2048
"""Maximum MiB that imported source may request: four times the default, so that a laptop's workers do not swap."""

_NAMES = {"row_seconds": "timeout"}  # the parameter's public name


_OUTCOMES = re.compile(r"\b(Grade|Skip)\b")
"""Names that a Python grader must mention to return more than a number. A false match only costs speed."""


@dataclass(frozen=True)
class Limits:
    """Limits of one run in the sandbox.

    Attributes:
        row_seconds: Time for one row; a worker that ignores it is ended within one second.
        load_seconds: Time for compiling and executing the module; a worker that ignores it is ended 0.2 s later.
        memory_mb: Address space beyond the initial size of a worker, in MiB.
        lost_workers: Consecutive worker crashes, without a graded row in between, before a run stops.
    """

    row_seconds: float = 1.0
    load_seconds: float = 5.0
    memory_mb: int = 512
    lost_workers: int = 3

    def __post_init__(self) -> None:
        for name in ("row_seconds", "load_seconds", "memory_mb", "lost_workers"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
                raise ValueError(f"{_NAMES.get(name, name)} must be a finite number above 0, not {value!r}")

    @classmethod
    def of(cls, timeout: float, **limits: Any) -> Limits:
        """The limits of a grader whose author set `timeout` seconds per row.

        Loading may take 0.75 s longer than a row, but at most 5 s. A module that never loads fails within
        one second of the time its author allowed, at the cost of one worker.

        Raises:
            ValueError: The time, or another limit, is out of range.
        """
        rows = cls(row_seconds=timeout, **limits)
        return replace(rows, load_seconds=min(cls.load_seconds, timeout + 0.75))

    def test_command(self, row: tuple[str, Sequence[Any]]) -> dict[str, Any]:
        """The command of one test run. The mock row may contain generated columns; see `MOCK_LABEL`."""
        label, wire = row
        mock = label == MOCK_LABEL
        return {"op": "test", "label": label, "thread": wire, "seconds": self.row_seconds, "mock": mock}

    @property
    def hard_load_seconds(self) -> float:
        """When a worker that is still loading is ended."""
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
        limits: Its resource limits.
        kernel_only: Refuse workers without kernel confinement: for imported source.
        language: One of `LANGUAGES`.
        signature: One of `SIGNATURES`; only for Python functions.
        options: Plain values for the loader of this language or signature, such as a memory limit.
    """

    text: str
    limits: Limits = Limits()
    kernel_only: bool = False
    language: str = "python"
    signature: str = "thread"
    options: Mapping[str, Any] = field(default_factory=dict)

    @cached_property  # read for every batch, and a text may be 64 KiB
    def noted(self) -> bool:
        """Whether it may return more than a number per row: reasoning, metadata, a verdict, a skip."""
        if self.language != "python" or self.signature != "thread":
            return True
        return _OUTCOMES.search(self.text) is not None

    @cached_property
    def needs_full_stdlib(self) -> bool:
        """Whether its workers need all of the standard library that graders may import."""
        if self.language != "python" or self.signature != "thread":
            return True
        return needs_full_stdlib(self.text)

    def load_command(self, op: str) -> dict[str, Any]:
        """The command that makes a worker read this program."""
        command = {"op": op, "text": self.text, "seconds": self.limits.load_seconds}
        settings = {
            "language": self.language, "signature": self.signature, "options": dict(self.options), "noted": self.noted,
        }  # fmt: skip
        return {**command, **settings, "row_seconds": self.limits.row_seconds}

    def require(self, level: str) -> None:
        """Refuse a worker whose confinement is too weak for this program.

        Raises:
            IsolationError: The program requires kernel confinement and the worker has none.
        """
        if self.kernel_only and level != "kernel":
            raise IsolationError('untrusted source requires isolation level "kernel"', found=level)


def weakest(*levels: str) -> str:
    """The weakest of some isolation labels; "" is ignored."""
    order = list(ISOLATION)
    return max((level for level in levels if level), key=order.index, default="")
