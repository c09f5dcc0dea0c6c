"""Opening a store: addresses, versions of the tables, and what is told when it cannot be."""

import copy
import hashlib
import pickle
import sqlite3
import subprocess
import sys
import traceback
from pathlib import Path

import pytest
import sqlalchemy as sa

import workbench as wb
from workbench.core import background
from workbench.judges import Reply
from workbench.store import StoreError, open_store, schema
from workbench.store.address import parse, translated

SECRET = "p@ss/w:rd"
QUOTED = "p%40ss%2Fw%3Ard"


def test_the_default_is_a_file_in_the_working_directory(tmp_path, monkeypatch):
    """It stays there when the working directory changes."""
    monkeypatch.chdir(tmp_path)
    with open_store() as store:
        monkeypatch.chdir("/")
        store.labels.put("a", True)
    assert (tmp_path / "workbench.db").is_file()
    assert repr(store) == f"Store('sqlite:///{tmp_path}/workbench.db')"


@pytest.mark.parametrize("form", ["{}", "sqlite:///{}", "sqlite+pysqlite:///{}", Path])
def test_a_file_by_path_or_url(tmp_path, form):
    """Path, text and URL name the same store."""
    path = tmp_path / "my store.db"
    with open_store(path) as store:
        store.labels.put("a", True)
    with open_store(form(path) if form is Path else form.format(path)) as store:
        assert store.labels.get("a") == [True]


def test_the_log_is_on(tmp_path):
    """SQLite keeps a write-ahead log, so that a reader and a writer do not wait for each other."""
    names = ("journal_mode", "foreign_keys", "synchronous")
    with open_store(tmp_path / "w.db") as store, store._database.reading() as connection:
        told = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names]
    assert told == ["wal", 1, 1]


@pytest.mark.parametrize(
    "typed",
    ["", "workbench", "postgresql:/u:p@h/d", "://", "a b://c", f"postgresql://u:{QUOTED}@h:port/d", 7, None],
)
def test_what_is_no_address(typed):
    """The forms that are taken are named, and no password is repeated."""
    with pytest.raises(StoreError, match="not a database address|not installed") as caught:
        open_store(typed)
    assert QUOTED not in str(caught.value)
    assert "u:p" not in str(caught.value)


@pytest.mark.parametrize(
    "typed",
    [
        "postgresql://u:hunter2/d",
        "postgresql://u:hun/hunter2",
        "postgresql://u:hunter2",
        "postgresql://u:x@h:port/hunter2",
        "postgresql://u:x@h:port?password=hunter2",
        "postgresql:/u:hunter2/d",
        "postgresql:u:hunter2",
        "u@hunter2@h:port",
    ],
)
def test_an_odd_address_is_told_without_what_may_be_a_password(typed):
    """Nothing up to the last @ is shown, nothing from a port that is no number, and no parameter."""
    with pytest.raises(StoreError, match="not a database address") as caught:
        parse(typed)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))
    assert "***" in str(caught.value)


def plainly(address):
    """An address as every version of SQLAlchemy writes it: some escape an @ in a database's name."""
    return address.replace("%40", "@")


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("postgresql:///u:hunter2@h/d", "postgresql+psycopg:///***%40h/d"),
        ("postgresql://h/u:hunter2@h/d", "postgresql+psycopg://h/***%40h/d"),
        ("postgresql://u@hunter2@h/d", "postgresql+psycopg://***@h/d"),
        ("postgresql://u:hunter2:x@h/d", "postgresql+psycopg://u:***@h/d"),
        ("postgresql://h/d?password=hunter2&password=b", "postgresql+psycopg://h/d?password=***"),
    ],
)
def test_a_login_in_the_wrong_place_is_not_shown(typed, shown):
    """SQLAlchemy takes these; what it took for a user or a database may hold the password."""
    address = parse(typed)
    assert plainly(address.shown) == plainly(shown)
    told = {address.url.username or "", address.url.password or "", address.url.database or "", "hunter2"}
    held = [one for one in told if "hunter2" in one and one != "hunter2"]
    assert all("hunter2" not in address.masked(one) for one in held)
    assert "hunter2" not in repr(address)


def test_an_at_in_a_file_is_part_of_its_name(tmp_path):
    """A database in a file has no login."""
    assert plainly(parse(f"sqlite:///{tmp_path}/a@b.db").shown) == f"sqlite:///{tmp_path}/a@b.db"


def test_a_driver_that_is_not_there():
    """The package to install is named; an asynchronous driver is not taken."""
    with pytest.raises(StoreError, match="driver for this database is not installed"):
        open_store("nosuchdatabase://h/d")
    with pytest.raises(StoreError, match=r"grader-workbench\[postgres\]"):
        open_store("postgresql+nosuchdriver://h/d")
    with pytest.raises(StoreError, match="asynchronous|not installed"):
        open_store("sqlite+aiosqlite:///x.db")


