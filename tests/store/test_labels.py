"""Labels: one row at once, the last word holds, nothing is lost."""

import threading

import pytest

import workbench as wb
from workbench.store import StoreError, open_store

ROWS = [{"id": name, "prompt": "2+2?", "completion": "4"} for name in "abc"]


@pytest.fixture
def samples():
    return wb.Samples(ROWS)


def test_labels_align_with_samples(store, samples):
    """One entry a row, in the rows' order, as `labels=` of a run takes them."""
    store.labels.put("c", True)
    store.labels.put(samples[0], False, note="rude")
    assert store.labels.get(samples) == [False, None, True]
    assert store.labels.get(samples.take([2, 0])) == [True, False]
    report = wb.Contains(expected="4").run(samples, progress=False, labels=store.labels.get(samples))
    assert list(report.labels) == [False, None, True]


def test_a_skip_is_no_label_and_is_known(store, samples):
    """A skipped row has None as its label, and counts as seen."""
    store.labels.put("a", None)
    assert store.labels.get(samples) == [None, None, None]
    latest = store.labels.latest(samples)
    assert set(latest) == {"a"}
    assert latest["a"].value is None
    assert not latest["a"].withdrawn


def test_many_at_once_are_one_transaction(store, samples):
    """All rows get their own value and note; a wrong one stores none."""
    store.labels.put(samples, [True, False, None], note=["x", "y", "z"], labeller="kim")
    assert [label.note for label in store.labels.latest(samples).values()] == ["x", "y", "z"]
    with pytest.raises(StoreError, match=r"True \(good\), False \(bad\) or None"):
        store.labels.put(["d", "e"], [True, 0.5])
    with pytest.raises(StoreError, match="as many values as samples"):
        store.labels.put(["d", "e"], [True])
    assert set(store.labels.latest()) == {"a", "b", "c"}
    store.labels.put([], True)


def test_the_last_label_holds_and_the_history_stays(store):
    """Labelling again replaces; what was said before can be read."""
    for value in (True, None, False):
        store.labels.put("a", value, labeller="kim")
    assert store.labels.get("a") == [False]
    assert [label.value for label in store.labels.history("a")] == [True, None, False]


def test_undo_goes_back_step_by_step(store):
    """Each undo shows what held before; after the first label there is none, and then nothing to undo."""
    for value, note in ((True, "one"), (False, "two")):
        store.labels.put("a", value, note=note)
    assert store.labels.undo("a").note == "one"
    store.labels.put("a", None, note="three")
    assert (store.labels.undo("a").value, store.labels.get("a")) == (True, [True])
    assert store.labels.undo("a") is None
    assert (store.labels.get("a"), dict(store.labels.latest())) == ([None], {})
    with pytest.raises(StoreError, match="no label to undo"):
        store.labels.undo("a")
    assert len(store.labels.history("a")) == 6
    assert store.labels.history("a")[-1].withdrawn
    store.labels.put("a", False)
    assert store.labels.get("a") == [False]
    assert store.labels.undo("a") is None


def test_how_rows_were_drawn_stays_with_the_label(store):
    """Each label says how its row was drawn, and an undo brings that back with it."""
    store.labels.put("a", True, drawn="random", note="one")
    store.labels.put(["a", "b"], False, drawn="class-balanced 1/4")
    assert {label.drawn for label in store.labels.latest().values()} == {"class-balanced 1/4"}
    assert (store.labels.undo("a").drawn, store.labels.latest()["a"].note) == ("random", "one")
    with pytest.raises(StoreError, match="how rows were drawn"):
        store.labels.put("a", True, drawn="x\ny")


def test_tags_stay_with_the_label(store):
    """Each once, in order; another label has its own, and an undo brings the former back."""
    kept = store.labels.put("a", False, tags=["wrong unit", "rude", "wrong unit"])
    assert kept.tags == store.labels.latest()["a"].tags == ("wrong unit", "rude")
    store.labels.put(["a", "b"], True, tags=("ünicode",))
    assert store.labels.latest()["b"].tags == ("ünicode",)
    assert store.labels.undo("a").tags == ("wrong unit", "rude")
    assert store.labels.put("a", None).tags == ()
    for wrong in ("rude", [1], [""], ["a\nb"], [str(n) for n in range(21)]):
        with pytest.raises(StoreError, match="tag"):
            store.labels.put("a", True, tags=wrong)
    assert store.labels.latest()["a"].value is None


def test_labellers_do_not_overwrite_each_other(store, samples):
    """Each has a column; without a name the last word counts, and an undo uncovers the other's."""
    store.labels.put(samples, True, labeller="kim")
    store.labels.put("b", False, labeller="lee")
    store.labels.put("c", None, labeller="lee")
    table = store.labels.columns(samples)
    assert table.index.tolist() == ["a", "b", "c"]
    assert table["kim"].tolist() == [True, True, True]
    assert table["lee"].tolist() == [None, False, None]
    assert store.labels.get(samples) == [True, False, None]
    store.labels.undo("b", labeller="lee")
    assert store.labels.get(samples) == [True, True, None]
    assert store.labels.labellers() == ["kim", "lee"]


def test_datasets_do_not_mix(store, samples):
    """The same id in two datasets is two samples."""
    store.labels.put("a", True, dataset="one")
    store.labels.put("a", False, dataset="two")
    assert store.labels.get(samples, dataset="one") == [True, None, None]
    assert store.labels.get(samples, dataset="two") == [False, None, None]
    assert store.labels.get(samples) == [None, None, None]
    assert store.labels.datasets() == ["one", "two"]
    assert store.labels.history("a", dataset="one")[0].value is True


def test_ids_of_any_text_and_length(store):
    """A NUL, a lone surrogate, 10,000 characters: each is its own sample."""
    names = ["a\0", "a", "\ud800", "\ud800\udc00", "\U00010000", "x" * 10_000, "x" * 9_999, ""]
    store.labels.put(names, [True, False] * 4, note="\0\udfff")
    assert store.labels.get(names) == [True, False] * 4
    assert store.labels.latest()["a\0"].note == "\0\udfff"


def test_many_samples_are_read_in_parts(store):
    """More samples than one statement can name."""
    names = [f"s{n}" for n in range(1_203)]
    store.labels.put(names, [n % 2 == 0 for n in range(1_203)])
    assert store.labels.get(names) == [n % 2 == 0 for n in range(1_203)]


@pytest.mark.parametrize("value", [1, 0.0, "good", "true", float("nan")])
def test_what_is_no_label_is_refused(store, value):
    """Labels are True, False or None; nothing is guessed."""
    with pytest.raises(StoreError, match="a label is"):
        store.labels.put("a", value)
    with pytest.raises(StoreError, match="named by its id"):
        store.labels.put([1], True)
    with pytest.raises(StoreError, match="labeller must be"):
        store.labels.put("a", True, labeller="kim\n")


def test_labels_from_threads(store):
    """Widget callbacks of several threads may write at once."""
    threads = [
        threading.Thread(target=lambda n=n: store.labels.put(f"s{n}", True, labeller=f"l{n % 2}"))
        for n in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.labels.get([f"s{n}" for n in range(12)]) == [True] * 12


def test_a_label_is_there_for_the_next_session(shared_url):
    """What `put` has returned for is in the database."""
    with open_store(shared_url) as one, open_store(shared_url) as two:
        one.labels.put("a", True, note="clear")
        assert two.labels.latest()["a"].note == "clear"
