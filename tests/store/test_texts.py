"""Labels belong to the text that was labelled, and an undo to who labelled."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.store import StoreError, effective_labels, open_store
from workbench.store.address import LabelledSinceError
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
    assert [one.before for one in store.labels.history("a")] == [
        None,
        None,
        store.labels.history("a")[0].id,
    ]
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
        monkeypatch.setattr(effective_labels, "_MANY", many)
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
            LabelledSinceError, match=r"'a' was labelled again in another session\n  found: bad, at"
        ):
            one.labels.undo(OLD[0], only=mine)
        assert (one.labels.get(OLD)[0], len(one.labels.history("a"))) == (False, 2)
        back = two.labels.undo(OLD[0], only=theirs)
        assert (back.value, back.before) == (True, None)
        two.labels.put(NEW[0], False)
        assert one.labels.undo(OLD[0], only=back) is None, "what was said of another text is no reason"
        with pytest.raises(StoreError, match="label of sample 'a' was undone"):
            one.labels.undo(OLD[0], only=back)


def test_who_writes_labels_waits_for_others(shared_url):
    """What the last label is cannot change between reading it and going back from it."""
    with open_store(shared_url) as one, open_store(shared_url, timeout=0.05) as two:
        one.labels.put("a", True)
        with one._database.writing() as connection:
            lock_labels(connection)
            for use in (lambda: two.labels.undo("a"), lambda: two.labels.put("a", False)):
                with pytest.raises(StoreError, match="locked by another process"):
                    use()
        assert two.labels.undo("a") is None


def seen_from(pile, text):
    """Which of the labels that were not taken back count for a text; of an id alone all do."""
    return [one for one in pile if not (one[0] and text) or one[0] == text]


def last_of(pile):
    """What `latest` says of a sample with these labels."""
    return {"a": pile[-1][1].value} if pile else {}


@given(
    st.lists(
        st.tuples(st.sampled_from(["4", "5", ""]), st.sampled_from([True, False, None, "undo"])), max_size=12
    )
)
def test_labels_and_undos_of_two_texts_and_of_their_id(moves):
    """Each text is a pile of labels, a label by id alone lies on both, and an undo takes the last that is seen."""
    forms = {"4": OLD[0], "5": NEW[0], "": "a"}
    pile = []
    with open_store("sqlite://") as store:
        for text, move in moves:
            seen = seen_from(pile, text)
            if move != "undo":
                pile.append((text, store.labels.put(forms[text], move)))
            elif seen:
                pile.remove(seen[-1])
                left = store.labels.undo(forms[text])
                assert ({"a": left.value} if left else {}) == last_of(seen[:-1])
            for asked, form in forms.items():
                assert values(store.labels.latest([form])) == last_of(seen_from(pile, asked))
        assert values(store.labels.latest()) == last_of(pile)
        while pile:  # each is still the label that it was when it was given
            store.labels.undo("a", only=pile.pop()[1])
        assert store.labels.latest() == {}


def test_an_undo_brings_back_what_held(store):
    """Also where that was said of the id alone, or before it of the text."""
    store.labels.put(OLD[0], True)
    store.labels.put("a", False)
    store.labels.put(OLD[0], None)
    assert store.labels.undo(OLD[0]).value is False
    store.labels.put("b", True)
    store.labels.put(OLD[1], False)
    store.labels.put("b", None)
    assert store.labels.undo("b").value is False
    assert store.labels.get(OLD[1:2]) == [False]


def test_an_undo_is_no_new_label(store):
    """Of two labellers that one has the last word who said something last, whoever took what back."""
    store.labels.put("a", True, labeller="lee")
    store.labels.put("a", None, labeller="lee")
    store.labels.put("a", False, labeller="kim")
    assert store.labels.undo("a", labeller="lee").value is True
    assert store.labels.get("a") == [False]


def test_one_id_with_two_texts_in_one_call(store):
    """Each place has the label of its own text, in any order and form."""
    both = [OLD[0], NEW[0]]
    store.labels.put(both, [True, False], labeller="kim")
    assert store.labels.get(both) == [True, False]
    assert store.labels.get([*both[::-1], "a"]) == [False, True, False]
    assert store.labels.columns(both)["kim"].tolist() == [True, False]
    assert values(store.labels.latest(both[::-1])) == {"a": False}
    assert [one.before for one in store.labels.history("a")] == [None, None]


def test_a_text_that_is_given_twice_in_one_call(store):
    """The second label lies on the first, and an undo goes back to that."""
    view = OLD.take([0, 0, 1])
    store.labels.put(view, [True, False, None])
    assert store.labels.get(view) == [False, False, None]
    assert store.labels.undo(OLD[0]).value is True
    assert store.labels.undo(OLD[0]) is None


def test_what_latest_returns_names_samples(store):
    """With the texts that were labelled, in every call that takes samples."""
    store.labels.put(OLD, [True, False, None])
    store.labels.put("b", True)
    held = store.labels.latest()
    assert store.labels.get(held) == [True, True, None]
    assert store.labels.latest(held) == held
    store.labels.put(held, False)
    assert (store.labels.get(OLD), store.labels.get(NEW)) == ([False] * 3, [None, False, None])


@pytest.mark.parametrize("odd", [True, None, "good", "0" * 15, "G" * 16, {}])
def test_what_is_no_digest_is_refused(store, odd):
    """Nobody's mapping of ids to something else is taken for digests."""
    for use in (store.labels.get, store.labels.latest, lambda of: store.labels.put(of, True)):
        with pytest.raises(
            StoreError, match="must contain the digest of each text\n  found: .*\n  expected: 16 hex"
        ):
            use({"a": odd})
