"""People's labels: what is known, what of it makes a rate, keeping and going back. No widget is imported here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.diagnostics.labels import read_labels
from workbench.errors import WorkbenchError
from workbench.report.agreement import agreement
from workbench.report.settings import label_column
from workbench.samples import Samples
from workbench.session.dataset_name import name_of
from workbench.session.label_weights import is_at_random, weights_of
from workbench.session.labelled_texts import Texts
from workbench.session.storage import STORE, Keeping

if TYPE_CHECKING:
    from workbench.report import Agreement, Report
    from workbench.store import Label

__all__ = ["STORE", "Counted", "Labelling"]


_VALUES = {1: True, 0: False, -1: None}


@dataclass(frozen=True)
class Counted:
    """People's labels as a rate takes them.

    Attributes:
        labels: True good, False bad, None for none that counts, one a row.
        weights: How many rows each stands for, (n,), NaN where there is no label.
        n: Rows whose label counts.
        chosen: Labelled rows that were chosen for what graders say of them: of these there is no rate.
    """

    labels: list[bool | None]
    weights: NDArray[np.float64]
    n: int
    chosen: int


@dataclass(frozen=True)
class _Rows:
    """A dataset's texts, and the given column's labels of them."""

    texts: Texts
    given: list[bool | None]


class Labelling(Keeping):
    """Labels of one dataset: those that came with it, and those people give, in a store.

    Args:
        samples: The dataset.
        given: What is known beforehand, as `labels=` of a run: a column's name or one entry a row.
        store: A `Store`, its address, or None for one in memory that nobody else sees.
        labeller: Who labels.
        dataset: Name of the dataset in the store; made from its source, else from its content.
    """

    def __init__(
        self, samples: Samples, given: Any, store: Any, *, labeller: str = "", dataset: str = ""
    ) -> None:
        super().__init__(store)
        self.samples, self.labeller = samples, labeller
        self.dataset = dataset or name_of(samples)
        self._given = given
        self._codes = read_labels(label_column(samples, given), len(samples))
        self._texts = Texts(samples)
        self._undoable: list[tuple[str, Label]] = []
        self._strange: set[str] = set()  # samples of which only labels of other texts were read
        self._drawn: dict[str, str] = {}
        self._kept: dict[int, _Rows] = {}

    @property
    def column(self) -> str | None:
        """The column that what is known beforehand came from; None for none."""
        return self._given if isinstance(self._given, str) else None

    def reopen(self) -> bool:
        """See `Keeping`; what was read of a store that is gone is forgotten."""
        gone = super().reopen()
        if gone:
            self.reload()
            self._undoable = []
        return gone

    @cached_property
    def held(self) -> dict[str, Label]:
        """What the store holds of this dataset's texts: sample id to the last label, whoever gave it."""
        held, self._strange = self._texts.read(self.store.labels, dataset=self.dataset)
        return held

    @property
    def of_other_texts(self) -> int:
        """Samples that say something else than they did when they were labelled: these labels do not count."""
        held = self.held  # read first: it tells the others
        return len(self._strange - held.keys())

    @property
    def own(self) -> dict[str, Label]:
        """What this labeller said: sample id to the last label."""
        return self._by.setdefault(self.labeller, {})

    @cached_property
    def _by(self) -> dict[str, dict[str, Label]]:
        """Each labeller's labels."""
        labels = self.store.labels
        return {
            name: self._texts.read(labels, labeller=name, dataset=self.dataset)[0]
            for name in labels.labellers(dataset=self.dataset)
        }

    def reload(self) -> None:
        """Read the store anew: another notebook, or code, may have labelled meanwhile."""
        for name in ("held", "_by"):
            self.__dict__.pop(name, None)

    # ---- what is known

    def known(self, samples: Any) -> list[bool | None] | None:
        """What findings and rates may rest on, one entry a row: True good, False bad, None unknown.

        That is the given column, and people's labels of rows of that column, of rows drawn at random, and of those
        labelled by hand. Labels of rows that were drawn for what a grader said of them would make its rates wrong, and
        stay out: see `left_out`. None where nothing is known of any row.
        """
        return self._over(samples, rates=True)

    def shown(self, samples: Any) -> list[bool | None] | None:
        """All that is known, to be shown: as `known`, with every label that people gave.

        A person's label goes before the column's.
        """
        return self._over(samples, rates=False)

    def _over(self, samples: Any, *, rates: bool) -> list[bool | None] | None:
        """The column's labels of these rows, and people's over them."""
        rows = self._rows_of(samples)
        found = rows.given.copy()
        for name, label in rows.texts.matching(self.held).items():
            for at in rows.texts.rows(name) if label.value is not None else ():
                if not rates or is_at_random(label.drawn) or rows.given[at] is not None:
                    found[at] = label.value
        return found if any(one is not None for one in found) else None

    def _counts(self, name: str, label: Label) -> bool:
        """Whether findings may rest on a label."""
        return is_at_random(label.drawn) or self._code(name) >= 0

    def _code(self, name: str) -> int:
        place = self._texts.places
        return int(self._codes[place[name]]) if name in place else -1

    def digest_of(self, name: str) -> str:
        """A digest of what a sample says; "" where it is not of this dataset."""
        return self._texts.digests([name]).get(name, "")

    def places(self, samples: Any) -> Mapping[str, int]:
        """Where each sample of a dataset stands, by id."""
        return self._rows_of(samples).texts.places

    def _rows_of(self, samples: Any) -> _Rows:
        """Where each sample stands in a dataset, kept for the last two: every label asks for all rows."""
        held = self._kept.get(id(samples))
        if held is None:
            texts = self._texts if samples is self.samples else Texts(samples)
            held = _Rows(texts, self._given_of(texts))
            self._kept = {**dict(list(self._kept.items())[-1:]), id(samples): held}
        return held

    def _given_of(self, texts: Texts) -> list[bool | None]:
        """What the given column says of each row: it is said of this dataset's texts, and of no others."""
        if texts is self._texts:
            return [_VALUES[int(code)] for code in self._codes]
        known = {str(name) for name in self.samples.ids[np.flatnonzero(self._codes >= 0)]}
        same = self._texts.shared_with(texts, known)
        ids = map(str, texts.samples.ids)
        return [_VALUES[self._code(name)] if name in same else None for name in ids]

    @property
    def left_out(self) -> int:
        """Labels that stay out of findings, as their rows were not drawn at random."""
        return sum(
            label.value is not None and not self._counts(name, label) for name, label in self.held.items()
        )

    def counted(self, samples: Any) -> Counted:
        """People's labels of these rows, with how many rows each stands for; a column's do not count."""
        texts = self._rows_of(samples).texts
        there = [
            (at, label)
            for name, label in texts.matching(self.held).items()
            if label.value is not None
            for at in texts.rows(name)
        ]
        found = weights_of([label.drawn for _, label in there])
        labels: list[bool | None] = [None] * len(samples)
        weights = np.full(len(samples), np.nan)
        for (at, label), weight in zip(there, found, strict=True):
            if weight is not None:
                labels[at], weights[at] = label.value, weight
        return Counted(labels, weights, len(there) - found.count(None), found.count(None))

    def others(self) -> list[Agreement]:
        """How this labeller agrees with each other one, on the rows both labelled; most rows first."""
        found = (self._with(name) for name in tuple(self._by) if name != self.labeller)
        return sorted((one for one in found if one.n), key=lambda one: -one.n)

    def _with(self, other: str) -> Agreement:
        mine, theirs = self.own, self._by[other]
        place = self._texts.places
        both = [name for name in mine if name in theirs and name in place]
        groups = self._prompts[[place[name] for name in both]] if both else []
        names = (self.labeller or "you", other or "no name")
        columns = ([one[name].value for name in both] for one in (mine, theirs))
        return agreement(*columns, groups=groups, names=names)

    @cached_property
    def _prompts(self) -> Any:
        return self.samples.groups

    def code_of(self, name: str) -> str:
        """How code names a sample: by its id alone it would not say which text is labelled."""
        there = not isinstance(self._texts.sample(name), str)
        return f"app.samples[{self._texts.places[name]}]" if there else repr(name)

    def drawn_of(self, name: str) -> str:
        """How the row of a label was drawn; "" where that is not known."""
        label = self.__dict__.get("held", {}).get(name)
        return "" if label is None else str(label.drawn)

    def fresh(self, report: Report) -> bool:
        """Whether findings could rest on more or other labels now than the report was read with."""
        return self.known(report.samples) != report.labels

    def code_for(self, rows: str) -> str:
        """How code says what is known of rows, whose own code is given; "" for nothing."""
        if self.held or not (self._given is None or isinstance(self._given, str)):
            return f"app.labels_of({rows})"
        return "" if self._given is None else repr(self._given)

    @property
    def counts(self) -> dict[str, int]:
        """Labels people gave: good, bad, skipped."""
        values = [label.value for label in self.held.values()]
        return {
            word: values.count(value) for word, value in (("good", True), ("bad", False), ("skipped", None))
        }

    # ---- labelling

    def deal(self, name: str, drawn: str) -> None:
        """Note how a sample came to be shown to a labeller; its label will say so."""
        self._drawn[name] = drawn

    def put(self, name: str, value: bool | None, note: str = "", *, drawn: str | None = None) -> None:
        """Keep a label; it is committed when this returns.

        Args:
            name: The sample.
            value: True good, False bad, None skipped.
            note: A remark.
            drawn: How its row came to be labelled; as it was dealt by default, "" where it was not. A row that this
                labeller labelled before was drawn then.

        Raises:
            StoreError: It could not be kept.
        """
        before = self.own.get(name)
        drawn = self._drawn.get(name, "") if drawn is None else drawn
        drawn = drawn if before is None else before.drawn
        kept = self.store.labels.put(
            self._texts.sample(name),
            value,
            labeller=self.labeller,
            dataset=self.dataset,
            note=note,
            drawn=drawn,
        )
        assert kept is not None
        self._undoable.append((name, kept))
        self._refresh(name)

    @property
    def last(self) -> str | None:
        """The sample whose label an undo takes back; None for none."""
        return self._undoable[-1][0] if self._undoable else None

    def undo(self) -> str:
        """Take the last label of this session back; the sample it was for.

        Raises:
            WorkbenchError: There is none, or somebody labelled the sample since: that label stays, and is read.
        """
        from workbench.store.errors import LabelledSinceError

        if not self._undoable:
            raise WorkbenchError("there is no label of this session to undo")
        name, label = self._undoable[-1]
        try:
            self.store.labels.undo(
                self._texts.sample(name), labeller=self.labeller, dataset=self.dataset, only=label
            )
        except LabelledSinceError:
            self._undoable.pop()
            self._refresh(name)
            raise
        self._undoable.pop()
        self._refresh(name)
        return name

    def _refresh(self, name: str) -> None:
        labels = self.store.labels
        which = self._texts.digests([name]) or [name]
        for held, who in ((self.held, None), (self.own, self.labeller)):
            label = labels.latest(which, labeller=who, dataset=self.dataset).get(name)
            if label is None:
                held.pop(name, None)
            else:
                held[name] = label

    def by(self, labeller: str) -> None:
        """From now on somebody else labels."""
        self.labeller = labeller
        self._undoable = []
