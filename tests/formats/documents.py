"""Valid documents of every platform, and ways to spoil them."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import workbench as wb
from tests.graders.examples import AGENT, LETTA, MESSAGES, SCHEMA, SUITES
from workbench.formats.platforms.native import write

__all__ = ["DOCUMENTS", "NAMES", "companions", "spoiled", "text_of"]

_NATIVE = json.loads(write(SUITES["logical gate"](), allow_unvalidated=True))
_NATIVE_CODE = json.loads(
    write(
        [
            wb.FunctionGrader.from_source("async def grade(thread):\n    return 1.0\n", name="f"),
            wb.ScriptGrader.from_source("function grade(input) { return 1; }", name="s"),
            wb.combine.Combined(entries=(wb.Entry(wb.Contains(expected="4"), weight=2),), name="c"),
            wb.BinaryJudge(criteria="c", examples=({"input": [{"role": "user", "content": "q"}], "output": "a", "passes": True},)),
        ],
        allow_unvalidated=True,
    )
)  # fmt: skip

DOCUMENTS: dict[str, tuple[str, Any]] = {
    "native suite": ("native", _NATIVE),
    "native code": ("native", _NATIVE_CODE),
    "adaptive": (
        "adaptive",
        {
            "graders": [
                {"type": "FUNCTION", "key": "f", "fn": "async def grade(thread):\n    return 1.0\n", "description": "d"},
                {"type": "JUDGE", "key": "j", "criteria": "c", "judge_model": "m", "feedback_key": "k", "name": "n",
                 "examples": [{"input": [{"role": "user", "content": "q"}], "output": "a", "passes": True, "reasoning": "r"}]},
                {"type": "PREBUILT", "key": "p", "prebuilt": "FAITHFULNESS", "judge_model": "m", "project": "x"},
                {"type": "REMOTE", "key": "r", "url": "https://x.example/reward"},
            ]
        },
    ),
    "umbraco": (
        "umbraco",
        {
            "name": "suite",
            "description": "d",
            "graders": [
                {"graderTypeId": "exact-match", "name": "e", "description": "d", "negate": True, "severity": "Error",
                 "weight": 0.5, "config": {"expectedValue": "4", "ignoreCase": False}},
                {"graderTypeId": "contains", "name": "c", "config": {"searchPattern": "4", "ignoreCase": False}},
                {"graderTypeId": "regex", "name": "r", "config": {"pattern": "4", "ignoreCase": True, "multiline": True}},
                {"graderTypeId": "json-schema", "name": "j", "config": {"expectedKeys": "a,b.c", "requireAllKeys": False}},
                {"graderTypeId": "tool-call", "name": "t",
                 "config": {"expectedTools": "a,b", "validationMode": "All", "validateOrder": True}},
                {"graderTypeId": "guardrail", "name": "g",
                 "config": {"evaluatorId": "regex", "evaluatorConfig": {"pattern": "4", "ignoreCase": True, "multiline": False}}},
                {"graderTypeId": "guardrail", "name": "h",
                 "config": {"evaluatorId": "llm-judge", "evaluatorConfig": {"evaluationCriteria": "rude", "threshold": 0.5}}},
                {"graderTypeId": "llm-judge", "name": "l",
                 "config": {"profileId": "p", "evaluationCriteria": "good", "passThreshold": 0.7}},
            ],
        },
    ),
    "vllora": (
        "vllora",
        {
            "graders": [
                {"type": "llm-judge", "name": "j", "prompt": "Rate {{response}}", "outputSchema": SCHEMA, "model": "m",
                 "temperature": 0, "maxTokens": 256, "description": "d"},
                {"type": "script", "name": "s", "script": "function grade(input) { return 1; }"},
            ],
            "weights": [0.5, 0.5],
        },
    ),
    "vllora one": ("vllora", {"type": "script", "name": "s", "script": "function grade(input) { return 1; }"}),
    "letta": (
        "letta",
        {
            "name": "suite",
            "description": "d",
            "dataset": "rows.jsonl",
            "target": {"kind": "agent", "agent_file": "agent.af"},
            "graders": {
                "exact": {"kind": "tool", "function": "exact_match", "extractor": "pattern",
                          "extractor_config": {"pattern": "\\d+", "group": 0, "search_all": False}, "display_name": "Exact"},
                "own": {"kind": "tool", "function": "mine.py:mentions", "extractor": "last_assistant"},
                "rubric": {"kind": "rubric", "prompt": "Rate {topic}.\nWell.\n", "model": "m", "temperature": 0.5,
                           "provider": "openai", "max_retries": 2, "timeout": 9.5, "rubric_vars": ["topic"]},
                "agent": {"kind": "rubric", "agent_file": "judge.af", "prompt_path": "rubric.txt",
                          "judge_tool_name": "submit_grade"},
            },
            "gate": {"metric_key": "exact", "metric": "accuracy", "op": "gte", "value": 90, "pass_op": "gte", "pass_value": 1.0},
            "max_samples": 3,
            "num_runs": 1,
            "sample_tags": ["a"],
        },
    ),
    "letta gates": (
        "letta",
        {
            "graders": {"a": {"kind": "tool", "function": "contains"}, "b": {"kind": "model_judge", "prompt": "p"}},
            "gate": {
                "kind": "logical",
                "operator": "and",
                "conditions": [
                    {"kind": "simple", "metric_key": "a", "aggregation": "p95", "op": "gt", "value": 0.5, "pass_threshold": 0.5},
                    {"kind": "weighted_average", "aggregation": "avg_score", "weights": {"a": 1, "b": 2}, "op": "gte", "value": 0.5},
                ],
            },
        },
    ),
    "letta reward": (
        "letta",
        {"graders": {"a": {"kind": "tool", "function": "contains"}}, "reward": {"kind": "metric", "metric_key": "a"}},
    ),
    "openai": (
        "openai",
        {
            "type": "multi",
            "name": "m",
            "graders": {
                "check": {"type": "string_check", "name": "a", "input": "{{sample.output_text}}", "reference": "4", "operation": "eq"},
                "similar": {"type": "text_similarity", "name": "b", "input": "{{sample.output_text}}", "reference": "4",
                            "evaluation_metric": "bleu", "pass_threshold": 0.5},
                "score": {"type": "score_model", "name": "c", "input": list(MESSAGES), "model": "m", "range": [0, 1],
                          "sampling_params": {"temperature": 0.5, "seed": 1}},
                "label": {"type": "label_model", "name": "d", "input": list(MESSAGES), "model": "m", "labels": ["x", "y"],
                          "passing_labels": ["x"]},
                "code": {"type": "python", "name": "e", "source": "def grade(sample, item):\n    return 1.0\n",
                         "image_tag": "2025-05-08"},
                "remote": {"type": "endpoint", "name": "f", "url": "https://x.example", "headers": {"x-a": "b"}},
            },
            "calculate_output": "min(check, similar) + score + label + code + remote",
        },
    ),
    "openai wrapped": ("openai", {"grader": {"type": "string_check", "name": "a", "input": "i", "reference": "r", "operation": "ne"}}),
}  # fmt: skip
"""Name to platform and document."""

NAMES = {"letta": "suite.yaml"}


def companions(folder: Path) -> None:
    """The files the documents name."""
    (folder / "rubric.txt").write_text("Rate it.", "utf-8")
    (folder / "judge.af").write_text(json.dumps(AGENT), "utf-8")
    (folder / "mine.py").write_text(LETTA, "utf-8")


def text_of(platform: str, document: Any) -> str:
    """The document as the platform writes it."""
    if platform != "letta":
        return json.dumps(document)
    import yaml

    return str(yaml.safe_dump(document, sort_keys=False))


_OTHERS = [None, True, 7, -0.5, "x", "", [], {}, [1], [None], {"a": 1}, [{}], "\u0000", 10**400]


def spoiled(document: Any) -> Iterator[tuple[list[Any], Any]]:
    """Every part replaced by values of other types, left out, or given an unknown key; with the path to it."""
    for path in _paths(document):
        for other in _OTHERS:
            yield path, _changed(document, path, other)
        if path:
            yield path, _without(document, path)
        if isinstance(_part(document, path), dict):
            yield [*path, "surprise"], _changed(document, [*path, "surprise"], 1)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[list[Any]]:
    yield list(path)
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _paths(item, (*path, key))
    if isinstance(value, list):
        for at, item in enumerate(value):
            yield from _paths(item, (*path, at))


def _part(document: Any, path: list[Any]) -> Any:
    for step in path:
        document = document[step]
    return document


def _changed(document: Any, path: list[Any], value: Any) -> Any:
    if not path:
        return value
    result = copy.deepcopy(document)
    _part(result, path[:-1])[path[-1]] = value
    return result


def _without(document: Any, path: list[Any]) -> Any:
    result = copy.deepcopy(document)
    del _part(result, path[:-1])[path[-1]]
    return result
