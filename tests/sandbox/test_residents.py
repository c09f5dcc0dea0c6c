"""Workers that stay between calls: each row costs only itself, no call sees another one, and nothing is left behind."""

import asyncio
import gc
import itertools
import marshal
import os
import signal
import sys
import threading

import numpy as np
import psutil
import pytest

import workbench as wb
from tests.browser.lab import wait_until
from workbench.core.errors import IsolationError
from workbench.core.grade import ErrorKind
from workbench.core.thread import StringThread
from workbench.sandbox.child.contained import is_self_contained
from workbench.sandbox.child.protocol import CAPACITY, HEADER, MAGIC, NOT_SCORED
from workbench.sandbox.host import worker_group
from workbench.sandbox.host import worker_pool as pool_module
from workbench.sandbox.host.pool import Pool
from workbench.sandbox.host.program import Limits, Program
from workbench.sandbox.host.worker import Worker, WorkerLostError
from workbench.sandbox.host.worker_pool import new_owner, worker_pool

FAST = Limits(row_seconds=0.5, load_seconds=2.0, memory_mb=128)
COUNT = "async def grade(thread):\n    return float(thread.completion())\n"


def packed(texts):
    return [marshal.dumps(StringThread([("user", "q"), ("assistant", text)], {}).to_wire()) for text in texts]


def grade_batch(text, texts, *, limits=FAST, owner=None, workers=None, **settings):
    program = Program(text, limits, **settings)
    batch = worker_pool().grade_batch(program, packed(texts), owner=owner or new_owner(), workers=workers)
    return batch.future.result(60)


def members():
    """The workers that are there, of whichever group."""
    return [member for group in list(worker_pool()._groups.values()) for member in group.members]


def kinds(grades):
    return {row: error.kind for row, error in grades.errors.items()}


@pytest.fixture(autouse=True)
def _closed():
    yield
    worker_pool().close()


def test_scores_come_back_in_row_order():
    """Every row has its own score, also over several workers and several commands."""
    grades = grade_batch(COUNT, map(str, range(3000)), workers=3)
    assert np.array_equal(grades.scores, np.arange(3000.0))
    assert grades.isolation
    assert (grades.seconds >= 0).all()


def test_no_rows():
    """A call without rows ends at once."""
    assert len(grade_batch(COUNT, [])) == 0


def test_rows_that_are_larger_than_a_pipe():
    """One a command, however large it is; small ones beside them go together."""
    text = "async def grade(thread):\n    return float(len(thread.completion()))\n"
    sizes = [3, 3_000_000, 5, 2_000_000, 700_000, 700_000, 8]
    grades = grade_batch(text, ["x" * size for size in sizes], limits=Limits(memory_mb=256))
    assert grades.scores.tolist() == sizes


def test_rows_of_a_sandbox_process_that_is_killed_are_tried_again():
    """All its workers end with it; the next ones come from a new one."""
    owner = new_owner()
    grade_batch(COUNT, ["1"], owner=owner)
    text = "import time\nasync def grade(thread):\n    time.sleep(0.2 if thread.completion() == '1' else 0)\n    return 1.0\n"
    batch = worker_pool().grade_batch(Program(text, FAST), packed("0123"), owner=owner, workers=1)
    wait_until(lambda: any(member.state == "busy" and member.mark == 1 for member in members()), what="a row")
    os.kill(members()[0].running.zygote._process.pid, signal.SIGKILL)
    assert batch.future.result(30).n_scored == 4


def test_a_worker_keeps_its_module_for_its_owner():
    """One long run: the module's names live on from call to call; another owner's workers have names of their own."""
    text = "N = 0\nasync def grade(thread):\n    global N\n    N += 1\n    return N\n"
    owner = new_owner()
    scores = [grade_batch(text, ["x"], owner=owner, workers=1).scores[0] for _ in range(3)]
    assert scores == [1, 2, 3]
    assert grade_batch(text, ["x"], workers=1).scores[0] == 1


FAULTS = """
import os
async def grade(thread):
    number = int(thread.completion())
    if number % 300 == 7:
        while True:
            pass
    if number % 300 == 107:
        os._exit(3)
    if number % 300 == 207:
        kept = []
        while True:
            kept.append(bytearray(1_000_000))
    return float(number)
"""


