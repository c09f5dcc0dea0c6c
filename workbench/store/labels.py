"""People's labels, by dataset, sample and labeller."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from workbench.samples import Sample
from workbench.store.database import Database
from workbench.store.errors import LabelledSinceError, StoreError
from workbench.store.graders import check_name
from workbench.store.listing import Listing
from workbench.store.named import Named, Which, named
from workbench.store.schema import labels, lock_labels, now
from workbench.store.texts import kept, read

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Label", "Labels"]

_CHUNK = 500
_MANY = 5_000
"""From so many samples on, all labels of the dataset are read at once."""
_WORDS = {True: "good", False: "bad", None: "skip"}
_NONE = "none"
"""What an undo of the first label leaves."""
_VALUES: dict[str, bool | None] = {word: value for value, word in _WORDS.items()}


@dataclass(frozen=True)
class Label:
    """What one labeller said of one sample.

    Attributes:
        sample: The sample's id.
        labeller: Who.
        value: True good, False bad, None skipped.
        note: What they wrote beside it.
        at: When, in UTC.
        withdrawn: Whether this is an undo that left no label.
        drawn: How its row came to be labelled, such as "random"; "" where nobody says.
        digest: What the sample said when it was labelled: 16 hexadecimal digits of its turns and tool calls. "" where
            only its id was given, and for labels of stores before version 3: these hold for any text under the id.
        id: Its number in the store.
        before: Number of the label that an undo goes back to; None for none.
    """

    sample: str
    labeller: str
    value: bool | None
    note: str
    at: datetime
    withdrawn: bool = False
    drawn: str = ""
    digest: str = ""
    id: int = field(default=0, repr=False)
    before: int | None = field(default=None, repr=False)


class Labels:
    """The labels of a store. The last of a sample and labeller holds; all are kept.

    Every method takes `dataset`, a name of your choice, so that the samples of two datasets do not mix.

    A label belongs to the text that was labelled: for a `Sample` or `Samples` only labels of what it says count, so that
    new completions under the ids of old ones have no labels. For ids alone, whatever was last said of them holds.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(
        self, samples: Which, value: Any, *, labeller: str = "", dataset: str = "", note: str | Sequence[str] = "",
        drawn: str = "",
    ) -> Label | None:  # fmt: skip
        """Keep a label for each sample; all of them or, on an error, none. Returns when they are committed.

        Args:
            samples: One id or `Sample`, or several: `Samples` or ids. Of a sample the label keeps what it says.
            value: True good, False bad, None skipped; one for all or one each.
            labeller: Who says so.
            dataset: Whose samples they are.
            note: A remark; one for all or one each.
            drawn: How these rows were chosen, such as "random": labels of rows that were chosen for what a
                grader said of them make its rates wrong.

        Returns:
            The label as it is kept, where one sample is given by itself; None for several.

        Raises:
            StoreError: A value that is none of these, or another number of them than of samples.
        """
        _check(labeller, dataset)
        check_name("how rows were drawn", drawn, empty=True)
        wanted = named(samples)
        said = _said(wanted, value, note, drawn)
        with self._database.writing() as connection:
            lock_labels(connection)
            rows = _rows(connection, wanted, said, dataset, labeller)
            if isinstance(samples, str | Sample):
                return _label(_by_id(connection, _insert(connection, rows[0])))
            if rows:
                connection.execute(labels.insert(), rows)
        return None

    def undo(
        self, sample: str | Sample, *, labeller: str = "", dataset: str = "", only: Label | None = None
    ) -> Label | None:
        """Go back to the label before the last one, of the same text; the one that holds now, None where there is none.

        Again and again it goes further back. What was undone stays in the history.

        Args:
            sample: Its id, or the `Sample`: then labels of what it says are gone through.
            labeller: Whose label.
            dataset: Whose sample it is.
            only: Take this label back and no other: somebody else of the same name may have labelled since.

        Raises:
            StoreError: There is no label to undo, or `only` is not the last one any more; nothing was changed.
        """
        _check(labeller, dataset)
        wanted = named(sample)
        (name,) = wanted.ids
        with self._database.writing() as connection:
            lock_labels(connection)
            last = _last(connection, wanted, dataset, labeller).get(name)
            if only is not None and (last is None or last.id != only.id):
                raise _labelled_since(name, None if last is None else _label(last))
            if last is None:
                raise StoreError(f"sample {name!r} has no label to undo"[:300])
            below = _by_id(connection, last.before)
            held = {"value": _NONE, "note": "", "before": None, "drawn": ""}
            if below is not None:
                held = {key: getattr(below, key) for key in held}
            held |= {"digest": last.digest, "at": now()}
            _insert(connection, _row(name, dataset, labeller) | held)
            now_held = _last(connection, wanted, dataset, labeller).get(name)
        return None if now_held is None else _label(now_held)

    def get(self, samples: Which, *, labeller: str | None = None, dataset: str = "") -> list[bool | None]:
        """One label a sample, in the samples' order: True good, False bad, None skipped or not labelled.

        This is what `labels=` of a run or a report takes.

        Args:
            samples: As in `put`.
            labeller: Whose; by default the last word, whoever said it.
            dataset: Whose samples they are.
        """
        wanted = named(samples)
        return self._values(wanted, self._held(wanted, labeller, dataset))

    def latest(
        self, samples: Which | None = None, *, labeller: str | None = None, dataset: str = ""
    ) -> Mapping[str, Label]:
        """The label that holds for each sample that has one, skips included; all samples of the dataset by default."""
        return self._held(None if samples is None else named(samples), labeller, dataset)

    def columns(self, samples: Which, *, dataset: str = "") -> pd.DataFrame:
        """One line a sample in order (index: ids), a column a labeller: True, False or None."""
        import pandas as pd

        wanted, names = named(samples), self.labellers(dataset=dataset)
        columns = {name: self._values(wanted, self._held(wanted, name, dataset)) for name in names}
        return pd.DataFrame(
            columns, index=pd.Index(wanted.ids, name="sample"), columns=list(names), dtype=object
        )

    def _held(self, wanted: Named | None, labeller: str | None, dataset: str) -> dict[str, Label]:
        _check(labeller or "", dataset)
        with self._database.reading() as connection:
            last = _last(connection, wanted, dataset, labeller)
        return {name: _label(row) for name, row in last.items()}

    @staticmethod
    def _values(wanted: Named, held: Mapping[str, Label]) -> list[bool | None]:
        return [held[name].value if name in held else None for name in wanted.ids]

    def labellers(self, *, dataset: str = "") -> list[str]:
        """Who labelled, sorted."""
        wanted = sa.select(labels.c.labeller).where(labels.c.dataset == dataset).distinct()
        with self._database.reading() as connection:
            return sorted(connection.execute(wanted).scalars())

    def datasets(self) -> list[str]:
        """Which datasets have labels, sorted."""
        with self._database.reading() as connection:
            return sorted(connection.execute(sa.select(labels.c.dataset).distinct()).scalars())

    def history(self, sample: str | Sample, *, dataset: str = "") -> Listing[Label]:
        """All that was ever said of a sample, oldest first, whatever it said then; an undo repeats what holds since."""
        (name,) = named(sample).ids
        wanted = sa.select(labels).where(labels.c.dataset == dataset, labels.c.sample_key == _key(name))
        with self._database.reading() as connection:
            rows = connection.execute(wanted.order_by(labels.c.id)).all()
        return Listing(map(_label, rows))

    def __repr__(self) -> str:
        return f"Labels in {self._database.address.shown}"


