"""The standard library is loaded while nobody asks for a worker, and who needs none of it does not wait for it."""

import ast
import importlib
import inspect
import json
import socket
import struct
import subprocess
import sys

import pytest

import workbench.sandbox as sandbox
from workbench.core.thread import StringThread
from workbench.data.packed import pack
from workbench.sandbox.child import library, zygote
from workbench.sandbox.host.pool import Pool
from workbench.sandbox.host.program import ALWAYS, Limits, Program, needs_full_stdlib

GRADE = "async def grade(thread):\n    return {}\n"
ROWS = pack([StringThread([("user", "q"), ("assistant", "4")], {"expected": "4"})])


@pytest.mark.parametrize(
    "text",
    [
        GRADE.format("1.0 if thread.completion().strip() == thread.metadata['expected'] else 0.0"),
        "import json, re\nfrom collections.abc import Mapping\n" + GRADE.format("float(len(json.loads(thread.completion())))"),
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    a: int = 1\n" + GRADE.format("float(A().a)"),
        "from workbench import Grade\n" + GRADE.format("Grade(score=1.0)"),
        '"""This docstring tells of the time, the format and a copy."""\nimport re as regex; import json\n'
        + GRADE.format("float(len(regex.findall(r'\\d', thread.completion())) + len(f'{1 + 1}'))"),
    ],
)  # fmt: skip
def test_texts_that_need_none_of_it(text):
    """Rows are compared, JSON is read: all of that is there from the start."""
    assert not needs_full_stdlib(text)
    assert not Program(text).needs_full_stdlib


@pytest.mark.parametrize(
    "text",
    [
        "import statistics\n" + GRADE.format("1.0"),
        "import json.tool\n" + GRADE.format("1.0"),
        "from re import _compiler\n" + GRADE.format("1.0"),
        "import json\n" + GRADE.format("float(len(json.codecs.lookup('rot13').name))"),
        "import typing\n" + GRADE.format("float(len(typing.sys.version))"),
        GRADE.format("float(len('a'.encode('cp500')))"),
        GRADE.format("float(len(str(b'a', 'cp500')))"),
        GRADE.format("float(getattr(thread, 'x', 1))"),
        GRADE.format("float(len(thread.__class__.__name__))"),
        GRADE.format("eval('1.0')"),
        "from collections import OrderedDict as heapq\n" + GRADE.format("1.0"),
        GRADE.format("float('{0.sys}'.format(thread) == '')"),
        GRADE.format("float(len('{0.__class__}'))"),
        "länge = 3\n" + GRADE.format("1.0"),
        "class Pause:\n    def __await__(self):\n        yield\n" + GRADE.format("1.0"),
        "async def one(thread):\n    return 1.0\n" + GRADE.format("await one(thread)"),
        "async def each():\n    yield 1.0\n" + GRADE.format("1.0"),
        "def found(x):\n    match x:\n        case type(__subclasses__=f):\n            return f\n"
        + GRADE.format("1.0"),
        "import typing\n" + GRADE.format("float(len(typing.get_type_hints(thread)))"),
        "import numpy\n" + GRADE.format("1.0"),
        "import json, numpy as np\n" + GRADE.format("1.0"),
        "if 1: import numpy\n" + GRADE.format("1.0"),
        "from . import json\n" + GRADE.format("1.0"),
        "async def one(thread):\n    async for x in thread:\n        pass\n" + GRADE.format("1.0"),
        GRADE.format("float(len(f'{thread.encode()}'))"),
        GRADE.format("float(len(f'{b}'))").replace("{b}", "{thread.__class__}"),
        "def grade(:\n    'open",
        "x = '\0'",
    ],
)
def test_texts_that_may_need_it(text):
    """What imports another module, or may reach one, waits; so does what cannot be read."""
    assert needs_full_stdlib(text)


@pytest.mark.parametrize("called", [{"language": "javascript"}, {"signature": "trl"}])
def test_other_ways_to_be_called_need_it(called):
    """Platforms' classes and other languages are not looked at so closely."""
    assert Program(GRADE.format("1.0"), **called).needs_full_stdlib


