"""Hostile graders, each with a canary, and the code that tells whether one got through.

A canary is a random number that only a broken wall can show: in a file, an environment variable, the
host's memory or a process list. A case is unsafe when a score equals the canary, when a file of the victim
folder changed, when a listener was reached, when the victim process died, or when a new process appeared.

`python -m tests.sandbox.hostile` prints how many cases are safe under each set of layers.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from workbench.sandbox.limits import Limits, Program
from workbench.sandbox.pool import Pool
from workbench.thread import StringThread
from workbench.wire import pack

ENV_NAME = "WB_CANARY_TOKEN"
BROKE = 2.0**50
"""What a grader returns when it got what it must not have and there is no number to show for it."""


@dataclass(frozen=True)
class Case:
    """One attack.

    `body` is the body of `grade`; `module` stands above it. Both may use {FILE} {DIR} {HOME} {PORT}
    {UDP} {UNIX} {VICTIM} {ENV} {HOSTPID}.
    """

    family: str
    name: str
    body: str
    module: str = ""

    def text(self, stage: Stage) -> str:
        body = textwrap.indent(textwrap.dedent(self.body).strip(), "    ")
        text = f"{textwrap.dedent(self.module)}\nBROKE = {BROKE!r}\nasync def grade(thread):\n{body}\n    return 0.0\n"
        for key, value in stage.places.items():
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
        found = {}
        for path in sorted(self.folder.rglob("*")):
            info = path.lstat()
            data = path.read_bytes() if path.is_file() else b""
            found[str(path)] = (info.st_mode, info.st_mtime_ns, data)
        return found

    def reached(self) -> bool:
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
    canary = secrets.randbelow(2**40) + 2**40
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        # Readable by anybody, so that only the sandbox stands between the grader and the number.
        folder.chmod(0o777)
        secret = folder / "secret.txt"
        secret.write_text(str(canary))
        secret.chmod(0o666)
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        unix = stack.enter_context(socket.socket(socket.AF_UNIX))
        unix.bind(str(folder / "unix"))
        (folder / "unix").chmod(0o777)
        unix.listen()
        for listener in (tcp, udp, unix):
            listener.setblocking(False)
        victim = stack.enter_context(
            subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        )
        stack.callback(victim.kill)
        os.environ[ENV_NAME] = str(canary)
        stack.callback(os.environ.pop, ENV_NAME)
        places = {
            "FILE": secret, "DIR": folder, "HOME": Path.home(), "PORT": tcp.getsockname()[1],
            "UDP": udp.getsockname()[1], "UNIX": folder / "unix", "VICTIM": victim.pid, "ENV": ENV_NAME,
            "HOSTPID": os.getpid(),
        }  # fmt: skip
        yield Stage(canary, folder, places, [tcp, udp, unix], victim)


LIMITS = Limits(row_seconds=0.25, load_seconds=2.0, memory_mb=256)


def is_safe(case: Case, pool: Pool) -> bool:
    """Run one attack on three rows and look for what it may have touched."""
    with stage() as scene:
        before = scene.snapshot()
        threads = [StringThread([("user", "q"), ("assistant", str(i))], {}) for i in range(3)]
        outcome = pool.run(Program(case.text(scene), LIMITS), pack(threads), workers=1)
        betrayed = any(score == float(scene.canary) for score in outcome.grades.scores)
        broke = any(score == BROKE for score in outcome.grades.scores)
        told = any(str(scene.canary) in error.message for error in outcome.grades.errors.values())
        damaged = scene.snapshot() != before or scene.victim.poll() is not None
        survived = _survivors(pool)
        return not (betrayed or broke or told or damaged or survived or scene.reached())


def _survivors(pool: Pool) -> bool:
    """Whether a process of the pool's session is left once the pool is closed."""
    session = pool._zygote._process.pid if pool._zygote else 0
    pool.close()
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        if not any(_in_session(int(path.name), session) for path in Path("/proc").glob("[0-9]*")):
            return False
        select.select([], [], [], 0.01)
    return True


