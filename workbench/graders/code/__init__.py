"""Base classes of graders whose source text runs in the sandbox: validation, trust, the run itself, and their records."""

from __future__ import annotations

import asyncio
import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from workbench.core import background
from workbench.core.display import Code, DisplayBlock, Displayed, Group, Paragraph, Span
from workbench.core.display_text import clean
from workbench.core.errors import CaptureError, FormatError, IsolationError, NotValidatedError
from workbench.core.grade import ErrorKind, Grade, GradeError
from workbench.core.grades import Grades
from workbench.core.thread import StringThread
from workbench.data.packed import Packed, Stream, pack
from workbench.data.row_columns import row_wire
from workbench.data.samples import Sample, Samples
from workbench.data.samples.plain import plain
from workbench.graders.arguments import HANDLING, LIMIT
from workbench.graders.base import Grader, as_sample
from workbench.graders.capture.source import MAX_BYTES, Source
from workbench.graders.concurrent_rows import Control
from workbench.sandbox.host.determinism import check_run
from workbench.sandbox.host.pool import WARM_ROWS, pool
from workbench.sandbox.host.program import (
    IMPORTED_MB,
    IMPORTED_SECONDS,
    ISOLATION,
    MOCK_LABEL,
    Limits,
    Program,
)
from workbench.sandbox.host.run import RunOutcome
from workbench.sandbox.host.spare_workers import Prepared
from workbench.sandbox.host.validation import (
    Validation,
    mock_thread,
    validation_blocks,
)
from workbench.sandbox.host.worker_pool import grade_alone
from workbench.sandbox.host.zygote import StartError

_NOT_VALIDATED = "not validated yet: call .validate()"


_READS_TURNS = re.compile(
    r"\b(?:get_turns|last_content|messages|output_tools|tool_calls|tool_return|trajectory|turn_calls)\b"
)
"""Names that indicate that code reads more of a conversation than its completion."""