def test_a_bare_postgresql_url_means_psycopg():
    """Users need not name the driver, and the older scheme works."""
    for scheme in ("postgresql", "postgres"):
        assert parse(f"{scheme}://u@h/d").url.drivername == "postgresql+psycopg"


def test_no_secret_of_an_address_is_shown():
    """Neither the password nor a secret parameter, in any spelling."""
    address = parse(f"postgresql://u:{QUOTED}@h/d?sslpassword=hush&application_name=x")
    assert address.shown == "postgresql+psycopg://u:***@h/d?application_name=x&sslpassword=***"
    assert SECRET not in repr(address)
    assert QUOTED not in repr(address)
    told = f"{SECRET} {QUOTED} hush x"
    assert address.masked(told) == "*** *** *** x"


def test_a_drivers_words_are_told_without_secrets():
    """Whatever a driver says, the password is not in the error."""
    address = parse(f"postgresql://u:{QUOTED}@h/d")
    with pytest.raises(StoreError, match=r"found: cannot connect with \*\*\*") as caught, translated(address):
        raise sqlite3.OperationalError(f"cannot connect with {SECRET}")
    assert SECRET not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), True, "1"])
def test_a_timeout_is_a_positive_number(timeout):
    """Anything else is refused before a file is made."""
    with pytest.raises(ValueError, match="timeout must be a number of seconds"):
        open_store("sqlite://", timeout=timeout)


def test_a_folder_and_a_missing_folder(tmp_path):
    """Both are told as what they are, and nothing is made."""
    with pytest.raises(StoreError, match="this is a folder, not a database file"):
        open_store(tmp_path)
    with pytest.raises(StoreError, match="there is no folder"):
        open_store(tmp_path / "not" / "there.db")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database(tmp_path):
    """It is told, and stays as it was."""
    path = tmp_path / "notes.db"
    path.write_text("my notes, not a database " * 100)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=f"the file is not an SQLite database\n  where: sqlite:///{path}"):
        open_store(path)
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_store(tmp_path):
    """As SQLite has it."""
    (tmp_path / "w.db").touch()
    with open_store(tmp_path / "w.db") as store:
        assert store.graders.list() == ()


def test_other_tables_of_a_database_are_left_alone(shared_url):
    """A store may live in a database that holds other things; its own tables say whose they are."""
    import sqlalchemy as sa

    engine = sa.create_engine(parse(shared_url).url)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE graders (x INTEGER)")
    with open_store(shared_url) as store:
        store.graders.create("it", wb.ExactMatch())
    names = set(sa.inspect(engine).get_table_names()) - {"graders"}
    assert names
    assert all(name.startswith("workbench_") for name in names)
    engine.dispose()


def test_a_newer_store_is_refused_and_not_changed(tmp_path):
    """A release that does not know its tables says so, and every byte stays."""
    path = tmp_path / "w.db"
    with open_store(path) as store:
        store.labels.put("a", True)
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE workbench_meta SET value = '99'")
    raw.execute("PRAGMA journal_mode=DELETE")
    raw.close()
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(
        StoreError, match=r"newer workbench\n  where: .*w.db\n  found: version 99 of its tables"
    ):
        open_store(path)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before


def test_a_store_that_became_newer_meanwhile_is_refused(store):
    """Another process brought it up to date between our look and our lock."""
    refused = pytest.raises(StoreError, match="newer workbench")
    with refused, store._database.writing() as connection:
        connection.exec_driver_sql("UPDATE workbench_meta SET value = '99'")
        schema.prepare(connection)
    with store._database.reading() as connection:
        assert schema.version_of(connection) == schema.VERSION


def test_a_newer_store_on_a_server_is_refused(postgres_database):
    """As in a file."""
    with open_store(postgres_database) as store, store._database.writing() as connection:
        connection.exec_driver_sql("UPDATE workbench_meta SET value = '99'")
    with pytest.raises(StoreError, match="newer workbench"):
        open_store(postgres_database)


def add_colour(connection):
    connection.exec_driver_sql("ALTER TABLE workbench_labels ADD COLUMN colour TEXT DEFAULT 'red'")


def fail_late(connection):
    connection.exec_driver_sql("ALTER TABLE workbench_labels ADD COLUMN shape TEXT")
    connection.exec_driver_sql("INSERT INTO no_such_table VALUES (1)")


def columns_of(store):
    import sqlalchemy as sa

    with store._database.reading() as connection:
        return {column["name"] for column in sa.inspect(connection).get_columns("workbench_labels")}


