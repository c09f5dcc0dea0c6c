"""Logs of evaluation frameworks: inspect_ai, lm-evaluation-harness, lighteval, HELM, openai/evals, DeepEval, pydantic_evals, Letta."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

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
    without,
)

_LETTERS = {"C": (1.0, True), "P": (0.5, None), "I": (0.0, False), "N": (0.0, False)}
"""inspect's letters for correct, partial, incorrect and missing: their number and verdict."""


@document("inspect_ai log")
def inspect_log(log: Row) -> list[Any] | None:
    """The samples of a log."""
    samples = log.get("samples")
    is_log = isinstance(log.get("eval"), Mapping) or (
        "status" in log and any("scores" in one for one in objects(samples))
    )
    return list(samples or []) if is_log and ("samples" in log or "status" in log) else None


@shape(
    "inspect_ai samples", "input", "epoch|output.choices|output.completion", "output|error|scores", "target|epoch",
    fits=lambda names, _: not {"eval_id", "sample_id", "observation_id"} & set(names),
    example={"id": "a", "epoch": 1, "input": "2+2?", "target": "4", "messages": [], "output": {"completion": "4"}, "scores": {"match": {"value": "C"}}},
    takes="prompt and completion from its messages, reference from target, one old grader per scorer",
)  # fmt: skip
def inspect_sample(row: Row) -> ShapedRow:
    """A sample in one epoch."""
    chat = _resolved(from_json(row.get("messages")), from_json(row.get("attachments")))
    is_whole = isinstance(chat, list) and bool(chat) and at(chat[-1], "role") == "assistant"
    choices = at(row, "output.choices")
    # A sample that failed has an output without choices, whose completion is empty.
    said = at(row, "output.completion") if choices is None else first_of(choices, "0.message")
    asked = _resolved(from_json(row.get("input")), from_json(row.get("attachments")))
    target = from_json(row.get("target"))
    if isinstance(target, list) and len(target) == 1:
        target = target[0]
    columns = {**dict(items(row.get("metadata"))), "epoch": row.get("epoch")}
    if isinstance(row.get("uuid"), str):
        columns["uuid"] = row["uuid"]  # the id of its transcript in Inspect Scout
    return ShapedRow(
        messages=chat if is_whole else None, prompt=None if is_whole else asked, completion=None if is_whole else said,
        reference=target, id=f"{row.get('id')}_epoch_{row.get('epoch')}", group=str(row.get("id")), columns=columns,
        scores=_inspect_scores(row.get("scores") or row.get("score")),
        error="" if is_whole or said is not None else f"a sample that failed: {first_of(row, 'error.message', 'error') or 'no output'}"[:500],
    )  # fmt: skip


def _resolved(value: Any, attachments: Any) -> Any:
    """A value with the texts that a log stores apart."""
    if not isinstance(attachments, Mapping) or not attachments:
        return value
    if isinstance(value, str):
        return (
            attachments.get(value.removeprefix("attachment://"), value)
            if value.startswith("attachment://")
            else value
        )
    if isinstance(value, list):
        return [_resolved(one, attachments) for one in value]
    return (
        {key: _resolved(one, attachments) for key, one in value.items()}
        if isinstance(value, Mapping)
        else value
    )


def _inspect_scores(value: Any) -> dict[str, Score]:
    found: dict[str, Score] = {}
    for name, one in items(value):
        reason = str(at(one, "explanation") or "")
        number = at(one, "value")
        if isinstance(number, Mapping):
            for key, inner in number.items():
                found[free_name(f"{name}.{key}", found)] = _of_letter(inner, reason)
        else:
            found[free_name(name, found)] = _of_letter(number, reason)
    return found


def _of_letter(value: Any, reason: str) -> Score:
    number, passed = _LETTERS.get(value, (value, None)) if isinstance(value, str) else (value, None)
    return Score(number, passed, reason)


