"""Calls an exported file's evaluators as LangSmith's `evaluate` does: wrapped by `run_evaluator`, on a run and its example.

The file has `evaluators`. The one with the key `combined`, or the only one, gives the row's score. What an evaluator raises
is recorded by `evaluate` as a result without a score whose comment is the error.
"""

from __future__ import annotations

import os
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path

os.environ.update(
    LANGSMITH_TRACING="false", LANGSMITH_ENDPOINT="http://localhost:9", LANGSMITH_API_KEY="none"
)

from langsmith.evaluation import run_evaluator
from langsmith.schemas import Example, Run

sys.path.insert(0, str(Path(__file__).parent))
from common import Scores, arguments, completion_messages, import_file, messages_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def example_of(row: dict) -> Example:
    """The data set's example: inputs, and all columns as reference outputs."""
    prompt = row["prompt"]
    inputs = {"prompt": prompt} if isinstance(prompt, str) else {"messages": messages_of(prompt)}
    return Example(
        id=uuid.uuid4(), inputs=inputs, outputs=row["columns"], created_at=NOW, dataset_id=uuid.uuid4()
    )


def run_of(row: dict, example: Example) -> Run:
    """The run of the application under test: what it was given and what it gave back."""
    completion = row["completion"]
    outputs = (
        {"output": completion}
        if isinstance(completion, str)
        else {"messages": completion_messages(completion)}
    )
    made = uuid.uuid4()
    return Run(
        id=made,
        trace_id=made,
        name="rows",
        run_type="chain",
        start_time=NOW,
        inputs=example.inputs,
        outputs=outputs,
    )


def results_of(evaluator, run: Run, example: Example) -> list:
    """An evaluator's results for one row, one or several."""
    found = evaluator.evaluate_run(run=run, example=example)
    return found["results"] if isinstance(found, dict) else [found]


def main() -> None:
    exported, rows, target = arguments()
    scores = Scores(len(rows))
    evaluators = [run_evaluator(one) for one in import_file(exported).evaluators]
    for index, row in enumerate(rows):
        example = example_of(row)
        run = run_of(row, example)
        keys = []
        for evaluator in evaluators:
            try:
                results = results_of(evaluator, run, example)
            except Exception as error:
                scores.error(index, error)
                continue
            for found in results:
                keys.append(found.key)
                scores.part(found.key, index, found.score)
                if found.score is None:
                    scores.error(index, str(found.comment))
        main_one = "combined" if "combined" in keys else keys[0] if len(keys) == 1 else None
        if main_one:
            scores.scores[index] = scores.parts[main_one][index]
    scores.write(target)


main()
