"""Handlebars, the language of Adaptive's judge prompts: parsed, checked and rendered here.

The rules are those of Handlebars 4.7 (`npm handlebars`), against which the tests compare, with its
HTML escaping off: `{{x}}` and `{{{x}}}` produce the same text. Its built-in helpers are if, unless, each, with
and lookup; any other name with arguments is rejected when the template is parsed. A dict is looped over in
its own order, whereas JavaScript puts keys that are whole numbers first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.data.templates.handlebars_parser import read, strip_whitespace
from workbench.data.templates.handlebars_tree import (
    Block,
    Call,
    Content,
    Literal,
    MustacheStatement,
    Path,
    TemplateProgram,
)
from workbench.data.templates.values import Page, at, falsy, loosely_equal, member, script_text

_BLOCKS = ("each", "if", "unless", "with")
_HELPERS = frozenset({*_BLOCKS, "lookup", "log", "helperMissing", "blockHelperMissing"})


class Handlebars:
    """A template that was parsed and checked.

    Raises:
        TemplateError: It breaks the grammar or calls a helper that does not exist.
    """

    def __init__(self, text: str) -> None:
        self.program = read(text)
        strip_whitespace(self.program)
        self.variables = frozenset(_Checker(text).program(self.program, frozenset(), nested=False))

    def render(self, values: Mapping[str, Any], page: Page) -> None:
        """Write the text."""
        _Writer(page).program(self.program, _Scope((values,), {"root": values}, None))


class _Checker:
    """Rejects unknown helpers, and collects the names that are looked up in the outermost context."""

    def __init__(self, text: str) -> None:
        self.text = text

    def program(
        self, program: TemplateProgram | None, names: frozenset[str], *, nested: bool
    ) -> Iterator[str]:
        if program is None:
            return
        names |= frozenset(program.names)
        for statement in program.body:
            if isinstance(statement, MustacheStatement):
                yield from self.put(statement.call, names, nested=nested)
            elif isinstance(statement, Block) and not statement.raw:
                yield from self.block(statement, names, nested=nested)

    def block(self, block: Block, names: frozenset[str], *, nested: bool) -> Iterator[str]:
        call, helper = block.call, _helper(block.call, names)
        if helper in _BLOCKS:
            self.arguments(call, str(helper), 1)
        elif helper or call.params or call.options:
            raise at(
                self.text,
                call.position,
                f"there is no block helper {call.head.original!r}",
                expected=", ".join(_BLOCKS),
            )
        if any(part and part.names for part in (block.program, block.inverse)) and helper not in {
            "each",
            "with",
        }:
            raise at(self.text, call.position, "names between bars work with each and with only")
        yield from self.values(call, names, nested=nested, head=helper is None)
        # `if` and `unless` keep the context, so that a name inside them is still looked up in the outermost one.
        inside = nested or helper not in {"if", "unless"}
        yield from self.program(block.program, names, nested=inside)
        yield from self.program(block.inverse, names, nested=nested)

    def put(self, call: Call, names: frozenset[str], *, nested: bool) -> Iterator[str]:
        helper = _helper(call, names)
        if helper == "lookup":
            self.arguments(call, "lookup", 2)
        elif helper or call.params or call.options:
            name = call.head.original
            hint = f"write {{{{this.{name}}}}} for a variable of that name" if not call.params else ""
            raise at(self.text, call.position, f"there is no helper {name!r}", expected="lookup", hint=hint)
        yield from self.values(call, names, nested=nested, head=helper is None)

    def arguments(self, call: Call, helper: str, count: int) -> None:
        options = {"includeZero"} if helper in {"if", "unless"} else set()
        if len(call.params) != count or {name for name, _ in call.options} - options:
            raise at(
                self.text, call.position, f"{helper} takes {count} argument{'s' * (count > 1)}, no other"
            )

    def values(self, call: Call, names: frozenset[str], *, nested: bool, head: bool) -> Iterator[str]:
        for expression in (
            *((call.head,) if head else ()),
            *call.params,
            *(value for _, value in call.options),
        ):
            if isinstance(expression, Call):
                yield from self.put(expression, names, nested=nested)
            elif isinstance(expression, Path):
                yield from _outer_name(expression, names, nested=nested)
            elif head and expression is call.head and not nested:
                yield expression.original


def _outer_name(path: Path, names: frozenset[str], *, nested: bool) -> Iterator[str]:
    if path.data:
        yield from path.parts[1:2] if path.parts[:1] == ("root",) else ()
    elif path.parts and not path.depth and not nested and (path.scoped or path.parts[0] not in names):
        yield path.parts[0]


def _helper(call: Call, names: frozenset[str]) -> str | None:
    """The helper a call names, if it can only be one."""
    head = call.head
    if isinstance(head, Literal):
        return head.original if head.original in _HELPERS else None
    simple = len(head.parts) == 1 and not head.scoped and not head.depth and not head.data
    return head.parts[0] if simple and head.parts[0] in _HELPERS and head.parts[0] not in names else None


@dataclass(frozen=True)
class _Scope:
    """The scope of a name.

    Attributes:
        contexts: `this` first, then the contexts of `../`.
        data: The @ names.
        outer: The @ names outside the innermost each.
        names: Block parameters.
    """

    contexts: tuple[Any, ...]
    data: Mapping[str, Any]
    outer: _Scope | None
    names: Mapping[str, Any] = field(default_factory=dict)

    def into(self, context: Any, names: Mapping[str, Any]) -> _Scope:
        # Handlebars adds a level only if the context is another one, by JavaScript's ==.
        is_same = loosely_equal(context, self.contexts[0])
        contexts = self.contexts if is_same else (context, *self.contexts)
        return replace(self, contexts=contexts, names={**self.names, **names} if names else self.names)


class _Writer:
    def __init__(self, page: Page) -> None:
        self.page = page

    def program(self, program: TemplateProgram | None, scope: _Scope) -> None:
        for statement in program.body if program else ():
            self.page.step()
            if isinstance(statement, Content):
                self.page.write(statement.value)
            elif isinstance(statement, MustacheStatement):
                self.page.write(script_text(self.value(statement.call, scope)))
            elif isinstance(statement, Block):
                self.block(statement, scope)

    def block(self, block: Block, scope: _Scope) -> None:
        helper = None if block.raw else _helper(block.call, frozenset(scope.names))
        if block.raw:
            self.program(block.program, scope)
        elif helper is None:
            self.section(block, self.value(block.call, scope), scope)
        else:
            _RUN[helper](self, block, self.value(block.call.params[0], scope), scope)

    def section(self, block: Block, value: Any, scope: _Scope) -> None:
        if value is True:
            self.program(block.program, scope)
        elif value is None or value is False:
            self.program(block.inverse, scope)
        elif isinstance(value, list):
            self.each(block, value, scope)
        else:
            self.program(block.program, scope.into(value, {}))

    def if_(self, block: Block, value: Any, scope: _Scope) -> None:
        self.program(block.program if self.holds(block, value, scope) else block.inverse, scope)

    def unless(self, block: Block, value: Any, scope: _Scope) -> None:
        self.program(block.inverse if self.holds(block, value, scope) else block.program, scope)

    def holds(self, block: Block, value: Any, scope: _Scope) -> bool:
        zero_counts = any(not falsy(self.value(option, scope)) for _, option in block.call.options)
        return not _empty(value) and (zero_counts or not falsy(value))

    def with_(self, block: Block, value: Any, scope: _Scope) -> None:
        if _empty(value):
            return self.program(block.inverse, scope)
        names = _block_names(block.program, value)
        return self.program(block.program, scope.into(value, names))

    def each(self, block: Block, value: Any, scope: _Scope) -> None:
        pairs: list[tuple[Any, Any]] = []
        if isinstance(value, list):
            pairs = list(enumerate(value))
        elif isinstance(value, Mapping):
            pairs = list(value.items())
        for place, (key, item) in enumerate(pairs):
            self.page.step()
            loop_names = {"key": key, "index": place, "first": place == 0, "last": place == len(pairs) - 1}
            inner = replace(scope, data={**scope.data, **loop_names}, outer=scope)
            self.program(block.program, inner.into(item, _block_names(block.program, item, key)))
        if not pairs:
            self.program(block.inverse, scope)

    def value(self, expression: Path | Literal | Call, scope: _Scope) -> Any:
        if isinstance(expression, Literal):
            return expression.value
        if isinstance(expression, Path):
            return _resolved(expression, scope)
        if _helper(expression, frozenset(scope.names)) == "lookup":
            container, name = (self.value(param, scope) for param in expression.params)
            return container if falsy(container) else member(container, script_text(name))
        # A literal where a name is expected is a name: {{"two words"}}.
        head = expression.head
        return _resolved(head, scope) if isinstance(head, Path) else member(scope.contexts[0], head.original)


_RUN: dict[str, Callable[[_Writer, Block, Any, _Scope], None]] = {
    "if": _Writer.if_,
    "unless": _Writer.unless,
    "with": _Writer.with_,
    "each": _Writer.each,
}


def _empty(value: Any) -> bool:
    """Handlebars' `isEmpty`: false values except 0, and the empty list."""
    if isinstance(value, list):
        return not value
    zero = isinstance(value, int | float) and not isinstance(value, bool) and value == 0
    return falsy(value) and not zero


def _block_names(program: TemplateProgram | None, *values: Any) -> dict[str, Any]:
    padded = (*values, None, None)
    return (
        {name: padded[at] if at < len(padded) else None for at, name in enumerate(program.names)}
        if program
        else {}
    )


def _resolved(path: Path, scope: _Scope) -> Any:
    parts = path.parts
    if path.data:
        value: Any = _data(path, scope)
    elif parts and not path.depth and not path.scoped and parts[0] in scope.names:
        value, parts = scope.names[parts[0]], parts[1:]
    else:
        value = scope.contexts[path.depth] if path.depth < len(scope.contexts) else None
    for part in parts:
        value = member(value, part)
    return value


def _data(path: Path, scope: _Scope) -> Any:
    at: _Scope | None = scope
    for _ in range(path.depth):
        at = at.outer if at is not None else None
    return None if at is None else at.data
