"""Custom graders in processes of their own: the main thread, a limit that holds, a crash that costs one row."""

import asyncio
import ctypes
import gc
import os
import pickle
import signal
import socket
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import psutil
import pytest

import workbench as wb
from workbench.core import user_processes
from workbench.core.errors import CaptureError
from workbench.core.user_functions import LateError
from workbench.core.user_processes import ProcessLostError, ProcessPool
from workbench.graders.base import from_spec
from workbench.graders.code.custom import CustomGrader

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and process groups of POSIX")

BOUND = 60.0
"""Seconds after which a test that waits has failed."""


def behave(thread):
    """What the completion asks for; `signal.alarm` works in a main thread only, as math-verify needs it."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(60)
    signal.alarm(0)
    print("printed between the messages")
    match thread.completion():
        case "hang":
            while True:
                pass
        case "sleep":
            time.sleep(3600)
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "exit":
            sys.exit(3)
        case "raise":
            raise KeyError("gone")
        case "odd error":
            raise Unreadable("a", "b")
        case "nothing":
            return None
        case "text":
            return "1.0"
    return wb.Grade(1.0, passed=True, reasoning=f"{os.getpid()} {threading.current_thread().name}")


class Unreadable(Exception):
    """Can be pickled and not read again."""

    def __init__(self, first, second):
        super().__init__(f"{first} {second}")


async def waits(sample: wb.Sample):
    return float(sample.reference == sample.thread.completion())


def grade_of(completion, **settings):
    grader = CustomGrader(behave, own_process=True, **settings)
    return grader(wb.StringThread([("user", "q"), ("assistant", completion)]))


def test_the_function_has_the_main_thread_of_another_process():
    pid, _, thread = grade_of("fine").reasoning.partition(" ")
    assert int(pid) != os.getpid()
    assert thread == "MainThread"


def test_a_function_that_needs_the_main_thread_leads_here():
    """In this process it is called in another thread, where signals cannot be set; the failure names the setting."""
    grade = CustomGrader(behave)(wb.StringThread([("user", "q"), ("assistant", "fine")]))
    assert (grade.score, grade.error.kind) == (None, "runtime")
    assert "own_process=True" in grade.error.message


@pytest.mark.parametrize(
    ("completion", "kind", "part"),
    [
        ("hang", "timeout", "1 s"),
        ("sleep", "timeout", "1 s"),
        ("crash", "crash", "SIGSEGV"),
        ("exit", "runtime", "SystemExit"),
        ("raise", "runtime", "gone"),
        ("odd error", "runtime", "Unreadable: a b"),
        ("nothing", "runtime", "None"),
        ("text", "runtime", "'1.0'"),
    ],
)
def test_what_goes_wrong_costs_its_row(completion, kind, part):
    grade = grade_of(completion, timeout=1.0)
    assert (grade.score, grade.error.kind) == (None, kind)
    assert part in grade.error.message


def test_runs_repeats_and_probes_keep_the_limit():
    """Rows beside one that hangs or crashes are scored, and no process is left."""
    grader = CustomGrader(behave, own_process=True, timeout=1.0, name="b")
    rows = [{"prompt": f"p{n}", "completion": text, "expected": "4"} for n, text in enumerate(
        ["fine", "hang", "4", "crash", "fine"]
    )]  # fmt: skip
    grades = wb.Suite([grader]).run(rows, repeats=2, progress=False).grades["b"]
    assert grades.statuses.tolist() == ["scored", "failed", "scored", "failed", "scored"]
    assert [grades.errors[row].kind for row in (1, 3)] == ["timeout", "crash"]
    assert grades.isolation == "none"
    probed = wb.probe(CustomGrader(waits, own_process=True, timeout=30.0), rows[2:3])
    assert probed.report.grades["waits"].n_failed == 0
    assert not list(filter(is_running, psutil.Process().children()))


def is_running(child):
    """Whether it is a process of a pool that runs; one that has ended and is not collected yet has no command."""
    try:
        return "process_child" in " ".join(child.cmdline())
    except psutil.Error:
        return False


def test_functions_of_a_notebook_and_closures():
    """What no module has goes by value; what cannot be written is refused with what to do."""
    wanted = "four"

    def closure(thread):
        return float(thread.completion() == wanted)

    thread = wb.StringThread([("user", "q"), ("assistant", "four")])
    assert CustomGrader(closure, own_process=True)(thread).score == 1.0
    assert CustomGrader(lambda thread: 0.25, own_process=True)(thread).score == 0.25
    lock = threading.Lock()
    grade = CustomGrader(lambda thread: float(lock.locked()), own_process=True)(thread)
    assert "cannot be sent to a separate process" in grade.error.message
    assert "inside the function" in grade.error.message


def test_async_functions_and_samples():
    (sample,) = wb.Samples([{"completion": "4", "expected": "4"}])
    assert CustomGrader(waits, own_process=True)(sample).score == 1.0


def test_the_setting_is_saved_and_the_processes_are_not():
    grader = CustomGrader(behave, own_process=True)
    assert grader(wb.StringThread([("user", "q"), ("assistant", "fine")])).score == 1.0
    assert grader.spec()["own_process"] is True
    assert from_spec(grader.spec()) == grader == pickle.loads(pickle.dumps(grader))


def uses(thread):
    return float(psutil.cpu_count() > 0)


def test_a_package_that_is_refused_leads_here():
    """Captured, typed and read: each refusal of an installed package names the way that works."""
    with pytest.raises(CaptureError) as error:
        wb.capture(uses)
    assert "own_process=True" in error.value.hint
    for text in (
        "import psutil\nasync def grade(thread):\n    return 1.0\n",
        "def f(completions, **kw):\n    import psutil\n    return [1.0]\n",
    ):
        grader = wb.FunctionGrader.from_source(text)
        assert "own_process=True" in grader.validate().advice


@pytest.fixture
def listener():
    """Where functions in other processes say that they have begun, and wait for a byte."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(BOUND)
        yield server


