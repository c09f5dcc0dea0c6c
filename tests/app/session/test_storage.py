"""The store of an app, and its warning if it cannot be opened."""

import pytest

import workbench as wb
from tests.app.widgets import using
from workbench.app.session.storage import Storage


@pytest.fixture
def labels(tmp_path):
    """With a label in a separate folder's file."""
    made = using.labels_of(wb.Samples(using.ROWS), None, str(tmp_path / "l.db"), dataset="d")
    made.put("row-1", True)
    yield made
    made.storage.close()


@pytest.mark.parametrize("again", [False, True])
def test_a_store_that_is_gone_is_opened_anew(labels, tmp_path, again):
    """Deleted, or replaced by another process: cached labels are dropped, and new ones go to the new file."""
    assert labels.own_labels
    for file in tmp_path.iterdir():
        file.unlink()
    if again:
        with wb.open_store(tmp_path / "l.db") as other:
            other.labels.put("row-2", False, dataset="d")
    with pytest.raises(wb.errors.StoreError, match="replaced by another" if again else "is gone"):
        labels.put("row-3", True)
    assert labels.storage.reopen() is True
    labels.forget()
    assert (set(labels.latest), labels.last_labelled) == ({"row-2"} if again else set(), None)
    labels.put("row-3", True)
    assert labels.storage.reopen() is False
    with wb.open_store(tmp_path / "l.db") as store:
        assert set(store.labels.latest(dataset="d")) == {"row-3"} | ({"row-2"} if again else set())


def test_reopening_leaves_what_is_well(labels, tmp_path):
    """An open store with its file, one that was never used, one in memory, and a store that was given."""
    store = labels.storage.store
    assert (labels.storage.reopen(), labels.storage.store is store, labels.last_labelled) == (
        False,
        True,
        "row-1",
    )
    assert not Storage(str(tmp_path / "no.db")).reopen()
    memory = Storage(None)
    kept = memory.store
    assert (memory.reopen(), memory.store is kept) == (False, True)
    memory.close()
    with wb.open_store(tmp_path / "given.db") as given:
        storage = Storage(given)
        assert storage.store is given
        (tmp_path / "given.db").unlink()
        assert (given.lost, storage.reopen(), storage.store is given) == ("is gone", False, True)


def test_labels_that_cannot_be_read_are_not_passed_over_in_silence(tmp_path, monkeypatch):
    """If the default file exists, the warning states that it is not read; otherwise it does not."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "workbench.db").write_text("no database " * 100)
    spoilt = Storage("sqlite:///workbench.db")
    spoilt.store.close()
    assert spoilt.warning.endswith("not an SQLite database. The content of workbench.db is not read.")
    (tmp_path / "workbench.db").unlink()
    (tmp_path / "workbench.db").mkdir()
    folder = Storage("sqlite:///workbench.db")
    folder.store.close()
    assert "only in memory" in folder.warning
    assert "not read" not in folder.warning
