"""A suite's formula as a Python expression with the same values, for self-contained files."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from workbench.core.python_text import parse_expression
from workbench.graders.combine.formula import FUNCTIONS, Expression, tokens

__all__ = ["formula_in_python"]


def formula_in_python(text: str) -> tuple[tuple[str, ...], str]:
    """The names a formula reads, and a `lambda` with one argument for each, in that order.

    Division, powers and functions call `_wb_` functions of the exported file: where columns of floats give
    infinity or NaN, plain Python would raise.

    Raises:
        FormulaError: The text cannot be read.
    """
    names = Expression.read(text).names
    arguments = [_argument(at) for at in range(len(names))]
    found = [token for token, _ in tokens(text)]
    called = [*(following == "(" for following in found[1:]), False]
    spelled = "".join(_spelled(token, names, call) for token, call in zip(found, called, strict=True))
    tree = ast.fix_missing_locations(_Calls().visit(parse_expression(spelled)))
    return names, f"lambda {', '.join(arguments) or '*_'}: {ast.unparse(tree)}"


def _argument(at: int) -> str:
    return f"_{at + 1}"


def _spelled(token: str, names: Sequence[str], called: bool) -> str:
    if token == "^":  # noqa: S105 (a sign of the formula)
        return "**"
    if token[0] in "0123456789.":
        return repr(float(token))
    # A grader may have the name of a function: `min(min, 0.5)`.
    return _argument(names.index(token)) if token in names and not called else token


class _Calls(ast.NodeTransformer):
    """Operators and functions that Python and columns of floats treat differently, as calls."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        called = {ast.Div: "_wb_divide", ast.Pow: "_wb_power"}.get(type(node.op))
        return node if called is None else _call(called, [node.left, node.right])

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        name = ast.unparse(node.func)
        return _call(f"_wb_{name}" if name in FUNCTIONS and name != "abs" else name, node.args)


def _call(name: str, arguments: list[ast.expr]) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), arguments, [])
