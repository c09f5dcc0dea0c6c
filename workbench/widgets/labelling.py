"""A person's labels: which row comes next, what is known, and going back. No widget is imported here."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.diagnostics.labels import read_labels
from workbench.errors import WorkbenchError
from workbench.report.settings import label_column
from workbench.report.where import case_of
from workbench.samples import Samples
from workbench.visible import one_line

if TYPE_CHECKING:
    from workbench.report import Report
    from workbench.store import Label, Store

__all__ = ["ORDERS", "Labelling", "Queue"]

Rows = NDArray[np.intp]

_SEED = 0
_FEW = 100
"""Rows whose content names a dataset that has no source."""


class Labelling:
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
        self.samples, self.labeller = samples, labeller
        self.dataset = dataset or _name_of(samples)
        self._address, self._given = store, given
        self._codes = read_labels(label_column(samples, given), len(samples))
        self._undoable: list[str] = []

    # ---- the store

    @cached_property
    def store(self) -> Store:
        """The store, opened when it is first needed.

        Raises:
            StoreError: It cannot be opened.
        """
        from workbench.store import Store, open_store

        if isinstance(self._address, Store):
            return self._address
        return open_store("sqlite://" if self._address is None else self._address)

    @property
    def store_url(self) -> str:
        """Where labels and answers are kept, without password; "" for memory."""
        if self._address is None:
            return ""
        return str(getattr(self._address, "url", self._address))

    @property
    def in_memory(self) -> bool:
        """Whether the store's address leads nobody else to it."""
        return self.store_url in {"", "sqlite://", "sqlite:///:memory:"}

    def close(self) -> None:
        """Close the store, if it was opened here."""
        if "store" in self.__dict__ and self.store is not self._address:
            self.store.close()
            del self.__dict__["store"]

    @cached_property
    def held(self) -> dict[str, Label]:
        """What the store holds of this dataset: sample id to the last label, whoever gave it."""
        return dict(self.store.labels.latest(dataset=self.dataset))

    def reload(self) -> None:
        """Read the store anew: another notebook may have labelled meanwhile."""
        self.__dict__.pop("held", None)

    # ---- what is known

    def known(self, samples: Any) -> list[bool | None] | None:
        """One entry a row: True good, False bad, None unknown; None where nothing is known of any row.

        A person's label goes before the column's.
        """
        found = [self._known(str(name)) for name in samples.ids]
        return found if any(one is not None for one in found) else None

    def people(self, samples: Any) -> list[bool | None] | None:
        """As `known`, of people's labels alone."""
        held = self.held
        if not any(label.value is not None for label in held.values()):
            return None
        labels = (held.get(str(name)) for name in samples.ids)
        return [None if label is None else label.value for label in labels]

    def _known(self, name: str) -> bool | None:
        label = self.held.get(name)
        if label is not None and label.value is not None:
            return label.value
        code = self._codes[self._place[name]] if name in self._place else -1
        return None if code < 0 else bool(code)

    @cached_property
    def _place(self) -> dict[str, int]:
        return {str(name): row for row, name in enumerate(self.samples.ids)}

    def fresh(self, report: Report) -> bool:
        """Whether more or other labels are known now than the report was read with."""
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

    def put(self, name: str, value: bool | None, note: str = "") -> None:
        """Keep a label; it is committed when this returns.

        Raises:
            StoreError: It could not be kept.
        """
        self.store.labels.put(name, value, labeller=self.labeller, dataset=self.dataset, note=note)
        self._undoable.append(name)
        self._refresh(name)

    def undo(self) -> str:
        """Take the last label of this session back; the sample it was for.

        Raises:
            WorkbenchError: There is none.
        """
        if not self._undoable:
            raise WorkbenchError("there is no label of this session to undo")
        name = self._undoable[-1]
        self.store.labels.undo(name, labeller=self.labeller, dataset=self.dataset)
        self._undoable.pop()
        self._refresh(name)
        return name

    def _refresh(self, name: str) -> None:
        held = self.held
        label = self.store.labels.latest([name], dataset=self.dataset).get(name)
        if label is None:
            held.pop(name, None)
        else:
            held[name] = label

    def by(self, labeller: str) -> None:
        """From now on somebody else labels."""
        self.labeller = labeller
        self._undoable = []


