"""A reward in a Ray actor, called by 64 tasks at once and with one row that hangs; prints one line of JSON. Needs ray."""

import json
import os
import time

os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0"}

import ray

import workbench as wb

TEXT = """
async def grade(thread):
    words = (thread.completion() or "").split()
    while words[:1] == ["hang"]:
        pass
    return float(len(words))
"""


@ray.remote(num_cpus=0, max_concurrency=64)
class Rewarder:
    def __init__(self, reward):
        self.score = reward.verl

    def call(self, text):
        return self.score(data_source="test", solution_str=text, ground_truth="")

    def process(self):
        return os.getpid()


def main() -> None:
    grader = wb.FunctionGrader.from_source(TEXT, name="words", timeout=0.5)
    grader.validate().raise_for_failure()
    reward = wb.reward(grader, on_error=-1.0)
    ray.init(num_cpus=1, include_dashboard=False, logging_level="ERROR")
    try:
        actor = Rewarder.remote(reward)
        ray.get(actor.call.remote("warm up"))
        start = time.perf_counter()
        texts = ["hang"] + ["a " * at for at in range(1, 64)]
        scores = ray.get([actor.call.remote(text) for text in texts])
        seconds = time.perf_counter() - start
        elsewhere = ray.get(actor.process.remote()) != os.getpid()
    finally:
        ray.shutdown()
    print(json.dumps({"scores": scores, "seconds": seconds, "elsewhere": elsewhere}))


if __name__ == "__main__":
    main()