def _check(labeller: str, dataset: str) -> None:
    check_name("a labeller", labeller, empty=True)
    check_name("a dataset", dataset, empty=True)


def _said(wanted: Named, value: Any, note: Any, drawn: str) -> list[dict[str, str]]:
    """What is said of each of these samples, and what they say, as columns hold it."""
    n = len(wanted.ids)
    words = [_word(one) for one in _each(value, n, "values")]
    notes = [_note(one) for one in _each(note, n, "notes")]
    return [
        {"value": word, "note": text, "drawn": drawn, "digest": digest}
        for word, text, digest in zip(words, notes, wanted.digests, strict=True)
    ]


def _each(value: Any, n: int, what: str) -> list[Any]:
    """One value for all, or one each."""
    if value is None or isinstance(value, str) or not isinstance(value, Iterable):
        return [value] * n
    values = list(value)
    if len(values) != n:
        raise StoreError(f"there must be as many {what} as samples", found=str(len(values)), expected=str(n))
    return values


def _word(value: Any) -> str:
    if isinstance(value, bool | np.bool_) or value is None:
        return _WORDS[None if value is None else bool(value)]
    raise StoreError("a label is True (good), False (bad) or None (skipped)", found=repr(value)[:80])


def _note(text: Any) -> str:
    if not isinstance(text, str):
        raise StoreError("a note must be text", found=repr(text)[:80])
    return kept(text)


