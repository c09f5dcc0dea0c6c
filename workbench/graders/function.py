"""The sandboxed function grader: captured source, proved, run in locked workers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, overload

from workbench import background
from workbench.columns import Grades
from workbench.errors import CaptureError, FormatError, IsolationError, NotValidatedError
from workbench.grade import ErrorKind, Grade, GradeError
from workbench.graders.base import Control, Grader, _as_sample, kind
from workbench.samples import Sample, Samples
from workbench.samples.plain import plain
from workbench.sandbox.capture import capture
from workbench.sandbox.limits import ISOLATION, Limits, Program
from workbench.sandbox.source import MAX_BYTES, Source
from workbench.sandbox.text import clean
from workbench.sandbox.validate import Validation, validate_text
from workbench.thread import StringThread
from workbench.wire import Packed, pack

__all__ = ["FunctionGrader", "grader", "validate"]


@kind("function")
@dataclass(frozen=True, kw_only=True)
class FunctionGrader(Grader):
    r"""An `async def grade(thread) -> float` that runs in the sandbox, exactly as its text says.

    The text is the grader: the live function it was captured from is never called. The score is any
    finite number; a bool, None or text fails the row. One worker keeps its module's globals for the rows
    it grades; every run starts with fresh workers.

    Attributes:
        source: The captured module.
        timeout: Seconds a row may take, 1.0 by default.
        memory_mb: MiB of address space beyond what a worker starts with, 512 by default.
        trusted_sha256: Hash of the text that may run even where the machine cannot confine it; "" for none.

    Error kinds: timeout, memory, crash, load, runtime, return_type, not_finite, sandbox, sample.

    Source: Adaptive's grade function contract (v0.14), the limits measured for this sandbox.

    Example:
        >>> import workbench as wb
        >>> half = wb.FunctionGrader.from_source("async def grade(thread):\n    return 0.5\n")
        >>> half(wb.StringThread([("user", "Hi"), ("assistant", "Hello")])).score
        0.5
    """

    source: Source
    timeout: float = 1.0
    memory_mb: int = 512
    trusted_sha256: str = ""
    _proof: dict[str, Validation] = field(default_factory=dict, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        self.limits  # noqa: B018 (refuses limits out of range)
        if not self.name:
            object.__setattr__(self, "name", self.source.function)

    @classmethod
    def from_source(
        cls, text: str, *, name: str = "", imported: bool = False, **settings: Any
    ) -> FunctionGrader:
        """Take a module's text as it is. Nothing of it runs here.

        Args:
            text: A module with one grade function, `grade` or the only async one.
            name: How reports call it; the function's name by default.
            imported: The text is somebody else's: it runs only where the kernel confines it.
            settings: Other fields.

        Raises:
            CaptureError: No such function, or the text is too large.
        """
        return cls(source=replace(capture(text), imported=imported), name=name, **settings)

    @property
    def trust(self) -> bool:
        """Whether this very text was trusted to run unconfined."""
        return self.trusted_sha256 == self.source.sha256

    @property
    def limits(self) -> Limits:
        """The sandbox's limits for this grader."""
        return Limits(row_seconds=self.timeout, memory_mb=self.memory_mb)

    @property
    def validation(self) -> Validation | None:
        """The last proof of this very text, None when there was none."""
        return self._proof.get(self.source.sha256)

    def validate(self, payload: Any = None) -> Validation:
        """Run the five checks in the sandbox and remember the result.

        Args:
            payload: Samples or threads of your own for further test runs: one, or a list of them.
        """
        self.check_ready()
        threads = [_plain_thread(thread) for thread in _threads(payload)]
        # Away from the calling thread, so that an Interrupt cannot cut a question to the sandbox in half.
        proof = background.run(asyncio.to_thread(self._prove, threads))
        self.remember(proof)
        return proof

    def _prove(self, threads: Sequence[StringThread]) -> Validation:
        return validate_text(
            self.source.text,
            threads=threads,
            limits=self.limits,
            sha256=self.source.sha256,
            kernel_only=self._kernel_only,
        )

    @property
    def _kernel_only(self) -> bool:
        return self.source.imported and not self.trust

    def remember(self, proof: Validation) -> None:
        """Keep a proof; it counts only for the text whose hash it carries."""
        self._proof[proof.sha256] = proof

    def require_proof(self) -> None:
        """Refuse a grader that has not passed its checks.

        Raises:
            NotValidatedError: It was never validated, or a check failed.
        """
        proof = self.validation
        if proof is not None and proof.ok and proof.claimed:
            # A file says it passed. The record is kept as it is, but only if this machine agrees.
            fresh = self.validate()
            self.remember(replace(proof, claimed=False) if fresh.ok else fresh)
            proof = self.validation
        if proof is None or not proof.ok:
            cross = proof.failure if proof else None
            step = "mend it and validate it again" if cross else f"call {self.name}.validate() first"
            raise NotValidatedError(
                f"grader {self.name!r} is not validated",
                found=f"{cross.name}: {cross.message}" if cross else "it was never validated",
                hint=f"{step}, or pass allow_unvalidated=True",
            )

    async def grade(self, sample: Sample) -> Grade:
        """Grade one sample in a worker of its own."""
        grades = await asyncio.to_thread(self._run, pack([_plain_thread(sample.thread)]), Control())
        return grades[0]

    async def grade_all(self, samples: Samples, control: Control) -> Grades:
        """Grade every row in parallel workers; a row that crashes or hangs costs only itself."""
        grades = await asyncio.to_thread(self._run, samples.packed(), control)
        for row, problem in samples.problems.items():
            grades.fail(row, GradeError(ErrorKind.SAMPLE, problem))
        return grades

    def _run(self, packed: Packed, control: Control) -> Grades:
        from workbench.sandbox.pool import pool

        outcome = pool().run(
            Program(self.source.text, self.limits, self._kernel_only),
            packed,
            workers=control.workers,
            on_progress=control.on_rows,
            cancel=control.cancel,
        )
        return outcome.grades

    def check_ready(self) -> None:
        """Refuse imported source where the machine cannot confine it; see `Grader.check_ready`.

        Raises:
            IsolationError: With the label found and the way out.
        """
        if not self._kernel_only:
            return
        from workbench.sandbox.pool import pool

        level = pool().level
        if level != "kernel":
            raise IsolationError(
                f"grader {self.name!r} was imported and this machine cannot confine it",
                found=ISOLATION[level],
                expected=ISOLATION["kernel"],
                hint="read its source; if you trust it, load it with trust=True",
            )

    def trusted(self) -> FunctionGrader:
        """The same grader, allowed to run where the machine cannot confine it."""
        return replace(self, trusted_sha256=self.source.sha256)

    def _field_spec(self, f: Any) -> Any:
        if f.name == "source":
            spec = {
                key: list(value) if isinstance(value, tuple) else value
                for key, value in asdict(self.source).items()
            }
            imported = spec.pop("imported")
            return {**spec, "sha256": self.source.sha256, **({"imported": True} if imported else {})}
        return super()._field_spec(f)

    @classmethod
    def build(cls, values: dict[str, Any]) -> FunctionGrader:
        """See `Grader.build`; the source's hash must be that of its text."""
        if isinstance(values.get("source"), dict):
            values = {**values, "source": _source(values["source"])}
        return super().build(values)

    def _repr_html_(self) -> str:
        from html import escape

        proof = self.validation
        state = proof._repr_html_() if proof else "<p>not validated yet: call <code>.validate()</code></p>"
        return f"<div><b>{escape(clean(self.name))}</b> <pre>{escape(clean(self.source.text, MAX_BYTES))}</pre>{state}</div>"


