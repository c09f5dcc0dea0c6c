"""Other people's functions: what blocks holds up nobody else, and nothing is left behind."""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar

import pytest

from workbench.core import background, user_functions

SAID: ContextVar[str] = ContextVar("SAID", default="")


class Gate:
    """A function that blocks the thread it is called in until the test opens the gate."""

    def __init__(self):
        self.entered, self.open, self.threads = threading.Event(), threading.Event(), []

    def block(self):
        self.threads.append(threading.current_thread())
        self.entered.set()
        assert self.open.wait(600)

    async def blocks(self):
        self.block()

    def end(self):
        """Open it; the threads that were given up end."""
        self.open.set()
        for thread in self.threads:
            thread.join(60)
            assert not thread.is_alive()


@pytest.fixture
def gate():
    """A gate that is opened in the end."""
    one = Gate()
    yield one
    one.open.set()


async def where():
    return threading.current_thread(), asyncio.get_running_loop()


def test_coroutines_share_a_loop_that_is_not_the_workbench_s():
    """What is bound to a loop serves every call; results and errors arrive."""

    async def both():
        found = await asyncio.gather(*(user_functions.awaited(where) for _ in range(20)))
        return found, threading.current_thread(), await user_functions.awaited(where)

    found, own, later = background.run(both())
    assert len({*found, later}) == 1
    assert found[0][0] is not own
    assert found[0][0].daemon


@pytest.mark.parametrize("error", [ZeroDivisionError, SystemExit, KeyboardInterrupt, asyncio.CancelledError])
def test_whatever_is_raised_reaches_the_caller(error):
    """Also what would end a loop or a thread; those beside it go on."""

    async def raises():
        raise error

    def plain():
        raise error

    async def told():
        before = await user_functions.awaited(where)
        for run, work in ((user_functions.awaited, raises), (user_functions.threaded, plain)):
            with pytest.raises(error):
                await run(work)
        return before == await user_functions.awaited(where)

    assert background.run(told())


@pytest.mark.parametrize("run", [user_functions.awaited, user_functions.threaded])
def test_errors_that_speak_to_a_generator(run):
    """Raised in the caller's coroutine they would end that."""

    def plain():
        raise GeneratorExit

    async def coroutine():
        raise GeneratorExit

    with pytest.raises(RuntimeError, match="GeneratorExit"):
        background.run(run(coroutine if run is user_functions.awaited else plain))
    with pytest.raises(RuntimeError, match="StopIteration"):
        background.run(user_functions.threaded(lambda: next(iter(()))))


@pytest.mark.parametrize("run", [user_functions.awaited, user_functions.threaded])
def test_the_context_is_the_callers(run):
    """A context variable is seen, and set for the call alone."""

    def plain():
        before = SAID.get()
        SAID.set("inside")
        return before

    async def coroutine():
        return plain()

    async def told():
        SAID.set("outside")
        return await run(coroutine if run is user_functions.awaited else plain), SAID.get()

    assert background.run(told()) == ("outside", "outside")


def test_coroutines_run_at_once():
    """Each waits for the other; so do functions."""

    async def both():
        met = asyncio.Event()  # bound to the loop of those who wait
        meet = threading.Barrier(2, timeout=60)

        async def sets():
            met.set()

        await asyncio.gather(user_functions.awaited(met.wait), user_functions.awaited(sets))
        await asyncio.gather(user_functions.threaded(meet.wait), user_functions.threaded(meet.wait))

    background.run(both())


@pytest.mark.parametrize("late", [True, False])
def test_a_late_or_unwanted_coroutine_is_cancelled_and_cleans_up(late):
    """It sees a CancelledError and its end is waited for; its loop stays."""
    began, cleaned = threading.Event(), []

    async def endless():
        try:
            began.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            cleaned.append(True)
            raise

    async def told():
        before = await user_functions.awaited(where)
        task = asyncio.ensure_future(user_functions.awaited(endless, 0.01 if late else None))
        await asyncio.to_thread(began.wait, 60)
        if not late:
            task.cancel()
        with pytest.raises(user_functions.LateError if late else asyncio.CancelledError) as raised:
            await task
        return raised.value, before == await user_functions.awaited(where)

    error, same = background.run(told())
    assert (cleaned, same) == ([True], True)
    assert not late or not error.blocked


@pytest.mark.parametrize("late", [True, False])
def test_a_loop_that_is_blocked_is_given_up(gate, late):
    """What had not begun is served by a fresh loop, the workbench goes on, and the old loop ends with its last call."""

    async def told():
        blocked = asyncio.ensure_future(user_functions.awaited(gate.blocks, 0.01 if late else None))
        await asyncio.to_thread(gate.entered.wait, 60)
        behind = [asyncio.ensure_future(user_functions.awaited(where)) for _ in range(3)]
        if not late:
            blocked.cancel()
        with pytest.raises(user_functions.LateError if late else asyncio.CancelledError) as raised:
            await blocked
        return raised.value, await asyncio.gather(*behind)

    error, served = background.run(told())
    assert not late or error.blocked
    assert len(set(served)) == 1
    assert gate.threads[0] not in served[0]
    gate.end()


