"""Hostile graders, each with a canary, and the code that tells whether one got through.

A canary is a random number that only a broken wall can show: in a file, a database, an environment
variable, another process, or shared rows. A case is unsafe when a score or message equals the canary, when a
file of the victim folder changed, when a listener was reached, when the victim died, when a process or the
zygote did not come out as it went in, when the host raised or took long, or when the grader that runs next
in the same pool does not get its right scores.

Every case says which layers stop it, each by itself (`stopped_by`). With none of them on it must succeed,
which shows that its canary is alive; `ALWAYS` marks what is stopped with no layer at all: by the clean exec,
by what can be imported, by the watchdog, or by the host, which takes nothing on trust.

`python -m tests.sandbox.hostile` prints how many cases are safe under each set of layers.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from workbench.core.thread import StringThread
from workbench.data.packed import pack
from workbench.sandbox.child.protocol import FAILED, HEADER, MAGIC, NOT_SCORED
from workbench.sandbox.host.pool import Pool
from workbench.sandbox.host.program import Limits, Program

ENV_NAME = "WB_CANARY_TOKEN"
BROKE = 2.0**50
"""What a grader returns when it got what it must not have and there is no number to show for it."""
ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
NOBODY = 65534
"""Whom workers become where the host is root: the victim is theirs, so that only layers protect it."""
ROWS = 3
LIMITS = Limits(row_seconds=0.15, load_seconds=0.5, memory_mb=256, lost_workers=2)
SLOW = 60.0
"""Seconds after which a host that still works on three rows counts as hurt."""

ALWAYS = ""
EACH = "seccomp rlimits landlock audit"
NO_DESCRIPTOR = "seccomp landlock audit"
"""Needs no new descriptor, which is all that the limits refuse."""
NO_PATH = "seccomp rlimits audit"
"""Names no file and no address that Landlock knows."""
NO_EVENT = "seccomp rlimits landlock"
"""Python tells its audit hooks nothing of it, or too late."""
CALLS = "seccomp audit"
LIMITED = "seccomp rlimits"
FILTER = "seccomp"


@dataclass(frozen=True)
class Case:
    """One attack.

    `body` is the body of `grade`; `module` stands above it. Both may use the places of a stage.

    Attributes:
        stopped_by: Layers each of which stops it; `ALWAYS` where none is needed.
        must_fail: Whether every row has to end as an error: what it returns is no score.
        same_user: It needs a host that is not root, since workers of root change to another user.
    """

    family: str
    name: str
    body: str
    module: str = ""
    stopped_by: str = ALWAYS
    must_fail: bool = field(default=False, kw_only=True)
    same_user: bool = field(default=False, kw_only=True)

    @property
    def open_without_locks(self) -> bool:
        """Whether it succeeds in a bare worker."""
        return self.stopped_by != ALWAYS and not (ROOT and self.same_user)

    def stopped_under(self, layers: tuple[str, ...]) -> bool:
        """Whether a set of layers has to stop it."""
        return not self.open_without_locks or bool(set(layers) & set(self.stopped_by.split()))

    def text(self, scene: Stage) -> str:
        """The grader's source."""
        body = textwrap.indent(textwrap.dedent(self.body).strip(), "    ")
        module = textwrap.dedent(self.module)
        text = f"{module}\nBROKE = {BROKE!r}\nasync def grade(thread):\n{body}\n    return 0.0\n"
        for key, value in scene.places.items():
            text = text.replace("{" + key + "}", str(value))
        return text


@dataclass
class Stage:
    """Everything an attack could reach, with its canary."""

    canary: int
    folder: Path
    places: dict[str, object]
    listeners: list[socket.socket]
    victim: subprocess.Popen[bytes]

    def snapshot(self) -> dict[str, tuple[int, int, bytes]]:
        """Names, modes, times and contents of the victim folder."""
        found = {}
        for path in sorted(self.folder.rglob("*")):
            info = path.lstat()
            data = path.read_bytes() if path.is_file() else b""
            found[str(path)] = (info.st_mode, info.st_mtime_ns, data)
        return found

    def reached(self) -> bool:
        """Whether anybody spoke to a listener."""
        for listener in self.listeners:
            with contextlib.suppress(BlockingIOError):
                if listener.type == socket.SOCK_DGRAM:
                    listener.recv(1)
                else:
                    listener.accept()[0].close()
                return True
        return False


@contextlib.contextmanager
def stage() -> Iterator[Stage]:
    """Set out files, listeners and a victim process, all open to whoever workers run as."""
    canary = _number_of_luck()
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        places = _files(folder, canary)
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        unix = stack.enter_context(socket.socket(socket.AF_UNIX))
        unix.bind(str(folder / "unix"))
        (folder / "unix").chmod(0o777)
        unix.listen()
        for listener in (tcp, udp, unix):
            listener.setblocking(False)
        victim = stack.enter_context(_victim(canary))
        stack.callback(victim.kill)
        places |= {
            "PORT": tcp.getsockname()[1], "UDP": udp.getsockname()[1], "UNIX": folder / "unix",
            "VICTIM": victim.pid, "ENV": ENV_NAME, "HOSTPID": os.getpid(), "MAGIC": MAGIC,
            "HEADER": HEADER.format, "NOT_SCORED": NOT_SCORED, "FAILED": FAILED,
        }  # fmt: skip
        yield Stage(canary, folder, places, [tcp, udp, unix], victim)


def _number_of_luck() -> int:
    return secrets.randbelow(2**40) + 2**40