@shape(
    "inspect_ai samples_df", "sample_id", "eval_id", "input", "log|target|epoch",
    example={"sample_id": "s", "eval_id": "e", "id": "a", "epoch": 1, "input": "2+2?", "target": "4", "score_match": "C"},
    fits=lambda names, _: not any(name.startswith(("output", "messages")) for name in names),
    no_completions="the data frames of inspect_ai have no completions; read the log itself: wb.read_samples('logs/….eval')",
    takes="prompt from input, reference from target; it has no completions",
)  # fmt: skip
def inspect_frame(row: Row) -> ShapedRow:
    """A sample without its output."""
    return ShapedRow(
        prompt=row.get("input"), reference=row.get("target"), id=row.get("sample_id"), group=row.get("id")
    )


_HARNESS = frozenset({
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash", "prompt_hash", "target_hash", "task_name",
})  # fmt: skip


@shape(
    "lm-eval samples", "doc_id", "filtered_resps|resps", "arguments|doc|doc_hash",
    example={"doc_id": 0, "doc": {}, "target": "4", "arguments": [["2+2?", {}]], "resps": [["4"]], "filtered_resps": ["4"], "exact_match": 1.0},
    takes="prompt from the first argument, completion from filtered_resps, reference from target, one old grader per metric",
    left="samples of likelihoods, which have no text",
)  # fmt: skip
def harness_sample(row: Row) -> ShapedRow | None:
    """A document of the harness; likelihoods have no completion."""
    answers = from_json(first_of(row, "filtered_resps", "resps"))
    flat = (
        answers[0]
        if isinstance(answers, list) and len(answers) == 1 and isinstance(answers[0], list)
        else answers
    )
    texts = [one for one in flat if isinstance(one, str)] if isinstance(flat, list) else []
    asked = first_of(row, "arguments.gen_args_0.arg_0", "arguments.0.0", "arguments.0.arg_0")
    asked = (
        from_json(asked[0]) if isinstance(asked, list) and len(asked) == 1 else asked
    )  # a chat as JSON text
    columns = {
        "doc": row.get("doc"),
        "filter": row.get("filter"),
        "response": first_of(row, "resps.0.0", "resps.0"),
    }
    names = [name for name in row if name not in _HARNESS]
    likelihood = _are_likelihoods(answers, first_of(row, "resps.0.0", "resps.0"), row)
    return ShapedRow(
        prompt=asked, completion=None if likelihood else texts if len(texts) > 1 else (texts[0] if texts else None),
        reference=row.get("target"), columns={name: value for name, value in columns.items() if value is not None},
        scores={name: Score(row[name]) for name in names}, id=f"{row.get('doc_id')}{'_' + str(row['filter']) if 'filter' in row else ''}",
        error="an lm-eval sample of likelihoods, which has no text" if likelihood else "no response",
    )  # fmt: skip


def _are_likelihoods(answers: Any, raw: Any, row: Row) -> bool:
    """Whether the responses are pairs of a log-likelihood and whether it was the most likely."""
    first = answers[0] if isinstance(answers, list) and answers else None
    pair = first if isinstance(first, list) else raw if isinstance(raw, list) else None
    is_pair = (
        isinstance(pair, list)
        and len(pair) == 2
        and str(pair[1]).casefold() in ("true", "false")
        and _is_number(pair[0])
    )
    return is_pair or (_is_number(first) and isinstance(first, float) and not has(row, "exact_match"))


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


@document("lm-eval results")
def harness_results(results: Row) -> list[Any] | None:
    """Metrics of tasks, without samples; `samples` by task if they were logged into the same file."""
    if not ({"results", "n-shot"} <= results.keys() or {"results", "configs", "versions"} <= results.keys()):
        return None
    samples = results.get("samples")
    if isinstance(samples, Mapping):
        return [{**one, "task_name": task} for task, rows in samples.items() for one in objects(rows)]
    return [{"lm_eval_results": True, "results": results["results"]}]