@dataclass(frozen=True, kw_only=True)
class SandboxedGrader(Displayed, Grader):
    """A grader that is a text: the captured or imported text is what runs, is validated, and is exported.

    Subclasses have fields `timeout` and `trusted_sha256` and a `source` (a field, or computed from their fields),
    and define how it is called. One worker keeps the module's globals for the rows it grades; every run starts
    with fresh workers; some rows are then graded again in another order, and a note reports changed scores.
    A single call is graded in a warm worker that reruns the module for it, so that it cannot see state of earlier
    ones; if the text could change state outside its module, the worker is a fresh one as well.
    Loading the text may take 0.9 s longer than a row, at most 5 s; a text that does not load is
    attempted once.

    One run stores at most 256 MiB of reasoning, metadata and error texts: 128 KiB per row are allowed, and a
    hundred thousand rows of that would exceed a notebook's memory. A later row has its score, and the mark
    `{"_error": {"code": "run_notes_too_large", ...}}` in its metadata.
    """

    if TYPE_CHECKING:

        @property
        def source(self) -> Source:
            """The text."""

        @property
        def timeout(self) -> float:
            """Seconds per row."""

        @property
        def trusted_sha256(self) -> str:
            """Hash of the trusted text."""

    _validation: dict[str, Validation] = field(default_factory=dict, init=False, compare=False, repr=False)

    language: ClassVar[str] = "python"
    """How a worker loads the text: one of `workbench.sandbox.host.program.LANGUAGES`."""
    hidden_from_dir = "ceilings grade_in_worker language limits program remember require_engine require_validated takes_rows"
    ceilings: ClassVar[Mapping[str, float]] = {"timeout": IMPORTED_SECONDS, "memory_mb": IMPORTED_MB}
    """Maximum values that a file or a store may set; see `workbench.graders.serialization.limit_imported`."""

    def __post_init__(self) -> None:
        self.limits  # noqa: B018 (refuses limits out of range)
        if not self.name:
            object.__setattr__(self, "name", self.source.function)

    @property
    def trust(self) -> bool:
        """Whether this exact text was trusted to run without confinement."""
        return self.trusted_sha256 == self.source.sha256

    @property
    def limits(self) -> Limits:
        """The sandbox's limits for this grader."""
        return Limits.of(self.timeout)

    @property
    def program(self) -> Program:
        """What a worker loads."""
        return Program(
            self.source.text,
            self.limits,
            self._kernel_only,
            self.language,
            self._call_signature,
            self._options(),
        )

    @property
    def _call_signature(self) -> str:
        return "thread"

    def _options(self) -> Mapping[str, Any]:
        return {}

    @property
    def takes_rows(self) -> bool:
        """Whether it receives the reference and the id in addition to the thread."""
        return False

    @property
    def needs_answer(self) -> str:
        """`"turn"` for code that reads turns or tool calls itself, else `"completion"`."""
        return "turn" if _READS_TURNS.search(self.source.text) else "completion"

    @property
    def validation(self) -> Validation | None:
        """The last validation of this exact text, None if there was none."""
        return self._validation.get(self.source.sha256)

    def validate(self, payload: Any = None) -> Validation:
        """Run the five checks in the sandbox and remember the result.

        Args:
            payload: Samples or threads of the user for further test runs: one, or a list of them. Graders
                that read more than a thread are tested only on these: the mock thread has no such columns.
        """
        self.check_ready()
        rows = self._test_rows(payload)
        # In another thread, so that an interrupt cannot cut a request to the sandbox in half.
        validation = background.run(asyncio.to_thread(self._run_checks, rows))
        self.remember(validation)
        return validation

    def _test_rows(self, payload: Any) -> list[tuple[str, Sequence[Any]]]:
        samples = [as_sample(item) for item in _listed(payload)]
        column = payload.columns.get("reference", "") if isinstance(payload, Samples) else ""
        labelled = [
            (f"test thread {number}", self._wire(item, column)) for number, item in enumerate(samples, 1)
        ]
        mock = Sample(id="mock", thread=mock_thread(), reference="4", group="mock")
        return labelled if labelled and self.takes_rows else [(MOCK_LABEL, self._wire(mock)), *labelled]

    def _wire(self, sample: Sample, column: str = "") -> Sequence[Any]:
        thread = plain_thread(sample.thread)
        if not self.takes_rows:
            return thread.to_wire()
        return row_wire(thread, plain(sample.reference), str(sample.id), column)

    def _run_checks(self, rows: Sequence[tuple[str, Sequence[Any]]]) -> Validation:
        return pool().check(self.program, rows, sha256=self.source.sha256)

    @property
    def _kernel_only(self) -> bool:
        return self.source.imported and not self.trust

    def remember(self, validation: Validation) -> None:
        """Store a validation; it counts only for the text with its hash."""
        self._validation[validation.sha256] = validation

    def require_validated(self) -> None:
        """Require that the grader has passed its checks.

        Raises:
            NotValidatedError: It was never validated, or a check failed.
        """
        validation = self.validation
        if validation is not None and validation.ok and validation.claimed:
            # A file claims that it passed. The record is stored unchanged, but only if this machine confirms it.
            fresh = self.validate()
            self.remember(replace(validation, claimed=False) if fresh.ok else fresh)
            validation = self.validation
        if validation is None or not validation.ok:
            cross = validation.failure if validation else None
            step = "fix it and validate it again" if cross else f"call {self.name}.validate() first"
            if cross and cross.name == "test_run" and self.takes_rows:
                step = f"fix it, or validate it on your own rows: {self.name}.validate(samples)"
            raise NotValidatedError(
                f"grader {self.name!r} is not validated",
                found=f"{cross.name}: {cross.message}" if cross else "it was never validated",
                hint=f"{step}, or pass allow_unvalidated=True",
            )

    async def grade(self, sample: Sample) -> Grade:
        """Grade one sample, with the score of a fresh worker."""
        return await self.grade_in_worker(sample)

    async def grade_in_worker(self, sample: Sample) -> Grade:
        """Grade one sample; raise an error if the sandbox does not start.

        Raises:
            SandboxError: The sandbox does not start, or this machine cannot confine an imported source.
        """
        self.require_engine()
        wire = self._wire(sample)
        grade = await grade_alone(self.program, wire)
        if grade is not None:
            return grade
        outcome = await asyncio.to_thread(self._run, pack([wire], extras=self.takes_rows), Control())
        return replace(outcome.grades[0], printed=outcome.output or None)

    async def grade_all(self, samples: Samples, control: Control) -> Grades:
        """Grade every row in parallel workers; a row that crashes or hangs affects only itself.

        If the sandbox does not start, every row fails with kind *sandbox*: the other graders of a suite continue.
        """
        # The bytes of a part are not reused by another run, so it does not wait for all of them. Those of few rows are
        # sent with the commands: then any spare worker can grade them.
        if control.is_part or len(samples) < WARM_ROWS:
            packed: Packed | Stream = samples.stream(extras=self.takes_rows)
        else:
            packed = await asyncio.to_thread(samples.packed, extras=self.takes_rows)
        with ExitStack() as stack:
            prepared, stopped = None, False
            # Of rows that are sent, a worker of the run grades some again, if the module restores its state when it is
            # loaded again. Otherwise it is another one, whose start takes as long as grading thousands of rows.
            keeps = control.looks_again and isinstance(packed, Stream)
            if control.looks_again and not keeps:
                prepared = stack.enter_context(closing(pool().prepare(self.program)))
            try:
                outcome = await asyncio.to_thread(self._run, packed, control, samples, keeps_worker=keeps)
                grades, stopped = outcome.grades, bool(outcome.stopped)
                if keeps:
                    prepared = stack.enter_context(closing(pool().reuse(outcome.worker)))
            except StartError as error:
                grades = Grades.empty(len(samples))
                grades.ended = f"not graded: {error.message}"
                grades.finish(ErrorKind.SANDBOX, grades.ended)
            # A stopped run does not wait for the remaining rows to be read.
            for row, problem in (samples.known_problems if stopped else samples.problems).items():
                grades.fail(row, GradeError(problem.kind, str(problem)))
            if prepared is not None and not control.cancel.is_set():
                await asyncio.to_thread(self._look_again, samples, grades, control, prepared)
        return grades

    def _look_again(self, samples: Samples, grades: Grades, control: Control, prepared: Prepared) -> None:
        """Grade some rows again in another order, and record where their scores change; see `check_run`."""

        def grade(rows: NDArray[np.intp]) -> Grades:
            alone = control.part()
            alone.workers = 1  # the rows of one worker must be in one order
            return self._run(
                samples.take(rows).stream(extras=self.takes_rows), alone, prepared=prepared
            ).grades

        if cause := check_run(grade, grades):
            control.notes.append(f"{self.name}: {cause}")

    def require_engine(self) -> None:
        """Raise if the engine for the text is not installed."""
        return  # Python workers need none

    def _run(
        self, packed: Packed | Stream, control: Control, samples: Samples | None = None, prepared: Prepared | None = None,
        *, keeps_worker: bool = False,
    ) -> RunOutcome:  # fmt: skip
        """Grade packed rows in the sandbox.

        Args:
            packed: The rows.
            control: Of the run.
            samples: The original rows; those with a problem are graded as empty ones, and their grades are discarded.
            prepared: A worker that may have started already.
            keeps_worker: As in `Pool.run`.
        """
        self.require_engine()
        without = dict if samples is None else lambda: samples.known_problems
        return pool().run(
            self.program,
            packed,
            workers=control.workers,
            on_progress=partial(control.progress, without=without),
            cancel=control.cancel,
            prepared=prepared,
            keeps_worker=keeps_worker,
        )

    def check_ready(self) -> None:
        """Refuse imported source if the machine cannot confine it; see `Grader.check_ready`.

        Raises:
            IsolationError: With the isolation level and a hint.
        """
        if not self._kernel_only:
            return
        level = pool().level
        if level != "kernel":
            raise IsolationError(
                f"grader {self.name!r} was imported and this machine cannot confine it",
                found=ISOLATION[level],
                expected=ISOLATION["kernel"],
                hint="review its source; if you trust it, load it with trust=True",
            )

    def trusted(self) -> Self:
        """The same grader, allowed to run if the machine cannot confine it."""
        changes: dict[str, Any] = {"trusted_sha256": self.source.sha256}
        return replace(self, **changes)

    def as_imported(self, *, trust: bool = False) -> Self:
        """The same grader marked as imported: it runs only with kernel confinement, or when trusted."""
        marked = self._marked_imported()
        changes: dict[str, Any] = {"trusted_sha256": self.source.sha256 if trust else ""}
        return replace(marked, **changes)

    @abstractmethod
    def _marked_imported(self) -> Self:
        """The same grader with its text marked as imported."""

    _kind = ""

    def __str__(self) -> str:
        return repr(self)

    def _blocks(self) -> Iterator[DisplayBlock]:
        text = clean(self.source.text, MAX_BYTES)
        yield Paragraph(Span(clean(self.name)), "lead mono")
        if self.validation is None:
            yield Paragraph(_NOT_VALIDATED, "quiet")
        else:
            yield Group("wb-checks", validation_blocks(self.validation))
        yield Code(text, len(text))


