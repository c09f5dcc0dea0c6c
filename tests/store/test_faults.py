"""What breaks under a store: each fault ends in words, and what was committed is there."""

import asyncio
import contextlib
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
import sqlalchemy as sa

import workbench as wb
from workbench.core import background
from workbench.judges import Reply, Usage
from workbench.store import StoreError, open_store

ROOT = os.geteuid() == 0
PLAIN = 65534
FORKS = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
"""Newer Pythons warn of forks of a process with threads; that a user does it all the same is the point."""


def put(store, key, text="x"):
    background.run(store.replies.put(key, Reply(text, Usage(1, 1)), model="m"))


def get(store, key):
    return background.run(store.replies.get(key))


@contextlib.contextmanager
def plain_user():
    """As a user without root's rights, where we have them."""
    if ROOT:
        os.seteuid(PLAIN)
    try:
        yield
    finally:
        if ROOT:
            os.seteuid(0)


@pytest.fixture
def open_folder():
    """A folder every user can reach."""
    with tempfile.TemporaryDirectory(prefix="workbench-store-", dir="/tmp") as made:
        Path(made).chmod(0o777)
        yield Path(made)


def test_a_file_that_may_only_be_read(open_folder):
    """Reading works or is refused in words; a write is refused in words; nothing is lost."""
    path = open_folder / "w.db"
    with open_store(path) as store:
        put(store, "k")
    path.chmod(0o444)
    refused = pytest.raises(StoreError, match=r"is read-only\n  where: .*\n.*\n  next step: give")
    with plain_user(), refused, open_store(path) as store:
        put(store, "k2")
    path.chmod(0o666)
    with open_store(path) as store:
        assert get(store, "k").text == "x"


def test_a_folder_that_may_only_be_read(open_folder):
    """A new store cannot be made in it."""
    open_folder.chmod(0o555)
    with plain_user(), pytest.raises(StoreError, match="the database file cannot be opened"):
        open_store(open_folder / "w.db")
    open_folder.chmod(0o777)
    assert list(open_folder.iterdir()) == []


def test_a_file_that_may_not_be_read(open_folder):
    """Told as what it is."""
    path = open_folder / "w.db"
    open_store(path).close()
    path.chmod(0)
    with plain_user(), pytest.raises(StoreError, match="the database file cannot be opened"):
        open_store(path)


def test_a_damaged_file(tmp_path):
    """What can be read is right, the rest is told; never a wrong answer."""
    path = tmp_path / "w.db"
    with open_store(path) as store:
        for n in range(200):
            put(store, f"k{n}", f"{n} " * 400)
    broken = bytearray(path.read_bytes())
    chance = random.Random(0)
    for at in range(4096 * 24, len(broken), 4096):
        broken[at : at + 2048] = chance.randbytes(2048)
    path.write_bytes(broken)
    told = []
    with open_store(path) as store:
        for n in range(200):
            try:
                found = get(store, f"k{n}")
            except StoreError as error:
                told.append(str(error))
                continue
            assert found is None or found.text == f"{n} " * 400
    assert any("damaged" in one and ".recover" in one for one in told)


def test_a_torn_file(tmp_path):
    """Half a file is told at the opening or at the first use."""
    path = tmp_path / "w.db"
    with open_store(path) as store:
        for n in range(50):
            put(store, f"k{n}", "x" * 5_000)
    path.write_bytes(path.read_bytes()[:6_000])
    with pytest.raises(StoreError, match="damaged"), open_store(path) as store:
        put(store, "k", "x" * 5_000)


def test_a_full_database_keeps_what_was_confirmed(tmp_path):
    """The put that no longer fits fails, alone with its batch; the ones before are there, smaller ones after work."""
    path = tmp_path / "w.db"
    with open_store(path) as store:
        engine = store._database.engine
        engine.dispose()
        sa.event.listen(engine, "connect", lambda raw, _: raw.execute("PRAGMA max_page_count = 120"))
        done = fill(store)
        assert 0 < done < 200
        assert get(store, f"k{done - 1}").text == "x" * 5_000
    with open_store(path) as store:
        assert store.replies.count() == done
        put(store, "after")


def fill(store) -> int:
    """How many answers fit."""
    done = 0
    with pytest.raises(StoreError, match=r"the disk is full[^$]*everything confirmed before is stored"):
        for done in range(200):
            put(store, f"k{done}", "x" * 5_000)
    return done


