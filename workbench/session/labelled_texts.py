"""What the rows of a dataset say, as labels know it: a label counts for the text that was labelled."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from workbench.errors import SamplesError
from workbench.samples import Sample, Samples
from workbench.samples.digest import digests_of, share_texts

if TYPE_CHECKING:
    from workbench.store import Label
    from workbench.store.labels import Labels

__all__ = ["Texts"]


class Texts:
    """The rows of a dataset by id, and digests of what they say: made for rows that have labels, once.

    Args:
        samples: The dataset.
    """

    def __init__(self, samples: Samples) -> None:
        self.samples = samples
        self._digests: dict[str, str] = {}

    @cached_property
    def places(self) -> dict[str, int]:
        """Row of each sample, the last where it stands here more than once."""
        return {str(name): row for row, name in enumerate(self.samples.ids)}

    def rows(self, name: str) -> list[int]:
        """All rows of a sample: a view may have it more than once. None where it is not here."""
        if name not in self.places:
            return []
        return self._repeated.get(name, [self.places[name]])

    @cached_property
    def _repeated(self) -> dict[str, list[int]]:
        """Rows of the samples that stand here more than once."""
        found: dict[str, list[int]] = {}
        if len(self.places) < len(self.samples):
            for row, name in enumerate(self.samples.ids):
                found.setdefault(str(name), []).append(row)
        return {name: rows for name, rows in found.items() if len(rows) > 1}

    def shared_with(self, other: Texts, names: Collection[str]) -> set[str]:
        """Those of these samples that are here and there, and say the same."""
        both = [name for name in names if name in self.places and name in other.places]
        if share_texts(self.samples, other.samples):
            return set(both)  # without reading a row
        mine, theirs = self.digests(both), other.digests(both)
        return {name for name in both if mine[name] == theirs[name]}

    def digests(self, names: Collection[str]) -> dict[str, str]:
        """What those of these samples say that are here."""
        here = [name for name in names if name in self.places]
        new = [name for name in here if name not in self._digests]
        if new:
            made = digests_of(self.samples, [self.places[name] for name in new])
            self._digests.update(zip(new, made, strict=True))
        return {name: self._digests[name] for name in here}

    def matching(self, held: Mapping[str, Label]) -> dict[str, Label]:
        """The labels of samples that are here and say what they said then; also where a label does not know that."""
        said = self.digests([name for name, label in held.items() if label.digest])
        return {
            name: label
            for name, label in held.items()
            if name in self.places and label.digest in {"", said.get(name)}
        }

    def read(self, labels: Labels, **which: Any) -> tuple[dict[str, Label], set[str]]:
        """What a store holds of these texts, and the samples of which it has labels of other texts only.

        Labels of samples that are not here are among the first: nobody can say that these are others.

        Args:
            labels: The store's.
            which: Labeller and dataset.
        """
        there = dict(labels.latest(**which))
        odd = {name for name in there if name in self.places} - self.matching(there).keys()
        found = labels.latest(self.digests(odd), **which) if odd else {}
        return {name: label for name, label in there.items() if name not in odd} | dict(
            found
        ), odd - found.keys()

    def sample(self, name: str) -> Sample | str:
        """A sample; its id where it is not here or cannot be read."""
        try:
            return self.samples[self.places[name]] if name in self.places else name
        except SamplesError:
            return name
