"""The five checks, as they run inside the worker. Standard library only; loaded by its path.

Parsing and compiling happen here too, never in the host: four kilobytes of nested `finally` blocks
take seconds and a gigabyte to compile.
"""

from __future__ import annotations

import ast
import linecache
import sys
import time
import traceback
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_unstable = sys.modules["_wb_unstable"]
_contained = sys.modules["_wb_contained"]

FILENAME = "<grader>"
MODULE = "grader"
MAX_BYTES = 65536
MAX_MESSAGE = 2000


class CheckFailed(Exception):  # noqa: N818 (a verdict, not an error)
    """A check has failed; the message is for the author of the grader."""


class Loading:
    """A source on its way through the checks.

    Attributes:
        namespace: The module's names, once it was executed.
        grade: What scores a row: a coroutine function, once the module was executed.
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
    """Whether it may give more than a number a row."""

    def row(self, wire: Any) -> Any:
        """One row, as this grader is given it."""
        return self.thread_type.from_wire(wire)  # type: ignore[attr-defined]

    def mock_row(self, wire: Any) -> tuple[Any, dict[str, str]]:
        """The row of the first test run, and the columns that were made up for it."""
        return self.row(wire), {}

    def static(self) -> bool:
        """Run checks one to three; False as soon as one fails."""
        steps = (self._syntax, self._structure, self._signature)
        return all(self.check(step.__name__.strip("_"), step) for step in steps)

    def look_for_state(self) -> None:
        """Add warnings of what in the text makes a score depend on more than its row, once checks one to three passed."""
        try:
            self.warnings += _unstable.warnings(self._tree, getattr(self._definition, "name", None))
        except Exception:  # noqa: BLE001 (no check: what a strange text keeps from being read is seen in its calls)
            return

    def execute(self) -> bool:
        """Check four."""
        return self.check("execution", self._execution)

    def afresh(self) -> None:
        """Run the module's body anew, as in a worker that has graded nothing; names of the old module are emptied."""
        old = self.namespace
        self._execution()
        self.warnings.clear()
        # Functions and the module that holds them refer to each other: emptied, they go at once, not with the collector.
        old.clear()

    @property
    def self_contained(self) -> bool:
        """Whether nothing of a row outlives the module's own names, as far as its text shows."""
        return bool(_contained.is_self_contained(self._tree))

    @property
    def has_failed(self) -> bool:
        """Whether a check has failed."""
        return not all(passed for _, passed, _, _ in self.results)

    def check(self, name: str, step: Callable[[], str]) -> bool:
        """Run one check and note its result."""
        start = time.perf_counter()
        try:
            message = step()
            passed = True
        except CheckFailed as error:
            message, passed = str(error), False
        except BaseException as error:  # noqa: BLE001 (whatever a stranger's module raises is its result)
            message, passed = describe(error), False
        self.results.append((name, passed, message or "", time.perf_counter() - start))
        return passed

    def _syntax(self) -> str:
        size = len(self.text.encode("utf-8", "surrogatepass"))
        if size > MAX_BYTES:
            raise CheckFailed(f"the source is {size:,} bytes; the limit is {MAX_BYTES:,} (64 KiB)")
        try:
            self._tree = ast.parse(self.text, FILENAME)
            # dont_inherit: the future flag of this file must not leave the grader's annotations unread.
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
        # The last one counts, as when the module runs: there a later definition replaces an earlier one.
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
        # dataclasses and enums look their module up by name while they are made.
        sys.modules[MODULE] = module
        self.namespace = module.__dict__
        self.namespace.update(self._provided_names())
        # Tracebacks read lines from this cache; without a time (None) an entry is kept although it has no
        # file.
        linecache.cache[FILENAME] = (len(self.text), None, self.text.splitlines(keepends=True), FILENAME)
        exec(self._code, self.namespace)  # noqa: S102 (this is the sandbox)
        return self._loaded()

    def _provided_names(self) -> dict[str, Any]:
        """Names the module has without importing them, as on the platform it is written for."""
        return {"StringThread": self.thread_type}

    def _loaded(self) -> str:
        """What there must be once the module has run; sets `grade`."""
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
        return f"grade at line {nested[0].lineno} is nested; it must stand at the top level of the module"
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
    """The last names of an annotation's parts: {"float", "Grade"} of `float | wb.Grade`, also where it is a text."""
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
    """One sentence of an exception and the grader's own line, whatever its `__str__` does."""
    try:
        text = str(error)
    except BaseException:  # noqa: BLE001 (a stranger's __str__)
        text = "(its message cannot be shown)"
    # Of the type, and `is True`: a stranger's exception may have a `plain` that means something else.
    name = "" if getattr(type(error), "plain", False) is True else type(error).__name__
    if not name:
        return text[:MAX_MESSAGE] + place(error)
    return (f"{name}: {text}" if text else name)[:MAX_MESSAGE] + place(error)


def place(error: BaseException) -> str:
    """The last of the grader's own lines in a traceback, in brackets; "" where there is none."""
    # Only the last 50: a recursion without end leaves a thousand frames, and a line is looked up for each.
    frames = [f for f in traceback.extract_tb(error.__traceback__, limit=-50) if f.filename == FILENAME]
    if not frames:
        return ""
    last = frames[-1]
    line = f": `{last.line.strip()[:120]}`" if last.line else ""
    return f" (line {last.lineno}, in {last.name}{line})"
