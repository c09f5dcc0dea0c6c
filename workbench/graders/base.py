"""`Grader`: the base class of every grader, its kinds by name, and the announcements of definitions.

A grader is an immutable object whose fields are its configuration and whose one method scores. To add a kind, write a frozen
dataclass with an `async def grade(self, sample)` that returns a number or a `Grade`, and name it with `@kind("...")`. The
base class implements the rest: it converts any result or exception into a `Grade`, and provides calls, runs over many rows,
and conversion to and from a plain dict. `@wb.grader` and `%%grader` announce, an open Workbench listens.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from functools import wraps
from typing import Any, ClassVar, Self, TypeVar

from workbench.core import background
from workbench.core.discovery import higher_level, refuse_taken
from workbench.core.display_text import did_you_mean
from workbench.core.errors import FormatError, WorkbenchError
from workbench.core.grade import ErrorKind, Grade, GradeError, Skip
from workbench.core.grades import Grades
from workbench.core.thread import StringThread
from workbench.data.samples import Sample, Samples
from workbench.data.samples.column_names import ROLES
from workbench.data.templates.values import TemplateError, TemplateRunError
from workbench.graders.arguments import with_call_help
from workbench.graders.concurrent_rows import Control, RowRun
from workbench.graders.rules.threads import reference_of

G = TypeVar("G", bound="type[Grader]")

KINDS: dict[str, type[Grader]] = {}
"""Every kind of grader by its registered name."""

_CONCURRENT = 64


def _as_grade(grade: Callable[..., Awaitable[float | Grade]]) -> Callable[..., Coroutine[Any, Any, Grade]]:
    """An author's `grade` as callers see it: any return value or exception becomes a `Grade`."""

    @wraps(grade)
    async def graded(self: Grader, sample: Sample | StringThread) -> Any:
        sample = as_sample(sample)
        if type(self).grade is not graded:
            return await grade(
                self, sample
            )  # called by a subclass with super(), whose wrapper makes the `Grade`
        start = time.perf_counter()
        try:
            result = await grade(self, sample)
            if isinstance(result, Grade):
                return result
            return Grade(result, seconds=time.perf_counter() - start)
        except GeneratorExit:
            # Python closes a coroutine with it, and one that does not end then is a separate error.
            raise
        except Skip as skip:
            return Grade.skipped(str(skip) or None, seconds=time.perf_counter() - start)
        except BaseException as error:
            # Only a truly cancelled row stops; an author's CancelledError fails that row only.
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                raise
            return Grade.failed(*error_of(error), seconds=time.perf_counter() - start)

    graded.returns_grade = True  # type: ignore[attr-defined]
    return graded


def kind(name: str, *, family: str = "more") -> Callable[[G], G]:
    """Register a grader class under the name that its specs use.

    Args:
        name: Short and hyphenated.
        family: Heading in lists of kinds.

    Raises:
        ValueError: Two classes have one name.
    """

    def register(cls: G) -> G:
        # The same class is registered again when its cell is rerun: that is not a conflict.
        refuse_taken("grader kind", name, KINDS.get(name), cls)
        cls.kind, cls.family = name, family
        cls.__hash__ = _hashed  # type: ignore[assignment, method-assign]  # a dict field has no hash
        KINDS[name] = cls
        return with_call_help(cls)

    return register


def _hashed(grader: Grader) -> int:
    return hash((type(grader), grader.name))