def _key(name: str) -> str:
    """A sample's id as an index takes it: ids may be of any length."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def _row(name: str, dataset: str, labeller: str) -> dict[str, Any]:
    return {"sample": kept(name), "sample_key": _key(name), "dataset": dataset, "labeller": labeller}


def _insert(connection: Connection, row: Mapping[str, Any]) -> int:
    """Add a row; its number."""
    made = connection.execute(labels.insert().values(row)).inserted_primary_key
    assert made is not None
    return int(made[0])


def _found(
    connection: Connection, wanted: Named | None, dataset: str, labeller: str | None
) -> list[tuple[str, Any]]:
    """The last row of each sample, labeller and text, oldest first, with the sample's id."""
    c = labels.c
    newest = sa.select(sa.func.max(c.id)).where(c.dataset == dataset)
    newest = newest.group_by(c.labeller, c.sample_key, c.digest)
    if labeller is not None:
        newest = newest.where(c.labeller == labeller)
    parts = [None] if wanted is None or len(wanted.ids) > _MANY else _parts(wanted.ids)
    among = None if wanted is None else set(wanted.ids)
    found: list[tuple[str, Any]] = []
    for part in parts:
        some = newest if part is None else newest.where(c.sample_key.in_([_key(one) for one in part]))
        rows = connection.execute(sa.select(labels).where(c.id.in_(some)).order_by(c.id))
        named_rows = ((read(row.sample), row) for row in rows)
        found += [(name, row) for name, row in named_rows if among is None or name in among]
    return found


def _last(connection: Connection, wanted: Named | None, dataset: str, labeller: str | None) -> dict[str, Any]:
    """The row that holds for each sample that has one: of what it says, each labeller's last, and of these the last."""
    found = [one for one in _found(connection, wanted, dataset, labeller) if one[1].value != _NONE]
    texts = {} if wanted is None else wanted.texts({name for name, row in found if row.digest})
    return {name: row for name, row in found if _is_of(row.digest, texts.get(name, ""))}


def _is_of(digest: str, text: str) -> bool:
    """Whether a label counts for a text: as far as both are known they are the same."""
    return not (digest and text) or digest == text


def _rows(
    connection: Connection, wanted: Named, said: Sequence[dict[str, str]], dataset: str, labeller: str
) -> list[dict[str, Any]]:
    """What is to be added: an undo goes back to the last label of the same text, where it was not taken back."""
    found = _found(connection, wanted, dataset, labeller)
    before = {(name, row.digest): row.id for name, row in found if row.value != _NONE}
    at = now()
    return [
        _row(name, dataset, labeller) | one | {"at": at, "before": before.get((name, one["digest"]))}
        for name, one in zip(wanted.ids, said, strict=True)
    ]


def _labelled_since(name: str, last: Label | None) -> LabelledSinceError:
    if last is None:
        return LabelledSinceError(f"the label of sample {name!r} was taken back elsewhere"[:300])
    return LabelledSinceError(
        f"sample {name!r} was labelled again elsewhere since"[:300],
        found=f"{'skipped' if last.value is None else _WORDS[last.value]}, at {last.at:%Y-%m-%d %H:%M:%S} UTC",
        hint="that label stays; label the sample anew to change it",
    )


def _parts(ids: Sequence[str]) -> list[Sequence[str]]:
    return [ids[start : start + _CHUNK] for start in range(0, len(ids), _CHUNK)]


def _by_id(connection: Connection, number: int | None) -> Any:
    return connection.execute(sa.select(labels).where(labels.c.id == number)).first() if number else None


def _label(row: Any) -> Label:
    return Label(
        read(row.sample),
        row.labeller,
        _VALUES.get(row.value),
        read(row.note),
        datetime.fromisoformat(row.at),
        row.value == _NONE,
        row.drawn,
        row.digest,
        row.id,
        row.before,
    )