def _source(record: dict[str, Any]) -> Source:
    parts: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in record.items()
    }
    told = parts.pop("sha256", None)
    try:
        source = Source(**parts)
    except (TypeError, CaptureError) as error:
        raise FormatError("the source cannot be read", found=str(error)) from error
    if source.sha256 != told:
        raise FormatError(
            "the source does not match its hash: it was changed after it was saved",
            found=f"sha256 {source.sha256[:16]}…",
            expected=f"sha256 {str(told)[:16]}…",
            hint="compare it with the original; to accept the change, take the text to FunctionGrader.from_source",
        )
    return source


def _plain_thread(thread: StringThread) -> StringThread:
    """The thread with what the sandbox can be told: numpy numbers become Python's, dates text, and so on."""
    turns, metadata, calls, tools, answers = thread.to_wire()
    return StringThread.from_wire(
        (turns, plain(metadata), calls and _plain_calls(calls), plain(tools), answers)
    )


def _plain_calls(calls: dict[int, Any]) -> dict[int, Any]:
    """Tool calls by turn, as plain data."""
    return {turn: plain(made) for turn, made in calls.items()}


def _threads(payload: Any) -> Sequence[StringThread]:
    if payload is None:
        return []
    if isinstance(payload, Sample | StringThread):
        return [_as_sample(payload).thread]
    return [_as_sample(item).thread for item in payload]


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
    """Make a function grader out of the function below: `@wb.grader` or `@wb.grader(name=...)`.

    The function and everything it reads are captured when the decorator runs, so helpers must be
    defined before it.

    Args:
        fn: The function, when used without brackets.
        name: How reports call it; the function's name by default.
        description: One sentence; the docstring's first line by default.
        timeout: Seconds a row may take.
        memory_mb: MiB a worker may use.

    Raises:
        CaptureError: Something the function reads cannot travel; the reason and the way out are named.
    """

    def make(function: Callable[..., Any]) -> FunctionGrader:
        told = description or ((function.__doc__ or "").strip().splitlines() or [""])[0]
        return FunctionGrader(
            source=capture(function), name=name, description=told, timeout=timeout, memory_mb=memory_mb
        )

    return make if fn is None else make(fn)


# Capture drops decorators that carry this mark: they are ours, not part of what is graded.
grader.__workbench_decorator__ = True  # type: ignore[attr-defined]


def validate(what: FunctionGrader | Callable[..., Any] | str, payload: Any = None) -> Validation:
    """Run the five checks on a grader, a function or a module's text.

    Args:
        what: What to prove; a function is captured first.
        payload: Samples or threads of your own for further test runs.

    Raises:
        CaptureError: The function cannot travel.
    """
    item = what if isinstance(what, FunctionGrader) else FunctionGrader(source=capture(what))
    return item.validate(payload)
