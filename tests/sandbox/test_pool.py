"""The sandbox's promises about rows: each costs only itself, and nothing unscored reads as a score."""

import gc
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from tests.browser.lab import wait_until
from tests.sandbox.test_probes import staged
from workbench.core.errors import IsolationError, SandboxError
from workbench.core.grade import ErrorKind
from workbench.core.thread import StringThread
from workbench.data.packed import pack
from workbench.sandbox.host.losses import MIN_CRASHES
from workbench.sandbox.host.pool import Pool, pool
from workbench.sandbox.host.program import Limits, Program
from workbench.sandbox.host.spare_workers import SpareKind

FAST = Limits(row_seconds=0.3, load_seconds=2.0, memory_mb=256)


def rows(n, make=str):
    return pack([StringThread([("user", "q"), ("assistant", make(i))], {"i": i}) for i in range(n)])


def run(body, n=10, *, module="", limits=FAST, workers=1, **settings):
    lines = "\n".join("    " + line for line in body.splitlines())
    text = f"{module}\nasync def grade(thread):\n    i = thread.metadata['i']\n{lines}\n"
    return pool().run(Program(text, limits), rows(n), workers=workers, **settings)


def kinds(outcome):
    return {row: error.kind for row, error in outcome.grades.errors.items()}


@pytest.mark.skipif(sys.platform != "linux", reason="kernel confinement is Linux's")
def test_level_is_kernel_on_linux():
    """On Linux the self-test finds no leak and the label is the strongest, also for root."""
    info = Pool().probe()
    assert info["level"] == "kernel"
    assert info["leaks"] == []
    assert {"rlimits", "seccomp"} <= set(info["layers"])


@pytest.mark.skipif(sys.platform != "linux", reason="layers are Linux's")
@pytest.mark.parametrize(
    ("layers", "level"),
    [
        (("rlimits", "audit"), "partial"),
        (("rlimits",), "partial"),
        (("landlock",), "process"),
        ((), "process"),
    ],
)
def test_weaker_layers_get_weaker_labels(layers, level):
    """The self-test, not the set-up, decides the label."""
    if (
        level == "partial" and os.geteuid() != 0
    ):  # root's workers are somebody else, an ordinary user's are not
        level = staged(*layers)["level"]
    weak = Pool(layers)
    assert weak.level == level
    weak.close()


def test_scores_come_back_in_row_order():
    """Every row has its own score, whichever worker graded it."""
    outcome = run("return float(thread.completion())", 5000, workers=2)
    assert np.array_equal(outcome.grades.scores, np.arange(5000.0))
    assert outcome.grades.n_scored == 5000


def test_empty_dataset():
    """No rows make no grades and no error."""
    assert len(pool().run(Program("async def grade(t):\n    return 1.0\n", FAST), rows(0)).grades) == 0