def test_rows_that_hang_crash_and_eat_memory_cost_only_themselves():
    """Of 512 rows every honest one has its score, in order, and time limits do not add up."""
    grades = grade_batch(FAULTS, map(str, range(512)), workers=2)
    bad = {row for row in range(512) if row % 100 == 7}
    assert set(grades.errors) == bad
    assert all(grades.scores[row] == row for row in set(range(512)) - bad)
    assert {kinds(grades)[row] for row in (7, 307)} == {ErrorKind.TIMEOUT}
    assert {kinds(grades)[row] for row in (107, 407)} == {ErrorKind.CRASH}
    # Where a machine is busy, the row may run out of time before it runs out of memory.
    assert {kinds(grades)[row] for row in (207, 507)} <= {ErrorKind.MEMORY, ErrorKind.TIMEOUT}


def test_rows_behind_one_that_hangs_go_to_another_worker():
    """With one worker as the usual number, thirty rows that hang are met side by side."""
    text = "async def grade(thread):\n    while int(thread.completion()) % 3 == 0:\n        pass\n    return 1.0\n"
    most = []
    program = Program(text, FAST)
    batch = worker_pool().grade_batch(program, packed(map(str, range(24))), owner=new_owner(), workers=1)
    wait_until(lambda: most.append(len(members())) or batch.future.done(), what="the workers")
    assert max(most) > 1
    assert max(most) <= 1 + worker_group.EXTRA_WORKERS
    grades = batch.future.result(1)
    assert set(grades.errors) == set(range(0, 24, 3))
    assert grades.n_scored == 16


HELD = """
import workbench as wb

async def grade(thread):
    text = thread.completion()
    if text == "loop":
        while True:
            pass
    if text == "boom":
        raise ValueError("boom")
    return %s
"""
PATIENT = Limits(row_seconds=20.0, load_seconds=2.0, memory_mb=128)


@pytest.mark.parametrize("value", ["1.0", 'wb.Grade(score=1.0, reasoning="fine")'])
def test_rows_before_one_that_hangs_are_known_before_it_ends(value):
    """Also those that failed and those with a reasoning, which another worker grades again; what follows goes on."""
    owner, program = new_owner(), Program(HELD % value, PATIENT)
    told = []
    worker_pool().grade_batch(program, packed(["a"] * 20), owner=owner, workers=1).future.result(60)
    batch = worker_pool().grade_batch(
        program, packed(["a", "boom", "b", "loop", "c"]), owner=owner, workers=1
    )
    batch.news = lambda: told.append(batch.so_far())
    wait_until(lambda: (batch.so_far().codes != 0).sum() == 4, what="the honest rows", seconds=15)
    assert not batch.future.done()
    known = batch.so_far()
    assert known.statuses.tolist() == ["scored", "failed", "scored", "missing", "scored"]
    assert kinds(known) == {1: ErrorKind.RUNTIME}
    assert (
        known.isolation
        == worker_pool().grade_batch(program, packed(["a"]), owner=owner).future.result(60).isolation
    )
    assert known.reasoning == (dict.fromkeys((0, 2, 4), "fine") if "fine" in value else {})
    assert np.isnan(known.seconds[3])
    assert (known.seconds[[0, 2, 4]] >= 0).all()
    assert told
    assert max((each.codes != 0).sum() for each in told) == 4
    batch.stopped = True
    worker_pool().release(owner)


def test_what_is_told_early_is_not_told_again():
    """The row that hung has its failure in the end, and the others what they had, each once."""
    owner, program = new_owner(), Program(HELD % "float(text)", FAST)
    worker_pool().grade_batch(program, packed(["1"] * 20), owner=owner, workers=1).future.result(60)
    batch = worker_pool().grade_batch(
        program, packed(["1", "2", "boom", "loop", "3", "loop", "4"]), owner=owner, workers=1
    )
    counts = []
    batch.news = lambda: counts.append(int((batch.so_far().codes != 0).sum()))
    grades = batch.future.result(60)
    assert kinds(grades) == {2: ErrorKind.RUNTIME, 3: ErrorKind.TIMEOUT, 5: ErrorKind.TIMEOUT}
    assert grades.scores[[0, 1, 4, 6]].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert counts == sorted(set(counts))
    assert batch._left == 0


