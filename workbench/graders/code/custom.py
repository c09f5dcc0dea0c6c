"""The custom grader: any user callable, run in this process with the user's rights."""

from __future__ import annotations

import asyncio
import contextlib
import dis
import importlib
import inspect
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import InitVar, dataclass, field, replace
from functools import partial
from typing import Any, Self

from workbench.core import user_functions
from workbench.core.errors import CaptureError, IsolationError
from workbench.core.files import IMPORT_PATH
from workbench.core.grade import ErrorKind, Grade
from workbench.core.grades import Grades
from workbench.core.user_processes import ProcessLostError, ProcessPool
from workbench.data.samples import Sample, Samples
from workbench.graders.arguments import HANDLING, LIMIT
from workbench.graders.base import Grader, kind
from workbench.graders.code.inspect_scorer import scorer_name
from workbench.graders.code.live_code import codes_of, source_of
from workbench.graders.code.live_reward import annotated_row, as_called
from workbench.graders.code.rollout import EnvironmentReward
from workbench.graders.concurrent_rows import Control
from workbench.sandbox.host.program import ISOLATION

_NO_RESULT = "a score must be a number (int or float) or a Grade, not None"
_TURNS = frozenset(
    [
        "get_turns",
        "last_content",
        "messages",
        "output_tools",
        "tool_calls",
        "tool_return",
        "trajectory",
        "turn_calls",
    ]
)
"""Names that indicate that a function reads more of a conversation than its completion."""
_pool_lock = threading.Lock()
"""Two event loops may make the first call of one grader at the same time."""

_BLOCKED = (
    ": this row, or another one, blocks the event loop that async functions share; await slow operations "
    "(asyncio.sleep, an async client), or write the function with a plain def"
)