@pytest.mark.parametrize(
    ("value", "kind", "part"),
    [
        ("True", "return_type", "True (bool)"),
        ("None", "return_type", "None (NoneType)"),
        ("'1'", "return_type", "'1' (str)"),
        ("float('nan')", "not_finite", "nan"),
        ("float('inf')", "not_finite", "inf"),
        ("-float('inf')", "not_finite", "-inf"),
        ("10**400", "not_finite", "int too large"),
        ("1j", "return_type", "complex"),
        ("[1.0]", "return_type", "list"),
        ("type('F', (float,), {})(1.0)", "return_type", "F"),
        ("type('I', (int,), {})(1)", "return_type", "I"),
        ("__import__('decimal').Decimal(1)", "return_type", "Decimal"),
        (
            "__import__('struct').unpack('d', (0x7FF8DEAD00000001).to_bytes(8, 'little'))[0]",
            "runtime",
            "no score",
        ),
        (
            "__import__('struct').unpack('d', (0x7FF8DEAD00000002).to_bytes(8, 'little'))[0]",
            "runtime",
            "no score",
        ),
    ],
)
def test_what_is_no_score_fails_its_row(value, kind, part):
    """Only a finite float or int is a score; everything else fails with the value named."""
    outcome = run(f"return {value} if i == 3 else 0.5")
    assert kinds(outcome) == {3: kind}
    assert part in outcome.grades.errors[3].message
    assert np.isnan(outcome.grades.scores[3])
    assert outcome.grades.n_scored == 9


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("if i == 3:\n    while True: pass", "timeout"),
        ("if i == 3:\n    import time; time.sleep(60)", "timeout"),
        ("if i == 3:\n    import asyncio; await asyncio.sleep(60)", "timeout"),
        ("if i == 3:\n    import re; re.match('(a+)+$', 'a' * 60 + 'b')", "timeout"),
        ("if i == 3:\n    return 3 ** 10 ** 9", "timeout"),
        ("if i == 3:\n    import itertools; sum(itertools.repeat(0))", "timeout"),
        (
            "if i == 3:\n    while True:\n        try:\n            while True: pass\n        except BaseException: pass",
            "timeout",
        ),
        (
            "if i == 3:\n    import signal; signal.setitimer(signal.ITIMER_REAL, 0)\n    while True: pass",
            "timeout",
        ),
        ("if i == 3:\n    import os; os._exit(3)", "crash"),
        ("if i == 3:\n    import os; os._exit(0)", "crash"),
        ("if i == 3:\n    import os; os.abort()", "crash"),
        ("if i == 3:\n    import sys; sys.exit(0)", "runtime"),
        ("if i == 3:\n    raise KeyboardInterrupt", "runtime"),
        ("if i == 3:\n    raise GeneratorExit", "runtime"),
        ("if i == 3:\n    raise BaseException('all the way')", "runtime"),
        ("if i == 3:\n    import asyncio; raise asyncio.CancelledError", "runtime"),
        (
            "if i == 3:\n    import asyncio; asyncio.current_task().cancel(); await asyncio.sleep(0)",
            "runtime",
        ),
        ("if i == 3:\n    import asyncio; await asyncio.Future()", "runtime"),
        (
            "if i == 3:\n    import asyncio; asyncio.get_running_loop().stop(); await asyncio.sleep(0)",
            "runtime",
        ),
        ("if i == 3:\n    bytearray(10 ** 10)", "memory"),
        ("if i == 3:\n    x = []\n    while True: x.append(bytearray(10 ** 7))", "memory"),
        ("if i == 3:\n    def f(): return f()\n    f()", "runtime"),
        ("if i == 3:\n    raise type('E', (Exception,), {'__str__': lambda s: 1 / 0})()", "runtime"),
        (
            "if i == 3:\n    class R:\n        def __repr__(self): raise SystemExit\n    return R()",
            "return_type",
        ),
        ("if i == 3:\n    import threading; threading.Thread(target=print).start()", "runtime"),
        ("if i == 3:\n    import os; os.write(4, b'x' * 20)\n    while True: pass", "crash"),
        ("if i == 3:\n    import os; os.close(4)", None),
        (
            "if i == 3:\n    import sys; sys.setrecursionlimit(10 ** 9)\n    def f(n): return [f(n + 1)]\n    f(0)",
            None,
        ),
    ],
)
def test_one_bad_row_costs_one_row(body, kind):
    """A row that hangs, crashes, floods or lies fails alone; its neighbours keep their scores."""
    # Memory is filled slowly on some machines, and the limit, not the clock, is meant here.
    limits = Limits(row_seconds=10, memory_mb=64) if kind == "memory" else FAST
    outcome = run(body + "\nreturn 0.5", limits=limits)
    if kind is None:  # what happens is the system's choice, but nobody else pays
        assert set(outcome.grades.errors) <= {3}
        return
    assert kinds(outcome) == {3: kind}
    assert outcome.grades.n_scored == 9
    assert not outcome.stopped


def test_bad_rows_far_apart_do_not_stop_a_run():
    """Crashes with scored rows in between cost only their rows, however many they are."""
    outcome = run("if i % 7 == 3:\n    import os; os._exit(1)\nreturn 0.5", 50)
    assert outcome.grades.n_scored == 43
    assert set(kinds(outcome).values()) == {ErrorKind.CRASH}


def test_three_lost_workers_in_a_row_stop_the_run():
    """A grader that always crashes does not cost a worker for each of a million rows."""
    outcome = run("if i >= 20:\n    import os; os._exit(1)\nreturn 0.5", 2000)
    assert outcome.lost == 3
    assert "3 consecutive worker crashes" in outcome.stopped
    assert outcome.grades.n_scored == 20
    assert outcome.grades.n_failed == 1980
    assert kinds(outcome)[1999] == ErrorKind.CANCELLED


def test_losing_too_large_a_share_stops_the_run():
    """A grader that crashes on every second row is given up, with what was graded kept and the rest named."""
    outcome = run("if i % 2:\n    import os; os._exit(1)\nreturn 0.5", 20_000)
    assert outcome.lost == MIN_CRASHES
    assert outcome.grades.n_scored == MIN_CRASHES
    assert "30 worker crashes on 60 rows, more than one in ten" in outcome.stopped
    assert outcome.grades.ended == outcome.stopped
    assert outcome.grades.errors[19_999].kind == ErrorKind.CANCELLED
    assert "30 worker crashes" in outcome.grades.errors[19_999].message


def test_a_small_share_of_losses_stops_nothing():
    """Crashes on one row in twenty cost their rows only, however many they become."""
    outcome = run("if i % 20 == 3:\n    import os; os._exit(1)\nreturn 0.5", 20 * (MIN_CRASHES + 5))
    assert outcome.lost == MIN_CRASHES + 5
    assert outcome.stopped == outcome.grades.ended == ""
    assert outcome.grades.n_scored == 19 * outcome.lost


def test_losses_on_the_last_rows_stop_nothing():
    """Where no row is left there is nothing to stop, and no note says so."""
    outcome = run("import os; os._exit(1)", 3)
    assert outcome.lost == 3
    assert outcome.stopped == outcome.grades.ended == ""
    assert set(kinds(outcome).values()) == {ErrorKind.CRASH}


