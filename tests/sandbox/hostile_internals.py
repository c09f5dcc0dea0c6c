"""Attacks by whoever has read the source: on the worker's own code, its page, its answers, and what comes after it.

They use the arena of `hostile.py` with the same canaries. A case is also unsafe when a row ended with an error kind that
only the host gives, when a grade cannot be read, when a text came out that is not fit to be shown, or when the grader
that runs next in the same pool finds a trace of this one.

`python -m tests.sandbox.hostile_internals` prints how many cases of each family are safe under all layers.
"""

from __future__ import annotations

import contextlib
import marshal
import time
from typing import Any, Self

from tests.sandbox.hostile import (
    DECENT,
    FILTER,
    FIND,
    FORGE,
    LAYER_SETS,
    LIMITS,
    ROWS,
    SLOW,
    Arena,
    Case,
    Stage,
    _offspring,
    _threads,
    stage,
)
from workbench.core.display_text import HIDDEN
from workbench.core.grade import ErrorKind
from workbench.core.grades import Grades
from workbench.core.thread import StringThread
from workbench.data.packed import pack
from workbench.sandbox.host.pool import pool
from workbench.sandbox.host.program import Limits, Program
from workbench.sandbox.host.results import WORKER_KINDS
from workbench.sandbox.host.worker_pool import new_owner, worker_pool

HOST_KINDS = sorted(set(ErrorKind) - WORKER_KINDS)
"""Kinds that say what happened outside of a grader."""
MARK = "wb-left-behind"
"""What a case leaves wherever it can reach, for the next grader to find."""
MANY = 20
"""Rows of attacks whose work comes with the command that follows: three commands' worth."""
LATER = {"patches", "forker"}
LEAVING = {"leftovers", "frames", "page", "kinds", *LATER}
"""Families behind which the next grader looks for traces; behind the others it only grades."""

KIT = (
    FIND
    + FORGE
    + """
MARK = "{MARK}"
def frames(frame=None):
    frame = frame or sys._getframe()
    while frame:
        yield frame
        frame = frame.f_back
def up(name):
    # A variable of whoever called.
    for frame in frames():
        if name in frame.f_locals:
            return frame.f_locals[name]
    raise LookupError(name)
def ours(name):
    # A name of the worker's own files, which no import finds.
    for frame in frames():
        if name in frame.f_globals and frame.f_globals is not globals():
            return frame.f_globals[name]
    raise LookupError(name)
def server():
    return next(f.f_locals["self"] for f in frames() if type(f.f_locals.get("self")).__name__ == "Server")
def bits():
    return up("where")[1]
def look(frame):
    # Every text and buffer near every frame from this one up: none may hold the host's environment.
    wanted = "".join(["WB_CANARY", "_TOKEN"])
    todo = [(value, 0) for f in frames(frame) for value in (*f.f_locals.values(), *f.f_globals.values())]
    seen = set()
    while todo:
        value, depth = todo.pop()
        if id(value) in seen or depth > 4:
            continue
        seen.add(id(value))
        if isinstance(value, str) and wanted in value:
            return BROKE
        if isinstance(value, (bytes, bytearray)) and wanted.encode() in value:
            return BROKE
        if isinstance(value, dict):
            todo += [(part, depth + 1) for pair in list(value.items()) for part in pair]
        elif isinstance(value, (list, tuple, set, frozenset)):
            todo += [(part, depth + 1) for part in list(value)]
        elif type(value).__name__ in ("mmap", "memoryview"):
            todo.append((bytes(memoryview(value).cast("B")[:1 << 20]), depth + 1))
        elif type(value).__name__ == "module" and value.__name__ not in ("os", "__main__") and value.__name__[:3] != "_wb":
            continue
        elif hasattr(value, "__dict__"):
            todo += [(part, depth + 1) for part in list(vars(value).values())]
    return 0.0
def c_types(known=[]):
    if not known:
        known.append(find("ctypes"))
    return known[0]
def call(number, *words):
    c = c_types()
    return c.CDLL(None).syscall(c.c_long(number), *(c.c_long(w) if type(w) is int else w for w in words))
def room(size=4096):
    return c_types().create_string_buffer(size)
"""
)

SPY = (
    DECENT.replace("async def grade(thread):", "async def grade(thread):\n    if LEFT:\n        return -2.0")
    + """
import gc, os, sys
def left():
    mark = "".join(["wb-left", "-behind"])
    frame = sys._getframe()
    while frame.f_back:
        frame = frame.f_back
        for space in (frame.f_locals, frame.f_globals):
            if any(mark in str(key) or type(value) is str and mark in value for key, value in list(space.items())):
                return True
    for name, module in list(sys.modules.items()):
        space = getattr(module, "__dict__", {})
        if mark in name or any(mark in str(key) or value == mark for key, value in list(space.items()) if type(value) is str):
            return True
    if any(mark in part for pair in os.environ.items() for part in pair):
        return True
    return any(type(part) is str and mark in part for thing in gc.get_objects() if type(thing) in (dict, list)
               for part in (thing if type(thing) is list else list(thing.values())))
LEFT = left()
"""
)


class InternalsArena(Arena):
    """An arena with one stage for all its attacks."""

    def __init__(self, layers: tuple[str, ...]) -> None:
        super().__init__(layers)
        self.many = pack(StringThread([("assistant", str(i))], {"n": i}) for i in range(MANY))

    def __enter__(self) -> Self:
        super().__enter__()
        self._open = contextlib.ExitStack()
        self._scene = self._open.enter_context(stage())
        self._scene.places["MARK"] = MARK
        return self

    def __exit__(self, *exc: object) -> None:
        self._open.close()
        super().__exit__(*exc)

    def wounds(self, case: Case) -> list[str]:
        """Run one attack on three rows and look for what it may have touched."""
        self._settle()
        scene, zygote, others = self._scene, self._zygote(), _offspring()
        start, before = time.monotonic(), scene.snapshot()
        found = self._attack(case, scene)
        found += ["a file changed"] if scene.snapshot() != before else []
        found += ["the victim died"] if scene.victim.poll() is not None else []
        found += ["a listener was reached"] if scene.reached() else []
        found += self._strays({scene.victim.pid, *others})
        found += ["the zygote ended"] if zygote != self._zygote() or not self._alive() else []
        self._next = SPY if case.family in LEAVING else DECENT
        after = self._next_run()
        if after:
            self._repair()
        return found + after + (["the host took long"] if time.monotonic() - start > SLOW else [])

    def _attack(self, case: Case, scene: Stage) -> list[str]:
        packed = self.many if case.family in LATER else self.packed
        try:
            outcome = self.pool.run(Program(case.text(scene), LIMITS), packed, workers=1)
            found = unfit(outcome.grades, [outcome.output], ended=bool(outcome.stopped))
        except Exception as error:
            return [f"the host raised {type(error).__name__}: {str(error)[:200]}"]
        return found + self._betrayed(case, outcome.grades, outcome.output)

    def _betrayed(self, case: Case, grades: Grades, output: str) -> list[str]:
        broke = [f"score {score}" for score in grades.scores if score in {2.0**50, float(self.canary)}]
        told = " ".join([output, *(error.message for error in grades.errors.values())])
        wrong = case.must_fail and bool(grades.n_scored)
        return [
            *broke,
            *(["the canary in a text"] if str(self.canary) in told else []),
            *(["a score where none is due"] if wrong else []),
        ]

    def _next_run(self) -> list[str]:
        """A grader, which may look for traces of the one before, must see and score the rows."""
        try:
            outcome = self.pool.run(
                Program(self._next, Limits(row_seconds=5, memory_mb=256)), self.packed, workers=1
            )
        except Exception as error:
            return [f"the next run raised {type(error).__name__}: {str(error)[:200]}"]
        scores = list(outcome.grades.scores)
        right = scores == [float(i) for i in range(ROWS)]
        return [] if right else [f"the next run scored {scores} {outcome.grades.errors}"]


class StayArena(InternalsArena):
    """An arena of workers that stay: the attack is one owner's, the next call another's."""

    def __init__(self, layers: tuple[str, ...]) -> None:
        super().__init__(layers)
        self.pool = pool()

    def _attack(self, case: Case, scene: Stage) -> list[str]:
        owner = new_owner()
        try:
            for _ in range(2):  # the second call meets what the first one left
                program = Program(case.text(scene), LIMITS)
                grades = (
                    worker_pool().grade_batch(program, _wires(), owner=owner, workers=1).future.result(SLOW)
                )
            found = unfit(grades, [], ended=True)
        except Exception as error:
            return [f"the host raised {type(error).__name__}: {str(error)[:200]}"]
        finally:
            worker_pool().release(owner)
        return found + self._betrayed(case, grades, "")

    def _next_run(self) -> list[str]:
        owner = new_owner()
        try:
            program = Program(SPY, Limits(row_seconds=5, memory_mb=256))
            grades = worker_pool().grade_batch(program, _wires(), owner=owner, workers=1).future.result(SLOW)
        except Exception as error:
            return [f"the next call raised {type(error).__name__}: {str(error)[:200]}"]
        worker_pool().close()
        scores = list(grades.scores)
        right = scores == [float(i) for i in range(ROWS)]
        return [] if right else [f"the next call scored {scores} {grades.errors}"]

    def _strays(self, others: set[int]) -> list[str]:
        worker_pool().close()
        return super()._strays(others)


