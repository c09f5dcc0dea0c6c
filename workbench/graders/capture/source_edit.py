"""Statements in a text: finding, cutting out and renaming them, and the names of the module that they need."""

from __future__ import annotations

import ast
import io
import re
import symtable
import tokenize
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from workbench.core.python_text import parse

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef
# Comments that are addressed to a tool about a place in the file, not to a reader about the code below.
_PLACE_COMMENT = re.compile(r"#(!| ?%%| ?In\[|.*coding[:=])")


# The same cells are searched for every name that a grader reads.
@lru_cache(maxsize=512)
def parsed(text: str) -> ast.Module | None:
    """The tree of a text, None if it cannot be parsed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run when a module loads, those inside if, for, with, try and match too."""
    for node in body:
        yield node
        if not isinstance(node, Definition):
            yield from statements(_inner(node))


def _inner(node: ast.AST) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            yield from _inner(child)


def definitions(text: str, name: str) -> list[Definition]:
    """Functions and classes of a name that are defined at the top level of a text, in order."""
    tree = parsed(text)
    nodes = statements(tree.body) if tree else ()
    return [node for node in nodes if isinstance(node, Definition) and node.name == name]


def bindings(text: str, name: str) -> list[ast.stmt]:
    """Statements at the top level of a text that assign a name, in order."""
    tree = parsed(text)
    return [node for node in statements(tree.body) if name in targets(node)] if tree else []


def targets(node: ast.stmt) -> set[str]:
    """Names that a statement itself binds (excluding nested statements)."""
    if isinstance(node, Definition):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    parts = [part for part in ast.iter_child_nodes(node) if not isinstance(part, ast.stmt)]
    names = [item for part in parts for item in ast.walk(part) if isinstance(item, ast.Name)]
    return {item.id for item in names if isinstance(item.ctx, ast.Store)}


def first_line(node: ast.stmt) -> int:
    """The first line of a statement, including its decorators."""
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(int(part.lineno) for part in decorators)])


def statement_text(text: str, node: ast.stmt) -> str:
    """A statement's text with the comments right above it and after it, moved to the left margin."""
    # Not splitlines, which also breaks at form feeds and similar, where Python counts no new line.
    lines = [line + "\n" for line in text.split("\n")]
    start, end = first_line(node) - 1, node.end_lineno or node.lineno
    if not isinstance(node, Definition) and not has_own_lines(lines, node):
        return ast.get_source_segment(text, node) or ast.unparse(node)
    indent = lines[node.lineno - 1][: _characters(lines[node.lineno - 1], node.col_offset)]
    above = _comments_above(lines, start, indent)
    return dedented("".join(lines[above:end]), indent).rstrip()


def has_own_lines(lines: list[str], node: ast.stmt) -> bool:
    """Whether nothing but comments shares a statement's lines."""
    # Columns of the tree are bytes of UTF-8.
    before = lines[node.lineno - 1].encode()[: node.col_offset].decode()
    last_line = (node.end_lineno or node.lineno) - 1
    after = lines[last_line].encode()[node.end_col_offset or 0 :].decode().strip()
    return not before.strip() and (not after or after.startswith("#"))


def _characters(line: str, offset: int) -> int:
    return len(line.encode()[:offset].decode())


def _comments_above(lines: list[str], start: int, indent: str) -> int:
    while start > 0:
        line = lines[start - 1]
        unindented = line[len(indent) :]
        if not line.startswith(indent) or not unindented.startswith("#") or _PLACE_COMMENT.match(unindented):
            break
        start -= 1
    return start


def dedented(text: str, indent: str) -> str:
    """Remove an indent from every line that does not start inside a string."""
    if not indent:
        return text
    inside = _lines_inside_strings("if 1:\n" + text)
    lines = text.split("\n")
    return "\n".join(
        line if number in inside else line.removeprefix(indent) for number, line in enumerate(lines, 2)
    )


def _lines_inside_strings(text: str) -> set[int]:
    inside: set[int] = set()
    opened = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = tokenize.tok_name[token.type]
        if kind == "STRING":
            inside.update(range(token.start[0] + 1, token.end[0] + 1))
        elif kind == "FSTRING_START":
            opened = token.start[0]
        elif kind == "FSTRING_END":
            inside.update(range(opened + 1, token.end[0] + 1))
    return inside


def renamed(text: str, new: str) -> str:
    """Rename the function defined by a text: the one token after `def`, nothing else."""
    node = parse(text).body[0]
    return replaced_name(text, node, new)


def replaced_name(text: str, node: ast.stmt, new: str) -> str:
    """Rename one function of a text, by the token after its `def`."""
    row, column = _name_token(text, node)
    lines = text.split("\n")
    old: str = node.name  # type: ignore[attr-defined]
    line = lines[row - 1]
    lines[row - 1] = line[:column] + new + line[column + len(old) :]
    return "\n".join(lines)


def replaced(text: str, changes: Iterable[tuple[ast.expr, str]]) -> str:
    """Replace expressions of `text`'s tree by other text."""
    # The tree counts columns in bytes of UTF-8, not in characters.
    data = text.encode()
    starts = _line_starts(data)
    for node, new in sorted(changes, key=lambda change: (-change[0].lineno, -change[0].col_offset)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        data = data[:start] + new.encode() + data[end:]
    return data.decode()


def without(text: str, decorators: Iterable[ast.expr]) -> str:
    """Remove decorators from a text, with their lines."""
    removed = {row for node in decorators for row in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    return "\n".join(line for row, line in enumerate(text.split("\n"), 1) if row not in removed)


def _line_starts(data: bytes) -> list[int]:
    starts = [0]
    for line in data.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    return starts


def _name_token(text: str, node: ast.stmt) -> tuple[int, int]:
    # By tokens: the tree does not contain the position of a function's name.
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    seen_def = False
    for token in tokens:
        if token.start[0] < node.lineno:
            continue
        if seen_def and token.type == tokenize.NAME:
            return token.start
        seen_def = seen_def or (token.type == tokenize.NAME and token.string == "def")
    raise ValueError("no def in this text")


_COMPREHENSIONS = frozenset({"listcomp", "setcomp", "dictcomp", "genexpr"})
_Callable = Function | ast.Lambda


@dataclass(frozen=True, slots=True)
class Names:
    """Names a text reads from its module.

    There are three times. *Eager* names are read when the statement runs: decorators, defaults, base classes,
    class bodies, the whole of an assignment. *Late* names are read when a function is called. Names that only
    annotations read need not be evaluated with `from __future__ import annotations`. Scoping is the compiler's own
    (`symtable`), applied to the text without its annotations.

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
        inside = isinstance(node, _Callable) or (local and not isinstance(node, ast.ClassDef))
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