@shape(
    "lm-eval results", "lm_eval_results",
    example={"lm_eval_results": True, "results": {}},
    no_completions="these are metrics of tasks; run lm-eval with --log_samples, and read its samples_….jsonl",
    takes="nothing: it has no samples",
)  # fmt: skip
def harness_metrics(row: Row) -> ShapedRow:
    """Metrics, of which none is of a row."""
    return ShapedRow(prompt=str(row.get("results"))[:200])


@shape(
    "lighteval details", "doc.query|full_prompt", "model_response|predictions", "metric|metrics",
    example={"doc": {"query": "2+2?", "choices": ["4"], "gold_index": 0}, "model_response": {"text": ["4"]}, "metric": {"em": 1.0}},
    takes="prompt from doc.query, completion from model_response.text, reference the gold choice, one old grader per metric",
)  # fmt: skip
def lighteval_detail(row: Row) -> ShapedRow:
    """A document with its response and metrics."""
    texts = first_of(row, "model_response.text", "model_response.result", "predictions")
    texts = (
        [texts] if isinstance(texts, str) else [one for one in from_json(texts) or [] if isinstance(one, str)]
    )
    gold, choices = at(row, "doc.gold_index"), at(row, "doc.choices", [])
    golds = [
        choices[one]
        for one in (gold if isinstance(gold, list) else [gold])
        if isinstance(one, int) and one < len(choices)
    ]
    golds = golds or from_json(row.get("gold"))
    reference = golds[0] if isinstance(golds, list) and len(golds) == 1 else golds
    return ShapedRow(
        prompt=first_of(row, "doc.query", "full_prompt"), completion=texts[0] if len(texts) == 1 else texts or None,
        reference=reference, id=at(row, "doc.id"), scores=scores_in(first_of(row, "metric", "metrics")), error="no text in model_response",
    )  # fmt: skip


@document("HELM scenario state")
def helm_state(state: Row) -> list[Any] | None:
    """The requests of a run."""
    return objects(state.get("request_states")) or None


@shape(
    "HELM requests", "instance", "request.prompt|request.messages", "result.completions",
    example={"instance": {"references": []}, "request": {"prompt": "2+2?"}, "result": {"completions": [{"text": "4"}]}},
    takes="prompt from request, completion from result.completions, reference the correct one of the instance",
)  # fmt: skip
def helm_request(row: Row) -> ShapedRow:
    """A request with its completions."""
    texts = [at(one, "text") for one in objects(at(row, "result.completions"))]
    right = [
        at(one, "output.text")
        for one in objects(at(row, "instance.references"))
        if "correct" in (at(one, "tags") or ())
    ]
    return ShapedRow(
        prompt=first_of(row, "request.messages", "request.prompt"), completion=texts[0] if len(texts) == 1 else texts or None,
        reference=right[0] if len(right) == 1 else right or None, id=at(row, "instance.id"), error="a request without completions",
    )  # fmt: skip


def _joined(rows: list[Row]) -> list[Row]:
    """The events of each sample as one row, in the order of the samples."""
    samples: dict[str, dict[str, Any]] = {}
    for row in rows:
        if has(row, "sample_id"):
            own = samples.setdefault(str(row["sample_id"]), {"sample_id": row["sample_id"], "events": []})
            own["events"].append(row)
    return list(samples.values())