def test_an_older_store_is_brought_up_to_date(shared_url, monkeypatch):
    """All steps run in order, once, and what it held is there."""
    with open_store(shared_url) as store:
        store.labels.put("a", True)
    last, done = schema.VERSION + 2, []
    monkeypatch.setattr(schema, "VERSION", last)
    monkeypatch.setattr(schema, "STEPS", {last - 1: add_colour, last: lambda connection: done.append(3)})
    for _ in range(2):
        with open_store(shared_url) as store:
            assert store.labels.get("a") == [True]
            assert "colour" in columns_of(store)
            with store._database.reading() as connection:
                assert schema.version_of(connection) == last
    assert done == [3]


NO_TAGS = "ALTER TABLE workbench_labels DROP COLUMN tags"
NO_LEASES = ("DROP TABLE workbench_leases", NO_TAGS)
CLAIMS = "CREATE TABLE workbench_claims (key VARCHAR(255) PRIMARY KEY, claimant VARCHAR(255), number BIGINT)"
OLDER = {
    1: [*NO_LEASES, "DROP TABLE workbench_views", "DROP INDEX workbench_labels_by_text", "ALTER TABLE workbench_labels DROP COLUMN digest",
        "ALTER TABLE workbench_labels DROP COLUMN drawn"],
    2: [*NO_LEASES, "DROP TABLE workbench_views", "DROP INDEX workbench_labels_by_text", "ALTER TABLE workbench_labels DROP COLUMN digest"],
}  # fmt: skip
"""What makes today's tables those of an older version."""
OLD_INDEX = "CREATE INDEX workbench_labels_by_sample ON workbench_labels (dataset, labeller, sample_key, id)"


@pytest.mark.parametrize("version", list(OLDER))
def test_labels_of_older_versions_are_kept(shared_url, version):
    """A store of before opens, keeps its labels for any text, and new ones know how they were drawn and of what."""
    samples = wb.Samples([{"id": "a", "prompt": "p", "completion": "c"}])
    who = {"labeller": "kim", "dataset": "d"}
    with open_store(shared_url) as store:
        store.labels.put("a", False, note="old", **who)
        with store._database.writing() as connection:
            for statement in (*OLDER[version], OLD_INDEX, f"UPDATE workbench_meta SET value = '{version}'"):
                connection.exec_driver_sql(statement)
    for _ in range(2):
        with open_store(shared_url) as store:
            old = store.labels.latest(samples, dataset="d")["a"]
            assert (old.value, old.note, old.labeller, old.drawn, old.digest) == (False, "old", "kim", "", "")
            assert old.tags == ()
            with store._database.reading() as connection:
                assert schema.version_of(connection) == schema.VERSION
    assert indexes_of(shared_url) == {"workbench_labels_by_text"}
    with open_store(shared_url) as store:
        store.labels.put(samples[0], True, drawn="random", **who)
        assert store.labels.latest(dataset="d")["a"].drawn == "random"
        assert len(store.labels.latest(dataset="d")["a"].digest) == 16
        left = store.labels.undo(samples[0], **who)
        assert (left.value, left.drawn, left.digest) == (False, "", "")


def test_claims_of_version_5_become_leases(shared_url):
    """The tables of claims go, since no process of that release shares the store any more."""
    with open_store(shared_url) as store, store._database.writing() as connection:
        for statement in (*NO_LEASES, CLAIMS, "UPDATE workbench_meta SET value = '5'"):
            connection.exec_driver_sql(statement)
    with open_store(shared_url) as store:
        assert background.run(store.replies.claim("k"))
        with store._database.reading() as connection:
            assert schema.version_of(connection) == schema.VERSION
            assert not sa.inspect(connection).has_table("workbench_claims")


def indexes_of(url):
    import sqlalchemy as sa

    engine = sa.create_engine(parse(url).url)
    found = {str(one["name"]) for one in sa.inspect(engine).get_indexes("workbench_labels")}
    engine.dispose()
    return found


def test_a_step_that_fails_leaves_the_store_as_it_was(shared_url, monkeypatch):
    """None of the steps is done, and the release before can still open it."""
    with open_store(shared_url) as store:
        store.labels.put("a", True)
    last = schema.VERSION + 2
    with monkeypatch.context() as patch:
        patch.setattr(schema, "VERSION", last)
        patch.setattr(schema, "STEPS", {last - 1: add_colour, last: fail_late})
        with pytest.raises(StoreError, match="no_such_table"):
            open_store(shared_url)
    with open_store(shared_url) as store:
        assert store.labels.get("a") == [True]
        assert not {"colour", "shape"} & columns_of(store)


