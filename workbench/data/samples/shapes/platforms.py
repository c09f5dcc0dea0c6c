"""What model APIs and evaluation platforms export: OpenAI, Azure, Bedrock, Weave, Braintrust, NeMo Gym."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.data.row_columns import REFERENCE_NAMES
from workbench.data.samples.column_names import is_name_of
from workbench.data.samples.envelopes import TEXT_LISTS, texts_of
from workbench.data.samples.shapes import (
    Row,
    Score,
    ShapedRow,
    at,
    document,
    first_of,
    from_json,
    has,
    items,
    objects,
    scores_in,
    shape,
    without,
)

_SUFFIX = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
"""What OpenAI appends to the name of a criterion."""


@document("OpenAI evals export")
def evals_export(export: Row) -> list[Any] | None:
    """The output items of all runs of an eval."""
    runs = objects(export.get("runs"))
    found = [
        {**item, "run": at(run, "run.id") or at(run, "id")}
        for run in runs
        for item in objects(run.get("output_items"))
    ]
    if found:
        return found
    has_items = isinstance(export.get("output_items"), list)
    return objects(export["output_items"]) if has_items else None


@shape(
    "OpenAI evals output items", "datasource_item", "results|sample|status",
    example={"object": "eval.run.output_item", "datasource_item": {"sum": "4"}, "sample": {"input": [], "output": [{"role": "assistant", "content": "4"}]}, "results": [{"name": "same", "score": 1.0, "passed": True}]},
    takes="prompt and completion from sample, the item's keys as columns, results as old graders",
)  # fmt: skip
def output_item(row: Row) -> ShapedRow:
    """An item with the model's output and the result of each criterion."""
    item = dict(items(row.get("datasource_item")))
    kept = {name: value for name, value in item.items() if not name.startswith("sample.")}
    answer = first_of(row, "sample.output", "sample.output_text")
    if answer in ([], {}, ""):
        answer = None
    own = ("sample.output_text", "sample.output_items", "response", "output_text", "output")
    name = next((name for name in own if item.get(name)), "") if answer is None else ""
    said = item[name] if name else answer
    kept.pop(name, None)
    if isinstance(answer, list):
        said = answer[-1:] if all(at(one, "role") == "assistant" for one in answer) else answer
    found: dict[str, Score] = {}
    for key, score in scores_in(row.get("results"), value_name="score").items():
        short = _SUFFIX.sub("", key)
        found[short if short not in found else key] = score
    return ShapedRow(
        prompt=at(row, "sample.input") or None, completion=said, id=row.get("id"), columns={**kept, **({"run": row["run"]} if has(row, "run") else {})},
        scores=found, error=f"an item without an output{_why(first_of(row, 'sample.error', 'error'))}",
    )  # fmt: skip


def _why(error: Any) -> str:
    text = first_of(error, "message", "code") if not isinstance(error, str) else error
    return f": {text}"[:500] if text else ""


@shape(
    "OpenAI items and samples", "item", "sample.output_text|sample.output_json|sample.choices|sample.outputs",
    example={"item": {"sum": "4"}, "sample": {"output_text": "4"}},
    takes="completion from sample, the item's keys as columns",
)  # fmt: skip
def item_sample(row: Row) -> ShapedRow:
    """An item with the model's sample, as graders get them."""
    return ShapedRow(
        prompt=first_of(row, "sample.input", "item.messages", "item.prompt"), columns=dict(items(row.get("item"))),
        completion=first_of(row, "sample.output_text", "sample.output_json") if not has(row, "sample.choices") else row["sample"],
        error="a sample without output_text",
    )  # fmt: skip


@shape(
    "model responses, a line each", "object", "choices|output",
    example={"object": "chat.completion", "id": "c", "choices": [{"message": {"role": "assistant", "content": "4"}}]},
    fits=lambda _, rows: all(row.get("object") in ("chat.completion", "response", "text_completion") for row in rows),
    takes="completion from choices or output, prompt from messages or input where it is stored",
)  # fmt: skip
def response(row: Row) -> ShapedRow:
    """A stored completion or response."""
    texts = (
        [at(one, "text") for one in objects(row.get("choices"))]
        if row.get("object") == "text_completion"
        else []
    )
    asked = first_of(row, "messages", "input", "prompt", "request")
    columns = {**dict(items(row.get("metadata"))), **({"model": row["model"]} if has(row, "model") else {})}
    return ShapedRow(
        prompt=asked, completion=texts or without(row, "messages", "input", "request", "metadata"), system=row.get("instructions"),
        id=row.get("id"), columns=columns,
    )  # fmt: skip


