"""Labelling as a page does it: a card, a key, and what the store has then."""

from __future__ import annotations

import workbench as wb
from workbench.store import StoreError


def first(page):
    """The card to decide."""
    return page.label["cards"][0]


def press(page, action, note="", seq=None):
    """What a page sends for a key; the name of the row that was shown."""
    card = first(page) if page.label["cards"] else {"seq": -1, "id": ""}
    page.tell("label", action=action, seq=card["seq"] if seq is None else seq, note=note, turn=1)
    return card["id"]


def kept(url):
    """What another reader of the store sees: sample to value, note and labeller."""
    with wb.open_store(url) as store:
        labels = store.labels.latest(dataset="mine")
        return {name: (label.value, label.note, label.labeller) for name, label in labels.items()}


FULL = StoreError("the disk is full")


def break_store(page, broken, name="put", error=FULL):
    """Let a method of the labels' store fail."""

    def full(*_args, **_named):
        raise error

    broken.setattr(type(page.session.storage.store.labels), name, full)


def counts(page):
    """Rows decided, good, bad and skipped."""
    return tuple(page.label[name] for name in ("done", "good", "bad", "skipped"))
