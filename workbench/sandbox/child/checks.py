"""The five checks as they run inside the worker. Standard library only; loaded by its path.

Parsing and compiling also happen here and never in the host: 4 KB of nested `finally` blocks
take seconds and a gigabyte to compile.
"""

from __future__ import annotations

import ast
import contextlib
import linecache
import sys
import time
import traceback
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_determinism = sys.modules["_wb_determinism"]
_contained = sys.modules["_wb_contained"]

FILENAME = "<grader>"
MODULE = "grader"
MAX_BYTES = 65536
MAX_MESSAGE = 2000


class CheckFailed(Exception):  # noqa: N818 (a verdict, not an error)
    """A check has failed; the message is for the grader's author."""


class Loading:
    """A source during the checks.

    Attributes:
        namespace: The module's names, once it was executed.
        grade: Scores a row: a coroutine function, once the module was executed.
        options: Settings of the program.
        results: (name, passed, message, seconds) of each check so far.
        warnings: Sentences that do not fail the grader.
    """

    def __init__(self, text: str, thread_type: type, options: dict[str, Any] | None = None) -> None:
        self.text = text
        self.thread_type = thread_type
        self.options = options or {}
        self.grade: Any = None
        self.namespace: dict[str, Any] = {}
        self.results: list[tuple[str, bool, str, float]] = []
        self.warnings: list[str] = []
        self._tree = ast.Module(body=[], type_ignores=[])
        self._definition: Any = None

    noted = False
    """Whether it may return more than a number per row."""

    def row(self, wire: Any) -> Any:
        """One row, as this grader receives it."""
        return self.thread_type.from_wire(wire)  # type: ignore[attr-defined]

    def mock_row(self, wire: Any) -> tuple[Any, dict[str, str]]:
        """The row of the first test run, and the columns that were generated for it."""
        return self.row(wire), {}

    def static(self) -> bool:
        """Run checks one to three; False if one fails."""
        steps = (self._syntax, self._structure, self._signature)
        return all(self.check(step.__name__.strip("_"), step) for step in steps)

    def look_for_state(self) -> None:
        """Once checks one to three passed, add warnings on code that makes a score depend on more than its row."""
        # Not a check: the determinism check covers a text that cannot be analysed, such as one nested too deeply.
        with contextlib.suppress(
            RecursionError, MemoryError, ValueError, TypeError, LookupError, AttributeError
        ):
            self.warnings += _determinism.module_warnings(self._tree, getattr(self._definition, "name", None))

    def execute(self) -> bool:
        """Check four."""
        return self.check("execution", self._execution)

    def afresh(self) -> None:
        """Rerun the module's body, as in a worker that has graded no row; names of the old module are emptied."""
        old = self.namespace
        self._execution()
        self.warnings.clear()
        # Functions and their module refer to each other: emptying frees them immediately, without the collector.
        old.clear()

    @property
    def self_contained(self) -> bool:
        """Whether state can persist between rows only in the module's names, according to its text."""
        return bool(_contained.is_self_contained(self._tree))

    @property
    def has_failed(self) -> bool:
        """Whether a check has failed."""
        return not all(passed for _, passed, _, _ in self.results)

    def check(self, name: str, step: Callable[[], str]) -> bool:
        """Run one check and record its result."""
        start = time.perf_counter()
        message, error = attempted(step)
        if error is not None:
            message = str(error) if isinstance(error, CheckFailed) else describe(error)
        self.results.append((name, error is None, message or "", time.perf_counter() - start))
        return error is None

    def _syntax(self) -> str:
        size = len(self.text.encode("utf-8", "surrogatepass"))
        if size > MAX_BYTES:
            raise CheckFailed(f"the source is {size:,} bytes; the limit is {MAX_BYTES:,} (64 KiB)")
        try:
            self._tree = ast.parse(self.text, FILENAME)
            # dont_inherit: the future flag of this file must not disable evaluation of the grader's annotations.
            self._code = compile(self.text, FILENAME, "exec", dont_inherit=True)
        except SyntaxError as error:
            line = f"line {error.lineno}: " if error.lineno else ""
            excerpt = f" in `{error.text.strip()[:120]}`" if error.text else ""
            raise CheckFailed(f"{line}{error.msg}{excerpt}") from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise CheckFailed(f"the source cannot be compiled: {type(error).__name__}: {error}") from None
        count = len(self.text.splitlines())
        return f"{count} {'line compiles' if count == 1 else 'lines compile'}"

    def _structure(self) -> str:
        # The last one counts, as at run time, where a later definition replaces an earlier one.
        definitions = [node for node in self._tree.body if getattr(node, "name", None) == "grade"]
        if definitions and isinstance(definitions[-1], ast.AsyncFunctionDef):
            self._definition = definitions[-1]
            return f"async def grade at line {definitions[-1].lineno}"
        raise CheckFailed(_structure_problem(self._tree, definitions[-1] if definitions else None))

    def _signature(self) -> str:
        assert self._definition is not None
        args = self._definition.args
        positional = [*args.posonlyargs, *args.args]
        extra = [*args.kwonlyargs, *filter(None, (args.vararg, args.kwarg))]
        if len(positional) != 1 or extra:
            names = ", ".join(arg.arg for arg in [*positional, *extra]) or "none"
            raise CheckFailed(
                f"grade must take exactly one parameter, the thread; it takes {len(positional) + len(extra)} ({names})"
            )
        self.warnings += _annotation_warnings(positional[0], self._definition.returns)
        self.warnings += _metadata_warnings(self._tree)
        return f"one parameter, {positional[0].arg}"

    def _execution(self) -> str:
        module = types.ModuleType(MODULE)
        # dataclasses and enums look up their module by name during their creation.
        sys.modules[MODULE] = module
        self.namespace = module.__dict__
        self.namespace.update(self._provided_names())
        # Tracebacks read lines from this cache; without a time (None) an entry is retained although it has no
        # file.
        linecache.cache[FILENAME] = (len(self.text), None, self.text.splitlines(keepends=True), FILENAME)
        exec(self._code, self.namespace)  # noqa: S102 (this is the sandbox)
        return self._loaded()

    def _provided_names(self) -> dict[str, Any]:
        """Names the module has without importing them, as on the platform it was written for."""
        return {"StringThread": self.thread_type}

    def _loaded(self) -> str:
        """Check the result of running the module; sets `grade`."""
        if not callable(self.namespace.get("grade")):
            raise CheckFailed("after the module ran, grade is not callable")
        self.grade = self.namespace["grade"]
        return "the module runs and grade is callable"