def test_a_store_without_a_readable_version(tmp_path):
    """Somebody emptied the mark: told, not guessed."""
    with open_store(tmp_path / "w.db") as store, store._database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM workbench_meta")
    with pytest.raises(StoreError, match="no readable version"):
        open_store(tmp_path / "w.db")


def test_many_processes_make_one_store(shared_url):
    """The first makes the tables, the others find them."""
    code = "import sys; from workbench.store import open_store; open_store(sys.argv[1], timeout=600).labels.put('a', True)"
    made = [
        subprocess.Popen([sys.executable, "-c", code, shared_url], stderr=subprocess.PIPE, text=True)
        for _ in range(5)
    ]
    assert [one.communicate(timeout=600)[1] for one in made] == [""] * 5
    with open_store(shared_url) as store:
        assert len(store.labels.history("a")) == 5


def test_a_store_cannot_be_copied_into_another_process(store):
    """Pickling says what to do instead."""
    with pytest.raises(StoreError, match="open it where it is needed"):
        pickle.dumps(store)
    with pytest.raises(StoreError):
        copy.deepcopy(store)


def test_closing_is_for_good_and_twice_is_once(store):
    """Every part says that the store is closed."""
    store.close()
    store.close()
    for call in (store.graders.list, store.labels.latest, store.runs.list, store.replies.count):
        with pytest.raises(StoreError, match="the store is closed"):
            call()


def test_a_store_left_open_is_let_go_of(tmp_path):
    """No warning and no lock remains of a store nobody holds any more."""
    code = """
import sys, gc, asyncio
from workbench.judges import Reply
from workbench.store import open_store
for _ in range(3):
    store = open_store(sys.argv[1])
    asyncio.run(store.replies.put("k", Reply("x"), model="m"))
    del store
    gc.collect()
kept = open_store(sys.argv[1])
print(kept.replies.count())
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, str(tmp_path / "w.db")], capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_reading_goes_on_in_a_store_that_is_written_to(tmp_path):
    """A writer's open transaction holds up no reader."""
    with open_store(tmp_path / "w.db") as one, open_store(tmp_path / "w.db") as two:
        background.run(one.replies.put("k", Reply("x"), model="m"))
        with one._database.writing() as made:
            made.exec_driver_sql("DELETE FROM workbench_replies")
            assert background.run(two.replies.get("k")) == Reply("x")
            assert two.graders.list() == ()


def test_a_file_deleted_under_an_open_store_is_noticed(tmp_path):
    """Writes and reads say that the file is gone, instead of going on in one that nobody can find."""
    with wb.open_store(tmp_path / "gone.db") as store:
        store.labels.put("one", True)
        for file in tmp_path.iterdir():
            file.unlink()
        for use in (lambda: store.labels.put("two", True), store.labels.latest):
            with pytest.raises(wb.errors.StoreError, match="file is gone"):
                use()


def test_a_file_replaced_under_an_open_store_is_noticed(tmp_path):
    """Deleted and made anew by somebody else: nothing goes into the file that is gone, and the new one is whole."""
    path = tmp_path / "w.db"
    with open_store(path) as store:
        store.labels.put("one", True)
        for file in tmp_path.iterdir():
            file.unlink()
        with open_store(path) as other:
            other.labels.put("other", True)
            assert store.lost == "was replaced by another one"
            for use in (lambda: store.labels.put("two", True), store.labels.latest):
                with pytest.raises(StoreError, match="was replaced by another one"):
                    use()
            store.close()
            assert (set(other.labels.latest()), other.lost) == ({"other"}, "")
    with open_store(path) as store:
        assert set(store.labels.latest()) == {"other"}


def test_a_file_that_is_put_back_is_the_same_one(tmp_path):
    """Moved away and back, or with an open store in another working directory: nothing is lost."""
    path, away = tmp_path / "w.db", tmp_path / "away.db"
    with open_store(path) as store:
        store.labels.put("one", True)
        path.rename(away)
        assert store.lost == "is gone"
        away.rename(path)
        store.labels.put("two", True)
        assert (store.labels.get(["one", "two"]), store.lost) == ([True, True], "")
    with open_store("sqlite://") as memory:
        assert memory.lost == ""


@pytest.mark.parametrize(
    "where", ["a\0b.db", Path("a\0b.db"), "sqlite:///a\0b.db", "sqlite:///a%00b.db", "postgresql://h/a\0b"]
)
def test_an_address_with_a_nul_is_refused_in_words(where):
    """No path can hold one; the characters are shown, not sent to the terminal."""
    with pytest.raises(StoreError) as caught:
        open_store(where)
    assert "NUL" in caught.value.what
    assert "\0" not in str(caught.value)
