"""One module's text: assembled from the captured pieces of a function, or given by its author.

A statement that reads a name when it runs must be below everything that reading may use: the
name itself and all its dependencies when it is called. Beyond that, pieces are in the conventional order:
imports, then dependencies before their users.

A text that already is a module keeps its order, without the workbench's decorators and with the values it reads. Nothing here
compiles or runs it. It may be untrusted, and even compiling can take seconds and gigabytes; the sandbox does that. A text that
cannot be parsed is captured unchanged, so that the first check of the validation reports it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.core.errors import CaptureError
from workbench.graders.capture import refusals
from workbench.graders.capture.analysis import candidates, without_unread
from workbench.graders.capture.capture_check import Fingerprint, prove
from workbench.graders.capture.modules import EVALUATES, GIVEN, Import, library_values, refuse_library_state
from workbench.graders.capture.refusals import CapturedItem, Scope
from workbench.graders.capture.resolve import Resolver
from workbench.graders.capture.source import Source
from workbench.graders.capture.source_edit import (
    Function,
    chains_in,
    has_scopes,
    names_in,
    parsed,
    replaced_name,
    statements,
    targets,
)

FUTURE = "from __future__ import annotations"


def arranged(items: Mapping[str, CapturedItem], roots: Iterable[str]) -> list[CapturedItem]:
    """Items in an order in which they load, found by walking from `roots`."""
    reading = _reading_order(items, [*roots, *sorted(items)])
    placed: dict[str, CapturedItem] = {}
    open_: set[str] = set()
    for name in reading:
        _place(name, items, reading, (placed, open_))
    return list(placed.values())


def assembled(items: Sequence[CapturedItem], imports: Sequence[str], *, future: bool) -> str:
    """The module's text: two blank lines around definitions, none between constants."""
    blocks = ["\n".join(imports)] if imports else []
    if future:
        blocks.insert(0, FUTURE)
    text = "\n\n".join(blocks)
    before: CapturedItem | None = None
    texts: set[str] = set()
    for item in items:
        if item.text in texts:
            continue  # one statement that sets two names
        texts.add(item.text)
        text += _gap(text, before, item) + item.text
        before = item
    return text.rstrip() + "\n"


def import_lines(imports: Mapping[str, set[Import]]) -> list[str]:
    """Import lines without doubles: whole modules first, then names, those of one module on one line."""
    statements = {import_ for lines in imports.values() for import_ in lines}
    modules = sorted(str(import_) for import_ in statements if not import_.attribute)
    names: dict[str, list[str]] = {}
    for import_ in sorted(import_ for import_ in statements if import_.attribute):
        names.setdefault(import_.module, []).append(str(import_).partition(" import ")[2])
    return modules + [f"from {module} import {', '.join(parts)}" for module, parts in sorted(names.items())]


def _gap(text: str, before: CapturedItem | None, item: CapturedItem) -> str:
    if not text:
        return ""
    if item.definition or (before is not None and before.definition):
        return "\n\n\n"
    return "\n\n" if before is None else "\n"


def _reading_order(items: Mapping[str, CapturedItem], roots: Iterable[str]) -> list[str]:
    """Dependencies before their users, as far as circular reads allow."""
    order: dict[str, None] = {}
    entered: set[str] = set()

    def visit(name: str) -> None:
        if name in entered or name not in items:
            return
        entered.add(name)
        item = items[name]
        # Sets are unordered: sorted, one function always makes the same text.
        for needed in sorted(item.eager | item.late, key=lambda n: (not _is_constant(items, n), n)):
            visit(needed)
        order[name] = None

    for root in roots:
        visit(root)
    return list(order)


def _is_constant(items: Mapping[str, CapturedItem], name: str) -> bool:
    return name in items and items[name].constant