@dataclass(frozen=True, kw_only=True)
class SourceGrader(SandboxedGrader):
    """A sandboxed grader whose text is a captured Python module.

    Attributes:
        source: The captured module.
        timeout: Seconds per row, 1.0 by default.
        memory_mb: MiB of address space beyond the initial size of a worker, 512 by default.
        trusted_sha256: Hash of the text that may run even if the machine cannot confine it; "" for none.
    """

    source: Source
    timeout: float = field(default=1.0, metadata=LIMIT)
    memory_mb: int = field(default=512, metadata=LIMIT)
    trusted_sha256: str = field(default="", metadata=HANDLING)

    @property
    def limits(self) -> Limits:
        """The sandbox's limits for this grader."""
        return Limits.of(self.timeout, memory_mb=self.memory_mb)

    def _marked_imported(self) -> Self:
        return replace(self, source=replace(self.source, imported=True))

    def _field_spec(self, f: Any) -> Any:
        return source_record(self.source) if f.name == "source" else super()._field_spec(f)

    @classmethod
    def build(cls, values: dict[str, Any]) -> Self:
        """Create the grader from a spec's fields; the source's hash must be that of its text."""
        if not isinstance(values.get("source"), Source):
            values = {**values, "source": read_source(values.get("source"))}
        return super().build(values)


