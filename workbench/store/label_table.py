"""Labels, by dataset, sample and labeller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from workbench.core.errors import StoreError
from workbench.data.samples import Sample
from workbench.store.address import LabelledSinceError
from workbench.store.database import Database
from workbench.store.effective_labels import (
    NONE,
    WORDS,
    Label,
    Named,
    Which,
    effective_labels,
    is_same,
    key_of,
    label_of,
    named,
    tops,
)
from workbench.store.graders import check_name
from workbench.store.runs import Listing
from workbench.store.schema import labels, lock_labels, now, storable, to_json

if TYPE_CHECKING:
    import pandas as pd


class Labels:
    """The labels of a store. The last one of a sample and labeller counts; all are stored.

    Every method takes `dataset`, a name of your choice, so that the samples of two datasets do not mix.

    A label belongs to the text that was labelled: for a `Sample` or `Samples` only labels of its text count, so that
    new completions under the ids of old ones have no labels. For ids alone, the last label given under an id counts.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(
        self, samples: Which, value: Any, *, labeller: str = "", dataset: str = "", note: str | Sequence[str] = "",
        drawn: str = "", tags: Sequence[str] = (),
    ) -> Label | None:  # fmt: skip
        """Store a label for each sample; all of them or, on an error, none. Returns when they are committed.

        Args:
            samples: One id or `Sample`, or several: `Samples` or ids. For a sample the label includes a digest of its text.
            value: True good, False bad, None skipped; one for all or one each.
            labeller: The labeller's name.
            dataset: The samples' dataset.
            note: A remark; one for all or one each.
            drawn: How these rows were chosen, such as "random": labels of rows chosen because of a grader's scores
                bias its error rates.
            tags: Short texts about these rows, such as "wrong unit", at most `MAX_TAGS`; they replace earlier ones.

        Returns:
            The stored label if one sample is given by itself; None for several.

        Raises:
            StoreError: A value that is none of these, another number of values than of samples, or a tag that is not a short
                printable text.
        """
        _check(labeller, dataset)
        check_name("how rows were drawn", drawn, empty=True)
        selection = named(samples)
        written = {"drawn": drawn, "tags": _tags(tags)}
        entries = [entry | written for entry in _entries(selection, value, note)]
        with self._database.writing() as connection:
            lock_labels(connection)
            for places in _rounds(selection.ids, entries):
                batch = [(selection.ids[at], entries[at]) for at in places]
                rows = _rows(connection, batch, (dataset, labeller))
                if isinstance(samples, str | Sample):
                    return label_of(_by_id(connection, _insert(connection, rows[0])))
                connection.execute(labels.insert(), rows)
        return None

    def undo(
        self, sample: str | Sample, *, labeller: str = "", dataset: str = "", only: Label | None = None
    ) -> Label | None:
        """Restore the label before the last one, of the same text; returns the effective one, None if there is none.

        Repeated calls go further back. Undone labels stay in the history.

        Args:
            sample: Its id, or the `Sample`: then only labels of its text are undone.
            labeller: The labeller's name.
            dataset: The sample's dataset.
            only: Undo this label and no other: another user of the same name may have labelled since.

        Raises:
            StoreError: There is no label to undo, or `only` is not the last one any more; nothing was changed.
        """
        _check(labeller, dataset)
        selection = named(sample)
        (name,) = selection.ids
        with self._database.writing() as connection:
            lock_labels(connection)
            _, last = effective_labels(connection, selection, dataset, labeller).get(0, (0, None))
            if only is not None and (last is None or not is_same(connection, last, only.id)):
                raise _labelled_since(name, last)
            if last is None:
                raise StoreError(f"sample {name!r} has no label to undo"[:300])
            below = _by_id(connection, last.before)
            columns = {"value": NONE, "note": "", "before": None, "drawn": "", "tags": ""}
            if below is not None:
                columns = {key: getattr(below, key) for key in columns}
            columns |= {"digest": last.digest, "at": now()}
            _insert(connection, _row(name, dataset, labeller) | columns)
            now_held = effective_labels(connection, selection, dataset, labeller)
        return label_of(now_held[0][1]) if now_held else None

    def get(self, samples: Which, *, labeller: str | None = None, dataset: str = "") -> list[bool | None]:
        """One label per sample, in the samples' order: True good, False bad, None skipped or not labelled.

        This is the format of `labels=` of a run or a report.

        Args:
            samples: As in `put`.
            labeller: Only this labeller's labels; by default the last label of any labeller.
            dataset: The samples' dataset.
        """
        selection = named(samples)
        return self._values(selection, labeller, dataset)

    def latest(
        self, samples: Which | None = None, *, labeller: str | None = None, dataset: str = ""
    ) -> Mapping[str, Label]:
        """The effective label of each sample that has one, skips included; all samples of the dataset by default.

        Args:
            samples: As in `put`, or an earlier result of this method. Of an id that is given with several texts the last
                label of any of these.
            labeller: Only this labeller's labels; by default the last label of any labeller.
            dataset: The samples' dataset.
        """
        selection = None if samples is None else named(samples)
        _check(labeller or "", dataset)
        with self._database.reading() as connection:
            if selection is None:
                last = {
                    name: candidates[-1]
                    for name, candidates in tops(connection, None, dataset, labeller).items()
                }
            else:
                holding_labels = effective_labels(connection, selection, dataset, labeller)
                by_time = sorted(holding_labels.items(), key=lambda entry: entry[1][0])
                last = {selection.ids[at]: top for at, top in by_time}
        return {name: label_of(row) for name, (_, row) in last.items()}

    def columns(self, samples: Which, *, dataset: str = "") -> pd.DataFrame:
        """One row per sample in order (index: ids), one column per labeller: True, False or None."""
        import pandas as pd

        from workbench.core.safe_frame import SafeFrame

        selection, names = named(samples), self.labellers(dataset=dataset)
        columns = {name: self._values(selection, name, dataset) for name in names}
        return SafeFrame(
            columns, index=pd.Index(selection.ids, name="sample"), columns=list(names), dtype=object
        )

    def _values(self, selection: Named, labeller: str | None, dataset: str) -> list[bool | None]:
        _check(labeller or "", dataset)
        with self._database.reading() as connection:
            labels_ = effective_labels(connection, selection, dataset, labeller)
        return [label_of(labels_[at][1]).value if at in labels_ else None for at in range(len(selection.ids))]

    def labellers(self, *, dataset: str = "") -> list[str]:
        """The labellers, sorted."""
        query = sa.select(labels.c.labeller).where(labels.c.dataset == dataset).distinct()
        with self._database.reading() as connection:
            return sorted(connection.execute(query).scalars())

    def datasets(self) -> list[str]:
        """The datasets that have labels, sorted."""
        with self._database.reading() as connection:
            return sorted(connection.execute(sa.select(labels.c.dataset).distinct()).scalars())

    def history(self, sample: str | Sample, *, dataset: str = "") -> Listing[Label]:
        """All labels of a sample, oldest first, of all its texts; an undo repeats the label it restores."""
        (name,) = named(sample).ids
        query = sa.select(labels).where(labels.c.dataset == dataset, labels.c.sample_key == key_of(name))
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(labels.c.id)).all()
        return Listing(map(label_of, rows))

    def __repr__(self) -> str:
        return f"Labels in {self._database.address.shown}"


