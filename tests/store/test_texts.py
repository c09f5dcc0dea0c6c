"""Labels belong to the text that was labelled, and an undo to who labelled."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.store import StoreError, open_store
from workbench.store import labels as module
from workbench.store.errors import LabelledSinceError
from workbench.store.schema import lock_labels


def answers(text, **more):
    """Three samples whose ids are the same whatever they say."""
    return wb.Samples([{"id": name, "prompt": "2+2?", "completion": text, **more} for name in "abc"])


OLD, NEW = answers("4"), answers("5")
IDS = ["a", "b", "c"]


def values(labels):
    return {name: label.value for name, label in labels.items()}


def test_a_label_does_not_go_to_another_text(store):
    """New completions under the old ids have no labels, in any form of asking; the ids alone have all."""
    store.labels.put(OLD, [True, False, None], labeller="kim")
    assert store.labels.get(OLD) == [True, False, None]
    assert store.labels.get(NEW) == [None] * 3
    assert store.labels.get(list(NEW)[:2]) == [None, None]
    assert (dict(store.labels.latest(NEW)), dict(store.labels.latest(NEW[1]))) == ({}, {})
    assert store.labels.columns(NEW)["kim"].tolist() == [None] * 3
    assert store.labels.columns(OLD)["kim"].tolist() == [True, False, None]
    assert (
        values(store.labels.latest(IDS))
        == values(store.labels.latest())
        == {"a": True, "b": False, "c": None}
    )
    assert store.labels.get(answers("4", seen="elsewhere", good=True)) == [True, False, None]


def test_a_label_of_a_later_text_does_not_hide_the_first_ones(store):
    """Whoever goes back to the old completions finds their labels; of the ids the last word is told."""
    store.labels.put(OLD, True)
    store.labels.put(NEW[0], False)
    assert store.labels.get(OLD) == [True] * 3
    assert store.labels.get(NEW) == [False, None, None]
    assert store.labels.get(IDS) == [False, True, True]
    store.labels.put(OLD[0], None)
    assert [one.before for one in store.labels.history("a")] == [None, None, store.labels.history("a")[0].id]
    assert store.labels.undo(OLD[0]).value is True
    assert store.labels.get(NEW) == [False, None, None]
    assert len({one.digest for one in store.labels.history(NEW[0])}) == 2


def test_a_label_by_id_alone_holds_for_any_text(store):
    """As a label of an older store does; of a text that is labelled itself the later one holds."""
    store.labels.put("a", True)
    assert (store.labels.get(OLD)[0], store.labels.get(NEW)[0]) == (True, True)
    store.labels.put(NEW[0], False)
    assert (store.labels.get(OLD)[0], store.labels.get(NEW)[0]) == (True, False)
    assert store.labels.undo(NEW[0]).value is True
    assert store.labels.undo("a") is None
    assert store.labels.latest() == {}


def test_samples_may_be_told_by_their_digests(store):
    """A mapping of ids to digests says what the samples do."""
    store.labels.put(OLD, True)
    told = {name: label.digest for name, label in store.labels.latest().items()}
    assert store.labels.get(told) == [True] * 3
    assert store.labels.get({**told, "a": "0" * 16}) == [None, True, True]
    store.labels.put({"a": "0" * 16}, False)
    assert store.labels.get(OLD) == [True] * 3


def test_a_large_dataset_reads_all_labels_at_once(store, monkeypatch):
    """The same is found either way, and nothing of samples that nobody asked about."""
    store.labels.put(OLD, [True, False, None])
    store.labels.put(["d", "e"], True)
    store.labels.put(NEW[1], True)
    seen = []
    for many in (5_000, 1):
        monkeypatch.setattr(module, "_MANY", many)
        seen.append([values(store.labels.latest(of)) for of in (OLD, NEW, IDS, OLD.take([1, 2]))])
    assert seen[0] == seen[1]
    assert seen[0][3] == {"b": False, "c": None}


def test_one_label_is_told_as_it_is_kept(store):
    """So that it can be taken back, and no other; several are told nothing about."""
    kept = store.labels.put(OLD[1], False, note="why", labeller="kim", drawn="random")
    assert kept == store.labels.latest(OLD)["b"]
    assert (kept.value, kept.note, kept.drawn, kept.before) == (False, "why", "random", None)
    assert store.labels.put("b", True).digest == ""
    assert store.labels.put(OLD, True) is None
    assert "id" not in repr(kept).split("drawn")[1]


def test_an_undo_takes_only_the_label_it_names(shared_url):
    """Of two who label under one name, the first cannot take back what the second said."""
    with open_store(shared_url) as one, open_store(shared_url) as two:
        mine = one.labels.put(OLD[0], True)
        theirs = two.labels.put(OLD[0], False)
        with pytest.raises(
            LabelledSinceError, match=r"'a' was labelled again elsewhere since\n  found: bad, at"
        ):
            one.labels.undo(OLD[0], only=mine)
        assert (one.labels.get(OLD)[0], len(one.labels.history("a"))) == (False, 2)
        back = two.labels.undo(OLD[0], only=theirs)
        assert (back.value, back.before) == (True, None)
        two.labels.put(NEW[0], False)
        assert one.labels.undo(OLD[0], only=back) is None, "what was said of another text is no reason"
        with pytest.raises(StoreError, match="label of sample 'a' was taken back elsewhere"):
            one.labels.undo(OLD[0], only=back)


def test_who_writes_labels_waits_for_others(shared_url):
    """What the last label is cannot change between reading it and going back from it."""
    with open_store(shared_url) as one, open_store(shared_url, timeout=0.05) as two:
        one.labels.put("a", True)
        with one._database.writing() as connection:
            lock_labels(connection)
            for use in (lambda: two.labels.undo("a"), lambda: two.labels.put("a", False)):
                with pytest.raises(StoreError, match="another process holds"):
                    use()
        assert two.labels.undo("a") is None


@given(
    st.lists(
        st.tuples(st.sampled_from([OLD[0], NEW[0]]), st.sampled_from([True, False, None, "undo"])),
        max_size=12,
    )
)
def test_each_text_has_labels_and_undos_of_its_own(moves):
    """Whatever is done to one text, the other keeps what it had: each is a pile of labels."""
    piles = {"4": [], "5": []}
    with open_store("sqlite://") as store:
        for sample, move in moves:
            pile = piles[sample.thread.completion()]
            if move != "undo":
                store.labels.put(sample, move)
                pile.append(move)
            elif pile:
                pile.pop()
                left = store.labels.undo(sample)
                assert (left.value if left else "none") == (pile[-1] if pile else "none")
        for of in (OLD, NEW):
            pile = piles[of[0].thread.completion()]
            assert values(store.labels.latest(of)) == ({"a": pile[-1]} if pile else {})
