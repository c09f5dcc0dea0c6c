"""Resolves each name that a function needs, live in the function's globals, to its origin.

A name is, in this order: a module or an imported object (the user's import line, if it
still gives that object); a plain value (its current literal, or the user's text if that is equal); a
function or class (its checked text, and its dependencies in turn); any other object (the one statement
that creates it). Everything else is refused by name. The check in the sandbox decides.
"""

from __future__ import annotations

import ast
import re
import types
from dataclasses import replace
from typing import Any

from workbench.core.errors import CaptureError
from workbench.graders.capture import refusals
from workbench.graders.capture.analysis import annotations_are_read
from workbench.graders.capture.cell_texts import find_class, find_function
from workbench.graders.capture.functions import is_nested, is_plain, literal, matches, own_text, unwrapped
from workbench.graders.capture.modules import (
    EVALUATES,
    GIVEN,
    Import,
    ModuleOwner,
    import_of,
    is_builtin,
    is_replaced,
    literals_read,
    namespace_of,
    owner_of,
    refuse_module,
    submodules,
)
from workbench.graders.capture.refusals import MISSING, CapturedItem, Main, Scope
from workbench.graders.capture.source import MAX_BYTES, refuse_credentials
from workbench.graders.capture.source_edit import (
    Names,
    bindings,
    chains_in,
    names_in,
    statement_text,
    targets,
)

_NOTEBOOK = re.compile(r"In|Out|get_ipython|display|exit|quit|_{1,3}|_i{0,3}|_i?\d+|_[iod]h")
# The flag that `from __future__ import annotations` leaves on all code of its module.
_FUTURE_ANNOTATIONS = 0x1000000