def _wires() -> list[bytes]:
    return [marshal.dumps(thread.to_wire()) for thread in _threads()]


def unfit(grades: Grades, texts: list[str], *, ended: bool) -> list[str]:
    """What a grader must not be able to make of its grades; `ended` where the run was given up."""
    allowed = {*WORKER_KINDS, ErrorKind.CRASH, ErrorKind.LOAD, *({ErrorKind.CANCELLED} if ended else ())}
    found = [f"the host's kind {error.kind}" for error in grades.errors.values() if error.kind not in allowed]
    each = [grades[row] for row in range(len(grades.scores))]  # raises where a grade contradicts itself
    shown = [*texts, *(error.message for error in grades.errors.values()), *grades.reasoning.values()]
    shown += [str(dict(note)) for note in grades.metadata.values()]
    found += ["hidden characters" for text in shown if HIDDEN.search(text)]
    found += ["a time that cannot be" for grade in each if grade.seconds is not None and grade.seconds > SLOW]
    return found + [
        "a number that is none" for grade in each if grade.score is not None and grade.score != grade.score
    ]


def _cases(family: str, bodies: dict[str, str], module: str = KIT, **settings: Any) -> list[Case]:
    decent = "if thread.metadata.get('n', 0) >= 3:\n    return 0.5\n" if family in LATER else ""
    return [Case(family, name, decent + body, module, **settings) for name, body in bodies.items()]


_FRAMES = _cases(
    "frames",
    {
        "sys._getframe": "return look(sys._getframe())",
        "a traceback": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    return look(e.__traceback__.tb_frame)",
        "a traceback's way up": "def f():\n    1 / 0\ntry:\n    f()\nexcept ZeroDivisionError as e:\n    t = e.__traceback__\n    while t.tb_next:\n        t = t.tb_next\n    return look(t.tb_frame)",
        "a generator": "def g():\n    yield look(me.gi_frame)\nme = g()\nreturn next(me)",
        "a coroutine": "async def c():\n    return look(me.cr_frame)\nme = c()\nreturn await me",
        "an async generator": "async def a():\n    yield look(me.ag_frame)\nme = a()\nreturn await me.__anext__()",
        "the current task": "import asyncio\nreturn look(asyncio.current_task().get_coro().cr_frame)",
        "a task's stack": "import asyncio\nreturn max(look(f) for f in asyncio.current_task().get_stack())",
        "all tasks of the loop": "import asyncio\nreturn max(look(t.get_coro().cr_frame) for t in asyncio.all_tasks())",
        "sys._current_frames": "return max(map(look, sys._current_frames().values()))",
        "inspect.stack": "import inspect\nreturn max(look(entry.frame) for entry in inspect.stack(0))",
        "inspect.trace": "import inspect\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    return max(look(entry.frame) for entry in inspect.trace(0))",
        "traceback.walk_stack": "import traceback\nreturn max(look(f) for f, _ in traceback.walk_stack(None))",
        "a trace function": "found = []\nold = sys.gettrace()\nsys.settrace(lambda f, *a: found.append(look(f)))\nlen([])\n(lambda: 0)()\nsys.settrace(old)\nreturn max(found)",
        "a profile function": "found = []\nsys.setprofile(lambda f, *a: found.append(f))\n(lambda: 0)()\nsys.setprofile(None)\nreturn max(map(look, found))",
        "a signal handler": "import signal\nfound = []\nsignal.signal(signal.SIGALRM, lambda n, f: found.append(look(f)))\nsignal.setitimer(signal.ITIMER_REAL, 0.001)\nwhile not found:\n    pass\nreturn max(found)",
        "a finalizer": "found = []\nclass D:\n    def __del__(self):\n        found.append(look(sys._getframe()))\nD()\nreturn max(found)",
        "a weak reference's callback": "import weakref\nfound = []\nclass D:\n    pass\nd = D()\nr = weakref.ref(d, lambda r: found.append(look(sys._getframe())))\ndel d\nreturn max(found)",
        "a callback of the collector": "import gc\nfound = []\ngc.callbacks.append(lambda *a: found.append(look(sys._getframe())))\ngc.collect()\nreturn max(found)",
        "referrers of the thread": "import gc\nreturn max([look(r) for r in gc.get_referrers(thread) if type(r).__name__ == 'frame'] + [0.0])",
        "referrers of the referrers": "import gc\ntodo = gc.get_referrers(up('threads'))\nreturn max([look(r) for r in todo if type(r).__name__ == 'frame'] + [0.0])",
        "objects of the collector": "import gc\nreturn max([look(o) for o in gc.get_objects() if type(o).__name__ == 'frame'] + [0.0])",
        "the frozen objects": "import gc\ngc.unfreeze()\nwanted = ''.join(['WB_CANARY', '_TOKEN'])\nreturn BROKE if any(wanted in o for o in gc.get_objects() if type(o) is dict and wanted in o) else 0.0",
        "the loop's context": "import asyncio\nloop = asyncio.get_running_loop()\nready = []\nloop.call_soon(lambda: ready.append(look(sys._getframe())))\nawait asyncio.sleep(0)\nreturn max(ready)",
        "an unraisable exception's hook": "found = []\nsys.unraisablehook = lambda u: found.append(look(u.exc_traceback.tb_frame))\nclass D:\n    def __del__(self):\n        1 / 0\nD()\nreturn max(found)",
        "an audit hook": "found = []\nsys.addaudithook(lambda event, args: found.append(event))\ncompile('1', 'x', 'eval')\nreturn look(sys._getframe()) if found else 0.0",
        "the arguments of the first process": "wanted = ''.join(['WB_CANARY', '_TOKEN'])\nreturn BROKE if any(wanted in word for word in sys.orig_argv) else 0.0",
        "the memory of the process": "c = find('ctypes')\nwanted = ''.join(['WB_CANARY', '_TOKEN']).encode()\nv = c.POINTER(c.c_char_p).in_dll(c.CDLL(None), 'environ')\ni = 0\nwhile v and v[i]:\n    if wanted in v[i]:\n        return BROKE\n    i += 1",
    },
)

