"""Scorers for MLflow: `mlflow.genai.evaluate(data=rows, scorers=scorers)`, rows of `inputs`, `outputs`, `expectations`."""

from mlflow.entities import Feedback
from mlflow.genai.scorers import scorer


def completion_of(outputs):
    return outputs if isinstance(outputs, str) else outputs[-1]["content"]


@scorer(timeout=0)
def exact(*, inputs, outputs, expectations):
    return Feedback(
        value=float(completion_of(outputs).strip() == expectations["expected"]), rationale="compared"
    )


@scorer(timeout=0)
def fails(*, inputs, outputs, expectations):
    if expectations["hint"] == "fail":
        raise ValueError("cannot read this row")
    return Feedback(value=0.5, metadata={"seconds": "0.0"})


@scorer(timeout=0)
def skips(*, inputs, outputs, expectations):
    """A missing score is an error with a custom code; None alone leaves no record."""
    if expectations["hint"] == "skip":
        return Feedback(error=ValueError("left out"))
    return float(len(completion_of(outputs)))


scorers = [exact, fails, skips]
