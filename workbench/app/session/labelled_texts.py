"""The texts of a dataset by their digests: a label counts only for the text that was labelled."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from workbench.core.errors import SamplesError
from workbench.data.samples import Sample, Samples
from workbench.data.samples.digest import digests_of

if TYPE_CHECKING:
    from workbench.store import Label
    from workbench.store.labels import Labels

__all__ = ["LabelledTexts"]


class LabelledTexts:
    """The rows of a dataset by id, and cached digests of the texts of labelled rows.

    Args:
        samples: The dataset.
    """

    def __init__(self, samples: Samples) -> None:
        self.samples = samples
        self._digests: dict[str, str] = {}

    @cached_property
    def row_numbers(self) -> dict[str, int]:
        """Row of each sample by id, the last row if there are several."""
        return {str(name): row for row, name in enumerate(self.samples.ids)}

    def rows(self, name: str) -> list[int]:
        """All rows of a sample: a view may contain it more than once. None if it is missing."""
        if name not in self.row_numbers:
            return []
        return self._repeated.get(name, [self.row_numbers[name]])

    @cached_property
    def _repeated(self) -> dict[str, list[int]]:
        """Rows of the samples that occur more than once."""
        rows_by_id: dict[str, list[int]] = {}
        if len(self.row_numbers) < len(self.samples):
            for row, name in enumerate(self.samples.ids):
                rows_by_id.setdefault(str(name), []).append(row)
        return {name: rows for name, rows in rows_by_id.items() if len(rows) > 1}

    def shared_with(self, other: LabelledTexts, names: Collection[str]) -> set[str]:
        """Those of these samples that are in both datasets, with the same text."""
        shared = [name for name in names if name in self.row_numbers and name in other.row_numbers]
        digests, other_digests = self.digests(shared), other.digests(shared)
        return {name for name in shared if digests[name] == other_digests[name]}

    def digests(self, names: Collection[str]) -> dict[str, str]:
        """Digests of the texts of those of these samples that are in the dataset."""
        names_here = [name for name in names if name in self.row_numbers]
        new = [name for name in names_here if name not in self._digests]
        if new:
            digests = digests_of(self.samples, [self.row_numbers[name] for name in new])
            self._digests.update(zip(new, digests, strict=True))
        return {name: self._digests[name] for name in names_here}

    def matching(self, labels: Mapping[str, Label]) -> dict[str, Label]:
        """The labels of samples in the dataset with the text that was labelled, or whose labelled text is unknown."""
        digests = self.digests([name for name, label in labels.items() if label.digest])
        return {
            name: label
            for name, label in labels.items()
            if name in self.row_numbers and label.digest in {"", digests.get(name)}
        }

    def read(self, store: Labels, **query: Any) -> tuple[dict[str, Label], set[str]]:
        """A store's labels of these texts, and the samples for which it has only labels of other texts.

        Labels of samples outside the dataset are among the first, because their text cannot be compared.

        Args:
            store: The labels of a store.
            query: Labeller and dataset.
        """
        by_id = dict(store.latest(**query))
        # The last label of an id may be for another text; an older one for this text is queried by its digest.
        mismatched = {name for name in by_id if name in self.row_numbers} - self.matching(by_id).keys()
        by_digest = store.latest(self.digests(mismatched), **query) if mismatched else {}
        matched = {name: label for name, label in by_id.items() if name not in mismatched}
        return matched | dict(by_digest), mismatched - by_digest.keys()

    def sample(self, name: str) -> Sample | str:
        """A sample; its id if it is missing or cannot be read."""
        try:
            return self.samples[self.row_numbers[name]] if name in self.row_numbers else name
        except SamplesError:
            return name
