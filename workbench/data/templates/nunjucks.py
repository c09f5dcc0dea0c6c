"""nunjucks, the template language of promptfoo, within bounds: values, filters, tests and loops, and no call.

Jinja's parser reads the text, since the grammars agree in what is supported; the tree is evaluated here by JavaScript's
rules. It is one pass: text of a value is never a template. A variable without a value is an error when it is written,
which nunjucks writes as nothing: a misspelled column would otherwise count as an empty text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from workbench.data.templates.nunjucks_filters import (
    FILTERS,
    TESTS,
    Missing,
    is_false,
    list_of,
    number_of,
    shortest,
    text_of,
)
from workbench.data.templates.values import (
    MAX_NESTING,
    MAX_SOURCE,
    MAX_TOKENS,
    Page,
    TemplateError,
    TemplateRunError,
    at_line,
    loosely_equal,
    member,
    script_text,
)

_NODES = frozenset({
    "Template", "Output", "TemplateData", "Name", "Const", "Getattr", "Getitem", "Filter", "If", "For", "Compare",
    "Operand", "And", "Or", "Not", "CondExpr", "List", "Dict", "Pair", "Tuple", "Concat", "Add", "Sub", "Mul", "Div",
    "Mod", "FloorDiv", "Pow", "Neg", "Pos", "Assign", "Test",
})  # fmt: skip


class Nunjucks:
    """A parsed template.

    Attributes:
        variables: The names it reads.

    Raises:
        TemplateError: It breaks the grammar, or uses what is not supported; line and part are named.
    """

    def __init__(self, text: str) -> None:
        from jinja2 import Environment, TemplateSyntaxError, nodes

        if len(text) > MAX_SOURCE:
            raise TemplateError("the template is too long", expected=f"at most {MAX_SOURCE:,} characters")
        environment = Environment(keep_trailing_newline=True)  # noqa: S701 (only its parser is used: nothing is rendered)
        try:
            if sum(1 for _ in environment.lex(text)) > MAX_TOKENS:
                raise TemplateError("the template has too many parts", expected=f"at most {MAX_TOKENS:,}")
            tree = environment.parse(text)
        except TemplateSyntaxError as error:
            raise at_line(error.message or "a tag that cannot be parsed", error.lineno, text) from None
        except (RecursionError, ValueError) as error:
            raise TemplateError("this template cannot be parsed", found=type(error).__name__) from None
        _check(tree, text)
        self._tree = tree
        names = list(tree.find_all(nodes.Name))
        bound = {node.name for node in names if node.ctx == "store"}
        self.variables = frozenset(node.name for node in names) - bound - {"loop"}

    def render(self, values: Mapping[str, Any]) -> str:
        """The text, filled in one pass.

        Raises:
            TemplateRunError: A variable without a value is written, or a limit is exceeded.
        """
        page = Page()
        try:
            _Rendering(values, page).put(self._tree.body)
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, TemplateRunError):
                raise
            raise TemplateRunError(f"the template failed: {error}"[:300]) from None
        return page.text()

    def plain_paths(self) -> list[str | tuple[str, ...]] | None:
        """The texts and the paths of a template that only writes values, such as `{{ a.b }}`; None for any other."""
        pieces: list[str | tuple[str, ...]] = []
        for output in self._tree.body:
            for node in getattr(output, "nodes", [None]):
                if type(node).__name__ == "TemplateData":
                    pieces.append(node.data)
                    continue
                path = _path(node)
                if path is None:
                    return None
                pieces.append(path)
        return pieces


@lru_cache(maxsize=1024)
def nunjucks(text: str) -> Nunjucks:
    """The parsed template; cached, since graders render it row by row. Raises as `Nunjucks`."""
    return Nunjucks(text)


def has_tags(text: str) -> bool:
    """Whether a text has tags: without any it is written unchanged."""
    return "{{" in text or "{%" in text or "{#" in text


def _path(node: Any) -> tuple[str, ...] | None:
    kind = type(node).__name__
    if kind == "Name":
        return (node.name,)
    if kind == "Getattr":
        before, key = _path(node.node), node.attr
    elif kind == "Getitem" and type(node.arg).__name__ == "Const":
        before, key = _path(node.node), script_text(node.arg.value)
    else:
        return None
    return None if before is None else (*before, key)


def _check(tree: Any, text: str) -> None:
    pending = [(tree, 0)]
    while pending:
        node, depth = pending.pop()
        kind = type(node).__name__
        if kind not in _NODES:
            raise at_line(f"{kind.lower()} is not supported in a template here", node.lineno, text)
        if depth > MAX_NESTING * 2:
            raise at_line("nested too deeply", node.lineno, text)
        if kind == "Filter" and (node.name not in FILTERS or node.kwargs or node.node is None):
            raise at_line(f"the filter {node.name!r} is not supported here", node.lineno, text)
        if kind == "Test" and (node.name not in TESTS or node.args):
            raise at_line(f"the test {node.name!r} is not supported here", node.lineno, text)
        if kind == "Name" and node.name in {"env", "range", "cycler", "joiner"}:
            raise at_line(
                f"{node.name!r} is not available here: only the columns of a row are", node.lineno, text
            )
        pending += [(child, depth + 1) for child in node.iter_child_nodes()]


class _Rendering:
    def __init__(self, values: Mapping[str, Any], page: Page) -> None:
        self._values = dict(values)
        self._page = page

    def put(self, nodes: list[Any]) -> None:
        for node in nodes:
            self._page.step()
            getattr(self, f"_put_{type(node).__name__.lower()}")(node)

    def _put_output(self, node: Any) -> None:
        for part in node.nodes:
            self._page.step()
            self._page.write(
                part.data if type(part).__name__ == "TemplateData" else text_of(self.value(part))
            )

    def _put_if(self, node: Any) -> None:
        for branch in (node, *node.elif_):
            if not is_false(self.value(branch.test)):
                self.put(branch.body)
                return
        self.put(node.else_)

    def _put_assign(self, node: Any) -> None:
        self._values[node.target.name] = self.value(node.node)

    def _put_for(self, node: Any) -> None:
        value = self.value(node.iter)
        items = [] if is_false(value) else list_of(value)
        before = dict(self._values)
        for at, item in enumerate(items):
            self._page.step()
            self._bind(node.target, item)
            ends = {"first": at == 0, "last": at == len(items) - 1, "length": len(items)}
            self._values["loop"] = {"index": at + 1, "index0": at, "revindex": len(items) - at, **ends}
            if node.test is None or not is_false(self.value(node.test)):
                self.put(node.body)
        self._values = before
        if not items:
            self.put(node.else_)

    def _bind(self, target: Any, item: Any) -> None:
        if type(target).__name__ == "Name":
            self._values[target.name] = item
            return
        pair = (
            [item["key"], item["value"]]
            if isinstance(item, Mapping) and set(item) == {"key", "value"}
            else list_of(item)
        )
        for name, value in zip(target.items, [*pair, *[None] * len(target.items)], strict=False):
            self._values[name.name] = value

    def value(self, node: Any) -> Any:  # noqa: PLR0911 (one per kind of node)
        """The value of an expression."""
        self._page.step()
        kind = type(node).__name__
        if kind == "Const":
            return node.value
        if kind == "Name":
            return self._values[node.name] if node.name in self._values else Missing(node.name)
        if kind in {"Getattr", "Getitem"}:
            return self._member(node)
        if kind == "Filter":
            made = FILTERS[node.name](self.value(node.node), *map(self.value, node.args))
            self._page.take(len(made) if isinstance(made, str) else 0)
            return made
        if kind == "Test":
            return TESTS[node.name](self.value(node.node))
        if kind in {"List", "Tuple"}:
            return [self.value(item) for item in node.items]
        if kind == "Dict":
            return {text_of(self.value(pair.key)): self.value(pair.value) for pair in node.items}
        if kind == "CondExpr":
            other = None if node.expr2 is None else self.value(node.expr2)
            return other if is_false(self.value(node.test)) else self.value(node.expr1)
        if kind == "Concat":
            return "".join(text_of(self.value(item)) for item in node.nodes)
        return self._operation(kind, node)

    def _member(self, node: Any) -> Any:
        is_name = type(node).__name__ == "Getattr"
        key = node.attr if is_name else text_of(self.value(node.arg))
        holder = self.value(node.node)
        if isinstance(holder, Missing):
            return Missing(f"{holder.name}.{key}")
        found = member(holder, key)
        return (
            Missing(str(key))
            if found is None and not (isinstance(holder, Mapping) and key in holder)
            else found
        )

    def _operation(self, kind: str, node: Any) -> Any:
        if kind == "Not":
            return is_false(self.value(node.node))
        if kind in {"And", "Or"}:
            left = self.value(node.left)
            return left if is_false(left) == (kind == "And") else self.value(node.right)
        if kind == "Compare":
            return self._compare(node)
        if kind in {"Neg", "Pos"}:
            return shortest(number_of(self.value(node.node)) * (-1 if kind == "Neg" else 1))
        left, right = self.value(node.left), self.value(node.right)
        if kind == "Add" and (isinstance(left, str) or isinstance(right, str)):
            made = text_of(left) + text_of(right)
            self._page.take(len(made))
            return made
        return shortest(_arithmetic(kind, number_of(left), number_of(right)))

    def _compare(self, node: Any) -> bool:
        left = self.value(node.expr)
        for operand in node.ops:
            right = self.value(operand.expr)
            if not _compared(
                operand.op, *(None if isinstance(side, Missing) else side for side in (left, right))
            ):
                return False
            left = right
        return True


_MAX_POWER = 300
"""Largest exponent."""


def _arithmetic(kind: str, left: float, right: float) -> float:
    if kind == "Pow":
        return (
            left**right if abs(right) <= _MAX_POWER and not (left < 0 and right != int(right)) else math.nan
        )
    if kind == "FloorDiv":
        return math.floor(left / right) if right else math.nan
    if kind in {"Div", "Mod"} and right == 0:
        return math.nan if kind == "Mod" or left == 0 or math.isnan(left) else math.copysign(math.inf, left)
    return {
        "Add": lambda: left + right, "Sub": lambda: left - right, "Mul": lambda: left * right,
        "Div": lambda: left / right, "Mod": lambda: math.fmod(left, right),
    }[kind]()  # fmt: skip


def _compared(operator: str, left: Any, right: Any) -> bool:
    if operator in {"eq", "ne"}:
        return loosely_equal(left, right) == (operator == "eq")
    if operator in {"in", "notin"}:
        if isinstance(right, str):
            found = text_of(left) in right
        elif isinstance(right, Mapping):
            found = left in right
        else:
            found = any(type(item) is type(left) and item == left for item in list_of(right))
        return found == (operator == "in")
    if not (isinstance(left, str) and isinstance(right, str)):
        left, right = number_of(left), number_of(right)
    return bool(
        {"lt": left < right, "lteq": left <= right, "gt": left > right, "gteq": left >= right}[operator]
    )
