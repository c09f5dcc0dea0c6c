"""What one run knows of a server: whether it answered, when last, and how often it was asked more simply."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from workbench.judges.asking.abilities import FORGET

__all__ = ["Server"]


@dataclass
class Server:
    """A server as a run sees it.

    Attributes:
        where: Its address.
        fallbacks: How many answers were asked for more simply than the judge wanted, by model, what it did not take or
            failed at, and what was sent in its place.
        given_up: Whether a question waited for it in vain, and nobody was answered since.
        clock: Seconds since some moment.
    """

    where: str = ""
    fallbacks: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    given_up: bool = False
    clock: Callable[[], float] = time.monotonic
    _answered: float | None = None
    _silent_since: float | None = None
    _silent: float = 0.0
    _lost: dict[int, object] = field(default_factory=dict)

    @property
    def answered(self) -> bool:
        """Whether it ever answered in this run."""
        return self._answered is not None

    def heard(self) -> None:
        """It answered something, if only with a refusal."""
        self._answered, self.given_up = self.clock(), False
        if self._silent_since is not None:
            self._silent += self._answered - self._silent_since
            self._silent_since = None
        self._lost.clear()

    def silent(self, question: object, asked_at: float, patience: float) -> bool:
        """Whether a connection that broke off looks like a restart, and should be waited for as one.

        It does where the server answered before, nobody since the question was sent, and at least two different
        questions were lost meanwhile: one alone may end its own connection whenever it is asked. All such times of a
        run together are waited for as long as its patience.

        Args:
            question: Which one was lost; held by its identity.
            asked_at: When it was sent, by the clock.
            patience: Seconds.
        """
        if self._answered is None or self._answered > asked_at:
            return False
        if self._silent_since is None:
            self._silent_since = asked_at
        self._lost[id(question)] = question
        in_time = self._silent + self.clock() - self._silent_since <= patience
        return in_time and len(self._lost) > 1

    def notes(self) -> Iterator[str]:
        """What a person should read: what a model did not take, and what was sent in its place."""
        for (model, lacking, sent), answers in self.fallbacks.items():
            yield (
                f"{model!r} at {self.where} {lacking}: {answers:,} answers were asked for {sent}. "
                f"It is tried again after {FORGET / 60:g} minutes."
            )
