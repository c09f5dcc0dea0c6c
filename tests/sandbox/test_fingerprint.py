"""Fingerprints: equal for equal behaviour, different for any other, and never any code of the values run."""

import enum
import json
import re
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from workbench.graders.capture.capture_check import prove
from workbench.sandbox.child import fingerprint
from workbench.sandbox.child.fingerprint import MAX_NODES, describe, global_reads

FILE = Path(fingerprint.__file__)


def namespace(text: str) -> dict:
    names = {"__name__": "__main__"}
    exec(compile(text, "<text>", "exec", dont_inherit=True), names)
    return names


def described(text: str, *names: str) -> str:
    return json.dumps(describe(namespace(text), list(names)))


PAIRS = [
    ("a = 1", "a = 1.0"),
    ("a = 1", "a = True"),
    ("a = 0.0", "a = -0.0"),
    ("a = [1]", "a = (1,)"),
    ("a = {1: 2, 3: 4}", "a = {3: 4, 1: 2}"),
    ("a = 'x'", "a = b'x'"),
    ("b = [1]; a = [b, b]", "a = [[1], [1]]"),
    ("def a(x=1): pass", "def a(x=2): pass"),
    ("def a(*, x=1): pass", "def a(*, x=2): pass"),
    ("def a(x): return x + 1", "def a(x): return x + 2"),
    ("def a(x): return x.b", "def a(x): return x.c"),
    ("def a(x):\n  if x: return 1\n  return 2", "def a(x):\n  if not x: return 1\n  return 2"),
    ("def a(): pass\na.k = 1", "def a(): pass"),
    (
        "def m(k):\n  def f(): return k\n  return f\na = m(1)",
        "def m(k):\n  def f(): return k\n  return f\na = m(2)",
    ),
    ("class a:\n  k = 1", "class a:\n  k = 2"),
    ("class a:\n  def f(self): return 1", "class a:\n  def f(self): return 2"),
    ("class a(ValueError): pass", "class a(TypeError): pass"),
    ("class A: pass\na = A()", "class A: pass\na = A(); a.k = 1"),
    ("import re\na = re.compile('x')", "import re\na = re.compile('x', re.I)"),
    (
        "from collections import Counter\na = Counter('a')",
        "from collections import Counter\na = Counter('b')",
    ),
    ("import math\na = math.floor", "import math\na = math.ceil"),
    ("import enum\nclass a(enum.Enum):\n  X = 1", "import enum\nclass a(enum.Enum):\n  X = 2"),
    (
        "from functools import partial\na = partial(int, base=2)",
        "from functools import partial\na = partial(int, base=3)",
    ),
    ("from decimal import Decimal\na = Decimal('1.0')", "from decimal import Decimal\na = Decimal('1.00')"),
    ("class A:\n  __slots__ = 'k'\na = A(); a.k = 1", "class A:\n  __slots__ = 'k'\na = A(); a.k = 2"),
    ("class D(dict): pass\na = D(x=1)", "class D(dict): pass\na = D(x=2)"),
    (
        "class A:\n  @property\n  def p(self): return 1\na = A",
        "class A:\n  @property\n  def p(self): return 2\na = A",
    ),
]


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=[one.replace("\n", "; ") for one, _ in PAIRS])
def test_differences_are_seen(one, other):
    """Two values that may behave differently have different descriptions; one made twice has one."""
    assert described(one, "a") != described(other, "a")
    assert described(one, "a") == described(one, "a")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def a(): return 1", "\n\n# moved\ndef a():\n    # said\n    return 1"),
        (
            "import json\ndef a(s): return json.loads(s, strict=False)",
            "def a(s): return json.loads(s, strict=False)",
        ),
        ("from __future__ import annotations\ndef a(x: int): return 1", "def a(x: int): return 1"),
        ("def a():\n  class B: pass\n  return B", "\n\ndef z():\n  class B: pass\n  return B\na = z"),
        ("a = {'x', 'y', 'z'}", "a = {'z', 'y', 'x'}"),
        ("a = 'x' * 3", "a = 'xxx'"),
    ],
)
def test_places_do_not_matter(one, other):
    """Lines, comments, the function's own name and what else a unit imports change nothing."""
    assert described(one, "a") == described(other, "a")


@dataclass
class Node:
    name: str
    children: list = field(default_factory=list)


class Level(enum.Enum):
    LOW = 1


def test_circles_end():
    """Objects that hold themselves are described once."""
    node = Node("a")
    node.children.append(node)
    assert json.dumps(describe({"n": node}, ["n"]))


def test_it_is_plain_json():
    """Every kind of value survives JSON, lone surrogates included."""
    values = {
        "s": "\ud800", "b": b"\xff", "c": 1 + 2j, "n": float("nan"), "big": 10**5000, "p": re.compile("x"), "l": Level.LOW,
        "t": Level, "d": Node, "r": range(3), "e": ..., "m": json, "f": json.dumps, "g": list[int], "z": zip([1], [2], strict=True),
    }  # fmt: skip
    whole = describe(values, list(values))
    assert json.loads(json.dumps(whole)) == whole
    assert not re.search("opaque", json.dumps(whole))


