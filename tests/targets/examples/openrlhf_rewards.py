"""A reward for OpenRLHF: `--reward.remote_url openrlhf_rewards.py`, `--data.label_key expected`."""

# No `from __future__ import annotations` with a dataclass here: OpenRLHF runs the file outside `sys.modules`.

ENDS = ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "<end_of_turn>", "</s>", "<eos>")
"""Tokens that end a completion; a query keeps them, since OpenRLHF decodes it with special tokens."""


def completion_of(query, prompt):
    completion = query.removeprefix(prompt)
    for end in ENDS:
        completion = completion.removesuffix(end)
    return completion


def exact(completion, expected):
    return float(completion.strip() == expected)


def fails(completion, hint):
    if hint == "fail":
        raise ValueError("cannot read this row")
    return 0.5


def reward_func(queries, prompts, labels):
    """Called with one row at a time; what it raises is logged and the run ends later, so a failure raises."""
    completion = completion_of(queries[0], prompts[0])
    parts = {"exact": exact(completion, labels[0]), "length": float(len(completion))}
    fails(completion, "fail" if completion == "7" else "none")
    score = 0.75 * parts["exact"] + 0.25 * parts["length"]
    return {"rewards": score, "scores": score, "extra_logs": parts}