def test_a_call_with_a_limit_does_not_wait_behind_one_without(gate):
    """A loop that is blocked while others wait for their turn is given up, too."""

    async def told():
        blocked = asyncio.ensure_future(user_functions.awaited(gate.blocks))
        await asyncio.to_thread(gate.entered.wait, 60)
        served = await user_functions.awaited(where, 0.01)
        gate.open.set()
        await blocked  # nobody cut it: it has its result
        return served

    assert gate.threads != [background.run(told())[0]]
    gate.end()


def test_what_waits_for_its_turn_can_be_taken_back(gate):
    """Nothing of it runs."""
    ran = []

    async def never():
        ran.append(True)

    async def told():
        blocked = asyncio.ensure_future(user_functions.awaited(gate.blocks))
        await asyncio.to_thread(gate.entered.wait, 60)
        behind = asyncio.ensure_future(user_functions.awaited(never))
        await asyncio.sleep(0)
        behind.cancel()
        with pytest.raises(asyncio.CancelledError):
            await behind
        gate.open.set()
        await blocked

    background.run(told())
    assert ran == []


def test_threads_that_block_make_room(gate):
    """However many are late, the next function runs; time counts from its beginning; the threads end at last."""

    async def told():
        many = [user_functions.threaded(gate.block, 0.01) for _ in range(2 * user_functions._THREADS)]
        found = await asyncio.gather(*many, return_exceptions=True)
        return found, await user_functions.threaded(threading.current_thread, 60)

    found, later = background.run(told())
    assert {type(one) for one in found} == {user_functions.LateError}
    assert len(set(gate.threads)) == 2 * user_functions._THREADS
    assert later not in gate.threads
    assert later.daemon
    gate.end()


def test_a_function_that_waits_for_a_thread_is_not_late(gate):
    """Those before it are under way; its time has not begun."""

    async def told():
        many = [
            asyncio.ensure_future(user_functions.threaded(gate.block)) for _ in range(user_functions._THREADS)
        ]
        behind = asyncio.ensure_future(user_functions.threaded(lambda: True, 60))
        taken_back = asyncio.ensure_future(user_functions.threaded(lambda: 1 / 0))
        await asyncio.to_thread(gate.entered.wait, 60)
        taken_back.cancel()
        with pytest.raises(asyncio.CancelledError):
            await taken_back
        gate.open.set()
        await asyncio.gather(*many)
        return await behind

    assert background.run(told())
    assert len(gate.threads) == user_functions._THREADS


@pytest.mark.parametrize("missing", ["files", "thread"])
def test_a_loop_that_cannot_be_made_fails_the_calls(monkeypatch, missing):
    """Those that wait are told, nothing stays open, and the next call tries again."""
    made, make, start = [], asyncio.new_event_loop, threading.Thread.start

    def new_event_loop():
        if missing == "files":
            raise OSError(24, "Too many open files")
        made.append(make())
        return made[-1]

    def no_thread(thread):
        if thread.name == "workbench-user-loop":
            raise RuntimeError("can't start new thread")
        start(thread)

    async def told():
        await user_functions.awaited(where)
        user_functions._give_up(user_functions._loop_thread)
        with monkeypatch.context() as patch:
            patch.setattr(asyncio, "new_event_loop", new_event_loop)
            patch.setattr(threading.Thread, "start", no_thread)
            failed = await asyncio.gather(
                *(user_functions.awaited(where) for _ in range(3)), return_exceptions=True
            )
        return failed, await user_functions.awaited(where)

    failed, _ = background.run(told())
    assert {type(error) for error in failed} == {OSError if missing == "files" else RuntimeError}
    assert all(loop.is_closed() for loop in made)
    assert len(made) == (0 if missing == "files" else 3)


@pytest.mark.parametrize("how", ["stop", "exit", "child"])
def test_a_loop_that_a_function_stops_loses_nobody(gate, how):
    """What is under way fails and says why; what has not begun runs on a fresh loop; what is left is cleaned up."""
    cleaned = threading.Event()

    async def beside():
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()

    async def exits():
        raise SystemExit

    async def stops():
        gate.block()
        loop = asyncio.get_running_loop()
        if how == "stop":
            loop.stop()
        elif how == "exit":
            loop.call_soon(sys.exit)
        else:
            asyncio.ensure_future(exits())  # noqa: RUF006 (a child that ends the loop is the point)
        await asyncio.Event().wait()

    async def told():
        work = (beside, stops)
        lost = [asyncio.ensure_future(user_functions.awaited(one)) for one in work]
        await asyncio.to_thread(gate.entered.wait, 60)
        behind = [asyncio.ensure_future(user_functions.awaited(where)) for _ in range(3)]
        await asyncio.sleep(0)
        gate.open.set()
        return await asyncio.gather(*lost, return_exceptions=True), await asyncio.gather(
            *behind, return_exceptions=True
        )

    lost, behind = background.run(told())
    assert all("stopped by one of them" in str(error) for error in lost)
    assert all("stopped by one of them" in str(one) for one in behind if isinstance(one, Exception))
    assert behind[-1][0] not in gate.threads
    assert cleaned.wait(600)
    gate.end()