def test_a_worker_that_takes_back_what_it_finished_costs_itself():
    """The rows it was relieved of keep their scores, whatever it writes over them."""
    text = (
        "import os\nasync def grade(thread):\n    if thread.completion() == 'bad':\n"
        "        import time\n        time.sleep(0.4)\n        os._exit(0)\n    return 1.0\n"
    )
    owner, program = new_owner(), Program(text, PATIENT)
    worker_pool().grade_batch(program, packed(["a"] * 20), owner=owner, workers=1).future.result(60)
    batch = worker_pool().grade_batch(program, packed(["a", "b", "bad", "c"]), owner=owner, workers=1)

    def overwrite():
        for member in members():
            if member.n_flushed and member.worker is not None:
                member.worker.bits[0] = NOT_SCORED
                return True
        return False

    wait_until(overwrite, what="rows that were told early", seconds=15)
    grades = batch.future.result(60)
    assert kinds(grades) == {2: ErrorKind.CRASH}
    assert grades.scores[[0, 1, 3]].tolist() == [1.0, 1.0, 1.0]


def test_slow_rows_among_quick_ones_are_not_taken_for_hanging():
    """They hold up nobody, and are not run side by side on few cores until all of them are out of time."""
    text = (
        "import time\nasync def grade(thread):\n    number = int(thread.completion())\n"
        "    end = time.process_time() + (0.2 if number % 30 == 5 else 0)\n"
        "    while time.process_time() < end:\n        pass\n    return float(number)\n"
    )
    limits = Limits(row_seconds=6.0, load_seconds=6.0)
    grades = grade_batch(text, map(str, range(300)), limits=limits, workers=1)
    assert grades.scores.tolist() == list(range(300))


@pytest.mark.parametrize(
    "body",
    [
        "import re; re.match('(a+)+$', 'a' * 60 + 'b')",
        "return 3 ** 10 ** 9",
        "while True:\n        try:\n            while True: pass\n        except BaseException: pass",
        "import signal; signal.setitimer(signal.ITIMER_REAL, 0)\n    while True: pass",
    ],
)
def test_what_ignores_the_soft_limit_is_ended(body):
    """The worker is ended within a second of the limit, and the row has that time."""
    text = f"async def grade(thread):\n    if thread.completion() != '1':\n        return 1.0\n    {body}\n"
    grades = grade_batch(text, ["0", "1", "2"])
    assert kinds(grades) == {1: ErrorKind.TIMEOUT}
    assert grades.n_scored == 2
    assert grades.seconds[1] >= FAST.row_seconds


FORGING = """
import signal, sys, time
async def grade(thread):
    if thread.completion() != "1000":
        return 1.0
    signal.setitimer(signal.ITIMER_REAL, 0)
    frame = sys._getframe()
    while "index" not in frame.f_locals:
        frame = frame.f_back
    scores, index = frame.f_locals["scores"], frame.f_locals["index"]
    for step in range(1, 501):
        scores[min(index + step, len(scores) - 2)] = 9.0
        time.sleep(0.005)
    return 0.25
"""


def test_forged_progress_buys_a_row_no_time():
    """The rows behind are taken from its worker by the host's clock: what it writes for them does not count."""
    grades = grade_batch(FORGING, map(str, range(3000)), workers=1)
    assert 0.25 not in grades.scores  # it never comes to its end
    assert grades.n_scored + grades.n_failed == 3000
    assert (grades.scores[:1000] == 1.0).all()


def test_a_single_call_gains_nothing_by_seeming_to_load():
    """A worker that says it still makes the module ready has the time that this took before, and no more."""
    text = "import re\nasync def grade(thread):\n    return bool(re.match('(a+)+$', 'a' * 60 + 'b'))\n"
    batch = worker_pool().grade_isolated(
        Program(text, Limits(row_seconds=0.3, load_seconds=60.0)), packed(["bad", "worse"])
    )
    forged = itertools.cycle([0.0, -1.0])

    def forge():
        for member in members():
            if member.state == "busy" and member.worker is not None:
                member.worker.scores[CAPACITY : CAPACITY + 2] = next(forged)
        return batch.future.done()

    wait_until(forge, what="the end of the call", seconds=30)
    grades = batch.future.result(0)
    assert kinds(grades) == {0: ErrorKind.TIMEOUT, 1: ErrorKind.TIMEOUT}


