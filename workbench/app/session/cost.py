"""The cost of a run before it starts: requests to models, and dollars at list prices, from the prompts of some rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import WorkbenchError
from workbench.graders.serialization import direct_parts, parts
from workbench.judges import Judge, Ladder
from workbench.judges.budget import CostEstimator, pending_question
from workbench.judges.protocol import SampleError

if TYPE_CHECKING:
    from workbench.data.samples import Samples
    from workbench.graders import Grader


N_READ = 20
"""Rows whose prompts are read for an estimate. Workbench default: reading them takes about 10 ms."""


@dataclass(frozen=True)
class CostEstimate:
    """What one grader's requests for one row cost, estimated from the prompts of some rows.

    Attributes:
        requests: Requests per row.
        dollars: US dollars per row, at most: prompts at list price, and replies up to the judge's limit or else 1,000
            tokens. None if the price of a model is unknown.
        model: The model whose price is unknown; "" if it is known, or the client names no model.
        n: Rows that were read.
    """

    requests: float
    dollars: float | None
    model: str
    n: int


class CostEstimates:
    """Estimates of graders over the drawn rows, each made once until the grader or the rows change."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[Grader, Samples, CostEstimate | None]] = {}

    def of(self, name: str, grader: Grader, rows: Samples) -> CostEstimate | None:
        """The estimate of a grader; None if it calls no model, or its prompt does not fit these rows."""
        made = self._made.get(name)
        if made is None or made[1] is not rows or made[0] is not grader:
            made = (grader, rows, _estimate(grader, rows))
            self._made[name] = made
        return made[2]


def _estimate(grader: Grader, rows: Samples) -> CostEstimate | None:
    n_read = min(N_READ, len(rows)) if any(isinstance(part, Judge) for part in parts(grader)) else 0
    completions = len(rows) / max(len(np.unique(rows.group_codes)), 1) if n_read else 1.0
    read = np.unique(np.linspace(0, max(len(rows) - 1, 0), n_read).astype(int))
    n_requests, dollars, unknown, n = 0.0, 0.0, "", 0
    for row in read.tolist():
        try:
            questions = list(_requests(grader, rows[row], completions))
        except (WorkbenchError, SampleError):  # this row fails in the run, and costs nothing
            continue
        n += 1
        for question, times in questions:
            n_requests += times
            unknown = unknown or question.model * (question.price is None)
            dollars += times * CostEstimator().estimate(question).money
    if not n:
        return None
    return CostEstimate(n_requests / n, None if unknown else dollars / n, unknown, n)


def _requests(grader: Grader, sample: Any, completions: float) -> Iterator[tuple[Any, float]]:
    """The requests about a row, and how often each is sent: a panel's repeats, a ladder's comparisons."""
    if isinstance(grader, Ladder):
        times = grader.n_comparisons(sample, completions)
        yield from ((question, times) for question in _questions(grader.grader, grader.questions(sample)))
        return
    if isinstance(grader, Judge):
        yield from ((question, 1.0) for question in _questions(grader, grader.questions(sample)))
    times = float(getattr(grader, "repeats", 1))
    for part in direct_parts(grader):
        yield from ((question, times * own) for question, own in _requests(part, sample, completions))


def _questions(judge: Judge, requests: Any) -> list[Any]:
    client, settings = judge.chat_client(), judge.request_settings()
    return [pending_question(client, messages, settings, with_size=True) for messages in requests]
