"""Forks and transactions of other threads keep out of each other's way."""

import contextlib
import os
import sys
import threading

import pytest

from tests.browser.lab import wait_until
from workbench.core import background
from workbench.judges import Reply
from workbench.store import database, open_store

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
    pytest.mark.skipif(sys.platform == "win32", reason="there is no fork"),
]


def put(store, key):
    background.run(store.replies.put(key, Reply("x"), model="m"))


def forked(work):
    """The exit code of a fork that does some work."""
    child = os.fork()
    if child == 0:
        code = 1
        with contextlib.suppress(BaseException):
            work()
            code = 0
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_fork_in_the_midst_of_a_write(shared_url):
    """The child can write: the fork waited for the other thread's transaction."""
    inside, forking_now = threading.Event(), threading.Event()
    with open_store(shared_url, timeout=2) as store:

        def write():
            with store._database.writing() as connection:
                connection.exec_driver_sql("INSERT INTO workbench_meta VALUES ('x', 'y')")
                inside.set()
                forking_now.wait(600)

        thread = threading.Thread(target=write)
        thread.start()
        assert inside.wait(600)
        opener = threading.Thread(target=lambda: (forking_begins(), forking_now.set()))
        opener.start()
        assert forked(lambda: put(store, "child")) == 0
        thread.join()
        opener.join()
        put(store, "after")
        assert store.replies.count() == 2


def forking_begins():
    wait_until(lambda: database._gate._forking, what="a thread forks")


def test_a_fork_in_ones_own_transaction_does_not_wait(tmp_path):
    """It would wait for itself."""
    with open_store(tmp_path / "w.db") as store:
        with store._database.reading():
            assert forked(lambda: None) == 0
        put(store, "k")
        assert store.replies.count() == 1


def test_a_fork_waits_for_so_long_only(tmp_path, monkeypatch):
    """A transaction that does not end holds no fork up for ever."""
    monkeypatch.setattr(database, "_PATIENCE", 0.05)
    inside, gate = threading.Event(), threading.Event()

    def hold():
        with database.transaction():
            inside.set()
            gate.wait(600)

    thread = threading.Thread(target=hold)
    thread.start()
    assert inside.wait(600)
    assert forked(lambda: None) == 0
    gate.set()
    thread.join()