@pytest.mark.parametrize("after", [0, 1])
def test_threads_that_cannot_start(monkeypatch, gate, after):
    """With none to wait for, functions fail; else they wait for those there are. Later ones try again."""
    monkeypatch.setattr(user_functions, "_levels", weakref.WeakKeyDictionary())
    start, started = threading.Thread.start, []

    def few(thread):
        if thread.name == "workbench-function":
            if len(started) == after:
                raise RuntimeError("can't start new thread")
            started.append(thread)
        start(thread)

    async def told():
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", few)
            many = [asyncio.ensure_future(user_functions.threaded(gate.block)) for _ in range(3)]
            await asyncio.sleep(0)
        gate.open.set()
        return await asyncio.gather(*many, return_exceptions=True), await user_functions.threaded(
            lambda: True
        )

    found, later = background.run(told())
    assert [str(one) for one in found] == [str(None) if after else "can't start new thread"] * 3
    assert later


def test_too_many_threads_left_refuse_the_next(monkeypatch, gate):
    """What has no thread fails at once and says why; once they end there is room again."""
    monkeypatch.setattr(user_functions, "_levels", weakref.WeakKeyDictionary())
    monkeypatch.setattr(user_functions, "_THREADS", 1)
    monkeypatch.setattr(user_functions, "_LATE", 2)

    async def told():
        return await asyncio.gather(
            *(user_functions.threaded(gate.block, 0.01) for _ in range(5)), return_exceptions=True
        )

    found = background.run(told())
    assert [type(one) for one in found] == [user_functions.LateError] * 2 + [TimeoutError] * 3
    assert str(found[-1]).startswith("not started: 2 timed-out calls")
    gate.end()
    assert background.run(user_functions.threaded(lambda: True))


def test_too_many_loops_left_refuse_the_next(monkeypatch, gate):
    """The same for coroutines that block."""
    monkeypatch.setattr(user_functions, "_left", set())
    monkeypatch.setattr(user_functions, "_LEFT", 1)
    with pytest.raises(user_functions.LateError):
        background.run(user_functions.awaited(gate.blocks, 0.01))
    with pytest.raises(TimeoutError, match="not started: 1 timed-out calls"):
        background.run(user_functions.awaited(where, 60))
    gate.end()
    assert background.run(user_functions.awaited(where))


def test_functions_that_wait_for_functions():
    """More than there are threads: those they wait for have threads of their own."""

    def outer():
        return (
            background.run(user_functions.threaded(threading.current_thread))
            is not threading.current_thread()
        )

    async def told():
        return await asyncio.gather(
            *(user_functions.threaded(outer, 60) for _ in range(2 * user_functions._THREADS))
        )

    assert all(background.run(told()))


def test_functions_that_wait_for_themselves():
    """They end, as any recursion without end."""
    depth = []

    def again():
        depth.append(True)
        return background.run(user_functions.threaded(again))

    with pytest.raises(RecursionError, match="call each other"):
        background.run(user_functions.threaded(again))
    assert len(depth) == user_functions._LEVELS


def test_a_coroutine_may_not_wait_in_its_thread():
    """It would hold up what it waits for: nothing of that runs."""
    ran = []

    async def never():
        ran.append(True)

    async def waits():
        background.run(user_functions.awaited(never))

    with pytest.raises(RuntimeError, match="await instead"):
        background.run(user_functions.awaited(waits, 60))
    assert ran == []


def test_a_coroutine_that_comes_too_late_is_closed(gate):
    """Nobody awaits it any more; without this Python complains."""
    made = []

    def late():
        gate.block()
        made.append(where())
        return made[0]

    with pytest.raises(user_functions.LateError):
        background.run(user_functions.threaded(late, 0.01))
    gate.end()
    assert inspect.getcoroutinestate(made[0]) == inspect.CORO_CLOSED


def test_calls_from_many_loops():
    """Every caller gets its own results."""

    def own(number):
        async def told():
            async def value():
                return number

            return await user_functions.awaited(value), await user_functions.threaded(lambda: number)

        return asyncio.run(told())

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(own, range(40))) == [(n, n) for n in range(40)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_begins_anew():
    """Our threads do not come along."""
    background.run(user_functions.awaited(where))
    background.run(user_functions.threaded(lambda: None))
    child = os.fork()
    if not child:
        try:
            background.run(user_functions.awaited(where))
            background.run(user_functions.threaded(lambda: None))
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_an_attempt_returns_the_result_or_the_exception():
    """An exception becomes a value; what ends a program still does."""
    assert user_functions.attempt(lambda: 2) == 2
    assert isinstance(user_functions.attempt(lambda: int("x")), ValueError)
    with pytest.raises(SystemExit):
        user_functions.attempt(sys.exit)

    async def fails() -> None:
        raise KeyError

    assert isinstance(asyncio.run(user_functions.attempt_async(fails())), KeyError)
