"""The effective label: the last one given to a text that was not undone.

The labels that one labeller gave one sample and digest are stored as a stack: the newest row is its top, and an undo adds
a row that repeats the one below. A label by id alone counts for every text under that id. So a text has up to two
stacks of a labeller (its own and that of the id), and an id alone has all of them. Of several tops, the label given
last counts. An undo is not a new label: the restored label keeps the time at which it was first given.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from workbench.core.errors import StoreError
from workbench.data.samples import Sample, Samples
from workbench.data.samples.sample import digest_of
from workbench.data.samples.view import digests_of
from workbench.store.schema import from_json, labels, read

WORDS = {True: "good", False: "bad", None: "skip"}
NONE = "none"
"""The label after the first one is undone."""
_VALUES: dict[str, bool | None] = {word: value for value, word in WORDS.items()}


@dataclass(frozen=True)
class Label:
    """The label that one labeller gave one sample.

    Attributes:
        sample: The sample's id.
        labeller: The person or program that labelled.
        value: True good, False bad, None skipped.
        note: The labeller's remark.
        at: When, in UTC.
        withdrawn: Whether this is an undo after which no label remains.
        drawn: How its row was chosen for labelling, such as "random"; "" if unknown.
        digest: The text of the sample when it was labelled: 16 hexadecimal digits of its turns and tool calls. "" if
            only its id was given, and for labels of stores before version 3: these count for any text under the id.
        id: Its number in the store.
        before: Number of the label below it: the previous one of this labeller and digest. None for none.
        tags: Short texts about the row, such as kinds of failure, in the order in which they were given.
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
    tags: tuple[str, ...] = ()


def label_of(row: Any) -> Label:
    """A row of the table as a label."""
    return Label(
        read(row.sample),
        row.labeller,
        _VALUES.get(row.value),
        read(row.note),
        datetime.fromisoformat(row.at),
        row.value == NONE,
        row.drawn,
        row.digest,
        row.id,
        row.before,
        tuple(from_json(row.tags)) if row.tags else (),
    )


Which = str | Sample | Samples | Iterable[str | Sample]
"""Samples: one id, one sample, a dataset, several of either, or a mapping of ids to the digests of their texts, or to
labels of these, such as `latest` returns."""

# Empty too: where the text is not known.
_DIGEST = re.compile("[0-9a-f]{16}|")


@dataclass(frozen=True)
class Named:
    """Samples by their ids, with digests of their texts.

    Attributes:
        ids: Their ids, in the caller's order.
        digests_at: Digests of the texts of the samples at these indices; "" if only the id is known.
    """

    ids: list[str]
    digests_at: Callable[[Sequence[int]], Iterable[str]]

    @property
    def digests(self) -> list[str]:
        """The digest of each sample's text."""
        return list(self.digests_at(range(len(self.ids))))


def named(samples: Any) -> Named:
    """Samples in any of the forms that `Which` lists.

    Raises:
        StoreError: An id that is not a text, or in a mapping a value that is not a digest.
    """
    if isinstance(samples, Samples):
        return Named([str(name) for name in samples.ids], lambda rows: digests_of(samples, rows))
    if isinstance(samples, Mapping):
        digests = [_known_digest(item) for item in samples.values()]
        return Named(_checked(list(samples)), lambda rows: [digests[row] for row in rows])
    items = [samples] if isinstance(samples, str | Sample) else list(samples)
    ids = [str(item.id) if isinstance(item, Sample) else item for item in items]
    return Named(_checked(ids), lambda rows: [_digest(items[row]) for row in rows])


def _digest(sample: str | Sample) -> str:
    return digest_of(sample.thread) if isinstance(sample, Sample) else ""


def _known_digest(value: Any) -> str:
    """The digest that a mapping gives for a sample."""
    digest = value.digest if isinstance(value, Label) else value
    if isinstance(digest, str) and _DIGEST.fullmatch(digest):
        return digest
    raise StoreError(
        "a mapping of samples must contain the digest of each text",
        found=repr(value)[:80],
        expected='16 hexadecimal digits, "" where they are not known, or a Label',
        hint="for ids alone give a list of them",
    )


def _checked(ids: list[Any]) -> list[str]:
    if wrong := [name for name in ids if not isinstance(name, str)]:
        raise StoreError("a sample is named by its id, a text", found=repr(wrong[0])[:80])
    return ids


_CHUNK = 500
_MANY = 5_000
"""Minimum number of samples for which all labels of the dataset are read in one query."""

Top = tuple[int, Any]
"""When a label was given, as the number of the row that gave it, and the row that now contains it."""


