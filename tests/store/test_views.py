"""Saved views of the app: by dataset and name, replaced by name, in any text."""

from __future__ import annotations

import pytest

from workbench.store import StoreError

STATE = {"mode": "grade", "grader": "contains", "where": [{"label": False}], "search": "a\x00\ud800"}


def test_a_view_comes_back_as_it_was(store):
    """In any text that JSON can say, and in no other dataset."""
    store.views.save("mine", STATE, dataset="d")
    saved = store.views.get("mine", dataset="d")
    assert (saved.name, saved.dataset, dict(saved.state)) == ("mine", "d", STATE)
    with pytest.raises(StoreError, match="no saved view 'mine'"):
        store.views.get("mine")


def test_a_view_of_the_same_name_is_replaced(store):
    """There is one of each name; the list is by name."""
    store.views.save("b", STATE)
    store.views.save("a", STATE)
    store.views.save("b", {"mode": "try"})
    assert [(saved.name, saved.state["mode"]) for saved in store.views.list()] == [
        ("a", "grade"),
        ("b", "try"),
    ]
    assert store.views.list(dataset="other") == ()


def test_a_deleted_view_is_gone(store):
    """And cannot be deleted again."""
    store.views.save("a", STATE)
    store.views.delete("a")
    assert store.views.list() == ()
    with pytest.raises(StoreError, match="no saved view 'a'"):
        store.views.delete("a")


@pytest.mark.parametrize("name", ["", " a", "x" * 201, None, "a\nb"])
def test_names_that_are_none(store, name):
    """Nothing is kept under them."""
    with pytest.raises(StoreError, match="short printable text"):
        store.views.save(name, STATE)
    assert store.views.list() == ()


def test_what_json_cannot_say(store):
    """It is refused, and what was there stays."""
    store.views.save("a", STATE)
    with pytest.raises(StoreError, match="JSON does not support it"):
        store.views.save("a", {"rows": {1, 2}})
    assert dict(store.views.get("a").state) == STATE