class Resolver:
    """Collects the dependencies of a grade function.

    Attributes:
        items: Pieces to capture, by the name they set.
        imports: Import lines, by the name they set.
        values: Live value of each captured name, compared in the sandbox.
        future: Whether the module must start with `from __future__ import annotations`.

    Workbench names that only annotations use are not imported, so that the module loads without the workbench; see
    `settle`.
    """

    def __init__(self, main: Main | None) -> None:
        self.main = main
        self.items: dict[str, CapturedItem] = {}
        self.imports: dict[str, set[Import]] = {}
        self.values: dict[str, Any] = {}
        self.future = False
        self._typed: list[tuple[str, Scope, str, str]] = []

    def needs(self, text: str, scope: Scope, asker: str, *, all_eager: bool = False) -> Names:
        """Capture the dependencies of one statement, and return its names.

        Args:
            text: The statement.
            scope: Where its names are looked up.
            asker: The user of the names, for messages.
            all_eager: See `names_in`.
        """
        names = names_in(text, all_eager=all_eager)
        for module in names.modules:
            refuse_module(module, module, asker)
        for name in sorted(names.eager | names.late):
            self._need(name, scope, text, asker)
        for name in sorted(names.assigned):
            if scope.get(name) is not MISSING:
                self._need(name, scope, text, asker)
        for name in sorted(names.annotations):
            self.annotation(name, scope, text, asker)
        return self.evaluated(text, names, scope, asker)

    def evaluated(self, text: str, names: Names, scope: Scope, asker: str) -> Names:
        """Capture what literal texts given to `eval` and `exec` read, and return the names with those."""
        read = literals_read(text, names, asker)
        # A missing name is a variable of the function, or fails in the same way in the notebook.
        present = frozenset(name for name in read if scope.get(name) is not MISSING)
        for name in sorted(present):
            self._need(name, scope, text, asker)
        if EVALUATES & names.eager:
            return replace(names, eager=names.eager | present)
        return replace(names, late=names.late | present)

    def function(self, function: types.FunctionType, text: str, asker: str) -> Names:
        """Capture the dependencies of a live function's text."""
        self.future = self.future or bool(function.__code__.co_flags & _FUTURE_ANNOTATIONS)
        return self.needs(text, Scope(function.__globals__), asker)

    def _need(self, name: str, scope: Scope, text: str, asker: str) -> None:
        if self.main is not None and self.main.is_meant(name, scope):
            self.main.called = True
            return
        value = scope.get(name)
        if _NOTEBOOK.fullmatch(name) and (value is MISSING or "get_ipython" in scope.namespace):
            raise refusals.notebook_only(name, asker)
        if name == "open" and _is_of_ipython(value):
            value = MISSING  # IPython replaces Python's own
        if value is MISSING:
            self._outside(name, asker)
        elif name not in self.values:
            refusals.refuse_dunder(name, asker)
            self.values[name] = value
            self._carry(name, value, scope, asker)
        elif not _same(self.values[name], value):
            raise refusals.two_things(name, asker)
        if isinstance(value, types.ModuleType):
            self._reach(name, value, text, asker)

    def _outside(self, name: str, asker: str) -> None:
        if name == "StringThread":
            self.imports[name] = {Import("workbench", name, name)}
        elif name == "globals":
            raise refusals.reads_globals(asker)
        elif not is_builtin(name):
            raise refusals.undefined(name, asker)

    def annotation(self, name: str, scope: Scope, text: str, asker: str) -> None:
        """Capture what only annotations read; if that is impossible, do not evaluate them."""
        if _is_ours(name, scope.get(name)):
            self._typed.append((name, scope, text, asker))
        else:
            self._annotation(name, scope, text, asker)

    def settle(self, text: str) -> None:
        """Disable evaluation of annotations that use the workbench, unless code may inspect annotations.

        Args:
            text: The grader's text; the captured dependencies are inspected as well.
        """
        typed = [entry for entry in self._typed if entry[0] not in self.imports]
        lines = [str(line) for imports in self.imports.values() for line in imports]
        if not annotations_are_read([text, *lines, *(item.text for item in self.items.values())]):
            self.future = self.future or bool(typed)
            return
        for name, scope, read, asker in typed:
            self._annotation(name, scope, read, asker)

    def _annotation(self, name: str, scope: Scope, text: str, asker: str) -> None:
        # Copies for a rollback: a name that fails may already have captured others.
        before = (dict(self.items), dict(self.imports), dict(self.values))
        value = scope.get(name)
        if self.future and import_of(name, value, scope.texts) is None and name != "StringThread":
            return
        try:
            self._need(name, scope, text, asker)
        except CaptureError:
            self.items, self.imports, self.values = before
            self.future = True

    def _carry(self, name: str, value: Any, scope: Scope, asker: str) -> None:
        line = import_of(name, value, scope.texts)
        if line is not None:
            self.imports[name] = {line}
        elif isinstance(value, types.ModuleType):
            refuse_module(value.__name__, name, asker)
            raise refusals.ours_only(name, asker)
        elif is_plain(value):
            self._constant(name, value, scope)
        else:
            self._refuse_foreign(name, value, asker)
            self._object(name, value, scope, asker)

    def _reach(self, name: str, module: types.ModuleType, text: str, asker: str) -> None:
        """Capture the submodules that a text accesses through a package; of the workbench only `GIVEN` is available."""
        chains = [chain for chain in chains_in(text) if chain[0] == name]
        if owner_of(module.__name__) is ModuleOwner.OURS:
            for chain in chains:
                if chain[1:2] not in {(exported,) for exported in GIVEN}:
                    raise refusals.ours_only(".".join(chain), asker)
        for chain in chains:
            if is_replaced(module, chain[1:]):
                raise refusals.replaced(".".join(chain), asker)
        more = submodules(name, module, chains)
        if more and Import(name) in self.imports[name]:
            self.imports[name] = self.imports[name] - {Import(name)}
        self.imports[name] = self.imports[name] | more

    def _refuse_foreign(self, name: str, value: Any, asker: str) -> None:
        kind = (
            value if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType) else type(value)
        )
        module = getattr(kind, "__module__", None)
        owner = owner_of(module)
        if (
            owner is ModuleOwner.THIRD_PARTY
            and hasattr(value, "item")
            and getattr(value, "shape", None) == ()
        ):
            raise refusals.foreign_number(name, value, asker)
        if owner is ModuleOwner.THIRD_PARTY:
            refuse_module(str(module), name, asker)
        if owner is ModuleOwner.OURS:
            raise refusals.ours_only(name, asker)

    def _object(self, name: str, value: Any, scope: Scope, asker: str) -> None:
        function = unwrapped(value)
        if isinstance(function, types.FunctionType) and not is_nested(function):
            self._function(name, value, function)
        elif not (isinstance(value, type) and self._class(name, value, scope)):
            self._statement(name, value, scope, asker)

    def _function(self, name: str, value: Any, function: types.FunctionType) -> None:
        own, scope = function.__code__.co_name, Scope(function.__globals__)
        definition = find_function(function)
        if name != own and scope.get(own) is value:
            self._alias(name, own, scope)
            return
        text = own_text(definition.text, function, name)
        names = self.function(function, text, f"helper {name}, {definition.origin}")
        self.items[name] = CapturedItem(name, text, names.first, names.late, definition=True)

    def _class(self, name: str, cls: type, scope: Scope) -> bool:
        """Capture a class by its class statement; False if none matches."""
        class_scope = Scope(namespace_of(cls.__module__, scope.namespace))
        definition = find_class(cls, class_scope.namespace)
        if definition is None or "." in cls.__qualname__:
            return False
        if name != cls.__name__:
            if class_scope.get(cls.__name__) is not cls:
                return False
            self._alias(name, cls.__name__, class_scope)
            return True
        names = self.needs(definition.text, class_scope, f"class {name}, {definition.origin}")
        self.items[name] = CapturedItem(name, definition.text, names.first, names.late, definition=True)
        return True

    def _alias(self, name: str, own: str, scope: Scope) -> None:
        text = f"{name} = {own}"
        self._need(own, scope, text, name)
        self.items[name] = CapturedItem(name, text, frozenset({own}))

    def _constant(self, name: str, value: Any, scope: Scope) -> None:
        if isinstance(value, list | tuple | dict | set | frozenset) and len(value) > MAX_BYTES:
            raise refusals.too_large(name, len(value))
        refuse_credentials(name, value)
        text = _source_of(name, value, scope) or f"{name} = {literal(value, before=len(name) + 3)}"
        if len(text) > MAX_BYTES:
            raise refusals.too_large(name, len(text))
        self.items[name] = CapturedItem(name, text, constant=True)

    def _statement(self, name: str, value: Any, scope: Scope, asker: str) -> None:
        """Capture any other object by the one statement that creates it."""
        text, node = _maker(name, scope)
        if node is None:
            raise refusals.no_statement(name, value, asker)
        if not isinstance(
            node, ast.Assign | ast.AnnAssign | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        ):
            raise refusals.not_one_statement(name, value, node)
        refusals.refuse_moment(name, node)
        definition = not isinstance(node, ast.Assign | ast.AnnAssign)
        names = names_in(text, all_eager=not definition)
        if name in names.eager:
            raise refusals.in_steps(name)
        names = self.needs(text, scope, name, all_eager=not definition)
        self.items[name] = CapturedItem(name, text, names.first, names.late, definition=definition)

    def unshare(self, scope: Scope) -> None:
        """Let constants that are the same list or dict share it in the module too."""
        constants = [name for name, item in self.items.items() if item.constant]
        for name in constants:
            text, node = _maker(name, scope)
            if not isinstance(node, ast.Assign):
                continue
            read = names_in(text, all_eager=True).eager
            others = [other for other in constants if other != name and other in read]
            if any(_shares(self.values[name], self.values[other]) for other in others):
                self.items[name] = CapturedItem(name, text, frozenset(read), constant=True)