def _are_text_replies(_: Sequence[str], rows: Sequence[Row]) -> bool:
    return all(texts_of(_text_reply(row)) for row in rows if any(name in row for name in TEXT_LISTS))


def _text_reply(row: Row) -> dict[str, Any]:
    """The response of a row, without the request that it repeats."""
    return {name: from_json(row[name]) for name in TEXT_LISTS if name in row}


@shape(
    "responses of text APIs, a line each", "|".join(f"{name}.0.{'.'.join(keys)}" for name, keys in TEXT_LISTS.items()), fits=_are_text_replies,
    example={"id": "a", "prompt": {"text": "2+2?", "tokens": []}, "completions": [{"data": {"text": "4", "tokens": []}, "finishReason": {"reason": "endoftext"}}]},
    takes="AI21, watsonx, Cohere: a completion per entry of completions, results or generations, prompt from prompt or input where it is stored",
)  # fmt: skip
def text_reply(row: Row) -> ShapedRow:
    """A response with a list of texts."""
    texts = texts_of(_text_reply(row))
    asked = first_of(
        row, "prompt.text", "prompt", "input", "request.prompt", "request.input", "messages", "question"
    )
    return ShapedRow(
        prompt=asked if has(row, "prompt.text") or not isinstance(asked, dict) else None, completion=texts[0] if len(texts) == 1 else texts or None, id=row.get("id"),
        columns=without(row, *TEXT_LISTS, "prompt", "input", "messages", "id"), error="a response without a text",
    )  # fmt: skip


@shape(
    "OpenAI batch input", "custom_id", "method|url", "body",
    example={"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": [{"role": "user", "content": "2+2?"}]}},
    fits=lambda names, _: not {"response", "result"} & set(names),
    no_completions="this is the input of a batch; read its output with it: wb.read_samples('output.jsonl', join='input.jsonl'), or --join in the shell",
    takes="prompt from body; it has no completions",
)  # fmt: skip
def batch_input(row: Row) -> ShapedRow:
    """A request."""
    return ShapedRow(prompt=row.get("body"), id=row.get("custom_id"))


_EVALUATOR = re.compile(r"outputs\.(?P<evaluator>[^.]+)\.(?P<metric>.+)")
_ABOUT_SCORES = (
    "_reason",
    "_result",
    "_threshold",
    "_tokens",
    "_token_count",
    "_model",
    "_finish_reason",
    "_sample_input",
    "_sample_output",
    "_label",
    "_details",
    "_status",
    "_properties",
)
"""Endings of metrics of azure-ai-evaluation that are about a score."""


@shape(
    "azure-ai-evaluation rows",
    example={"inputs.query": "2+2?", "inputs.response": "4", "outputs.f1.f1_score": 0.5, "line_number": 0},
    fits=lambda names, _: any(map(_EVALUATOR.fullmatch, names)) and any(name.startswith("inputs.") for name in names),
    takes="prompt from inputs.query, completion from inputs.response, reference from inputs.ground_truth, outputs.* as old graders",
)  # fmt: skip
def azure_row(row: Row) -> ShapedRow:
    """A row of `evaluate`, with each evaluator's numbers."""
    inputs = {name.removeprefix("inputs."): cell for name, cell in row.items() if name.startswith("inputs.")}
    own = {
        name.removeprefix("outputs."): cell
        for name, cell in row.items()
        if name.startswith("outputs.") and _EVALUATOR.fullmatch(name) is None
    }
    found: dict[str, dict[str, Any]] = {}
    for name, cell in row.items():
        if match := _EVALUATOR.fullmatch(name):
            found.setdefault(match["evaluator"], {})[match["metric"]] = cell
    asked = next(
        (
            inputs.pop(name)
            for name in ("conversation", "query", "question", "input", "prompt")
            if name in inputs
        ),
        None,
    )
    said = own.get("response", own.get("output"))
    if said is None:
        said = next(
            (inputs.pop(name) for name in ("response", "answer", "output", "completion") if name in inputs),
            None,
        )
    reference = next(
        (inputs.pop(name) for name in ("ground_truth", "expected", "reference", "target") if name in inputs),
        None,
    )
    scores = {
        key: score
        for evaluator, cells in found.items()
        for key, score in _azure_scores(evaluator, cells).items()
    }
    return ShapedRow(
        prompt=asked,
        completion=said,
        reference=reference,
        columns=inputs,
        scores=scores,
        error="a row without a response",
    )