@dataclass(frozen=True, kw_only=True)
class Grader(ABC):
    """Scores samples.

    Attributes:
        name: Its name in reports and files.
        description: One sentence for users.
    """

    kind: ClassVar[str] = ""
    family: ClassVar[str] = "more"
    why_not_portable: ClassVar[str] = "it is not a code grader"
    """Why a kind without a rule cannot be exported as code for other platforms."""
    deterministic: ClassVar[bool] = False
    """Whether a row always has the same grade, so that a run with repeats grades it once."""
    hidden_from_dir: ClassVar[str] = (
        "at_once build deterministic example family check_ready ends_run grade_all grade_together hidden_from_dir implied_name needs_answer "
        "whole_groups why_not_portable"
    )
    """Names omitted from `dir`, and thus from tab completion; subclasses list their own."""

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if not hasattr(cls.grade, "returns_grade"):
            cls.grade = _as_grade(cls.grade)  # type: ignore[method-assign]

    name: str = ""
    description: str = ""

    def __post_init__(self) -> None:
        for field_name in ("name", "description"):
            if not isinstance(getattr(self, field_name), str):
                raise TypeError(f"{field_name} must be text, not {getattr(self, field_name)!r}"[:200])
        if not self.name:
            object.__setattr__(self, "name", self.implied_name)

    @classmethod
    def example(cls) -> Self:
        """A grader of this kind with meaningful settings, used by the tests over all kinds.

        Raises:
            TypeError: The kind has fields without defaults and does not define an example.
        """
        try:
            return cls()
        except TypeError as error:
            raise TypeError(f"{cls.__name__} must define example(): {error}") from error

    @property
    def implied_name(self) -> str:
        """The default name."""
        return self.kind or type(self).__name__

    def __dir__(self) -> list[str]:
        """The names that users need: without the parts that runs and writers use."""
        hidden = {name for cls in type(self).__mro__ for name in getattr(cls, "hidden_from_dir", "").split()}
        return [name for name in super().__dir__() if name not in hidden]

    @abstractmethod
    async def grade(self, sample: Any) -> Any:
        """Grade one sample or thread inside async code: always a `Grade`, a failed one on an error.

        A new kind writes this method as `async def grade(self, sample: Sample) -> float | Grade` and raises
        any error; the class converts what it returns or raises into a `Grade`.
        """

    def __call__(self, sample: Sample | StringThread) -> Grade:
        """Grade one sample and wait for it. An error in the grader never raises: it gives a failed grade."""
        grade: Grade = background.run(self.grade(as_sample(sample)))
        return grade

    async def grade_all(self, samples: Samples, control: Control) -> Grades:
        """Grade every row; rows not reached before `control.cancel` is set are failed as cancelled."""
        return await RowRun(self, samples, control).run()

    async def grade_together(self, samples: Sequence[Sample]) -> list[Grade]:
        """One grade per sample; samples of one `group` are the completions of one prompt. See `whole_groups`."""
        return [await self.grade(sample) for sample in samples]

    @property
    def needs_answer(self) -> str:
        """Required content of a row; a row without it fails.

        "completion": its last turn is the assistant's. "turn": one after the last user turn is, for graders of tool calls
        or whole conversations. "": the inner graders decide.
        """
        return "completion"

    @property
    def whole_groups(self) -> bool:
        """Whether a row's grade depends on the other completions of its prompt, so that a run never grades part of them."""
        return False

    @property
    def runs_in_process(self) -> bool:
        """Whether a user's function is called in this process, which it could end."""
        return False

    @property
    def at_once(self) -> int:
        """Number of rows graded concurrently in `grade_all`."""
        return _CONCURRENT

    def ends_run(self) -> Callable[[Grade], GradeError | None]:
        """Return a callback for one run. It receives each grade and returns an error to stop the run with, or None."""
        return lambda _: None

    def check_ready(self) -> None:
        """Raise any error that would end a run of this grader before its first row; called before every run."""
        return  # most kinds are always ready

    def run(self, samples: Any, **settings: Any) -> Any:
        """Grade samples and return a `Report`. See `Suite.run` for the settings."""
        return higher_level("run")([self], samples, **settings)

    def spec(self) -> dict[str, Any]:
        """The grader as a plain dict: `kind`, then every field that is not at its default."""
        values = {f.name: self._field_spec(f) for f in fields(self) if _is_config(f)}
        changed = {f.name for f in fields(self) if _is_config(f) and getattr(self, f.name) != _default(f)}
        return {"kind": self.kind, **{name: value for name, value in values.items() if name in changed}}

    def _field_spec(self, f: Field[Any]) -> Any:
        return getattr(self, f.name)

    @classmethod
    def imported_sha256(cls, spec: Mapping[str, Any]) -> str | None:  # noqa: ARG003
        """SHA-256 of the untrusted content of an imported spec, to which trust is bound.

        None for a kind without untrusted content, or with its source in a field `source`, which has its own hash.
        """
        return None

    @classmethod
    def build(cls, values: dict[str, Any]) -> Self:
        """Create the grader from a spec's fields, without `kind`.

        Raises:
            FormatError: An unknown field, or an invalid value.
        """
        field_names = {f.name for f in fields(cls) if _is_config(f)}
        if unknown := sorted(set(values) - field_names):
            raise FormatError(
                f"a {cls.kind} grader has no field {unknown[0]!r}",
                found=", ".join(unknown),
                expected=", ".join(sorted(field_names)),
                hint=did_you_mean(unknown[0], field_names),
            )
        try:
            return cls(**values)
        except (TypeError, ValueError) as error:
            raise FormatError(
                f"a {cls.kind} grader cannot be created from these fields", found=str(error)
            ) from error


