"""The cost per row of each kind of code grader, against the same rule as a bare loop in the same run.

Run it with `python benchmarks/kinds.py [--rounds 5] [--rows 20000]`. Compare the ratios: machines differ.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import statistics
import time
from collections.abc import Callable

import workbench as wb
from workbench.graders.concurrent_rows import Control

SCRIPT = "function grade(input) { return input.response.trim() === input.metadata.expected ? 1 : 0; }"
FUNCTION = """
async def grade(thread):
    return 1.0 if (thread.completion() or "").strip() == thread.metadata["expected"] else 0.0
"""
ROLLOUT = """
from osmosis_ai.rollout import Grader, GraderContext

class Same(Grader):
    async def grade(self, ctx: GraderContext) -> None:
        for name, sample in ctx.samples.items():
            ctx.set_sample_reward(name, 1.0 if sample.messages[-1]["content"].strip() == ctx.label else 0.0)
"""


def has_keys(text: str) -> bool:
    try:
        return {"name", "age"} <= json.loads(text).keys()
    except (ValueError, AttributeError):
        return False


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", text.lower()))


GRADERS: dict[str, tuple[wb.Grader, Callable[[str, str], object]]] = {
    "exact-match": (wb.ExactMatch(), lambda text, truth: text.strip() == truth.strip()),
    "contains": (wb.Contains(ignore_case=True), lambda text, truth: truth.lower() in text.lower()),
    "regex": (wb.Regex(pattern=r"\d+"), lambda text, _: re.search(r"\d+", text)),
    "json-keys": (wb.JsonKeys("name", "age"), lambda text, _: has_keys(text)),
    "rouge_1": (wb.TextSimilarity(metric="rouge_1"), lambda text, truth: words(text) & words(truth)),
    "function": (wb.FunctionGrader.from_source(FUNCTION), lambda text, truth: text.strip() == truth.strip()),
    "script": (wb.ScriptGrader.from_source(SCRIPT), lambda text, truth: text.strip() == truth.strip()),
    "rollout": (wb.RolloutGrader.from_source(ROLLOUT), lambda text, truth: text.strip() == truth.strip()),
}


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=20_000)
    options = parser.parse_args()
    rows = [
        {
            "prompt": f"{i} prompt",
            "completion": f'{{"name": "n", "age": {i % 97}}}',
            "expected": str(i % 89),
        }
        for i in range(options.rows)
    ]
    samples = wb.Samples(rows)
    pairs = [(row["completion"], row["expected"]) for row in rows]
    print(f"{'kind':<14}{'rows/s':>12}{'times a bare loop':>20}")
    for name, (grader, rule) in GRADERS.items():
        asyncio.run(grader.grade_all(samples, Control()))  # warm
        ratios, best = [], float("inf")
        for _ in range(options.rounds):
            base = timed(lambda rule=rule: [rule(text, truth) for text, truth in pairs])
            mine = timed(lambda grader=grader: asyncio.run(grader.grade_all(samples, Control())))
            ratios.append(mine / base)
            best = min(best, mine)
        print(f"{name:<14}{options.rows / best:>12,.0f}{statistics.median(ratios):>20.1f}")


if __name__ == "__main__":
    main()
