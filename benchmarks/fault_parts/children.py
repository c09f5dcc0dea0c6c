"""What the parts run in processes of their own: `python children.py NAME WORDS`."""

from __future__ import annotations

import sys

import workbench as wb


def judge_run(address: str, store: str, rows: str, concurrency: str) -> None:
    """A judge over rows that its server can tell apart; prints how many were scored."""
    client = wb.judges.OpenAIClient(base_url=address, concurrency=int(concurrency))
    judge = wb.BinaryJudge(criteria="The completion is polite.", model="local", client=client)
    samples = [{"prompt": f"<row {row}>", "completion": "Good day to you."} for row in range(int(rows))]
    report = judge.run(samples, store=store, progress=False)
    print(int(report.summary["scored"].iloc[0]), flush=True)


if __name__ == "__main__":
    {"judge_run": judge_run}[sys.argv[1]](*sys.argv[2:])