def key_of(name: str) -> str:
    """A sample's id in the form of the index: ids may be of any length."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def effective_labels(
    connection: Connection, samples: Named, dataset: str, labeller: str | None = None
) -> dict[int, Top]:
    """The effective label of each sample that has one, by its position.

    Args:
        connection: To the store.
        samples: The samples; one id may occur with several texts.
        dataset: The samples' dataset.
        labeller: Only this labeller's labels; by default the last label of any labeller.
    """
    by_id = tops(connection, samples.ids, dataset, labeller)
    places = [at for at, name in enumerate(samples.ids) if name in by_id]
    # A text's digest requires reading all of it, so it is computed only if a label has one to compare it with.
    with_digest = [at for at in places if any(row.digest for _, row in by_id[samples.ids[at]])]
    texts = dict(zip(with_digest, samples.digests_at(with_digest), strict=True))
    matching = {
        at: [top for top in by_id[samples.ids[at]] if _is_of(top, texts.get(at, ""))] for at in places
    }
    return {at: candidates[-1] for at, candidates in matching.items() if candidates}


def tops(
    connection: Connection, names: Sequence[str] | None, dataset: str, labeller: str | None = None
) -> dict[str, list[Top]]:
    """The top label of each labeller and digest, by sample, in the order in which they were given.

    Args:
        connection: To the store.
        names: The samples' ids; None for all of the dataset.
        dataset: The samples' dataset.
        labeller: Only this labeller's labels; by default all labellers'.
    """
    where = _where(dataset, labeller)
    c = labels.c
    newest = sa.select(sa.func.max(c.id)).where(*where).group_by(c.labeller, c.sample_key, c.digest)
    by_id: dict[str, list[Top]] = {}
    for name, row in _rows(connection, names, sa.select(labels), newest):
        if row.value != NONE:
            by_id.setdefault(name, []).append((row.id, row))
    if ambiguous := [name for name, candidates in by_id.items() if len(candidates) > 1]:
        # Only here does the time of a label that an undo restored matter.
        all_rows = _rows(connection, ambiguous, sa.select(labels).where(*where), None)
        when = first_given(row for _, row in all_rows)
        for name in ambiguous:
            by_id[name] = sorted(((when[row.id], row) for _, row in by_id[name]), key=lambda top: top[0])
    return by_id


def is_same(connection: Connection, row: Any, number: int) -> bool:
    """Whether a row contains the label that another row of its sample and labeller contains, given once.

    Args:
        connection: To the store.
        row: A row.
        number: The other's number.
    """
    if row.id == number:
        return True
    c = labels.c
    same_sample = (c.dataset == row.dataset, c.labeller == row.labeller, c.sample_key == row.sample_key)
    when = first_given(connection.execute(sa.select(labels).where(*same_sample).order_by(c.id)))
    return when[row.id] == when.get(number)


def first_given(rows: Iterable[Any]) -> dict[int, int]:
    """Number of each row, to the number of the row that first gave the label it contains.

    A row that was put names the top of its stack as the one before; one that an undo added names the one before that.

    Args:
        rows: All rows of their samples, by number.
    """
    rows_by_number: dict[int, Any] = {}
    top: dict[tuple[str, str, str], Any] = {}
    numbers: dict[int, int] = {}
    for row in rows:
        stack = (row.sample_key, row.labeller, row.digest)
        last = top.get(stack)
        below = None if last is None else rows_by_number.get(last.before)
        numbers[row.id] = row.id
        if below is not None and row.value != NONE and row.before == below.before:
            numbers[row.id] = numbers[below.id]
        rows_by_number[row.id] = top[stack] = row
    return numbers


def _where(dataset: str, labeller: str | None) -> list[Any]:
    conditions = [] if labeller is None else [labels.c.labeller == labeller]
    return [labels.c.dataset == dataset, *conditions]


def _rows(
    connection: Connection, names: Sequence[str] | None, columns: sa.Select[Any], among: sa.Select[Any] | None
) -> list[tuple[str, Any]]:
    """Rows of these samples, by number, each with its sample's id.

    Args:
        connection: To the store.
        names: The samples; None for all.
        columns: The selected columns.
        among: Only rows with these numbers; None for any.
    """
    parts = [None] if names is None or len(names) > _MANY else _parts(list(dict.fromkeys(names)))
    ids = None if names is None else set(names)
    matches: list[tuple[str, Any]] = []
    for part in parts:
        conditions = [] if part is None else [labels.c.sample_key.in_([key_of(sample) for sample in part])]
        query = (
            columns.where(*conditions)
            if among is None
            else columns.where(labels.c.id.in_(among.where(*conditions)))
        )
        rows = connection.execute(query.order_by(labels.c.id))
        named_rows = ((read(row.sample), row) for row in rows)
        # Beyond `_MANY` names all rows are read, so those of others are among them.
        matches += [(name, row) for name, row in named_rows if ids is None or name in ids]
    return matches


def _parts(names: Sequence[str]) -> list[Sequence[str]]:
    return [names[start : start + _CHUNK] for start in range(0, len(names), _CHUNK)]


def _is_of(top: Top, text: str) -> bool:
    """Whether a label counts for a text: their digests are equal, or one of them is unknown."""
    digest = top[1].digest
    return not (digest and text) or digest == text