_PATTERNS = {
    "not scored": "{NOT_SCORED}",
    "failed": "{FAILED}",
    "skipped": "{FAILED} + 1",
    "one mark too many": "{FAILED} + 2",
    "a signalling NaN": "0x7FF0000000000001",
    "a negative NaN": "0xFFF8000000000000",
    "minus infinity": "0xFFF0000000000000",
    "all ones": "2 ** 64 - 1",
}
_WRITTEN = {
    "in its own row": "bits()[0] = {}\nos._exit(0)",
    "in every row": "b = bits()\nfor i in range(len(b)):\n    b[i] = {}\nraise ValueError",
    "behind an answer of its own": "bits()[0] = {}\nforge({{'errors': [[0, 'runtime', 0]], 'texts': ['x'], 'done': 3}})\nos._exit(0)",
}
_PAGE = [
    Case("page", f"{pattern} {place}", body.format(bit), KIT, must_fail=True)
    for pattern, bit in _PATTERNS.items()
    for place, body in _WRITTEN.items()
] + _cases(
    "page",
    {
        "made larger": "bits().obj.resize(1 << 24)\nreturn BROKE",
        "made smaller": "bits().obj.resize(4096)\nreturn BROKE",
        "made smaller once all views are gone": "s = server()\nm = bits().obj\nfor n in ('_scores', '_bits'):\n    getattr(s, n).release()\nm.resize(4096)\nreturn BROKE",
        "given back": "bits().obj.madvise(9)",
        "closed": "m = bits().obj\ns = server()\ns._scores.release()\ns._bits.release()\nm.close()",
        "written behind its end": "v = memoryview(bits().obj).cast('B')\nfor i in range(len(v), len(v) + 4096):\n    v[i] = 1\nreturn BROKE",
        "its file written by its number": "m = bits().obj\nm.seek(0)\nm.write(b'\\xff' * len(m))",
        "moved within": "m = bits().obj\nm.move(0, 65536, 65536)",
        "its file emptied by every number": "for fd in range(3, 4096):\n    try:\n        os.ftruncate(fd, 0)\n        return BROKE\n    except OSError:\n        pass",
        "mapped anew by every number": "m = find('mmap')\nfor fd in range(3, 1024):\n    try:\n        m.mmap(fd, 4096)\n        return BROKE\n    except (OSError, ValueError):\n        pass",
        "unmapped": "c = find('ctypes')\na = c.addressof(c.c_char.from_buffer(bits().obj))\nc.CDLL(None).munmap(c.c_void_p(a), c.c_size_t(131072))",
        "mapped executable": "c = find('ctypes')\na = c.addressof(c.c_char.from_buffer(bits().obj))\nreturn BROKE if c.CDLL(None).mprotect(c.c_void_p(a), c.c_size_t(4096), 7) == 0 else 0.0",
        "stretched in place": "c = find('ctypes')\nl = c.CDLL(None)\nl.mremap.restype = c.c_void_p\na = c.addressof(c.c_char.from_buffer(bits().obj))\np = l.mremap(c.c_void_p(a), c.c_size_t(131072), c.c_size_t(1 << 22), 1)\nif p and p != 2 ** 64 - 1:\n    c.memset(p + (1 << 21), 1, 4096)\n    return BROKE",
        "poisoned": "c = find('ctypes')\na = c.addressof(c.c_char.from_buffer(bits().obj))\nreturn BROKE if c.CDLL(None).madvise(c.c_void_p(a), c.c_size_t(4096), 100) == 0 else 0.0",
        "rows: a hole punched": "m = server()._rows._blob\nm.madvise(9)\nreturn BROKE",
        "rows: thrown away": "m = server()._rows._blob\nm.madvise(4)",
        "rows: written as a sequence": "m = server()._rows._blob\nm[0:4] = b'xxxx'\nreturn BROKE",
        "rows: written as a view": "m = memoryview(server()._rows._blob)\nm[0] = 1\nreturn BROKE",
        "rows: written as a file": "m = server()._rows._blob\nm.seek(0)\nm.write(b'x')\nreturn BROKE",
        "rows: resized": "m = server()._rows._blob\nm.resize(1 << 24)\nreturn BROKE",
        "rows: read into": "c = find('ctypes')\nm = server()._rows._blob\nc.c_char.from_buffer(m)\nreturn BROKE",
        "rows: copied on write": "c = find('ctypes')\nl = c.CDLL(None)\nl.mmap.restype = c.c_void_p\nm = server()._rows._blob\na = c.c_size_t.from_address(id(m) + 16).value\nl.mmap(c.c_void_p(a), c.c_size_t(4096), 3, 0x32, -1, c.c_long(0))\nc.memset(a, 0, 4096)",
        "rows: a view of them given back": "server()._rows._blob.close()",
        "rows: those of the dataset replaced": "r = server()._rows\nr._decoded = {0: [thread] * 3}\nr._spans = []",
    },
)

_CALLS = {
    # Calls of x86-64 by number: what must fail, with arguments that would do no harm if it did not.
    "eventfd2": "290, 0, 0",
    "timerfd_create": "283, 1, 0",
    "epoll_create1": "291, 0",
    "inotify_init1": "294, 0",
    "signalfd4": "289, -1, room(8), 8, 0",
    "dup": "32, 4",
    "dup2": "33, 4, 9",
    "dup3": "292, 4, 9, 0",
    "fcntl, another number": "72, 4, 0, 20",
    "fcntl, no blocking": "72, 4, 4, 2048",
    "ioctl, bytes to read": "16, 3, 0x541B, room()",
    "read of another descriptor": "0, 0, room(), 1",
    "write to another descriptor": "1, 1, room(), 1",
    "a write in two halves of the number": "1, (1 << 32) | 1, room(), 1",
    "getcwd": "79, room(), 4096",
    "openat": "257, -100, c_path, 0",
    "open": "2, c_path, 0",
    "newfstatat": "262, -100, c_path, room(), 0",
    "statx": "332, -100, c_path, 0, 0xfff, room()",
    "lstat": "6, c_path, room()",
    "faccessat": "269, -100, c_path, 4",
    "statfs": "137, c_path, room()",
    "uname": "63, room()",
    "sysinfo": "99, room()",
    "getuid": "102",
    "getppid": "110",
    "getpgid of the victim": "121, {VICTIM}",
    "getgroups": "115, 0, 0",
    "getrlimit": "97, 7, room()",
    "personality": "135, 0xffffffff",
    "arch_prctl": "158, 0x1003, room()",
    "prctl, dumpable again": "157, 4, 1, 0, 0, 0",
    "prctl, no signal at the parent's end": "157, 1, 0, 0, 0, 0",
    "prctl, another name": "157, 15, room()",
    "kill with no signal": "62, {VICTIM}, 0",
    "tkill with no signal": "200, {VICTIM}, 0",
    "tgkill with no signal": "234, {VICTIM}, {VICTIM}, 0",
    "sched_getaffinity": "204, 0, 128, room()",
    "sched_getscheduler": "145, {VICTIM}",
    "ioprio_get": "252, 1, 0",
    "ioprio_set": "251, 1, 0, 0x6007",
    "membarrier": "324, 0, 0",
    "set_tid_address": "218, room()",
    "alarm": "37, 0",
    "timer_create": "222, 0, 0, room()",
    "a socket of netlink": "41, 16, 3, 0",
    "a socket of datagrams by path": "41, 1, 2, 0",
    "get_robust_list": "274, 0, room(8), room(8)",
    "mincore": "27, page_address, 4096, room()",
}
_DENIED = {
    # The same, where a machine may refuse them by itself.
    "userfaultfd": "323, 0",
    "getxattr": "191, c_path, b'user.x', room(), 64",
    "bpf": "321, 0, room(), 128",
    "perf_event_open": "298, room(128), 0, -1, -1, 0",
    "add_key": "248, b'user', b'wb', b'x', 1, -3",
    "request_key": "249, b'user', b'wb', 0, -3",
    "keyctl": "250, 0, -3, 1",
    "unshare of users": "272, 0x10000000",
    "unshare of the network": "272, 0x40000000",
    "setns": "308, 0, 0",
    "mount": "165, 0, b'/', 0, 0x80000, 0",
    "chroot": "161, b'/'",
    "pivot_root": "155, b'/', b'/'",
    "open_tree": "428, -100, b'/', 1",
    "fsopen": "430, b'tmpfs', 0",
    "name_to_handle_at": "303, -100, c_path, room(), room(), 0",
    "open_by_handle_at": "304, -100, room(), 0",
    "openat2": "437, -100, c_path, room(24), 24",
    "faccessat2": "439, -100, c_path, 4, 0",
    "kcmp": "312, {VICTIM}, {VICTIM}, 0, 0, 0",
    "process_madvise": "440, 0, room(), 1, 4, 0",
    "pidfd_getfd": "438, 0, 0, 0",
    "fanotify_init": "300, 0, 0",
    "memfd_secret": "447, 0",
    "pkey_alloc": "330, 0, 0",
    "pkey_mprotect, executable": "329, page_address, 4096, 7, -1",
    "remap_file_pages": "216, page_address, 4096, 0, 0, 0",
    "another filter": "317, 1, 0, room()",
    "strict mode": "317, 2, 0, room()",
    "clone3": "435, room(88), 88",
    "execveat": "322, -100, b'/bin/true', 0, 0, 0",
    "semget": "64, 0, 0, 0",
    "msgget": "68, 7, 0",
    "mq_open": "240, b'wb', 0, 0, 0",
    "sendfile": "40, 4, 0, 0, 1",
    "splice": "275, 3, 0, 4, 0, 1, 2",
    "tee": "276, 3, 4, 1, 2",
    "copy_file_range": "326, 3, 0, 4, 0, 1, 0",
    "writev": "20, 1, room(16), 1",
    "pwrite64": "18, 4, room(), 1, 0",
    "sendmsg": "46, 4, room(), 0",
    "io_setup": "206, 1, room(8)",
    "move_pages": "279, {VICTIM}, 0, 0, 0, 0, 0",
    "ptrace of the victim": "101, 0x4206, {VICTIM}, 0, 0",
    "clock_gettime of the victim": "228, (~{VICTIM} << 3) | 2, room(16)",
    "clock_gettime of the victim, low half alone": "228, ((~{VICTIM} << 3) | 2) & 0xFFFFFFFF, room(16)",
    "clock_getres of the victim": "229, (~{VICTIM} << 3) | 2, room(16)",
    "clock_nanosleep by the victim": "230, (~{VICTIM} << 3) | 2, 1, room(16), 0",
    "setuid": "105, 0",
    "capset": "126, room(), room()",
    "iopl": "172, 3",
    "modify_ldt": "154, 0, room(), 16",
    "set_thread_area": "205, room()",
    "settimeofday": "164, 0, 0",
    "adjtimex of the clock": "305, 0, 0",
    "reboot": "169, 1, 2, 3, 0",
    "swapoff": "168, b'/nothing'",
    "acct": "163, b'/nothing'",
    "kexec_load": "246, 0, 0, 0, 0",
    "finit_module": "313, -1, b'', 0",
    "io_uring_register": "427, -1, 0, 0, 0",
    "futex_waitv": "449, 0, 0, 0, 0, 0",
    "the table of 32 bits' relatives": "0x40000000 + 39",
    "a number that is none": "100000",
    "a negative number": "-1",
}
_WORDS = """
    c_path = b"{FILE}"
    page_address = c_types().addressof(c_types().c_char.from_buffer(bits().obj))
"""
_SYSTEM = [
    Case("calls", name, f"{_WORDS}    return BROKE if call({words}) >= 0 else 0.0", KIT, stopped_by)
    for calls, stopped_by in ((_CALLS, FILTER), (_DENIED, ""))
    for name, words in calls.items()
]

