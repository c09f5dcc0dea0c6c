"""Of all processes on one store only one asks a question; nobody waits for ever for one that is gone."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys

import pytest
import sqlalchemy as sa

from tests.browser.lab import wait_until
from tests.store.cancelling import begin_and_cancel
from workbench.core import background
from workbench.judges import Reply
from workbench.judges.cache import ClaimingReplyStore
from workbench.store import StoreError, claims, open_store
from workbench.store.claims import is_gone, new_claimant

HOLDER = """
import asyncio, sys
from workbench.store import open_store
store = open_store(sys.argv[1])
async def main():
    print(await store.replies.claim("k"), flush=True)
    sys.stdin.readline()
asyncio.run(main())
"""


def claim(store, key="k"):
    return background.run(store.replies.claim(key))


def put(store, key="k"):
    background.run(store.replies.put(key, Reply("x"), model="m"))


def release(store, key="k"):
    async def given_back():
        store.replies.release(key)

    background.run(given_back())


def rows_of(store, table):
    with store._database.reading() as connection:
        return connection.execute(sa.select(table)).all()


@pytest.fixture
def two(shared_url):
    with open_store(shared_url) as first, open_store(shared_url) as second:
        yield first, second


def test_the_store_claims(store):
    """It is one that judges' runs claim their questions in."""
    assert isinstance(store.replies, ClaimingReplyStore)


def test_one_of_two_asks(two):
    """The second is told to wait, until the answer is there; then nobody asks."""
    first, second = two
    assert [claim(first), claim(second), claim(first)] == [True, False, False]
    put(first)
    assert [claim(first), claim(second)] == [False, False]
    assert background.run(second.replies.get("k")) == Reply("x")
    assert rows_of(first, claims.claims) == []


def test_a_claim_that_is_given_back(two):
    """Whose question got no answer leaves it to the others."""
    first, second = two
    assert claim(first)
    release(first)
    wait_until(lambda: claim(second), what="the claim is given back")
    release(first)  # not its own: nothing happens
    assert not claim(first)


def test_a_closed_store_holds_no_claims(shared_url):
    """What it claimed is free at the next look but one."""
    with open_store(shared_url) as second:
        with open_store(shared_url) as first:
            assert claim(first)
        assert claim(second)


def test_a_claim_that_could_not_be_given_back(tmp_path):
    """A store that failed at it tries again with the next call: nobody waits for the lease's end."""
    with open_store(tmp_path / "w.db", timeout=0.05) as store:
        assert claim(store)
        raw = sqlite3.connect(tmp_path / "w.db", isolation_level=None)
        raw.execute("BEGIN IMMEDIATE")

        async def given_back():
            store.replies.release("k")
            await asyncio.gather(*store.replies._claims._releasing, return_exceptions=True)

        background.run(given_back())
        raw.execute("ROLLBACK")
        raw.close()
        assert claim(store)


def test_a_store_closed_while_its_file_was_locked(tmp_path):
    """What it could not take back is void all the same: the process knows that it is closed."""
    first = open_store(tmp_path / "w.db", timeout=0.05)
    assert claim(first)
    raw = sqlite3.connect(tmp_path / "w.db", isolation_level=None)
    raw.execute("BEGIN IMMEDIATE")
    first.close()
    raw.execute("ROLLBACK")
    raw.close()
    with open_store(tmp_path / "w.db") as second:
        assert [claim(second), claim(second)] == [False, True]


def test_equal_keys_of_one_call_are_claimed_once(store):
    """And others of the batch are not held up."""

    async def both():
        return await asyncio.gather(*map(store.replies.claim, ["k", "k", "l"]))

    assert background.run(both()) == [True, False, True]


def test_a_caller_that_is_cancelled_leaves_no_claim(two):
    """The claim was made all the same, and is given back."""
    first, second = two

    background.run(begin_and_cancel(first.replies.claim("k")))
    wait_until(lambda: claim(second), what="the claim is given back")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems wait for the lease's end")
def test_a_killed_process_holds_nothing(shared_url):
    """On the same machine its claims are free at once."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, shared_url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process, open_store(shared_url) as store:
        assert process.stdout.readline() == "True\n"
        assert not claim(store)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert [claim(store), claim(store)] == [False, True]
        assert len(rows_of(store, claims.claimants)) == 1


class Clock:
    """A clock that is set by hand."""

    now = 1_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def far(two, monkeypatch):
    """A claimant of which nobody here can know whether it lives, and a store that waits for it by its own clock."""
    first, second = two
    monkeypatch.setattr(claims, "is_gone", lambda name: False)
    second.replies._claims._clock = clock = Clock()
    assert claim(first)
    return first, second, clock


def test_a_lease_ends(far):
    """A claimant without a sign of life is waited for as long as a lease, by the waiting process's clock."""
    _, second, clock = far
    assert not claim(second)
    clock.now += claims.LEASE_SECONDS - 1
    assert not claim(second)
    clock.now += 2
    assert [claim(second), claim(second)] == [False, True]


def test_a_beat_renews_the_lease(far):
    """As long as the claimant counts on it is waited for."""
    first, second, clock = far
    for _ in range(3):
        assert not claim(second)
        clock.now += claims.LEASE_SECONDS - 1
        first.replies._claims._beat()
    assert not claim(second)


def test_a_clock_that_jumps_back_costs_a_lease_at_most(far):
    """The time is only ever compared with an earlier look of the same process."""
    _, second, clock = far
    assert not claim(second)
    clock.now = -1e9
    assert not claim(second)
    first_look = clock.now
    while not claim(second):
        clock.now += claims.LEASE_SECONDS + 1
        assert clock.now < first_look + 4 * claims.LEASE_SECONDS


def test_a_claimant_that_was_struck_off_comes_back(far):
    """One that was only slow stores its answer all the same; the last one holds."""
    first, second, clock = far
    assert not claim(second)
    clock.now += claims.LEASE_SECONDS + 1
    assert [claim(second), claim(second)] == [False, True]
    put(first)
    put(second)
    assert first.replies.count() == 1
    assert rows_of(first, claims.claims) == []
    assert claim(first, "l")


def test_beats_go_on_while_something_is_asked(two, monkeypatch):
    """The claimant counts up, and ends with its last claim."""
    first, _ = two
    monkeypatch.setattr(claims, "BEAT_SECONDS", 0.01)
    assert claim(first)
    wait_until(lambda: rows_of(first, claims.claimants)[0].beat > 2, what="beats are counted")
    put(first)
    wait_until(lambda: not first.replies._claims._beating, what="the last beat")


def test_a_store_that_fails_says_so(tmp_path):
    """No claim is made in a closed store."""
    store = open_store(tmp_path / "w.db")
    store.close()
    with pytest.raises(StoreError, match="closed"):
        claim(store)


def test_names_of_claimants_tell_who_lives():
    """Ours lives; that of another machine may; a number that another process has by now does not."""
    name = new_claimant()
    assert not is_gone(name)
    assert not is_gone("")
    assert not is_gone(f"other-{name}")
    if sys.platform.startswith("linux"):
        machine, number, started, chance = name.split(":")
        assert number == str(os.getpid())
        assert is_gone(f"{machine}:{number}:{int(started) + 1}:{chance}")
        assert is_gone(f"{machine}:4194305:{started}:{chance}")
