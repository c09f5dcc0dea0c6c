"""The name under which a store keeps a dataset's labels."""

from __future__ import annotations

import hashlib
import marshal
from pathlib import Path
from typing import Any

from workbench.core.display_text import one_line
from workbench.data.packed import BATCH_BYTES, BATCH_ROWS
from workbench.data.samples import Samples

__all__ = ["name_of"]


def name_of(samples: Samples) -> str:
    """The file's name; if ids are row numbers, which would fit any rows, with a short hash of their texts.

    Another file with that name shares the name, but no labels: each label belongs to the text that was labelled. The
    hash covers only the turns, as in earlier releases, so that labels of older stores are found.
    """
    file = one_line(Path(samples.source).name, 160).strip() if samples.source else ""
    if file and not any(str(name) == str(row) for row, name in enumerate(samples.ids)):
        return file[:200]  # the longest name a store accepts
    return f"{file[:180] or 'samples'}-{_digest(samples)}"


def _digest(samples: Samples) -> str:
    """A hash of the rows' turns, 12 hexadecimal digits."""
    digest = hashlib.sha256()
    for start in range(0, len(samples), BATCH_ROWS):
        # In exactly these parts, as older stores have them.
        for part in _halved(samples[start : start + BATCH_ROWS]._build().wires):  # noqa: SLF001 (threads would take twice as long)
            turns = [wire[0] for wire in part]
            digest.update(repr(turns).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:12]


def _halved(wires: list[Any]) -> list[list[Any]]:
    """Rows in parts of at most `BATCH_BYTES`, or of one row."""
    if len(wires) == 1 or len(marshal.dumps(wires)) <= BATCH_BYTES:
        return [wires]
    middle = len(wires) // 2
    return [*_halved(wires[:middle]), *_halved(wires[middle:])]