def test_seconds_that_are_not_told_are_taken_from_the_clock():
    """A row that says it took no time has the time that passed here."""
    text = (
        "import sys, time\nasync def grade(thread):\n    time.sleep(0.3)\n    frame = sys._getframe()\n"
        "    while 'threads' not in frame.f_locals:\n        frame = frame.f_back\n"
        "    rows = frame.f_locals['threads']\n    rows._since = time.perf_counter()\n    return 1.0\n"
    )
    grades = grade_batch(text, ["a"], workers=1)
    assert grades.scores.tolist() == [1.0]
    assert grades.seconds[0] >= 0.3


def test_a_batch_of_which_most_rows_hang_is_given_up():
    """More than half of at least 32 rows: the others are cancelled, with the reason, and never zero."""
    limits = Limits(row_seconds=0.05, load_seconds=2.0)
    grades = grade_batch(
        "async def grade(thread):\n    while True: pass\n", map(str, range(400)), limits=limits
    )
    assert grades.n_failed == 400
    found = {error.kind for error in grades.errors.values()}
    assert ErrorKind.CANCELLED in found
    assert "more than half" in grades.errors[399].message


@pytest.mark.parametrize(
    "forged",
    [
        "os.write(4, b'x' * 100)",
        "os.write(4, struct.pack('<IQI', 0x57424631, 1, 2) + b'{}')",
        "os.close(4)",
        "os.close(3); os._exit(0)",
    ],
)
def test_a_forged_answer_costs_its_sender(forged):
    """Whatever a grader writes where answers go, the call ends and no row has a score it was not given."""
    text = (
        "import os, struct\nasync def grade(thread):\n"
        f"    if thread.completion() == '3':\n        {forged}\n    return float(thread.completion())\n"
    )
    grades = grade_batch(text, map(str, range(6)))
    assert all(np.isnan(score) or score == row for row, score in enumerate(grades.scores))
    assert grades.n_scored + grades.n_failed == 6


@pytest.mark.parametrize("seconds", [1e308, 3e9, float("inf"), -5.0, float("nan")])
def test_seconds_that_cannot_be_are_not_believed(seconds):
    """A worker that says a row took longer than its whole command says nothing, and nothing is reckoned from it."""
    text = (
        "import sys\nasync def grade(thread):\n    frame = sys._getframe()\n"
        "    while 'threads' not in frame.f_locals:\n        frame = frame.f_back\n"
        "    rows = frame.f_locals['threads']\n    seconds = rows._seconds\n"
        "    def forge(self):\n        for i in range(len(self)):\n"
        f"            seconds[i] = float('{seconds}')\n    type(rows).stop_clock = forge\n    return 1.0\n"
    )
    grades = grade_batch(text, map(str, range(100)), workers=1)
    assert np.isnan(grades.seconds).all()
    assert grades.n_scored == 100


def test_a_module_that_does_not_load_fails_its_rows():
    """With kind *load* and the check's words; nobody waits for ever."""
    grades = grade_batch("raise ValueError('no')\nasync def grade(thread):\n    return 1.0\n", ["a", "b"])
    assert set(kinds(grades).values()) == {ErrorKind.LOAD}
    assert "ValueError: no" in grades.errors[0].message


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="signals are POSIX's")
def test_workers_that_are_killed_are_replaced():
    """Between calls, and in the middle of one: the row it was at is tried once more, and no row is lost."""
    owner = new_owner()
    grade_batch(COUNT, ["1"], owner=owner)
    for member in members():
        os.kill(member.running.pid, signal.SIGKILL)
    assert grade_batch(COUNT, ["2"], owner=owner).scores[0] == 2.0
    text = "import time\nasync def grade(thread):\n    time.sleep(0.2 if thread.completion() == '1' else 0)\n    return 1.0\n"
    batch = worker_pool().grade_batch(Program(text, FAST), packed("0123"), owner=owner, workers=1)
    wait_until(
        lambda: any(member.state == "busy" and member.mark == 1 for member in members()), what="the workers"
    )
    os.kill(next(member for member in members() if member.state == "busy").running.pid, signal.SIGKILL)
    grades = batch.future.result(30)
    assert grades.n_scored == 4


