"""Plain values as source literals."""

from __future__ import annotations

import ast
import math
from typing import Any

__all__ = ["is_plain", "literal", "matches"]

_WIDTH = 100
_ATOMS = (type(None), bool, int, float, complex, str, bytes, bytearray, range, type(Ellipsis))
_CONTAINERS = (tuple, list, dict, set, frozenset)
_MUTABLE = (list, dict, set, bytearray)
_LARGEST_INT_BITS = 12_000
"""Maximum bits of a decimal literal: Python refuses those above 4,300 digits, about 14,000 bits."""


def is_plain(value: Any) -> bool:
    """Whether a value consists only of plain types, and no object occurs in it twice.

    A list that appears in two places is one list; two literals would make it two.
    """
    try:
        return _is_plain(value, set())
    except RecursionError:
        return False


def literal(value: Any, *, before: int = 0) -> str:
    """The source text of a plain value, one item per line if it would be too long.

    Args:
        value: A value for which `is_plain` returns True.
        before: Characters before it on its first line.
    """
    flat = _flat(value)
    return flat if len(flat) + before <= _WIDTH else _multiline(value, "", before)


def matches(node: ast.expr, value: Any) -> bool:
    """Whether an expression is a literal that gives exactly this plain value."""
    try:
        parsed = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return type(parsed) is type(value) and is_plain(parsed) and _flat(parsed) == _flat(value)


def _is_plain(value: Any, visited: set[int]) -> bool:
    kind = type(value)
    # Only these: a text or number in two places is indistinguishable from two equal ones.
    if kind in _MUTABLE:
        if id(value) in visited:
            return False
        visited.add(id(value))
    if kind in _ATOMS:
        return kind is not int or value.bit_length() <= _LARGEST_INT_BITS
    if kind is dict:
        return all(_is_plain(key, visited) and _is_plain(item, visited) for key, item in value.items())
    return kind in _CONTAINERS and all(_is_plain(item, visited) for item in value)


def _flat(value: Any) -> str:
    kind = type(value)
    if kind in {float, complex}:
        return _number(value)
    if kind is dict:
        return "{" + ", ".join(f"{_flat(key)}: {_flat(item)}" for key, item in value.items()) + "}"
    if kind in _CONTAINERS:
        return _wrapped(value, ", ".join(_items(value)))
    return ascii(value) if kind is str and not _printable(value) else repr(value)


def _printable(text: str) -> bool:
    """Whether a text can be written to a source file literally (lone surrogates and bidi marks cannot)."""
    return all(char.isprintable() or char in "\n\t\r" for char in text)


def _items(value: Any) -> list[str]:
    texts = [_flat(item) for item in value]
    # Sorted, so that one set makes one source, for every hash seed of this process.
    return sorted(texts) if type(value) in {set, frozenset} else texts


def _wrapped(value: Any, inner: str) -> str:
    kind = type(value)
    if kind in {set, frozenset} and not value:
        return f"{kind.__name__}()"
    if kind is tuple:
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    shapes: dict[Any, str] = {
        list: f"[{inner}]",
        set: "{" + inner + "}",
        frozenset: "frozenset({" + inner + "})",
    }
    return shapes[kind]


def _number(value: Any) -> str:
    if isinstance(value, complex):
        # The usual notation is a sum, which loses the sign of a zero.
        return f"complex({_number(value.real)}, {_number(value.imag)})"
    if math.isfinite(value):
        return repr(value)
    return f'float("{value}")'


def _multiline(value: Any, indent: str, before: int) -> str:
    """A value over several lines, if it is a container that can be opened."""
    flat = _flat(value)
    if type(value) not in _CONTAINERS or not value or len(indent) + before + len(flat) <= _WIDTH:
        return flat
    inner = indent + "    "
    lines = "".join(f"{inner}{line},\n" for line in _rows(value, inner))
    start, end = _wrapped(value, "\0").split("\0") if type(value) is not dict else ("{", "}")
    return f"{start}\n{lines}{indent}{end.lstrip(',')}"


def _rows(value: Any, indent: str) -> list[str]:
    if type(value) is dict:
        heads = [(f"{_flat(key)}: ", item) for key, item in value.items()]
        return [head + _multiline(item, indent, len(head)) for head, item in heads]
    rows = [_multiline(item, indent, 0) for item in value]
    return sorted(rows) if type(value) in {set, frozenset} else rows
