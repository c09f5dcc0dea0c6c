"""An evaluation for eval-protocol (Fireworks): pytest on this file, named `test_rows.py`, reads `rows.jsonl` beside it."""

# eval-protocol compares annotations with its own classes: no `from __future__ import annotations` here.

from eval_protocol.models import EvaluateResult, EvaluationRow, MetricResult
from eval_protocol.pytest import NoOpRolloutProcessor, evaluation_test

WEIGHTS = {"exact": 0.5, "fails": 0.25, "skips": 0.25}


def exact(completion, columns):
    return float(completion.strip() == columns["expected"])


def fails(completion, columns):
    if columns["hint"] == "fail":
        raise ValueError("cannot read this row")
    return 0.5


def skips(completion, columns):
    return None if columns["hint"] == "skip" else float(len(completion))


def rows_of(lines: list[dict]) -> list[EvaluationRow]:
    """Rows as the data set has them: messages that end with the completion, the reference, and the other columns."""
    return [EvaluationRow(**line) for line in lines]


def metric_of(grader, completion, columns) -> MetricResult:
    try:
        score = grader(completion, columns)
    except Exception as error:
        return MetricResult(is_score_valid=False, score=0.0, reason=f"failed: {error}")
    if score is None:
        return MetricResult(is_score_valid=False, score=0.0, reason="skipped")
    return MetricResult(score=score, reason="")


@evaluation_test(
    input_dataset=["rows.jsonl"],
    dataset_adapter=rows_of,
    rollout_processor=NoOpRolloutProcessor(),
    mode="pointwise",
)
def test_rows(row: EvaluationRow) -> EvaluationRow:
    completion = row.messages[-1].content
    columns = row.input_metadata.dataset_info
    metrics = {
        name: metric_of(grader, completion, columns)
        for name, grader in (("exact", exact), ("fails", fails), ("skips", skips))
    }
    failed = [name for name, metric in metrics.items() if metric.reason.startswith("failed")]
    valid = {name: metric.score for name, metric in metrics.items() if metric.is_score_valid}
    weight = sum(WEIGHTS[name] for name in valid)
    row.evaluation_result = EvaluateResult(
        score=0.0 if failed else sum(score * WEIGHTS[name] for name, score in valid.items()) / weight,
        is_score_valid=not failed,
        error=f"failed: {', '.join(failed)}" if failed else None,
        metrics=metrics,
    )
    return row
