"""Traces of observability tools: MLflow, LangSmith, Langfuse, Phoenix, OpenTelemetry."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.data.samples.chats import chat_of
from workbench.data.samples.shapes import (
    Row,
    Score,
    ShapedRow,
    at,
    document,
    first_of,
    free_name,
    from_json,
    has,
    items,
    objects,
    scores_in,
    shape,
)

_ASSESSED = ("feedback.value", "value", "numeric_value", "string_value")


@document("MLflow traces")
def mlflow_document(value: Row) -> list[Any] | None:
    """One trace, or a list of them under `traces`."""
    if isinstance(value.get("info"), Mapping) and isinstance(value.get("data"), Mapping):
        return [value]
    traces = objects(value.get("traces"))
    return traces if any("info" in one for one in traces) else None


@shape(
    "MLflow traces", "info.trace_id|info.request_id|trace_id", "info.trace_metadata|info.request_metadata|data.spans|request", "info|response|request",
    example={"info": {"trace_id": "tr-1", "trace_metadata": {"mlflow.traceInputs": '"2+2?"', "mlflow.traceOutputs": '"4"'}, "assessments": []}, "data": {"spans": []}},
    fits=lambda names, _: "info" in names or {"request", "trace_id"} <= set(names),
    takes="prompt and completion from the inputs and outputs of the root span, assessments as old graders, expectations as the reference",
)  # fmt: skip
def mlflow_trace(row: Row) -> ShapedRow:
    """A trace, as an object or as a row of `search_traces`."""
    root = next(
        (
            span
            for span in objects(at(row, "data.spans"))
            if not first_of(span, "parent_id", "parent_span_id")
        ),
        {},
    )
    meta = first_of(row, "info.trace_metadata", "info.request_metadata") or {}
    asked = first_of(row, "request", "data.request")
    said = first_of(row, "response", "data.response")
    if asked is None:
        asked = first_of(root, "attributes.mlflow.spanInputs", "inputs") or at(meta, "mlflow.traceInputs")
    if said is None:
        said = first_of(root, "attributes.mlflow.spanOutputs", "outputs") or at(meta, "mlflow.traceOutputs")
    found: dict[str, Score] = {}
    references: dict[str, Any] = {}
    for one in objects(first_of(row, "assessments", "info.assessments")):
        name = str(first_of(one, "assessment_name", "name") or "assessment")
        if has(one, "expectation"):
            references[name] = _value(
                from_json(first_of(one, "expectation.value", "expectation.serialized_value.value"))
            )
        elif at(one, "valid") is not False:
            failed = first_of(one, "feedback.error.error_message", "error.error_message") or ""
            found[free_name(name, found)] = Score(
                _value(first_of(one, *_ASSESSED)), None, str(first_of(one, "rationale") or ""), str(failed)
            )
    return ShapedRow(
        prompt=_question(from_json(asked)), completion=from_json(said), scores=found, id=first_of(row, "trace_id", "info.trace_id", "info.request_id"),
        reference=next(iter(references.values())) if len(references) == 1 else references or None,
        columns={f"tag.{name}": value for name, value in items(first_of(row, "tags", "info.tags")) if not name.startswith("mlflow.")},
        error=f"a trace without an output (state {first_of(row, 'state', 'info.state', 'info.status') or 'unknown'})",
    )  # fmt: skip


def _value(value: Any) -> Any:
    return _value(value["value"]) if isinstance(value, Mapping) and set(value) == {"value"} else value


def _question(inputs: Any) -> Any:
    """The messages or the only text among the inputs of a call; else the inputs."""
    entries = dict(items(inputs))
    if len(entries) == 1:
        inner = next(iter(entries.values()))
        if isinstance(inner, str) or chat_of(inner) is not None:
            return inner
        return _question(inner) if isinstance(inner, Mapping) else inputs
    return inputs


def _roots(rows: list[Row]) -> list[Row]:
    """The rows, with a mark on runs inside others if there are runs of both kinds."""
    have_parents = [has(row, "parent_run_id") for row in rows]
    kinds = [str(row.get("run_type")) for row in rows]
    if all(have_parents) or not any(have_parents):
        inner = [kind in ("tool", "retriever", "embedding") and len(set(kinds)) > 1 for kind in kinds]
    else:
        inner = have_parents
    return [{**row, "inner": True} if is_inner else row for row, is_inner in zip(rows, inner, strict=True)]


@shape(
    "LangSmith runs", "run_type", "inputs", "outputs|error",
    example={"id": "a", "run_type": "chain", "inputs": {"input": "2+2?"}, "outputs": {"output": "4"}, "feedback_stats": {"near": {"n": 1, "avg": 1.0}}},
    prepare=_roots, left="runs inside others, and tools and retrievers",
    takes="prompt from inputs, completion from outputs, feedback as old graders",
)  # fmt: skip
def langsmith_run(row: Row) -> ShapedRow | None:
    """A run; LangChain's messages and generations are read as turns."""
    if row.get("inner"):
        return None
    outputs = from_json(row.get("outputs"))
    generated = first_of(outputs, "generations.0.0", "generations.0")
    said = first_of(generated, "message", "text") if generated is not None else outputs
    return ShapedRow(
        prompt=_question(_unwrapped(from_json(row.get("inputs")))), completion=_question(_unwrapped(said)), id=row.get("id"),
        scores=scores_in(row.get("feedback_stats"), value_name="avg|score|value"), error=f"a run without outputs: {row.get('error', '')}"[:500],
    )  # fmt: skip


