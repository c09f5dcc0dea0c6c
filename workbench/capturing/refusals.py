"""Why a name cannot be captured, and what to do instead: one function a reason."""

from __future__ import annotations

import ast
from typing import Any

from workbench.errors import CaptureError
from workbench.python_text import parse

__all__ = [
    "foreign_number",
    "grade_twice",
    "in_steps",
    "library_changed",
    "nested",
    "no_statement",
    "not_followed",
    "not_one_statement",
    "notebook_only",
    "ours_only",
    "reads_globals",
    "refuse_clock",
    "refuse_dunder",
    "refuse_moment",
    "replaced",
    "too_large",
    "two_things",
    "undefined",
]

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
    """A name that nothing sets now."""
    return CaptureError(
        f"{name} is not defined",
        where=asker,
        found="no such name in the notebook or module now",
        expected="everything the function reads is there when it is captured",
        hint=f"run the cell that defines {name} first, then capture again",
    )


def notebook_only(name: str, asker: str) -> CaptureError:
    """A name that only a notebook has, magics included."""
    return CaptureError(
        f"{name} exists only in a notebook",
        where=asker,
        found="a magic, a shell line or a name that IPython puts there",
        expected="plain Python",
        hint="take the magic or the notebook's name out of the function and what it calls",
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
    """A value whose text alone is larger than a source may be."""
    return CaptureError(
        f"{name} is too large to be carried as source",
        found=f"a value that takes more than {size:,} characters or entries",
        expected="at most 65,536 bytes (64 KiB) for the whole source",
        hint="move it into a column of the data and read it from thread.metadata",
    )


def grade_twice(author: str) -> CaptureError:
    """A helper called grade beside a function that will be called grade."""
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
        found="a closure, or an inner def, whose variables have no text of their own",
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
    give = f'give it its names: {name}(text, {{"K": K}}); or ' if name in {"eval", "exec"} else ""
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
        f"{name} is another value here than elsewhere",
        found=f"now {live_value}; where a grader runs it is {module_value}",
        expected="the standard library as it is elsewhere",
        hint=f"keep your value under a name of its own, and read that instead of {name}",
    )


def ours_only(name: str, asker: str) -> CaptureError:
    """A part of the workbench that is not there where a grader runs."""
    return CaptureError(
        f"{name} is a part of the workbench that graders cannot use",
        where=asker,
        found=f"{name}: where a grader runs, the module workbench holds StringThread, Grade and Skip only",
        expected="the standard library, StringThread, Grade and Skip",
        hint="keep shared logic in a plain function; combine graders in a Suite",
    )


def foreign_number(name: str, value: Any, asker: str) -> CaptureError:
    """A number or text of another package's type, as pandas and numpy hand out."""
    return CaptureError(
        f"{name} is a {type(value).__module__.partition('.')[0]} number, not one of Python's",
        where=asker,
        found=f"{name} is a {type(value).__name__}",
        expected="a value that graders have where nothing else is installed",
        hint=f"write {name} = {name}.item() after it is computed",
    )


def replaced(name: str, asker: str) -> CaptureError:
    """A part of the standard library that was patched here."""
    return CaptureError(
        f"{name} was replaced by something else",
        where=asker,
        found="a function or class that does not come from the standard library",
        expected="the standard library as it is elsewhere",
        hint=f"give your own version a name of its own and call that instead of {name}",
    )


def no_statement(name: str, value: Any, asker: str) -> CaptureError:
    """An object without a text that makes it."""
    return CaptureError(
        f"{name} cannot be written as source",
        where=asker,
        found=f"a live {_kind(value)}, and no statement in any known cell that makes it",
        expected="a plain value, an import, or a function, class or object made by one statement",
        hint=f"make {name} by one assignment in a cell, or move it into the function",
    )


def not_one_statement(name: str, value: Any, node: ast.stmt) -> CaptureError:
    """An object made by a loop, a with block, or by changing what was there."""
    return CaptureError(
        f"{name} is not made by one assignment",
        where=f"line {node.lineno} of its cell",
        found=f"a live {_kind(value)}, last set by a {_words(node)} statement",
        expected=f"one statement: {name} = ...",
        hint=f"write {name} = ... in one statement, or build it in a function and call that",
    )


def in_steps(name: str) -> CaptureError:
    """An object whose newest assignment reads its own older value."""
    return CaptureError(
        f"{name} is made in several steps",
        found=f"an assignment that reads the value {name} had before",
        expected="one statement that makes the whole",
        hint=f"write {name} = ... in one statement, or give the steps different names",
    )


def refuse_dunder(name: str, asker: str) -> None:
    """Stop at names such as `__name__` and `__file__`, which differ from module to module.

    Raises:
        CaptureError: Always, for such a name.
    """
    if name.startswith("__") and name.endswith("__") and len(name) > 4:
        raise CaptureError(
            f"{name} means something else in another module",
            where=asker,
            expected="values that do not depend on where the function stands",
            hint=f"keep the value you want in a constant instead of reading {name}",
        )


def refuse_moment(name: str, node: ast.stmt) -> None:
    """Stop at an assignment that gives another value whenever it runs: the clock, chance, files.

    Raises:
        CaptureError: Names the call.
    """
    value = getattr(node, "value", None)
    for part in ast.walk(value) if isinstance(value, ast.AST) else ():
        if _function_name(part) in _MOMENT:
            raise _moment(name, _function_name(part))


def refuse_clock(name: str, helper_text: str) -> None:
    """Stop at an object made by a helper that reads the clock or draws at random.

    The proof compares values; a date is the same until midnight, so it would not notice.

    Raises:
        CaptureError: Names the call.
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
