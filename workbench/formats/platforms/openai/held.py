"""Documents of OpenAI's users that contain graders: eval objects, lists and exports of them, criteria, fine-tuning jobs, calls.

Source: the API reference of evals, graders and fine-tuning, and Azure's evaluators of its evals API.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from workbench.core.errors import FormatError
from workbench.formats.shared import Reading
from workbench.formats.shared.parsing import Node

TYPES = ("string_check", "text_similarity", "score_model", "label_model", "python", "multi", "endpoint")
"""Types of graders and criteria."""

_AZURE = {
    "builtin.coherence": "wb.RubricJudge", "builtin.fluency": "wb.RubricJudge", "builtin.relevance": "wb.AnswerRelevancyJudge",
    "builtin.groundedness": "wb.FaithfulnessJudge", "builtin.f1_score": 'wb.TextSimilarity(metric="rouge_1")',
    "builtin.bleu_score": 'wb.TextSimilarity(metric="bleu")', "builtin.gleu_score": 'wb.TextSimilarity(metric="gleu")',
    "builtin.meteor_score": 'wb.TextSimilarity(metric="meteor")', "builtin.rouge_score": 'wb.TextSimilarity(metric="rouge_l")',
}  # fmt: skip
_NO_GRADER = {
    "eval.run": (
        "an eval's run has no criteria",
        "load its eval: GET /evals/{}, or read its rows with wb.read_samples",
    ),
    "eval.run.output_item": (
        "output items have no criteria",
        "load their eval, or read the rows with wb.read_samples",
    ),
}


def found(root: Node, reading: Reading) -> Node | list[Node]:
    """The grader of a document, or the criteria of an eval.

    Raises:
        FormatError: Several evals, a job without a grader, or an object without criteria.
    """
    if isinstance(root.value, list):
        return _of_list(root, reading)
    document = root.mapping()
    _refuse_without_grader(root)
    if document.get("object") == "list" and isinstance(document.get("data"), list):
        return _of_list(root.at("data"), reading)
    if isinstance(document.get("eval"), Mapping) and ("runs" in document or "rows" in document):
        for key in ("rows", "runs"):
            if document.get(key):
                reading.note(key, "is not imported here: wb.read_samples reads the rows")
        return found(root.at("eval"), reading)
    if "testing_criteria" in document:
        return _of_eval(root, reading)
    return (
        _of_job(root.at("method")) if isinstance(document.get("method"), Mapping) else _of_call(root, reading)
    )


def _refuse_without_grader(root: Node) -> None:
    kind = root.mapping().get("object")
    if isinstance(kind, str) and kind in _NO_GRADER:
        problem, step = _NO_GRADER[kind]
        hint = step.format(root.mapping().get("eval_id", "ID"))
        raise root.refuse(f"{problem}: it is an OpenAI {kind!r}", hint=hint)


def _of_call(root: Node, reading: Reading) -> Node:
    """The grader in the body of a call, or the document itself."""
    if not root.has("grader") or root.has("type"):
        return root
    root.only("grader", "item", "model_sample", "reference_answer")
    for key in ("item", "model_sample"):
        if root.has(key):
            reading.note(key, "is one row to try the grader on, and is not imported")
    return root.at("grader")


def _of_list(root: Node, reading: Reading) -> Node | list[Node]:
    items = root.items()
    evals = [item for item in items if isinstance(item.value, Mapping) and "testing_criteria" in item.value]
    if evals and len(evals) < len(items):
        raise root.refuse(
            "the list has evals and other objects", found=f"{len(evals)} of {len(items)} are evals"
        )
    if len(evals) == 1:
        return _of_eval(evals[0], reading)
    if evals:
        names = [str(item.value.get("name") or item.value.get("id")) for item in evals]
        raise root.refuse(
            f"the list has {len(evals)} evals, and a suite is one of them", found=", ".join(names),
            hint='load one: wb.loads(document["data"][0])',
        )  # fmt: skip
    if not items:
        raise root.refuse("the list is empty", expected="criteria, or an eval")
    return _criteria(items)


def _of_eval(root: Node, reading: Reading) -> list[Node]:
    config = root.at("data_source_config").value
    if isinstance(config, Mapping):
        columns = ", ".join(_columns(config))
        remark = (
            f"rows need the columns {columns}" if columns else "is not imported: rows bring their columns"
        )
        reading.note("data_source_config", remark)
    criteria = root.items("testing_criteria")
    if not criteria:
        raise root.at("testing_criteria").refuse("the eval has no criteria", expected="a list of graders")
    return _criteria(criteria)


def _columns(config: Mapping[str, Any]) -> list[str]:
    """The names of the item's values, as far as the schema of a data source has them."""
    schema: Any = config.get("item_schema") or config.get("schema")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    inner = properties.get("item") if isinstance(properties, Mapping) else None
    if isinstance(inner, Mapping) and isinstance(inner.get("properties"), Mapping):
        properties = inner["properties"]
    return list(map(str, properties)) if isinstance(properties, Mapping) else []