def from_spec(spec: dict[str, Any]) -> Grader:
    """Create the grader of a spec.

    Raises:
        FormatError: Unknown kind, unknown field, or invalid value.
    """
    name = spec.get("kind")
    if not isinstance(name, str) or name not in KINDS:
        raise FormatError(
            "unknown kind of grader", found=repr(name)[:80], expected=", ".join(sorted(KINDS)),
            hint=did_you_mean(str(name), KINDS),
        )  # fmt: skip
    return KINDS[name].build({key: value for key, value in spec.items() if key != "kind"})


def _is_config(f: Field[Any]) -> bool:
    return f.init and not f.name.startswith("_")


def _default(f: Field[Any]) -> Any:
    return f.default_factory() if f.default_factory is not MISSING else f.default


def is_number(value: object) -> bool:
    """Whether a setting is a finite number: an int or a float, not a bool."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        # `math.isfinite` converts an int to float, which fails for very large ones.
        return False


def as_sample(sample: Any) -> Sample:
    """A sample, or a thread converted to one: its reference is then read from its metadata, by the usual names.

    Raises:
        TypeError: The argument is neither.
    """
    if isinstance(sample, StringThread):
        return Sample(id="0", thread=sample, reference=reference_of(sample, ROLES["reference"]), group="0")
    if isinstance(sample, Sample):
        return sample
    raise TypeError(f"a grader requires a Sample or a StringThread, not {type(sample).__name__}")


def error_of(error: BaseException) -> tuple[ErrorKind, str]:
    """The error kind and message of the failed grade for an exception."""
    message = str(error) or type(error).__name__
    if isinstance(error, TemplateError | TemplateRunError):
        return ErrorKind.TEMPLATE, message
    if isinstance(error, WorkbenchError):
        return ErrorKind.SANDBOX if isinstance(error, RuntimeError) else ErrorKind.RUNTIME, message
    if isinstance(error, TimeoutError):
        return ErrorKind.TIMEOUT, message
    return ErrorKind.RUNTIME, f"{type(error).__name__}: {message}"


Listener = Callable[[Grader], object]

_MAX_DEFINITIONS = 256
"""Maximum number of stored definitions: a program that creates thousands of graders is not a notebook."""

_lock = threading.Lock()
_defined: dict[str, Grader] = {}
_listeners: list[Listener] = []


def announce(grader: Grader) -> None:
    """Announce a definition: a new name, or a new text of an existing name.

    The session stores the last definition of each name, so that a Workbench opened later knows them.
    """
    with _lock:
        # Assigning to an existing key would retain its old position, and the oldest ones are dropped first.
        _defined.pop(grader.name, None)
        _defined[grader.name] = grader
        while len(_defined) > _MAX_DEFINITIONS:
            _defined.pop(next(iter(_defined)))
        listeners = list(_listeners)
    # Outside the lock: a listener may announce a grader itself, or stop listening.
    for listener in listeners:
        listener(grader)


def defined() -> Mapping[str, Grader]:
    """The definitions of this session by name, oldest first."""
    with _lock:
        return dict(_defined)


def listen(listener: Listener) -> Callable[[], None]:
    """Receive definitions from now on, in the defining thread; the returned function ends it."""
    with _lock:
        _listeners.append(listener)

    def end() -> None:
        with _lock:
            if listener in _listeners:
                _listeners.remove(listener)

    return end