_NOTED = "from workbench import Grade\n" + KIT
_ANSWER = {
    "keys twice": """b'{"errors": [], "errors": [[0, "budget", 0]], "texts": [], "texts": ["x"], "done": 1, "done": 3}'""",
    "a byte order mark": """b'\\xef\\xbb\\xbf{"done": 3}'""",
    "UTF-16": """'{"done": 3}'.encode("utf-16")""",
    "UTF-32": """'{"done": 3}'.encode("utf-32")""",
    "two documents": """b'{"done": 3}{"done": 3}'""",
    "a comment": """b'{"done": 3} // yes'""",
    "spaces alone": "b' ' * 100",
    "nothing": "b''",
    "a text": """b'"done"'""",
    "null": "b'null'",
    "NaN": "b'NaN'",
    "NUL bytes": "bytes(1000)",
    "lone surrogates in the keys": """b'{"\\\\ud800": 1, "texts": ["\\\\udfff"], "errors": [[0, "runtime", 0]], "done": 3}'""",
    "that it is too large": "{'too_large': 10 ** 9}",
    "done by none": "{'done': 0}",
    "done by less than none": "{'done': -5}",
    "done by more than all": "{'done': 10 ** 30}",
    "done by half a row": "{'done': 1.5}",
    "done by a bool": "{'done': True}",
    "done by a text": "{'done': '3'}",
    "done by nothing": "{'done': None}",
    "done by a list": "{'done': [3]}",
    "texts without end": "{'texts': ['x'] * 40000, 'errors': [[i, 'runtime', i] for i in range(3)], 'done': 3}",
    "a hundred thousand errors of one row": "b'{\"texts\": [\"x\"], \"done\": 3, \"errors\": [' + b'[0,\"memory\",0],' * 14000 + b'[0,\"memory\",0]]}'",
    "rows as texts": "{'texts': ['x'], 'errors': [['0', 'runtime', 0], [' 1 ', 'runtime', 0], ['0_2', 'runtime', 0]], 'done': 3}",
    "rows in other digits": "{'texts': ['x'], 'errors': [['\\u0661', 'runtime', 0]], 'done': 3}",
    "rows as bools": "{'texts': ['x'], 'errors': [[True, 'runtime', False]], 'done': 3}",
    "rows as fractions": "{'texts': ['x'], 'errors': [[0.9, 'runtime', 0], [-0.5, 'runtime', 0]], 'done': 3}",
    "texts from behind": "{'texts': ['x', 'y'], 'errors': [[0, 'runtime', -1], [1, 'runtime', -3]], 'done': 3}",
    "a kind in capitals": "{'texts': ['x'], 'errors': [[0, 'BUDGET', 0], [1, ' budget', 0], [2, 'ErrorKind.BUDGET', 0]], 'done': 3}",
    "a kind in look-alike letters": "{'texts': ['x'], 'errors': [[0, 'b\\u03c5dget', 0]], 'done': 3}",
    "a kind that is a list": "{'texts': ['x'], 'errors': [[0, ['budget'], 0]], 'done': 3}",
    "a message that hides": "{'texts': ['\\u202e\\u200b\\x1b[2J' * 900], 'errors': [[0, 'runtime', 0]], 'done': 3}",
    "output that is a bomb": "{'output': '\\u2066' * 60000, 'done': 3}",
    "output that is a dict": "{'output': {'a': 1}, 'done': 3}",
    "isolation of its own": "{'level': 'kernel', 'layers': [], 'leaks': [], 'isolation': 'none', 'done': 3}",
    "notes for rows that are none": "{'notes': [[r, {'reasoning': 'x'}] for r in (-1, 3, 10 ** 9, 1.0, '0', None, True)], 'done': 3}",
    "notes of every wrong type": "{'notes': [[0, {'reasoning': [1], 'metadata': [2], 'passed': 1}], [1, 5], [2], 7, None], 'done': 3}",
    "a verdict on a row that failed": "{'notes': [[i, {'passed': True}] for i in range(3)], 'done': 3}",
    "a verdict that is text": "{'notes': [[0, {'passed': 'true'}]], 'done': 3}",
    "ten thousand notes of one row": "{'notes': [[0, {'reasoning': 'x' * 5}]] * 7000, 'done': 3}",
    "reasoning that hides": "{'notes': [[0, {'reasoning': '\\ud800\\u202e\\x00' * 9000}]], 'done': 3}",
    "metadata that hides": "{'notes': [[0, {'metadata': {'\\u202e\\x1b': ['\\ud800']}}]], 'done': 3}",
    "metadata with numbers that are none": "b'{\"notes\": [[0, {\"metadata\": {\"a\": NaN, \"b\": -Infinity, \"c\": 1e999}}]], \"done\": 3}'",
    "metadata of 4,000 digits": "b'{\"notes\": [[0, {\"metadata\": {\"a\": ' + b'9' * 4000 + b'}}]], \"done\": 3}'",
    "metadata 700 levels deep": "b'{\"notes\": [[0, {\"metadata\": {\"a\": ' + b'[' * 700 + b']' * 700 + b'}}]], \"done\": 3}'",
    "metadata of dicts 300 levels deep": "b'{\"notes\": [[0, {\"metadata\": ' + b'{\"a\":' * 300 + b'1' + b'}' * 300 + b'}]], \"done\": 3}'",
    "metadata of 60,000 lists": "{'notes': [[0, {'metadata': {'a': [[]] * 60000}}]], 'done': 3}",
    "metadata with an error mark of ours": "{'notes': [[0, {'metadata': {'_error': {'code': 'run_notes_too_large'}}}]], 'done': 3}",
    "keys that are the same once cleaned": "{'notes': [[0, {'metadata': {'a\\u200b': 1, 'a\\u200e': 2}}]], 'done': 3}",
}  # fmt: skip
_NO_JSON = {"two documents", "a comment", "spaces alone", "nothing", "a text", "null", "NaN", "NUL bytes"}
_ANSWERS = [
    *(
        Case("answers", f"{name}{noted}", f"forge({text})\nos._exit(0)", module)
        for name, text in _ANSWER.items()
        for noted, module in (("", KIT), (", of a grader with notes", _NOTED))
        # Of a grader without notes the host does not read some, and what is no JSON ends the same for both.
        if (name not in _NO_JSON if noted else not any(word in text for word in ("'notes'", '"notes', "{'done'")))
    ),
    *(
        Case(
            "answers", f"the kind {kind}",
            f"for i in range(3):\n    bits()[i] = {{FAILED}}\nforge({{'texts': ['x'], 'errors': [[i, '{kind}', 0] for i in range(3)], 'done': 3}})\nos._exit(0)",
            _NOTED, must_fail=True,
        )
        for kind in HOST_KINDS
    ),
    *_cases(
        "answers",
        {
            "the number before": "forge({}, number=seq() - 1)",
            "the number after": "forge({}, number=seq() + 1)",
            "the number of the first frame": "forge({'level': 'kernel', 'layers': [], 'leaks': []}, number=0)",
            "the largest number": "forge({}, number=2 ** 64 - 1)",
            "the letters backwards": "import struct\nos.write(4, struct.pack('>IQI', {MAGIC}, seq(), 2) + b'{}')",
            "as large as may be": "forge(b'{\"output\": \"' + b'x' * (256 * 1024 - 13) + b'\"}')",
            "one byte at a time": "text = b'{\"done\": 3}'\nimport struct\nfor byte in struct.pack('{HEADER}', {MAGIC}, seq(), len(text)) + text:\n    os.write(4, bytes([byte]))\nos._exit(0)",
            "with half of the next one": "import struct\nforge({})\nos.write(4, struct.pack('{HEADER}', {MAGIC}, seq() + 1, 900)[:7])\nos._exit(0)",
            "with a flood behind": "forge({})\nwhile True:\n    os.write(4, bytes(65536))",
            "and then no more": "forge({})\nos.close(4)",
            "and then no more is read": "forge({})\nos.close(3)\nwhile True:\n    pass",
            "for each number to come": "import struct\nn = seq()\ndata = b''.join(struct.pack('{HEADER}', {MAGIC}, n + i, 2) + b'{}' for i in range(2000))\nos.write(4, data)\nos._exit(0)",
            "scores for rows to come": "b = server()._scores\nfor i in range(len(b)):\n    b[i] = 0.5\nforge({})\nforge({}, number=seq() + 1)\nos._exit(0)",
            "before the grader is asked": "return 0.0",
            "from a timer between the commands": "import signal\nn = seq()\nsignal.signal(signal.SIGALRM, lambda *_: None)\nsignal.signal(signal.SIGVTALRM, lambda *_: forge({}, number=n + 1))\nsignal.setitimer(signal.ITIMER_VIRTUAL, 0.0001)",
        },
    ),
    Case("answers", "with what the grader returns", "return forge({'done': 3, 'texts': [], 'errors': []})", _NOTED),
]  # fmt: skip