def _azure_scores(evaluator: str, cells: Row) -> dict[str, Score]:
    metrics = [
        name for name in cells if not name.endswith(_ABOUT_SCORES) and not isinstance(cells[name], str)
    ]
    metrics = [name for name in metrics if not (name.startswith("gpt_") and name[4:] in cells)]
    found = {}
    for name in metrics:
        stem = name.removesuffix("_score")
        reason = first_of(cells, f"{name}_reason", f"{stem}_reason", "reason")
        result = first_of(cells, f"{name}_result", f"{stem}_result")
        verdict = {"pass": True, "fail": False}.get(str(result).casefold())
        found[evaluator if len(metrics) == 1 else f"{evaluator}.{name}"] = Score(
            cells[name], verdict, str(reason or "")
        )
    return found


def _are_instances(names: Sequence[str], rows: Sequence[Row]) -> bool:
    """Whether instances are objects, or no other column is a prompt or a completion by its name."""
    instances = [from_json(row["instance"]) for row in rows if "instance" in row]
    others = [name for name in names if name not in ("instance", "prediction", "predictions")]
    return all(isinstance(one, Mapping) for one in instances) or not any(
        is_name_of(role, name) for name in others for role in ("messages", "prompt", "completion")
    )


@shape(
    "Vertex AI batch predictions", "instance", "prediction|predictions|predictions.0", fits=_are_instances,
    example={"instance": {"content": "2+2?"}, "predictions": [{"content": "4", "safetyAttributes": {"blocked": False}}], "status": ""},
    takes="prompt from instance, a completion per prediction",
)  # fmt: skip
def vertex_prediction(row: Row) -> ShapedRow:
    """A predicted instance."""
    said = from_json(first_of(row, "predictions", "prediction"))
    texts = [
        first_of(one, "content", "generated_text", "output", "text") if isinstance(one, Mapping) else one
        for one in (said if isinstance(said, list) else [said])
    ]
    return ShapedRow(
        prompt=first_of(row, "instance.content", "instance.prompt", "instance.inputs", "instance.text", "instance"),
        completion=texts[0] if len(texts) == 1 else texts or None, columns=without(row, "instance", "predictions", "prediction"),
        error=str(row.get("status") or "a prediction without a text"),
    )  # fmt: skip


def _label_names(row: Row) -> list[str]:
    """The columns of labels: those with a column of metadata about who made them."""
    return [
        name.removesuffix("-metadata")
        for name in row
        if name.endswith("-metadata") and has(row, f"{name}.human-annotated")
    ]


@shape(
    "SageMaker Ground Truth output", "source|source-ref|prompt", fits=lambda _, rows: all(map(_label_names, rows)),
    example={"source": {"prompt": "2+2?", "responses": ["4", "5"]}, "rank": {"ranking": [1, 2]}, "rank-metadata": {"type": "groundtruth/custom", "human-annotated": "yes"}},
    takes="prompt and responses from source, or from the row; labels stay columns, as their form is the author's own",
)  # fmt: skip
def ground_truth_row(row: Row) -> ShapedRow:
    """An annotated row of a manifest."""
    given = {**row, **dict(items(row.get("source")))}
    source = row.get("source")
    asked = first_of(given, "prompt", "question", "query", "input")
    is_text = isinstance(source, str) and not dict(items(source))
    return ShapedRow(
        prompt=source if asked is None and is_text else asked,
        completion=first_of(given, "responses", "response", "completions", "completion", "output", "outputs"),
        columns={name: row[name] for name in _label_names(row) if name in row} | {f"{name}-metadata": row[f"{name}-metadata"] for name in _label_names(row)},
        error="an annotated row without a response",
    )  # fmt: skip