def _place(
    name: str,
    items: Mapping[str, CapturedItem],
    reading: list[str],
    state: tuple[dict[str, CapturedItem], set[str]],
) -> None:
    placed, open_ = state
    # Open: functions that call each other may be in any order.
    if name in placed or name in open_:
        return
    open_.add(name)
    first = names_read_by_running(name, items)
    for needed in reading:
        if needed in first:
            _place(needed, items, reading, state)
    placed[name] = items[name]


def names_read_by_running(name: str, items: Mapping[str, CapturedItem]) -> set[str]:
    """Everything that running one item may read: its names, and their dependencies when called."""
    pending, reached = list(items[name].eager), set[str]()
    while pending:
        needed = pending.pop()
        if needed in items and needed not in reached:
            reached.add(needed)
            pending += items[needed].eager | items[needed].late
    return reached - {name}


def decorated(text: str) -> dict[str, dict[str, Any]]:
    """The top-level functions with the workbench's decorator, in order, each with the decorator's literal settings.

    A setting that is not a literal is ignored: nothing of the text is evaluated.
    """
    tree = parsed(text)
    if tree is None:
        return {}
    decorators = _names_of_ours(tree)
    settings = {}
    for node in tree.body:
        for mark in node.decorator_list if isinstance(node, Function) else ():
            if _dotted(mark) in decorators and isinstance(node, Function):
                settings[node.name] = _settings(mark)
    return settings


def undecorated(text: str) -> str:
    """The text without the workbench's decorators, and without the script around the graders.

    A file with `@wb.grader` often continues by reading samples and printing a report. Top-level expressions, the
    `__main__` block, and statements that read the workbench, a grader, or a variable set by such a statement, are
    not part of a grader and could not run where it runs. The other statements are unchanged.
    """
    tree = parsed(text)
    if tree is None:
        return text
    decorators = _names_of_ours(tree)
    marks = [mark for node in tree.body if isinstance(node, Function) for mark in node.decorator_list]
    removed = [mark for mark in marks if _dotted(mark) in decorators] + _script(tree, set(decorated(text)))
    lines = text.split("\n")
    # From the bottom up: removing lines must not move those still to be removed.
    for node in sorted(removed, key=lambda node: node.lineno, reverse=True):
        del lines[node.lineno - 1 : node.end_lineno]
    return "\n".join(lines)


def _script(tree: ast.Module, graders: set[str]) -> list[ast.stmt]:
    """The statements that use the graders instead of defining them."""
    tainted = graders | _names_of_workbench(tree)
    statements: list[ast.stmt] = []
    for at, node in enumerate(tree.body):
        if isinstance(node, Function | ast.ClassDef | ast.Import | ast.ImportFrom):
            continue
        docstring = at == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        reads = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
        if not docstring and (isinstance(node, ast.Expr) or reads & (tainted | {"__name__"})):
            statements.append(node)
            tainted |= targets(node)
    return statements


def _names_of_workbench(tree: ast.Module) -> set[str]:
    """Names of the workbench and its parts in this text, except the classes that graders may use."""
    names = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            names |= {(a.asname or a.name) for a in node.names if a.name.partition(".")[0] == "workbench"}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "workbench":
            names |= {a.asname or a.name for a in node.names if a.name not in GIVEN}
    return names


def _names_of_ours(tree: ast.Module) -> set[str]:
    """How this text spells the workbench's decorator: "wb.grader", "grader", ..."""
    names = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            names |= {f"{a.asname or a.name}.grader" for a in node.names if a.name == "workbench"}
        elif isinstance(node, ast.ImportFrom) and node.module == "workbench":
            names |= {a.asname or a.name for a in node.names if a.name == "grader"}
    return names


def _dotted(mark: ast.expr) -> str:
    target = mark.func if isinstance(mark, ast.Call) else mark
    return ast.unparse(target) if isinstance(target, ast.Name | ast.Attribute) else ""


def _settings(mark: ast.expr) -> dict[str, Any]:
    settings = {}
    for keyword in mark.keywords if isinstance(mark, ast.Call) else ():
        try:
            settings[str(keyword.arg)] = ast.literal_eval(keyword.value)
        except ValueError:
            continue
    return settings


