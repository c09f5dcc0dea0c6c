"""Fireworks eval-protocol: an evaluation test over rows, which runs under pytest and in reinforcement fine-tuning.

The rows are in a separate file: `messages` with the completion, `ground_truth`, and other columns under
`input_metadata.dataset_info`. An unscored row has `is_score_valid=False` and its error; a grader without a score is
omitted from the row's metrics, because eval-protocol averages invalid metrics like valid ones.

Source: eval-protocol 0.3.33 (`pytest/evaluation_test.py`, `models.py`), read and run.
"""

from __future__ import annotations

from workbench.formats.targets import register_target
from workbench.formats.targets.target import ExportPlan

_IMPORTS = """from os import environ as _wb_environ

from eval_protocol.models import EvaluateResult, EvaluationRow, MetricResult
from eval_protocol.pytest import NoOpRolloutProcessor, evaluation_test"""
_LINES = """

def _wb_row(row):
    columns = {**(row.model_extra or {}), **(row.input_metadata.dataset_info or {})}
    messages = [message.model_dump(exclude_none=True) for message in row.messages]
    return _wb_thread_of(messages, _wb_with_reference(columns, row.ground_truth), row.tools or ())


def _wb_evaluated(row):
    answers = _wb_drive(_wb_ask(_wb_graders, _wb_row, row))
    whole = _wb_whole(answers)
    known = {name: answer for name, answer in answers.items() if answer.score is not None}
    row.evaluation_result = EvaluateResult(
        score=whole.score or 0.0,  # 0.0 is ignored if is_score_valid is False
        is_score_valid=whole.score is not None,
        reason=whole.reason or None,
        error=_wb_why(whole) if whole.score is None else None,
        metrics={name: MetricResult(score=one.score, reason=one.reason) for name, one in known.items()},
    )
    return row


def test_graders(row):
    return _wb_evaluated(row)


# eval-protocol compares annotations with its classes, and under the import at the top they would be strings.
test_graders.__annotations__ = {"row": EvaluationRow, "return": EvaluationRow}
test_graders = evaluation_test(
    input_dataset=[_wb_environ.get("EVAL_DATASET", "rows.jsonl")],
    rollout_processor=NoOpRolloutProcessor(),
    mode="pointwise",
)(test_graders)
"""


def _lines(plan: ExportPlan) -> str:  # noqa: ARG001 (the same for every plan)
    return _LINES


register_target(
    "eval-protocol",
    "Fireworks eval-protocol test",
    label="eval-protocol",
    lines=_lines,
    columns="a key of input_metadata.dataset_info",
    imports=_IMPORTS,
    use=lambda _: "EVAL_DATASET=rows.jsonl pytest THIS_FILE.py; then: eval-protocol create rft",
    public=(
        "test_graders",
        "EvaluateResult",
        "EvaluationRow",
        "MetricResult",
        "NoOpRolloutProcessor",
        "evaluation_test",
    ),
    combines=True,
    no_score="is_score_valid=False with the error.",
)
