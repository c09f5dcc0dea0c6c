"""The texts of executed cells, in IPython and in marimo, and the definition of a live function among them.

IPython compiles a cell under a generated file name and stores its text in `linecache`, transformed (magics
have become calls). That cache can be emptied (`linecache.clearcache`), shares one name between cells under
some settings, and has no entry for `%%time`; so an event records each cell before it runs, and the cache is the fallback.
marimo compiles cells under the notebook's file, or a temporary name, whose text may be older than the running code; the
executed text is in its runtime, for which it has no public name.

`inspect.getsource` trusts a file name and a line number, and returns another function's text if
the file was edited after its import. Here a found definition is compiled again and compared with the
live code. IPython compiles each statement of a cell by itself and a module is compiled whole, which
gives different code for the same text, so both ways are tried before a source is called stale.
"""

from __future__ import annotations
import __future__

import ast
import inspect
import linecache
import re
import sys
import types
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.core.errors import CaptureError
from workbench.core.user_functions import attempt
from workbench.graders.capture.source_edit import Definition, definitions, first_line, parsed, statement_text
from workbench.sandbox.child.fingerprint import code_facts

_CELL_MARKS = ("<ipython-input", "<python-input")
_TIMED = "<timed exec>"


@dataclass(frozen=True, slots=True)
class CellText:
    """One text that was executed.

    Attributes:
        text: The compiled text: magics are calls here.
        filename: The name under which it was compiled.
        label: For users: "cell 3", "a cell", "graders.py".
    """

    text: str
    filename: str
    label: str


_records: dict[int, tuple[Mapping[str, Any], list[CellText]]] = {}
"""By the id of a shell's namespace, which is stored with its texts so that the id remains unique."""


def install(ip: Any = None) -> bool:
    """Start to record the cells of a shell; calling it again changes nothing.

    Args:
        ip: An IPython shell; the running one by default.

    Returns:
        Whether cells are recorded now.
    """
    shell = ip if ip is not None else _running_shell()
    if shell is None:
        return False
    namespace = shell.user_global_ns
    if id(namespace) not in _records:
        _records[id(namespace)] = (namespace, [])
        shell.events.register("pre_run_cell", lambda info: _remember(shell, info))
    return True


def texts_for(namespace: Mapping[str, Any]) -> list[CellText]:
    """Every text that may have filled a namespace, oldest first: cells, or the module's file."""
    recorded = _recorded(namespace)
    filenames = {text.filename for text in recorded}
    cached = [text for text in _cached_cells(namespace) if text.filename not in filenames]
    filename = namespace.get("__file__")
    from_file = file_text(filename) if isinstance(filename, str) else None
    return [*([from_file] if from_file else []), *cached, *_of_marimo(namespace), *recorded]


def texts_named(filename: str, namespace: Mapping[str, Any]) -> list[CellText]:
    """The texts compiled under a file name, newest first."""
    recorded = [text for text in reversed(_recorded(namespace)) if text.filename == filename]
    texts = [*recorded, *_of_marimo(namespace), *filter(None, [_cached(filename), _on_disk(filename)])]
    return list({text.text: text for text in texts}.values())


def file_text(filename: str) -> CellText | None:
    """A file's text as Python loaded it if that is still known, else the current text on disk."""
    return _cached(filename) or _on_disk(filename)


def _recorded(namespace: Mapping[str, Any]) -> list[CellText]:
    record = _records.get(id(namespace))
    return record[1] if record is not None else []


def _of_marimo(namespace: Mapping[str, Any]) -> list[CellText]:
    return [CellText(text, f"<marimo cell {name}>", "a cell") for name, text in marimo_cells(namespace)]


def _running_shell() -> Any:
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None


def _remember(shell: Any, info: Any) -> None:
    """Record one cell. An error would appear in the user's notebook; the cell's text is then in linecache."""
    attempt(
        lambda: _recorded(shell.user_global_ns).extend(
            _texts_of_cell(shell, info.raw_cell, bool(info.store_history))
        )
    )


def _texts_of_cell(shell: Any, raw: str, counted: bool) -> list[CellText]:
    number = shell.execution_count
    label = f"cell {number}" if counted else "a cell"
    head, _, body = raw.lstrip().partition("\n")
    if head.startswith("%%time"):
        return [CellText(shell.transform_cell(body), _TIMED, label)]
    transformed = shell.transform_cell(raw)
    return [CellText(transformed, _cell_name(shell, raw, transformed, number), label)]


def _cell_name(shell: Any, raw: str, transformed: str, number: int) -> str:
    if hasattr(shell.compile, "get_code_name"):
        return str(shell.compile.get_code_name(raw, transformed, number))
    from IPython.core.compilerop import code_name

    return str(code_name(transformed, number))  # IPython 7, as on Colab


def _cached_cells(namespace: Mapping[str, Any]) -> list[CellText]:
    shell = _running_shell()
    is_shell_namespace = shell is not None and shell.user_global_ns is namespace
    if not is_shell_namespace and namespace.get("__name__") != "__main__":
        return []
    # A copy: another thread may be adding to the cache.
    names = [name for name in list(linecache.cache) if _is_cell(name)]
    return [text for text in map(_cached, names) if text is not None]


def _is_cell(name: str) -> bool:
    path = Path(name)
    return (
        name.startswith(_CELL_MARKS)
        or path.parent.name.startswith("ipykernel_")
        or path.name.startswith("__marimo__cell_")
    )


def _cached(filename: str) -> CellText | None:
    # Only the cached text: for other names getlines would read the current file.
    lines = linecache.getlines(filename) if filename in linecache.cache else []
    return CellText("".join(lines), filename, _label(filename)) if lines else None


def _on_disk(filename: str) -> CellText | None:
    if filename.startswith("<") or not Path(filename).is_file():
        return None
    linecache.checkcache(filename)
    lines = linecache.getlines(filename)
    return CellText("".join(lines), filename, _label(filename)) if lines else None


def _label(filename: str) -> str:
    if not _is_cell(filename):
        return Path(filename).name
    compiler = getattr(_running_shell(), "compile", types.SimpleNamespace())
    number = getattr(compiler, "_filename_map", {}).get(filename)
    return "a cell" if number is None else f"cell {number}"


_PRIVATE = re.compile(r"_cell_[A-Za-z]{4}_\w+")


def marimo_cells(namespace: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The name and the text of each cell of the marimo notebook that defines a namespace; none elsewhere."""
    runtime = sys.modules.get("marimo._runtime.context")
    if runtime is None:
        return []

    def read() -> list[tuple[str, str]]:
        context = runtime.get_context()
        if context.globals is not namespace:
            return []
        return [(str(cell.cell_id), str(cell.code)) for cell in list(context.graph.cells.values())]

    # In another version of marimo, or outside a notebook, texts of files remain.
    cells = attempt(read)
    return [] if isinstance(cells, Exception) else cells


def private_names(names: Iterator[str]) -> list[str]:
    """Names of a function that marimo made private to a cell, in their original form."""
    return [name[len("_cell_xxxx") :] for name in names if _PRIVATE.fullmatch(name)]


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
