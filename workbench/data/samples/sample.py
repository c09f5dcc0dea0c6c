"""`Sample`: one row, ready to be graded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workbench.core.thread import StringThread


@dataclass(frozen=True, slots=True)
class Sample:
    """One row, ready to be graded.

    Attributes:
        id: Text, unique in its dataset.
        thread: The conversation; its metadata is always a dict.
        reference: The ground truth, as plain data; None if there is none.
        group: Its prompt: rollouts of one prompt share it.
    """

    id: str
    thread: StringThread
    reference: Any
    group: str