_CHECK = "{'checks': %s, 'warnings': [], 'output': ''}"
_GOOD = "[['syntax', True, '', 0.0], ['structure', True, '', 0.0], ['signature', True, '', 0.0], ['execution', True, '', %s]]"
_LOADS = [
    Case("loads", name, "pass", KIT + f"forge({text})\nos._exit(0)\n")
    for name, text in {
        "seconds of 400 digits": _CHECK % (_GOOD % "10 ** 400"),
        "seconds of 4,000 digits": _CHECK % (_GOOD % "10 ** 4000"),
        "seconds below none": _CHECK % (_GOOD % "-1.0"),
        "seconds that are true": _CHECK % (_GOOD % "True"),
        "seconds that are text": _CHECK % (_GOOD % "'1'"),
        "seconds without end": "b'{\"checks\": [[\"syntax\", false, \"\", Infinity]]}'",
        "seconds that are no number": "b'{\"checks\": [[\"syntax\", false, \"\", NaN]]}'",
        "one check too many": _CHECK % (_GOOD % "0.0] + ['test_run', True, '', 0.0"),
        "the same check four times": _CHECK % "[['syntax', True, '', 0.0]] * 4",
        "in another order": _CHECK % "[['execution', True, '', 0.0], ['syntax', True, '', 0.0]]",
        "one that failed, and then one more": _CHECK % "[['syntax', False, 'x', 0.0], ['structure', True, '', 0.0]]",
        "too few, and all passed": _CHECK % "[['syntax', True, '', 0.0]]",
        "a verdict of one": _CHECK % "[['syntax', 1, '', 0.0]]",
        "a verdict in words": _CHECK % "[['syntax', 'true', '', 0.0]]",
        "a name in other letters": _CHECK % "[['synt\\u0430x', False, '', 0.0]]",
        "a message of a megabyte's quarter": _CHECK % "[['syntax', False, 'x' * 200000, 0.0]]",
        "a message that hides": _CHECK % "[['syntax', False, '\\u202e\\ud800\\x1b]0;x\\x07' * 400, 0.0]]",
        "a message that is a list": _CHECK % "[['syntax', False, ['x'], 0.0]]",
        "a check that is a dict": _CHECK % "[{'0': 'syntax'}]",
        "output of other kinds": "{'checks': [['syntax', False, 'x', 0.0]], 'output': ['\\ud800'], 'warnings': {'a': 1}}",
        "warnings without end": "{'checks': [['syntax', False, 'x', 0.0]], 'warnings': ['\\u202e'] * 40000}",
        "that all is well, and scores beforehand": _CHECK % (_GOOD % "0.0"),
    }.items()
]  # fmt: skip

_KINDS = [
    *(
        Case("kinds", f"raised as {kind}", f"raise ours('_drive').Refused('{kind}', 'x')", KIT, must_fail=True)
        for kind in HOST_KINDS
    ),
    *(
        Case(
            "kinds", f"given as {kind}",
            f"g = Grade(score=0.5)\nerror = type('E', (), {{'kind': '{kind}', 'message': 'x'}})()\nobject.__setattr__(g, 'error', error)\nreturn g",
            _NOTED, must_fail=True,
        )
        for kind in ("sandbox", "cancelled", "budget", "store", "load")
    ),
    *_cases(
        "kinds",
        {
            "a subclass of Refused": "R = ours('_drive').Refused\nraise type('S', (R,), {})('budget', 'x')",
            "a class that says it is Refused": "R = ours('_drive').Refused\nclass L(BaseException):\n    __class__ = R\n    kind = 'budget'\nraise L('x')",
            "Refused with a kind of text's subclass": "raise ours('_drive').Refused(type('S', (str,), {'__eq__': lambda *_: True, '__hash__': lambda s: 0})('budget'), 'x')",
            "Refused with a kind that is a number": "raise ours('_drive').Refused(7, 'x')",
            "Refused with a kind that is a list": "raise ours('_drive').Refused(['budget'], 'x')",
            "Refused with a message of its own class": "class M(str):\n    def __getitem__(self, key):\n        return 'x' * 10 ** 6\n    def __str__(self):\n        return self\nraise ours('_drive').Refused('runtime', M('x'))",
            "the end of a loop that waits": "raise ours('_drive').Stuck",
            "the end of its rows": "raise ours('_drive').Ended",
            "a time-out of its own": "raise ours('_drive').RowTimeout('\\u202e' * 9000)",
            "a subclass of the time-out": "T = ours('_drive').RowTimeout\nclass S(T):\n    def __str__(self):\n        raise SystemExit\nraise S",
            "a time-out that was caught and raised again": "T = ours('_drive').RowTimeout\ntry:\n    while True:\n        pass\nexcept T as e:\n    raise ValueError from e",
            "memory that is not short": "raise type('M', (MemoryError,), {'__str__': lambda s: 'x' * 10 ** 6})",
            "an overflow of its own words": "raise OverflowError('int too large ' * 9000)",
            "a check that failed": "raise ours('_checks').CheckFailed('budget')",
            "an error that is plain": "raise type('cancelled', (Exception,), {'plain': True})('cancelled: by you')",
            "a traceback that is not its own": "e = ValueError('x')\nraise e.with_traceback(None)",
            "a traceback of a thousand frames": "def f(n):\n    return f(n - 1) if n else 1 / 0\nf(900)",
            "a name of a kind": "raise type('sandbox', (Exception,), {'__module__': 'workbench'})('budget')",
            "notes in a note's place": "return ours('_drive').Noted(None, {'reasoning': 'x'})",
            "a failure in a note's place": "return ours('_drive').Noted(None, {}, ('budget', 'x'))",
            "a failure of wrong types": "return ours('_drive').Noted(None, {}, (5, b'x'))",
            "a subclass of notes": "return type('N', (ours('_drive').Noted,), {})(1.0)",
            "the thread": "return thread",
            "an awaitable": "import asyncio\nreturn asyncio.sleep(0)",
            "a float by its class": "return type('F', (float,), {'__class__': property(lambda s: float)})(0.5)",
        },
        must_fail=True,
    ),
    *_cases(
        "kinds",
        {
            "a failure of wrong types, in a note": "return ours('_drive').Noted(None, {}, (5, b'x'))",
            "a note that is no dict": "return ours('_drive').Noted(None, [1, 2])",
            "a note that holds itself": "n = {}\nn['metadata'] = n\nreturn ours('_drive').Noted(None, n, ('runtime', 'x'))",
            "a subclass of Grade": "return type('G', (Grade,), {'__slots__': ()})(score=1.0)",
            "a score that is a bool": "g = Grade(score=1.0)\nobject.__setattr__(g, 'score', True)\nreturn g",
            "a score that is not finite": "g = Grade(score=1.0)\nobject.__setattr__(g, 'score', float('nan'))\nreturn g",
            "a failure and a score": "g = Grade(score=1.0)\nobject.__setattr__(g, 'error', 7)\nreturn g",
            "a skip whose reason raises": "from workbench import Skip\nclass S(Skip):\n    def __str__(self):\n        raise SystemExit\nraise S('x')",
        },
        _NOTED,
        must_fail=True,
    ),
    *_cases(
        "kinds",
        {
            "a verdict without a score": "g = Grade(score=1.0)\nobject.__setattr__(g, 'score', None)\nobject.__setattr__(g, 'passed', True)\nreturn g",
            "a verdict and a failure": "n = {'passed': True, 'reasoning': 'x'}\nreturn ours('_drive').Noted(None, n, ('runtime', 'x'))",
            "metadata of a class of its own": "class D(dict):\n    def items(self):\n        raise SystemExit\nreturn Grade(score=1.0, metadata=D(a=1))",
            "metadata that grows while it is read": "class K(str):\n    def __hash__(self):\n        return 0\ng = Grade(score=1.0, metadata={'a': 1})\ng.metadata[K('b')] = g\nreturn g",
            "reasoning of a megabyte": "return Grade(score=1.0, reasoning='\\u202e' * 10 ** 6)",
            "metadata of a megabyte": "return Grade(score=1.0, metadata={'a': 'x' * 10 ** 6})",
            "metadata of a number without end": "return Grade(score=1.0, metadata={'a': 10 ** 5000})",
            "metadata 5,000 levels deep": "x = []\nfor _ in range(5000):\n    x = [x]\nreturn Grade(score=1.0, metadata={'a': x})",
        },
        _NOTED,
    ),
]  # fmt: skip