def replacements(n, monkeypatch):
    """What is sent to start the four workers that take lost ones' places, in a dataset of n rows."""
    monkeypatch.setattr(
        "workbench.sandbox.host.run.Lost.enough", lambda lost, *_: "enough" if lost.total > 4 else ""
    )
    own, sent = Pool(), []
    ask = own._alive().request

    def request(message, fds=()):
        sent.append(message)
        return ask(message, fds)

    own._zygote.request = request
    text = "import os\nasync def grade(t):\n    return 1.0 if t.metadata['i'] % 50 else os._exit(1)\n"
    assert own.run(Program(text, FAST), rows(n), workers=1).lost == 5
    own.close()
    return [message for message in sent if message["op"] == "fork" and "index" in message][1:5]


def test_a_crash_costs_the_same_however_many_rows_wait(monkeypatch):
    """A worker in a lost one's place is told nothing of the rows that wait."""
    few, many = replacements(2_000, monkeypatch), replacements(60_000, monkeypatch)
    for one, other in zip(few, many, strict=True):
        assert one.keys() == other.keys()
        assert len(str(other)) - len(str(one)) <= 10  # two offsets with more digits


def test_a_replacement_grades_the_right_rows():
    """Rows that a later worker decodes as it goes keep their scores, and their memory is not the grader's."""
    crash = "if i in (0, 999, 1000, 2500):\n    import os; os._exit(1)\nreturn float(i)"
    small = Limits(row_seconds=0.3, memory_mb=24)
    outcome = run(crash, 3000, limits=small)
    assert set(kinds(outcome)) == {0, 999, 1000, 2500}
    kept = np.setdiff1d(np.arange(3000), [0, 999, 1000, 2500])
    assert np.array_equal(outcome.grades.scores[kept], kept.astype(float))


ENDLESS = {
    "a loop": "while True: pass",
    "a loop that hears nothing": "import signal; signal.setitimer(signal.ITIMER_REAL, 0)\nwhile True: pass",
    "a loop in C": "import signal; signal.setitimer(signal.ITIMER_REAL, 0); 3 ** 10 ** 9",
    "an end": "import os; os._exit(3)",
    "a crash": "import os; os.abort()",
}


@pytest.mark.parametrize("module", ENDLESS.values(), ids=ENDLESS)
def test_a_module_that_never_loads_is_tried_once(module):
    """A loop or a crash at load ends the run with kind *load* after one worker, and nothing is called cancelled."""
    outcome = run("return 0.5", 200, module=module, limits=Limits.of(0.2), workers=3)
    assert set(kinds(outcome).values()) == {ErrorKind.LOAD}
    assert outcome.lost <= 1
    assert len(kinds(outcome)) == 200
    found = pool().check(Program(f"{module}\nasync def grade(t):\n    return 1.0\n", Limits.of(0.2)))
    assert [check.name for check in found.checks if not check.passed] == ["execution"]


def test_loading_takes_its_graders_time_and_no_more():
    """The time to load is what a row may take and a little, at most five seconds; soon after it the worker ends."""
    assert [Limits.of(t).load_seconds for t in (0.25, 1.0, 3.0, 60.0)] == [1.0, 1.75, 3.75, 5.0]
    for timeout in (0.01, 0.2, 1.0, 4.0, 60.0):
        assert Limits.of(timeout).load_seconds < Limits.of(timeout).hard_load_seconds < timeout + 1


def test_a_worker_killed_while_it_loads_is_replaced():
    """A signal from outside says nothing of the module: the next worker loads it."""
    own, killed = Pool(), []

    def kill_first(worker):
        if not killed:
            killed.append(worker.pid)
            os.kill(worker.pid, signal.SIGKILL)

    ready = own._ready

    def ready_and_kill(worker):
        ready(worker)
        kill_first(worker)
        return worker

    own._ready = ready_and_kill
    patient = Limits(row_seconds=60.0, load_seconds=60.0, memory_mb=256)
    outcome = own.run(Program("async def grade(t):\n    return 1.0\n", patient), rows(5))
    own.close()
    assert killed
    assert outcome.grades.n_scored == 5


def test_failed_rows_keep_their_messages_when_the_worker_dies_later():
    """Rows that failed before a crash are asked again, so that their reasons are not lost."""
    outcome = run(
        "if i == 2:\n    raise ValueError('mine')\nif i == 5:\n    import os; os._exit(1)\nreturn 0.5"
    )
    assert "ValueError: mine" in outcome.grades.errors[2].message
    assert kinds(outcome) == {2: "runtime", 5: "crash"}


def test_a_message_points_at_the_graders_own_line():
    """A runtime error names the exception, the line and its text."""
    outcome = run("return 1 / 0", 1)
    assert (
        outcome.grades.errors[0].message
        == "ZeroDivisionError: division by zero (line 4, in grade: `return 1 / 0`)"
    )


def test_many_failures_lose_no_batch():
    """Thousands of long, different messages are cut, not turned into a lost worker."""
    outcome = run("raise ValueError(str(i) + '\\N{PILE OF POO}' * 5000)", 3000)
    assert outcome.lost == 0
    assert outcome.grades.n_failed == 3000
    assert set(kinds(outcome).values()) == {ErrorKind.RUNTIME}


