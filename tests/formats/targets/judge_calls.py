"""Asks an exported file's judges about rows, in a process that has the standard library alone.

Reads a job from standard input: the file, the judge's name, rows of messages and columns. Writes what each row got:
score, passed, reason and failure. The first `alone` rows are asked about one after the other before the rest.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys


def main():
    job = json.load(sys.stdin)
    assert importlib.util.find_spec("workbench") is None
    spec = importlib.util.spec_from_file_location("exported", job["path"])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    threads = [module._wb_thread_of(row["messages"], row["columns"]) for row in job["rows"]]

    async def answers():
        grade = module._wb_graders[job["name"]]
        first = [await grade(thread) for thread in threads[: job["alone"]]]
        return [*first, *await asyncio.gather(*map(grade, threads[job["alone"] :]))]

    found = asyncio.run(answers())
    json.dump([[one.score, one.passed, one.reason, one.failure] for one in found], sys.stdout)


main()
