"""The standard library is loaded while nobody asks for a worker, and who needs none of it does not wait for it."""

import json
import socket
import struct
import subprocess
import sys

import pytest

import workbench.sandbox as sandbox
from workbench.packed import pack
from workbench.sandbox.child import loops, zygote
from workbench.sandbox.host.limits import Limits, Program
from workbench.sandbox.host.needs import ALWAYS, needs_library
from workbench.sandbox.host.pool import Pool
from workbench.thread import StringThread

GRADE = "async def grade(thread):\n    return {}\n"
ROWS = pack([StringThread([("user", "q"), ("assistant", "4")], {"expected": "4"})])


@pytest.mark.parametrize(
    "text",
    [
        GRADE.format("1.0 if thread.completion().strip() == thread.metadata['expected'] else 0.0"),
        "import json, re\nfrom collections.abc import Mapping\n" + GRADE.format("float(len(json.loads(thread.completion())))"),
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    a: int = 1\n" + GRADE.format("float(A().a)"),
        "from workbench import Grade\n" + GRADE.format("Grade(score=1.0)"),
    ],
)  # fmt: skip
def test_texts_that_need_none_of_it(text):
    """Rows are compared, JSON is read: all of that is there from the start."""
    assert not needs_library(text)
    assert not Program(text).needs_library


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
        "def grade(:",
        "x = '\0'",
    ],
)
def test_texts_that_may_need_it(text):
    """What imports another module, or may reach one, waits; so does what cannot be read."""
    assert needs_library(text)


@pytest.mark.parametrize("called", [{"language": "javascript"}, {"signature": "trl"}])
def test_other_ways_to_be_called_need_it(called):
    """Platforms' classes and other languages are not looked at so closely."""
    assert Program(GRADE.format("1.0"), **called).needs_library


def test_what_is_always_there():
    """The modules that count as there are, once the sandbox's own files are loaded."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import zygote; zygote.load_files(); print(*sys.modules)"
    )
    folder = f"{sandbox.__path__[0]}/child"
    command = [sys.executable, "-s", "-S", "-P", "-c", code, folder]
    loaded = set(subprocess.run(command, capture_output=True, check=True, text=True).stdout.split())
    assert loaded >= ALWAYS - {
        "__future__",
        "workbench",
    }  # a pseudo-module, and ours, which every worker gets
    assert "asyncio" not in loaded


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
    assert zygote._serve(None, ({"op": "fork", "library": needed}, []), set(), library) == {"pid": 7}
    assert seen == [loaded]


async def ready(value):
    """Waits for nothing."""
    return value


def test_rows_without_asyncio():
    """What waits for nothing runs to its end; what waits is given up, as it is by the loop of asyncio."""
    seen = []

    async def rows():
        seen.append(await ready(1))

    class Forever:
        def __await__(self):
            yield

    async def waiting():
        await Forever()

    loop = loops.BareLoop()
    loop.run_until_complete(rows())
    assert seen == [1]
    with pytest.raises(loops.Stuck):
        loop.run_until_complete(waiting())
    loop.close()