def _unwrapped(value: Any) -> Any:
    """Inputs or outputs with LangChain's serialized messages as messages; the lists of a batch of one are opened."""
    if isinstance(value, list):
        inner = [_unwrapped(one) for one in value]
        return inner[0] if len(inner) == 1 and isinstance(inner[0], list) else inner
    if not isinstance(value, Mapping):
        return value
    if value.get("type") == "constructor" and isinstance(value.get("kwargs"), Mapping):
        names = value.get("id")
        name = str(names[-1]) if isinstance(names, list) and names else ""
        kind = value["kwargs"].get("type") or name.removesuffix("Chunk").removesuffix("Message").casefold()
        return {**value["kwargs"], "type": kind}
    return {key: _unwrapped(one) for key, one in value.items()}


@shape(
    "LangSmith examples", "dataset_id", "inputs", "outputs",
    example={"id": "a", "dataset_id": "d", "inputs": {"sum": "2+2?"}, "outputs": {"answer": "4"}},
    fits=lambda names, _: "run_type" not in names and not any(name.startswith(("feedback", "reference")) for name in names),
    no_completions="examples of LangSmith have reference outputs and no completions; read the experiment: client.evaluate(...).to_pandas()",
    takes="prompt from inputs, reference from outputs; it has no completions",
)  # fmt: skip
def langsmith_example(row: Row) -> ShapedRow:
    """An example of a data set, whose outputs are the references."""
    outputs = dict(items(row.get("outputs")))
    return ShapedRow(
        prompt=_question(from_json(row.get("inputs"))), reference=next(iter(outputs.values())) if len(outputs) == 1 else outputs or None, id=row.get("id"),
    )  # fmt: skip


def _under(row: Row, prefix: str) -> dict[str, Any]:
    return {name.removeprefix(prefix): cell for name, cell in row.items() if name.startswith(prefix)}


def _is_experiment(names: Sequence[str], _: Sequence[Row]) -> bool:
    heads = {name.partition(".")[0] for name in names if "." in name}
    return {"inputs", "outputs"} <= heads and bool(heads & {"reference", "reference_outputs", "feedback"})


@shape(
    "LangSmith experiment",
    example={"inputs.sum": "2+2?", "outputs.answer": "4", "reference.answer": "4", "feedback.near": 1.0, "example_id": "e", "id": "r"},
    fits=_is_experiment,
    takes="prompt from inputs.*, completion from outputs.*, reference from reference.*, feedback.* as old graders",
)  # fmt: skip
def langsmith_result(row: Row) -> ShapedRow:
    """A row of `evaluate().to_pandas()`."""
    outputs, references = (
        _under(row, "outputs."),
        _under(row, "reference.") or _under(row, "reference_outputs."),
    )
    return ShapedRow(
        prompt=_question(_under(row, "inputs.")), completion=_only(outputs), reference=_only(references), id=row.get("id"), group=row.get("example_id"),
        scores={name: Score(cell) for name, cell in _under(row, "feedback.").items()}, error=f"a row without outputs: {row.get('error', '')}"[:500],
    )  # fmt: skip