@pytest.fixture(scope="module")
def loaded():
    """The modules that are there once the sandbox's own files are loaded."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import zygote; zygote.load_files(); print(*sys.modules)"
    )
    folder = f"{sandbox.__path__[0]}/child"
    command = [sys.executable, "-s", "-S", "-P", "-c", code, folder]
    return set(subprocess.run(command, capture_output=True, check=True, text=True).stdout.split())


def test_what_is_always_there(loaded):
    """The modules that count as there are."""
    assert loaded >= ALWAYS - {
        "__future__",
        "workbench",
    }  # a pseudo-module, and ours, which every worker gets
    assert "asyncio" not in loaded


PROGRAMS = {"argparse", "json.tool"}
"""What modules import where they are run as programs."""


@pytest.mark.parametrize("name", sorted(ALWAYS - {"__future__", "workbench"}))
def test_what_they_import_late(name, loaded):
    """A module that is always there imports nothing late that is not: its functions give the same at any time."""
    package = importlib.import_module(name)
    late = set()
    for module in [package, *(part for key, part in sys.modules.items() if key.startswith(f"{name}."))]:
        if not str(getattr(module, "__file__", "")).endswith(".py"):
            continue  # compiled
        tree = ast.parse(inspect.getsource(module))
        for function in [
            node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]:
            for node in ast.walk(function):
                if isinstance(node, ast.Import):
                    late |= {alias.name for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    late.add(str(node.module))
    assert late - PROGRAMS <= loaded


@pytest.mark.parametrize(
    "body",
    [
        "float(Counter((thread.completion() or '').split()).most_common(1)[0][1])",
        "float(len('\\N{BULLET}'))",
        "float(len(re.findall('4', thread.completion())))",
        "float(len(f'{3.14159:.2f}'))",
        "float(json.loads('{\"a\": 12345678901234567890}')['a'] > 1)",
    ],
)
def test_a_first_grade_is_as_any(body):
    """What the first worker of a process says is what a later one says."""
    program = Program("import json\nimport re\nfrom collections import Counter\n" + GRADE.format(body))
    assert not program.needs_full_stdlib
    fresh = Pool()
    try:
        first = fresh.run(program, ROWS).grades
        fresh.run(Program("import asyncio\n" + program.text), ROWS)
        later = fresh.run(program, ROWS).grades
    finally:
        fresh.close()
    assert first.n_scored == 1
    assert first.scores.tolist() == later.scores.tolist()


@pytest.mark.parametrize("needing", [False, True])
def test_a_first_grade(needing):
    """A first worker gives the same grades, whether it waits for the library or not."""
    text = "import json, re\n" + GRADE.format("float(json.loads(re.findall('.', thread.completion())[0]))")
    fresh = Pool()
    try:
        outcome = fresh.run(Program(("import asyncio\n" if needing else "") + text, Limits()), ROWS)
        assert outcome.grades.scores.tolist() == [4.0]
        assert fresh.run(Program("import asyncio, zoneinfo\n" + text), ROWS).grades.scores.tolist() == [4.0]
    finally:
        fresh.close()


class Library:
    """Counts what is loaded of it."""

    def __init__(self, size):
        self.left, self.loaded = size, []

    @property
    def is_whole(self):
        return not self.left

    def load_next(self):
        self.left -= 1
        self.loaded.append("one")

    def load_all(self):
        self.left = 0
        self.loaded.append("all")


def ends():
    """Two ends of a socket, the first with a request in it that needs no descriptors."""
    ours, theirs = socket.socketpair()
    data = json.dumps({"op": "fork", "n": 1}).encode()
    theirs.sendall(struct.pack("<I", len(data)) + data)
    return ours, theirs


def test_a_request_comes_first():
    """Who asks is answered before any more is loaded."""
    ours, theirs = ends()
    with ours, theirs:
        library = Library(3)
        assert zygote._next_request(ours, library)[0]["op"] == "fork"
        assert library.loaded == []


def test_it_is_loaded_while_nobody_asks():
    """All of it, module by module, and then the zygote waits."""
    ours, theirs = socket.socketpair()
    with ours:
        library = Library(3)
        theirs.shutdown(socket.SHUT_RD)

        class Closing(Library):
            """Ends the connection with its last module, as a host does that ends."""

            def load_next(self):
                super().load_next()
                if self.is_whole:
                    theirs.close()

        library = Closing(3)
        assert zygote._next_request(ours, library) is None
        assert library.loaded == ["one"] * 3


@pytest.mark.parametrize(("needed", "loaded"), [(True, ["all"]), (False, [])])
def test_a_worker_that_needs_it(monkeypatch, needed, loaded):
    """The rest is loaded before the process divides, and for a worker that needs it alone."""
    seen = []
    library = Library(3)
    monkeypatch.setattr(zygote, "_fork", lambda *_: seen.append(list(library.loaded)) or 7)
    reply = zygote._serve(None, ({"op": "fork", "library": needed}, []), set(), library)
    assert reply == {"pid": 7, "library": needed}
    assert seen == [loaded]


async def ready(value):
    """Waits for nothing."""
    return value


def test_rows_without_asyncio():
    """What waits for nothing runs to its end; what waits is given up: a text that may wait counts as a need."""
    seen = []

    async def rows():
        seen.append(await ready(1))

    class Forever:
        def __await__(self):
            yield

    async def waiting():
        await Forever()

    loop = library.BareLoop()
    loop.run_until_complete(rows())
    assert seen == [1]
    with pytest.raises(library.Stuck):
        loop.run_until_complete(waiting())
    loop.close()


def test_both_loops_are_as_deep(monkeypatch):
    """A row that calls itself over and over reaches as far without asyncio as with it."""

    def reached():
        try:
            return 1 + reached()
        except RecursionError:
            return 1

    async def rows(found):
        found.append(reached())

    monkeypatch.setattr(library, "_kinds", [library.BareLoop])
    found = []
    bare = library.new_loop()
    library.use_asyncio()
    asked = library.new_loop()
    for loop in (bare, asked):
        loop.run_until_complete(rows(found))
        loop.close()
    assert found[0] == found[1]
