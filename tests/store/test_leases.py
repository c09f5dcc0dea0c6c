"""One process on a store sends a request; a process that was killed delays the others by one lease at most."""

import asyncio
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
from workbench.store import StoreError, open_store, schema
from workbench.store import replies as leases

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
    assert rows_of(first, schema.leases) == []


def test_a_claim_that_is_given_back(two):
    """Whose question got no answer leaves it to the others."""
    first, second = two
    assert claim(first)
    release(first)
    wait_until(lambda: claim(second), what="the claim is given back")
    release(first)  # not its own: nothing happens
    assert not claim(first)


def test_a_closed_store_holds_no_claims(shared_url):
    """What it claimed is free."""
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
            await asyncio.gather(*store.replies._leases._releasing, return_exceptions=True)

        background.run(given_back())
        raw.execute("ROLLBACK")
        raw.close()
        assert claim(store)


def test_a_store_closed_while_its_file_was_locked(tmp_path):
    """The lease that it could not delete expires."""
    first = open_store(tmp_path / "w.db", timeout=0.05)
    assert claim(first)
    raw = sqlite3.connect(tmp_path / "w.db", isolation_level=None)
    raw.execute("BEGIN IMMEDIATE")
    first.close()
    raw.execute("ROLLBACK")
    raw.close()
    with open_store(tmp_path / "w.db") as second:
        assert not claim(second)
        shift(second, -leases.LEASE_SECONDS)
        assert claim(second)


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


def test_a_killed_process_delays_others_by_one_lease(shared_url):
    """Its lease is not renewed, and the next claim takes it over."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, shared_url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process, open_store(shared_url) as store:
        assert process.stdout.readline() == "True\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not claim(store)
        shift(store, -leases.LEASE_SECONDS)
        assert [claim(store), claim(store)] == [True, False]


def shift(store, seconds):
    """Move the expiry of all leases, as time or a changed clock would."""
    with store._database.writing() as connection:
        table = schema.leases
        connection.execute(table.update().values(expires=table.c.expires + seconds))


def test_a_lease_expires(two):
    """A lease that is not renewed is void after its time, and not before."""
    first, second = two
    assert claim(first)
    shift(first, 1 - leases.LEASE_SECONDS)
    assert not claim(second)
    shift(first, -1)
    assert [claim(second), claim(second)] == [True, False]


def test_a_renewal_extends_the_lease(two):
    """A process that renews keeps its leases for any time."""
    first, second = two
    assert claim(first)
    for _ in range(3):
        shift(first, 1 - leases.LEASE_SECONDS)
        first.replies._leases._renew()
    shift(first, 1 - leases.LEASE_SECONDS)
    assert not claim(second)


def test_a_clock_that_was_set_back_delays_nobody(two):
    """A lease that expires later than a new one would is void."""
    first, second = two
    assert claim(first)
    shift(first, 3600)
    assert [claim(second), claim(first)] == [True, False]


def test_an_owner_that_lost_its_lease_stores_its_reply(two):
    """A slow process stores its reply, and does not renew or delete the lease of another."""
    first, second = two
    assert claim(first)
    shift(first, -leases.LEASE_SECONDS)
    assert claim(second)
    first.replies._leases._renew()
    release(first)
    assert not claim(first)
    put(first)
    put(second)
    assert first.replies.count() == 1
    assert rows_of(first, schema.leases) == []
    assert claim(first, "l")


def test_renewals_go_on_while_a_request_is_in_flight(two, monkeypatch):
    """They end with the last lease."""
    first, _ = two
    monkeypatch.setattr(leases, "RENEW_SECONDS", 0.01)
    assert claim(first)
    (row,) = rows_of(first, schema.leases)
    wait_until(lambda: rows_of(first, schema.leases)[0].expires > row.expires, what="a renewal")
    put(first)
    wait_until(lambda: not first.replies._leases._renewing, what="the last renewal")


def test_a_closed_store_claims_nothing(tmp_path):
    """The error names the cause."""
    store = open_store(tmp_path / "w.db")
    store.close()
    with pytest.raises(StoreError, match="closed"):
        claim(store)