def test_text_from_the_sandbox_is_cleaned():
    """Escape sequences, bidirectional overrides and lone surrogates do not reach the notebook."""
    outcome = run("raise ValueError('\\x1b[31m \\u202e \\ud800 ok')", 1)
    assert outcome.grades.errors[0].message.startswith("ValueError: \ufffd[31m \ufffd \ufffd ok")


def test_prints_are_bounded():
    """A flood of prints is dropped after the limit and costs nothing."""
    outcome = run("for _ in range(100): print('x' * 10000)\nreturn 0.5", 3)
    assert outcome.grades.n_scored == 3
    assert len(outcome.output) <= 4000


def test_load_failure_fails_every_row_with_its_reason():
    """A module that does not load scores nothing."""
    outcome = run("return 0.5", 5, module="import numpy")
    assert set(kinds(outcome).values()) == {ErrorKind.LOAD}
    assert "numpy is not available in graders" in outcome.grades.errors[0].message


def test_compile_bomb_ends_in_the_worker():
    """A source that takes gigabytes or minutes to compile is refused by the worker's limits, not by the host."""
    depth = 18
    bomb = "".join(
        "    " * (k + 1) + "try:\n" + "    " * (k + 2) + "pass\n" + "    " * (k + 1) + "finally:\n"
        for k in range(depth)
    )
    text = "async def grade(t):\n" + bomb + "    " * (depth + 1) + "return 1.0\n"
    result = pool().check(Program(text, Limits(load_seconds=0.5, memory_mb=64)))
    assert result.checks[-1].passed is False


def test_cancel_keeps_what_was_graded():
    """A stopped run keeps its scores and fails the rest as cancelled."""
    stop = threading.Event()
    outcome = run(
        "import time; time.sleep(0.002)\nreturn 0.5",
        5000,
        cancel=stop,
        on_progress=lambda done, failed, grades: done > 50 and stop.set(),
    )
    assert 50 < outcome.grades.n_scored < 5000
    assert outcome.grades.n_scored + outcome.grades.n_failed == 5000
    assert set(kinds(outcome).values()) == {ErrorKind.CANCELLED}


FORGE = """
import json, os, signal, struct, sys, time


def command():
    frame = sys._getframe()
    while not isinstance(frame.f_locals.get("command"), dict):
        frame = frame.f_back
    return frame.f_locals["command"]


def forge(reply, seq):
    text = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
    os.write(4, struct.pack("<IQI", 0x57424631, seq, len(text)) + text)
"""


_PAGE = """

def page():
    frame = sys._getframe()
    while "where" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals["where"][1].obj
"""


@pytest.mark.parametrize(
    "reply",
    [
        "{}", "[]", "3", '{"checks": 5}', '{"checks": [[1]]}', '{"checks": []}',
        '{"checks": [["evil", true, "m", 0.0]]}', '{"checks": [["execution", 1, "m", 0.0]]}',
        '{"checks": [["execution", true, "m", "x"]]}', '{"checks": [["execution", true, 3, 0.0]]}',
        '{"checks": [["execution", true, "m", 1e999]]}', '{"checks": [["execution", true, "m", 1]]}',
        '{"checks": [["execution", true, "m", 1' + "0" * 400 + "]]}", "[" * 60000, "{", "\\xff",
    ],
)  # fmt: skip
def test_forged_check_answers_are_a_cross(reply):
    """Whatever a module writes in the worker's place, the checks end in a cross and the worker is gone."""
    module = FORGE + f"forge({reply!r}.encode(), command()['seq'])\nwhile True: time.sleep(1)\n"
    own = Pool()
    found = own.check(Program(module + "async def grade(t):\n    return 1.0\n", FAST))
    assert found.failure
    assert [check.name for check in found.checks if check.passed] == ["syntax", "structure", "signature"]
    outcome = own.run(Program(module + "async def grade(t):\n    return 1.0\n", FAST), rows(5))
    assert outcome.grades.n_failed == 5
    session = own._zygote._process.pid
    own._janitor.later(int).result()  # after what the run queued
    assert set(in_session(session)) == {session, *(worker.pid for worker in own._spares.workers)}
    own.close()


@pytest.mark.parametrize(
    "described",
    [
        {}, 3, {"names": {}}, {"names": {"K": ["int", "0x1"]}}, {"nodes": []}, {"names": {}, "nodes": []},
        {"names": {"K": ["ref", 0]}, "nodes": []}, {"names": {"K": ["ref", -1]}, "nodes": [["list", []]]},
        {"names": {"K": ["ref", "x"]}, "nodes": []}, {"names": {"K": ["ref", []]}, "nodes": []},
        {"names": {"K": [{"deep": ["ref", True]}]}, "nodes": [1, 2]}, {"names": [], "nodes": {}},
    ],
)  # fmt: skip
def test_a_forged_description_is_a_clear_error(described):
    """A module that forges what its names hold is refused in words, whatever is missing or leads nowhere."""
    module = "import sys\nframe = sys._getframe()\nwhile '_fingerprint' not in frame.f_globals:\n    frame = frame.f_back\n"
    module += f"frame.f_globals['_fingerprint'].describe = lambda *_: {described!r}\n"
    with pytest.raises(SandboxError, match="could not be examined") as caught:
        pool().fingerprint(module + "async def grade(t):\n    return 1.0\n", ["K"])
    assert caught.value.found == "malformed reply"


