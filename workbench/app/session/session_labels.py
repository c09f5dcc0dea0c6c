"""Labels of one dataset: the given column's and those that users add."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from traitlets import HasTraits, Int

from workbench.analysis.labels import read_labels
from workbench.app.session.label_queue import (
    LabelledTexts,
    WeightedLabels,
    is_at_random,
    name_of,
    weights_of,
)
from workbench.core.errors import StoreError, WorkbenchError
from workbench.data.samples import Samples
from workbench.data.samples.view import share_texts
from workbench.report.agreement import agreement
from workbench.report.settings import label_column
from workbench.store.address import LabelledSinceError
from workbench.store.graders import check_name
from workbench.store.label_table import MAX_TAGS

if TYPE_CHECKING:
    from workbench.app.session.storage import Storage
    from workbench.report import Report
    from workbench.report.agreement import Agreement
    from workbench.store import Label


_VALUES: tuple[bool | None, ...] = (False, True, None)
"""The label for a code of `read_labels`: 0, 1 and, as the last, -1."""


@dataclass(frozen=True)
class _LabelRows:
    """A dataset's texts, and the given column's labels of them."""

    texts: LabelledTexts
    given: list[bool | None]


class DatasetLabels(HasTraits):
    """Labels of one dataset: the given ones, and those that users add, in a store.

    Traits (observe it):
        changes: Counts labels added and undone here.

    Args:
        samples: The dataset.
        given: Labels known beforehand, as `labels=` of a run: a column's name or one entry per row.
        storage: Stores users' labels.
        labeller: Who labels.
        dataset: Name of the dataset in the store; derived from its source or else its content.

    Attributes:
        samples: The dataset.
        storage: Stores users' labels.
        labeller: Who labels.
    """

    changes = Int(0)

    def __init__(
        self, samples: Samples, given: Any, storage: Storage, *, labeller: str = "", dataset: str = ""
    ) -> None:
        super().__init__()
        self.samples, self.storage, self.labeller = samples, storage, labeller
        self._dataset = dataset
        self._given = given
        self._codes = read_labels(label_column(samples, given), len(samples))
        self._texts = LabelledTexts(samples)
        self._undoable: list[tuple[str, Label]] = []
        self._mismatched: set[str] = set()  # samples for which only labels of other texts were read
        self._drawn: dict[str, str] = {}  # sample id to how it was selected for the labeller
        self._rows_cache: dict[int, _LabelRows] = {}
        self._differs: tuple[tuple[Any, ...], bool] | None = None

    @property
    def column(self) -> str | None:
        """The column of the given labels; None for none."""
        return self._given if isinstance(self._given, str) else None

    @cached_property
    def dataset(self) -> str:
        """Name of the dataset in the store. If none was given, all rows may have to be read, which takes seconds."""
        return self._dataset or name_of(self.samples)

    @property
    def _nobody_labelled(self) -> bool:
        """Whether the store has no label of any dataset: then this one does not need a name."""
        return self.storage.is_new or not self.storage.store.labels.datasets()

    @cached_property
    def latest(self) -> dict[str, Label]:
        """The store's labels of this dataset's texts: sample id to the last label of any labeller."""
        if self._nobody_labelled:
            return {}
        labels, self._mismatched = self._texts.read(self.storage.store.labels, dataset=self.dataset)
        return labels

    @property
    def own_labels(self) -> dict[str, Label]:
        """This labeller's labels: sample id to the last label."""
        return self._by_labeller.setdefault(self.labeller, {})

    @cached_property
    def _by_labeller(self) -> dict[str, dict[str, Label]]:
        labels = self.storage.store.labels
        if self._nobody_labelled:
            return {}
        return {
            name: self._texts.read(labels, labeller=name, dataset=self.dataset)[0]
            for name in labels.labellers(dataset=self.dataset)
        }

    @property
    def n_mismatched(self) -> int:
        """Samples whose text changed since they were labelled: these labels do not count."""
        labelled = self.latest.keys()  # read first: it sets the others
        return len(self._mismatched - labelled)

    @property
    def counts(self) -> dict[str, int]:
        """Number of users' labels: good, bad, skipped."""
        values = [label.value for label in self.latest.values()]
        return {
            word: values.count(value) for word, value in (("good", True), ("bad", False), ("skipped", None))
        }

    def reload(self) -> None:
        """Read the store again: another notebook, or code, may have labelled meanwhile."""
        for name in ("latest", "_by_labeller"):
            self.__dict__.pop(name, None)

    def forget(self) -> None:
        """Switch to another store: labels added to the old one cannot be undone."""
        self.reload()
        self._undoable = []

    def for_rates(self, samples: Any) -> list[bool | None] | None:
        """Labels that findings and rates may use, one entry per row: True good, False bad, None unknown.

        These are the given column, and users' labels of rows of that column, of rows drawn at random, and of rows
        labelled by hand. Labels of rows that were selected by their grades would bias rates and are excluded: see
        `n_left_out`. None if no row has a label.
        """
        return self._values(samples, rates=True)

    def for_display(self, samples: Any) -> list[bool | None] | None:
        """All labels, for display: as `for_rates`, with every label of a user.

        A user's label takes precedence over the column's.
        """
        return self._values(samples, rates=False)

    def given_to(self, samples: Any) -> list[bool | None] | None:
        """The given column's labels of these rows, without the store; None if it has none."""
        return _if_any(self._rows_of(samples).given.copy())

    def _values(self, samples: Any, *, rates: bool) -> list[bool | None] | None:
        """The column's labels of these rows, overridden by users'."""
        rows = self._rows_of(samples)
        values = rows.given.copy()
        for name, label in rows.texts.matching(self.latest).items():
            for row in rows.texts.rows(name) if label.value is not None else ():
                if not rates or is_at_random(label.drawn) or rows.given[row] is not None:
                    values[row] = label.value
        return _if_any(values)

    @property
    def n_left_out(self) -> int:
        """Labels excluded from findings, because their rows were not drawn at random."""
        return sum(
            label.value is not None and not is_at_random(label.drawn) and self._code(name) < 0
            for name, label in self.latest.items()
        )

    def differ_from(self, report: Report) -> bool:
        """Whether the labels for findings changed since the report was diagnosed; cached until a label is read or added."""
        key = (report, self.changes, self.latest)
        if self._differs is None or any(a is not b for a, b in zip(self._differs[0], key, strict=True)):
            self._differs = (key, self.for_rates(report.samples) != report.labels)
        return self._differs[1]

    @cached_property
    def given_names(self) -> frozenset[str]:
        """Samples that the given column labels good or bad."""
        return frozenset(str(name) for name in self.samples.ids[np.flatnonzero(self._codes >= 0)])

    def given_of(self, name: str) -> bool | None:
        """The given column's label of a sample: True good, False bad, None for none."""
        return _VALUES[self._code(name)]

    @property
    def n_changed(self) -> int:
        """Samples for which a user's label differs from the given column's."""
        return sum(self.is_changed(name) for name in self.latest)

    def is_changed(self, name: str) -> bool:
        """Whether a user's label of a sample differs from the given column's; False before the labels are read."""
        label, given = self.__dict__.get("latest", {}).get(name), self.given_of(name)
        return label is not None and label.value is not None and given is not None and label.value != given

    def _code(self, name: str) -> int:
        """The given column's label of a sample: 1 good, 0 bad, -1 unknown."""
        numbers = self._texts.row_numbers
        return int(self._codes[numbers[name]]) if name in numbers else -1

    def _rows_of(self, samples: Any) -> _LabelRows:
        """Texts and given labels of a dataset, cached for the last two, because every label needs all rows."""
        rows = self._rows_cache.get(id(samples))
        if rows is None:
            texts = self._texts if samples is self.samples else LabelledTexts(samples)
            rows = _LabelRows(texts, self._given_of(texts))
            self._rows_cache = {**dict(list(self._rows_cache.items())[-1:]), id(samples): rows}
        return rows

    def _given_of(self, texts: LabelledTexts) -> list[bool | None]:
        """The given column's label of each row, if the row's text belongs to this dataset."""
        if texts is self._texts:
            return _values_of(self._codes)
        if share_texts(self.samples, texts.samples):
            return _values_of(self._codes_of(texts.samples.row_numbers))
        labelled_ids = {str(name) for name in self.samples.ids[np.flatnonzero(self._codes >= 0)]}
        shared = self._texts.shared_with(texts, labelled_ids)
        ids = map(str, texts.samples.ids)
        return [_VALUES[self._code(name)] if name in shared else None for name in ids]

    def _codes_of(self, numbers: NDArray[np.intp]) -> NDArray[np.int8]:
        """The given column's labels, by the rows' numbers in the data that this dataset is a view of, (m,)."""
        own = self.samples.row_numbers
        codes = np.full(1 + max(own.max(initial=-1), numbers.max(initial=-1)), -1, np.int8)
        codes[own] = self._codes
        return codes[numbers]

    def weighted(self, samples: Any) -> WeightedLabels:
        """Users' labels of these rows, with sampling weights; a column's labels do not count."""
        texts = self._rows_of(samples).texts
        labelled_rows = [
            (row, label)
            for name, label in texts.matching(self.latest).items()
            if label.value is not None
            for row in texts.rows(name)
        ]
        row_weights = weights_of([label.drawn for _, label in labelled_rows])
        values: list[bool | None] = [None] * len(samples)
        weights = np.full(len(samples), np.nan)
        for (row, label), weight in zip(labelled_rows, row_weights, strict=True):
            if weight is not None:
                values[row], weights[row] = label.value, weight
        n_chosen = row_weights.count(None)
        return WeightedLabels(values, weights, len(labelled_rows) - n_chosen, n_chosen)

    def agreements(self) -> list[Agreement]:
        """This labeller's agreement with each other one, on the rows both labelled; most rows first."""
        each = (self._agreement_with(name) for name in tuple(self._by_labeller) if name != self.labeller)
        return sorted((pair for pair in each if pair.n), key=lambda pair: -pair.n)

    def _agreement_with(self, other: str) -> Agreement:
        by_me, by_other = self.own_labels, self._by_labeller[other]
        numbers = self._texts.row_numbers
        shared = [name for name in by_me if name in by_other and name in numbers]
        groups = self._groups[[numbers[name] for name in shared]] if shared else []
        names = (self.labeller or "you", other or "no name")
        columns = ([labels[name].value for name in shared] for labels in (by_me, by_other))
        return agreement(*columns, groups=groups, names=names)

    @cached_property
    def _groups(self) -> Any:
        return self.samples.groups

    def row_numbers(self, samples: Any) -> Mapping[str, int]:
        """The row of each sample of a dataset, by id."""
        return self._rows_of(samples).texts.row_numbers

    def digest_of(self, name: str) -> str:
        """A digest of a sample's text; "" if it is not in this dataset."""
        return self._texts.digests([name]).get(name, "")

    def drawn_of(self, name: str) -> str:
        """How a label's row was drawn; "" if unknown."""
        label = self.__dict__.get("latest", {}).get(name)
        return "" if label is None else str(label.drawn)

    def code_of(self, name: str) -> str:
        """A sample in code: with its text if it can be read, since an id alone fits other texts."""
        readable = not isinstance(self._texts.sample(name), str)
        return f"app.samples[{self._texts.row_numbers[name]}]" if readable else repr(name)

    def code_for(self, rows: str) -> str:
        """Labels of rows, in code, given the rows in code; "" for none."""
        if self.latest or not (self._given is None or isinstance(self._given, str)):
            return f"app.labels_of({rows})"
        return "" if self._given is None else repr(self._given)

    def set_labeller(self, labeller: str) -> None:
        """Change the labeller, who cannot undo the previous one's labels."""
        self.labeller = labeller
        self._undoable = []

    def note_drawn(self, name: str, drawn: str) -> None:
        """Record how a sample was selected for the labeller; it is stored with its label."""
        self._drawn[name] = drawn

    @property
    def by_others(self) -> frozenset[str]:
        """Samples that another labeller labelled good or bad."""
        return frozenset(
            name
            for labeller, labels in self._by_labeller.items()
            if labeller != self.labeller
            for name, label in labels.items()
            if label.value is not None
        )

    @property
    def tags(self) -> dict[str, int]:
        """The tags of these samples' labels and the number of samples with each, the most frequent first."""
        counts = Counter(tag for label in self.latest.values() for tag in label.tags)
        return dict(sorted(counts.items(), key=lambda item: -item[1]))

    @property
    def has_tags(self) -> bool:
        """Whether a label that was read has a tag; False before the labels are read."""
        return any(label.tags for label in self.__dict__.get("latest", {}).values())

    def tags_of(self, name: str) -> tuple[str, ...]:
        """The tags of a sample's last label; none before the labels are read."""
        label = self.__dict__.get("latest", {}).get(name)
        return () if label is None else label.tags

    def rows_with_tag(self, samples: Any, tag: str) -> list[int]:
        """Numbers of a dataset's rows whose last label has a tag, ascending."""
        texts = self._rows_of(samples).texts
        tagged = {name: label for name, label in self.latest.items() if tag in label.tags}
        return sorted(row for name in texts.matching(tagged) for row in texts.rows(name))

    def tags_as_known(self, tags: Iterable[Any]) -> tuple[str, ...]:
        """Tags as typed, each once, in the spelling in which they are known: capitals and blanks make no other tag.

        Raises:
            StoreError: A tag that is not a short printable text, or more than `MAX_TAGS`.
        """
        known = {tag.casefold(): tag for tag in reversed(self.tags)}
        given: dict[str, str] = {}
        for typed in tags:
            text = " ".join(str(typed).split())
            if text:
                check_name("a tag", text)
                given.setdefault(text.casefold(), known.get(text.casefold(), text))
        if len(given) > MAX_TAGS:
            raise StoreError("too many tags", found=str(len(given)), expected=f"at most {MAX_TAGS} per row")
        return tuple(given.values())

    def put(self, name: str, value: bool | None, note: str = "", tags: tuple[str, ...] = ()) -> None:
        """Save a label; it is committed when this returns.

        It is stored with how its row was drawn, from `note_drawn`: "" if nothing was recorded. For a row that this
        labeller labelled before, the first record counts.

        Args:
            name: The sample.
            value: True good, False bad, None skipped.
            note: A remark.
            tags: Short texts, such as kinds of failure.

        Raises:
            StoreError: It could not be saved.
        """
        before = self.own_labels.get(name)
        label = self.storage.store.labels.put(
            self._texts.sample(name),
            value,
            labeller=self.labeller,
            dataset=self.dataset,
            note=note,
            tags=tags,
            drawn=self._drawn.get(name, "") if before is None else before.drawn,
        )
        assert label is not None
        self._undoable.append((name, label))
        self._refresh(name)
        self.changes += 1

    @property
    def last_labelled(self) -> str | None:
        """The sample whose label the next undo removes; None for none."""
        return self._undoable[-1][0] if self._undoable else None

    @property
    def n_undoable(self) -> int:
        """Labels of this session that can be undone."""
        return len(self._undoable)

    def undo(self) -> str:
        """Undo this session's last label; the sample it was for.

        Raises:
            WorkbenchError: There is none, or the sample was labelled again since: that label remains and is read.
        """
        if not self._undoable:
            raise WorkbenchError("this session has no label to undo")
        name, label = self._undoable[-1]
        try:
            self.storage.store.labels.undo(
                self._texts.sample(name), labeller=self.labeller, dataset=self.dataset, only=label
            )
        except LabelledSinceError:
            self._undoable.pop()
            self._refresh(name)
            raise
        self._undoable.pop()
        self._refresh(name)
        self.changes += 1
        return name

    def _refresh(self, name: str) -> None:
        """Read the labels of a sample again."""
        store = self.storage.store.labels
        sample = self._texts.digests([name]) or [name]
        for labels, labeller in ((self.latest, None), (self.own_labels, self.labeller)):
            label = store.latest(sample, labeller=labeller, dataset=self.dataset).get(name)
            if label is None:
                labels.pop(name, None)
            else:
                labels[name] = label


def _values_of(codes: NDArray[np.int8]) -> list[bool | None]:
    return [_VALUES[code] for code in codes.tolist()]


def _if_any(values: list[bool | None]) -> list[bool | None] | None:
    """Labels of rows; None if no row has one."""
    return values if any(value is not None for value in values) else None