def _in_session(pid: int, session: int) -> bool:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return fields[0] != "Z" and int(fields[3]) == session


def _number(expression: str) -> str:
    """Return a number read by `expression`, whatever surrounds it."""
    return f"""
    import re
    found = re.findall(r"\\d{{12,13}}", str({expression}))
    return float(found[0]) if found else 0.0
    """


CASES = [
    # --- read secrets
    Case("read", "open", _number("open('{FILE}').read()")),
    Case("read", "os.open", _number("__import__('os').read(__import__('os').open('{FILE}', 0), 99)")),
    Case("read", "pathlib", _number("__import__('pathlib').Path('{FILE}').read_text()")),
    Case("read", "io.FileIO", _number("__import__('io').FileIO('{FILE}').read()")),
    Case("read", "_io.open_code", _number("__import__('_io').open_code('{FILE}').read()")),
    Case("read", "codecs.open", _number("__import__('codecs').open('{FILE}').read()")),
    Case("read", "linecache", _number("__import__('linecache').getlines('{FILE}')")),
    Case("read", "fileinput-like tokenize", _number("__import__('tokenize').open('{FILE}').read()")),
    Case("read", "environment", _number("__import__('os').environ.get('{ENV}')")),
    Case("read", "environment by getenvb", _number("__import__('os').getenvb(b'{ENV}')")),
    Case("read", "posix environ", _number("__import__('posix').environ")),
    Case("read", "proc self environ", _number("open('/proc/self/environ').read()")),
    Case("read", "proc host environ", _number("open('/proc/{HOSTPID}/environ').read()")),
    Case("read", "proc host memory", _number("open('/proc/{HOSTPID}/mem', 'rb').read(10)")),
    Case("read", "directory list", "import os\nreturn BROKE if os.listdir('{DIR}') else 0.0"),
    Case("read", "glob", _number("[open(p).read() for p in __import__('glob').glob('{DIR}/*.txt')]")),
    Case(
        "read",
        "inherited descriptors",
        _number("[__import__('os').read(fd, 4096) for fd in (0, 1, 2, 5, 6, 7, 8)]"),
    ),
    Case(
        "read",
        "descriptor scan",
        """
        import os
        for fd in range(0, 200):
            try:
                data = os.pread(fd, 4096, 0)
            except OSError:
                continue
            import re
            found = re.findall(rb"\\d{12,13}", data)
            if found:
                return float(found[0])
    """,
    ),
    Case(
        "read",
        "importlib source loader",
        _number(
            "__import__('importlib.machinery').machinery.SourceFileLoader('x', '{FILE}').get_data('{FILE}')"
        ),
    ),
    Case("read", "zipimport and runpy", _number("__import__('runpy').run_path('{FILE}')")),
    Case(
        "read",
        "sqlite file",
        _number("__import__('sqlite3').connect('{FILE}').execute('select 1').fetchall()"),
    ),
    Case(
        "read",
        "urllib file scheme",
        _number("__import__('urllib.request').request.urlopen('file://{FILE}').read()"),
    ),
    Case(
        "read",
        "module-level open kept for later",
        "return DATA",
        "import re\nDATA = float(open('{FILE}').read())",
    ),
    Case("read", "mmap of a file", "import mmap\nreturn float(mmap.mmap(3, 0).read())"),
    Case("read", "os.stat size", "import os\nreturn BROKE if os.stat('{FILE}').st_size else 0.0"),
    # --- write and damage
    Case("write", "open for writing", "open('{DIR}/new.txt', 'w').write('x')"),
    Case("write", "append", "open('{FILE}', 'a').write('x')"),
    Case("write", "unlink", "import os\nos.unlink('{FILE}')"),
    Case("write", "rename", "import os\nos.rename('{FILE}', '{DIR}/gone.txt')"),
    Case("write", "mkdir", "import os\nos.mkdir('{DIR}/made')"),
    Case("write", "symlink", "import os\nos.symlink('/etc', '{DIR}/link')"),
    Case("write", "hard link", "import os\nos.link('{FILE}', '{DIR}/link')"),
    Case("write", "chmod", "import os\nos.chmod('{FILE}', 0o000)"),
    Case("write", "utime", "import os\nos.utime('{FILE}', (1, 1))"),
    Case("write", "truncate", "import os\nos.truncate('{FILE}', 0)"),
    Case(
        "write",
        "mkfifo and mknod",
        "import os\nfor f in (os.mkfifo, os.mknod):\n    try:\n        f('{DIR}/' + f.__name__)\n    except OSError:\n        pass",
    ),
    Case("write", "shutil rmtree", "import shutil\nshutil.rmtree('{DIR}', ignore_errors=True)"),
    Case("write", "tempfile", "import tempfile\ntempfile.mkstemp(dir='{DIR}')"),
    Case(
        "write",
        "at module level",
        "pass",
        "try:\n    open('{DIR}/new.txt', 'w').write('x')\nexcept OSError:\n    pass",
    ),
    # --- network
    Case("network", "tcp connect", "import socket\nsocket.create_connection(('127.0.0.1', {PORT}), 0.2)"),
    Case(
        "network",
        "udp send",
        "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {UDP}))",
    ),
    Case("network", "unix socket", "import socket\nsocket.socket(socket.AF_UNIX).connect('{UNIX}')"),
    Case("network", "raw _socket", "import _socket\n_socket.socket(2, 1).connect(('127.0.0.1', {PORT}))"),
    Case(
        "network",
        "http client",
        "import http.client\nhttp.client.HTTPConnection('127.0.0.1', {PORT}, timeout=0.2).request('GET', '/')",
    ),
    Case(
        "network", "asyncio connection", "import asyncio\nawait asyncio.open_connection('127.0.0.1', {PORT})"
    ),
    Case("network", "socketpair to fork", "import socket\na, b = socket.socketpair()\nreturn BROKE"),
    Case(
        "network",
        "logging socket handler",
        "import logging.handlers\nh = logging.handlers.DatagramHandler('127.0.0.1', {UDP})\nh.send(b'x')",
    ),
    # --- processes, signals, kernel surface
    Case("process", "fork", "import os\npid = os.fork()\nif pid == 0:\n    import time\n    time.sleep(30)"),
    Case("process", "forkpty", "import os\nos.forkpty()"),
    Case("process", "system", "import os\nos.system('touch {DIR}/made')"),
    Case("process", "subprocess", "import subprocess\nsubprocess.run(['touch', '{DIR}/made'])"),
    Case(
        "process",
        "_posixsubprocess",
        "import os, _posixsubprocess\n_posixsubprocess.fork_exec([b'/bin/touch', b'{DIR}/made'], [b'/bin/touch'], True, (), None, None, -1, -1, -1, -1, -1, -1, -1, -1, False, False, 0, None, None, None, -1, None)",
    ),
    Case("process", "exec", "import os\nos.execv('/bin/touch', ['touch', '{DIR}/made'])"),
    Case("process", "posix_spawn", "import os\nos.posix_spawn('/bin/touch', ['touch', '{DIR}/made'], {})"),
    Case("process", "kill the victim", "import os, signal\nos.kill({VICTIM}, signal.SIGKILL)"),
    Case("process", "kill the parent", "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)"),
    Case(
        "process",
        "kill the group and everything",
        "import os, signal\nfor target in (0, -1):\n    try:\n        os.kill(target, signal.SIGTERM)\n    except OSError:\n        pass",
    ),
    Case(
        "process",
        "pidfd signal",
        "import os, signal\nsignal.pidfd_send_signal(os.pidfd_open({VICTIM}), signal.SIGKILL)",
    ),
    Case(
        "process",
        "thread that outlives",
        "import threading, time\nt = threading.Thread(target=time.sleep, args=(60,))\nt.start()",
    ),
    Case(
        "process",
        "priority of the host",
        "import os\nos.setpriority(os.PRIO_PROCESS, {HOSTPID}, 19)\nreturn BROKE",
    ),
    Case(
        "process", "multiprocessing", "import multiprocessing\nmultiprocessing.Process(target=print).start()"
    ),
    Case("process", "ctypes syscall", "import ctypes\nctypes.CDLL(None).syscall(62, {VICTIM}, 9)"),
    Case(
        "process",
        "ctypes from the garbage collector",
        """
        import gc, types
        for thing in gc.get_objects():
            if isinstance(thing, types.ModuleType) and thing.__name__ == 'ctypes':
                thing.CDLL(None).syscall(62, {VICTIM}, 9)
                thing.CDLL(None).system(b'touch {DIR}/made')
    """,
    ),
    Case("process", "executable memory", "import mmap\nmmap.mmap(-1, 4096, prot=7)\nreturn BROKE"),
    # --- packages, native code, import time
    Case("packages", "third party", "import numpy\nreturn BROKE"),
    Case("packages", "sys.path put back", "import sys, importlib\nsys.path.append('{DIR}')\nimport secret"),
    Case(
        "packages",
        "path finder put back",
        "import sys, importlib.machinery\nsys.meta_path.append(importlib.machinery.PathFinder)\nsys.path.append('/usr/lib/python3/dist-packages')\nimport pip\nreturn BROKE",
    ),
    # --- source tricks
    Case("tricks", "exec and eval", _number("eval(\"open('{FILE}').read()\")")),
    Case(
        "tricks",
        "subclasses walk",
        """
        for cls in ().__class__.__base__.__subclasses__():
            if cls.__name__ == 'FileLoader':
                return float(cls('x', '{FILE}').get_data('{FILE}'))
    """,
    ),
    Case(
        "tricks",
        "frames of the worker",
        """
        import sys, re
        frame = sys._getframe()
        while frame:
            text = repr({**frame.f_globals, **frame.f_locals})
            found = re.findall(r'\\b\\d{13}\\b', text)
            if found:
                return float(found[0])
            frame = frame.f_back
    """,
    ),
    Case(
        "tricks",
        "garbage collector for secrets",
        """
        import gc, re
        for thing in gc.get_objects():
            if isinstance(thing, dict) and '{ENV}' in thing:
                return float(thing['{ENV}'])
    """,
    ),
    Case("tricks", "null byte and coding line", _number("open('{FILE}').read()"), "# -*- coding: rot13 -*-"),
    Case(
        "tricks",
        "grade replaced by its own class",
        "return 0.0",
        "class float(float):\n    def __float__(self):\n        return open('{FILE}').read()",
    ),
]