_PATCHES = _cases(
    "patches",
    {
        "json.dumps": 'import json\njson.dumps = lambda *a, **k: \'{"done": 3, "errors": []}\'',
        "the encoder of JSON": "import json.encoder\njson.encoder.c_make_encoder = None\njson.JSONEncoder.encode = lambda *a: '[' * 10 ** 6",
        "struct.pack": "import struct\nstruct.pack = lambda *a: b''",
        "os.write": "keep = os.write\nos.write = lambda fd, data: keep(fd, bytes(len(data)))",
        "os.write, to tell of nothing": "os.write = lambda fd, data: len(data)",
        "os.read": "keep = os.read\nos.read = lambda fd, n: keep(fd, n)[::-1]",
        "marshal.loads": "import marshal\nmarshal.loads = lambda data: {'op': 'rows', 'seq': 1, 'first': 0, 'count': 3, 'half': 0, 'seconds': 1e9}",
        "the commands' names": "type(server()).do_rows = lambda self, command: {'errors': {}, 'level': 'none'}",
        "the commands' table": "type(server()).__getattribute__ = lambda self, name: (lambda command: {})",
        "how rows are found": "type(server()._rows).of = lambda self, command: [None] * 10 ** 6",
        "the size of the page": "server()._half = 2 ** 40",
        "the answer's limit": "ours('_protocol').MAX_TEXT = 1 << 40\nraise ValueError('x' * 2000)",
        "the answer's header": "import struct\nours('_protocol').HEADER = struct.Struct('<QQQ')",
        "the answer's function by its code": "ours('_protocol').answer.__code__ = (lambda seq, reply: None).__code__",
        "the driver by its code": "ours('_drive').drive.__code__ = (lambda *a: 3).__code__",
        "the driver's loop by its code": "def f(grade, threads, start, scores, fail):\n    for i in range(len(threads)):\n        scores[i] = 0.25\nours('_drive')._each.__code__ = f.__code__",
        "the marks of a score": "d = ours('_drive')\nd.FAILED = d.NOT_SCORED = 0",
        "the words for errors": "ours('_drive').message_of = lambda e: '\\u202e' * 10 ** 6\nraise ValueError",
        "the kinds of errors": "ours('_drive').kind_of = lambda e: 'budget'\nraise ValueError",
        "the kinds of errors, to no text": "ours('_drive').kind_of = lambda e: {'a': 1}\nraise ValueError",
        "the alarm": "ours('_drive').Alarm.__enter__ = lambda self: self\nwhile True:\n    pass",
        "the alarm's look": "ours('_drive').Alarm._tick = lambda self, *a: None\nwhile True:\n    pass",
        "the alarm's limit": "import gc\nfor o in gc.get_objects():\n    if type(o).__name__ == 'Alarm':\n        o._seconds = 1e9\nwhile True:\n    pass",
        "the clock": "import time\ntime.monotonic = lambda: 0.0\nwhile True:\n    pass",
        "the clock, backwards": "import time\ntime.monotonic = time.perf_counter = lambda: -1e300",
        "the loop's sleep": "ours('_drive').SilentLoop.select = lambda self, timeout: []\nimport asyncio\nawait asyncio.Event().wait()",
        "the loop's turn": "import asyncio\ntype(asyncio.get_running_loop())._run_once = lambda self: None\nawait asyncio.sleep(0)",
        "the loop's end": "import asyncio\ntype(asyncio.get_running_loop()).close = lambda self: (_ for _ in ()).throw(SystemExit)",
        "the loop stopped": "import asyncio\nasyncio.get_running_loop().stop()\nawait asyncio.sleep(0)",
        "the loop closed": "import asyncio\nl = asyncio.get_running_loop()\nl.stop()\nl.close()",
        "a loop in a loop": "import asyncio\nasyncio._set_running_loop(None)\nasyncio.new_event_loop().run_until_complete(asyncio.sleep(0))",
        "the loop's policy": "import asyncio\nasyncio.set_event_loop_policy(type('P', (), {'__getattr__': lambda s, n: 1 / 0})())",
        "its own task cancelled": "import asyncio\nasyncio.current_task().cancel()\nawait asyncio.sleep(0)",
        "its own task's coroutine closed": "import asyncio\nasyncio.current_task().get_coro().close()",
        "its own task's coroutine thrown into": "import asyncio\nasyncio.get_running_loop().call_soon(asyncio.current_task().get_coro().throw, SystemExit)\nawait asyncio.sleep(0)",
        "a task that waits for itself": "import asyncio\nawait asyncio.current_task()",
        "the thread's class emptied": "for name in list(vars(type(thread))):\n    try:\n        delattr(type(thread), name)\n    except Exception:\n        pass",
        "the thread's class exchanged": "thread.__class__ = type('T', (type(thread),), {})",
        "the names of builtins": "import builtins\nfor name in list(vars(builtins)):\n    if name[:1] != '_':\n        setattr(builtins, name, None)",
        "the table of modules emptied": "sys.modules.clear()",
        "the importers": "sys.meta_path[:] = [type('F', (), {'find_spec': staticmethod(lambda *a: 1 / 0)})]\nimport xmlrpc",
        "the import function": "import builtins\nbuiltins.__import__ = lambda *a, **k: 1 / 0",
        "an encoding's error handler": "import codecs\ncodecs.register_error('surrogatepass', lambda e: (b'\"' * 10 ** 6, e.end))\nraise ValueError('\\ud800')",
        "an encoding": "import codecs\ncodecs.register(lambda name: 1 / 0)\nraise ValueError('x')",
        "the limit of recursion": "sys.setrecursionlimit(2 ** 31 - 1)\ndef f():\n    f()\nf()",
        "the limit of digits": "sys.set_int_max_str_digits(0)\nraise ValueError(str(10 ** 6000))",
        "the switch between threads": "sys.setswitchinterval(1e-9)",
        "hooks of async generators": "sys.set_asyncgen_hooks(lambda a: 1 / 0, lambda a: 1 / 0)\nasync def a():\n    yield\nasync for _ in a():\n    pass",
        "the hook of errors": "sys.excepthook = lambda *a: os.write(4, b'x' * 100)\nraise ValueError",
        "a trace function that raises": "sys.settrace(lambda *a: 1 / 0)",
        "a profile function that never ends": "def p(*a):\n    while True:\n        pass\nsys.setprofile(p)",
        "a watcher of the interpreter": "m = getattr(sys, 'monitoring', None)\nif m:\n    m.use_tool_id(1, 'x')\n    m.set_events(1, m.events.PY_START)\n    m.register_callback(1, m.events.PY_START, lambda *a: 1 / 0)",
        "the collector's callbacks": "import gc\ngc.callbacks.append(lambda *a: os._exit(0))\ngc.collect()",
        "the collector off, and garbage": "import gc\ngc.disable()\nx = []\nwhile True:\n    y = [x]\n    y.append(y)\n    x = [bytes(10 ** 6), y]",
        "every signal": "import signal\nfor n in signal.valid_signals():\n    try:\n        signal.signal(n, lambda *a: None)\n    except (OSError, ValueError):\n        pass\nwhile True:\n    pass",
        "every signal blocked": "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\nwhile True:\n    pass",
        "other timers": "import signal\nfor n in (signal.SIGPROF, signal.SIGVTALRM):\n    signal.signal(n, lambda *a: os.write(4, b'x'))\nsignal.setitimer(signal.ITIMER_PROF, 1e-4, 1e-4)\nsignal.setitimer(signal.ITIMER_VIRTUAL, 1e-4, 1e-4)\nsum(range(10 ** 5))",
        "what is done at the end": "import atexit, weakref\natexit.register(forge, {})\nclass D:\n    pass\nglobals()['kept'] = D()\nweakref.finalize(kept, forge, {})\nos._exit(0)",
        "an end by a way of Python's": "import atexit\natexit.register(forge, {'done': 3})\natexit._run_exitfuncs()",
        "the print stream": "class S:\n    def write(self, text):\n        return 10 ** 9\n    take = lambda self: '\\u202e' * 10 ** 6\nsys.stdout = sys.stderr = server()._output = S()\nprint('x')",
        "the print stream's memory": "o = server()._output\no.remaining = 10 ** 12\nfor _ in range(20):\n    print('x' * 10 ** 6)",
        "the print stream's parts": "server()._output.parts = [1, 2, 3]",
        "warnings into errors": "import warnings\nwarnings.simplefilter('error')\nwarnings.warn('x')",
        "the lines of the source": "import linecache\nlinecache.cache.clear()\nlinecache.getline = lambda *a: '\\u202e' * 10 ** 6\nraise ValueError",
        "its own code by another": "import types\nc = grade.__code__\ngrade.__code__ = c.replace(co_filename='/etc/passwd', co_name='\\u202e', co_firstlineno=10 ** 6)\nraise ValueError",
        "bytes of code that are none": "f = lambda: 0\nf.__code__ = f.__code__.replace(co_code=b'\\xff' * 64)\nf()",
        "a constant that is not there": "f = lambda: 12345\nf.__code__ = f.__code__.replace(co_consts=())\nreturn f()",
        "a stack that is too small": "f = lambda: [1, 2, [3, [4, [5]]]]\nf.__code__ = f.__code__.replace(co_stacksize=0)\nf()",
        "a number's own memory": "c = find('ctypes')\nc.c_long.from_address(id(1) + 24).value = 7\nraise ValueError(1)",
        "None's type": "c = find('ctypes')\nc.c_size_t.from_address(id(None) + 8).value = id(int)",
        "the type of types": "c = find('ctypes')\nc.memset(id(type), 0, 400)",
        "the count of who refers": "c = find('ctypes')\nfor o in (None, True, (), type, object):\n    c.c_long.from_address(id(o)).value = 1",
    },
)

