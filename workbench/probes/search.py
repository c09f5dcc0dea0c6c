"""The search: on from what fooled the grader, to shorter texts, and from its own text to combinations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from numpy.typing import NDArray
import numpy as np

from workbench.probes.base import Base
from workbench.probes.board import Board
from workbench.probes.tried import Family
from workbench.probes.verdicts import Verdicts

__all__ = ["Attack", "attack"]


@dataclass(frozen=True)
class Attack:
    families: tuple[Family, ...]
    shortest: tuple[str, ...]


def attack(board: Board, base: Base, found: Sequence[Family], decided: Verdicts, *, tries: int, seed: int, groups: NDArray[np.intp]) -> Attack:
    return Attack((), ())
