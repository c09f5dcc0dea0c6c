"""People's labels, by dataset, sample and labeller."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from workbench.samples import Sample, Samples
from workbench.store.database import Database
from workbench.store.errors import StoreError
from workbench.store.graders import check_name
from workbench.store.listing import Listing
from workbench.store.schema import labels, now
from workbench.store.texts import kept, read

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Label", "Labels"]

_CHUNK = 500
_WORDS = {True: "good", False: "bad", None: "skip"}
_NONE = "none"
"""What an undo of the first label leaves."""
_VALUES: dict[str, bool | None] = {word: value for value, word in _WORDS.items()}

Which = str | Sample | Samples | Iterable[str]
"""Samples: one id, one sample, a dataset, or ids."""


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
    """

    sample: str
    labeller: str
    value: bool | None
    note: str
    at: datetime
    withdrawn: bool = False
    drawn: str = ""


class Labels:
    """The labels of a store. The last of a sample and labeller holds; all are kept.

    Every method takes `dataset`, a name of your choice, so that the samples of two datasets do not mix.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(
        self, samples: Which, value: Any, *, labeller: str = "", dataset: str = "", note: str | Sequence[str] = "",
        drawn: str = "",
    ) -> None:  # fmt: skip
        """Keep a label for each sample; all of them or, on an error, none. Returns when they are committed.

        Args:
            samples: One id or `Sample`, or several: `Samples` or ids.
            value: True good, False bad, None skipped; one for all or one each.
            labeller: Who says so.
            dataset: Whose samples they are.
            note: A remark; one for all or one each.
            drawn: How these rows were chosen, such as "random": labels of rows that were chosen for what a
                grader said of them make its rates wrong.

        Raises:
            StoreError: A value that is none of these, or another number of them than of samples.
        """
        _check(labeller, dataset)
        check_name("how rows were drawn", drawn, empty=True)
        ids = _ids(samples)
        words = [_word(one) for one in _each(value, len(ids), "values")]
        notes = [_note(one) for one in _each(note, len(ids), "notes")]
        with self._database.writing() as connection:
            before = _last(connection, ids, dataset, labeller)
            at = now()
            rows = [
                _row(name, dataset, labeller, at)
                | {"value": word, "note": text, "drawn": drawn}
                | {"before": before[name].id if name in before else None}
                for name, word, text in zip(ids, words, notes, strict=True)
            ]
            if rows:
                connection.execute(labels.insert(), rows)

    def undo(self, sample: str | Sample, *, labeller: str = "", dataset: str = "") -> Label | None:
        """Go back to the label before the last one; the one that holds now, None where there is none.

        Again and again it goes further back. What was undone stays in the history.

        Raises:
            StoreError: There is no label to undo.
        """
        _check(labeller, dataset)
        (name,) = _ids(sample)
        with self._database.writing() as connection:
            last = _last(connection, [name], dataset, labeller).get(name)
            if last is None:
                raise StoreError(f"sample {name!r} has no label to undo"[:300])
            below = _by_id(connection, last.before)
            row = _row(name, dataset, labeller, now())
            held = {"value": _NONE, "note": "", "before": None, "drawn": ""}
            if below is not None:
                held = {name: getattr(below, name) for name in held}
            connection.execute(labels.insert().values(row | held))
        return self.latest([name], labeller=labeller, dataset=dataset).get(name)

    def get(self, samples: Which, *, labeller: str | None = None, dataset: str = "") -> list[bool | None]:
        """One label a sample, in the samples' order: True good, False bad, None skipped or not labelled.

        This is what `labels=` of a run or a report takes.

        Args:
            samples: As in `put`.
            labeller: Whose; by default the last word, whoever said it.
            dataset: Whose samples they are.
        """
        held = self.latest(samples, labeller=labeller, dataset=dataset)
        return [held[name].value if name in held else None for name in _ids(samples)]

    def latest(
        self, samples: Which | None = None, *, labeller: str | None = None, dataset: str = ""
    ) -> Mapping[str, Label]:
        """The label that holds for each sample that has one, skips included; all samples of the dataset by default."""
        _check(labeller or "", dataset)
        ids = None if samples is None else _ids(samples)
        with self._database.reading() as connection:
            last = _last(connection, ids, dataset, labeller)
        return {name: _label(row) for name, row in last.items()}

    def columns(self, samples: Which, *, dataset: str = "") -> pd.DataFrame:
        """One line a sample in order (index: ids), a column a labeller: True, False or None."""
        import pandas as pd

        names = self.labellers(dataset=dataset)
        columns = {name: self.get(samples, labeller=name, dataset=dataset) for name in names}
        return pd.DataFrame(
            columns, index=pd.Index(_ids(samples), name="sample"), columns=list(names), dtype=object
        )

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
        """All that was ever said of a sample, oldest first; an undo repeats what holds since."""
        (name,) = _ids(sample)
        wanted = sa.select(labels).where(labels.c.dataset == dataset, labels.c.sample_key == _digest(name))
        with self._database.reading() as connection:
            rows = connection.execute(wanted.order_by(labels.c.id)).all()
        return Listing(map(_label, rows))

    def __repr__(self) -> str:
        return f"Labels in {self._database.address.shown}"


def _check(labeller: str, dataset: str) -> None:
    check_name("a labeller", labeller, empty=True)
    check_name("a dataset", dataset, empty=True)


def _ids(samples: Any) -> list[str]:
    if isinstance(samples, str | Sample):
        return [samples if isinstance(samples, str) else str(samples.id)]
    if isinstance(samples, Samples):
        return [str(name) for name in samples.ids]
    found = [str(one.id) if isinstance(one, Sample) else one for one in samples]
    if wrong := [one for one in found if not isinstance(one, str)]:
        raise StoreError("a sample is named by its id, a text", found=repr(wrong[0])[:80])
    return found


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


def _digest(name: str) -> str:
    """A sample's id as an index takes it: ids may be of any length."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def _row(name: str, dataset: str, labeller: str, at: str) -> dict[str, Any]:
    who = {"dataset": dataset, "labeller": labeller, "at": at}
    return {"sample": kept(name), "sample_key": _digest(name), **who}


def _last(
    connection: Connection, ids: Sequence[str] | None, dataset: str, labeller: str | None
) -> dict[str, Any]:
    """The row that holds for each sample that has one: each labeller's last, and of these the last."""
    c = labels.c
    newest = sa.select(sa.func.max(c.id)).where(c.dataset == dataset).group_by(c.labeller, c.sample_key)
    if labeller is not None:
        newest = newest.where(c.labeller == labeller)
    digests = [None] if ids is None else [[_digest(one) for one in part] for part in _parts(ids)]
    found: dict[str, Any] = {}
    for part in digests:
        some = newest if part is None else newest.where(c.sample_key.in_(part))
        held = sa.select(labels).where(c.id.in_(some), c.value != _NONE)
        rows = connection.execute(held.order_by(c.id))
        found |= {read(row.sample): row for row in rows}
    return found


def _parts(ids: Sequence[str]) -> list[Sequence[str]]:
    return [ids[start : start + _CHUNK] for start in range(0, len(ids), _CHUNK)]


def _by_id(connection: Connection, number: int | None) -> Any:
    return connection.execute(sa.select(labels).where(labels.c.id == number)).first() if number else None


def _label(row: Any) -> Label:
    value = _VALUES.get(row.value)
    at = datetime.fromisoformat(row.at)
    return Label(read(row.sample), row.labeller, value, read(row.note), at, row.value == _NONE, row.drawn)
