"""Grades rows with exported files, each loaded and called as its target does. Standard library only.

Files are loaded by their path and not entered in `sys.modules`, as verl, OpenRLHF, verifiers and inspect load them.
Stand-ins with the checks of the real packages take the places of those that a file imports: the real ones are used in
`tests/targets`. What a target does with a row without a score is written as null.
"""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import json
import math
import sys
import types
from types import SimpleNamespace as Record


class Score:
    def __init__(self, value, answer=None, explanation=None, reason=None, metadata=None):
        self.value, self.reason = value, reason

    @classmethod
    def unscored(cls, *, reason=None, answer=None, explanation=None, metadata=None):
        assert reason in {"scoring_failed", "skipped"}, reason
        assert explanation
        return cls(math.nan, answer, explanation, reason, metadata)


class Feedback:
    def __init__(self, value=None, error=None, rationale=None, metadata=None):
        assert (value is None) != (error is None)
        assert metadata is None or all(isinstance(one, str) for one in metadata.values())
        self.value, self.error = value, error


class EvaluationRow:
    def __init__(self, row):
        self.messages = [Message(one) for one in row["asked"] + row["said"]]
        self.input_metadata = Record(dataset_info=row["columns"])
        self.ground_truth, self.tools, self.model_extra, self.evaluation_result = (
            row["reference"],
            None,
            {},
            None,
        )


class Message:
    def __init__(self, message):
        self.__dict__.update(message)
        self.text = self.content

    def model_dump(self, exclude_none=False):
        return dict(self.__dict__)


def evaluation_test(*, input_dataset, rollout_processor, mode):
    def decorate(function):
        signature = inspect.signature(function)
        assert list(signature.parameters) == ["row"]
        assert signature.parameters["row"].annotation is EvaluationRow
        assert signature.return_annotation is EvaluationRow
        return function

    return decorate


def same(*_, **__):
    return lambda function: function


def install():
    modules = {
        "inspect_ai": {}, "inspect_ai.scorer": {"Score": Score, "scorer": same, "mean": list, "stderr": list},
        "mlflow": {}, "mlflow.genai": {}, "mlflow.genai.scorers": {"scorer": same},
        "mlflow.entities": {"Feedback": Feedback, "AssessmentError": Record},
        "eval_protocol": {}, "eval_protocol.pytest": {"NoOpRolloutProcessor": Record, "evaluation_test": evaluation_test},
        "eval_protocol.models": {"EvaluateResult": Record, "EvaluationRow": EvaluationRow, "MetricResult": Record},
    }  # fmt: skip
    for name, members in modules.items():
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__dict__.update(members)


def text(messages):
    return messages[-1]["content"]


def trl(module, row):
    columns = {name: [value, value] for name, value in row["columns"].items()}
    rest = {
        "completion_ids": [[1], [2]],
        "trainer_state": None,
        "log_metric": print,
        "log_extra": lambda *_: None,
    }
    prompts, completions = [row["asked"]] * 2, [row["said"]] * 2
    found = [
        function(prompts=prompts, completions=completions, **rest, **columns)
        for function in module.reward_funcs
    ]
    assert all(scores[0] == scores[1] for scores in found)
    known = [
        (score[0], weight)
        for score, weight in zip(found, module.reward_weights, strict=True)
        if score[0] is not None
    ]
    parts = {
        function.__name__: scores[0] for function, scores in zip(module.reward_funcs, found, strict=True)
    }
    if hasattr(module, "reward"):
        return module.reward(prompts=prompts, completions=completions, **rest, **columns)[0], parts
    return (sum(score * weight for score, weight in known) if known else None), parts


def verl(module, row):
    given = {"data_source": "d", "solution_str": text(row["said"]), "ground_truth": row["reference"]}
    found = module.compute_score(**given, extra_info=row["columns"])
    return (found["score"], found) if isinstance(found, dict) else (found, {})


def slime(module, row):
    sample = Record(
        prompt=row["asked"], response=text(row["said"]), label=row["reference"], metadata=row["columns"]
    )
    found, group = (
        asyncio.run(module.custom_rm(None, sample)),
        asyncio.run(module.custom_rm(None, [sample, sample])),
    )
    assert group == [found, found]
    return (found["score"], found) if isinstance(found, dict) else (found, {})


def openrlhf(module, row):
    prompt = f"<|im_start|>user\n{text(row['asked'])}<|im_end|>\n<|im_start|>assistant\n"
    found = module.reward_func([prompt + text(row["said"]) + "<|im_end|>"], [prompt], [row["reference"]])
    assert all(isinstance(one, float) for one in found["extra_logs"].values())
    return found["rewards"], found["extra_logs"]


def gemini(module, row):
    roles = {"assistant": "model"}
    contents = [
        {"role": roles.get(one["role"], one["role"]), "parts": [{"text": one["content"]}]}
        for one in row["asked"]
    ]
    references = {row["name"]: row["reference"]} if isinstance(row["reference"], str) else {}
    example = {"contents": contents, "references": references}
    return module.evaluate(example, {"parts": [{"text": text(row["said"])}]}), {}


