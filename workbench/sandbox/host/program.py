"""`Program`: what a worker loads, its limits and checks, the part of the standard library it needs, and isolation levels."""

from __future__ import annotations

import io
import math
import re
import sys
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

from workbench.core.display_text import clean
from workbench.core.errors import IsolationError
from workbench.core.grade import ErrorKind, GradeError
from workbench.core.python_text import cached_property
from workbench.core.system_limits import cores
from workbench.sandbox.host.worker import WorkerLostError

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


def default_workers() -> int:
    """Default number of workers of a run: all cores except one, at least one."""
    return max(1, cores() - 1)


CheckResult = tuple[str, bool, str, float]
"""Name, passed, message, seconds."""


def load_problem(reply: Mapping[str, Any]) -> GradeError | None:
    """Why a program does not load, from the reply to its load command; None if it does.

    Raises:
        WorkerLostError: The reply is malformed.
    """
    failed = [check for check in read_checks(reply, CHECKS[:4]) if not check[1]]
    return GradeError(ErrorKind.LOAD, f"{failed[0][0]}: {failed[0][2]}") if failed else None


def read_checks(reply: Mapping[str, Any], names: Sequence[str]) -> list[CheckResult]:
    """The checks of one stage: all of `names` passed, or those up to the first that failed.

    Raises:
        WorkerLostError: The reply is malformed, which a genuine worker never sends.
    """
    entries = reply.get("checks")
    if not isinstance(entries, list) or not 0 < len(entries) <= len(names):
        raise WorkerLostError("malformed reply")
    checks = [_check(entry, name) for entry, name in zip(entries, names, strict=False)]
    passed = [check[1] for check in checks]
    if not all(passed[:-1]) or (passed[-1] and len(checks) < len(names)):
        raise WorkerLostError("malformed reply")
    return checks


def _check(entry: Any, expected: str) -> CheckResult:
    if not isinstance(entry, list) or len(entry) != 4:
        raise WorkerLostError("malformed reply")
    name, passed, message, seconds = entry
    well_formed = name == expected and isinstance(passed, bool) and isinstance(message, str)
    # Exactly a float, as a genuine worker's clock returns: an int may have more digits than a float can represent.
    if not well_formed or type(seconds) is not float or not 0 <= seconds < math.inf:
        raise WorkerLostError("malformed reply")
    return (expected, passed, clean(message), seconds)


def read_description(reply: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The reply of `child.fingerprint.describe` for `names`: one value per name, and the nodes that values refer to.

    The parts are not cleaned, because they are compared. Every reference leads to a node.

    Raises:
        WorkerLostError: The reply is malformed, which a genuine worker never sends.
    """
    described = reply.get("names")
    values, nodes = (
        (described.get("names"), described.get("nodes")) if isinstance(described, dict) else (0, 0)
    )
    if (
        not isinstance(values, dict)
        or not isinstance(nodes, list)
        or any(name not in values for name in names)
    ):
        raise WorkerLostError("malformed reply")
    pending: list[Any] = [values, nodes]
    while pending:  # iterative: a reply may nest deeper than the recursion limit
        part = pending.pop()
        if isinstance(part, list) and part[:1] == ["ref"] and len(part) == 2:
            # Exactly an int: True would be accepted as node 1.
            if type(part[1]) is not int or not 0 <= part[1] < len(nodes):
                raise WorkerLostError("malformed reply")
        elif isinstance(part, list | dict):
            pending.extend(part.values() if isinstance(part, dict) else part)
    return {"names": values, "nodes": nodes}


ALWAYS = frozenset({
    "__future__", "abc", "collections", "collections.abc", "dataclasses", "enum", "functools", "itertools", "json", "math", "re",
    "string", "typing", "workbench",
})  # fmt: skip
"""Modules that are loaded from the start, with all their late imports."""
_MODULES = sys.stdlib_module_names - ALWAYS
_REACHING = frozenset({
    "eval", "exec", "compile", "open", "input", "breakpoint", "help", "getattr", "vars", "globals", "locals", "dir",
    "bytes", "bytearray", "memoryview", "encode", "decode", "to_bytes", "fromhex", "modules", "format", "format_map",
    "get_type_hints", "ForwardRef",
})  # fmt: skip
"""Names of functions that import a module late, such as a codec, or that evaluate a text."""
_WAITING = frozenset({"await", "yield", "aiter", "anext"})
"""Names that can reveal which event loop runs a text: until asyncio is loaded, rows run without one."""
_WORD = re.compile(r"[^\W\d]\w*")
_PREFIX = re.compile(r"[A-Za-z]*")
_PLAIN = frozenset({
    tokenize.OP, tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT, tokenize.NUMBER,
    tokenize.ENDMARKER,
})  # fmt: skip
_PARTS_OF_TEXTS = frozenset(
    getattr(tokenize, name)
    for name in ("FSTRING_START", "FSTRING_MIDDLE", "FSTRING_END")
    if hasattr(tokenize, name)
)
"""Python 3.12 and later, where replacement fields of f-strings are separate tokens."""
Token = tokenize.TokenInfo


@lru_cache(maxsize=64)  # called once per worker of a run
def needs_full_stdlib(text: str) -> bool:
    """Whether a Python text may import a module that is not loaded from the start, or detect whether asyncio is.

    A worker continues to load the library after it has started; a grader that needs none of it can start
    immediately. The check is conservative: an unknown construct counts as a need and costs 0.1 s once per process.

    A text is read as tokens, not as a tree: runs read it on separate threads, and older Pythons corrupt trees that two
    threads, one of which may be the user's, build concurrently (see `python_text`).

    Args:
        text: The module.
    """
    if "\0" in text:
        return True
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError, ValueError, RecursionError):
        return True
    return any(map(_needs, tokens)) or _runs_beside(tokens) or not all(map(_imports_known, _lines(tokens)))


def _needs(token: Token) -> bool:
    if token.type == tokenize.NAME:
        return _reaches(token.string)
    if token.type == tokenize.STRING:
        found = _PREFIX.match(token.string)
        prefix = found[0].lower() if found else ""
        # Before Python 3.12 an f-string's replacement fields are inside its token.
        return (
            "b" in prefix
            or "__" in token.string
            or ("f" in prefix and any(map(_reaches, _WORD.findall(token.string))))
        )
    if token.type in _PARTS_OF_TEXTS:
        return "__" in token.string
    return token.type not in _PLAIN


def _reaches(name: str) -> bool:
    """Whether a name may give access to modules that are not loaded."""
    return (
        not name.isascii()
        or name.startswith("_")
        or name in _REACHING
        or name in _MODULES
        or name in _WAITING
    )


def _runs_beside(tokens: list[Token]) -> bool:
    """Whether the text contains an `async for` or an `async with`."""
    return any(one.string == "async" and following.string != "def" for one, following in pairwise(tokens))


def _lines(tokens: list[Token]) -> Iterator[list[str]]:
    """The words and operators of each logical line."""
    line: list[str] = []
    for token in tokens:
        if token.type == tokenize.NEWLINE or token.string == ";":
            yield line
            line = []
        elif token.type in (tokenize.NAME, tokenize.OP):
            line.append(token.string)
    yield line


def _imports_known(line: list[str]) -> bool:
    """Whether a line imports nothing, or only loaded modules."""
    if "import" not in line:
        return True
    at = line.index("import")
    if line[0] == "from":
        return "".join(line[1:at]) in ALWAYS
    if at:
        return False  # after a colon
    modules = "".join(" as " if word == "as" else word for word in line[1:]).split(",")
    return all(module.partition(" as ")[0] in ALWAYS for module in modules)