def _check(labeller: str, dataset: str) -> None:
    check_name("a labeller", labeller, empty=True)
    check_name("a dataset", dataset, empty=True)


def _entries(selection: Named, value: Any, note: Any) -> list[dict[str, str]]:
    """The label's columns for each of these samples: value, note, and the digest of its text."""
    n = len(selection.ids)
    words = [_word(item) for item in _one_each(value, n, "values")]
    notes = [_note(item) for item in _one_each(note, n, "notes")]
    return [
        {"value": word, "note": text, "digest": digest}
        for word, text, digest in zip(words, notes, selection.digests, strict=True)
    ]


def _one_each(value: Any, n: int, plural: str) -> list[Any]:
    """One value for all, or one each."""
    if value is None or isinstance(value, str) or not isinstance(value, Iterable):
        return [value] * n
    values = list(value)
    if len(values) != n:
        raise StoreError(
            f"there must be as many {plural} as samples", found=str(len(values)), expected=str(n)
        )
    return values


def _word(value: Any) -> str:
    if isinstance(value, bool | np.bool_) or value is None:
        return WORDS[None if value is None else bool(value)]
    raise StoreError("a label is True (good), False (bad) or None (skipped)", found=repr(value)[:80])


def _note(text: Any) -> str:
    if not isinstance(text, str):
        raise StoreError("a note must be text", found=repr(text)[:80])
    return storable(text)


