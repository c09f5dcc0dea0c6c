"""Amazon Nova and Bedrock reinforcement fine-tuning: a Lambda function over a list of samples.

SageMaker passes `reference_answer` in the sample, Bedrock in `metadata`. Each sample gets an aggregate score and
the graders' scores as a list of metrics; an exception fails the call.

Source: Amazon's documentation of reward functions, amzn-nova-forge 1.4.10.
"""

from __future__ import annotations

from workbench.formats.targets import register_target

_LINES = """

def _wb_row(sample):
    metadata = sample.get("metadata") or {}
    reference = sample.get("reference_answer", metadata.get("reference_answer"))
    only = isinstance(reference, dict) and len(reference) == 1
    value = next(iter(reference.values())) if only else reference
    columns = {**metadata, **(reference if isinstance(reference, dict) else {})}
    roles = {"nova_assistant": "assistant", "nova_user": "user"}
    messages = [{**one, "role": roles.get(one["role"], one["role"])} for one in sample["messages"]]
    return _wb_thread_of(messages, _wb_with_reference(columns, value))


def _wb_sample(sample):
    answers = _wb_drive(_wb_ask(_wb_graders, _wb_row, sample))
    score = _wb_number(_wb_whole(answers), ON_ERROR)
    known = {name: answer.score for name, answer in answers.items() if answer.score is not None}
    metrics = [{"name": name, "value": value, "type": "Metric"} for name, value in known.items()]
    return {"id": sample.get("id"), "aggregate_reward_score": score, "metrics_list": metrics}


def lambda_handler(event, context):
    return [_wb_sample(sample) for sample in event]
"""


register_target(
    "nova",
    "Amazon Nova and Bedrock: Lambda reward",
    label="Nova",
    lines=lambda plan: _LINES.replace("ON_ERROR", repr(plan.on_error)),
    columns="a key of the sample's metadata",
    use=lambda _: (
        "An AWS Lambda function: handler THIS_FILE.lambda_handler (on SageMaker its name begins with SageMaker-)"
    ),
    public=("lambda_handler",),
    combines=True,
    words=False,
    no_score="the exception fails the call for all of its samples.",
)
