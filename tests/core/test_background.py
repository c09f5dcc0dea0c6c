"""One loop in one thread: results, errors, and waiting that can be interrupted."""

import asyncio
import signal
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout

import pytest

from workbench.core import background


async def _value(value):
    await asyncio.sleep(0)
    return value


def test_run_returns_and_raises():
    """A coroutine's value or exception reaches the caller."""
    assert background.run(_value(3)) == 3
    with pytest.raises(ZeroDivisionError):
        background.run(_raise())


async def _raise():
    raise ZeroDivisionError


def test_run_works_inside_a_running_loop():
    """A synchronous call works where the caller has a loop of its own, as in a notebook."""

    async def cell():
        return background.run(_value(4))

    assert asyncio.run(cell()) == 4


def test_waiting_on_the_own_loop_is_refused():
    """The loop's thread would wait for itself; what it would wait for does not run."""
    ran = []

    async def never():
        ran.append(True)

    async def nested():
        return background.run(never())

    with pytest.raises(RuntimeError, match="await instead"):
        background.run(nested())
    assert background.run(_value(ran)) == []


def test_what_was_submitted_there_is_cancelled():
    """Nobody waits for it."""
    cancelled = threading.Event()

    async def endless():
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async def nested():
        future = background.submit(endless())
        await asyncio.sleep(0)
        background.wait(future)

    with pytest.raises(RuntimeError, match="await instead"):
        background.run(nested())
    assert cancelled.wait(600)


def test_interrupt_reaches_a_waiting_caller():
    """Ctrl-C ends the wait within a heartbeat and cancels the work."""
    started, ended = threading.Event(), threading.Event()

    async def long():
        try:
            started.set()
            await asyncio.sleep(60)
        finally:
            ended.set()

    with pytest.raises(KeyboardInterrupt):
        background.run(long(), beat=lambda: started.wait(5) and signal.raise_signal(signal.SIGINT))
    assert ended.wait(600)


def test_beat_is_called_on_the_waiting_thread():
    """A bar is drawn where the caller waits."""
    beaten = threading.Event()
    threads = []

    def beat():
        threads.append(threading.current_thread())
        beaten.set()

    async def until_beaten():
        while not beaten.is_set():
            await asyncio.sleep(0.01)

    background.wait(background.submit(until_beaten()), beat)
    assert set(threads) == {threading.current_thread()}


def test_an_interrupt_waits_for_what_is_being_started():
    """Inside the block nothing is raised; at its end the Interrupt arrives, once."""
    reached = []
    with pytest.raises(KeyboardInterrupt), background.uninterrupted():
        signal.raise_signal(signal.SIGINT)
        reached.append(True)
    assert reached == [True]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with background.uninterrupted():
        pass


def test_a_future_that_ends_right_after_a_step():
    """Its result comes back: the end of the step before is no error of the run."""

    class Late(Future):
        """Ends when a timed wait for it has just given up."""

        def result(self, timeout=None):
            try:
                return super().result(timeout)
            except FutureTimeout:
                self.set_result(7)
                raise

    future = Late()
    assert background.wait(future, lambda: future.set_result(7)) == 7


def test_a_timeout_of_the_coroutines_own():
    """It is raised, and is no end of a step."""

    async def late():
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        background.run(late())