@kind("custom", family="code")
@dataclass(frozen=True, kw_only=True)
class CustomGrader(Grader):
    """A user function that runs in this process, not in the sandbox: third-party packages, files, network.

    It takes a `StringThread`, or a `Sample` if its parameter is called `sample` or annotated so, and returns a
    finite number or a `Grade`. Rewards of TRL, verl, OpenRLHF and eval-protocol, and functions of a text and a reference,
    are called as their trainers call them. Sync functions run in threads, async ones together on a separate event loop, so that
    other work continues. A sync function may call other graders; an async one awaits their `grade`. One
    that stops the loop fails the async rows in flight. Only the import path is saved and exported, never code; a
    notebook function or a lambda has none and cannot be saved. Reading a file imports nothing: that happens
    when the grader first runs, and a grader read from a file runs only when it is trusted.

    Attributes:
        fn: Any callable that takes one thread or sample: a function, a method, a callable object.
        target: Import path, `package.module:name`; "" for a function without one.
        timeout: Seconds per row; None for no limit. Without `own_process`, a blocking call cannot be stopped, whether in a
            sync function or an async one that calls `time.sleep`: its row fails and its thread continues. If hundreds of
            such threads run, rows that would need another one fail without being started.
        own_process: Call the function in separate processes, one per processor: in their main thread, where `signal.alarm`
            works, as math-verify and sympy require. After `timeout` the process is killed, and a crash affects only its
            row. Loading the function and its imports is not part of `timeout`: it may take 120 s per process. The
            processes have your rights; notebook functions are sent with cloudpickle.
        imported: It was read from a file.
        trust: An imported grader may run.

    Error kinds: runtime, timeout, crash (the process ended), sandbox (imported and not trusted), sample.

    Source: Adaptive's custom graders (`create.custom`), which contain no code either.

    Example:
        >>> import workbench as wb
        >>> grader = CustomGrader(lambda thread: len(thread.completion()) / 10, name="tenth")
        >>> grader(wb.StringThread([("assistant", "Hello")])).score
        0.5
    """

    fn: InitVar[Callable[..., Any] | None] = field(default=None, kw_only=False)
    target: str = ""
    timeout: float | None = field(default=None, metadata=LIMIT)
    own_process: bool = field(default=False, metadata=HANDLING)
    imported: bool = field(default=False, metadata=HANDLING)
    trust: bool = field(default=False, metadata=HANDLING)
    _fn: Callable[..., Any] | None = field(default=None, repr=False)
    _pool: ProcessPool | None = field(default=None, init=False, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """State without the processes, which belong to this process."""
        return {**self.__dict__, "_pool": None}

    def __post_init__(self, fn: Callable[..., Any] | None) -> None:
        if fn is not None:
            self._take(fn)
        if self._fn is None and not IMPORT_PATH.fullmatch(self.target):
            raise ValueError(f"target must be package.module:name, not {self.target!r}")
        if self.timeout is not None and not (_is_number(self.timeout) and 0 < self.timeout < float("inf")):
            raise ValueError(
                f"timeout must be above 0, a finite number of seconds, or None, not {self.timeout!r}"
            )
        if not self.name:
            object.__setattr__(self, "name", self.target.rpartition(":")[2] or _name_of(self._fn))

    def _take(self, fn: Callable[..., Any]) -> None:
        """The function's import path, else the function itself; its name and docstring as defaults."""
        if self.target:
            raise TypeError("a custom grader takes a function or a target, not both")
        # Called for its error: a function of two parameters is refused here and not row by row.
        _parameter(as_called(fn))
        target = _path_of(fn)
        first_line = ((inspect.getdoc(fn) or "").strip().splitlines() or [""])[0]
        values = {
            "target": target,
            "_fn": None if target else as_called(fn),
            "name": self.name or _name_of(fn),
            "description": self.description or first_line,
        }
        for field_name, value in values.items():
            object.__setattr__(self, field_name, value)

    @property
    def needs_answer(self) -> str:
        """`"turn"` for a function that mentions turns or tool calls, else `"completion"`."""
        fn = self._fn if self._fn is not None else _loaded(self.target)
        return "turn" if _reads_turns(fn) else "completion"

    def source_text(self) -> str:
        """The source of the function, of those of its module that it calls, and their text constants; "" if there is none.

        Nothing is imported: of a grader read from a file the module has to be loaded already.
        """
        module = sys.modules.get(self.target.partition(":")[0])
        fn = self._fn if self._fn is not None else _loaded(self.target) if module else None
        return source_of(fn) if fn is not None else ""

    async def grade(self, sample: Sample) -> Any:
        """Call the function with the sample or its thread."""
        self._require_trust()
        if self.own_process:
            return await self._in_own_process(sample)
        fn = await self._function()
        argument = sample if _takes_sample(_parameter(fn)) else sample.thread
        run = user_functions.awaited if _is_async(fn) else user_functions.threaded
        try:
            result = await self._in_time(run(lambda: fn(argument), self.timeout))
        except (ValueError, RuntimeError) as error:
            if "main thread" not in str(error):
                raise
            raise RuntimeError(
                f"{error}; CustomGrader(..., own_process=True) gives the function a main thread"
            ) from error
        if inspect.isawaitable(result):  # of a lambda around a coroutine function
            result = await self._awaited(result)
        if result is None:  # a forgotten return is not a skip: that is Grade.skipped(...)
            raise TypeError(_NO_RESULT)
        return result

    async def _in_own_process(self, sample: Sample) -> Any:
        try:
            return await self._in_time(self._processes().call(sample, self.timeout))
        except ProcessLostError as error:
            return Grade.failed(ErrorKind.CRASH, str(error))

    def _processes(self) -> ProcessPool:
        if self._pool is None:
            pool = ProcessPool(_Remote(self.target, self._fn))
            with _pool_lock:
                if self._pool is None:
                    object.__setattr__(self, "_pool", pool)
        assert self._pool is not None
        return self._pool

    @property
    def runs_in_process(self) -> bool:
        """Whether the function is called in this process: unless `own_process` is set."""
        return not self.own_process

    @property
    def at_once(self) -> int:
        """Number of rows graded concurrently: with processes, the number of processors."""
        return os.cpu_count() or 1 if self.own_process else super().at_once

    async def _awaited(self, awaitable: Awaitable[Any]) -> Any:
        try:
            return await self._in_time(user_functions.awaited(lambda: awaitable, self.timeout))
        finally:
            if (
                inspect.iscoroutine(awaitable)
                and inspect.getcoroutinestate(awaitable) == inspect.CORO_CREATED
            ):
                awaitable.close()  # stopped before it started: otherwise Python warns that it was never awaited

    async def _in_time(self, ended: Awaitable[Any]) -> Any:
        try:
            return await ended
        except user_functions.LateError as late:
            why = _BLOCKED if late.blocked else ""
            raise TimeoutError(f"timed out: no score within {self.timeout:g} s{why}") from None

    async def _function(self) -> Callable[..., Any]:
        if self._fn is not None:
            return self._fn
        if self.target.partition(":")[0] in sys.modules:
            return _imported(self.target)
        return await asyncio.to_thread(_imported, self.target)  # importing a large package is slow

    async def grade_all(self, samples: Samples, control: Control) -> Grades:
        """Grade every row in this process; the grades have the isolation level `none`."""
        async with contextlib.AsyncExitStack() as stack:
            if self.own_process:
                with contextlib.suppress(CaptureError):  # each row fails with it
                    await stack.enter_async_context(self._processes().run())
            grades = await super().grade_all(samples, control)
        grades.isolation = "none"
        return grades

    def check_ready(self) -> None:
        """Refuse an untrusted imported grader, and a target that cannot be imported.

        Raises:
            IsolationError: It was read from a file and is not trusted.
            CaptureError: The module, or the callable in it, does not exist.
        """
        self._require_trust()
        if self._fn is None:
            _parameter(_imported(self.target))

    def _require_trust(self) -> None:
        if self.imported and not self.trust:
            raise IsolationError(
                f"grader {self.name!r} runs code of this machine and was read from a file",
                found=f"{self.target}: {ISOLATION['none']}",
                expected="a trusted grader",
                hint="review its target; if you trust it, load it with trust=True",
            )

    def as_imported(self, *, trust: bool = False) -> Self:
        """The same grader marked as imported: it runs only when trusted."""
        return replace(self, imported=True, trust=trust)

    def trusted(self) -> Self:
        """The same grader, allowed to run although it was read from a file."""
        return replace(self, trust=True)

    def spec(self) -> dict[str, Any]:
        """The grader as a plain dict: `kind`, then every field that is not at its default.

        Raises:
            CaptureError: The function has no import path.
        """
        if not self.target:
            raise CaptureError(
                f"grader {self.name!r} has no import path, so it cannot be saved or exported",
                found="a function of a notebook, a lambda, or an object",
                expected="a function at the top level of a module that can be imported",
                hint="put it into a .py file and import it from there; or use @wb.grader, which saves the source",
            )
        return super().spec()


class _Remote:
    """The function of a grader, pickled for a process: unpickling loads the function, before any row's time starts."""

    def __init__(self, target: str, fn: Callable[..., Any] | None) -> None:
        self._target, self._fn = target, fn

    def __call__(self, sample: Sample) -> Any:
        raise NotImplementedError("called only in a separate process")

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _loaded_remote, (self._target, self._fn)


def _loaded_remote(target: str, fn: Callable[..., Any] | None) -> Callable[[Sample], Any]:
    fn = _imported(target) if fn is None else fn
    for module, names in _imports_of(fn):
        with contextlib.suppress(Exception):  # the function gets the same error, if it reaches the import
            __import__(module, fromlist=names)
    return partial(_called, fn=fn)


def _called(sample: Sample, *, fn: Callable[..., Any]) -> Any:
    """Result of the function, in a separate process."""
    result = fn(sample if _takes_sample(_parameter(fn)) else sample.thread)
    if inspect.isawaitable(result):
        result = asyncio.run(_result_of(result))
    if result is None:
        raise TypeError(_NO_RESULT)
    return result


async def _result_of(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _name_of(fn: Any) -> str:
    name = getattr(fn, "__name__", None) or type(fn).__name__
    return "custom" if name == "<lambda>" else scorer_name(fn) or str(name)


def _path_of(fn: Any) -> str:
    """The import path of this object, "" if there is none."""
    target = f"{getattr(fn, '__module__', None)}:{getattr(fn, '__qualname__', None)}"
    module = target.partition(":")[0]
    # The `__main__` of a notebook is another module in the next process.
    if not IMPORT_PATH.fullmatch(target) or module == "__main__" or module not in sys.modules:
        return ""
    try:
        # A decorated or redefined function may have a path that leads to another object.
        found = _imported(target)
        return target if getattr(found, "made_by", found) is fn else ""
    except CaptureError:
        return ""


def _imported(target: str) -> Callable[..., Any]:
    module, _, names = target.partition(":")
    try:
        target_object: Any = importlib.import_module(module)
        for name in names.split("."):
            target_object = getattr(target_object, name)
    except (ImportError, AttributeError) as error:
        raise CaptureError(
            "the function of a custom grader cannot be imported",
            where=target,
            found=str(error),
            hint="install its package or add its folder to the path, or correct the target",
        ) from error
    if not callable(target_object):
        raise CaptureError("target is not callable", where=target, found=type(target_object).__name__)
    return as_called(target_object)  # type: ignore[no-any-return]


def _loaded(target: str) -> Any:
    """The object of a target if its module is loaded; None if it is not, or does not exist."""
    module, _, names = target.partition(":")
    target_object: Any = sys.modules.get(module)
    for name in names.split("."):
        target_object = getattr(target_object, name, None)
    return target_object


def _reads_turns(fn: Any) -> bool:
    """Whether a function may read more of a conversation than its completion; True if its code is unknown."""
    if isinstance(fn, EnvironmentReward):
        return True  # a completion may be calls alone
    codes = list(codes_of(fn))
    return not codes or any(_TURNS & {*code.co_names, *code.co_consts} for code in codes)


def _imports_of(fn: Any) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Modules that a function imports when it is called, each with the imported names."""
    for code in codes_of(fn):
        steps = list(dis.get_instructions(code))
        for level, names, step in zip(steps, steps[1:], steps[2:], strict=False):
            if (
                step.opname == "IMPORT_NAME" and level.argval == 0
            ):  # a relative import needs the function's package
                yield step.argval, names.argval or ()


def _parameter(fn: Any) -> inspect.Parameter | None:
    """The one parameter of a grade function; None if a builtin has no signature.

    Raises:
        TypeError: It is not callable, or does not have exactly one required parameter.
    """
    if not callable(fn):
        raise TypeError(f"a custom grader requires a function, not {type(fn).__name__}")
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except ValueError:
        return None
    positional = [
        p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL)
    ]
    required = [
        p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    if not positional or len(required) > 1 or any(p.kind is p.KEYWORD_ONLY for p in required):
        names = ", ".join(p.name for p in parameters)
        way = (
            "write a function of a thread that calls it with these"
            if names
            else "it reads the state of its environment; pass the environment's class, an instance, or its method get_reward"
        )
        raise TypeError(
            f"{_name_of(fn)} must take one parameter, a thread or a sample; it takes ({names or 'none'}): {way}"
        )
    return positional[0]


def _takes_sample(parameter: inspect.Parameter | None) -> bool:
    if parameter is None:
        return False
    if class_name := annotated_row(parameter):
        return class_name == "Sample"
    return parameter.name == "sample"


def _is_async(fn: Any) -> bool:
    # For an object whose `__call__` is async, `iscoroutinefunction` of the object itself returns False.
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(getattr(fn, "__call__", None))  # noqa: B004