_TRACES = {
    "a builtin": "import builtins\nbuiltins.left = MARK",
    "a module": "import types\nsys.modules[MARK] = types.ModuleType(MARK)",
    "a module's name": "import json\njson.left = MARK",
    "the environment": "os.environ['LEFT'] = MARK",
    "the environment of C": "find('ctypes').CDLL(None).setenv(b'LEFT', MARK.encode(), 1)",
    "the thread's class": "type(thread).left = MARK",
    "a module of the worker's": "ours('_drive').left = MARK",
    "the names of the process that forks": "for f in frames():\n    f.f_globals['left'] = MARK",
    "the list of processes": "up('children').add(MARK)",
    "the request": "up('message')['left'] = MARK",
    "the worker's settings": "up('config')['left'] = MARK",
    "the row": "thread.metadata['left'] = MARK",
    "the rows": "for t in up('threads'):\n    t.metadata['n'] = 99",
    "the memory of scores": "m = memoryview(bits().obj).cast('B')\nm[:len(MARK)] = MARK.encode()",
    "the arguments": "sys.argv.append(MARK)\nsys.orig_argv.append(MARK)",
    "the path of imports": "sys.path.append(MARK)\nsys.path_hooks.append(lambda p: 1 / 0)",
    "the lines of files": "import linecache\nlinecache.cache[MARK] = (1, None, [MARK], MARK)",
    "the registry of pickles": "import copyreg\ncopyreg.dispatch_table[int] = MARK",
    "the dialects": "import csv\ncsv.register_dialect(MARK)",
    "the loggers": "import logging\nlogging.getLogger(MARK).handlers.append(MARK)",
    "the folder": "try:\n    os.chdir('{DIR}')\nexcept OSError:\n    pass\nos.umask",
    "what collecting skips": "import gc\nglobals()['left'] = [MARK]\ngc.freeze()",
    "the memory behind a name": "c = find('ctypes')\nc.memmove(id('wb-left-behinx') + 48, MARK.encode(), len(MARK))",
    "a timer that goes on": "import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nsignal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)",
}
_LEFT = _cases("leftovers", _TRACES)

_FORKER = _cases(
    "forker",
    {
        "its socket": "for f in frames():\n    c = f.f_locals.get('control')\n    if c is not None:\n        c.send(b'\\x02\\x00\\x00\\x00{}')\n        return BROKE",
        "its socket by every number": "import socket\nfor fd in range(5, 5000):\n    try:\n        socket.socket(fileno=fd).send(b'x')\n        return BROKE\n    except OSError:\n        pass",
        "every descriptor written to": "for fd in range(5, 5000):\n    try:\n        os.write(fd, b'x')\n        return BROKE\n    except OSError:\n        pass",
        "every descriptor read": "for fd in [0, 1, 2, *range(5, 5000)]:\n    try:\n        os.read(fd, 1)\n        return BROKE\n    except OSError:\n        pass",
        "its other workers": "import signal\nfor pid in list(up('children')):\n    try:\n        os.kill(pid, signal.SIGKILL)\n        return BROKE\n    except OSError:\n        pass",
        "an error through the worker": "os.read = lambda *a: 1 / 0",
        "an error through the worker, and no end": "os._exit = lambda code: None\nos.read = lambda *a: 1 / 0",
        "an error of the system's through the worker, and no end": "os._exit = lambda code: None\ndef read(*a):\n    raise OSError('x')\nos.read = read",
        "an exit through the worker, and no end": "os._exit = lambda code: None\ndef read(*a):\n    raise SystemExit(0)\nos.read = read",
        "the end of commands, and no end": "os._exit = lambda code: None\nos.read = lambda *a: b''",
        "its loop gone on with": "import socket\nos._exit = lambda code: None\nos.read = lambda *a: b''\nfor f in frames():\n    if '_receive' in f.f_globals:\n        f.f_globals['_receive'] = lambda c: ({'op': 'fork', 'n': 1}, [])\n        f.f_globals['_answer'] = lambda *a: None",
        "another worker by its function": "for f in frames():\n    if '_fork' in f.f_globals:\n        f.f_globals['_fork'](up('control'), up('message'), [], set())\n        return BROKE",
        "another worker by its main": "ours('_drive')\nm = next(f.f_globals for f in frames() if 'Refuser' in f.f_globals)\nm['main']({'page_bytes': 4096, 'layers': ()}, [3, 4, 3])",
        "its locks once more, without any": "c = next(f.f_globals for f in frames() if 'Refuser' in f.f_globals)['_confine']\nc.lock_down((), 1 << 40, read_fd=3, write_fd=4)\nopen('{FILE}')\nreturn BROKE",
        "its trials patched": "next(f.f_globals for f in frames() if 'Refuser' in f.f_globals)['_probes'].self_test = lambda: []\nforge({'level': 'kernel', 'layers': ['seccomp'], 'leaks': []}, number=0)",
        "the host's memory by the probes' own calls": "p = next(f.f_globals for f in frames() if 'Refuser' in f.f_globals)['_probes']\nm = p._MEMORY\nreturn BROKE if any(m.reaches('process_vm_readv', pid) for pid in p._OTHERS) else 0.0",
        "the host's memory written by the probes' own calls": "p = next(f.f_globals for f in frames() if 'Refuser' in f.f_globals)['_probes']\nm = p._MEMORY\nreturn BROKE if any(m.reaches('process_vm_writev', pid) for pid in p._OTHERS) else 0.0",
        "the host traced by the probes' own calls": "p = next(f.f_globals for f in frames() if 'Refuser' in f.f_globals)['_probes']\nreturn BROKE if p._MEMORY.ptrace(0x4206, {HOSTPID}, None, None) == 0 else 0.0",
    },
)

