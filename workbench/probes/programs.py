"""Programs as references: whether two are the same, and changed ones."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from workbench.core.python_text import parse


def program_of(text: str) -> str | None:
    """What a Python program does not share with its comments, its layout and its docstrings; None if it does not parse."""
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if (
            isinstance(body, list)
            and body
            and isinstance(body[0], ast.Expr)
            and isinstance(body[0].value, ast.Constant)
        ):
            body[0].value.value = ""
    return ast.dump(tree)


def is_same_program(one: str, other: str) -> bool:
    """Whether two texts are the same Python program, apart from comments, layout and docstrings."""
    first = program_of(one)
    return first is not None and first == program_of(other)


_SQL = re.compile(r"\b(?:SELECT|INSERT|UPDATE|DELETE)\b")


_SWAPPED = {"==": "!=", "+": "-", "-": "+", "*": "/", "/": "*", "<": ">", ">": "<", "=": "=="}


def other_digits(text: str) -> Iterator[str]:
    """A text with the first digit of one of its numbers changed, the last number first; no program that is the same."""
    places = [found.start() for found in re.finditer(r"\d[\d,]*(?:\.\d+)?", text)]
    changed = (f"{text[:at]}{int(text[at]) % 9 + 1}{text[at + 1 :]}" for at in reversed(places))
    return (other for other in changed if not is_same_program(text, other))


def other_signs(text: str) -> Iterator[str]:
    """Code with one operator or bracket replaced; no program that is the same."""
    swapped = {**_SWAPPED, "=": "<>"} if _SQL.search(text) else _SWAPPED
    changed = (
        text[: found.start()] + swapped.get(found[0], ";") + text[found.end() :]
        for found in re.finditer(r"==|[-+*/<>=\[\](){}:]", text)
    )
    return (other for other in changed if not is_same_program(text, other))


def with_body(text: str, body: str) -> str:
    """A Python program whose functions have another body; "" if it does not parse, or has no function that returns a value."""
    if program_of(text) is None:
        return ""
    tree = parse(text)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    returned = [
        node
        for one in functions
        for node in ast.walk(one)
        if isinstance(node, ast.Return) and node.value is not None
    ]
    if not returned:
        return ""
    for function in functions:
        function.body = parse(body).body
    return ast.unparse(tree)