@shape(
    "openai/evals record", "sample_id|spec", "type|spec", "data|spec",
    example={"sample_id": "a", "type": "sampling", "data": {"prompt": "2+2?", "sampled": ["4"]}},
    fits=lambda names, rows: {"sample_id", "type", "data"} <= set(names) or any(has(row, "spec.completion_fns") for row in rows),
    prepare=_joined, left="samples without a completion",
    takes="a row per sample_id: prompt and completion from the first sampling, reference from match, matches and metrics as old graders",
)  # fmt: skip
def evals_sample(row: Row) -> ShapedRow | None:
    """A sample with its events."""
    sampled: Any = None
    found = ShapedRow(id=row["sample_id"])
    for event in row["events"]:
        kind, data = str(event.get("type")), from_json(event.get("data")) or {}
        if kind == "sampling" and sampled is None:
            sampled = data.get("sampled")
            found.prompt = data.get("prompt")
        elif kind in ("match", "metrics"):
            found.reference = found.reference if found.reference is not None else data.get("expected")
            sampled = data.get("sampled") if sampled is None and kind == "match" else sampled
            scores = {"match": data.get("correct")} if kind == "match" else data
            found.scores |= {name: Score(value) for name, value in scores.items()}
    texts = sampled if isinstance(sampled, list) else [sampled]
    found.completion = texts[0] if len(texts) == 1 else texts
    found.error = "a sample without a sampling event"
    return found


@document("DeepEval test run")
def deepeval_run(run: Row) -> list[Any] | None:
    """The test cases of a run; conversations have no single completion."""
    cases = next(
        (
            run[name]
            for name in ("testCases", "test_cases", "testResults", "test_results")
            if isinstance(run.get(name), list)
        ),
        None,
    )
    return (
        None
        if cases is None or not any("actualOutput" in one or "actual_output" in one for one in objects(cases))
        else cases
    )


@shape(
    "DeepEval test cases", "input", "actualOutput|actual_output", "metricsData|metrics_data",
    example={"input": "2+2?", "actualOutput": "4", "expectedOutput": "4", "metricsData": [{"name": "Kind (GEval)", "score": 0.8}]},
    takes="prompt from input, completion from actualOutput, reference from expectedOutput, metricsData as old graders",
)  # fmt: skip
def deepeval_case(row: Row) -> ShapedRow:
    """A test case with its metrics."""
    return ShapedRow(
        prompt=row.get("input"), completion=first_of(row, "actualOutput", "actual_output"),
        reference=first_of(row, "expectedOutput", "expected_output"), scores=scores_in(first_of(row, "metricsData", "metrics_data")),
        columns={name: value for name in ("name", "context", "retrievalContext", "retrieval_context") if (value := row.get(name)) is not None},
        error="a test case without an output",
    )  # fmt: skip


@document("pydantic_evals report")
def pydantic_report(report: Row) -> list[Any] | None:
    """The cases of a report or of a dataset, and those that failed."""
    cases = objects(report.get("cases"))
    if not cases or not all("inputs" in one for one in cases):
        return None
    return [*cases, *objects(report.get("failures"))]


@shape(
    "pydantic_evals cases", "inputs", "output|error_message", "assertions|scores|error_message",
    example={"inputs": "2+2?", "output": "4", "expected_output": "4", "scores": {}, "assertions": {"Equals": {"value": True}}},
    fits=lambda names, _: "assertions" in names,
    takes="prompt from inputs, completion from output, reference from expected_output, scores and assertions as old graders",
)  # fmt: skip
def pydantic_case(row: Row) -> ShapedRow:
    """A case with the results of its evaluators."""
    return ShapedRow(
        prompt=row.get("inputs"), completion=row.get("output"), reference=row.get("expected_output"), id=row.get("name"),
        scores={**scores_in(row.get("scores")), **scores_in(row.get("assertions"))}, columns=dict(items(row.get("metadata"))),
        error=f"a case that failed: {row.get('error_message', 'no output')}"[:500],
    )  # fmt: skip


@shape(
    "pydantic_evals dataset", "inputs", "evaluators|expected_output",
    example={"name": "a", "inputs": "2+2?", "expected_output": "4", "evaluators": []},
    fits=lambda names, _: not {"output", "outputs", "assertions", "completion", "response"} & set(names) and set(names) <= {"name", "inputs", "expected_output", "metadata", "evaluators"},
    no_completions="a dataset of pydantic_evals has cases without outputs; read the report of its evaluate_sync(), or add a column of completions",
    takes="prompt from inputs, reference from expected_output; it has no completions",
)  # fmt: skip
def pydantic_dataset(row: Row) -> ShapedRow:
    """A case without an output."""
    return ShapedRow(prompt=row.get("inputs"), reference=row.get("expected_output"), id=row.get("name"))


