"""The votes of a panel's members on one row, and the grade that follows from them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench.core.grade import ErrorKind, Grade, GradeError
from workbench.core.thread import StringThread
from workbench.graders.concurrent_rows import NOT_GRADED

HALF = 0.5
"""A score of at least this passes if a member has no verdict or threshold; exactly this counts for neither side."""
_SAME = 1e-12
"""Sums of weights closer than this are equal."""
_MAX_TEXT = 2_000
"""Maximum characters of one member's reasoning, or error, in a grade. Workbench limit."""
_MAX_RAW = 10_000
"""Maximum characters of all members' replies in a grade. Workbench limit."""


@dataclass(frozen=True)
class Vote:
    """The grade of one member for one row.

    Attributes:
        name: The member's name.
        grade: Its grade: scored, failed or skipped.
        weight: Of its vote, 0 or more.
    """

    name: str
    grade: Grade
    weight: float = 1.0

    @property
    def counts(self) -> bool:
        """Whether it has a score."""
        return self.grade.score is not None

    @property
    def value(self) -> float:
        """1 for a pass, 0 for a fail, 0.5 for neither."""
        if self.grade.passed is not None:
            return float(self.grade.passed)
        score = self.grade.score
        assert score is not None
        return HALF if score == HALF else float(score > HALF)

    @property
    def record(self) -> dict[str, Any]:
        """For the panel's metadata."""
        grade = self.grade
        text = grade.error.message if grade.error is not None else grade.reasoning or ""
        passes = {"passes": self.value} if self.counts else {}
        error = {} if grade.error is None else {"error": str(grade.error.kind)}
        return {
            "judge": self.name, "status": str(grade.status), "score": grade.score, **passes, **error,
            "reasoning": text[:_MAX_TEXT],
        }  # fmt: skip


@dataclass(frozen=True)
class VotingRule:
    """How votes become a score.

    Attributes:
        vote: "majority", "mean" or "median".
        quorum: Minimum number of votes.
        on_tie: "half", "zero", "skip" or "fail".
        pass_threshold: The lowest mean or median that passes; None for no verdict.
    """

    vote: str
    quorum: int
    on_tie: str = "half"
    pass_threshold: float | None = None

    def grade(self, votes: Sequence[Vote], n_members: int) -> Grade:
        """The panel's grade.

        Args:
            votes: Of the members that were called.
            n_members: Of all members: fewer are called if the others could not change the outcome.
        """
        counted = [vote for vote in votes if vote.counts]
        metadata: dict[str, Any] = {
            "vote": self.vote,
            "votes": [v.record for v in votes],
            "members": n_members,
        }
        failed = [(vote.name, vote.grade.error) for vote in votes if vote.grade.error is not None]
        # A failure of the run is the row's, not a member's: other rows had the votes of all members.
        for name, error in failed:
            if error.kind in NOT_GRADED:
                return Grade(error=GradeError(error.kind, f"{name}: {error.message}"))
        if len(counted) < self.quorum or not sum(vote.weight for vote in counted) > 0:
            return self._without_quorum(votes, counted, failed, metadata)
        if self.vote == "majority":
            return self._majority(votes, counted, metadata)
        score = _mean(counted) if self.vote == "mean" else _median(counted)
        passed = None if self.pass_threshold is None else score >= self.pass_threshold
        metadata |= {"tie": False, "dissent": _dissenters(counted, passed)}
        return Grade(
            score,
            passed=passed,
            reasoning=_reasons(f"{self.vote} of {len(counted)} scores", votes),
            metadata=metadata,
        )

    def _majority(self, votes: Sequence[Vote], counted: Sequence[Vote], metadata: dict[str, Any]) -> Grade:
        lead = balance(counted)
        is_tie = abs(lead) <= _SAME
        passed = None if is_tie else lead > 0
        metadata |= {"tie": is_tie, "dissent": _dissenters(counted, passed)}
        n_pass, n_fail = (sum(vote.value == side for vote in counted) for side in (1.0, 0.0))
        by_weight = "" if len({vote.weight for vote in counted}) == 1 else " by weight"
        if not is_tie:
            verdict = "pass" if passed else "fail"
            reasons = _reasons(f"{verdict}{by_weight}: {n_pass} pass, {n_fail} fail", votes)
            return Grade(float(lead > 0), passed=passed, reasoning=reasons, metadata=metadata)
        reasons = _reasons(f"tie{by_weight}: {n_pass} pass, {n_fail} fail", votes)
        if self.on_tie == "fail":
            return Grade.failed(ErrorKind.RUNTIME, reasons.split("\n")[0], metadata=metadata)
        if self.on_tie == "skip":
            return Grade.skipped(reasons, metadata=metadata)
        score, passed = (HALF, None) if self.on_tie == "half" else (0.0, False)
        return Grade(score, passed=passed, reasoning=reasons, metadata=metadata)

    def _without_quorum(
        self,
        votes: Sequence[Vote],
        counted: Sequence[Vote],
        failed: Sequence[tuple[str, GradeError]],
        metadata: dict[str, Any],
    ) -> Grade:
        """Failed if a member failed; skipped if all others found that the row does not apply."""
        message = (
            f"{len(counted)} of {metadata['members']} judges have a vote, and the quorum is {self.quorum}"
        )
        if len(counted) >= self.quorum:
            message = f"all {len(counted)} votes have a weight of 0"
            return Grade.failed(ErrorKind.RUNTIME, message, metadata=metadata)
        if not failed:
            return Grade.skipped(_reasons(message, votes), metadata=metadata)
        reasons = "; ".join(f"{name}: {error}" for name, error in failed)
        transient = any(error.transient for _, error in failed)
        return Grade(
            error=GradeError(failed[0][1].kind, f"{message}; {reasons}"[:_MAX_TEXT], transient),
            metadata=metadata,
        )


