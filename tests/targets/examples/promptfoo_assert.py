"""An assertion for promptfoo: `assert: [{type: python, value: file://promptfoo_assert.py:get_assert}]`."""

WEIGHTS = {"exact": 0.5, "fails": 0.25, "skips": 0.25}


def exact(completion, columns):
    return float(completion.strip() == columns["expected"])


def fails(completion, columns):
    if columns["hint"] == "fail":
        raise ValueError("cannot read this row")
    return 0.5


def skips(completion, columns):
    return None if columns["hint"] == "skip" else float(len(completion))


def get_assert(output, context):
    """A failure raises: promptfoo gives it score 0 and the error as its reason."""
    columns = context["vars"]
    parts = {one.__name__: one(output, columns) for one in (exact, fails, skips)}
    known = {name: score for name, score in parts.items() if score is not None}
    score = sum(score * WEIGHTS[name] for name, score in known.items()) / sum(WEIGHTS[name] for name in known)
    return {"pass": score >= 0.5, "score": score, "reason": "combined", "namedScores": known}