_MODULE_NAMES = frozenset({"__name__", "__file__", "__doc__", "__builtins__"})


@dataclass(frozen=True, slots=True)
class _Contents:
    imports: tuple[str, ...]
    helpers: tuple[str, ...]
    constants: tuple[str, ...]


def capture_text(
    text: str, name: str | None, namespace: Mapping[str, Any] | None, fingerprint: Fingerprint
) -> Source:
    """The text as a source; with a namespace, the values that the text reads from it are inserted before it."""
    # As Python reads a file: no byte-order mark, and line feeds only, by which positions are counted.
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    text = text if text.endswith("\n") else text + "\n"
    plain = Source(
        text, name or "grade"
    )  # refuses a text that is too large, or has a credential, before any analysis
    tree = _safely_parsed(text)
    if tree is None:
        return plain
    graders = decorated(text)
    if graders:
        text = undecorated(text)
        tree = parsed(text) or tree
    function = grade_function(tree, name or (next(iter(graders)) if len(graders) == 1 else None))
    if function is None:
        return plain
    before = tree
    if function.name != "grade":
        text = _as_grade(text, tree, function)
        tree = parsed(text) or before
    if graders or namespace is not None:
        text = _without_unread(text, tree)
        tree = parsed(text) or tree
    if namespace is not None:
        text = _with_needs(text, tree, namespace, fingerprint)
    contents = _contents(parsed(text) or tree, {"grade", function.name})
    origin = "text" if namespace is None else "a cell"
    return Source(text, function.name, origin, contents.imports, contents.helpers, contents.constants)


def _without_unread(text: str, tree: ast.Module) -> str:
    """The text without workbench imports that only annotations use; annotations are then not evaluated."""
    plain, unread = without_unread(text)
    if plain == text:
        return text
    remaining_tree = parsed(plain) or tree
    return inserted(plain.lstrip("\n"), remaining_tree, "", future=unread and not has_future(remaining_tree))


def _safely_parsed(text: str) -> ast.Module | None:
    tree = parsed(text)
    # symtable and unparse recurse in Python; a grader does not have a deeper tree.
    return tree if tree is not None and _depth_at_most(tree, 150) and has_scopes(text) else None


def _depth_at_most(tree: ast.AST, limit: int) -> bool:
    level: list[ast.AST] = [tree]
    for _ in range(limit):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return True
    return False


def grade_function(tree: ast.Module, name: str | None) -> Function | None:
    """The grade function: the last of that name or of `grade`, else the only candidate."""
    functions = [node for node in statements(tree.body) if isinstance(node, Function)]
    for function_name in (name,) if name is not None else ("grade",):
        matches = [node for node in functions if node.name == function_name]
        if matches:
            return matches[-1]
    if name is not None:
        raise CaptureError(
            f"no function called {name} at the top level of the text",
            found=", ".join(dict.fromkeys(node.name for node in functions)) or "no function at all",
            expected=f"async def {name}(thread): ...",
            hint="pass the name of one of these",
        )
    meant = candidates(functions)
    return meant[0] if len(meant) == 1 else None


def _as_grade(text: str, tree: ast.Module, function: Function) -> str:
    """Rename the function to grade, by its token; keep the author's name if the text uses it."""
    bound = {name for node in statements(tree.body) for name in targets(node)}
    if "grade" in bound or _reads(text, "grade"):
        raise refusals.grade_twice(function.name)
    lines = replaced_name(text, function, "grade").split("\n")
    if _used(tree, function):
        end = function.end_lineno or function.lineno
        indent = " " * function.col_offset
        lines[end:end] = ["", "", f"{indent}{function.name} = grade"]
    return "\n".join(lines)


def _used(tree: ast.Module, function: Function) -> bool:
    nodes = ast.walk(tree)
    names = any(isinstance(node, ast.Name) and node.id == function.name for node in nodes)
    strings = any(isinstance(node, ast.Global) and function.name in node.names for node in ast.walk(tree))
    return names or strings


