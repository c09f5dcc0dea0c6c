"""Grades rows with exported modules, each loaded by its path as its platform does, and tells what loading them changed.

Standard library only. Stand-ins with the checks of the real packages take the places of `letta_evals` and
`osmosis_ai`. With the word "beside" the real workbench and a module `adaptive_harmony` are there before and after.
"""

from __future__ import annotations

import asyncio
import builtins
import importlib.util
import inspect
import json
import sys
import types


class GradeResult:
    def __init__(self, score, rationale=None, metadata=None):
        if not 0 <= score <= 1:
            raise ValueError(score)
        self.score, self.rationale = score, rationale


def grader(function):
    signature = inspect.signature(function)
    assert list(signature.parameters) == ["sample", "submission"]
    # As letta_evals: the class itself, so that a text, as under `from __future__ import annotations`, is refused.
    assert signature.return_annotation in (inspect.Signature.empty, GradeResult), signature
    return function


class Grader:
    def __init__(self, config=None):
        self.config = config


class Context:
    def __init__(self, row):
        self.label, self.metadata, self.rewards = row["reference"], row["metadata"], {}
        messages = [{"role": role, "content": text} for role, text in row["turns"]]
        self.samples = {"main": types.SimpleNamespace(messages=messages)}

    def set_sample_reward(self, sample_id, reward):
        self.rewards[sample_id] = reward


def install():
    names = {
        "letta_evals": {}, "letta_evals.decorators": {"grader": grader},
        "letta_evals.models": {"GradeResult": GradeResult, "Sample": types.SimpleNamespace},
        "osmosis_ai": {}, "osmosis_ai.rollout": {"Grader": Grader, "GraderContext": Context},
    }  # fmt: skip
    for name, members in names.items():
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__dict__.update(members)


def called(module, job, row):
    said = next((text for role, text in reversed(row["turns"]) if role == "assistant"), "")
    if job["platform"] == "letta":
        asked = next(text for role, text in row["turns"] if role == "user")
        sample = types.SimpleNamespace(input=asked, ground_truth=row["reference"], agent_args=row["metadata"])
        return getattr(module, job["function"])(sample, said).score
    if job["platform"] == "osmosis":
        (found,) = (one for one in vars(module).values() if isinstance(one, type) and one.__base__ is Grader)
        context = Context(row)
        asyncio.run(found(None).grade(context))
        return context.rewards["main"]
    if job["platform"] == "openai":
        return module.grade({"output_text": said}, {**row["metadata"], "expected": row["reference"]})
    metadata = {**row["metadata"], "expected": row["reference"]}
    return asyncio.run(module.grade(Thread(said, metadata)))


class Thread:
    """The part of a thread that the sources graded here read."""

    def __init__(self, said, metadata):
        self.said, self.metadata = said, metadata

    def completion(self):
        return self.said


def graded(job, rows):
    before, names = dict(sys.modules), set(vars(builtins))
    spec = importlib.util.spec_from_file_location("exported", job["path"])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    scores = []
    for row in rows:
        try:
            scores.append(called(module, job, row))
        except Exception as error:  # a row without a score, and why
            scores.append(f"{type(error).__name__}: {error}")
    now = dict(sys.modules)
    changed = [name for name in before if now.get(name) is not before[name]]
    added = [
        name for name in now if name not in before and name.partition(".")[0] not in sys.stdlib_module_names
    ]
    return {"scores": scores, "changed": changed + added + sorted(set(vars(builtins)) ^ names)}


def main():
    work = json.load(sys.stdin)
    install()
    if "beside" in sys.argv:
        import workbench

        sys.modules["adaptive_harmony"] = own = types.ModuleType("adaptive_harmony")
        own.StringThread = real = object()
    else:
        assert importlib.util.find_spec("workbench") is None
    told = [graded(job, work["rows"]) for job in work["jobs"]]
    if "beside" in sys.argv:
        from workbench import Suite

        assert Suite is workbench.Suite
        assert sys.modules["adaptive_harmony"].StringThread is real
    json.dump(told, sys.stdout)


main()
