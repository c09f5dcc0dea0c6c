"""The rows of a probe, drawn from the data: one of each prompt, with all completions that the data has for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.analysis.labels import read_labels
from workbench.data.samples import Samples
from workbench.probes.shapes import Mined
from workbench.report.settings import label_column

LOOKED_AT = 25
"""Rows of the data that are read for each row drawn, so that prompts do not repeat. Workbench default."""


@dataclass(frozen=True)
class DrawnRows:
    """The rows of a probe.

    Attributes:
        samples: One row per prompt, as far as the prompt's rows differ in nothing but the completion.
        own: All completions that the data has for each of these rows.
        labels: Whether each row is known good or bad; None without labels.
    """

    samples: Samples
    own: tuple[tuple[str, ...], ...]
    labels: list[bool | None] | None


def drawn_rows(samples: Samples, count: int, seed: int, mined: Mined, labels: Any) -> DrawnRows:
    """Rows that can be read: those of different prompts first, a known-good one of each."""
    samples.require_answers()
    # Of a large dataset only some rows are read.
    some = samples.needing("completion").draw(LOOKED_AT * count, seed=seed)
    problems, groups = some.problems, some.groups
    known = _labels_of(some, samples, labels)
    readable = [row for row in range(len(some)) if row not in problems]
    order = np.random.default_rng(seed).permutation(readable).tolist()
    order = order if known is None else sorted(order, key=lambda row: known[row] is not True)
    alike = _alike(some, order, mined)
    first: dict[Any, int] = {}
    for row in order:
        first.setdefault(groups[row], row)
    each = {alike[row]: row for row in reversed([*first.values(), *order])}
    chosen = sorted([*dict.fromkeys([*first.values(), *each.values()])][:count])
    texts: dict[Any, list[str]] = {}
    for row in order:
        texts.setdefault(alike[row], []).append(some.threads[row].completion() or "")
    return DrawnRows(
        some.take(chosen),
        tuple(tuple(dict.fromkeys(filter(None, texts[alike[row]]))) for row in chosen),
        None if known is None else [known[row] for row in chosen],
    )


def _alike(samples: Samples, rows: Sequence[int], mined: Mined) -> dict[int, Any]:
    """What a grader reads of each row in addition to its completion: rows of one prompt with equal values are one."""
    roles = samples.columns
    left = {roles.get("completion"), roles.get("id"), roles.get("messages")}
    names = [
        name
        for name in samples.frame.columns
        if name not in left and (not mined.readable or str(name) in mined.text)
    ]
    cells = samples.frame[names].astype(str)
    references, groups = samples.references, samples.groups
    return {row: (groups[row], str(references[row]), *cells.iloc[row]) for row in rows}


def _labels_of(data: Samples, whole: Samples, labels: Any) -> list[bool | None] | None:
    """The labels of some rows, from those of all rows."""
    if labels is None:
        return None
    codes = read_labels(label_column(whole, labels), len(whole))
    meaning = dict(zip(whole.row_numbers.tolist(), codes.tolist(), strict=True))
    return [{1: True, 0: False}.get(meaning[row]) for row in data.row_numbers.tolist()]
