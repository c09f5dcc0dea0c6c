"""What one run knows of a server: whether it answered, when last, and how often it was asked more simply."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from workbench.judges.abilities import FORGET

__all__ = ["Server"]


@dataclass
class Server:
    """A server as a run sees it.

    Attributes:
        where: Its address.
        fallbacks: How many answers were asked for more simply than the judge wanted, by model, what the model did not
            take, and what was sent in its place.
        clock: Seconds since some moment.
    """

    where: str = ""
    fallbacks: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    clock: Callable[[], float] = time.monotonic
    _answered: float | None = None
    _silent_since: float | None = None
    _silent: float = 0.0

    @property
    def answered(self) -> bool:
        """Whether it ever answered in this run."""
        return self._answered is not None

    def heard(self) -> None:
        """It answered something, if only with a refusal."""
        self._answered = self.clock()
        if self._silent_since is not None:
            self._silent += self._answered - self._silent_since
            self._silent_since = None

    def silent(self, asked_at: float, patience: float) -> bool:
        """Whether a connection that broke off looks like a restart, and should be waited for as one.

        It does where the server answered before, and nobody since the question was sent. All such times of a run
        together are waited for as long as its patience, so that a question that ends its own connection whenever it
        is asked does not hold the run up for ever.

        Args:
            asked_at: When the question was sent, by the clock.
            patience: Seconds.
        """
        if self._answered is None or self._answered > asked_at:
            return False
        if self._silent_since is None:
            self._silent_since = asked_at
        return self._silent + self.clock() - self._silent_since <= patience

    def notes(self) -> Iterator[str]:
        """What a person should read: what a model did not take, and what was sent in its place."""
        for (model, lacking, sent), answers in self.fallbacks.items():
            yield (
                f"{model!r} at {self.where} did not take {lacking}: {answers:,} answers were asked for {sent}. "
                f"It is tried again after {FORGET / 60:g} minutes."
            )
