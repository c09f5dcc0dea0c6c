"""Scorers for inspect: `inspect score LOG --scorer inspect_scorers.py@exact`, or in a task: `scorer=[exact(), fails()]`."""

from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState


@scorer(metrics=[mean(), stderr()])
def exact() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        completion = state.output.completion
        return Score(value=float(completion.strip() == target.text), answer=completion)

    return score


@scorer(metrics=[mean(), stderr()])
def fails() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        if state.metadata["hint"] == "fail":
            return Score.unscored(reason="scoring_failed", explanation="cannot read this row")
        return Score(value=0.5, explanation="read", metadata={"seconds": 0.0})

    return score


@scorer(metrics=[mean(), stderr()])
def skips() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        if state.metadata["hint"] == "skip":
            return Score.unscored(reason="skipped", explanation="left out")
        return Score(value=float(len(state.output.completion)))

    return score