def test_what_cannot_be_described_says_so():
    """Files, generators, locks and missing names are told, not raised."""
    with FILE.open() as file:
        found = describe(
            {"f": file, "g": iter(x for x in ""), "l": threading.Lock()}, ["f", "g", "l", "nobody"]
        )
    kinds = {node[0] for node in found["nodes"]}
    assert kinds == {"opaque"}
    assert found["names"]["nobody"] == ["missing"]


def test_size_and_depth_are_bounded():
    """Endless or very deep values end in an opaque part."""
    deep: list = []
    for _ in range(20_000):
        deep = [deep]
    wide = list(range(MAX_NODES + 5))
    assert "opaque" in json.dumps(describe({"w": wide}, ["w"])["nodes"])
    assert any("opaque" in repr(node) for node in describe({"d": deep}, ["d"])["nodes"])


def test_no_method_of_a_value_runs():
    """A hostile class cannot act through its special methods."""

    class Trap:
        def __getattribute__(self, name):
            raise AssertionError("touched")

        def __repr__(self):
            raise AssertionError("shown")

        def __reduce_ex__(self, protocol):
            raise AssertionError("reduced")

        def __eq__(self, other):
            raise AssertionError("compared")

        __hash__ = None

    assert describe({"t": Trap()}, ["t"])["names"]["t"][0] == "ref"


def test_global_reads_follow_nested_code():
    """Names read by inner functions count; attributes and locals do not."""
    names = namespace("def a(x):\n  y = x.attr\n  return lambda: OUTER(y, inner.z)")
    assert global_reads(names["a"].__code__) == {"OUTER", "inner"}


def test_it_stands_alone():
    """The file loads by its path in a bare interpreter and describes a module there as it does here."""
    text = "import re\nK = [1, 2]\nP = re.compile('a')\ndef f(x=K): return P.match(x)\nclass A:\n  k = f\n"
    program = (
        "import importlib.util, json, sys\n"
        f"spec = importlib.util.spec_from_file_location('alone', {str(FILE)!r})\n"
        "alone = importlib.util.module_from_spec(spec); spec.loader.exec_module(alone)\n"
        "names = {'__name__': 'elsewhere'}\n"
        f"exec(compile({text!r}, '<other>', 'exec'), names)\n"
        "print(json.dumps(alone.describe(names, ['K', 'P', 'f', 'A'])))\n"
        "print(sorted(n for n in sys.modules if n.split('.')[0] in ('workbench', 'numpy')))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True
    )
    there, modules = done.stdout.splitlines()
    assert json.loads(there) == describe(namespace(text), ["K", "P", "f", "A"])
    assert modules == "[]"


def test_proof_names_the_first_difference():
    """The error tells which part of which name differs, and both values."""
    live = namespace("class A:\n    k = 1\nA.k = 5")
    with pytest.raises(ValueError, match=r"A changed after it was defined: k") as caught:
        prove(
            "",
            {"A": live["A"]},
            lambda text, names: describe(namespace("class A:\n    k = 1"), names),
            reads={},
        )
    assert caught.value.found == "now 5, but its source gives 1"


@pytest.mark.parametrize("arguments", ["ref, x", "opaque, x", "int, x", "missing"])
def test_names_of_arguments_are_no_tags(arguments):
    """A function whose arguments are called like the tags of a description is captured as any other."""
    text = f"def f({arguments}):\n    return 1"
    live = namespace(text)
    prove(text, {"f": live["f"]}, lambda text, names: describe(namespace(text), names), reads={})
    with pytest.raises(ValueError, match="f changed after it was defined"):
        prove(
            text,
            {"f": live["f"]},
            lambda _, names: describe(namespace("def f(a, b): return 1"), names),
            reads={},
        )


@pytest.mark.parametrize(
    ("forged", "words"),
    [
        (["int", "x"], "a int"), (["int", [1]], "a int"), (["int", "0x" + "f" * 5000], "a int"), (["float", 3], "a float"),
        (["\u202eliar", 1], "a \ufffdliar"), ({"a": 1}, "1 parts"), ("\x1b[31m", "\ufffd[31m"), (["k" * 900], "a kkk"),
    ],
)  # fmt: skip
def test_a_forged_value_is_told_in_words(forged, words):
    """A value that no description has is a difference like any other, fit to be shown."""
    with pytest.raises(ValueError, match="K changed after it was defined") as caught:
        prove("", {"K": 1}, lambda *_: {"names": {"K": forged}, "nodes": []}, reads={})
    shown = caught.value.found.removeprefix("now 1, but its source gives ")
    assert shown.startswith(words)
    assert len(shown) <= 80
