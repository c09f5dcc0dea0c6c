"""`FunctionGrader` and `@wb.grader`: captured source, validated, run in confined workers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

import numpy as np

from workbench.core.errors import SandboxError
from workbench.core.grade import ErrorKind
from workbench.core.grades import Grades
from workbench.data.packed import pack
from workbench.data.samples import Sample, Samples
from workbench.graders.base import announce, kind
from workbench.graders.capture import capture
from workbench.graders.capture.analysis import signature_of
from workbench.graders.code import SandboxedGrader, SourceGrader
from workbench.graders.concurrent_rows import Control
from workbench.sandbox.host.pool import pool
from workbench.sandbox.host.program import SIGNATURES, Limits, Program
from workbench.sandbox.host.validation import Validation


@kind("function", family="code")
@dataclass(frozen=True, kw_only=True)
class FunctionGrader(SourceGrader):
    r"""An `async def grade(thread) -> float` that runs in the sandbox, exactly as written.

    The text is the grader: the live function it was captured from is never called. The score is any
    finite number; a bool, None or text fails the row. One worker keeps its module's globals for the rows
    it grades; every run starts with fresh workers, and a single call cannot see state of earlier ones.

    Functions of other platforms run unchanged, sync or async:

    | signature | function | given |
    | --- | --- | --- |
    | thread | `async def grade(thread) -> float` | the `StringThread` |
    | letta | `@grader def f(sample, submission) -> GradeResult` | Letta's sample; the last assistant text, or the text from the named `@extractor` |
    | openai | `def grade(sample, item) -> float` | `output_text`, `output_json`, `output_tools`, `choices`; the row's metadata with `reference` |
    | osmosis | `@osmosis_reward def f(solution_str, ground_truth, extra_info=None) -> float` | the last assistant text, the reference, the metadata |
    | trl | `def f(prompts, completions, **columns) -> list` | a batch of one row; messages if the function uses their keys, else texts; None is a skipped row |
    | verl | `def compute_score(data_source, solution_str, ground_truth, extra_info=None)`, also without `data_source` | the last assistant text, the unchanged reference (a dict stays one), the metadata with the content of a column `extra_info`; a number, or a dict with `score` |
    | openrlhf | `def reward_func(queries, prompts, labels)` | a batch of one row; a dict with `rewards` |
    | together | `def f(prediction, target) -> float` | the last assistant text, the reference; must be named explicitly, since other functions may have these parameters |

    Attributes:
        source: The captured module.
        timeout: Seconds per row, 1.0 by default.
        memory_mb: MiB of address space beyond the initial size of a worker, 512 by default.
        trusted_sha256: Hash of the text that may run even if the machine cannot confine it; "" for none.
        signature: One of the table.
        extractor: For letta, the name of an extractor of the module; "" for the last assistant text, as in Letta's
            suites: an extractor that is not named is not used.
        extractor_config: For letta, the `config` argument of the extractor.

    Error kinds: timeout, memory, crash, load, runtime, return_type, not_finite, sandbox, sample.

    Source: Adaptive's grade function contract (v0.14), the limits measured for this sandbox.

    Example:
        >>> import workbench as wb
        >>> half = wb.FunctionGrader.from_source("async def grade(thread):\n    return 0.5\n")
        >>> half(wb.StringThread([("user", "Hi"), ("assistant", "Hello")])).score
        0.5
    """

    signature: str = "thread"
    extractor: str = ""
    extractor_config: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.signature not in SIGNATURES:
            raise ValueError(f"signature must be one of {', '.join(SIGNATURES)}, not {self.signature!r}")
        if (self.extractor or self.extractor_config) and self.signature != "letta":
            raise ValueError("an extractor goes with the signature 'letta' only")

    @classmethod
    def from_source(
        cls,
        text: str,
        *,
        name: str = "",
        imported: bool = False,
        signature: str = "",
        function: str = "",
        **settings: Any,
    ) -> FunctionGrader:
        """Create a grader from a module's text, unchanged. None of it runs in this process.

        Args:
            text: A module with one grade function: `grade`, the only one of a signature above, or the only
                async one.
            name: Its name in reports; the function's name by default.
            imported: The text is from an untrusted source: it runs only with kernel confinement.
            signature: How the function is called; detected from its parameters by default.
            function: Which function is the grader, if there are several.
            settings: Other fields.

        Raises:
            CaptureError: The function does not exist, or the text is too large.
        """
        source = replace(capture(text, name=function or None), imported=imported)
        return cls(source=source, name=name, signature=signature or signature_of(source.text), **settings)

    @property
    def _call_signature(self) -> str:
        return self.signature

    @property
    def takes_rows(self) -> bool:
        """Whether it receives the reference and the id in addition to the thread."""
        return self.signature != "thread"

    def _run_checks(self, rows: Sequence[tuple[str, Sequence[Any]]]) -> Validation:
        validation = super()._run_checks(rows)
        if not validation.ok or self.signature not in BATCHED:
            return validation
        wires = [wire for _, wire in rows]
        tried = wires if len({repr(wire[0]) for wire in wires}) > 1 else mock_rows(wires[0])
        if not is_batch_relative(self.program, tried):
            return validation
        last = replace(validation.checks[-1], passed=False, message=BATCH_RELATIVE)
        return replace(validation, checks=(*validation.checks[:-1], last))

    async def grade_all(self, samples: Samples, control: Control) -> Grades:
        """Grade every row in the sandbox; refuses rewards whose scores depend on the other rows of a batch."""
        first = control.looks_again or control.is_part
        if first and self.signature in BATCHED and await asyncio.to_thread(self._is_relative_on, samples):
            grades = Grades.empty(len(samples))
            grades.ended = f"not graded: {BATCH_RELATIVE}"
            grades.finish(ErrorKind.LOAD, BATCH_RELATIVE)
            return grades
        return await super().grade_all(samples, control)

    def _is_relative_on(self, samples: Samples) -> bool:
        column = samples.columns.get("reference", "")
        return is_batch_relative(self.program, [self._wire(one, column) for one in chosen_rows(samples)])

    def _options(self) -> Mapping[str, Any]:
        if self.signature != "letta":
            return {}
        return {"extractor": self.extractor, "extractor_config": dict(self.extractor_config)}


@overload
def grader(fn: Callable[..., Any]) -> FunctionGrader: ...
@overload
def grader(
    *, name: str = "", description: str = "", timeout: float = 1.0, memory_mb: int = 512
) -> Callable[[Callable[..., Any]], FunctionGrader]: ...
def grader(
    fn: Callable[..., Any] | None = None,
    *,
    name: str = "",
    description: str = "",
    timeout: float = 1.0,
    memory_mb: int = 512,
) -> Any:
    """Create a function grader from the decorated function: `@wb.grader` or `@wb.grader(name=...)`.

    The function and everything it reads are captured when the decorator runs, so helpers must be
    defined before it. An open `Workbench` shows the grader immediately.

    Args:
        fn: The function, when used without brackets.
        name: Its name in reports; the function's name by default.
        description: One sentence; the docstring's first line by default.
        timeout: Seconds per row.
        memory_mb: MiB per worker.

    Raises:
        CaptureError: The function reads something that cannot be captured; the error gives the reason and a hint.
    """

    def make(function: Callable[..., Any]) -> FunctionGrader:
        sentence = description or ((function.__doc__ or "").strip().splitlines() or [""])[0]
        source = capture(function)
        function_grader = FunctionGrader(
            source=source, name=name, description=sentence, timeout=timeout, memory_mb=memory_mb,
            signature=signature_of(source.text),
        )  # fmt: skip
        announce(function_grader)
        return function_grader

    if fn is not None and not callable(fn):
        raise TypeError(
            f"@wb.grader decorates a function, not {type(fn).__name__}; for source text use FunctionGrader.from_source"
        )
    return make if fn is None else make(fn)


# Capture drops decorators with this mark: they belong to the workbench, not to the graded code.
grader.__workbench_decorator__ = True  # type: ignore[attr-defined]


def validate(target: SandboxedGrader | Callable[..., Any] | str, payload: Any = None) -> Validation:
    """Run the five checks on a grader, a function or a module's text.

    Args:
        target: What to validate; a function is captured first.
        payload: Samples or threads of the user for further test runs.

    Raises:
        CaptureError: The function cannot be captured.
    """
    if not isinstance(target, SandboxedGrader):
        source = capture(target)
        target = FunctionGrader(source=source, signature=signature_of(source.text))
    return target.validate(payload)


BATCHED = frozenset({"openrlhf", "trl"})
"""Signatures of functions that receive whole batches."""

BATCH_RELATIVE = (
    "a row's score depends on the other rows of its batch, but rows are graded one by one here; use the function in its "
    "trainer only, or write one that scores each row independently"
)

_ROWS = 6
"""Rows for the check: three prompts with two completions each, if available."""
_LOOKED_AT = 64
"""Rows among which they are selected."""
_MAX_SECONDS = 60.0
"""Time limit of the check, in seconds."""
_CALLS = 4
"""Calls per row: alone and together, and both again if they differ."""

_MOCK_ANSWERS = ("4", "The result is 4, since two and two make four.", "5", "I do not know.")


def is_batch_relative(program: Program, rows: Sequence[Sequence[Any]]) -> bool:
    """Call a reward with rows one by one and together, in one worker; False if that is inconclusive.

    Trainers call such functions with whole batches; the workbench, and its files for other platforms, grade rows one by one. The
    function is called with some rows one by one and with all of them together; differences for another reason, such as
    state, also occur from call to call.

    Args:
        program: The reward.
        rows: Wire tuples with reference and id, see `row_columns.row_wire`.
    """
    if program.signature not in BATCHED or len(rows) < 2:
        return False
    seconds = min(_MAX_SECONDS, program.limits.row_seconds * _CALLS * 2)
    limits: Limits = replace(program.limits, row_seconds=seconds)
    check = replace(program, limits=limits, options={**program.options, "batch": [list(row) for row in rows]})
    try:
        outcome = pool().run(check, pack([rows[0]], extras=True), workers=1)
    except SandboxError:
        return False  # the run itself reports the error
    return bool(np.nan_to_num(outcome.grades.scores)[0] == 1.0)


def chosen_rows(samples: Samples) -> list[Sample]:
    """Rows of a dataset for the check: with different completions, and several per prompt if available."""
    found = samples[:_LOOKED_AT].read()
    groups: dict[str, dict[str | None, Sample]] = {}
    for sample in found:
        if isinstance(sample, Sample):
            groups.setdefault(sample.group, {}).setdefault(sample.thread.completion(), sample)
    pairs = [list(group.values())[:2] for group in groups.values()]
    fullest = sorted(pairs, key=len, reverse=True)
    return [sample for pair in fullest for sample in pair][:_ROWS]


def mock_rows(row: Sequence[Any]) -> list[tuple[Any, ...]]:
    """A row with several completions: used if there are no rows yet."""
    turns = row[0]
    return [([*turns[:-1], ("assistant", answer)], *row[1:]) for answer in _MOCK_ANSWERS]