@pytest.mark.parametrize(
    "body",
    [
        "forge({'errors': [[0, 'runtime', 0]], 'texts': [5]}, command()['seq'])",
        "forge({'errors': [[0, 'nonsense', 0], 3, [1e99, 'runtime', 0]], 'texts': ['x']}, command()['seq'])",
        "forge({'errors': {}, 'texts': {}}, command()['seq'])",
        "forge(b'{' * 1000, command()['seq'])",
        "forge({}, command()['seq'] + 1)",
        "os.write(4, struct.pack('<IQI', 0x57424631, command()['seq'], 2**32 - 1))",
        "os.write(4, b'nonsense' * 1000)",
        "signal.setitimer(signal.ITIMER_REAL, 0)\nforge({}, command()['seq'])\ntime.sleep(60)",
    ],
)
def test_forged_row_answers_raise_nothing(body):
    """A forged answer costs its own grader's rows at most: nothing is raised, every row has a verdict."""
    outcome = run(body + "\nreturn 0.5", 40, module=FORGE)
    assert outcome.grades.n_scored + outcome.grades.n_failed == 40
    assert run("return 0.25", 5).grades.scores.tolist() == [0.25] * 5


HOLD = """
if i == 1500:
    signal.setitimer(signal.ITIMER_REAL, 0)
    frame = sys._getframe()
    while "index" not in frame.f_locals:
        frame = frame.f_back
    scores, index = frame.f_locals["scores"], frame.f_locals["index"]
    for step in range(1, 31):
        scores[min(index + step, len(scores) - 2)] = 9.0
        time.sleep(0.1)
    return 0.25
return 0.5
"""


@pytest.mark.parametrize("noted", [False, True])
def test_forged_progress_buys_a_row_no_time(noted):
    """A row that writes marks for the rows behind it is ended as any other, and most of what it wrote does not count."""
    limits = Limits(row_seconds=0.3, load_seconds=2.0)
    module = FORGE + ("from workbench import Grade\n" if noted else "")
    outcome = run(HOLD, 2000, module=module, limits=limits)
    scores = outcome.grades.scores
    assert 0.25 not in scores  # it never comes to its end
    # In the fifth of a second that rows share it can write for two rows or three; one of these takes its blame.
    assert ErrorKind.TIMEOUT in kinds(outcome).values()
    assert sum(scores == 9.0) <= 10
    assert sum(scores == 0.5) >= 1989
    assert outcome.grades.n_scored + outcome.grades.n_failed == 2000


def test_slow_honest_rows_are_all_scored():
    """Each takes most of its limit, and they were asked for together: none is lost, and no worker is ended."""
    outcome = run("import time\ntime.sleep(0.8)\nreturn float(i)", 4, limits=Limits(row_seconds=1.0))
    assert outcome.grades.scores.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert outcome.lost == 0
    assert (outcome.grades.seconds >= 0.2).all()


def test_rows_taken_from_a_slow_worker_are_graded_once_each():
    """Slow rows among quick ones, in two workers: every row has its own score."""
    body = "import time\ntime.sleep(0.3 if i % 50 == 10 else 0)\nreturn float(i)"
    outcome = run(body, 400, limits=Limits(row_seconds=2.0), workers=2)
    assert np.array_equal(outcome.grades.scores, np.arange(400.0))
    assert outcome.lost == 0


_OWN = {"timeout", "memory", "runtime", "return_type", "not_finite", "out_of_range"}


@pytest.mark.parametrize("kind", list(ErrorKind))
def test_only_a_workers_kinds_come_out_of_it(kind):
    """A grader that writes or raises an error kind of the host's, such as a spent budget, counts as failing by itself."""
    forged = f"forge({{'errors': [[0, '{kind}', 0]], 'texts': ['mine']}}, command()['seq'])\nwhile True: pass"
    body = (
        "if i == 0:\n    frame = sys._getframe()\n"
        f"    while '_drive' not in frame.f_globals:\n        frame = frame.f_back\n"
        f"    raise frame.f_globals['_drive'].Refused('{kind}', 'mine')"
    )
    written = run("struct.pack_into('Q', page(), 0, 0x7FF8DEAD00000002)\n" + forged, 1, module=FORGE + _PAGE)
    raised = run(body + "\nreturn 0.5", 3, module=FORGE)
    expected = kind if kind in _OWN else ErrorKind.RUNTIME
    assert kinds(written) == {0: expected}
    assert kinds(raised) == {0: expected}
    assert "mine" in raised.grades.errors[0].message


def test_commands_nobody_reads_do_not_block_the_host():
    """A grader that forges one answer after the other and reads nothing is ended by Cancel at once."""
    stop = threading.Event()
    body = "signal.setitimer(signal.ITIMER_REAL, 0)\nseq = command()['seq']\nwhile True:\n    forge({}, seq); seq += 1; time.sleep(0.01)"
    seen = []

    def look(done, failed, grades):
        seen.append(done)
        if len(seen) > 3:
            stop.set()

    outcome = run(body, 4000, module=FORGE, cancel=stop, on_progress=look)
    assert outcome.grades.n_scored + outcome.grades.n_failed == 4000


