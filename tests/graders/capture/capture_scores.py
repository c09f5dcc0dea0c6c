"""Scores captured modules by themselves: stdin has texts and calls, stdout has what each call gave.

Started with `-I -S`, so that nothing but the standard library is there; the file of `StringThread` is
loaded by its path and offered under both of its module names.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys
import types
from pathlib import Path


def main(thread_file: str) -> None:
    thread_module = loaded("thread_alone", thread_file)
    grade_module = loaded("grade_alone", str(Path(thread_file).with_name("grade.py")))
    for name in ("workbench", "adaptive_harmony"):
        module = sys.modules[name] = types.ModuleType(name)
        module.StringThread = thread_module.StringThread
    sys.modules["workbench"].Grade, sys.modules["workbench"].Skip = grade_module.Grade, grade_module.Skip
    json.dump([scores(case, thread_module.StringThread) for case in json.load(sys.stdin)], sys.stdout)


def loaded(name: str, path: str) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def scores(case: dict, thread: type) -> list:
    module = types.ModuleType("captured")
    sys.modules["captured"] = module
    try:
        exec(compile(case["text"], "<captured>", "exec", dont_inherit=True), module.__dict__)
    except Exception as error:
        return [f"load: {type(error).__name__}: {error}"] * len(case["calls"])
    grade = getattr(module, "grade", None)
    return [score(grade, call, thread) for call in case["calls"]]


def score(grade, call: dict, thread: type) -> object:
    turns = [tuple(turn) for turn in call["turns"]]
    try:
        value = grade(thread(turns, call.get("metadata", {})))
        if asyncio.iscoroutine(value):
            return asyncio.run(value)
        return value if isinstance(value, int | float) else f"returned {type(value).__name__}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    main(sys.argv[1])
