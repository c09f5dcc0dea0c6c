"""Rewards for TRL: `GRPOTrainer(reward_funcs=reward_funcs, args=GRPOConfig(reward_weights=reward_weights))`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Reply:
    """What one function finds for one row: a score, or why there is none."""

    score: float | None
    reason: str = ""


def text_of(turns) -> str:
    return turns if isinstance(turns, str) else turns[-1]["content"]


def exact_one(completion: str, expected: str) -> Reply:
    return Reply(float(completion.strip() == expected))


def fails_one(completion: str, hint: str) -> Reply:
    if hint == "fail":
        raise ValueError("cannot read this row")
    return Reply(0.5)


def skips_one(completion: str, hint: str) -> Reply:
    return Reply(None, "left out") if hint == "skip" else Reply(float(len(completion)))


def each(one, completions, column):
    """One function over a batch; a row on which it fails has no score, and the batch continues."""
    scores = []
    for completion, value in zip(completions, column, strict=True):
        try:
            scores.append(one(text_of(completion), value).score)
        except Exception:
            scores.append(None)
    return scores


def exact(prompts, completions, expected, log_extra=None, **columns):
    scores = each(exact_one, completions, expected)
    if log_extra is not None:
        log_extra("exact", scores)
    return scores


def fails(prompts, completions, hint, **columns):
    return each(fails_one, completions, hint)


async def skips(prompts, completions, hint, **columns):
    return each(skips_one, completions, hint)


reward_funcs = [exact, fails, skips]
reward_weights = [0.5, 0.25, 0.25]