def _criteria(nodes: list[Node]) -> list[Node]:
    for node in nodes:
        kind = node.text("type")
        if kind == "azure_ai_evaluator" or "evaluator_name" in node.mapping():
            raise _azure(node)
    return [replace(node, value=_as_sent(node.mapping())) for node in nodes]


def _as_sent(criterion: Mapping[str, Any]) -> dict[str, Any]:
    """A criterion without what the API adds to it: its id, and settings without a value."""
    return {key: value for key, value in criterion.items() if key != "id" and value is not None}


def _azure(node: Node) -> FormatError:
    name = str(node.value.get("evaluator_name") or node.value.get("type"))
    way = _AZURE.get(name)
    step = f"use {way} for it" if way else "write the rule as a wb.BinaryJudge or a function"
    return node.refuse(
        f"Azure's evaluator {name!r} of the criterion {str(node.value.get('name', ''))!r} is not read: Azure runs its prompt",
        found=name, expected=", ".join(TYPES), hint=f"remove the criterion to load the others; {step}",
    )  # fmt: skip


def _of_job(method: Node) -> Node:
    kind = method.at("type").value
    if not method.has("reinforcement"):
        raise method.refuse(
            f"a fine-tuning job by the method {kind!r} has no grader",
            found=str(kind),
            expected="reinforcement: {grader: ...}",
        )
    return method.at("reinforcement").at("grader")


def detect(document: Any) -> int:
    """Confidence that a document is one of these: 0 no, 2 certain."""
    if isinstance(document, list):
        kinds = [item.get("type") for item in document if isinstance(item, Mapping)]
        are_criteria = bool(kinds) and len(kinds) == len(document) and any(_is_type(kind) for kind in kinds)
        are_evals = bool(document) and all(
            isinstance(item, Mapping) and "testing_criteria" in item for item in document
        )
        return 2 if are_criteria or are_evals else 0
    if not isinstance(document, Mapping):
        return 0
    kind, data = document.get("object"), document.get("data")
    if kind in ("eval", *_NO_GRADER) or isinstance(document.get("testing_criteria"), list):
        return 2
    if kind == "list" and isinstance(data, list) and data and isinstance(data[0], Mapping):
        return 2 if data[0].get("object") in ("eval", *_NO_GRADER) else 0
    inner = document.get("eval")
    if isinstance(inner, Mapping) and "testing_criteria" in inner:
        return 2
    method = document.get("method")
    return (
        2
        if isinstance(method, Mapping) and method.get("type") in ("reinforcement", "supervised", "dpo")
        else 0
    )


def _is_type(kind: Any) -> bool:
    return isinstance(kind, str) and kind in {*TYPES, "azure_ai_evaluator"} - {"python", "endpoint", "multi"}