_INTERPRETER = _cases(
    "interpreter",
    {
        "a native module by its file": "import _imp, importlib.machinery\ns = importlib.machinery.ModuleSpec('_x', None, origin='{FILE}')\n_imp.create_dynamic(s)\nreturn BROKE",
        "a library by its file": "find('ctypes')._dlopen('{FILE}', 2)\nreturn BROKE",
        "another interpreter": "try:\n    import _xxsubinterpreters as i\nexcept ImportError:\n    import _interpreters as i\nn = i.create()\ni.run_string(n, 'open(\"{DIR}/new.txt\", \"w\")')\nreturn BROKE",
        "a thread of the lowest kind": "import _thread\n_thread.start_new_thread(lambda: None, ())\nreturn BROKE",
        "a thread of the loop": "import asyncio\nreturn await asyncio.get_running_loop().run_in_executor(None, lambda: BROKE)",
        "asyncio.to_thread": "import asyncio\nreturn await asyncio.to_thread(lambda: BROKE)",
        "a pool of threads": "from concurrent.futures import ThreadPoolExecutor\nreturn ThreadPoolExecutor(1).submit(lambda: BROKE).result(1)",
        "a timer's thread": "import threading\nthreading.Timer(0, lambda: None).start()\nreturn BROKE",
        "a dump after a while": "import faulthandler\nfaulthandler.dump_traceback_later(0.01, file=4, exit=True)\nreturn BROKE",
        "a dump into the answers": "import faulthandler\nfaulthandler.enable(4)\nfaulthandler.dump_traceback(4)",
        "a crash by the fault handler": "import faulthandler\nfaulthandler._sigsegv()",
        "the users": "import pwd\nreturn BROKE if pwd.getpwall() else 0.0",
        "the login": "return BROKE if os.getlogin() else 0.0",
        "the limits taken off": "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\nreturn BROKE",
        "the limit of memory taken off": "import resource\nresource.setrlimit(resource.RLIMIT_AS, (-1, -1))\nreturn BROKE",
        "a limit made smaller": "import resource\nresource.setrlimit(resource.RLIMIT_STACK, (1 << 16, 1 << 16))\nreturn BROKE",
        "a selector": "import selectors\nselectors.DefaultSelector()\nreturn BROKE",
        "polling its own pipe": "import select\np = select.poll()\np.register(3)\np.poll(0)\nreturn BROKE",
        "a lock that waits for ever": "import threading\nl = threading.Lock()\nl.acquire()\nl.acquire()",
        "a queue that waits for ever": "import queue\nqueue.Queue().get()",
        "random bytes without end": "while True:\n    os.urandom(1 << 20)",
        "a source of 60 kB compiled again and again": "while True:\n    compile('x = 1\\n' * 10000, 'x', 'exec')",
        "a pattern of a million groups": "import re\nre.compile('(' * 10 ** 6)",
        "a decompressed bomb": "import zlib\nd = zlib.compress(bytes(10 ** 7))\nx = [zlib.decompress(d) for _ in range(200)]\nreturn BROKE",
        "entities that grow": "import xml.dom.minidom\ne = '<!DOCTYPE a [<!ENTITY a0 \"x\">' + ''.join(f'<!ENTITY a{i} \"{\"&a%d;\" % (i - 1) * 10}\">' for i in range(1, 12)) + ']><a>&a11;</a>'\nxml.dom.minidom.parseString(e)",
        "a tuple of its own size": "x = ()\nfor _ in range(10 ** 6):\n    x = (x,)\nreturn float(hash(x))",
        "a descriptor made at load": "return BROKE if FD else 0.0",
    },
    KIT + "FD = 0\ntry:\n    FD = os.pipe()\nexcept OSError:\n    pass\n",
)  # fmt: skip

CASES = [*_FRAMES, *_PAGE, *_SYSTEM, *_ANSWERS, *_LOADS, *_KINDS, *_PATCHES, *_LEFT, *_FORKER, *_INTERPRETER]

_IDLE = "import signal\nn = seq()\nsignal.signal(signal.SIGVTALRM, lambda *_: None)\n"
STAYING = _cases(
    "stays",
    {
        "the number where to stop, at none": "bits()[2 * len(bits()) - 1:]\nserver()._calls._until[0] = 0",
        "the number where to stop, as far as can be": "server()._calls._until[0] = 2 ** 64 - 1",
        "the number where to stop, in the middle": "server()._calls._until[0] = 1",
        "the whole second half": "s = server()._scores\nfor i in range(len(s) // 2, len(s)):\n    s[i] = float('inf')",
        "signs that a row has begun": "s = server()._scores\nfor i in range(len(s) // 2, len(s)):\n    s[i] = -1.0",
        "seconds beyond all": "r = up('threads')\nt = server()._calls._seconds\ntype(r).stop_clock = lambda self: [t.__setitem__(i, 1e308) for i in range(3)] and None",
        "seconds that signal": "r = up('threads')\nv = server()._bits\ntype(r).stop_clock = lambda self: [v.__setitem__(8192 + i, 0x7FF0000000000001) for i in range(3)] and None",
        "scores of the rows to come": "b = bits()\nfor i in range(3):\n    b[i] = 0\nwhile True:\n    pass",
        "scores taken back": "b = bits()\nfor i in range(3):\n    b[i] = {NOT_SCORED}\nwhile True:\n    pass",
        "a mark that goes to and fro": "import time\nb = bits()\nwhile True:\n    b[2] = 0\n    time.sleep(0.001)\n    b[2] = {NOT_SCORED}\n    time.sleep(0.001)",
        "done by none": "forge({'done': 0})",
        "done by more": "forge({'done': 10 ** 30})",
        "done by a bool": "forge({'done': True})",
        "done by nobody": "forge({})",
        "done by half": "forge({'done': 1.5})",
        "done by one, and on": "forge({'done': 1})",
        "done by all, early": "forge({'done': 3})\nos._exit(0)",
        "prints of other kinds": "forge({'done': 3, 'printed': [1, None, {'a': [[]]}, ['x'] * 9]})\nos._exit(0)",
        "prints nested deeply": "forge(b'{\"done\": 3, \"printed\": [' + b'[' * 900 + b']' * 900 + b']}')\nos._exit(0)",
        "errors of the host's kinds": "for i in range(3):\n    bits()[i] = {FAILED}\nforge({'done': 3, 'texts': ['x'], 'errors': [[i, 'cancelled', 0] for i in range(3)]})\nos._exit(0)",
        "the load's answer again": "forge({'checks': [['syntax', False, 'x', 0.0]], 'self_contained': True, 'done': 3})\nos._exit(0)",
        "an answer without a question": _IDLE
        + "forge({'done': 3})\nforge({'done': 3}, number=n + 1)\nforge({'done': 3}, number=n + 2)",
        "chatter while it waits": "import signal\nsignal.signal(signal.SIGPROF, lambda *_: os.write(4, b'x' * 999))\nsignal.setitimer(signal.ITIMER_PROF, 0.0001, 0.0001)",
        "an end while it waits": "import atexit, signal\nsignal.signal(signal.SIGVTALRM, lambda *_: os._exit(0))\nsignal.setitimer(signal.ITIMER_VIRTUAL, 0.0005)",
        "no more commands": "os.close(3)",
        "no more answers": "os.close(4)",
        "commands eaten": "os.read = lambda fd, n: b''",
        "commands that never come whole": "def read(fd, n):\n    while True:\n        pass\nos.read = read",
        "work that goes on": "import asyncio\nasync def more():\n    while True:\n        await asyncio.sleep(0)\nglobals()['kept'] = asyncio.ensure_future(more())",
        "work for the next row's loop": "d = ours('_drive').SilentLoop\nkeep = d.run_until_complete\nd.run_until_complete = lambda self, work: keep(self, work) or forge({'done': 3})",
        "memory kept from call to call": "globals().setdefault('kept', []).append(bytes(1 << 27))",
        "a crash on the second call": "k = globals().setdefault('kept', [])\nk.append(1)\nif len(k) > 3:\n    os._exit(1)",
        "a hang on the second call": "k = globals().setdefault('kept', [])\nk.append(1)\nwhile len(k) > 3:\n    pass",
        "the driver exchanged for the second call": "ours('_drive').drive.__code__ = (lambda *a: 10 ** 9).__code__",
        "the calls' object exchanged": "type(server()._calls).rows = lambda self, loading, command: {'done': [1], 'errors': {0: ('budget', 'x')}}",
        "a load that is there for the next call": "server()._loading = None",
        "what one row leaves for another program": "import builtins\nbuiltins.left = MARK\nfor f in frames():\n    f.f_globals['left'] = MARK",
    },
)


def main() -> None:
    """Print safe cases a family."""
    with InternalsArena(LAYER_SETS["all"]) as arena, StayArena(LAYER_SETS["all"]) as staying:
        for place, cases in ((arena, CASES), (staying, STAYING)):
            for family in dict.fromkeys(case.family for case in cases):
                mine = [case for case in cases if case.family == family]
                safe = sum(not place.wounds(case) for case in mine)
                print(f"{family:<12}{len(mine):>6} cases{safe:>6} safe", flush=True)


if __name__ == "__main__":
    main()