def _only(entries: Mapping[str, Any]) -> Any:
    return next(iter(entries.values())) if len(entries) == 1 else dict(entries) or None


def _generations(rows: list[Row]) -> list[Row]:
    """The rows, with a mark on those other than generations if there are generations."""
    kinds = [str(row.get("type", "")).upper() for row in rows]
    if "GENERATION" not in kinds:
        return rows
    return [
        row if kind == "GENERATION" else {**row, "inner": True} for row, kind in zip(rows, kinds, strict=True)
    ]


@shape(
    "Langfuse exports", "input", "traceId|trace_id|projectId|project_id|sessionId|observations|totalCost", "output|type|id",
    example={"id": "a", "traceId": "t", "type": "GENERATION", "input": "2+2?", "output": "4", "scores": [{"name": "near", "value": 1.0}]},
    prepare=_generations, left="observations other than generations",
    fits=lambda names, _: "span_kind" not in names and "run_type" not in names and "op_name" not in names and "span_id" not in names,
    takes="prompt from input, completion from output, scores as old graders",
)  # fmt: skip
def langfuse_row(row: Row) -> ShapedRow | None:
    """A trace or a generation."""
    if row.get("inner"):
        return None
    expected = first_of(row, "expectedOutput", "expected_output")
    return ShapedRow(
        prompt=_question(from_json(row.get("input"))), completion=from_json(row.get("output")), reference=from_json(expected), id=row.get("id"),
        scores=_langfuse_scores(row.get("scores")), columns={**dict(items(row.get("metadata"))), **{name: row[name] for name in ("name", "model", "sessionId", "userId") if has(row, name)}},
        error="a trace without an output",
    )  # fmt: skip


def _langfuse_scores(value: Any) -> dict[str, Score]:
    """A list of scores, or an object of the values of each name."""
    entries = from_json(value)
    if isinstance(entries, Mapping):
        return {
            name: Score(one[0] if isinstance(one, list) and one else one) for name, one in entries.items()
        }
    return scores_in(entries, value_name="value|score")


def _llm_spans(rows: list[Row]) -> list[Row]:
    kinds = [
        str(first_of(row, "span_kind", "attributes.openinference.span.kind") or "").upper() for row in rows
    ]
    if "LLM" not in kinds:
        return rows
    return [row if kind == "LLM" else {**row, "inner": True} for row, kind in zip(rows, kinds, strict=True)]


@shape(
    "Phoenix spans", "context.span_id|span_id", "attributes.llm.input_messages|attributes.input.value|attributes.llm.output_messages|attributes.output.value|attributes",
    example={"context.span_id": "s", "span_kind": "LLM", "attributes.input.value": "2+2?", "attributes.output.value": "4"},
    fits=lambda _, rows: any(_of_attributes(_attributes(row)) is not None for row in rows),
    prepare=_llm_spans, left="spans of no model",
    takes="prompt from the input messages or value, completion from the output's; LLM spans if there are several kinds",
)  # fmt: skip
def phoenix_span(row: Row) -> ShapedRow | None:
    """A span with OpenInference's attributes."""
    found = None if row.get("inner") else _of_attributes(_attributes(row))
    if found is None:
        return None
    found.id = first_of(row, "context.span_id", "span_id")
    found.scores = _evaluations(row)
    return found


def _attributes(row: Row) -> dict[str, Any]:
    own = dict(items(row.get("attributes")))
    return {**_flat(own), **_under(row, "attributes.")}