MAX_TAGS = 20
"""Tags of one label."""


def _tags(tags: Any) -> str:
    """Tags as the column stores them, each once."""
    if isinstance(tags, str) or not isinstance(tags, Sequence):
        raise StoreError("tags must be a list of texts", found=repr(tags)[:80])
    given = list(dict.fromkeys(tags))
    for tag in given:
        check_name("a tag", tag)
    if len(given) > MAX_TAGS:
        raise StoreError("too many tags", found=str(len(given)), expected=f"at most {MAX_TAGS}")
    return to_json(given) if given else ""


def _row(name: str, dataset: str, labeller: str) -> dict[str, Any]:
    return {"sample": storable(name), "sample_key": key_of(name), "dataset": dataset, "labeller": labeller}


def _insert(connection: Connection, row: Mapping[str, Any]) -> int:
    """Add a row; returns its number."""
    key = connection.execute(labels.insert().values(row)).inserted_primary_key
    assert key is not None
    return int(key[0])


def _rounds(ids: Sequence[str], entries: Sequence[dict[str, str]]) -> Iterable[list[int]]:
    """Groups of entries to label in one statement: for a repeated text, each label follows the one before."""
    counts: Counter[tuple[str, str]] = Counter()
    rounds: dict[int, list[int]] = {}
    for at, (name, entry) in enumerate(zip(ids, entries, strict=True)):
        text = (name, entry["digest"])
        rounds.setdefault(counts[text], []).append(at)
        counts[text] += 1
    return rounds.values()


def _rows(
    connection: Connection, entries: Sequence[tuple[str, dict[str, str]]], owner: tuple[str, str]
) -> list[dict[str, Any]]:
    """The rows to add, each on top of the last label of the same text, if that was not undone.

    Args:
        connection: To the store.
        entries: Samples' ids, each with the columns of its new label; no text twice.
        owner: Dataset and labeller.
    """
    by_id = tops(connection, [name for name, _ in entries], *owner)
    before = {(name, row.digest): row.id for name, candidates in by_id.items() for _, row in candidates}
    at = now()
    return [
        _row(name, *owner) | entry | {"at": at, "before": before.get((name, entry["digest"]))}
        for name, entry in entries
    ]


def _labelled_since(name: str, last: Any) -> LabelledSinceError:
    if last is None:
        return LabelledSinceError(f"the label of sample {name!r} was undone in another session"[:300])
    label = label_of(last)
    return LabelledSinceError(
        f"sample {name!r} was labelled again in another session"[:300],
        found=f"{'skipped' if label.value is None else WORDS[label.value]}, at {label.at:%Y-%m-%d %H:%M:%S} UTC",
        hint="that label stays; label the sample again to change it",
    )


def _by_id(connection: Connection, number: int | None) -> Any:
    return connection.execute(sa.select(labels).where(labels.c.id == number)).first() if number else None
