"""Errors for names that cannot be captured, with hints (one function per reason), and the state of a capture."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from workbench.core.errors import CaptureError
from workbench.core.python_text import parse
from workbench.graders.capture.cell_texts import CellText, texts_for

MISSING: Any = object()
"""Sentinel for a missing name, because None could be a value."""


@dataclass(frozen=True)
class Scope:
    """One module's live names, and the texts that defined them.

    Attributes:
        namespace: The globals a function reads.
    """

    namespace: Mapping[str, Any]

    @cached_property
    def texts(self) -> list[CellText]:
        """Texts that may have defined names of the namespace, oldest first."""
        return texts_for(self.namespace)

    def get(self, name: str) -> Any:
        """The current value of a name, or `MISSING`."""
        return self.namespace.get(name, MISSING)

    def __eq__(self, other: object) -> bool:
        # By identity: comparing the values of equal modules would run the notebook's code.
        return isinstance(other, Scope) and other.namespace is self.namespace

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class CapturedItem:
    """One piece of the module to build.

    Attributes:
        name: The name it sets.
        text: Its statement.
        eager: Names it reads when it runs.
        late: Names it reads when called.
        constant: A plain value, rather than a function, class or other object.
        definition: A def or class, which is separated by blank lines.
    """

    name: str
    text: str
    eager: frozenset[str] = frozenset()
    late: frozenset[str] = frozenset()
    constant: bool = False
    definition: bool = False


@dataclass
class Main:
    """The grade function while it is captured.

    Attributes:
        value: The live function.
        name: The name its author gave it.
        scope: Where its own name is looked up.
        ours: A workbench decorator made it a grader, so that its name may refer to that grader now.
        called: Whether any code reads the function under the author's name.
    """

    value: Any
    name: str
    scope: Scope
    ours: bool = False
    called: bool = field(default=False)

    def is_meant(self, name: str, scope: Scope) -> bool:
        """Whether a name in a scope means this function."""
        if name != self.name or scope != self.scope:
            return False
        value = scope.get(name)
        # Not bound: a decorator captures while the cell still runs.
        return self.ours or value is self.value or value is MISSING


_MOMENT_NAMES = (
    "now today utcnow time time_ns perf_counter perf_counter_ns monotonic monotonic_ns process_time localtime "
    "gmtime random randint randrange randbytes choice choices shuffle sample uniform gauss getrandbits urandom "
    "uuid1 uuid4 token_hex token_bytes token_urlsafe SystemRandom input open getenv getpid gethostname getcwd "
    "cwd home read_text read_bytes iterdir glob rglob listdir system getpass getuser run Popen check_output "
    "urlopen id"
)
_MOMENT = frozenset(_MOMENT_NAMES.split())
_CLOCK = frozenset(
    [
        "now",
        "today",
        "utcnow",
        "time",
        "time_ns",
        "localtime",
        "gmtime",
        "perf_counter",
        "monotonic",
        "randint",
        "uuid4",
    ]
)


def undefined(name: str, asker: str) -> CaptureError:
    """A name that is not set now."""
    return CaptureError(
        f"{name} is not defined",
        where=asker,
        found="no such name in the notebook or module now",
        expected="all names that the function reads exist when it is captured",
        hint=f"run the cell that defines {name} first, then capture again",
    )


def notebook_only(name: str, asker: str) -> CaptureError:
    """A name that exists only in a notebook, including magics."""
    return CaptureError(
        f"{name} exists only in a notebook",
        where=asker,
        found="a magic, a shell line or a name that IPython defines",
        expected="plain Python",
        hint="remove the magic or the notebook's name from the function and from what it calls",
    )


def two_things(name: str, asker: str) -> CaptureError:
    """One name with two values in two modules."""
    return CaptureError(
        f"two different things are called {name}",
        where=asker,
        found="functions that come from different files or versions read different values under one name",
        expected="one meaning for each name, because a grader is one module",
        hint=f"rename one of the two, or run the cell that defines {name} and its users again",
    )


def too_large(name: str, size: int) -> CaptureError:
    """A value whose text alone exceeds the maximum size of a source."""
    return CaptureError(
        f"{name} is too large to be captured as source",
        found=f"a value that takes more than {size:,} characters or entries",
        expected="at most 65,536 bytes (64 KiB) for the whole source",
        hint="move it into a column of the data and read it from thread.metadata",
    )


def grade_twice(author: str) -> CaptureError:
    """A helper called grade in addition to a function that will be called grade."""
    return CaptureError(
        "two things called grade",
        where=author,
        found=f"{author} is exported under the name grade, and something it needs has that name already",
        expected="no other name grade in the module",
        hint="rename the other one, for example to grade_text",
    )


def nested(name: str) -> CaptureError:
    """A function made by another function."""
    return CaptureError(
        f"{name} is nested: it was made inside another function",
        found="a closure, or an inner def, whose variables have no separate text",
        expected="an async def at the top level of a cell or module",
        hint="move it to the top level and make the variables it uses constants; "
        "a decorator should use functools.wraps",
    )


def reads_globals(asker: str) -> CaptureError:
    """`globals()`, which can read any name."""
    return CaptureError(
        "globals() cannot be followed",
        where=asker,
        found="a function that may read any name of the notebook",
        expected="names written out",
        hint="read the names directly, or keep the values in a dict",
    )


def not_followed(name: str, asker: str) -> CaptureError:
    """A call that looks names up by text when it runs."""
    give = f'pass its names: {name}(text, {{"K": K}}); or ' if name in {"eval", "exec"} else ""
    return CaptureError(
        f"{name}() cannot be followed",
        where=asker,
        found="a call that may read any name of the notebook",
        expected="names written out, or a literal text",
        hint=f"{give}read the names directly",
    )


def library_changed(name: str, live_value: str, module_value: str) -> CaptureError:
    """A plain value of the standard library that was changed here, or depends on the machine."""
    return CaptureError(
        f"{name} has another value here than elsewhere",
        found=f"now {live_value}; where a grader runs it is {module_value}",
        expected="the unchanged standard library",
        hint=f"store your value under another name, and read that instead of {name}",
    )


def ours_only(name: str, asker: str) -> CaptureError:
    """A part of the workbench that does not exist where a grader runs."""
    return CaptureError(
        f"{name} is a part of the workbench that graders cannot use",
        where=asker,
        found=f"{name}: where a grader runs, the module workbench contains only StringThread, Grade and Skip",
        expected="the standard library, StringThread, Grade and Skip",
        hint="keep shared logic in a plain function; combine graders in a Suite",
    )


def foreign_number(name: str, value: Any, asker: str) -> CaptureError:
    """A number or text of another package's type, as pandas and numpy hand out."""
    return CaptureError(
        f"{name} is a {type(value).__module__.partition('.')[0]} number, not one of Python's",
        where=asker,
        found=f"{name} is a {type(value).__name__}",
        expected="a value of a built-in type: graders run without other packages",
        hint=f"write {name} = {name}.item() after it is computed",
    )


