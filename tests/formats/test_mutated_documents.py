"""Mutated documents of every format are read, or refused by a workbench error; no partial file is written."""

import random
from collections import Counter

import pytest

import workbench as wb
from benchmarks.fault_parts.documents import spoil
from workbench.formats import FORMATS


@pytest.mark.parametrize("name", FORMATS)
def test_mutated_documents(name, tmp_path):
    """Some dozens of each format, the same every time; `benchmarks/faults.py documents` reads ten thousand."""
    found = Counter()
    spoil(name, 60, random.Random(f"test {name}"), tmp_path, found)
    assert set(found) <= {"read", "refused", "written", "not written"}
    assert found["read"] + found["refused"] == 60


@pytest.mark.parametrize(
    "text",
    [
        "def reward_func(queries, prompts, labels, labels):\n    return [1.0]\n",
        "def reward_func(queries, prompts, labels):\n    nonlocal x\n    return [1.0]\n",
        "def reward_func(queries, prompts, labels):\n    x = 1\n    global x\n    return [1.0]\n",
    ],
)
def test_what_parses_and_does_not_compile(text):
    """It is read as text, whose first check then fails; or refused: no bare SyntaxError."""
    try:
        suite = wb.loads(text, "openrlhf")
    except wb.errors.FormatError:
        return
    assert isinstance(suite, wb.Suite)
    source = wb.capture(text.replace("reward_func", "mine"), name="mine")
    assert "mine" in source.text
