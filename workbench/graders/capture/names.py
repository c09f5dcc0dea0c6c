"""Which names of its module a piece of text needs, and when.

There are three times. *Eager* names are read when the statement runs: decorators, defaults, base classes,
class bodies, the whole of an assignment. *Late* names are read when a function is called. Names that only
annotations read need not be evaluated with `from __future__ import annotations`.

Scoping is the compiler's own (`symtable`), applied to the text without its annotations.
"""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterator
from dataclasses import dataclass

from workbench.core.python_text import parse

__all__ = ["Names", "chains_in", "dotted", "has_scopes", "names_in"]

_COMPREHENSIONS = frozenset({"listcomp", "setcomp", "dictcomp", "genexpr"})
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True)
class Names:
    """Names a text reads from its module.

    Attributes:
        eager: Read when the statement runs.
        late: Read when a function in it is called.
        annotations: Read by evaluated annotations and by nothing else.
        assigned: Set through a `global` statement, possibly never read.
        modules: Modules imported inside functions, dotted, as written; relative ones start with a dot.
    """

    eager: frozenset[str]
    late: frozenset[str]
    annotations: frozenset[str]
    assigned: frozenset[str]
    modules: tuple[str, ...]

    @property
    def first(self) -> frozenset[str]:
        """Names needed before the statement: annotations are evaluated when it runs, too."""
        return self.eager | self.annotations


def names_in(text: str, *, all_eager: bool = False) -> Names:
    """Find the names that one statement needs.

    Args:
        text: The statement.
        all_eager: Count the names that its lambdas read as eager, because the statement may call them.
    """
    tree = parse(text)
    table = _scopes(text)
    eager, late, assigned = set(_top_reads(table)), set[str](), set[str]()
    for child in table.get_children():
        _collect(child, True, (eager, late, assigned))
    if all_eager:
        eager, late = eager | late, set()
    eager |= _own_class_reads(tree)
    read = eager | late
    annotated = {name for part in _annotations(tree) for name in _loads(part)} - _type_parameters(tree)
    own = frozenset(annotated - read)
    return Names(frozenset(eager), frozenset(late - eager), own, frozenset(assigned - read), _modules(tree))


def chains_in(text: str) -> list[tuple[str, ...]]:
    """Dotted names in a text, each at full length: `os.path.join` is `("os", "path", "join")`."""
    return sorted(set(_chains(parse(text))))


def _chains(node: ast.AST) -> Iterator[tuple[str, ...]]:
    chain = dotted(node)
    if chain:
        yield chain
        return
    for child in ast.iter_child_nodes(node):
        yield from _chains(child)


def dotted(node: ast.AST) -> tuple[str, ...]:
    """A dotted name as its parts, `()` for any other expression."""
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        head = dotted(node.value)
        return (*head, node.attr) if head else ()
    return ()


def has_scopes(text: str) -> bool:
    """Whether the compiler can determine the names of a parsed text: not if two parameters have one name, for example."""
    try:
        _scopes(text)
    except SyntaxError:
        return False
    return True


def _scopes(text: str) -> symtable.SymbolTable:
    """The compiler's scopes of a text without its annotations."""
    tree = _Unannotated().visit(parse(text))
    # Converted back to text, since symtable accepts no tree.
    return symtable.symtable(ast.unparse(tree), "<capture>", "exec")


def _top_reads(table: symtable.SymbolTable) -> Iterator[str]:
    return (symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced())


def _collect(table: symtable.SymbolTable, eager: bool, into: tuple[set[str], set[str], set[str]]) -> None:
    runs_now = eager and (table.get_type() == "class" or table.get_name() in _COMPREHENSIONS)
    for symbol in table.get_symbols():
        if not symbol.is_global():
            continue
        if symbol.is_referenced():
            into[0 if runs_now else 1].add(symbol.get_name())
        elif symbol.is_assigned():
            into[2].add(symbol.get_name())
    # Type parameters (3.12) add a separate scope around a def; the time of what they enclose is unchanged.
    passes = runs_now or (eager and table.get_type() not in {"class", "function"})
    for child in table.get_children():
        _collect(child, passes, into)


def _own_class_reads(tree: ast.Module) -> set[str]:
    """Names a class body reads before it sets them, as in `limit = limit`: those are the module's."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    names: set[str] = set()
    for node in classes:
        stored: set[str] = set()
        for part in node.body:
            if isinstance(part, ast.Assign | ast.AnnAssign) and part.value is not None:
                own = {
                    item.id
                    for left in _assignment_targets(part)
                    for item in ast.walk(left)
                    if isinstance(item, ast.Name)
                }
                names |= (_loads(part.value) & own) - stored
                stored |= own
    return names


def _assignment_targets(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _loads(node: ast.AST) -> set[str]:
    names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
    return {part.id for part in names if isinstance(part.ctx, ast.Load)}


def _annotations(tree: ast.AST, local: bool = False) -> Iterator[ast.expr]:
    """Annotations that are evaluated; those of a function's own variables never are."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.arg) and node.annotation is not None:
            yield node.annotation
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
            yield node.returns
        if isinstance(node, ast.AnnAssign) and not (local and isinstance(node.target, ast.Name)):
            yield node.annotation
        inside = isinstance(node, _Function) or (local and not isinstance(node, ast.ClassDef))
        yield from _annotations(node, inside)


def _type_parameters(tree: ast.AST) -> set[str]:
    return {part.name for node in ast.walk(tree) for part in getattr(node, "type_params", [])}


def _modules(tree: ast.Module) -> tuple[str, ...]:
    modules: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            modules.add("." * node.level + (node.module or ""))
    return tuple(sorted(modules))


class _Unannotated(ast.NodeTransformer):
    """Removes every annotation from a tree, and gives every comprehension a separate scope.

    Python 3.12 and later count the variables of list, set and dict comprehensions among the names around
    them; a generator expression still has a separate scope, and reads the same names.
    """

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp) -> ast.GeneratorExp:
        self.generic_visit(node)
        return ast.GeneratorExp(node.elt, node.generators)

    def visit_SetComp(self, node: ast.SetComp) -> ast.GeneratorExp:
        return self.visit_ListComp(node)

    def visit_DictComp(self, node: ast.DictComp) -> ast.GeneratorExp:
        self.generic_visit(node)
        return ast.GeneratorExp(ast.Tuple([node.key, node.value], ast.Load()), node.generators)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.returns = None
        self.generic_visit(node)
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        node.returns = None
        self.generic_visit(node)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        self.generic_visit(node)
        # A bare annotation still makes its name a local one; the constant replaces the annotation.
        node.annotation = ast.copy_location(ast.Constant(None), node.annotation)
        return node