FAMILIES = sorted({case.family for case in CASES})

LAYER_SETS = {
    "all": ("landlock", "rlimits", "seccomp", "audit"),
    "seccomp + rlimits": ("rlimits", "seccomp"),
    "seccomp": ("seccomp",),
    "rlimits + audit": ("rlimits", "audit"),
    "rlimits": ("rlimits",),
    "landlock": ("landlock",),
    "none": (),
}


def main() -> None:
    """Print safe cases a family and layer set."""
    print(f"{'family':<10}{'cases':>6}" + "".join(f"{name:>20}" for name in LAYER_SETS))
    totals = dict.fromkeys(LAYER_SETS, 0)
    for family in FAMILIES:
        cases = [case for case in CASES if case.family == family]
        counts = {
            name: sum(is_safe(case, Pool(layers)) for case in cases) for name, layers in LAYER_SETS.items()
        }
        totals = {name: totals[name] + counts[name] for name in LAYER_SETS}
        print(
            f"{family:<10}{len(cases):>6}" + "".join(f"{counts[name]:>20}" for name in LAYER_SETS), flush=True
        )
    print(f"{'all':<10}{len(CASES):>6}" + "".join(f"{totals[name]:>20}" for name in LAYER_SETS))


if __name__ == "__main__":
    main()