@shape(
    "Letta Evals results", "result.submission|result.submissions", "result.sample",
    example={"type": "result", "result": {"sample": {"input": "2+2?", "ground_truth": "4"}, "submission": "4", "grades": {"said": {"score": 1.0}}}},
    left="lines of the run, not of a sample",
    takes="prompt from sample.input, completion from submission, reference from ground_truth, grades as old graders",
)  # fmt: skip
def letta_result(row: Row) -> ShapedRow | None:
    """A result line; header and summary lines are not rows."""
    if not has(row, "result.sample"):
        return None
    asked = at(row, "result.sample.input")
    if isinstance(asked, list) and all(isinstance(one, str) for one in asked):
        asked = [{"role": "user", "content": one} for one in asked]
    said = at(row, "result.submission")
    several = list(dict(items(at(row, "result.submissions"))).values())
    grades = at(row, "result.grades")
    return ShapedRow(
        prompt=asked, completion=said if said is not None else several[0] if several else None, reference=at(row, "result.sample.ground_truth"),
        id=at(row, "result.sample.id"), scores=scores_in(grades) if grades else scores_in({"grade": at(row, "result.grade")} if has(row, "result.grade") else {}),
        error="a result without a submission",
    )  # fmt: skip


@shape(
    "SWE-bench predictions", "instance_id", "model_patch",
    example={"instance_id": "repo__z-9", "model_name_or_path": "m", "model_patch": "diff"},
    takes="completion from model_patch; the issues are in the data set",
)  # fmt: skip
def swe_prediction(row: Row) -> ShapedRow:
    """A patch."""
    return ShapedRow(
        completion=row.get("model_patch"),
        id=row.get("instance_id"),
        columns=without(row, "instance_id", "model_patch"),
        error="no patch",
    )


_SHAREGPT_EXPORT = re.compile(r"^(?:user|assistant|system|tool)$")


@shape(
    "ChatGPT export", "mapping", "current_node|title",
    example={"title": "t", "current_node": "b", "mapping": {"a": {"id": "a", "parent": None, "message": {"author": {"role": "user"}, "content": {"parts": ["2+2?"]}}}, "b": {"id": "b", "parent": "a", "message": {"author": {"role": "assistant"}, "content": {"parts": ["4"]}}}}},
    takes="the turns from the first to current_node, by parent",
)  # fmt: skip
def chatgpt_conversation(row: Row) -> ShapedRow:
    """The branch of a conversation that was shown last."""
    nodes = dict(items(row.get("mapping")))
    chat = [
        turn
        for node in _branch(nodes, str(row.get("current_node") or next(reversed(nodes), "")))
        if (turn := _turn(node)) is not None
    ]
    return ShapedRow(
        messages=chat or None, id=first_of(row, "conversation_id", "id"), columns={"title": row.get("title")}
    )


def _branch(nodes: Mapping[str, Any], last: str) -> Sequence[Any]:
    """The nodes from the root to one node."""
    found: list[Any] = []
    while last in nodes and len(found) < len(nodes):
        found.append(nodes[last])
        last = str(at(nodes[last], "parent") or "")
    return found[::-1]


def _turn(node: Any) -> dict[str, Any] | None:
    role = str(at(node, "message.author.role") or "")
    parts = at(node, "message.content.parts")
    if _SHAREGPT_EXPORT.match(role) is None or not isinstance(parts, list):
        return None
    texts = [part for part in parts if isinstance(part, str)]
    return {"role": role, "content": "\n".join(texts)} if "".join(texts).strip() else None