def _flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            found |= _flat(inner, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = inner
    return found


def _evaluations(row: Row) -> dict[str, Score]:
    names = {
        name.split(".")[1] for name in row if name.startswith("eval.") and name.endswith((".score", ".label"))
    }
    found = {
        name: Score(
            first_of(row, f"eval.{name}.score"), None, str(first_of(row, f"eval.{name}.explanation") or "")
        )
        for name in sorted(names)
    }
    joined = {"score": Score(row["score"], None, str(row.get("explanation") or ""))} if "score" in row else {}
    return {**joined, **found}


_INDEXED = re.compile(
    r"(?P<head>gen_ai\.prompt|gen_ai\.completion|llm\.input_messages|llm\.output_messages)\.(?P<number>\d+)\.(?:message\.)?(?P<key>.+)"
)


def _of_attributes(attributes: Mapping[str, Any]) -> ShapedRow | None:
    """The prompt and the completion in a span's attributes: GenAI's, OpenInference's, or those with numbered messages."""
    indexed: dict[str, dict[int, dict[str, Any]]] = {}
    for name, value in attributes.items():
        if match := _INDEXED.fullmatch(name):
            indexed.setdefault(match["head"], {}).setdefault(int(match["number"]), {})[match["key"]] = value
    chats = {head: [turns[number] for number in sorted(turns)] for head, turns in indexed.items()}
    asked = first_of(
        {**attributes, **chats}, "gen_ai.input.messages", "llm.input_messages", "gen_ai.prompt", "input.value"
    )
    said = first_of(
        {**attributes, **chats},
        "gen_ai.output.messages",
        "llm.output_messages",
        "gen_ai.completion",
        "output.value",
    )
    if said is None:
        return None
    said = from_json(said)
    if (
        isinstance(said, list)
        and said
        and isinstance(said[0], dict)
        and "role" not in said[0]
        and "content" in said[0]
    ):
        said = [{"role": "assistant", **one} for one in said]
    system = from_json(attributes.get("gen_ai.system_instructions"))
    columns = (
        {"model": model} if (model := first_of(attributes, "gen_ai.request.model", "llm.model_name")) else {}
    )
    return ShapedRow(
        prompt=_question(from_json(asked)), completion=said, system=_text_of(system), columns=columns
    )


def _text_of(parts: Any) -> Any:
    texts = [first_of(part, "content", "text") for part in objects(parts)]
    return "\n".join(map(str, texts)) if texts else parts if isinstance(parts, str) else None


@document("OpenTelemetry spans")
def otlp_document(value: Row) -> list[Any] | None:
    """A message of OTLP is one row, which has many spans."""
    return [value] if isinstance(value.get("resourceSpans"), list) else None


@shape(
    "OpenTelemetry spans (OTLP)", "resourceSpans",
    example={"resourceSpans": [{"scopeSpans": [{"spans": [{"spanId": "s", "attributes": [{"key": "gen_ai.input.messages", "value": {"stringValue": '[{"role": "user", "parts": [{"type": "text", "content": "2+2?"}]}]'}}, {"key": "gen_ai.output.messages", "value": {"stringValue": '[{"role": "assistant", "parts": [{"type": "text", "content": "4"}]}]'}}]}]}]}]},
    takes="a row per span with gen_ai.output.messages or the like; other spans are left out",
)  # fmt: skip
def otlp_message(row: Row) -> Iterator[ShapedRow]:
    """The spans of model calls in one message."""
    for resource in objects(row["resourceSpans"]):
        for scope in objects(first_of(resource, "scopeSpans", "instrumentationLibrarySpans")):
            for span in objects(scope.get("spans")):
                attributes = {
                    str(one.get("key")): _any_value(one.get("value"))
                    for one in objects(span.get("attributes"))
                }
                kind = str(attributes.get("openinference.span.kind") or "LLM").upper()
                found = _of_attributes(attributes) if kind == "LLM" else None
                if found is not None:
                    found.id = span.get("spanId")
                    yield found


@shape(
    "GenAI spans with numbered columns", "gen_ai.prompt.0.content", "gen_ai.completion.0.content",
    example={"span_id": "s", "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "2+2?", "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "4"},
    takes="turns from gen_ai.prompt.N, completion from gen_ai.completion.0",
)  # fmt: skip
def numbered_span(row: Row) -> ShapedRow | None:
    """A model call whose turns are columns."""
    found = _of_attributes(row)
    if found is not None:
        found.id = first_of(row, "span_id", "spanId")
    return found


def _any_value(value: Any) -> Any:
    """OTLP's value, which names its type."""
    for kind, inner in items(value):
        if kind == "arrayValue":
            return [_any_value(one) for one in objects(at(inner, "values"))]
        if kind == "kvlistValue":
            return {str(one.get("key")): _any_value(one.get("value")) for one in objects(at(inner, "values"))}
        return int(inner) if kind == "intValue" and str(inner).lstrip("-").isdecimal() else inner
    return None
