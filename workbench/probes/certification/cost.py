"""What a certification will cost, printed before its first request, and the confirmation."""

from __future__ import annotations

import builtins
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.core.display import DisplayBlock, Displayed, Paragraph
from workbench.core.display_text import counted, one_line
from workbench.core.errors import ReportError, SamplesError, WorkbenchError
from workbench.data.samples import Samples
from workbench.graders.serialization import parts
from workbench.judges.budget import Budget, BudgetError, CostEstimator, pending_question
from workbench.judges.kinds import Judge
from workbench.judges.kinds.endpoint_grader import Endpoint
from workbench.judges.protocol import ScriptedClient
from workbench.probes.certification.identity import requests_of
from workbench.report.cases import money
from workbench.run.suite import Suite

_MEASURED = 20
"""Rows whose requests are measured for the estimate."""


@dataclass(frozen=True, repr=False)
class CertificationCost(Displayed):
    """The requests of a certification and their estimated cost.

    Attributes:
        steps: Rows that each step grades at most, by its name.
        per_row: Requests per row.
        dollars: Estimated US dollars of all requests; NaN if a price is unknown.
        is_free: Whether no request costs money: no judge, or one that replies from a script.
        model: The model that is called; "" if there is none.
        budget: The limit that was given; None without.
    """

    _label = "Cost of a certification"

    steps: Mapping[str, int]
    per_row: float
    dollars: float
    is_free: bool
    model: str = ""
    budget: Budget | None = field(default=None)

    @property
    def requests(self) -> int:
        """Maximum number of requests."""
        return math.ceil(sum(self.steps.values()) * self.per_row)

    @property
    def sentence(self) -> str:
        """What it will cost, in one sentence."""
        steps = ", ".join(f"{name} {count:,}" for name, count in self.steps.items())
        if self.is_free and not self.requests:
            return "cost: nothing; no request is sent"
        if self.is_free:
            return f"cost: nothing; up to {self.requests:,} replies from a script ({steps})"
        price = (
            "an unknown amount (the model has no price)"
            if math.isnan(self.dollars)
            else f"about {money(self.dollars)}"
        )
        to = f" to {one_line(self.model, 60)}" if self.model else ""
        limit = f"; limit {self.budget!r}" if self.budget is not None else ""
        return f"cost: {price}, at most {counted(self.requests, 'request')}{to} ({steps}){limit}"

    def __repr__(self) -> str:
        return f"CertificationCost({self.sentence})"

    def _blocks(self) -> Iterator[DisplayBlock]:
        yield Paragraph(self.sentence)


def cost_of(
    suite: Suite, samples: Samples, steps: Mapping[str, int], budget: Budget | None
) -> CertificationCost:
    """The estimated cost of grading this many rows.

    Args:
        suite: The judge as a suite.
        samples: Rows like those that will be graded.
        steps: Rows that each step grades, by its name.
        budget: The limit that was given.
    """
    leaves = [part for entry in suite.entries for part in parts(entry.grader)]
    judges = [part for part in leaves if isinstance(part, Judge)]
    remote = [part for part in leaves if isinstance(part, Endpoint)]
    if not judges and not remote:
        return CertificationCost(steps, 0.0, 0.0, is_free=True, budget=budget)
    measured = [_per_row(judge, samples) for judge in judges]
    requests = sum(count for count, _ in measured) + len(remote)
    dollars = sum(cost for _, cost in measured) + (math.nan if remote else 0.0)
    is_free = not remote and all(isinstance(judge.client, ScriptedClient) for judge in judges)
    model = judges[0].model if judges else ""
    return CertificationCost(steps, requests, dollars * sum(steps.values()), is_free, model, budget)


def _per_row(judge: Judge, samples: Samples) -> tuple[float, float]:
    """Mean requests and dollars per row; NaN dollars if the model has no price."""
    try:
        client, settings = judge.chat_client(), judge.request_settings()
    except WorkbenchError:  # no key: the run reports it
        return 1.0, math.nan
    counts, costs, estimator = [], [], CostEstimator()
    for row in range(min(len(samples), _MEASURED)):
        try:
            questions = requests_of(judge, samples[row])
        except SamplesError:
            questions = []
        if not questions:  # the row fails in the run
            continue
        pending = [pending_question(client, one, settings, with_size=False) for one in questions]
        counts.append(len(pending))
        costs.append(sum(math.nan if one.price is None else estimator.estimate(one).money for one in pending))
    return (float(np.mean(counts)), float(np.mean(costs))) if counts else (1.0, math.nan)


Confirm = bool | Callable[[CertificationCost], bool] | None


def confirmed(cost: CertificationCost, confirm: Confirm, *, say: bool) -> bool:
    """Print the cost, and return whether to send the requests.

    Args:
        cost: The estimate.
        confirm: True, a function that is called with the estimate, or None to prompt the user unless there is a budget.
        say: Whether to print the estimate.

    Raises:
        ReportError: Neither a budget nor a confirmation was given, and no user can reply.
    """
    if say:
        print(f"certify: {cost.sentence}", flush=True)  # noqa: T201 (the user has to see it first)
    if callable(confirm):
        return bool(confirm(cost))
    if confirm is not None or cost.budget is not None or cost.is_free:
        return confirm is not False
    return _asked(cost)


def _asked(cost: CertificationCost) -> bool:
    found = cost.sentence
    error = ReportError(
        "certify needs a confirmation or a budget before it sends requests", found=found,
        hint=f"pass budget={_suggested(cost)}, or confirm=True",
    )  # fmt: skip
    if not _is_interactive():
        raise error
    try:
        reply = builtins.input(f"certify: {found}. Send? [y/N] ")
    except (
        EOFError,
        OSError,
        RuntimeError,
        NotImplementedError,
    ):  # a kernel without a front end, or no terminal
        raise error from None
    return reply.strip().lower() in {"y", "yes"}


def _is_interactive() -> bool:
    return hasattr(builtins, "__IPYTHON__") or (sys.stdin is not None and sys.stdin.isatty())


def _suggested(cost: CertificationCost) -> str:
    """A budget of twice the estimate, with two digits."""
    return (
        f"wb.Budget(calls={cost.requests})"
        if math.isnan(cost.dollars)
        else f"{max(0.01, 2 * cost.dollars):.2g}"
    )


def remaining(budget: Budget | None, dollars: float, tokens: float, *, calls: int) -> Budget | None:
    """A budget less what was spent; None for no limit.

    Raises:
        BudgetError: Nothing remains.
    """
    if budget is None:
        return None
    left = {
        "money": None if budget.money is None else budget.money - dollars,
        "tokens": None if budget.tokens is None else budget.tokens - tokens,
        "calls": None if budget.calls is None else budget.calls - calls,
    }
    limits: dict[str, Any] = {name: value for name, value in left.items() if value is not None}
    if any(value <= 0 for value in limits.values()):
        raise BudgetError("the budget is exhausted", found=repr(budget))
    return Budget(**limits)
