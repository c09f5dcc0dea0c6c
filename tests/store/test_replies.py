"""Judges' answers: exact, in batches, committed before `put` returns."""

import asyncio
import gc
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import weakref

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.browser.lab import wait_until
from tests.store.cancelling import begin_and_cancel
from workbench.core import background
from workbench.judges import Reply, Usage
from workbench.judges.cache import ReplyStore, content_key
from workbench.store import StoreError, open_store
from workbench.store.schema import read, storable

REPLY = Reply("PASS", Usage(12, 3, 0.25), {"finish_reason": "stop"})
ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=30) | st.sampled_from(
    ["\0", "a\0b", "\ud800", "\ud83d\ude00", "\x1bescaped:", "\x1bescaped:\0", "\\x00", "é\0ß", "\U0001f600"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=6,
)


def put(store, key, reply, model="m"):
    background.run(store.replies.put(key, reply, model=model))


def get(store, key):
    return background.run(store.replies.get(key))


def test_replies_are_the_judges_protocol(store):
    """A client can be given `store.replies` where it takes a `ReplyStore`."""
    assert isinstance(store.replies, ReplyStore)


def test_an_answer_comes_back_as_it_was(store):
    """Text, usage and raw are the same after a trip through the database; other keys have none."""
    key = content_key("http://x", [{"role": "user", "content": "hi"}], {"model": "m"})
    put(store, key, REPLY)
    assert get(store, key) == REPLY
    assert get(store, key[::-1]) is None


MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "system"]), "content": ANY_TEXT | JSON}, optional={"name": JSON}
)


@given(ANY_TEXT, st.lists(MESSAGE, max_size=4), st.dictionaries(ANY_TEXT, JSON, max_size=3))
def test_the_key_is_a_hash_of_all_that_is_asked(server, messages, given):
    """Whoever was asked before a release finds the answers after it: the bytes that are hashed are one JSON text."""
    answered = {
        name: value
        for name, value in given.items()
        if value is not None and name not in {"timeout", "max_retries"}
    }
    text = json.dumps([server, messages, answered], sort_keys=True, separators=(",", ":"))
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).hexdigest()
    assert content_key(server, messages, given) == digest


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=ANY_TEXT,
    raw=st.dictionaries(ANY_TEXT, JSON, max_size=3),
    usage=st.none()
    | st.builds(Usage, st.integers(0, 2**70), st.integers(0, 9), st.none() | st.floats(0, allow_nan=False)),
    model=ANY_TEXT,
)
def test_any_answer_comes_back_exactly(store, text, raw, usage, model):
    """NUL, lone surrogates and numbers larger than any column are no obstacle on any database."""
    put(store, "key", Reply(text, usage, raw), model)
    assert get(store, "key") == Reply(text, usage, raw)
    assert store.replies.count(model) == 1


@given(ANY_TEXT)
def test_escapes_are_undone_exactly(text):
    """What a column holds has no NUL and can be encoded, and reads as the text it was."""
    column = storable(text)
    assert "\0" not in column
    assert column.encode().decode() == column
    assert read(column) == text


def test_the_last_answer_under_a_key_holds(store):
    """Putting a key again replaces its answer, also within one batch."""

    async def both():
        await asyncio.gather(*(store.replies.put("k", Reply(str(n)), model="m") for n in range(5)))

    background.run(both())
    assert (get(store, "k"), store.replies.count()) == (Reply("4"), 1)


def test_calls_of_one_turn_are_few_statements(store):
    """A thousand gets at once are three SELECTs, a thousand puts a few transactions."""
    seen = []
    engine = store._database.engine
    sa.event.listen(engine, "before_cursor_execute", lambda *given: seen.append(given[2].split()[0]))
    sa.event.listen(engine, "commit", lambda _: seen.append("COMMIT"))

    async def many():
        await asyncio.gather(*(store.replies.put(f"k{n}", Reply(str(n)), model="m") for n in range(1_001)))
        seen.append("-")
        return await asyncio.gather(*(store.replies.get(f"k{n}") for n in range(1_002)))

    found = background.run(many())
    assert [one and one.text for one in found] == [*map(str, range(1_001)), None]
    at = seen.index("-")
    assert (seen[at:].count("SELECT"), store.replies.count()) == (3, 1_001)
    assert seen[:at].count("COMMIT") < 200  # how many hangs on when the thread gets its turn


def test_an_answer_is_committed_while_the_loop_is_busy(store):
    """What was handed in is in the database although the event loop has not come to an end of its turn."""

    async def busy():
        putting = [asyncio.ensure_future(store.replies.put(f"k{n}", REPLY, model="m")) for n in range(2)]
        await asyncio.sleep(0)  # both handed their answers in; from here on the loop does nothing else
        wait_until(lambda: store.replies.count() == 2, what="the answers are committed")
        await asyncio.gather(*putting)

    background.run(busy())