def balance(votes: Sequence[Vote]) -> float:
    """Weight of the votes for a pass minus that of the votes against it."""
    return sum(vote.weight * (2 * vote.value - 1) for vote in votes if vote.counts)


def n_needed(votes: Sequence[Vote], remaining: Sequence[float], quorum: int) -> int:
    """How many more members to call together; 0 if the votes of the others cannot change the outcome.

    These are as many as could decide the vote if all of them agreed with the leading side.

    Args:
        votes: So far.
        remaining: Weights of the members that were not called, in order.
        quorum: Minimum number of votes.
    """
    lead, left = abs(balance(votes)), sum(remaining)
    missing = max(0, quorum - sum(vote.counts for vote in votes))
    if not missing and lead > left + _SAME:
        return 0
    for count, weight in enumerate(remaining, 1):
        lead, left = lead + weight, left - weight
        if count >= missing and lead > left + _SAME:
            return count
    return len(remaining)


def _mean(votes: Sequence[Vote]) -> float:
    total = sum(vote.weight for vote in votes)
    # Weights first: the sum of huge scores may be infinite though their mean is not.
    mean = sum((vote.grade.score or 0.0) * (vote.weight / total) for vote in votes)
    scores = [vote.grade.score or 0.0 for vote in votes if vote.weight > 0]
    return min(max(mean, min(scores)), max(scores))


def _median(votes: Sequence[Vote]) -> float:
    scores = sorted(vote.grade.score or 0.0 for vote in votes)
    low, high = scores[(len(scores) - 1) // 2], scores[len(scores) // 2]
    return low if low == high else low / 2 + high / 2


def _dissenters(votes: Sequence[Vote], passed: bool | None) -> list[str]:
    """Members whose vote is against the outcome; without an outcome, none."""
    return [] if passed is None else [vote.name for vote in votes if vote.value == 1.0 - passed]


def _reasons(summary: str, votes: Sequence[Vote]) -> str:
    return "\n".join([summary, *(f"{vote.name}: {_said(vote)}" for vote in votes)])


def _said(vote: Vote) -> str:
    grade = vote.grade
    if grade.error is not None:
        return f"failed, {grade.error.kind}: {grade.error.message[:200]}"
    result = "skipped" if grade.score is None else f"{grade.score:g}"
    return f"{result}, {grade.reasoning[:_MAX_TEXT]}" if grade.reasoning else result


def summed_costs(grades: Sequence[Grade]) -> dict[str, Any]:
    """Time, tokens and cost of several grades; the cost is unknown if that of one with tokens is."""
    totals = {name: _total([getattr(one, name) for one in grades]) for name in ("seconds", "tokens", "cost")}
    is_unpriced = any(one.tokens is not None and one.cost is None for one in grades)
    return {**totals, "cost": None} if is_unpriced else totals


def with_totals(grade: Grade, votes: Sequence[Vote]) -> dict[str, Any]:
    """Fields of the panel's grade that are sums over its members: time, tokens, cost, replies."""
    grades = [vote.grade for vote in votes]
    raw = [(vote.name, vote.grade.metadata["raw"]) for vote in votes if "raw" in vote.grade.metadata]
    metadata = dict(grade.metadata)
    if raw:
        metadata["raw"] = "\n\n".join(f"[{name}]\n{text}" for name, text in raw)[:_MAX_RAW]
        if all(one.metadata.get("cached") for one in grades if "raw" in one.metadata):
            metadata["cached"] = True
    return {**summed_costs(grades), "metadata": metadata}


def _total(values: Sequence[Any]) -> Any:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def fold_of(thread: StringThread, n_folds: int) -> int:
    """The fold of a prompt, from its text alone: completions of one prompt share it, in every data set and process."""
    turns = [[turn.role, turn.content] for turn in thread.messages()]
    digest = hashlib.sha256(json.dumps(turns).encode("ascii")).hexdigest()
    return int(digest[:15], 16) % n_folds