def test_many_threads_at_once():
    """Calls of several threads are graded together, and each has its own scores."""
    owner, found = new_owner(), {}

    def call(number):
        found[number] = grade_batch(COUNT, [str(number), str(-number)], owner=owner).scores.tolist()

    threads = [threading.Thread(target=call, args=(number,)) for number in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == {number: [number, -number] for number in range(64)}


def test_what_waits_goes_together_in_the_next_command(monkeypatch):
    """64 samples awaited together take far fewer commands than 64."""
    grader = wb.FunctionGrader.from_source(COUNT)
    commands = []
    send = Worker.send
    monkeypatch.setattr(
        Worker, "send", lambda self, message: commands.append(message["op"]) or send(self, message)
    )

    async def all_of_them():
        threads = [StringThread([("assistant", str(number))]) for number in range(64)]
        return await asyncio.gather(*map(grader.grade, threads))

    asyncio.run(all_of_them())
    commands.clear()
    grades = asyncio.run(all_of_them())
    assert [grade.score for grade in grades] == list(range(64))
    assert commands.count("alone") < 32


@pytest.mark.parametrize(
    ("module_text", "body"),
    [
        ("N = 0", "global N; N += 1; return N"),
        ("SEEN = []", "SEEN.append(1); return len(SEEN)"),
        ("import itertools\nIDS = itertools.count(1)", "return next(IDS)"),
        ("import functools\n@functools.cache\ndef made():\n    return [0]", "made()[0] += 1; return made()[0]"),
        ("class Kept:\n    n = 0\n    def more(self):\n        self.n += 1\n        return self.n\nKEPT = Kept()", "return KEPT.more()"),
        ("import os", "os.environ['x'] = os.environ.get('x', '') + '1'; return len(os.environ['x'])"),
        ("import json", "json.n = getattr(json, 'n', 0) + 1; return json.n"),
        ("import decimal", "decimal.getcontext().prec -= 1; return 28 - decimal.getcontext().prec"),
        ("import random\nrandom.seed(1)", "return float(random.random() == 0.13436424411240122)"),
        ("from json import loads", "g = getattr(loads, '__glo' + 'bals__'); g['n'] = g.get('n', 0) + 1; return g['n']"),
        ("from json import loads\nfrom operator import attrgetter", "g = attrgetter('__globals__')(loads); g['n'] = g.get('n', 0) + 1; return g['n']"),
        ("def f():\n    yield F.gi_frame.f_back.f_back.f_globals\nF = f()", "g = next(F); g['n'] = g.get('n', 0) + 1; return g['n']"),
    ],
)  # fmt: skip
def test_a_single_call_sees_nothing_of_earlier_ones(module_text, body):
    """Whatever a grader keeps, each call gives what the first one gave."""
    grader = wb.FunctionGrader.from_source(f"{module_text}\n\n\nasync def grade(thread):\n    {body}\n")
    thread = StringThread([("assistant", "x")])
    assert [grader(thread).score for _ in range(3)] == [1, 1, 1]


def test_a_single_call_of_a_script_sees_nothing_of_earlier_ones():
    """A script's top-level variables begin anew."""
    pytest.importorskip("_quickjs", reason="needs quickjs-ng")
    script = wb.ScriptGrader.from_source("let n = 0; function grade(input) { n += 1; return n; }")
    assert [script(StringThread([("assistant", "x")])).score for _ in range(3)] == [1, 1, 1]


def test_a_single_call_prints_as_before():
    """What the module prints when it loads stands before what the row prints, in every call."""
    text = "print('loads')\nasync def grade(thread):\n    print('grades')\n    return 1.0\n"
    grader = wb.FunctionGrader.from_source(text)
    thread = StringThread([("assistant", "x")])
    assert [grader(thread).printed for _ in range(3)] == ["loads\ngrades\n"] * 3


@pytest.mark.parametrize(
    ("text", "contained"),
    [
        ("import re, json\nasync def grade(t):\n    return 1.0\n", True),
        ("from collections import Counter\nC = Counter()\nasync def grade(t):\n    C['a'] += 1\n", True),
        ("import json as j\nj.loads = None\n", False),
        ("import json\njson.__dict__['x'] = 1\n", False),
        ("from html.entities import html5\nhtml5['x'] = 1\n", False),
        ("from html.entities import html5\nhtml5.update(x=1)\n", False),
        ("import os\n", False),
        ("import random\n", False),
        ("from re import *\n", False),
        ("setattr(str, 'x', 1)\n", False),
        ("exec('import os')\n", False),
        ("import decimal\ndecimal.getcontext().prec = 3\n", False),
        ("import csv\ncsv.register_dialect('x')\n", False),
        ("from csv import field_size_limit as f\nf(1)\n", False),
        ("class A:\n    def f(self):\n        self.x = 1\n", True),
        ("import numpy\n", False),
        ("import keyword\nWORDS = keyword.kwlist\nWORDS.append('x')\n", False),
        ("from keyword import kwlist as k\nasync def grade(t):\n    change(k)\n", False),
        ("import keyword as k\nm = k\nm.kwlist.append('x')\n", False),
        ("import keyword\ngetattr(keyword, 'kwlist').append('x')\n", False),
        ("import urllib.parse\nfor n in (urllib.parse,):\n    n.uses_netloc.append('x')\n", False),
        ("import html.entities\nlist(html.entities.html5.items())\n", False),
        ("from html import entities\nasync def grade(t):\n    return len(entities.html5)\n", False),
        (
            "import re\nFLAGS = re.I | re.M\nasync def grade(t):\n    return re.sub('a', '', t, flags=FLAGS)\n",
            True,
        ),
        (
            "from __future__ import annotations\nimport urllib.parse, math\nX = math.pi\nurllib.parse.quote('a')\n",
            True,
        ),
        (
            "from dataclasses import dataclass, field\n@dataclass\nclass A:\n    x: list = field(default_factory=list)\n",
            True,
        ),
        (
            "import typing as t\nfrom workbench import StringThread\nasync def grade(thread: StringThread) -> t.Any: ...\n",
            True,
        ),
        ("from datetime import datetime\nprint(datetime.now().year, datetime.min.year)\n", True),
        ("from json import nothing\n", False),
        ("async def grade(t):\n    return getattr(t, 'metadata', None)\n", True),
        ("from json import loads\nx = getattr(loads, '__glo' + 'bals__')\n", False),
        ("from json import loads\nx = getattr(loads, '__globals__')\n", False),
        ("look = getattr\n", False),
        ("import operator\nlook = operator.attrgetter('x')\n", False),
        ("from operator import methodcaller as m\n", False),
        ("def f():\n    yield\nx = f().gi_frame\n", False),
        ("from json import loads\nmatch loads:\n    case object(__globals__=x):\n        pass\n", False),
        ("import typing\ndef f(x: 'print()'): ...\ntyping.get_type_hints(f)\n", False),
    ],
)
def test_which_texts_keep_to_themselves(text, contained):
    """What could leave something outside of its module, or is not known, is given a fresh worker each time."""
    import ast

    assert is_self_contained(ast.parse(text)) is contained


def test_no_process_and_no_descriptor_is_left():
    """When an owner lets go, when all is closed, and after rows that crash: no worker, pipe or page stays."""
    worker_pool().close()
    gc.collect()
    process = psutil.Process()
    grade_batch(COUNT, ["1"])  # the sandbox process itself stays, with its socket
    worker_pool().close()
    before = process.num_fds()
    owner = new_owner()
    grade_batch(FAULTS, map(str, range(310)), owner=owner, workers=2)
    workers = [psutil.Process(member.running.pid) for member in members()]
    assert workers
    pool_module.release(owner)
    wait_until(lambda: not members(), what="the workers")
    wait_until(lambda: not any(worker.is_running() for worker in workers), what="the workers")
    worker_pool().close()
    gc.collect()
    assert process.num_fds() == before


def test_idle_workers_end(monkeypatch):
    """Workers without a call for long are not kept."""
    monkeypatch.setattr(pool_module, "_IDLE_SECONDS", {True: 0.0, False: 0.0})
    grade_batch(COUNT, ["1"])
    wait_until(lambda: not members(), what="the workers")
    assert grade_batch(COUNT, ["2"]).scores[0] == 2.0


def test_workers_of_many_programs_do_not_pile_up():
    """Whoever edits a grader and tries it, again and again, has a few warm workers and no more."""
    thread = StringThread([("assistant", "x")])
    for number in range(20):
        grader = wb.FunctionGrader.from_source(f"async def grade(thread):\n    return {number}\n")
        assert grader(thread).score == number
    assert len(members()) <= pool_module._MAX_ISOLATED_PROGRAMS


def test_a_grader_from_elsewhere_needs_the_kernel(monkeypatch):
    """Where workers are not confined, imported source is refused before it is loaded, in the calling thread."""
    weak = Pool(("rlimits",))
    monkeypatch.setattr(pool_module, "pool", lambda: weak)
    try:
        with pytest.raises(IsolationError):
            grade_batch(COUNT, ["1"], kernel_only=True)
    finally:
        worker_pool().close()
        weak.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_workers_of_its_own():
    """It never touches its parent's, which serve on; both have right scores."""
    owner = new_owner()
    grade_batch(COUNT, ["1"], owner=owner)
    parents = {member.running.pid for member in members()}
    child = os.fork()
    if child == 0:
        status = 1
        try:
            right = grade_batch(COUNT, ["5"], owner=owner).scores[0] == 5.0
            own = {member.running.pid for member in members()}
            status = 0 if right and own and not own & parents else 2
            worker_pool().close()
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert {member.running.pid for member in members()} == parents
    assert grade_batch(COUNT, ["6"], owner=owner).scores[0] == 6.0


def test_the_process_ends_while_rows_hang():
    """Nothing is waited for at the interpreter's end."""
    import subprocess
    import sys

    code = (
        "import marshal, workbench as wb\n"
        "from workbench.sandbox.host.worker_pool import worker_pool\n"
        "from workbench.sandbox.host.program import Limits, Program\n"
        "text = 'async def grade(thread):\\n    while True: pass\\n'\n"
        "wire = marshal.dumps(wb.StringThread([('assistant', 'x')]).to_wire())\n"
        "worker_pool().grade_batch(Program(text, Limits(row_seconds=600)), [wire], owner=1)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_calls_go_on_while_the_residents_are_closed():
    """Closing in the middle of calls from other threads ends, and every call is answered or told to come again."""
    grader = wb.FunctionGrader.from_source("async def grade(thread):\n    return 1.0\n")
    thread = wb.StringThread([("user", "q"), ("assistant", "a")])
    stop, answers = threading.Event(), []

    def calls():
        while not stop.is_set():
            grade = grader(thread)
            answers.append(grade.score == 1.0 or "closed" in grade.error.message)

    callers = [threading.Thread(target=calls, daemon=True) for _ in range(3)]
    for caller in callers:
        caller.start()
    for _ in range(30):
        worker_pool().close()
    stop.set()
    for caller in callers:
        caller.join(60)
    assert not any(caller.is_alive() for caller in callers)
    assert answers
    assert all(answers)
    assert grader(thread).score == 1.0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc, as the host does")
def test_a_sandbox_process_that_is_stopped_is_replaced():
    """The next workers come from a new one, and nobody waits for the time that a start may take."""
    owner = new_owner()
    grade_batch(COUNT, ["1"], owner=owner)
    stopped = members()[0].running.zygote
    os.kill(stopped._process.pid, signal.SIGSTOP)
    assert grade_batch(COUNT + "\n# another\n", ["2"]).scores[0] == 2.0
    assert not stopped.alive


def test_a_worker_that_ends_within_its_answer_has_ended():
    """What it owed never comes, so that no row is blamed for its time."""
    out, written = os.pipe()
    worker = Worker(zygote=None, layout=None, _out=out)
    os.set_blocking(out, False)
    os.write(written, HEADER.pack(MAGIC, 7, 1000) + b"{")
    assert worker.poll(7) is None
    os.close(written)
    with pytest.raises(WorkerLostError, match="process ended"):
        worker.poll(7)
    os.close(out)
