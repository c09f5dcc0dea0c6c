"""A reward for slime: `--custom-rm-path slime_rewards.custom_rm`; with `--group-rm` the list of a group comes at once."""


def exact(completion, expected):
    return float(completion.strip() == expected)


def fails(completion, hint):
    if hint == "fail":
        raise ValueError("cannot read this row")
    return 0.5


def skips(completion, hint):
    return None if hint == "skip" else float(len(completion))


def score_of(sample):
    """A dictionary of numbers; `--reward-key score` picks the one that trains. What fails raises: slime has no other word."""
    hint = sample.metadata["hint"]
    parts = [(exact(sample.response, sample.label), 0.5), (fails(sample.response, hint), 0.25)]
    parts.append((skips(sample.response, hint), 0.25))
    known = [(score, weight) for score, weight in parts if score is not None]
    score = sum(score * weight for score, weight in known) / sum(weight for _, weight in known)
    values = [float("nan") if value is None else value for value, _ in parts]
    return {"score": score, "exact": values[0], "fails": values[1], "skips": values[2]}


async def custom_rm(args, sample, **kwargs):
    if isinstance(sample, list):
        return [score_of(one) for one in sample]
    return score_of(sample)