def _name_of(samples: Samples) -> str:
    """The file's name, else a short hash of what the first rows say: row numbers would fit any dataset."""
    if samples.source:
        return one_line(Path(samples.source).name, 160).strip()[:200]  # what a store takes as a name
    wires = [thread.to_wire()[0] for thread in samples.head(_FEW).threads]
    return (
        "samples-" + hashlib.sha256(repr((len(samples), wires)).encode("utf-8", "replace")).hexdigest()[:12]
    )


class Queue:
    """The rows of a report, or of a dataset without one, in the order they are to be labelled.

    Args:
        order: Out of `ORDERS`.
        samples: The rows, n of them.
        report: Grades of these rows; None before a run.
        grader: Whose verdict balances the classes; the first one by default.
        shown: Rows that are looked at now, for "as shown".
    """

    def __init__(
        self,
        order: str,
        samples: Any,
        *,
        report: Report | None = None,
        grader: str | None = None,
        shown: Sequence[int] | Rows = (),
    ) -> None:
        if order not in ORDERS:
            raise WorkbenchError("there is no such order", found=repr(order), expected=", ".join(ORDERS))
        self.samples = samples
        mixed = np.random.default_rng(_SEED).permutation(len(samples)).astype(np.intp)
        graders = report.graders if report is not None else []
        name = grader if grader in graders else next(iter(graders), None)
        self.rows: Rows = ORDERS[order](mixed, report, name, np.asarray(shown, dtype=np.intp))
        ids = samples.ids  # a copy each time it is asked for
        self._ids = [str(ids[row]) for row in self.rows]
        self._back: list[int] = []

    def __len__(self) -> int:
        return len(self.rows)

    def next(self, decided: Mapping[str, Any], count: int = 1) -> list[int]:
        """The first rows nobody has decided, at most so many."""
        left = (int(row) for row, name in zip(self.rows, self._ids, strict=True) if name not in decided)
        return [row for row, _ in zip(left, range(count), strict=False)]

    def done(self, decided: Mapping[str, Any]) -> int:
        """Rows of the queue that are decided."""
        return sum(name in decided for name in self._ids)


def _random(mixed: Rows, report: Report | None, grader: str | None, shown: Rows) -> Rows:  # noqa: ARG001
    return mixed


def _shown(mixed: Rows, report: Report | None, grader: str | None, shown: Rows) -> Rows:  # noqa: ARG001
    return shown if len(shown) else mixed


def _balanced(mixed: Rows, report: Report | None, grader: str | None, shown: Rows) -> Rows:  # noqa: ARG001
    """Of every two rows one accepted and one refused: both kinds of mistakes need rows of their own.

    Which of the two comes first is drawn: a strict turn would tell the labeller what the grader said.
    """
    if report is None or grader is None:
        return mixed
    case = case_of(report, grader)
    verdict = np.full(len(report), -1)
    verdict[case.rows] = case.accepted
    accepted, refused = (mixed[verdict[mixed] == one] for one in (1, 0))
    n = min(len(accepted), len(refused))
    pairs = (
        np.random.default_rng(_SEED).permuted(np.column_stack([refused[:n], accepted[:n]]), axis=1).ravel()
    )
    return np.concatenate([pairs, accepted[n:], refused[n:], mixed[verdict[mixed] < 0]])


def _disagreements(mixed: Rows, report: Report | None, grader: str | None, shown: Rows) -> Rows:
    """Rows on which the graders lie furthest apart, whatever their scales."""
    if report is None or len(report.graders) < 2:
        return _balanced(mixed, report, grader, shown)
    scores = report.scores.to_numpy(dtype=float)
    there = ~np.isnan(scores)
    high = np.where(there, scores, -np.inf).max(1)
    low = np.where(there, scores, np.inf).min(1)
    with np.errstate(over="ignore", invalid="ignore"):
        gap = np.where(there.sum(1) > 1, high - low, -1.0)
    return mixed[np.argsort(-gap[mixed], kind="stable")]


ORDERS: dict[str, Callable[[Rows, Any, str | None, Rows], Rows]] = {
    "class-balanced": _balanced,
    "disagreement first": _disagreements,
    "random": _random,
    "as shown": _shown,
}
"""Orders of a label queue by name; all are the same for the same report."""
