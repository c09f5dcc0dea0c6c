"""Samples named by the caller: by id alone, or with digests of their texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.data.samples import Sample, Samples
from workbench.data.samples.digest import digest_of, digests_of
from workbench.store.errors import StoreError
from workbench.store.label import Label

__all__ = ["Named", "Which", "named"]

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
