"""jinja2, the workbench's prompt language, in a sandbox that also counts.

Jinja's sandbox protects Python's internals from a template, but not the memory. So the tree is checked before it is
compiled: features without a bound (macros, recursive loops, imports) are rejected, and loops, lists and joined texts are
counted as they are generated. A name without a value is false in a test and an error in an output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from workbench.data.templates.values import (
    MAX_NESTING,
    MAX_TOKENS,
    Page,
    TemplateError,
    TemplateRunError,
    at_line,
)

_REFUSED = frozenset(
    [
        "Macro",
        "CallBlock",
        "FilterBlock",
        "Include",
        "Import",
        "FromImport",
        "Extends",
        "Block",
        "ExprStmt",
        "AssignBlock",
        "Scope",
        "ScopedEvalContextModifier",
        "EvalContextModifier",
        "OverlayScope",
    ]
)
_FAILURES = (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, RecursionError, MemoryError)


class _Piece(NamedTuple):
    """A literal text; or the name of a variable, and the text to use if it is empty."""

    text: str
    name: str | None = None


class Jinja:
    """A template that was parsed and checked.

    Raises:
        TemplateError: It breaks jinja's grammar, or has a part that could grow without bound.
    """

    def __init__(self, text: str) -> None:
        from jinja2 import Template, meta

        from workbench.data.templates.native_sandbox import GLOBALS, environment

        tree = parsed(text)
        self._pieces = _pieces(tree)
        self.variables = frozenset(meta.find_undeclared_variables(tree) - set(GLOBALS))
        try:
            code = environment().compile(_counted(tree))
        except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
            raise TemplateError("this template is too deep to compile", found=str(error)[:80]) from None
        self._template = Template.from_code(environment(), code, dict(GLOBALS))

    def render(self, values: Mapping[str, Any], page: Page) -> None:
        """Write the text."""
        if self._pieces is not None and (texts := _filled(self._pieces, values)) is not None:
            page.put_all(texts)
            return
        self._render(values, page)

    def _render(self, values: Mapping[str, Any], page: Page) -> None:
        from jinja2 import TemplateError as JinjaError

        from workbench.data.templates.native_sandbox import PAGE

        token = PAGE.set(page)
        try:
            # What `generate` does except for its tracebacks, which are not shown.
            page.put_all(self._template.root_render_func(self._template.new_context(dict(values))))
        except TemplateRunError:
            raise
        except JinjaError as error:
            raise TemplateRunError(f"the template failed: {error.message}", hint=_hint(error)) from None
        except _FAILURES as error:
            raise TemplateRunError(
                f"the template failed: {error}"[:500], found=type(error).__name__
            ) from None
        finally:
            PAGE.reset(token)


def _pieces(tree: Any) -> list[_Piece] | None:
    """The pieces of a template that only inserts variables, as prompts for judges do; None for any other."""
    from jinja2 import nodes

    from workbench.data.templates.native_sandbox import GLOBALS

    pieces = []
    for node in (
        child for part in tree.body for child in (part.nodes if isinstance(part, nodes.Output) else [part])
    ):
        put, default = (node.left, node.right) if isinstance(node, nodes.Or) else (node, nodes.Const(""))
        if isinstance(node, nodes.TemplateData):
            pieces.append(_Piece(node.data))
        elif (
            isinstance(put, nodes.Name)
            and put.name not in GLOBALS
            and put.name != "self"  # Jinja's own
            and put.name.isascii()  # Jinja takes some names for one, as Python does
            and isinstance(default, nodes.Const)
            and isinstance(default.value, str)
        ):
            pieces.append(_Piece(default.value, put.name))
        else:
            return None
    return pieces


def _filled(pieces: list[_Piece], values: Mapping[str, Any]) -> list[str] | None:
    """The pieces as texts; None if a value is missing or not a text: then Jinja decides what to do."""
    texts = []
    for text, name in pieces:
        if name is None:
            texts.append(text)
        elif type(value := values.get(name)) is str:
            texts.append(value or text)
        else:
            return None
    return texts


def _hint(error: Exception) -> str:
    return "give the name a value, or write {{ name|default('') }}" if "undefined" in str(error) else ""


def parsed(text: str) -> Any:
    """Jinja's tree of a template.

    Raises:
        TemplateError: It breaks the grammar, or has a part that is rejected.
    """
    from jinja2 import TemplateSyntaxError

    from workbench.data.templates.native_sandbox import environment

    try:
        # Before the tree is made, which takes most of the time.
        _refuse_many(environment().lex(text))
        tree = environment().parse(text)
    except TemplateError:
        raise
    except TemplateSyntaxError as error:
        raise at_line(error.message or "a tag that cannot be parsed", error.lineno, text) from None
    except (RecursionError, ValueError, OverflowError, MemoryError) as error:
        raise TemplateError(
            "this template cannot be parsed", found=type(error).__name__, hint="nest it less deeply"
        ) from None
    _check(tree, text)
    return tree


def _refuse_many(tokens: Iterator[Any]) -> None:
    if any(True for _ in islice(tokens, MAX_TOKENS, None)):
        raise TemplateError(
            "the template has too many parts", expected=f"at most {MAX_TOKENS:,} words and signs"
        )


def _check(tree: Any, text: str) -> None:
    # A list and no recursion: a deep tree is to be rejected by its bound, not by Python's.
    pending = [(tree, 0)]
    while pending:
        node, depth = pending.pop()
        kind = type(node).__name__
        if kind in _REFUSED or getattr(node, "recursive", False):
            raise at_line(f"{kind} is not supported here: it could grow without bound", node.lineno, text)
        if depth > MAX_NESTING * 2:
            raise at_line("nested too deeply", node.lineno, text)
        if kind in {"Filter", "Test"}:
            _check_name(node, text)
        pending += [(child, depth + 1) for child in node.iter_child_nodes()]


def _check_name(node: Any, text: str) -> None:
    from workbench.data.templates.native_sandbox import environment

    kind = type(node).__name__.lower()
    # Names that start with an underscore are the filters that count, which no template may call.
    names = {name for name in getattr(environment(), f"{kind}s") if name[:1].isalpha()}
    if node.name not in names:
        raise at_line(f"there is no {kind} {node.name!r}", node.lineno, text, ", ".join(sorted(names)))


def _tested(test: Any, through: Callable[[str, Any], Any]) -> Any:
    """The test's subject; whether a name has a value can be tested only for the name alone."""
    return test.node if test.name in {"defined", "undefined"} else through("_weighed", test.node)


def _counted(tree: Any) -> Any:
    """The tree in which everything that repeats or generates values passes through a filter that counts."""
    from jinja2 import nodes
    from jinja2.visitor import NodeTransformer

    def through(name: str, node: Any) -> Any:
        return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno, environment=tree.environment)

    class Counting(NodeTransformer):
        def generic_visit(self, node: Any, *args: Any, **kwargs: Any) -> Any:
            node = super().generic_visit(node, *args, **kwargs)
            if isinstance(node, nodes.For):
                node.iter = through("_turns", node.iter)
            elif isinstance(node, nodes.Concat):
                return through(
                    "_joined", nodes.List(node.nodes, lineno=node.lineno, environment=tree.environment)
                )
            elif isinstance(node, nodes.Compare):
                node.expr = through("_weighed", node.expr)
                for operand in node.ops:
                    operand.expr = through("_weighed", operand.expr)
            elif isinstance(node, nodes.Test):
                node.node, node.args = (
                    _tested(node, through),
                    [through("_weighed", value) for value in node.args],
                )
            elif isinstance(node, nodes.List | nodes.Dict) or (
                isinstance(node, nodes.Tuple) and node.ctx == "load"
            ):
                return through("_bounded", node)
            return node

    return Counting().visit(tree)
