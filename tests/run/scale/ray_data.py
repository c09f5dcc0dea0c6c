"""Rows graded by Ray Data, batch by batch in Ray's own processes; prints one line of JSON. Needs ray."""

import json
import os
from typing import Any

os.environ |= {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "0",
    "RAY_TRAIN_ENABLE_V2_MIGRATION_WARNINGS": "0",
}

import numpy as np
import pandas as pd
import ray

import workbench as wb

CODE = """
import workbench as wb

async def grade(thread):
    return wb.Grade(float(len(thread.completion()) % 3), reasoning="by length")
"""
ROWS = 300


def main() -> None:
    frame = pd.DataFrame({
        "prompt": [f"q{row // 4}" for row in range(ROWS)],
        "completion": ["a" * (row % 7) for row in range(ROWS)],
        "answer": ["a" * (row % 3) for row in range(ROWS)],
        "place": range(ROWS),
    })  # fmt: skip
    code = wb.FunctionGrader.from_source(CODE, name="code")
    code.validate().raise_for_failure()
    suite = wb.Suite([code, wb.ExactMatch()], combine=wb.combine.Mean())
    here = suite.run(frame, progress=False)
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
    ray.data.DataContext.get_current().enable_progress_bars = False
    found, grade = {}, suite.map_batches()

    def graded_there(batch: dict[str, Any]) -> dict[str, Any]:
        return {**grade(batch), "process": np.full(len(batch["place"]), os.getpid())}

    try:
        for form in ("default", "pandas", "pyarrow"):
            data = ray.data.from_pandas(frame).repartition(3)
            work = graded_there if form == "default" else grade
            graded = data.map_batches(work, batch_format=form, batch_size=100).to_pandas()
            graded = graded.sort_values("place")
            found[form] = {
                "scores": {
                    name: graded[f"{name}.score"].tolist() == here.scores[name].tolist()
                    for name in here.scores
                },
                "reasons": sorted(set(graded["code.reasoning"])),
                "rows": len(graded),
            }
            if form == "default":
                elsewhere = os.getpid() not in set(graded["process"])
    finally:
        ray.shutdown()
    print(json.dumps({"elsewhere": elsewhere, "found": found}))


if __name__ == "__main__":
    main()
