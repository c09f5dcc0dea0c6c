"""A reward for verl: `reward.custom_reward_function.path=verl_rewards.py`, `.name=compute_score`."""

# No `from __future__ import annotations` with a dataclass here: verl runs the file outside `sys.modules`.


def exact(completion, expected):
    return float(completion.strip() == expected)


def fails(completion, hint):
    if hint == "fail":
        raise ValueError("cannot read this row")
    return 0.5


def skips(completion, hint):
    return None if hint == "skip" else float(len(completion))


def compute_score(data_source, solution_str, ground_truth, extra_info=None, **kwargs):
    """Every row has the same keys: a part without a score is NaN, and a failure raises (verl knows no other word)."""
    hint = extra_info["hint"]
    parts = [(exact(solution_str, ground_truth), 0.5), (fails(solution_str, hint), 0.25)]
    parts.append((skips(solution_str, hint), 0.25))
    known = [(score, weight) for score, weight in parts if score is not None]
    score = sum(score * weight for score, weight in known) / sum(weight for _, weight in known)
    nan = float("nan")
    values = [nan if value is None else value for value, _ in parts]
    return {"score": score, "exact": values[0], "fails": values[1], "skips": values[2]}