def test_not_finite_before_a_crash_is_a_failure():
    """NaN in a range whose worker crashed later is refused, not left as a gap."""
    outcome = run(
        "if i == 0:\n    return float('nan')\nif i == 3:\n    os._exit(3)\nreturn 0.5", 10, module=FORGE
    )
    assert kinds(outcome) == {0: "not_finite", 3: "crash"}
    assert outcome.grades.n_scored == 8


def test_a_real_time_signal_is_a_crash():
    """A death by a signal without a name is told all the same."""
    weak = Pool(())
    found = weak.check(
        Program("import signal\nsignal.raise_signal(40)\nasync def grade(t):\n    return 1.0\n", FAST)
    )
    assert "signal 40" in found.checks[-1].message
    weak.close()


def test_cancel_while_a_module_loads():
    """A run whose grader never finishes loading can be stopped at once."""
    stop = threading.Event()
    limits = Limits(row_seconds=1.0, load_seconds=60.0)
    timer = threading.Timer(0.3, stop.set)
    timer.start()
    outcome = run("return 1.0", 5, module="while True: pass", limits=limits, cancel=stop)
    assert outcome.stopped == "cancelled"
    timer.join()


def test_parent_and_fork_grade_at_the_same_time():
    """A fork takes nothing of its parent's: not the warm workers, not the zygote, not the locks."""
    import workbench as wb

    ones = wb.FunctionGrader.from_source("async def grade(t):\n    return 1.0\n")
    twos = wb.FunctionGrader.from_source("async def grade(t):\n    return 2.0\n")
    samples = wb.Samples([{"prompt": str(i), "completion": "x"} for i in range(2000)])
    ones.run(samples, progress=False)
    pool().warm(samples.packed())
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if set(twos.run(samples, progress=False).scores["grade"]) == {2.0} else 2
        finally:
            os._exit(code)
    for _ in range(5):
        assert set(ones.run(samples, progress=False).scores["grade"]) == {1.0}
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


# An Interrupt that meets the callback of one of asyncio's weak sets is printed and forgotten by Python itself:
# a dead reference stays in a set that skips those, and the user has to press again.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_in_a_check_breaks_nothing():
    """Ctrl-C during validate() leaves the sandbox in order: the next ones answer rightly."""
    import workbench as wb

    grader = wb.FunctionGrader.from_source("async def grade(t):\n    return 1.0\n")
    grader.validate()
    for pause in (0.0, 0.001, 0.002, 0.004, 0.008):
        signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
        signal.setitimer(signal.ITIMER_REAL, 0.0005 + pause)
        try:
            for _ in range(100):
                grader.validate()
        except KeyboardInterrupt:
            pass
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        assert grader.validate().ok


def test_cancel_keeps_rows_of_the_range_in_work():
    """A slow grader's finished rows are kept although the range they were asked in was not done."""
    stop = threading.Event()
    seen = []

    def look(done, failed, grades):
        seen.append(done)
        if done >= 3:
            stop.set()

    outcome = run("import time; time.sleep(0.1)\nreturn 0.5", 30, cancel=stop, on_progress=look)
    assert 3 <= outcome.grades.n_scored < 30
    assert seen[0] < 30


def test_progress_ends_at_the_last_row():
    """The last news is always sent."""
    seen = []
    run(
        "return 0.5 if i else None", 100, on_progress=lambda done, failed, grades: seen.append((done, failed))
    )
    assert seen[-1] == (100, 1)


def test_every_run_starts_with_fresh_globals():
    """State a grader keeps between rows does not reach the next run."""
    first = run("SEEN.append(1)\nreturn float(len(SEEN))", 5, module="SEEN = []")
    second = run("SEEN.append(1)\nreturn float(len(SEEN))", 5, module="SEEN = []")
    assert first.grades.scores.tolist() == second.grades.scores.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_set_order_is_the_same_in_every_run():
    """Hash order is fixed, so a score that depends on it does not change by itself."""
    body = "return float(''.join(map(str, {str(k) for k in range(9)})))"
    assert run(body, 1).grades.scores[0] == run(body, 1).grades.scores[0]


