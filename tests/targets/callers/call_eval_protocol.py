"""Calls an exported file as eval-protocol's documentation says: pytest on the file, with the rows as `rows.jsonl` beside it.

A line of the data set has `messages` that end with the completion, `ground_truth`, all columns in
`input_metadata.dataset_info`, and those whose names are free as fields of the row as well. Results are read where
eval-protocol logs them.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from common import Scores, arguments, completion_messages, messages_of, number, reference_of


def line_of(row: dict, index: int, taken: set[str]) -> dict:
    """One line of the data set."""
    free = {name: value for name, value in row["columns"].items() if name not in taken}
    return free | {
        "messages": messages_of(row["prompt"]) + completion_messages(row["completion"]),
        "ground_truth": reference_of(row),
        "input_metadata": {"row_id": f"row-{index}", "dataset_info": row["columns"]},
    }


def note(results: dict, scores: Scores) -> None:
    """Writes what was logged last for each row."""
    for index in range(len(scores.scores)):
        result = results.get(f"row-{index}")
        if result is None:
            scores.error(index, "no evaluation_result")
            continue
        scores.scores[index] = number(result.score) if result.is_score_valid else None
        if result.error or not result.is_score_valid:
            scores.error(index, str(result.error or result.reason))
        for name, metric in result.metrics.items():
            scores.part(name, index, metric.score if metric.is_score_valid else None)


def run_pytest(exported: str, folder: str, rows: list[dict]) -> tuple[int, dict]:
    """Pytest's exit code, and the results by row, of the file in a folder of its own."""
    # Imported late, for it reads the home folder and the settings of its logger when it is.
    import pytest
    from eval_protocol.dataset_logger import default_logger
    from eval_protocol.models import EvaluationRow

    results: dict = {}

    class Keeping:
        def log(self, row) -> None:
            if row.evaluation_result is not None:
                results[row.input_metadata.row_id] = row.evaluation_result

        def read(self, rollout_id=None) -> list:
            return []

    default_logger._logger = Keeping()
    taken = set(EvaluationRow.model_fields)
    lines = [json.dumps(line_of(row, index, taken)) for index, row in enumerate(rows)]
    Path(folder, "rows.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    shutil.copy(exported, Path(folder, "test_exported.py"))
    os.chdir(folder)
    code = pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", folder, "test_exported.py"])
    return int(code), results


def main() -> None:
    exported, rows, target = arguments()
    target = str(Path(target).resolve())
    scores = Scores(len(rows))
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(
            HOME=folder,
            EP_DISABLE_AUTO_BROWSER="1",
            LITELLM_LOCAL_MODEL_COST_MAP="True",
            DISABLE_EP_SQLITE_LOG="1",
        )
        code, results = run_pytest(exported, folder, rows)
        os.chdir("/")
    scores.facts["exit"] = code
    note(results, scores)
    scores.write(target)


main()