def source_record(source: Source) -> dict[str, Any]:
    """A source as plain JSON, with its hash."""
    spec = {k: list(value) if isinstance(value, tuple) else value for k, value in asdict(source).items()}
    imported = spec.pop("imported")
    return {**spec, "sha256": source.sha256, **({"imported": True} if imported else {})}


def read_source(record: Any) -> Source:
    """The source of a record.

    Raises:
        FormatError: An unknown field, or a text that does not match its hash.
    """
    if not isinstance(record, dict) or not isinstance(record.get("text"), str):
        raise FormatError(
            "the source cannot be read",
            found=repr(record)[:80],
            expected="an object with the text and its hash",
        )
    parts: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in record.items()
    }
    sha256 = parts.pop("sha256", None)
    try:
        source = Source(**parts)
    except (TypeError, CaptureError) as error:
        raise FormatError("the source cannot be read", found=str(error)) from error
    if source.sha256 != sha256:
        raise FormatError(
            "the source does not match its hash: it was changed after it was saved",
            found=f"sha256 {source.sha256[:16]}…",
            expected=f"sha256 {str(sha256)[:16]}…",
            hint="compare it with the original; to accept the change, pass the text to FunctionGrader.from_source",
        )
    return source


def plain_thread(thread: StringThread) -> StringThread:
    """The thread in types that the sandbox supports: numpy numbers become Python's, dates text, and so on."""
    turns, metadata, calls, tools, answers = thread.to_wire()
    plain_calls = calls and {turn: plain(turn_calls) for turn, turn_calls in calls.items()}
    return StringThread.from_wire((turns, plain(metadata), plain_calls, plain(tools), answers))


def _listed(payload: Any) -> Sequence[Any]:
    if payload is None:
        return []
    return [payload] if isinstance(payload, Sample | StringThread) else list(payload)
