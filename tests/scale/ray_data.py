"""Rows graded by Ray Data, batch by batch in Ray's own processes; prints one line of JSON. Needs ray."""

import json
import os

os.environ |= {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "0",
    "RAY_TRAIN_ENABLE_V2_MIGRATION_WARNINGS": "0",
}

import pandas as pd
import ray

import workbench as wb

CODE = """
import os

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
    code = wb.FunctionGrader.from_source("import workbench as wb\n" + CODE, name="code")
    code.validate().raise_for_failure()
    suite = wb.Suite([code, wb.ExactMatch()], combine=wb.combine.Mean())
    here = suite.run(frame, progress=False)
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
    ray.data.DataContext.get_current().enable_progress_bars = False
    found = {}
    try:
        for form in ("default", "pandas", "pyarrow"):
            data = ray.data.from_pandas(frame).repartition(3)
            graded = data.map_batches(suite.map_batches(), batch_format=form, batch_size=100).to_pandas()
            graded = graded.sort_values("place")
            found[form] = {
                "scores": {
                    name: graded[f"{name}.score"].tolist() == here.scores[name].tolist()
                    for name in here.scores
                },
                "reasons": sorted(set(graded["code.reasoning"])),
                "rows": len(graded),
            }
    finally:
        ray.shutdown()
    print(json.dumps({"here": os.getpid(), "found": found}))


if __name__ == "__main__":
    main()