@pytest.mark.skipif(
    not ROOT or sys.platform != "linux", reason="a small disk can only be made by root on Linux"
)
def test_a_full_disk_keeps_what_was_confirmed(tmp_path):
    """On a real disk without room."""
    disk = tmp_path / "disk"
    disk.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True)
    if made.returncode:
        pytest.skip("no right to mount a small disk here")
    try:
        with open_store(disk / "w.db") as store:
            done = fill(store)
            assert 0 < done < 200
            assert store.replies.count() == done
            (disk / "w.db").stat()
        kept = shutil.copy(disk / "w.db", tmp_path / "copy.db")
        if (disk / "w.db-wal").exists():
            shutil.copy(disk / "w.db-wal", tmp_path / "copy.db-wal")
        with open_store(kept) as store:
            assert store.replies.count() == done
            put(store, "after")
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


HOLDER = """
import sqlite3, sys
raw = sqlite3.connect(sys.argv[1], isolation_level=None)
raw.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
"""


def test_a_lock_held_for_too_long(tmp_path):
    """Another process writes for longer than the timeout: told, nothing lost, reading goes on."""
    path = tmp_path / "w.db"
    with open_store(path, timeout=0.05) as store:
        put(store, "k")
        other = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert other.stdout.readline() == "held\n"
        with pytest.raises(StoreError, match=r"locked by another process[^$]*raise timeout="):
            put(store, "k2")
        with pytest.raises(StoreError, match="locked by another process"):
            store.graders.create("it", wb.ExactMatch())
        assert get(store, "k").text == "x"
        with open_store(path, timeout=0.05) as second:
            assert second.replies.count() == 1
        other.communicate("\n")
        put(store, "k2")
        assert store.replies.count() == 2


def test_a_failed_batch_tells_each_caller(tmp_path):
    """Every put of a batch that failed raises an error of its own."""
    path = tmp_path / "w.db"
    with open_store(path, timeout=0.05) as store:
        raw = sqlite3.connect(path, isolation_level=None)
        raw.execute("BEGIN IMMEDIATE")

        async def both():
            work = [store.replies.put(f"k{n}", Reply("x"), model="m") for n in range(2)]
            return await asyncio.gather(*work, return_exceptions=True)

        one, two = background.run(both())
        assert isinstance(one, StoreError)
        assert str(one) == str(two)
        assert one is not two
        raw.execute("ROLLBACK")
        raw.close()
        assert background.run(both()) == [None, None]


@FORKS
def test_a_fork_connects_anew(shared_url):
    """The child writes and reads on connections of its own, and the parent's go on working."""
    with open_store(shared_url) as store:
        put(store, "parent")
        before = store._database.engine
        child = os.fork()
        if child == 0:
            code = 1
            with contextlib.suppress(BaseException):
                put(store, "child")
                store.labels.put("a", True)
                right = get(store, "parent").text == "x" and store._database.engine is not before
                store.close()
                code = 0 if right else 2
            os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert get(store, "child").text == "x"
        assert store.labels.get("a") == [True]
        put(store, "after")
        assert (store.replies.count(), store._database.engine is before) == (3, True)


@FORKS
def test_a_store_in_memory_stays_in_its_process():
    """A fork's use of it is refused in words."""
    with open_store("sqlite://") as store:
        put(store, "k")
        child = os.fork()
        if child == 0:
            try:
                store.replies.count()
            except StoreError as error:
                os._exit(0 if "stays in the process" in str(error) else 2)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert store.replies.count() == 1