def nova(module, row):
    messages = row["asked"] + row["said"]
    own = {"id": "1", "messages": messages, "reference_answer": row["reference"], "metadata": row["columns"]}
    bedrock = {
        "id": "2",
        "messages": messages,
        "metadata": {**row["columns"], "reference_answer": row["reference"]},
    }
    (one, two) = module.lambda_handler([own, bedrock], None)
    assert one["aggregate_reward_score"] == two["aggregate_reward_score"]
    assert {metric["type"] for metric in one["metrics_list"]} <= {"Metric", "Reward"}
    return one["aggregate_reward_score"], {metric["name"]: metric["value"] for metric in one["metrics_list"]}


def verifiers(module, row):
    branch = Record(messages=[Message(one) for one in row["asked"] + row["said"]])
    task, trace = Record(model_dump=lambda: row["columns"]), Record(branches=[branch])

    async def scored():
        if hasattr(module, "reward"):
            return await module.reward(task, trace), {}
        parts = {name: await getattr(module, name)(task, trace) for name in module.REWARDS}
        return sum(module.REWARDS[name] * score for name, score in parts.items()), parts

    return asyncio.run(scored())


def inspect_ai(module, row):
    messages = [Record(**one, text=one["content"]) for one in row["asked"] + row["said"]]
    state = Record(messages=messages, output=Record(completion=text(row["said"])), metadata=row["columns"])
    target = row["reference"] if isinstance(row["reference"], list) else [row["reference"] or ""]

    async def value(name):
        found = (await getattr(module, name)()(state, target)).value
        return None if math.isnan(found) else found

    names = [name for name in row["functions"] if hasattr(module, name)]
    parts = {name: asyncio.run(value(name)) for name in names}
    return (asyncio.run(value("combined")) if hasattr(module, "combined") else parts[names[0]]), parts


def mlflow(module, row):
    given = {"inputs": {"prompt": text(row["asked"]), **row["columns"]}, "outputs": text(row["said"])}
    expected = {row["name"]: row["reference"]}
    parts = {function.__name__: function(**given, expectations=expected).value for function in module.scorers}
    return parts.get("combined", next(iter(parts.values()))), parts


def langsmith(module, row):
    given = {
        "inputs": {"prompt": text(row["asked"]), **row["columns"]},
        "outputs": {"output": text(row["said"])},
    }
    expected = {row["name"]: row["reference"]}
    found = [function(**given, reference_outputs=expected) for function in module.evaluators]
    parts = {one["key"]: one["score"] for one in found}
    assert all(one["score"] is not None or one["comment"] for one in found)
    return parts.get("combined", next(iter(parts.values()))), parts


def promptfoo(module, row):
    found = module.get_assert(text(row["said"]), {"prompt": text(row["asked"]), "vars": row["columns"]})
    assert set(found) == {"pass", "score", "reason", "namedScores"}
    return found["score"], found["namedScores"]


def eval_protocol(module, row):
    result = module.test_graders(EvaluationRow(row)).evaluation_result
    assert result.is_score_valid or result.error
    return (result.score if result.is_score_valid else None), {
        name: one.score for name, one in result.metrics.items()
    }


def together(module, row):
    return module.reward(text(row["said"]), row["reference"]), {}


CALLS = {
    "trl": trl, "verl": verl, "slime": slime, "openrlhf": openrlhf, "gemini": gemini, "nova": nova,
    "verifiers": verifiers, "inspect": inspect_ai, "mlflow": mlflow, "langsmith": langsmith, "promptfoo": promptfoo,
    "eval-protocol": eval_protocol, "together": together,
}  # fmt: skip


def graded(job, rows):
    before = dict(sys.modules)
    spec = importlib.util.spec_from_file_location("exported", job["path"])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    scores, parts = [], []
    for row in rows:
        try:
            score, own = CALLS[job["target"]](module, {**row, "functions": job["functions"]})
        except RuntimeError as error:
            if not str(error).startswith(
                "no score: "
            ):  # the message of targets that cannot represent a missing score
                raise
            score, own = None, {}
        scores.append(score)
        parts.append(
            {name: None if isinstance(one, float) and math.isnan(one) else one for name, one in own.items()}
        )
    added = [
        name
        for name in sys.modules
        if name not in before and name.partition(".")[0] not in sys.stdlib_module_names
    ]
    changed = [name for name, module in before.items() if sys.modules.get(name) is not module]
    return {"scores": scores, "parts": parts, "changed": added + changed}


def main():
    work = json.load(sys.stdin)
    assert importlib.util.find_spec("workbench") is None
    install()
    json.dump([graded(job, work["rows"]) for job in work["jobs"]], sys.stdout)


if __name__ == "__main__":
    main()