def _structure_problem(tree: ast.Module, definition: ast.AST | None) -> str:
    if isinstance(definition, ast.FunctionDef):
        return f"grade must be async: write `async def grade` at line {definition.lineno}"
    if isinstance(definition, ast.ClassDef):
        return (
            f"grade is a class at line {definition.lineno}; a top-level `async def grade(thread)` is needed"
        )
    nested = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == "grade"
    ]
    if nested:
        return f"grade at line {nested[0].lineno} is nested; define it at the top level of the module"
    names = [n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    others = f"; the functions there are {', '.join(names)}" if names else ""
    return f"no top-level `async def grade(thread)`{others}"


def _annotation_warnings(parameter: ast.arg, returns: ast.expr | None) -> list[str]:
    warnings = []
    for subject, annotation, expected in (
        (f"parameter {parameter.arg}", parameter.annotation, ("StringThread",)),
        ("the return", returns, ("float", "Grade")),
    ):
        if annotation is None:
            warnings.append(f"{subject} is not annotated; write {expected[0]}")
        elif not _annotation_names(annotation) <= set(expected):
            warnings.append(f"{subject} is annotated {ast.unparse(annotation)}, not {expected[0]}")
    return warnings


def _annotation_names(annotation: ast.expr) -> set[str]:
    """The last names of an annotation's parts: {"float", "Grade"} of `float | wb.Grade`, also if it is a text."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        text = annotation.value
    else:
        text = ast.unparse(annotation)
    return {part.strip().rsplit(".", 1)[-1] for part in text.split("|")}


def _metadata_warnings(tree: ast.Module) -> list[str]:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and node.attr == "get"
            and isinstance(node.value, ast.Attribute)
            and node.value.attr == "metadata"
        ):
            message = (
                "metadata is None on threads made without it, where .get fails; samples always have a dict"
            )
            return [f"line {node.lineno}: {message}"]
    return []


def describe(error: BaseException) -> str:
    """One sentence with an exception and the grader's line, safe for any `__str__`."""
    text = written(str, error, otherwise="(its message cannot be shown)")
    # Of the type, and `is True`: an untrusted exception may have a `plain` with another meaning.
    name = "" if getattr(type(error), "plain", False) is True else type(error).__name__
    if not name:
        return text[:MAX_MESSAGE] + place(error)
    return (f"{name}: {text}" if text else name)[:MAX_MESSAGE] + place(error)


def written(write: Callable[[Any], str], value: object, *, otherwise: str) -> str:
    """A value as text, also if an untrusted `__str__` or `__repr__` raises."""
    text, error = attempted(lambda: write(value))
    return otherwise if error is not None else text


def attempted(call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    """The result of untrusted code, or its exception of any kind: a `SystemExit` must not end the worker."""
    try:
        return call(), None
    except BaseException as error:  # noqa: BLE001 (see above)
        return None, error


def place(error: BaseException) -> str:
    """The last of the grader's lines in a traceback, in brackets; "" if there is none."""
    # Only the last 50: unbounded recursion leaves a thousand frames, and a line is looked up for each.
    frames = [f for f in traceback.extract_tb(error.__traceback__, limit=-50) if f.filename == FILENAME]
    if not frames:
        return ""
    last = frames[-1]
    line = f": `{last.line.strip()[:120]}`" if last.line else ""
    return f" (line {last.lineno}, in {last.name}{line})"
