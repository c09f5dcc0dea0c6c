"""Which label holds: the last that was given of a text and was not taken back.

Labels of one labeller, sample and digest are a pile: its last row is its top, and an undo adds a row that repeats the
one below. A label by id alone counts for every text under the id, so a text has up to two piles of a labeller, and an
id alone has all of them. Of several tops that one holds which was given last: an undo gives nothing, what it brings
back was given when it was first given.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from workbench.store.label import NONE
from workbench.store.named import Named
from workbench.store.schema import labels
from workbench.store.texts import read

__all__ = ["Top", "given", "holding", "is_same", "key_of", "tops"]

_CHUNK = 500
_MANY = 5_000
"""From so many samples on, all labels of the dataset are read at once."""

Top = tuple[int, Any]
"""When a label was given, as the number of the row that gave it, and the row that keeps it now."""


def key_of(name: str) -> str:
    """A sample's id as an index takes it: ids may be of any length."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def holding(
    connection: Connection, wanted: Named, dataset: str, labeller: str | None = None
) -> dict[int, Top]:
    """The label that holds for each sample that has one, by its place.

    Args:
        connection: To the store.
        wanted: The samples; one id may stand there with several texts.
        dataset: Whose samples they are.
        labeller: Whose labels; the last word, whoever said it, by default.
    """
    found = tops(connection, wanted.ids, dataset, labeller)
    places = [at for at, name in enumerate(wanted.ids) if name in found]
    known = [at for at in places if any(row.digest for _, row in found[wanted.ids[at]])]
    texts = dict(zip(known, wanted.digests_at(known), strict=True))
    fits = {at: [one for one in found[wanted.ids[at]] if _is_of(one, texts.get(at, ""))] for at in places}
    return {at: those[-1] for at, those in fits.items() if those}


def tops(
    connection: Connection, names: Sequence[str] | None, dataset: str, labeller: str | None = None
) -> dict[str, list[Top]]:
    """The labels on top, one of each labeller and digest, by sample: as they were given, the last one last.

    Args:
        connection: To the store.
        names: The samples' ids; None for all of the dataset.
        dataset: Whose samples they are.
        labeller: Whose labels; everybody's by default.
    """
    where = _where(dataset, labeller)
    c = labels.c
    newest = sa.select(sa.func.max(c.id)).where(*where).group_by(c.labeller, c.sample_key, c.digest)
    found: dict[str, list[Top]] = {}
    for name, row in _rows(connection, names, sa.select(labels), newest):
        if row.value != NONE:
            found.setdefault(name, []).append((row.id, row))
    if several := [name for name, those in found.items() if len(those) > 1]:
        # Only here does it matter when a label that an undo brought back was given.
        all_rows = _rows(connection, several, sa.select(labels).where(*where), None)
        when = given(row for _, row in all_rows)
        for name in several:
            found[name] = sorted(((when[row.id], row) for _, row in found[name]), key=lambda one: one[0])
    return found


def is_same(connection: Connection, row: Any, number: int) -> bool:
    """Whether a row keeps the label that another row of its sample and labeller keeps, given once.

    Args:
        connection: To the store.
        row: A row.
        number: The other's number.
    """
    if row.id == number:
        return True
    c = labels.c
    of = (c.dataset == row.dataset, c.labeller == row.labeller, c.sample_key == row.sample_key)
    when = given(connection.execute(sa.select(labels).where(*of).order_by(c.id)))
    return when[row.id] == when.get(number)


def given(rows: Iterable[Any]) -> dict[int, int]:
    """Number of each row, to the number of the row that first gave the label it keeps.

    A row that was put names the top of its pile as the one before; one that an undo added names the one before that.

    Args:
        rows: All rows of the samples they are of, by number.
    """
    seen: dict[int, Any] = {}
    top: dict[tuple[str, str, str], Any] = {}
    found: dict[int, int] = {}
    for row in rows:
        pile = (row.sample_key, row.labeller, row.digest)
        last = top.get(pile)
        below = None if last is None else seen.get(last.before)
        found[row.id] = row.id
        if below is not None and row.value != NONE and row.before == below.before:
            found[row.id] = found[below.id]
        seen[row.id] = top[pile] = row
    return found


def _where(dataset: str, labeller: str | None) -> list[Any]:
    mine = [] if labeller is None else [labels.c.labeller == labeller]
    return [labels.c.dataset == dataset, *mine]


def _rows(
    connection: Connection, names: Sequence[str] | None, wanted: sa.Select[Any], among: sa.Select[Any] | None
) -> list[tuple[str, Any]]:
    """Rows of these samples, by number, each with its sample's id.

    Args:
        connection: To the store.
        names: The samples; None for all.
        wanted: What is selected.
        among: Numbers of rows to keep to; None for any.
    """
    parts = [None] if names is None or len(names) > _MANY else _parts(list(dict.fromkeys(names)))
    asked = None if names is None else set(names)
    found: list[tuple[str, Any]] = []
    for part in parts:
        of = [] if part is None else [labels.c.sample_key.in_([key_of(one) for one in part])]
        some = wanted.where(*of) if among is None else wanted.where(labels.c.id.in_(among.where(*of)))
        rows = connection.execute(some.order_by(labels.c.id))
        named_rows = ((read(row.sample), row) for row in rows)
        found += [(name, row) for name, row in named_rows if asked is None or name in asked]
    return found


def _parts(names: Sequence[str]) -> list[Sequence[str]]:
    return [names[start : start + _CHUNK] for start in range(0, len(names), _CHUNK)]


def _is_of(top: Top, text: str) -> bool:
    """Whether a label counts for a text: as far as both are known they are the same."""
    digest = top[1].digest
    return not (digest and text) or digest == text
