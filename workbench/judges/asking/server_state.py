"""The state of one server within a run: whether and when it replied, and how often a request was simplified."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from workbench.judges.asking.capabilities import RETEST_SECONDS

__all__ = ["ServerState"]


@dataclass
class ServerState:
    """The state of a server within a run.

    Attributes:
        address: Its URL.
        fallbacks: Number of simplified requests, by model, what the model does not support or failed at, and what was
            sent instead.
        given_up: Whether a request waited for it without result and no request got a reply since.
        clock: Seconds since an arbitrary moment.
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
        """Whether it ever replied in this run."""
        return self._last_answer is not None

    def record_answer(self) -> None:
        """Note that it replied, even if only with an error status."""
        self._last_answer, self.given_up = self.clock(), False
        if self._outage_start is not None:
            self._past_outages += self._last_answer - self._outage_start
            self._outage_start = None
        self._lost_questions.clear()

    def is_restarting(self, question: object, sent_at: float, patience: float) -> bool:
        """Whether a broken connection looks like a restart of the server, which is worth waiting for.

        It does if the server replied before, has not replied at all since the request was sent, and meanwhile lost at
        least two different requests: one alone may be a request that breaks its connection whenever it is sent. All
        outages of a run together are waited for no longer than `patience`.

        Args:
            question: The request that was lost; distinguished by identity.
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
        """Notes for the report: what a model does not support, and what was sent instead."""
        for (model, lacking, sent), answers in self.fallbacks.items():
            yield (
                f"{model!r} at {self.address} {lacking}: {answers:,} requests were sent {sent}. "
                f"It is retested after {RETEST_SECONDS / 60:g} minutes."
            )