def test_writes_from_many_threads(store):
    """Kernel, callbacks and runs write at once; every write is there."""

    def work(n):
        put(store, f"k{n}")
        store.labels.put("a", True, labeller=f"l{n}")
        store.graders.create(f"g{n}", wb.ExactMatch())
        assert store.graders.get(f"g{n}") == wb.ExactMatch()

    failed = []
    threads = [threading.Thread(target=guarded, args=(work, n, failed)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert (store.replies.count(), len(store.graders.list()), len(store.labels.labellers())) == (8, 8, 8)


def guarded(work, n, failed):
    try:
        work(n)
    except BaseException as error:
        failed.append(error)


def test_a_server_that_goes_away_and_comes_back(server):
    """In between each call ends in words; afterwards the same store goes on, and all that was confirmed is there."""
    with open_store(server.url, timeout=2) as store:
        put(store, "before")
        server.stop()
        for call in (lambda: put(store, "k"), lambda: get(store, "before"), store.graders.list):
            with pytest.raises(StoreError, match="no database server listens|was lost|not respond"):
                call()
        with pytest.raises(StoreError, match=r"no database server listens there[^$]*next step: start it"):
            open_store(server.url)
        server.start()
        assert get(store, "before").text == "x"
        put(store, "after")
        assert store.replies.count() == 2


def test_a_server_that_was_restarted_between_two_calls(server):
    """Nobody notices: a connection is tried before it is used."""
    with open_store(server.url) as store:
        put(store, "restarted")
        server.stop()
        server.start()
        assert get(store, "restarted").text == "x"


def test_a_connection_cut_in_a_transaction(server):
    """The server ends our session in the middle: nothing of the transaction is there, and the next call works."""
    with open_store(server.url) as store, open_store(server.url) as other:
        with (
            pytest.raises(StoreError, match="connection to the database server was lost"),
            store._database.writing() as made,
        ):
            made.exec_driver_sql("INSERT INTO workbench_meta VALUES ('x', 'y')")
            number = made.exec_driver_sql("SELECT pg_backend_pid()").scalar()
            with other._database.writing() as theirs:
                theirs.exec_driver_sql(f"SELECT pg_terminate_backend({number})")
            made.exec_driver_sql("SELECT 1")
        put(store, "k")
        with store._database.reading() as made:
            assert made.exec_driver_sql("SELECT count(*) FROM workbench_meta").scalar() == 1


def test_a_wrong_password_is_told_and_not_repeated(server):
    """The message says what was refused; the password is in neither the message nor the chain of errors."""
    with open_store(server.url) as store, store._database.writing() as made:
        made.exec_driver_sql("CREATE USER careful PASSWORD 'open-sesame'")
        made.exec_driver_sql("GRANT ALL ON SCHEMA public TO careful")
        made.exec_driver_sql("GRANT ALL ON ALL TABLES IN SCHEMA public TO careful")
    careful = server.url.replace("workbench@", "careful:{}@")
    with pytest.raises(StoreError, match=r"rejected the password[^$]*careful:\*\*\*@") as caught:
        open_store(careful.format("hunter%402"))
    error = caught.value
    assert "hunter" not in f"{error}{error!r}{error.found}"
    assert error.__suppress_context__
    with pytest.raises(StoreError, match="requires a password"):
        open_store(careful.replace(":{}", ""))
    with open_store(careful.format("open-sesame")) as store:
        assert "open-sesame" not in f"{store!r}{store.url}{store.graders!r}{store._database.address!r}"
        assert store.graders.list() == ()


def test_a_database_or_host_that_does_not_exist(server):
    """Told, with what to correct."""
    with pytest.raises(StoreError, match="no such database"):
        open_store(server.url.replace("/postgres", "/nothere"))
    with pytest.raises(StoreError, match="there is no such host"):
        open_store("postgresql://u@no-such-host.invalid/d", timeout=2)


def test_a_database_of_another_encoding(server):
    """One that cannot store every text is refused before the first is lost."""
    engine = sa.create_engine(
        sa.make_url(server.url).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as made:
        made.exec_driver_sql("CREATE DATABASE old ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'")
    engine.dispose()
    with pytest.raises(StoreError, match=r"cannot store every text\n.*\n  found: encoding LATIN1"):
        open_store(server.url.replace("/postgres", "/old"))


def test_a_table_held_for_too_long(postgres_database):
    """Another session's lock on a server ends in words after the timeout, as in a file; reading goes on."""
    with open_store(postgres_database, timeout=0.2) as store, open_store(postgres_database) as other:
        put(store, "k")
        with other._database.writing() as held:
            held.exec_driver_sql("LOCK TABLE workbench_replies IN EXCLUSIVE MODE")
            with pytest.raises(StoreError, match="locked by another process"):
                put(store, "k2")
            assert get(store, "k").text == "x"
        put(store, "k2")
        assert store.replies.count() == 2


def test_one_unreadable_answer_is_its_own_fault(store):
    """An answer that other hands changed is told to whoever asked for it, and to nobody else of the batch."""
    for key in "ab":
        put(store, key)
    with store._database.writing() as connection:
        connection.exec_driver_sql("UPDATE workbench_replies SET rest = '[1' WHERE key = 'a'")

    async def both():
        return await asyncio.gather(store.replies.get("a"), store.replies.get("b"), return_exceptions=True)

    bad, good = background.run(both())
    assert isinstance(bad, StoreError)
    assert "a stored reply cannot be read" in str(bad)
    assert good.text == "x"