@pytest.mark.parametrize(
    "body",
    [
        "import zoneinfo; return float(str(zoneinfo.ZoneInfo('Europe/Berlin')) == 'Europe/Berlin')",
        "import datetime, zoneinfo\nzone = zoneinfo.ZoneInfo('America/New_York')\nnoon = datetime.datetime(2026, 7, 1, 12, tzinfo=zone)\nreturn float(noon.utcoffset() == datetime.timedelta(hours=-4))",
        "import zoneinfo; return float(len([zoneinfo.ZoneInfo(key) for key in zoneinfo.available_timezones()]) > 300)",
        "import zoneinfo\ntry:\n    zoneinfo.ZoneInfo('No/Where')\nexcept zoneinfo.ZoneInfoNotFoundError:\n    return 1.0",
        "import datetime; return float(datetime.datetime.strptime('2026-11-21', '%Y-%m-%d').year == 2026)",
        "return float('ä'.encode('cp1252') == b'\\xe4')",
        "return float('bücher.example'.encode('idna') == b'xn--bcher-kva.example')",
        "return float('x'.encode('utf-16') != b'')",
        "import statistics, decimal, fractions; return float(statistics.mean([0, 2]))",
        "import difflib; return float(difflib.SequenceMatcher(None, 'ab', 'ab').ratio())",
        "import xml.etree.ElementTree as e; return float(e.fromstring('<a>1</a>').text)",
        "import hashlib; return float(len(hashlib.sha256(b'x').hexdigest()) == 64)",
        "import unicodedata; return float(unicodedata.normalize('NFC', 'e\\u0301') == 'é')",
        "import random; random.seed(0); return float(random.random() > 0)",
        "import uuid, logging, csv, io, textwrap, string, html, shlex, tomllib; return 1.0",
        "import asyncio; await asyncio.sleep(0.001); return 1.0",
        "import asyncio\nasync def one(): return 1.0\nreturn (await asyncio.gather(one(), one()))[0]",
        "import asyncio\ntry:\n    await asyncio.wait_for(asyncio.Event().wait(), 0.01)\nexcept TimeoutError:\n    return 1.0",
        "import asyncio\nq = asyncio.Queue()\nawait q.put(1.0)\nreturn await q.get()",
        "import dataclasses\n@dataclasses.dataclass\nclass D:\n    x: int = 1\nreturn float(D().x)",
        "import enum\nclass E(enum.Enum):\n    A = 1.0\nreturn E.A.value",
        "from adaptive_harmony import StringThread; return float(isinstance(thread, StringThread))",
        "from workbench import StringThread; return float(isinstance(thread, StringThread))",
        "import workbench as wb; return float(isinstance(thread, wb.StringThread))",
    ],
)
def test_the_standard_library_works(body):
    """What graders use of the standard library works without opening a file."""
    outcome = run(body, 1, limits=Limits(row_seconds=2.0))
    assert outcome.grades.errors == {}
    assert outcome.grades.scores[0] == 1.0


def test_megabyte_rows_and_surrogates_pass():
    """A completion of one megabyte and a lone surrogate reach the grader unharmed."""
    packed = pack([StringThread([("assistant", "x" * 2**20)]), StringThread([("assistant", "\ud800")])])
    program = Program("async def grade(t):\n    return float(len(t.completion()))\n", FAST)
    assert pool().run(program, packed, workers=1).grades.scores.tolist() == [2.0**20, 1.0]


def test_a_killed_zygote_is_replaced():
    """When the sandbox process is killed from outside, the next run starts a new one."""
    own = Pool()
    program = Program("async def grade(t):\n    return 1.0\n", FAST)
    own.run(program, rows(1))
    own._zygote._process.kill()
    own._zygote._process.wait()
    assert own.run(program, rows(1)).grades.n_scored == 1
    own.close()


def test_a_zygote_killed_in_mid_run_loses_nothing_scored():
    """Workers die with their zygote; a new one takes over and grades the rows in flight again."""
    own = Pool()
    killed = []

    def kill(done, failed, grades):
        if done > 40 and not killed:
            killed.append(done)
            own._zygote._process.kill()

    # On a machine that is busy with other tests a row may take much longer than its 5 ms.
    text = "import time\nasync def grade(t):\n    time.sleep(0.005)\n    return 1.0\n"
    outcome = own.run(Program(text, Limits(row_seconds=20)), rows(200), workers=1, on_progress=kill)
    assert killed
    assert outcome.grades.n_scored == 200, dict(outcome.grades.errors)
    own.close()


def test_a_worker_killed_at_a_row_fails_it_the_second_time():
    """A run tries a row again whose worker a user or the system killed; at the second time it fails as *sandbox*."""
    for n_kills, errors in ((1, {}), (2, {3: ErrorKind.SANDBOX})):
        own, started, kills = Pool(), [], []
        ready = own._ready

        def ready_noted(worker, ready=ready, started=started):
            started.append(ready(worker))
            return started[-1]

        def kill(done, failed, grades, started=started, kills=kills, n_kills=n_kills):
            if done == 3 and len(kills) < n_kills and started[-1].pid not in kills:
                kills.append(started[-1].pid)
                os.kill(started[-1].pid, signal.SIGKILL)

        own._ready = ready_noted
        text = "import time\nasync def grade(t):\n    time.sleep(0.6 if t.completion() == '3' else 0)\n    return 1.0\n"
        outcome = own.run(Program(text, Limits(row_seconds=20)), rows(6), workers=1, on_progress=kill)
        own.close()
        assert len(kills) == n_kills == outcome.lost
        assert {row: error.kind for row, error in outcome.grades.errors.items()} == errors
        assert outcome.grades.n_scored == 6 - len(errors)
        assert outcome.stopped == ""