def met(listener):
    """The connection of a function that has begun, and the number of its process."""
    connection, _ = listener.accept()
    connection.settimeout(BOUND)
    return connection, int(connection.recv(20))


def meet(port):
    """Tell the test that it has come here; wait for its byte, or for the end of the test."""
    with socket.create_connection(("127.0.0.1", port), timeout=BOUND) as connection:
        connection.sendall(str(os.getpid()).encode())
        return connection.recv(1)


def meets(thread):
    if thread.completion() != "fine":
        meet(int(thread.completion()))
    return 1.0


def own_pid(_):
    return os.getpid()


def escapes(how_and_port):
    """A fork in a session of its own outlives the process, with its pipes unless Python's hooks closed them."""
    how, port = how_and_port
    if (os.fork() if how == "python" else ctypes.PyDLL(None).fork()) == 0:
        os.setsid()
        meet(port)
        os._exit(0)
    signal.pause()


def forks_and_returns(value):
    if child := os.fork():
        os.waitpid(child, 0)
    return value


class Loading:
    """A function whose loading calls another one."""

    def __init__(self, load, *arguments):
        self._call = (load, arguments)

    def __call__(self, argument):
        raise NotImplementedError

    def __reduce__(self):
        return self._call


def called(pool, argument, seconds=BOUND):
    return asyncio.run(pool.call(argument, seconds))


def children():
    return {child.pid for child in psutil.Process().children() if not has_ended(child)}


def has_ended(child):
    try:
        return child.status() == psutil.STATUS_ZOMBIE
    except psutil.Error:
        return True


def port_of(listener):
    return listener.getsockname()[1]


