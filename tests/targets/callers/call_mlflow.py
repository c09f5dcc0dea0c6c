"""Calls an exported file's scorers as `mlflow.genai.evaluate` does: its own evaluation of a table, in a store on disk.

The file has `scorers`. A score is the value of the assessment of the scorer's name on the row's trace; the one named
`combined`, or the only one, gives the row's score.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from pathlib import Path

os.environ.update(
    MLFLOW_DISABLE_TELEMETRY="true",
    DO_NOT_TRACK="true",
    MLFLOW_TRACE_SAMPLING_RATIO="1",
    MLFLOW_GENAI_EVAL_MAX_WORKERS="2",
)
sys.path.insert(0, str(Path(__file__).parent))
import mlflow
from common import Scores, arguments, completion_messages, import_file, messages_of, number
from mlflow.entities import Expectation
from mlflow.genai.evaluation import harness
from mlflow.genai.evaluation.entities import EvalItem

WHOLE = 16


def row_of(row: dict) -> dict:
    """A row of the table: the prompt, the completion, and all columns as expectations."""
    prompt = row["prompt"]
    inputs = {"prompt": prompt} if isinstance(prompt, str) else {"messages": messages_of(prompt)}
    completion = row["completion"]
    outputs = completion if isinstance(completion, str) else completion_messages(completion)
    return {"inputs": inputs, "outputs": outputs, "expectations": row["columns"]}


def results_of(rows: list[dict], scorers: list) -> tuple[list, dict]:
    """What MLflow computes for each row, and its metrics.

    The first rows go through `mlflow.genai.evaluate` as a whole, which writes a trace a row to its store and takes a tenth
    of a second for each; the others through the function with which it computes a row's scores.
    """
    kept: list = []
    compute = harness._compute_eval_scores

    def keeping(**named):
        kept.append(compute(**named))
        return kept[-1]

    harness._compute_eval_scores = keeping
    table = [row_of(row) | {"tags": {"row": str(index)}} for index, row in enumerate(rows)]
    result = mlflow.genai.evaluate(data=table[:WHOLE], scorers=scorers)
    for line in table[WHOLE:]:
        keeping(eval_item=EvalItem.from_dataset_row(line), scorers=scorers)
    return kept, result.metrics


def main() -> None:
    exported, rows, target = arguments()
    scores = Scores(len(rows))
    logging.getLogger("mlflow").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        mlflow.set_tracking_uri(f"sqlite:///{folder}/runs.db")
        mlflow.create_experiment("rows", artifact_location=f"file://{folder}/artifacts")
        mlflow.set_experiment("rows")
        module = import_file(exported)
        kept, metrics = results_of(rows, module.scorers)
        scores.facts["metrics"] = {name: number(value) for name, value in metrics.items()}
    names = [one.name for one in module.scorers]
    main_one = "combined" if "combined" in names else names[0] if len(names) == 1 else None
    for result in kept:
        index = int(result.eval_item.tags["row"])
        for name in names:
            scores.part(name, index, None)
        for found in result.assessments:
            if isinstance(found, Expectation):
                continue
            scores.part(found.name, index, found.value)
            if found.error is not None:
                scores.error(index, f"{found.name}: {found.error.error_code}: {found.error.error_message}")
        if main_one:
            scores.scores[index] = scores.parts[main_one][index]
    scores.write(target)


main()
