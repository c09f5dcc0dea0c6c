"""Calls an exported file as Amazon Nova's and Bedrock's reinforcement fine-tuning do: `lambda_handler(event, context)`.

`verify_reward_function` of amzn-nova-forge 1.4.10 (Python 3.12 only, and SageMaker's packages with it) runs a local file so: it
executes its text in an empty dictionary, calls `lambda_handler(samples, {})` once with all of them, and checks each result's
`id`, `aggregate_reward_score` and `metrics_list`. This is a copy of that, with batches as the services send them, once in
SageMaker's shape (`reference_answer` beside the messages) and once in Bedrock's (in `metadata`).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from common import Scores, arguments, completion_messages, messages_of, number, reference_of

BATCH = 8


def sample_of(row: dict, index: int, *, bedrock: bool) -> dict:
    """One sample of the event, as JSON has it."""
    columns = {name: value for name, value in row["columns"].items() if name != row["reference_column"]}
    messages = messages_of(row["prompt"]) + completion_messages(row["completion"])
    sample = {"id": str(index), "messages": messages, "metadata": columns}
    reference = reference_of(row)
    if reference is not None:
        place = sample["metadata"] if bedrock else sample
        place["reference_answer"] = reference
    return json.loads(json.dumps(sample))


def checked(results: object, samples: list[dict]) -> list[dict]:
    """The handler's results, after the checks of the package and of JSON."""
    results = json.loads(json.dumps(results, allow_nan=False))
    if not isinstance(results, list) or len(results) != len(samples):
        raise ValueError(f"expected a list of {len(samples)} results, got {type(results).__name__}")
    for result, sample in zip(results, samples, strict=True):
        if result["id"] != sample["id"]:
            raise ValueError(f"result of {result['id']} where {sample['id']} was asked")
        if number(result["aggregate_reward_score"]) is None:
            raise ValueError("aggregate_reward_score is no number")
        for metric in result.get("metrics_list") or []:
            if (
                number(metric["value"]) is None
                or metric["type"] not in {"Metric", "Reward"}
                or not metric["name"]
            ):
                raise ValueError(f"not a metric: {metric}")
    return results


def invoke(handler, rows: list[dict], scores: Scores, *, bedrock: bool) -> None:
    """Calls the handler by batches; what it raises is the failure of its whole batch, whose rows are then sent alone."""
    for at in range(0, len(rows), BATCH):
        samples = [
            sample_of(row, at + index, bedrock=bedrock) for index, row in enumerate(rows[at : at + BATCH])
        ]
        try:
            note(checked(handler(samples, {}), samples), scores)
        except Exception:
            scores.facts["raised"] = int(scores.facts.get("raised", 0)) + 1
            for sample in samples:
                try:
                    note(checked(handler([sample], {}), [sample]), scores)
                except Exception as error:
                    scores.error(int(sample["id"]), error)


def note(results: list[dict], scores: Scores) -> None:
    """Writes a batch's results."""
    for result in results:
        index = int(result["id"])
        scores.scores[index] = number(result["aggregate_reward_score"])
        for metric in result.get("metrics_list") or []:
            scores.part(metric["name"], index, metric["value"])


def main() -> None:
    exported, rows, target = arguments()
    scores, other = Scores(len(rows)), Scores(len(rows))
    namespace: dict = {}
    exec(compile(Path(exported).read_text(encoding="utf-8"), exported, "exec", dont_inherit=True), namespace)
    handler = namespace["lambda_handler"]
    invoke(handler, rows, scores, bedrock=False)
    invoke(handler, rows, other, bedrock=True)
    scores.facts["bedrock"] = other.scores
    scores.write(target)


main()