def replaced(name: str, asker: str) -> CaptureError:
    """A part of the standard library that was patched here."""
    return CaptureError(
        f"{name} was replaced by something else",
        where=asker,
        found="a function or class that does not come from the standard library",
        expected="the unchanged standard library",
        hint=f"give your version another name and call that instead of {name}",
    )


def no_statement(name: str, value: Any, asker: str) -> CaptureError:
    """An object without a statement that creates it."""
    return CaptureError(
        f"{name} cannot be written as source",
        where=asker,
        found=f"a live {_kind(value)}, and no statement in any known cell that creates it",
        expected="a plain value, an import, or a function, class or object made by one statement",
        hint=f"create {name} by one assignment in a cell, or move it into the function",
    )


def not_one_statement(name: str, value: Any, node: ast.stmt) -> CaptureError:
    """An object created by a loop, a with block, or by changing an existing one."""
    return CaptureError(
        f"{name} is not made by one assignment",
        where=f"line {node.lineno} of its cell",
        found=f"a live {_kind(value)}, last set by a {_words(node)} statement",
        expected=f"one statement: {name} = ...",
        hint=f"write {name} = ... in one statement, or build it in a function and call that",
    )


def in_steps(name: str) -> CaptureError:
    """An object whose newest assignment reads its older value."""
    return CaptureError(
        f"{name} is made in several steps",
        found=f"an assignment that reads the value {name} had before",
        expected="one statement that creates the whole value",
        hint=f"write {name} = ... in one statement, or give the steps different names",
    )


def refuse_dunder(name: str, asker: str) -> None:
    """Refuse names such as `__name__` and `__file__`, which differ from module to module.

    Raises:
        CaptureError: Always, for such a name.
    """
    if name.startswith("__") and name.endswith("__") and len(name) > 4:
        raise CaptureError(
            f"{name} has another value in another module",
            where=asker,
            expected="values that do not depend on the module of the function",
            hint=f"store the value in a constant instead of reading {name}",
        )


def refuse_moment(name: str, node: ast.stmt) -> None:
    """Refuse an assignment that gives another value whenever it runs: clock, randomness, files.

    Raises:
        CaptureError: With the call.
    """
    value = getattr(node, "value", None)
    for part in ast.walk(value) if isinstance(value, ast.AST) else ():
        if _function_name(part) in _MOMENT:
            raise _moment(name, _function_name(part))


def refuse_clock(name: str, helper_text: str) -> None:
    """Refuse an object created by a helper that reads the clock or draws at random.

    The check in the sandbox compares values; a date is the same until midnight, so it would not detect this.

    Raises:
        CaptureError: With the call.
    """
    for part in ast.walk(parse(helper_text)):
        if _function_name(part) in _CLOCK:
            raise _moment(name, _function_name(part))


def _moment(name: str, function: str) -> CaptureError:
    return CaptureError(
        f"{name} depends on when and where it is made",
        found=f"a call of {function}() on the way to its value",
        expected="a statement that gives the same value each time",
        hint=f"write the value itself, or a plain form of it: {name} = ...",
    )


def _function_name(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _kind(value: Any) -> str:
    return type(value).__name__


def _words(node: ast.stmt) -> str:
    names = {
        "AugAssign": "+= (or like)",
        "ImportFrom": "from ... import",
        "AsyncFor": "for",
        "AsyncWith": "with",
    }
    kind = type(node).__name__
    return names.get(kind, kind.lower())
