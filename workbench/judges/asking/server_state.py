"""What one run knows of a server: whether and when it answered, and how often it was asked in a simpler way."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from workbench.judges.asking.capabilities import RETEST_SECONDS

__all__ = ["ServerState"]


@dataclass
class ServerState:
    """A server as a run sees it.

    Attributes:
        address: Its URL.
        fallbacks: How many answers were asked for in a simpler way than the judge wanted, by model, what the model did
            not take or failed at, and what was sent in its place.
        given_up: Whether a question waited for it in vain, and none was answered since.
        clock: Seconds since some moment.
    """

    address: str = ""
    fallbacks: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    given_up: bool = False
    clock: Callable[[], float] = time.monotonic
    _last_answer: float | None = None
    _outage_start: float | None = None
    _past_outages: float = 0.0  # seconds
    _lost_questions: dict[int, object] = field(default_factory=dict)

    @property
    def answered(self) -> bool:
        """Whether it ever answered in this run."""
        return self._last_answer is not None

    def record_answer(self) -> None:
        """Note that it answered something, if only with a refusal."""
        self._last_answer, self.given_up = self.clock(), False
        if self._outage_start is not None:
            self._past_outages += self._last_answer - self._outage_start
            self._outage_start = None
        self._lost_questions.clear()

    def is_restarting(self, question: object, sent_at: float, patience: float) -> bool:
        """Whether a broken connection looks like a restart of the server, which is worth waiting for.

        It does where the server answered before, has answered nobody since the question was sent, and lost at least
        two different questions meanwhile: one alone may be a question that breaks its connection whenever it is asked.
        All outages of a run together are waited for no longer than `patience`.

        Args:
            question: The one that was lost; told apart by identity.
            sent_at: When it was sent, by `clock`.
            patience: Seconds.
        """
        if self._last_answer is None or self._last_answer > sent_at:
            return False
        if self._outage_start is None:
            self._outage_start = sent_at
        self._lost_questions[id(question)] = (
            question  # the object too, so that its id is not given to another
        )
        in_time = self._past_outages + self.clock() - self._outage_start <= patience
        return in_time and len(self._lost_questions) > 1

    def notes(self) -> Iterator[str]:
        """Notes for the report: what a model did not take, and what was sent in its place."""
        for (model, lacking, sent), answers in self.fallbacks.items():
            yield (
                f"{model!r} at {self.address} {lacking}: {answers:,} answers were asked for {sent}. "
                f"It is tried again after {RETEST_SECONDS / 60:g} minutes."
            )