def test_descriptors_above_a_thousand_work():
    """A notebook with many open files still gets scores."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4096:
        pytest.skip("this machine allows fewer than 4,096 descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, hard))
    opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(1100)]
    try:
        own = Pool()
        assert own.run(Program("async def grade(t):\n    return 1.0\n", FAST), rows(3)).grades.n_scored == 3
        own.close()
    finally:
        for fd in opened:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts descriptors in /proc")
def test_a_worker_has_its_pipes_alone():
    """Nothing else is open in a worker, also where the host's numbers are above all that are closed in one go."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4300:
        pytest.skip("this machine allows fewer than 4,300 descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (4300, hard))
    opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(4100)]
    try:
        bare = Pool(())
        text = (
            "import os\nasync def grade(t):\n    return float(sum(map(int, os.listdir('/proc/self/fd'))))\n"
        )
        found = bare.run(Program(text, FAST), rows(1)).grades
        bare.close()
    finally:
        for fd in opened:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    # 0 to 4, and the descriptor of the folder that is read.
    assert found.scores.tolist() == [0 + 1 + 2 + 3 + 4 + 5]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts descriptors in /proc")
def test_runs_leave_no_descriptors_open():
    """Sixty runs, and the datasets they were over, leave no descriptor behind."""
    own = Pool()
    program = Program("async def grade(t):\n    return 1.0\n", FAST)

    def left_open(cycles):
        for _ in range(cycles):
            for _ in range(10):
                own.run(program, rows(100))
            own.close()
        gc.collect()
        own.run(program, rows(1))  # wakes the janitor for what the collector just found
        own.close()
        return len(list(Path("/proc/self/fd").iterdir()))

    assert left_open(5) <= left_open(1) + 10


def test_nothing_is_left_behind():
    """Closing a pool ends its zygote and its workers."""
    own = Pool()
    own.run(Program("async def grade(t):\n    return 1.0\n", FAST), rows(200), workers=2)
    process = own._zygote._process
    own.close()
    assert process.poll() is not None


def test_nothing_of_a_source_runs_in_this_process():
    """Checks and runs leave no trace in the host: its modules and its builtins stay as they were."""
    text = "import builtins, sys\nbuiltins.wb_was_here = sys.modules['wb_was_here'] = 1\n"
    text += "async def grade(t):\n    return 1.0\n"
    assert pool().check(Program(text, FAST)).checks[-1].passed
    assert pool().run(Program(text, FAST), rows(3)).grades.n_scored == 3
    assert "wb_was_here" not in sys.modules
    assert not hasattr(__builtins__, "wb_was_here")


def test_a_pool_outlives_the_thread_that_started_it():
    """Workers do not die with the thread that first used the sandbox."""
    own = Pool()
    program = Program("async def grade(t):\n    return 1.0\n", FAST)
    thread = threading.Thread(target=own.run, args=(program, rows(3)))
    thread.start()
    thread.join()
    assert own.run(program, rows(3)).grades.n_scored == 3
    own.close()


def test_the_zygote_has_its_own_session():
    """An Interrupt to the kernel's process group does not reach it."""
    own = Pool()
    own.probe()
    assert os.getsid(own._zygote._process.pid) != os.getsid(0)
    own.close()


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks processes up in /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_host_leaves_no_process(how):
    """When the kernel dies, even by kill -9, zygote and workers go with it."""
    code = (
        "from workbench.sandbox.host.pool import pool; from workbench.data.packed import pack; from workbench.core.thread import StringThread\n"
        "pool().warm(pack([StringThread([('user', 'x')])] * 200), workers=2)\n"
        "print(pool()._zygote._process.pid, flush=True); input()"
    )
    host = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    session = int(host.stdout.readline())
    assert in_session(session)
    host.send_signal(how)
    host.wait()
    host.stdin.close()
    host.stdout.close()
    wait_until(lambda: not in_session(session), what="zygote and workers end")


def in_session(session):
    """Living processes of a session."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            fields = (path / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z" and int(fields[3]) == session:
            found.append(int(path.name))
    return found


def test_imported_source_meets_only_confined_workers():
    """What must be confined is refused by the worker's own label, not by that of another one."""
    weak = Pool(("rlimits",))
    program = Program("async def grade(t):\n    return 1.0\n", FAST, kernel_only=True)
    with pytest.raises(IsolationError, match="requires isolation level"):
        weak.check(program)
    with pytest.raises(IsolationError, match="requires isolation level"):
        weak.run(program, rows(3))
    weak.close()


def test_rows_that_fail_for_one_reason_share_it():
    """A message is cleaned and kept once, not once a row."""
    outcome = run("raise ValueError('x' * 500)", 2000)
    assert len({id(error) for error in outcome.grades.errors.values()}) < 200


def test_a_small_run_leaves_the_large_datasets_workers():
    """One call does not take the place of the workers that hold a large dataset."""
    own = Pool()
    large = rows(600)
    program = Program("async def grade(t):\n    return 1.0\n", FAST)
    own.warm(large, limits=FAST)
    kind = SpareKind(FAST.memory_mb, large.serial)
    kept = own._spares.count(kind)
    own.run(program, rows(1))
    own._janitor.later(int).result()  # after what the run queued
    assert own._spares.count(kind) == kept > 0
    own.close()