def _reads(text: str, name: str) -> bool:
    names = names_in(text)
    return name in names.eager | names.late


def _with_needs(text: str, tree: ast.Module, namespace: Mapping[str, Any], fingerprint: Fingerprint) -> str:
    """The text with the values that it reads from a namespace inserted before it."""
    bound = {name for node in statements(tree.body) for name in targets(node)}
    if "*" in bound:
        return text  # a star import may set any of them; the sandbox finds missing names
    defined = bound | _MODULE_NAMES
    names = names_in(text)
    resolver, scope = Resolver(None), Scope(namespace)
    for name in sorted((names.eager | names.late) - defined - EVALUATES):
        resolver.needs(_reading(name, text), scope, "the cell")
    resolver.evaluated(text, names, _without(scope, defined), "the cell")
    if not has_future(tree):
        for name in sorted(names.annotations - defined):
            resolver.annotation(name, scope, text, "the cell")
    resolver.unshare(scope)
    resolver.settle(text)
    head = assembled(arranged(resolver.items, ()), import_lines(resolver.imports), future=False)
    refuse_library_state(f"{head}\n{text}", scope.texts)
    library = library_values(f"{head}\n{text}")
    if resolver.items or library:
        prove(head, resolver.values, fingerprint, reads=resolver.values, library=library)
    if not (resolver.imports or resolver.items or resolver.future):
        return text
    return inserted(text, tree, head, future=resolver.future)


def _without(scope: Scope, defined: frozenset[str] | set[str]) -> Scope:
    return Scope({name: value for name, value in scope.namespace.items() if name not in defined})


def has_future(tree: ast.Module) -> bool:
    """Whether a module's annotations are not evaluated."""
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return any(node.module == "__future__" and "annotations" in targets(node) for node in imports)


def _reading(name: str, text: str) -> str:
    """A statement that reads the attributes that the text reads of a name: the dotted names that start with it."""
    lines = [
        dotted_name
        for dotted_name in map(".".join, chains_in(text))
        if dotted_name == name or dotted_name.startswith(name + ".")
    ]
    return "(" + ", ".join([*lines, ""]) + ")" if lines else name


def inserted(text: str, tree: ast.Module, head: str, *, future: bool) -> str:
    """The text with a head above it, but below its docstring and future imports."""
    head_lines = 0
    for node in tree.body:
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and not head_lines
        if not docstring and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            break
        head_lines = node.end_lineno or node.lineno
    lines = text.split("\n")
    top_text, body_text = "\n".join(lines[:head_lines]), "\n".join(lines[head_lines:]).lstrip("\n")
    if future and FUTURE not in top_text:
        top_text = f"{top_text}\n{FUTURE}" if top_text else FUTURE
    gap = "\n\n" if _defines(head) or _starts_with_definition(body_text) else "\n"
    if not head.strip():
        return f"{top_text}\n{gap}{body_text}" if top_text else body_text
    return (f"{top_text}\n\n" if top_text else "") + head + gap + body_text


def _defines(head: str) -> bool:
    tree = parsed(head)
    return tree is not None and any(isinstance(node, Function | ast.ClassDef) for node in tree.body)


def _starts_with_definition(text: str) -> bool:
    return text.startswith(("def ", "async def ", "class ", "@", "#"))


def _contents(tree: ast.Module, main: set[str]) -> _Contents:
    imports: dict[str, None] = {}
    helpers: dict[str, None] = {}
    constants: dict[str, None] = {}
    for node in statements(tree.body):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports[ast.unparse(node)] = None
        elif isinstance(node, Function | ast.ClassDef):
            helpers.update(dict.fromkeys({node.name} - main))
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            constants.update(dict.fromkeys(sorted(targets(node) - main)))
    return _Contents(tuple(imports), tuple(helpers), tuple(constants))
