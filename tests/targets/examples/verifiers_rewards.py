"""Rewards for verifiers: in the taskset's config, for each name, `rewards.exact = {fn = "verifiers_rewards.py:exact", weight = 0.5}`."""

# No `from __future__ import annotations` with a dataclass here: verifiers runs the file outside `sys.modules`.

REWARDS = {"exact": 0.5, "fails": 0.25, "skips": 0.25}


def completion_of(trace):
    """The last reply as written; `trace.last_reply` is without the blanks around it."""
    replies = trace.assistant_messages
    return (replies[-1].content or "") if replies else ""


async def exact(task, trace) -> float:
    return float(completion_of(trace).strip() == task.expected)


async def fails(task, trace) -> float:
    if task.hint == "fail":
        raise ValueError("cannot read this row")
    return 0.5


async def skips(task, trace) -> dict[str, float]:
    """A missing score has no entry: an empty dictionary."""
    return {} if task.hint == "skip" else {"skips": float(len(completion_of(trace)))}
