"""Capture: from a live function, or a text, to one self-contained module whose function is called `grade`.

The text is what the author wrote: slices with their comments, in an order that loads without errors. The values that a
function reads are looked up live and validated by loading the built module separately. What cannot be captured exactly is
refused with its name, the reason and a hint. Nothing is guessed.

A decorator captures while its cell still runs: at that moment the function's name is not bound yet,
and helpers further down in the notebook do not exist. The refusal then names what is undefined; define
helpers above the grader, or capture again once they exist.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Mapping
from typing import Any

from workbench.core.errors import CaptureError
from workbench.core.python_text import parse
from workbench.graders.capture import refusals
from workbench.graders.capture.capture_check import Fingerprint, prove
from workbench.graders.capture.cell_texts import Found, find_function, install
from workbench.graders.capture.functions import is_nested, ours_on, own_text, refuse_kind, unwrapped
from workbench.graders.capture.module_text import (
    arranged,
    assembled,
    capture_text,
    import_lines,
    names_read_by_running,
)
from workbench.graders.capture.modules import library_values, refuse_library_state
from workbench.graders.capture.refusals import CapturedItem, Main, Scope
from workbench.graders.capture.resolve import Resolver
from workbench.graders.capture.source import Source
from workbench.graders.capture.source_edit import bindings, statement_text
from workbench.sandbox.host import pool
from workbench.sandbox.host.zygote import StartError, warn_absent

__all__ = ["capture", "install"]


def capture(
    fn_or_text: Any,
    *,
    name: str | None = None,
    namespace: Mapping[str, Any] | None = None,
    _fingerprint: Fingerprint | None = None,
) -> Source:
    r"""Convert a function or a text to a `Source`.

    An import of the workbench that only annotations use is removed, and the annotations are not evaluated, so that the
    source loads anywhere; a text without `@wb.grader` and without a namespace keeps its imports.

    Args:
        fn_or_text: A function from a cell, a module or any place that left its text in `linecache`; or a
            module's text, which is captured unchanged and neither compiled nor run here.
        name: For a text: which of its functions is the grader. By default `grade`, else its only async def.
            For a function: the name to report, by default its own.
        namespace: For a text: names it may read from outside, such as a notebook's. Default: none.

    Returns:
        The source; `function` is the author's name, `text` uses `grade`.

    Raises:
        CaptureError: A dependency cannot be captured. The message gives its name, the reason, and a hint.
        SandboxError: The captured module could not be checked. If the sandbox does not start at all, a warning
            reports it, and the source is not checked: it could not run on this machine either.

    Example:
        >>> print(capture("async def exact(thread):\n    return 1.0\n").text, end="")
        async def grade(thread):
            return 1.0
    """
    install()
    fingerprint = _fingerprint if _fingerprint is not None else _in_sandbox
    if isinstance(fn_or_text, str):
        return capture_text(fn_or_text, name, namespace, fingerprint)
    refuse_kind(fn_or_text)
    return _capture_function(fn_or_text, name, fingerprint)


def _in_sandbox(text: str, names: list[str]) -> Mapping[str, Any] | None:
    try:
        described: Mapping[str, Any] = pool.fingerprint(text, names)
    except StartError as error:
        warn_absent(error)
        return None
    return described


def _capture_function(function: types.FunctionType, name: str | None, fingerprint: Fingerprint) -> Source:
    definition, root, author = _definition(function)
    scope = Scope(root.__globals__)
    tree = parse(definition.text).body[0]
    assert isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef)
    main = Main(function, author, scope, ours=bool(ours_on(tree, scope)))
    resolver = Resolver(main)
    text = own_text(definition.text, root, "grade")
    needs = resolver.function(root, text, f"{author}, {definition.origin}")
    resolver.unshare(scope)
    resolver.settle(text)
    if author != "grade" and {"grade"} & {*resolver.items, *resolver.imports}:
        raise refusals.grade_twice(author)
    if main.called and author != "grade":
        text += f"\n\n\n{author} = grade"
    _refuse_clocks(resolver.items)
    items = dict(resolver.items)
    items["grade"] = CapturedItem("grade", text, needs.first, needs.late, definition=True)
    return _assemble(main, items, resolver, (definition.origin, name or author, fingerprint))


def _refuse_clocks(items: Mapping[str, CapturedItem]) -> None:
    computed = [item for item in items.values() if not (item.constant or item.definition)]
    for item in computed:
        for helper in sorted(names_read_by_running(item.name, items)):
            refusals.refuse_clock(item.name, items[helper].text)


def _assemble(
    main: Main, items: dict[str, CapturedItem], resolver: Resolver, labels: tuple[str, str, Fingerprint]
) -> Source:
    origin, name, fingerprint = labels
    # If a piece reads the author's name, it means the item called grade.
    ordered = arranged(_named_grade(items, main.name), ["grade"])
    imports = import_lines(resolver.imports)
    source = Source(
        assembled(ordered, imports, future=resolver.future),
        name,
        origin,
        tuple(imports),
        tuple(item.name for item in ordered if not item.constant and item.name != "grade"),
        tuple(item.name for item in ordered if item.constant),
    )
    live = {**resolver.values, "grade": main.value}
    refuse_library_state(source.text, main.scope.texts)
    reads = {**live, main.name: main.value}
    prove(source.text, live, fingerprint, reads=reads, library=library_values(source.text))
    return source


def _named_grade(items: dict[str, CapturedItem], author: str) -> dict[str, CapturedItem]:
    def swap(names: frozenset[str]) -> frozenset[str]:
        return frozenset("grade" if name == author else name for name in names)

    return {
        name: CapturedItem(name, item.text, swap(item.eager), swap(item.late), item.constant, item.definition)
        for name, item in items.items()
    }


def _definition(function: types.FunctionType) -> tuple[Found, types.FunctionType, str]:
    """The definition to capture, the function it made, and the author's name for it."""
    root = unwrapped(function)
    if isinstance(root, types.FunctionType) and not is_nested(root):
        return find_function(root), root, root.__code__.co_name
    return _decorated(function)


def _decorated(function: types.FunctionType) -> tuple[Found, types.FunctionType, str]:
    """A function replaced by a decorator that does not set `__wrapped__`: found by its name.

    The def cannot be compared with the wrapper's code; the check in the sandbox compares the result of decorating it.
    """
    scope = Scope(function.__globals__)
    names = [name for name, value in scope.namespace.items() if value is function]
    for name in sorted(names):
        for text in reversed(scope.texts):
            nodes = bindings(text.text, name)
            if nodes and isinstance(nodes[-1], ast.FunctionDef | ast.AsyncFunctionDef):
                return Found(nodes[-1], statement_text(text.text, nodes[-1]), text), function, name
            if nodes:
                # The newest statement that sets the name is another one, so an older def is not the live one.
                break
    code = function.__code__
    if "<locals>" not in code.co_qualname and "." in code.co_qualname:
        raise CaptureError(
            f"{code.co_qualname} is a method",
            expected="an async def at the top level of a cell or module",
            hint="write an async def that makes the object and calls its method",
        )
    raise refusals.nested(function.__name__)