def test_a_run_that_ends_leaves_the_rows_of_another_alone(listener, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    grader = CustomGrader(meets, own_process=True, timeout=BOUND, name="b")
    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(grader.run, [{"completion": str(port_of(listener))}], progress=False)
        connection, pid = met(listener)
        assert grader.run([{"completion": "fine"}], progress=False).grades["b"].n_failed == 0
        with connection:
            connection.sendall(b"x")
        assert waiting.result(BOUND).grades["b"].n_failed == 0
    assert not psutil.pid_exists(pid)


@pytest.mark.parametrize("how", ["python", "c"])
@pytest.mark.parametrize("end", ["late", "cancelled"])
def test_what_a_function_forks_holds_up_neither_the_limit_nor_the_loop(listener, how, end):
    """The fork is still there, so nothing waited for it."""

    async def run():
        pool = ProcessPool(escapes)
        call = asyncio.ensure_future(pool.call((how, port_of(listener)), 1.0 if end == "late" else None))
        connection, pid = await asyncio.to_thread(met, listener)
        with connection:
            if end == "cancelled":
                call.cancel()
            with pytest.raises(LateError if end == "late" else asyncio.CancelledError):
                await asyncio.wait_for(call, BOUND)
            assert psutil.pid_exists(pid)
            await asyncio.to_thread(pool.close)
            assert psutil.pid_exists(pid)

    before = children()
    asyncio.run(run())
    assert children() <= before


def test_a_fork_that_returns_from_the_function_does_not_reply():
    pool = ProcessPool(forks_and_returns)
    assert [called(pool, value) for value in range(3)] == [0, 1, 2]


def test_the_time_of_an_import_is_not_the_rows(tmp_path, monkeypatch):
    """Each process imports the target once, for longer than a row may take."""
    monkeypatch.setenv("WB_TEST_PARENT", str(os.getpid()))
    (tmp_path / "wb_slow_import.py").write_text(
        "import os, time\n"
        "if os.environ['WB_TEST_PARENT'] != str(os.getpid()):\n    time.sleep(3)\n"
        "def score(thread):\n    return 1.0\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    grader = CustomGrader(target="wb_slow_import:score", own_process=True, timeout=2.0)
    rows = [{"completion": "a"}] * 3
    assert grader.run(rows, progress=False).grades["score"].statuses.tolist() == ["scored"] * 3


def test_what_a_function_imports_inside_is_loaded_before(tmp_path, monkeypatch):
    (tmp_path / "wb_inside.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)

    def inside(thread):
        loaded = "wb_inside" in sys.modules
        import wb_inside  # noqa: F401
        import wb_not_there_at_all  # noqa: F401

        return float(loaded)

    def handles(thread):
        try:
            return inside(thread)
        except ImportError:
            return float("wb_inside" in sys.modules and "wb_not_there_at_all" not in sys.modules)

    thread = wb.StringThread([("user", "q"), ("assistant", "four")])
    assert CustomGrader(handles, own_process=True)(thread).score == 1.0
    error = CustomGrader(inside, own_process=True)(thread).error
    assert "wb_not_there_at_all" in error.message


def test_loading_has_a_limit(monkeypatch):
    monkeypatch.setattr(user_processes, "_SETUP_SECONDS", 0.5)
    before = children()
    with pytest.raises(TimeoutError) as error:
        called(ProcessPool(Loading(signal.pause)), 1)
    assert not isinstance(error.value, LateError)
    assert "0.5 s" in str(error.value)
    assert children() <= before


def test_a_call_cancelled_while_the_function_loads_leaves_no_process(listener):
    async def run():
        pool = ProcessPool(Loading(meet, port_of(listener)))
        call = asyncio.ensure_future(pool.call(1))
        connection, _ = await asyncio.to_thread(met, listener)
        call.cancel()
        with connection, pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.to_thread(pool.close)

    before = children()
    asyncio.run(run())
    assert children() <= before


def test_calls_wait_for_a_free_processor(monkeypatch):
    """More calls than processors, on two event loops, one of them cancelled while it waits."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    pool, before = ProcessPool(own_pid), children()

    async def run():
        calls = [asyncio.ensure_future(pool.call(n, BOUND)) for n in range(12)]
        await asyncio.sleep(0)
        calls[-1].cancel()
        return await asyncio.gather(*calls, return_exceptions=True)

    with ThreadPoolExecutor() as threads:
        first, second = (future.result() for future in [threads.submit(asyncio.run, run()) for _ in range(2)])
    assert isinstance(first.pop(), asyncio.CancelledError)
    assert isinstance(second.pop(), asyncio.CancelledError)
    assert 1 <= len({*first, *second}) <= 2
    assert len(children() - before) <= 2
    pool.close()
    assert children() <= before


@pytest.mark.parametrize("is_seen", [True, False])
def test_an_idle_process_that_was_killed_costs_no_row(monkeypatch, is_seen):
    """Whether it is seen when it is taken, or only when it does not read the argument."""
    pool = ProcessPool(own_pid)
    killed = called(pool, 1)
    os.kill(killed, signal.SIGKILL)
    psutil.Process(killed).wait(BOUND) if is_seen else monkeypatch.setattr(
        user_processes._Process, "is_alive", lambda _: True
    )
    assert called(pool, 2) != killed


def test_a_crash_of_the_function_is_not_tried_again(tmp_path):
    def crash(_):
        with (tmp_path / "calls").open("a") as file:
            file.write("x")
        os.kill(os.getpid(), signal.SIGKILL)

    pool = ProcessPool(crash)
    for _ in range(2):
        with pytest.raises(ProcessLostError):
            called(pool, 1)
    assert (tmp_path / "calls").read_text() == "xx"


def test_a_fork_of_this_process_leaves_the_processes_to_it():
    pool = ProcessPool(own_pid)
    pid = called(pool, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python's own, of forks beside threads
        child = os.fork()
    if child == 0:
        pool.close()
        del pool
        gc.collect()
        os._exit(0)
    os.waitpid(child, 0)
    user_processes._end_own(pool._all, os.getpid() + 1)  # in a fork that no hook saw
    assert called(pool, 2) == pid


def test_a_call_is_either_answered_or_given_up():
    killed = []
    process = SimpleNamespace(kill=lambda: killed.append(1))
    answered, given_up = user_processes._ProcessCall(), user_processes._ProcessCall()
    answered.hold(process)
    answered.hold(None)
    answered.give_up()
    assert not killed
    given_up.hold(process)
    given_up.give_up()
    assert killed == [1]
    with pytest.raises(user_processes._GivenUpError):
        given_up.hold(None)