@shape(
    "Bedrock evaluation responses", "prompt", "modelResponses",
    example={"prompt": "2+2?", "referenceResponse": "4", "modelResponses": [{"response": "4", "modelIdentifier": "m"}]},
    takes="completion from each of modelResponses, reference from referenceResponse, scores of an evaluation job as old graders",
)  # fmt: skip
def bedrock_row(row: Row) -> ShapedRow:
    """A prompt with the responses of several models."""
    return ShapedRow(
        prompt=row.get("prompt"), completion=objects(row["modelResponses"]), reference=row.get("referenceResponse"),
        columns={name: row[name] for name in ("category",) if name in row}, scores=_bedrock_scores(row),
    )  # fmt: skip


def _bedrock_scores(row: Row) -> dict[str, Score]:
    """The results of an evaluation job, if the row is one of its output."""
    found = {}
    for one in objects(at(row, "automatedEvaluationResult.scores")):
        reason = str(at(one, "evaluatorDetails.0.explanation") or "")
        found[str(one.get("metricName"))] = Score(one.get("result"), None, reason)
    return found


def _without_references(example: Any) -> tuple[Any, Any]:
    """The prompt of a data set's row, and its reference by its name."""
    entries = dict(items(example))
    name = next((name for name in REFERENCE_NAMES if name in entries), "")
    rest = {key: value for key, value in entries.items() if key != name}
    texts = [value for value in rest.values() if isinstance(value, str)]
    named = first_of(rest, "messages", "prompt", "question", "input", "query")
    asked = named if named is not None else texts[0] if len(rest) == 1 and texts else rest or example
    return asked, entries.get(name)


def _scored_calls(_: Sequence[str], rows: Sequence[Row]) -> bool:
    return any("predict_and_score" in str(row.get("op_name")) for row in rows)


@shape(
    "Weave evaluation calls", "op_name", "inputs", "output", "trace_id|started_at|id",
    example={"op_name": "Evaluation.predict_and_score", "id": "a", "inputs": {"example": {"sum": "2+2?", "expected": "4"}}, "output": {"output": "4", "scores": {"near": 1.0}}},
    fits=_scored_calls, left="calls other than predict_and_score",
    takes="prompt and reference from inputs.example, completion from output.output, output.scores as old graders",
)  # fmt: skip
def weave_call(row: Row) -> ShapedRow | None:
    """A call that predicted and scored one example."""
    if "predict_and_score" not in str(row.get("op_name")):
        return None
    example = at(row, "inputs.example")
    asked, reference = _without_references(example)
    return ShapedRow(
        prompt=asked, completion=first_of(row, "output.output", "output.model_output"), reference=reference, id=row.get("id"),
        columns=dict(items(example)), scores=_weave_scores(at(row, "output.scores")),
        error=f"a call without an output{_why(row.get('exception'))}",
    )  # fmt: skip


def _weave_scores(value: Any) -> dict[str, Score]:
    """A scorer's result is a number, or an object of several."""
    found: dict[str, Score] = {}
    for name, one in items(value):
        entries = dict(items(one))
        if not entries:
            found[name] = Score(one)
            continue
        numbers = {key: inner for key, inner in entries.items() if isinstance(inner, bool | int | float)}
        reason = str(first_of(entries, "reason", "reasoning", "explanation") or "")
        for key, inner in numbers.items():
            found[name if len(numbers) == 1 else f"{name}.{key}"] = Score(inner, None, reason)
    return found


@shape(
    "Braintrust spans", "span_id", "root_span_id", "span_attributes|is_root|span_parents",
    example={"span_id": "s", "root_span_id": "s", "is_root": True, "span_attributes": {"type": "eval"}, "input": "2+2?", "output": "4", "expected": "4", "scores": {"near": 1.0}},
    left="spans inside others",
    takes="root spans: prompt from input, completion from output, reference from expected, scores as old graders",
)  # fmt: skip
def braintrust_span(row: Row) -> ShapedRow | None:
    """A root span; what it called is not a row."""
    is_root = row.get("is_root")
    if not (
        is_root if isinstance(is_root, bool) else str(row.get("span_id")) == str(row.get("root_span_id"))
    ):
        return None
    return ShapedRow(
        prompt=from_json(row.get("input")), completion=from_json(row.get("output")), reference=from_json(row.get("expected")), id=row.get("id"),
        columns=dict(items(row.get("metadata"))), scores=scores_in(row.get("scores")), error=f"a span without an output{_why(row.get('error'))}",
    )  # fmt: skip
