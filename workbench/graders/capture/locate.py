"""Find the text of a live function or class, and check that it is that text.

`inspect.getsource` trusts a file name and a line number, and returns another function's text if
the file was edited after its import. Here a found definition is compiled again and compared with the
live code. IPython compiles each statement of a cell by itself and a module is compiled whole, which
gives different code for the same text, so both ways are tried before a source is called stale.
"""

from __future__ import annotations
import __future__

import ast
import inspect
import types
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.core.errors import CaptureError
from workbench.graders.capture.cells import CellText, private_names, texts_for, texts_named
from workbench.graders.capture.source_edit import Definition, definitions, first_line, parsed, statement_text
from workbench.sandbox.child.fingerprint import code_facts

# The flags that still change what a text compiles to; `annotations` is the common one.
_FUTURE_FLAGS = __future__.annotations.compiler_flag | __future__.barry_as_FLUFL.compiler_flag


@dataclass(frozen=True, slots=True)
class Found:
    """A definition in a text.

    Attributes:
        node: Its tree, with the positions it has in `source`'s text.
        text: Its lines, including decorators and comments, at the left margin.
        source: The text that contains it.
    """

    node: ast.stmt
    text: str
    source: CellText

    @property
    def origin(self) -> str:
        """Its location for users: "cell 3", or "graders.py:12"."""
        is_cell = self.source.label.endswith("cell") or self.source.label.startswith("cell ")
        return self.source.label if is_cell else f"{self.source.label}:{self.node.lineno}"


def find_function(function: types.FunctionType) -> Found:
    """The definition a live function was compiled from.

    Raises:
        CaptureError: There is no source text, or none that compiles to this function.
    """
    code = function.__code__
    texts = texts_named(code.co_filename, function.__globals__)
    if not texts:
        raise _no_source(function)
    for text in texts:
        for node in _nearest_first(definitions(text.text, code.co_name), code.co_firstlineno):
            if not isinstance(node, ast.ClassDef) and _proves(text, node, code):
                return Found(node, statement_text(text.text, node), text)
    private = private_names(name for part in (code, *_functions(code)) for name in part.co_names)
    raise _private(function, private[0]) if private else _stale(function, texts[0])


def find_class(cls: type, namespace: Mapping[str, Any]) -> Found | None:
    """The definition a live class seems to be from, None if no class statement matches.

    A class has no separate code to compare, so its methods are compared; the check in the sandbox
    decides the rest.
    """
    for text in reversed(texts_for(namespace)):
        for node in reversed(definitions(text.text, cls.__name__)):
            if isinstance(node, ast.ClassDef) and _matches_class(text, node, cls):
                return Found(node, statement_text(text.text, node), text)
    return None


def _nearest_first(nodes: list[Definition], line: int) -> list[Definition]:
    return sorted(nodes, key=lambda node: abs(first_line(node) - line))


def _proves(text: CellText, node: Definition, code: types.CodeType) -> bool:
    facts = (code_facts(code), code.co_exceptiontable)
    return any(
        (code_facts(compiled), compiled.co_exceptiontable) == facts
        for compiled in _compiled(text, node, code)
    )


def _compiled(text: CellText, node: Definition, code: types.CodeType) -> Iterator[types.CodeType]:
    """The code of one definition, compiled alone and together with its text."""
    tree = parsed(text.text)
    assert tree is not None
    for unit in (ast.Module([node], []), tree):
        module = _compile(unit, code.co_flags)
        inner = (part for part in _functions(module) if part.co_name == code.co_name)
        yield from (part for part in inner if part.co_firstlineno == first_line(node))


def _compile(unit: ast.Module, flags: int) -> types.CodeType | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Top-level await as in a cell; here it does not change the functions inside.
            flags = (flags & _FUTURE_FLAGS) | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            code = compile(unit, "<capture>", "exec", flags=flags, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return code if isinstance(code, types.CodeType) else None


def _functions(code: types.CodeType | None) -> Iterator[types.CodeType]:
    """Code of the functions defined by a unit, those under type parameters too."""
    for part in code.co_consts if code is not None else ():
        if isinstance(part, types.CodeType):
            yield part
            yield from _functions(part)


def _matches_class(text: CellText, node: ast.ClassDef, cls: type) -> bool:
    """Whether each plain method in the text is the live class's method of that name."""
    members = vars(cls)
    if any(not isinstance(members.get(name), type) and name not in members for name in _defined(node)):
        return False
    methods = [part for part in node.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)]
    plain = [part for part in methods if not part.decorator_list]
    functions = [(part, members[part.name]) for part in plain]
    pairs = [(part, live) for part, live in functions if isinstance(live, types.FunctionType)]
    return all(_method_proves(text, node, part, live) for part, live in pairs)


def _defined(node: ast.ClassDef) -> Iterable[str]:
    definitions_ = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [part.name for part in node.body if isinstance(part, definitions_) and part.name[:2] != "__"]


def _method_proves(text: CellText, node: ast.ClassDef, method: ast.stmt, live: types.FunctionType) -> bool:
    module = parsed(text.text)
    assert module is not None
    facts = code_facts(live.__code__)
    for unit in (ast.Module([node], []), module):
        for part in _functions(_compile(unit, live.__code__.co_flags)):
            if part.co_firstlineno == first_line(method) and code_facts(part) == facts:
                return True
    return False


def _no_source(function: types.FunctionType) -> CaptureError:
    return CaptureError(
        f"no source text of {function.__name__} can be found",
        where=function.__code__.co_filename,
        found="a function made by exec, by `python -c`, on standard input, or in a cell nothing recorded",
        expected="a function written in a notebook cell or a .py file",
        hint="pass the text itself: FunctionGrader.from_source(text), or run the cell again",
    )


def _private(function: types.FunctionType, name: str) -> CaptureError:
    return CaptureError(
        f"{function.__name__} reads {name}, which marimo keeps private to one cell",
        expected="names that do not begin with _",
        hint=f"call it {name.lstrip('_') or 'something else'}, and run the cell again",
    )


def _stale(function: types.FunctionType, text: CellText) -> CaptureError:
    code = function.__code__
    file = inspect.getmodulename(code.co_filename) is not None
    step = "reload the module or restart the kernel" if file else "run the cell that defines it again"
    return CaptureError(
        f"the source of {function.__name__} is stale: it changed after the function was defined",
        where=f"{text.label}, line {code.co_firstlineno}",
        found="text that does not compile to the function in memory",
        expected="the text the function was made from",
        hint=f"{step}, so that text and function agree",
    )
