"""Trainers' signatures: one file with one class per trainer, found by import."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol, TypeVar

from workbench.core.discovery import refuse_taken
from workbench.core.errors import WorkbenchError
from workbench.deploy.reward.grading import RewardGrades
from workbench.deploy.reward.trainer_rows import RewardRow

T = TypeVar("T", bound="type[TrainerFunction]")

TRAINERS: dict[str, type[TrainerFunction]] = {}
"""Every signature by its attribute name on a reward."""


class NoScoreError(WorkbenchError, RuntimeError):
    """A row has no score, and its trainer cannot represent that."""


class Grading(Protocol):
    """The interface of a reward that a signature needs; see `Reward`."""

    reference: str

    def grade(self, rows: Sequence[RewardRow], *, only: str = "") -> RewardGrades:
        """Grade rows; `only` names one grader, "" means all."""
        ...

    async def agrade(self, rows: Sequence[RewardRow], *, only: str = "") -> RewardGrades:
        """Grade rows from a coroutine."""
        ...

    def scores(self, graded: RewardGrades) -> list[float | None]:
        """One score per row; None for a row without a score."""
        ...

    def numbers(self, graded: RewardGrades) -> list[float]:
        """One number per row, with `on_error` for a row without a score."""
        ...


def trainer(name: str) -> Callable[[T], T]:
    """Register a signature under its attribute name on a reward.

    Raises:
        ValueError: Two classes have the same name.
    """

    def register(cls: T) -> T:
        refuse_taken("trainer", name, TRAINERS.get(name), cls)
        TRAINERS[name] = cls
        return cls

    return register


class TrainerFunction:
    """A reward in one trainer's signature: a subclass writes `__call__` as that trainer calls it.

    It pickles with its reward, and trainers log it by its `__name__`.

    Args:
        reward: What grades.
        name: Its `__name__`.
        only: The single entry whose scores it returns; "" for the combined ones.
    """

    passes_columns: ClassVar[bool] = True
    """Whether rows have more than their label."""

    several: ClassVar[bool] = False
    """Whether the trainer takes several functions with weights, so that a suite needs no rule."""

    def __init__(self, reward: Grading, name: str, only: str = "") -> None:
        self._reward, self._only = reward, only
        self.__name__ = self.__qualname__ = name

    def __repr__(self) -> str:
        """Name and signature."""
        return f"<{type(self).__name__} {self.__name__}>"

    def _one(self, row: RewardRow) -> float:
        """The score of one row, or `on_error`; waits for it."""
        return self._reward.numbers(self._reward.grade([row], only=self._only))[0]

    async def _one_awaited(self, row: RewardRow) -> float:
        """The same inside async code."""
        return self._reward.numbers(await self._reward.agrade([row], only=self._only))[0]
