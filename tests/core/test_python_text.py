"""Trees of Python text."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from workbench.core.python_text import parse, parse_expression


@contextmanager
def trees_made_meanwhile(times: int) -> Iterator[list[int]]:
    """The first collections of garbage make a tree of their own, as another thread's would."""
    made: list[int] = []

    def make(phase: str, _: dict[str, int]) -> None:
        if phase == "start" and len(made) < times:
            made.append(1)
            ast.parse("a")

    before = gc.get_threshold()
    gc.callbacks.append(make)
    gc.set_threshold(50)
    try:
        yield made
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(make)


@pytest.mark.parametrize(
    ("read", "text"), [(parse, "x = [" + "f(1), " * 200 + "]"), (parse_expression, "[a, " * 40 + "]" * 40)]
)
def test_a_tree_made_in_the_midst_of_another_costs_neither(read, text):
    """Python 3.11.7 and before mix the two up and say SystemError."""
    expected = ast.dump(read(text))
    with trees_made_meanwhile(3) as made:
        assert ast.dump(read(text)) == expected
        assert made


def test_text_that_is_no_python_is_refused_at_once():
    """Only Python's own mistake is tried again."""
    with pytest.raises(SyntaxError):
        parse("def")
    with pytest.raises(SyntaxError):
        parse_expression("a = 1")