def test_the_loop_goes_on_while_the_database_works(store, monkeypatch):
    """A statement runs on another thread than the loop's."""
    threads = []
    work = store._database.reading
    monkeypatch.setattr(
        store._database, "reading", lambda: threads.append(threading.current_thread()) or work()
    )

    async def ask():
        await store.replies.get("k")
        return threading.current_thread()

    assert background.run(ask()) not in threads
    assert len(threads) == 1


def test_many_loops_use_one_store_and_are_forgotten(store):
    """Each `asyncio.run` has a loop of its own; the store keeps none of them alive."""
    loops = []

    async def once(n):
        loops.append(weakref.ref(asyncio.get_running_loop()))
        await store.replies.put(f"k{n}", REPLY, model="m")
        return await store.replies.get(f"k{n}")

    threads = [threading.Thread(target=lambda n=n: asyncio.run(once(n))) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert asyncio.run(once(9)) == REPLY
    assert store.replies.count() == 9

    def are_forgotten():
        gc.collect()
        return [loop() for loop in loops] == [None] * 9

    # A thread of the store that has answered may not have come out of its last call yet.
    wait_until(are_forgotten, what="the loops are forgotten", seconds=60)


def test_a_cancelled_put_is_kept_all_the_same(store):
    """An answer that was paid for is stored although nobody waits for it any more."""
    background.run(begin_and_cancel(store.replies.put("k", REPLY, model="m")))
    store.close()
    if store._database.address.memory:
        return  # gone with its connection
    with open_store(store._database.address.url.render_as_string(hide_password=False)) as again:
        assert get(again, "k") == REPLY


def test_count_and_clear_by_model(store):
    """Answers can be counted and forgotten by model."""
    put(store, "a", REPLY, "one")
    put(store, "b", REPLY, "one")
    put(store, "c", Reply("x"), "two")
    assert (len(store.replies), store.replies.count("one")) == (3, 2)
    assert store.replies.clear("one") == 2
    assert (store.replies.count(), store.replies.clear(), store.replies.count()) == (1, 1, 0)


@pytest.mark.parametrize("key", ["", "a\0", "a\n", "é", "x" * 256, None])
def test_a_key_that_is_none_is_refused(store, key):
    """Neither get nor put takes it, and others of the batch are not held up."""

    async def both():
        return await asyncio.gather(
            store.replies.get(key),
            store.replies.put(key, REPLY, model="m"),
            store.replies.put("good", REPLY, model="m"),
            return_exceptions=True,
        )

    first, second, third = background.run(both())
    assert isinstance(first, StoreError)
    assert isinstance(second, StoreError)
    assert (third, store.replies.count()) == (None, 1)


def test_an_answer_json_cannot_say_is_refused(store):
    """A live object in `raw` is refused by name."""
    with pytest.raises(StoreError, match="JSON does not support it"):
        put(store, "k", Reply("x", None, {"response": object()}))
    assert store.replies.count() == 0


def test_a_closed_store_says_so(store):
    """A call after close ends in an error, not in a wait."""
    put(store, "k", REPLY)
    store.close()
    with pytest.raises(StoreError, match="the store is closed"):
        get(store, "k")
    with pytest.raises(StoreError, match="the store is closed"):
        put(store, "k", REPLY)


WRITER = """
import asyncio, sys
from workbench.judges import Reply
from workbench.store import open_store
url, name, number = sys.argv[1:]
store = open_store(url, timeout=600)
async def row(at):
    await store.replies.put(f"{name}-{at}", Reply(str(at)), model=name)
    await store.replies.put("common", Reply(name), model=name)
    print(at, flush=True)
async def main():
    for start in range(0, int(number), 8):
        await asyncio.gather(*(row(at) for at in range(start, start + 8)))
asyncio.run(main())
store.close()
"""


def writer(url, name, number):
    command = [sys.executable, "-W", "error", "-c", WRITER, url, name, str(number)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_two_processes_write_at_once(shared_url):
    """Neither loses a row, and both may make the store."""
    first, second = writer(shared_url, "a", 400), writer(shared_url, "b", 400)
    assert [one.communicate(timeout=600)[1] for one in (first, second)] == ["", ""]
    with open_store(shared_url) as store:
        assert (store.replies.count(), get(store, "common").text in "ab") == (801, True)


def test_a_killed_process_loses_nothing_it_was_told(shared_url):
    """After `kill -9` in the middle of a run every acknowledged answer is there, and the store goes on."""
    process = writer(shared_url, "a", 1_000_000)
    told = [process.stdout.readline() for _ in range(300)]
    os.kill(process.pid, signal.SIGKILL)
    told += process.stdout.readlines()
    process.communicate()
    told = [int(line) for line in told if line.endswith("\n")]
    with open_store(shared_url) as store:

        async def all_of():
            return await asyncio.gather(*(store.replies.get(f"a-{at}") for at in told))

        assert [reply.text for reply in background.run(all_of())] == [str(at) for at in told]
        put(store, "after", REPLY)
        assert get(store, "after") == REPLY