def _is_ours(name: str, value: Any) -> bool:
    """Whether an annotation's name is the workbench or a part of it."""
    if value is MISSING:
        return name == "StringThread"
    module = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    return isinstance(value, types.ModuleType | type) and owner_of(module) is ModuleOwner.OURS


def _is_of_ipython(value: Any) -> bool:
    module = getattr(value, "__globals__", {}).get("__name__", "")
    return isinstance(value, types.FunctionType) and module.startswith("IPython")


def _maker(name: str, scope: Scope) -> tuple[str, ast.stmt | None]:
    """The newest statement that sets a name, with its text."""
    for text in reversed(scope.texts):
        nodes = bindings(text.text, name)
        if nodes:
            return statement_text(text.text, nodes[-1]), nodes[-1]
    return "", None


def _source_of(name: str, value: Any, scope: Scope) -> str:
    """The user's own assignment, if it is a literal for exactly this value."""
    text, node = _maker(name, scope)
    own = isinstance(node, ast.Assign) and len(node.targets) == 1 and targets(node) == {name}
    if own and isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return text if matches(node.value, value) else ""
    return ""


def _same(first: Any, second: Any) -> bool:
    if first is second:
        return True
    return (
        is_plain(first)
        and is_plain(second)
        and type(first) is type(second)
        and literal(first) == literal(second)
    )


def _shares(first: Any, second: Any) -> bool:
    return bool(_mutables(first) & _mutables(second))


def _mutables(value: Any) -> set[int]:
    own = {id(value)} if isinstance(value, list | dict | set | bytearray) else set()
    if isinstance(value, dict):
        return own.union(*(_mutables(item) for item in value.values()))
    if isinstance(value, list | tuple):
        return own.union(*(_mutables(item) for item in value))
    return own