def _files(folder: Path, canary: int) -> dict[str, object]:
    """Files with the canary, readable by anybody: only the sandbox stands between it and the grader."""
    places = {key: folder / name for key, name in (
        ("FILE", "secret.txt"), ("DB", "secret.db"), ("ZIP", "secret.zip"), ("PY", "secretmodule.py"),
    )}  # fmt: skip
    folder.chmod(0o777)
    places["FILE"].write_text(str(canary))
    places["PY"].write_text(f"DATA = {canary}\n")
    with contextlib.closing(sqlite3.connect(places["DB"])) as base, base:
        base.execute("create table canary (number integer)")
        base.execute("insert into canary values (?)", (canary,))
    with zipfile.ZipFile(places["ZIP"], "w") as archive:
        archive.writestr("zipped.py", f"DATA = {canary}\n")
    for path in places.values():
        path.chmod(0o666)
    return {**places, "DIR": folder}


def _victim(canary: int) -> subprocess.Popen[bytes]:
    """A process of the workers' own user, with the canary in its environment."""
    return subprocess.Popen(
        ["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True,
        env={**os.environ, "VICTIM_TOKEN": str(canary)}, **({"user": NOBODY, "group": NOBODY, "extra_groups": []} if ROOT else {}),
    )  # fmt: skip


HOST_CANARY = _number_of_luck()


class Arena:
    """One pool for many attacks, in a host with secrets of its own.

    The environment variable and the open descriptor are there before the zygote starts, as a user's
    would be. Orphans come to this process, so that nobody gets away by leaving its session.
    """

    def __init__(self, layers: tuple[str, ...]) -> None:
        self.layers, self.canary = layers, HOST_CANARY
        self.pool, self.packed = Pool(layers), pack(_threads())

    def __enter__(self) -> Self:
        _adopt_orphans(True)
        os.environ[ENV_NAME] = str(self.canary)
        self._leaked = tempfile.TemporaryFile()
        self._leaked.write(str(self.canary).encode())
        self._leaked.flush()
        os.set_inheritable(self._leaked.fileno(), True)
        return self

    def __exit__(self, *exc: object) -> None:
        self.pool.close()
        self._leaked.close()
        os.environ.pop(ENV_NAME, None)
        _adopt_orphans(False)

    def wounds(self, case: Case) -> list[str]:
        """Run one attack on three rows and look for what it may have touched."""
        self._settle()  # a zygote is there, and its pid known
        zygote, others = self._zygote(), _offspring()
        start = time.monotonic()
        with stage() as scene:
            before = scene.snapshot()
            found = self._attack(case, scene)
            found += ["a file changed"] if scene.snapshot() != before else []
            found += ["the victim died"] if _died(scene.victim, case) else []
            found += ["a listener was reached"] if scene.reached() else []
            found += self._strays({scene.victim.pid, *others})
        found += ["the zygote ended"] if zygote != self._zygote() or not self._alive() else []
        after = self._next_run()
        if after:
            self._repair()
        found += after
        return found + (["the host took long"] if time.monotonic() - start > SLOW else [])

    def _attack(self, case: Case, scene: Stage) -> list[str]:
        try:
            outcome = self.pool.run(Program(case.text(scene), LIMITS), self.packed, workers=1)
        except Exception as error:
            return [f"the host raised {type(error).__name__}: {str(error)[:200]}"]
        canaries = [scene.canary, self.canary]
        scores = list(outcome.grades.scores)
        told = " ".join([outcome.output, *(error.message for error in outcome.grades.errors.values())])
        found = [f"score {score}" for score in scores if score == BROKE or score in canaries]
        found += ["the canary in a text"] if any(str(canary) in told for canary in canaries) else []
        wrong = case.must_fail and any(score == score for score in scores)
        return found + (["a score where none is due"] if wrong else [])

    def _next_run(self) -> list[str]:
        """A decent grader in the same pool on the same rows must see the rows and score them."""
        try:
            outcome = self.pool.run(
                Program(DECENT, Limits(row_seconds=5, memory_mb=256)), self.packed, workers=1
            )
        except Exception as error:
            return [f"the next run raised {type(error).__name__}: {str(error)[:200]}"]
        scores = list(outcome.grades.scores)
        return [] if scores == [float(i) for i in range(ROWS)] else [f"the next run scored {scores}"]

    def _repair(self) -> None:
        """Hurt rows or processes are this case's wound, not the next one's."""
        self.pool.close()
        self.pool, self.packed = Pool(self.layers), pack(_threads())

    def _settle(self) -> None:
        if not self._alive():
            self.pool.warm(self.packed, workers=1, limits=LIMITS)

    def _zygote(self) -> int:
        zygote = self.pool._zygote
        return zygote._process.pid if zygote else 0

    def _alive(self) -> bool:
        return self.pool._zygote is not None and self.pool._zygote.alive

    def _strays(self, others: set[int]) -> list[str]:
        """Processes that came from the attack and are still there once its worker is gone."""
        self.pool.warm(self.packed, workers=1, limits=LIMITS)  # behind the old worker's end, in one queue
        spares = self.pool._spares.workers
        known = {*others, self._zygote(), *(worker.pid for worker in spares)}
        strays = _offspring() - known
        for pid in strays:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        return ["a process is left"] if strays else []


def _threads() -> list[StringThread]:
    turns = [("user", "q")]
    return [StringThread([*turns, ("assistant", str(i))], {"n": i, "deep": {"n": [i]}}) for i in range(ROWS)]


def _died(victim: subprocess.Popen[bytes], case: Case) -> bool:
    # A signal takes a moment to work, so it gets one where the case knows the victim.
    with contextlib.suppress(subprocess.TimeoutExpired):
        victim.wait(0.03 if "{VICTIM}" in case.body else 0)
    return victim.returncode is not None


DECENT = """
import json
async def grade(thread):
    n = thread.metadata["n"]
    same = [float(thread.completion()), float(thread.metadata["deep"]["n"][0]), float(json.loads(str(n)))]
    return float(n) if same == [n] * 3 and len(thread.get_turns()) == 2 else -1.0
"""


def _adopt_orphans(on: bool) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, int(on), 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def _offspring() -> set[int]:
    """Live descendants of this process that the sandbox or an attack has started."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if fields[0] != "Z":
                parents[int(path.parent.name)] = int(fields[1])
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {os.getpid()}


def is_safe(case: Case, layers: tuple[str, ...]) -> bool:
    """Whether one attack in a pool of its own leaves no wound."""
    with Arena(layers) as arena:
        return not arena.wounds(case)


def _number(expression: str) -> str:
    """Return a number read by `expression`, whatever surrounds it."""
    return f"""
    import re
    found = re.findall(r"(?<![0-9a-f])\\d{{13}}(?![0-9a-f])", str({expression}))
    return float(found[0]) if found else 0.0
    """


FIND = """
def find(name):
    # A module that was taken out of sys.modules is still held by those that imported it.
    import sys, types
    todo, seen, frame = list(sys.modules.values()), set(), sys._getframe()
    while frame:
        todo += frame.f_globals.values()
        frame = frame.f_back
    while todo:
        thing = todo.pop()
        if isinstance(thing, types.ModuleType) and id(thing) not in seen:
            if thing.__name__ == name:
                return thing
            seen.add(id(thing))
            todo += vars(thing).values()
    raise ImportError(name)
"""
FORGE = """
import json, os, struct, sys
def seq():
    frame = sys._getframe()
    while frame:
        command = frame.f_locals.get("command")
        if isinstance(command, dict) and "seq" in command:
            return command["seq"]
        frame = frame.f_back
    return 0
def forge(text, *, magic={MAGIC}, number=None, size=None):
    text = text if isinstance(text, bytes) else json.dumps(text).encode()
    head = struct.pack("{HEADER}", magic, seq() if number is None else number, len(text) if size is None else size)
    data = head + text
    while data:
        data = data[os.write(4, data):]
"""


_LOADER = "__import__('importlib.machinery').machinery.SourceFileLoader"
_READ = [
    Case("read", "open", _number("open('{FILE}').read()"), stopped_by=EACH),
    Case(
        "read",
        "os.open",
        _number("__import__('os').read(__import__('os').open('{FILE}', 0), 99)"),
        stopped_by=EACH,
    ),
    Case("read", "pathlib", _number("__import__('pathlib').Path('{FILE}').read_text()"), stopped_by=EACH),
    Case("read", "io.FileIO", _number("__import__('io').FileIO('{FILE}').read()"), stopped_by=EACH),
    Case("read", "_io.open_code", _number("__import__('_io').open_code('{FILE}').read()"), stopped_by=EACH),
    Case("read", "codecs.open", _number("__import__('codecs').open('{FILE}').read()"), stopped_by=EACH),
    Case("read", "linecache", _number("__import__('linecache').getlines('{FILE}')"), stopped_by=EACH),
    Case("read", "tokenize.open", _number("__import__('tokenize').open('{FILE}').read()"), stopped_by=EACH),
    Case(
        "read", "os.scandir", "import os\nreturn BROKE if list(os.scandir('{DIR}')) else 0.0", stopped_by=EACH
    ),
    Case("read", "os.listdir", "import os\nreturn BROKE if os.listdir('{DIR}') else 0.0", stopped_by=EACH),
    Case("read", "os.walk", "import os\nreturn BROKE if list(os.walk('{DIR}')) else 0.0", stopped_by=EACH),
    Case(
        "read",
        "glob by pathlib",
        _number("[p.read_text() for p in __import__('pathlib').Path('{DIR}').glob('*.txt')]"),
        stopped_by=EACH,
    ),
    Case(
        "read",
        "source loader's get_data",
        _number(_LOADER + "('x', '{FILE}').get_data('{FILE}')"),
        stopped_by=EACH,
    ),
    Case(
        "read",
        "source loader's module",
        _number(_LOADER + "('x', '{PY}').load_module().DATA"),
        stopped_by=EACH,
    ),
    Case(
        "read",
        "path finder put back",
        "import sys, importlib.machinery as m\nsys.path_hooks.append(m.FileFinder.path_hook((m.SourceFileLoader, ['.py'])))\nsys.meta_path.insert(0, m.PathFinder)\nsys.path.append('{DIR}')\nimport secretmodule\nreturn float(secretmodule.DATA)",
        stopped_by=EACH,
    ),
    Case(
        "read",
        "zipimport",
        _number("__import__('zipimport').zipimporter('{ZIP}').load_module('zipped').DATA"),
        stopped_by=EACH,
    ),
    Case(
        "read",
        "zipfile",
        _number("__import__('zipfile').ZipFile('{ZIP}').read('zipped.py')"),
        stopped_by=EACH,
    ),
    Case(
        "read",
        "sqlite database",
        "import sqlite3\nreturn float(sqlite3.connect('{DB}').execute('select number from canary').fetchone()[0])",
        stopped_by=EACH,
    ),
    Case(
        "read",
        "sqlite attach",
        "import sqlite3\nbase = sqlite3.connect(':memory:')\nbase.execute(\"attach '{DB}' as other\")\nreturn float(base.execute('select number from other.canary').fetchone()[0])",
        stopped_by=EACH,
    ),
    Case(
        "read",
        "urllib file scheme",
        _number("__import__('urllib.request').request.urlopen('file://{FILE}').read()"),
        stopped_by=EACH,
    ),
    Case(
        "read",
        "configparser",
        "import configparser\nparser = configparser.ConfigParser()\nparser.read_string('[a]\\nk=1')\nparser.read('{FILE}')",
        stopped_by=EACH,
    ),
    Case(
        "read",
        "logging config by handler",
        "import logging\nlogging.FileHandler('{FILE}', 'r')\nreturn BROKE",
        stopped_by=EACH,
    ),
    Case(
        "read",
        "module-level open kept for later",
        "return DATA",
        "DATA = float(open('{FILE}').read())",
        stopped_by=EACH,
    ),
    Case(
        "read",
        "os.stat size",
        "import os\nreturn BROKE if os.stat('{FILE}').st_size else 0.0",
        stopped_by=FILTER,
    ),
    Case(
        "read",
        "os.access",
        "import os\nreturn BROKE if os.access('{FILE}', os.R_OK) else 0.0",
        stopped_by=FILTER,
    ),
    Case(
        "read",
        "os.readlink",
        "import os\nreturn BROKE if os.readlink('/proc/self/exe') else 0.0",
        stopped_by=FILTER,
    ),
    Case("read", "os.statvfs", "import os\nreturn BROKE if os.statvfs('{DIR}') else 0.0", stopped_by=FILTER),
    Case(
        "read",
        "chdir and open",
        _number("(__import__('os').chdir('{DIR}'), open('secret.txt').read())"),
        stopped_by=EACH,
    ),
    Case(
        "read",
        "libc fopen",
        _number(
            "[(lambda c: (setattr(c.fopen, 'restype', t.c_void_p), setattr(c.fgets, 'restype', t.c_char_p), c.fgets(t.create_string_buffer(99), 99, t.c_void_p(c.fopen(b'{FILE}', b'r'))))[2])(t.CDLL(None)) for t in [find('ctypes')]]"
        ),
        FIND,
        stopped_by=EACH,
    ),
    Case(
        "read",
        "victim's environment",
        _number("open('/proc/{VICTIM}/environ', 'rb').read()"),
        stopped_by=EACH,
    ),
    Case(
        "read",
        "victim's command line",
        "return BROKE if open('/proc/{VICTIM}/cmdline', 'rb').read() else 0.0",
        stopped_by=EACH,
    ),
    Case(
        "read",
        "mmap of a file",
        "import os\nmmap = find('mmap')\nreturn float(mmap.mmap(os.open('{FILE}', 0), 0, prot=1).read())",
        FIND,
        stopped_by=EACH,
    ),
]
_WRITE = [
    Case("write", "open for writing", "open('{DIR}/new.txt', 'w').write('x')", stopped_by=EACH),
    Case("write", "append", "open('{FILE}', 'a').write('x')", stopped_by=EACH),
    Case("write", "unlink", "import os\nos.unlink('{FILE}')", stopped_by=NO_DESCRIPTOR),
    Case("write", "rename", "import os\nos.rename('{FILE}', '{DIR}/gone.txt')", stopped_by=NO_DESCRIPTOR),
    Case("write", "mkdir", "import os\nos.mkdir('{DIR}/made')", stopped_by=NO_DESCRIPTOR),
    Case("write", "symlink", "import os\nos.symlink('/etc', '{DIR}/link')", stopped_by=NO_DESCRIPTOR),
    Case(
        "write",
        "chmod by a folder's replacement",
        "import os\nos.mkdir('{DIR}/made')\nos.chmod('{DIR}/made', 0o700)",
        stopped_by=NO_DESCRIPTOR,
    ),
    Case("write", "utime", "import os\nos.utime('{FILE}')", stopped_by=CALLS),
    Case("write", "truncate", "import os\nos.truncate('{FILE}', 0)", stopped_by=NO_DESCRIPTOR),
    Case("write", "mkfifo", "import os\nos.mkfifo('{DIR}/fifo')", stopped_by="seccomp landlock"),
    Case("write", "mknod", "import os\nos.mknod('{DIR}/node')", stopped_by="seccomp landlock"),
    Case(
        "write", "shutil rmtree", "import shutil\nshutil.rmtree('{DIR}', ignore_errors=True)", stopped_by=EACH
    ),
    Case("write", "shutil copy", "import shutil\nshutil.copyfile('{FILE}', '{DIR}/copy')", stopped_by=EACH),
    Case("write", "tempfile", "import tempfile\ntempfile.mkstemp(dir='{DIR}')", stopped_by=EACH),
    Case(
        "write",
        "sqlite table",
        "import sqlite3\nbase = sqlite3.connect('{DB}')\nbase.execute('delete from canary')\nbase.commit()",
        stopped_by=EACH,
    ),
    Case("write", "at module level", "pass", "open('{DIR}/new.txt', 'w').write('x')", stopped_by=EACH),
]
_NETWORK = [
    Case(
        "network",
        "tcp connect",
        "import socket\nsocket.create_connection(('127.0.0.1', {PORT}), 0.2)",
        stopped_by=EACH,
    ),
    Case(
        "network",
        "udp send",
        "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {UDP}))",
        stopped_by=NO_PATH,
    ),
    Case(
        "network",
        "unix socket",
        "import socket\nsocket.socket(socket.AF_UNIX).connect('{UNIX}')",
        stopped_by=NO_PATH,
    ),
    Case(
        "network",
        "raw _socket",
        "import _socket\n_socket.socket(2, 1).connect(('127.0.0.1', {PORT}))",
        stopped_by=EACH,
    ),
    Case(
        "network",
        "http client",
        "import http.client\nhttp.client.HTTPConnection('127.0.0.1', {PORT}, timeout=0.05).request('GET', '/')",
        stopped_by=EACH,
    ),
    Case(
        "network",
        "urlopen",
        "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:{PORT}/', timeout=0.05)",
        stopped_by=EACH,
    ),
    Case(
        "network",
        "asyncio with a loop of its own",
        "import asyncio\nasyncio._set_running_loop(None)\nloop = asyncio.SelectorEventLoop()\nloop.run_until_complete(asyncio.open_connection('127.0.0.1', {PORT}))",
        stopped_by=EACH,
    ),
    Case(
        "network", "socketpair", "import socket\na, b = socket.socketpair()\nreturn BROKE", stopped_by=NO_PATH
    ),
    Case(
        "network",
        "listening socket",
        "import socket\nsocket.create_server(('127.0.0.1', 0))\nreturn BROKE",
        stopped_by=EACH,
    ),
    Case(
        "network",
        "logging datagram handler",
        "import logging.handlers\nh = logging.handlers.DatagramHandler('127.0.0.1', {UDP})\nh.send(b'x')",
        stopped_by=NO_PATH,
    ),
    Case(
        "network",
        "asyncio connection in the worker's loop",
        "import asyncio\nawait asyncio.open_connection('127.0.0.1', {PORT})",
    ),
]
_PROCESS = [
    Case(
        "process",
        "fork",
        "import os\npid = os.fork()\nif pid == 0:\n    import time\n    time.sleep(20)",
        stopped_by=NO_PATH,
    ),
    Case(
        "process",
        "fork, fork and a session of its own",
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(20)\n    os._exit(0)",
        stopped_by=NO_PATH,
    ),
    Case(
        "process",
        "forkpty",
        "import os\npid, fd = os.forkpty()\nif pid == 0:\n    os._exit(0)\nreturn BROKE",
        stopped_by=EACH,
    ),
    Case("process", "system", "import os\nos.system('touch {DIR}/made')", stopped_by=EACH),
    Case("process", "popen", "import os\nos.popen('touch {DIR}/made').close()", stopped_by=EACH),
    Case(
        "process",
        "subprocess",
        "import subprocess\nsubprocess.run(['/bin/touch', '{DIR}/made'])",
        stopped_by=EACH,
    ),
    Case(
        "process",
        "_posixsubprocess",
        """
        import os, _posixsubprocess
        ends = [-1, -1, -1, -1, -1, -1, 3, 4]
        rest = [False, False, -1, None, None, None, -1, None, False]
        args = [[b'/bin/touch', b'{DIR}/made'], [b'/bin/touch'], False, (), None, None, *ends, *rest]
        for count in range(len(args), 18, -1):
            # The number of arguments changed with 3.9, 3.10, 3.11 and 3.14.
            try:
                os.waitpid(_posixsubprocess.fork_exec(*args[:count]), 0)
                break
            except TypeError:
                continue
    """,
        stopped_by=NO_EVENT,
    ),
    Case("process", "exec", "import os\nos.execv('/bin/touch', ['touch', '{DIR}/made'])", stopped_by=EACH),
    Case(
        "process",
        "posix_spawn",
        "import os\nos.waitpid(os.posix_spawn('/bin/touch', ['touch', '{DIR}/made'], {}), 0)",
        stopped_by=EACH,
    ),
    Case(
        "process",
        "kill the victim",
        "import os, signal\nos.kill({VICTIM}, signal.SIGKILL)",
        stopped_by=NO_DESCRIPTOR,
    ),
    Case(
        "process",
        "stop the victim's group",
        "import os, signal\nos.killpg({VICTIM}, signal.SIGKILL)",
        stopped_by=NO_DESCRIPTOR,
    ),
    Case(
        "process",
        "signal to everything there is",
        "import os\nos.kill(-1, 0)\nreturn BROKE",
        stopped_by=CALLS,
    ),
    Case(
        "process",
        "kill the parent",
        "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)",
        same_user=True,
        stopped_by=NO_DESCRIPTOR,
    ),
    Case(
        "process",
        "pidfd signal",
        "import os, signal\nsignal.pidfd_send_signal(os.pidfd_open({VICTIM}), signal.SIGKILL)",
        stopped_by=NO_EVENT,
    ),
    Case(
        "process",
        "thread",
        "import threading, time\nt = threading.Thread(target=time.sleep, args=(60,), daemon=True)\nt.start()\nreturn BROKE",
        stopped_by=LIMITED,
    ),
    Case(
        "process",
        "priority of another process",
        "import os\nos.setpriority(os.PRIO_PROCESS, {VICTIM}, 19)\nreturn BROKE",
        stopped_by=FILTER,
    ),
    Case(
        "process",
        "processor of another process",
        "import os\nos.sched_setaffinity({VICTIM}, os.sched_getaffinity(0))\nreturn BROKE",
        stopped_by=FILTER,
    ),
    Case(
        "process",
        "limits of another process",
        "libc = find('ctypes').CDLL(None)\nif libc.prlimit({VICTIM}, 4, find('ctypes').create_string_buffer(16), None) == 0:\n    return BROKE",
        FIND,
        stopped_by=CALLS,
    ),
    Case(
        "process",
        "ctypes held by another module",
        "find('ctypes').CDLL(None).kill({VICTIM}, 9)",
        FIND,
        stopped_by=NO_DESCRIPTOR,
    ),
    Case(
        "process",
        "libc system",
        "find('ctypes').CDLL(None).system(b'touch {DIR}/made')",
        FIND,
        stopped_by=EACH,
    ),
    Case(
        "process",
        "ptrace attach",
        "if find('ctypes').CDLL(None).ptrace(16, {VICTIM}, None, None) == 0:\n    return BROKE",
        FIND,
        stopped_by=NO_DESCRIPTOR,
    ),
    Case(
        "process",
        "io_uring",
        "c = find('ctypes')\nif c.CDLL(None).syscall(425, 4, c.create_string_buffer(120)) >= 0:\n    return BROKE",
        FIND,
        stopped_by=NO_PATH,
    ),
    Case(
        "process",
        "shared memory segment",
        "libc = find('ctypes').CDLL(None)\nsegment = libc.shmget(0, 4096, 0o1600)\nif segment >= 0:\n    libc.shmctl(segment, 0, None)\n    return BROKE",
        FIND,
        stopped_by=CALLS,
    ),
    Case(
        "process",
        "executable memory",
        "find('mmap').mmap(-1, 4096, prot=7)\nreturn BROKE",
        FIND,
        stopped_by=CALLS,
    ),
    Case(
        "process",
        "memory without a file",
        "import os\nos.memfd_create('x')\nreturn BROKE",
        stopped_by=LIMITED,
    ),
    Case("process", "pipe", "import os\nos.pipe()\nreturn BROKE", stopped_by=LIMITED),
    Case(
        "process",
        "processors of another process",
        "import os\nreturn BROKE if os.sched_getaffinity({VICTIM}) else 0.0",
        stopped_by=FILTER,
    ),
]
_PACKAGES = [
    Case("packages", "third party", "import numpy\nreturn BROKE"),
    Case(
        "packages",
        "sys.path put back",
        "import sys, importlib\nsys.path.append('{DIR}')\nimport secretmodule\nreturn BROKE",
    ),
    Case(
        "packages",
        "multiprocessing",
        "import multiprocessing\nmultiprocessing.Process(target=print).start()\nreturn BROKE",
    ),
    Case("packages", "ctypes by name", "import ctypes\nreturn BROKE"),
    Case("packages", "ssl", "import ssl\nreturn BROKE"),
    Case("packages", "the workbench itself", "import workbench.sandbox\nreturn BROKE"),
]
_TRICKS = [
    Case("tricks", "eval", _number("eval(\"open('{FILE}').read()\")"), stopped_by=EACH),
    Case(
        "tricks",
        "exec with builtins of its own",
        "space = {}\nexec(\"import io\\nx = io.open('{FILE}').read()\", space)\nreturn float(space['x'])",
        stopped_by=EACH,
    ),
    Case(
        "tricks",
        "subclasses walk",
        """
        for cls in ().__class__.__base__.__subclasses__():
            if cls.__name__ == 'FileLoader':
                return float(cls('x', '{FILE}').get_data('{FILE}'))
    """,
        stopped_by=EACH,
    ),
    Case(
        "tricks", "coding line", _number("open('{FILE}').read()"), "# -*- coding: rot13 -*-", stopped_by=EACH
    ),
    Case(
        "tricks",
        "object that opens when it is compared",
        _number("next(iter([w for w in [W()] if w == 1] and S))"),
        "S = []\nclass W:\n    def __eq__(self, other):\n        S.append(open('{FILE}').read())\n        return True",
        stopped_by=EACH,
    ),
    Case(
        "tricks",
        "opens in __del__",
        "D()\nimport gc\ngc.collect()\nreturn float(S[0]) if S else 0.0",
        "S = []\nclass D:\n    def __del__(self):\n        S.append(open('{FILE}').read())",
        stopped_by=EACH,
    ),
    Case(
        "tricks",
        "opens in a decorator at load",
        "return float(grade_data)",
        "def read(f):\n    return open('{FILE}').read()\n@read\ndef grade_data():\n    pass",
        stopped_by=EACH,
    ),
    Case(
        "tricks",
        "opens in a signal handler",
        "import signal\nsignal.signal(signal.SIGVTALRM, lambda *a: S.append(open('{FILE}').read()))\nsignal.setitimer(signal.ITIMER_VIRTUAL, 0.01)\nfor i in range(9000000):\n    if S:\n        break\nreturn float(S[0]) if S else 0.0",
        "S = []",
        stopped_by=EACH,
    ),
    Case(
        "tricks",
        "unpickled call",
        _number("__import__('pickle').loads(b\"cos\\nsystem\\n(S'touch {DIR}/made'\\ntR.\")"),
        stopped_by=EACH,
    ),
]
_CLEAN = [
    Case("clean exec", "environment", _number("__import__('os').environ.get('{ENV}')")),
    Case("clean exec", "environment in bytes", _number("__import__('os').environb.get(b'{ENV}')")),
    Case(
        "clean exec",
        "environment by libc",
        _number(
            "(lambda c: (setattr(c.getenv, 'restype', find('ctypes').c_char_p), c.getenv(b'{ENV}'))[1])(find('ctypes').CDLL(None))"
        ),
        FIND,
    ),
    Case(
        "clean exec",
        "open descriptors",
        """
        import os, re
        for fd in range(200):
            try:
                found = re.findall(rb"^\\d{13}$", os.pread(fd, 4096, 0))
            except OSError:
                continue
            if found:
                return float(found[0])
    """,
    ),
    Case("clean exec", "modules of the host", "import sys\nreturn BROKE if 'numpy' in sys.modules else 0.0"),
    Case(
        "clean exec",
        "globals of every frame",
        """
        import sys
        frame = sys._getframe()
        while frame:
            if any(name.startswith('tests.sandbox') or name.startswith('pytest') for name in list(sys.modules)):
                return BROKE
            frame = frame.f_back
    """,
    ),
    Case(
        "clean exec",
        "objects of the garbage collector",
        """
        import gc
        for thing in gc.get_objects():
            for part in (thing, *(gc.get_referents(thing) if type(thing) is dict else ())):
                if type(part) is dict and '{ENV}' in part:
                    return float(part['{ENV}'])
        import os
        data = getattr(os.environ, '_data', {})
        return float(data.get(b'{ENV}', 0))
    """,
    ),
]
_NAN = "import struct\nreturn struct.unpack('<d', struct.pack('<Q', %s))[0]"
_RETURNS = [
    Case("returns", name, body, module, must_fail=True)
    for name, body, module in [
        ("the bits of 'not scored'", _NAN % "{NOT_SCORED}", ""),
        ("the bits of 'failed'", _NAN % "{FAILED}", ""),
        ("NaN", "return float('nan')", ""),
        ("infinity", "return float('inf')", ""),
        ("a huge int", "return 10 ** 400", ""),
        ("an int with too many digits to print", "return 10 ** 5000", ""),
        ("a bool", "return True", ""),
        ("None", "return None", ""),
        ("text of a number", "return '1.0'", ""),
        (
            "a subclass of float",
            "return F(0.5)",
            "class F(float):\n    def __float__(self):\n        return BROKE\n    def __repr__(self):\n        raise SystemExit",
        ),
        (
            "a subclass of int",
            "return I(1)",
            "class I(int):\n    def __repr__(self):\n        return 'x' * 10**7",
        ),
        (
            "an object with __float__",
            "return N()",
            "class N:\n    def __float__(self):\n        return 1.0\n    __index__ = None",
        ),
        (
            "a class that says it is float",
            "return L()",
            "class L:\n    __class__ = float\n    def __float__(self):\n        return 1.0",
        ),
        (
            "a __repr__ that loops",
            "return R()",
            "class R:\n    def __repr__(self):\n        while True:\n            pass",
        ),
        (
            "a __repr__ that kills",
            "return R()",
            "import os\nclass R:\n    def __repr__(self):\n        os._exit(3)",
        ),
        ("a type with a hostile name", "return type('</script>' * 99, (), {})()", ""),
        (
            "an exception whose text raises",
            "raise E",
            "class E(Exception):\n    def __str__(self):\n        raise BaseException",
        ),
        (
            "an exception whose text loops",
            "raise E",
            "class E(Exception):\n    def __str__(self):\n        while True:\n            pass",
        ),
        (
            "an exception whose text is no text",
            "raise E",
            "class E(Exception):\n    def __str__(self):\n        return 7",
        ),
        (
            "an exception with surrogates and controls",
            "raise Exception('\\ud800\\x1b[31m\\u202e\\x00' * 50)",
            "",
        ),
        (
            "an exception that holds itself",
            "e = Exception()\ne.__cause__ = e\ne.__context__ = e\nraise e",
            "",
        ),
        (
            "an exception group of groups",
            "e = Exception('x')\nfor i in range(200):\n    e = ExceptionGroup('g', [e])\nraise e",
            "",
        ),
        ("GeneratorExit", "raise GeneratorExit", ""),
        ("KeyboardInterrupt", "raise KeyboardInterrupt", ""),
        ("SystemExit", "raise SystemExit(0)", ""),
        ("StopAsyncIteration", "raise StopAsyncIteration", ""),
        ("a future that is cancelled", "import asyncio\nraise asyncio.CancelledError", ""),
    ]
]
_INTEGRITY = [
    Case("integrity", name, body, module)
    for name, body, module in [
        (
            "metadata changed",
            "thread.metadata['n'] = 99\nthread.metadata['deep']['n'][0] = 99\nthread.metadata.pop('deep')",
            "",
        ),
        (
            "thread class patched",
            "type(thread).completion = lambda self: '99'\ntype(thread).metadata = property(lambda self: {})",
            "",
        ),
        (
            "builtins patched",
            "import builtins\nbuiltins.float = lambda *a: 99.0\nbuiltins.len = lambda *a: 99\nbuiltins.type = None",
            "",
        ),
        (
            "sys.modules patched",
            "import sys, json\njson.loads = lambda *a: 99\nsys.modules['json'] = None\nsys.modules['workbench'] = None",
            "",
        ),
        (
            "the worker's own functions replaced",
            "import sys\nframe = sys._getframe()\nwhile frame:\n    for key, value in list(frame.f_globals.items()):\n        if key.startswith('_') and hasattr(value, '__dict__') and key[1:2].islower():\n            for name in ('answer', 'drive', 'describe', 'kind_of'):\n                if hasattr(value, name):\n                    setattr(value, name, lambda *a, **k: None)\n    frame = frame.f_back",
            "",
        ),
        (
            "rows made writable in shared memory",
            """
        import sys
        ctypes, mmap = find('ctypes'), find('mmap')
        libc, frame = ctypes.CDLL(None), sys._getframe()
        while frame:
            rows = getattr(frame.f_locals.get('self'), '_rows', None)
            blob = getattr(rows, '_blob', None)
            if blob is not None:
                address = ctypes.c_size_t.from_address(id(blob) + 16).value
                if libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(len(blob)), 3) == 0:
                    ctypes.memset(ctypes.c_void_p(address), 0, len(blob))
            frame = frame.f_back
    """,
            FIND,
        ),
        (
            "the page filled with scores",
            "import sys\nframe = sys._getframe()\nwhile frame:\n    page = getattr(frame.f_locals.get('self'), '_scores', None)\n    if page is not None:\n        for i in range(len(page)):\n            page[i] = 7.0\n    frame = frame.f_back",
            "",
        ),
        ("wrong magic", "forge({}, magic=1)", FORGE),
        ("wrong sequence number", "forge({}, number=12345)", FORGE),
        ("giant length", "forge(b'{}', size=2**32 - 1)", FORGE),
        ("length just above the limit", "forge(b' ' * (256 * 1024 + 1))", FORGE),
        ("invalid JSON", "forge(b'{\"texts\": [')", FORGE),
        ("invalid UTF-8", "forge(b'\\xff\\xfe' * 50)", FORGE),
        ("JSON nested a hundred thousand deep", "forge(b'[' * 100000 + b']' * 100000)", FORGE),
        (
            "JSON nested as deep as the host may go",
            "forge(b'{\"texts\": [' + b'[' * 900 + b']' * 900 + b'], \"errors\": [[0, \"runtime\", 0]]}')",
            FORGE,
        ),
        ("JSON that is a list", "forge([1, 2])", FORGE),
        ("JSON with a number of 200,000 digits", "forge(b'{\"errors\": ' + b'1' * 200000 + b'}')", FORGE),
        ("a valid answer early", "forge({})", FORGE),
        ("a valid answer twice", "forge({})\nforge({})", FORGE),
        (
            "answers for the numbers to come",
            "n = seq()\nfor i in range(50):\n    forge({'output': 'x'}, number=n + i)",
            FORGE,
        ),
        (
            "errors of wrong types",
            "forge({'texts': [1, None, {}], 'errors': [[{}, [], 'x'], 5, None, [1e308, 'runtime', 0], [0, {'a': 1}, 0], [0, 'runtime', 10**30], ['9' * 5000, 'runtime', 0], [[], 'runtime', 1.5]]})",
            FORGE,
        ),
        (
            "errors with infinity and NaN",
            'forge(b\'{"texts": ["x"], "errors": [[Infinity, "runtime", 0], [NaN, "runtime", 0], [0, "runtime", NaN], [-1, "runtime", -1]]}\')',
            FORGE,
        ),
        (
            "texts and errors that are no lists",
            "forge({'texts': {'0': 1}, 'errors': {'a': 1}, 'output': [1]})",
            FORGE,
        ),
        ("output that hurts a terminal", "forge({'output': '\\x1b]0;x\\x07\\u202e' * 500})", FORGE),
        (
            "error kinds of its own",
            "forge({'texts': ['x'], 'errors': [[0, 'cancelled', 0], [1, 'nonsense', 0], [2, 'load', 0]]})",
            FORGE,
        ),
        ("a header and nothing more", "import time\nforge(b'', size=500)\ntime.sleep(5)", FORGE),
        ("half a frame, then the end", "forge(b'{', size=500)\nos._exit(0)", FORGE),
        ("a flood on the answer pipe", "while True:\n    os.write(4, b'x' * 65536)", FORGE),
        ("answers closed", "os.close(4)", FORGE),
        ("commands closed", "os.close(3)", FORGE),
        ("commands eaten", "os.set_blocking(3, False)\nos.read(3, 65536)", FORGE),
    ]
] + [
    Case("integrity", f"load answered with {name}", "pass", FORGE + f"forge({text})\n")
    for name, text in [
        ("checks that are a number", "{'checks': 5}"),
        ("a check that is a number", "{'checks': [5]}"),
        ("an empty check", "{'checks': [[]]}"),
        ("a check cut short", "{'checks': [['syntax', False]]}"),
        ("a check of wrong types", "{'checks': [[None, 0, {}, []]], 'warnings': 5, 'output': {}}"),
        ("no checks at all", "{}"),
        ("checks nested deeply", "b'{\"checks\": ' + b'[' * 900 + b']' * 900 + b'}'"),
    ]
]
_FLOOD = [
    Case("flood", name, body, module)
    for name, body, module in [
        ("prints", "for i in range(200):\n    print('x' * 100000)", ""),
        (
            "prints to standard error",
            "import sys\nfor i in range(200):\n    sys.stderr.write('\\x1b[2J' * 10000)",
            "",
        ),
        ("error text of a megabyte", "raise Exception('x' * 2**20)", ""),
        ("error text of a megabyte at load", "pass", "raise Exception('x' * 2**20)"),
        ("recursion", "def f():\n    return f()\nf()", ""),
        ("recursion in C", "x = []\nfor i in range(200000):\n    x = [x]\nreturn float(len(repr(x)))", ""),
        ("endless generator", "return float(sum(1 for _ in iter(int, 1)))", ""),
        (
            "endless loop in C",
            "import collections, itertools\ncollections.deque(itertools.count(), maxlen=0)",
            "",
        ),
        ("endless loop", "while True:\n    pass", ""),
        (
            "time-out swallowed",
            "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass",
            "",
        ),
        (
            "timer switched off",
            "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0)\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True:\n    pass",
            "",
        ),
        ("big power", "return float(len(str(7 ** 7 ** 9)))", ""),
        ("slow pattern", "import re\nre.match('(a+)+$', 'a' * 40 + 'b')", ""),
        ("sleep", "import time\ntime.sleep(5)", ""),
        ("waits for nothing", "import asyncio\nawait asyncio.Event().wait()", ""),
        (
            "millions of tasks",
            "import asyncio\ntasks = []\nwhile True:\n    tasks.append(asyncio.ensure_future(asyncio.sleep(0)))\n    del tasks[1000:]",
            "",
        ),
        (
            "tasks that outlive the row",
            "import asyncio\nasync def more():\n    while True:\n        await asyncio.sleep(0)\nfor _ in range(20):\n    asyncio.ensure_future(more())\nawait asyncio.sleep(0.01)",
            "",
        ),
        ("endless module body", "pass", "while True:\n    pass"),
        (
            "endless module body that swallows",
            "pass",
            "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass",
        ),
        ("exit", "import os\nos._exit(0)", ""),
        ("abort", "import os\nos.abort()", ""),
        ("crash in C", "find('ctypes').string_at(1)", FIND),
        ("stops itself", "import signal\nsignal.raise_signal(signal.SIGSTOP)", ""),
        ("source of brackets", "pass", "x = " + "(" * 5000 + ")" * 5000),
        ("bytes without end in the error", "raise MemoryError('y' * 10**7)", ""),
    ]
] + [
    Case("flood", "two gigabytes", "x = bytes(2 << 30)\nreturn BROKE", "", "rlimits"),
    Case(
        "flood",
        "many pieces of memory",
        "x = [bytes(1 << 28) for _ in range(8)]\nreturn BROKE",
        "",
        "rlimits",
    ),
]

CASES = [
    *_READ,
    *_WRITE,
    *_NETWORK,
    *_PROCESS,
    *_PACKAGES,
    *_TRICKS,
    *_CLEAN,
    *_RETURNS,
    *_INTEGRITY,
    *_FLOOD,
]
FAMILIES = list(dict.fromkeys(case.family for case in CASES))

LAYER_SETS = {
    "all": ("landlock", "rlimits", "seccomp", "audit"),
    "seccomp + rlimits": ("rlimits", "seccomp"),
    "seccomp": ("seccomp",),
    "rlimits + audit": ("rlimits", "audit"),
    "rlimits": ("rlimits",),
    "landlock": ("landlock",),
    "audit": ("audit",),
    "none": (),
}


def main() -> None:
    """Print safe cases a family and layer set."""
    unhurt = {name: _unhurt(layers) for name, layers in LAYER_SETS.items()}
    print(f"{'family':<12}{'cases':>6}{'alive':>6}" + "".join(f"{name:>18}" for name in LAYER_SETS))
    for family in [*FAMILIES, "all"]:
        cases = [case for case in CASES if family in {case.family, "all"}]
        alive = sum(case.open_without_locks for case in cases)
        counts = [sum(case in safe for case in cases) for safe in unhurt.values()]
        print(f"{family:<12}{len(cases):>6}{alive:>6}" + "".join(f"{count:>18}" for count in counts))


def _unhurt(layers: tuple[str, ...]) -> set[Case]:
    with Arena(layers) as arena:
        return {case for case in CASES if not arena.wounds(case)}


if __name__ == "__main__":
    main()
