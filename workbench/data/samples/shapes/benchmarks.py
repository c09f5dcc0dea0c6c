"""Outputs of benchmarks and of experiments: HELM's predictions, OpenCompass, BFCL, Phoenix and LangSmith experiments, predictions by name."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.data.samples.column_names import is_name_of
from workbench.data.samples.shapes import (
    Row,
    Score,
    ShapedRow,
    at,
    document,
    first_of,
    from_json,
    items,
    objects,
    scores_in,
    shape,
    without,
)


def only_text(value: Any) -> Any:
    """The value of an object with one key; any other value unchanged."""
    entries = dict(items(value))
    return next(iter(entries.values())) if len(entries) == 1 else from_json(value)


def _with_accepted(_: Sequence[str], rows: Sequence[Row]) -> bool:
    """Whether outputs are lists of accepted texts, next to the length of the prompt."""
    return all(isinstance(row.get("outputs"), list) and isinstance(row.get("length"), int) for row in rows)


@shape(
    "RULER prompts", "index", "input", "outputs", "length", "length_w_model_temp|answer_prefix|others|truncation",
    fits=lambda names, rows: _with_accepted(names, rows) and "pred" not in names,
    example={"index": 0, "input": "2+2?", "outputs": ["4"], "length": 4096, "length_w_model_temp": 4200, "answer_prefix": "Answer:"},
    no_completions="its outputs are references; read the predictions of a model: pred/NAME.jsonl, with a column 'pred'",
)  # fmt: skip
def ruler_prompt(row: Row) -> ShapedRow:
    """A prompt with its accepted texts."""
    return ShapedRow(
        prompt=row["input"],
        reference=row["outputs"],
        id=row["index"],
        columns=without(row, "input", "outputs", "index"),
    )


@shape(
    "RULER predictions", "index", "input", "outputs", "length", "pred", fits=_with_accepted,
    example={"index": 0, "pred": "4", "input": "2+2?", "outputs": ["4"], "others": {}, "truncation": -1, "length": 4096},
    takes="prompt from input, completion from pred, references from outputs",
)  # fmt: skip
def ruler_prediction(row: Row) -> ShapedRow:
    """A prediction with the accepted texts."""
    return ShapedRow(
        prompt=row["input"], completion=row["pred"], reference=row["outputs"], id=row["index"],
        columns=without(row, "input", "outputs", "index", "pred"),
    )  # fmt: skip


@shape(
    "KILT rows", "input", "output.0.provenance.0.wikipedia_id|output.1.provenance.0.wikipedia_id",
    example={"id": "0", "input": "2+2?", "output": [{"answer": "4", "provenance": [{"wikipedia_id": "1"}]}]},
    no_completions="its outputs are the accepted ones; if a model wrote them, map the path of their texts: columns={'prompt': 'input', 'completion': ...}",
)  # fmt: skip
def knowledge_row(row: Row) -> ShapedRow:
    """A prompt with its accepted texts and where they are from."""
    texts = [one["answer"] for one in objects(row["output"]) if one.get("answer")]
    return ShapedRow(
        prompt=row["input"],
        reference=texts or None,
        id=row.get("id"),
        columns=without(row, "input", "output", "id"),
    )


@shape(
    "FlashRAG results", "question", "golden_answers", "output.pred",
    example={"id": "0", "question": "2+2?", "golden_answers": ["4"], "output": {"retrieval_result": [], "prompt": "2+2?", "pred": "4", "metric_score": {"em": 1.0}}},
    takes="prompt from question, completion from output.pred, references from golden_answers, metrics as old graders",
)  # fmt: skip
def retrieval_result(row: Row) -> ShapedRow:
    """A prediction with what was retrieved for it."""
    said = dict(items(row["output"]))
    return ShapedRow(
        prompt=row["question"], completion=said["pred"], reference=row["golden_answers"], id=row.get("id"),
        columns=without(said, "pred", "metric_score"), scores=scores_in(said.get("metric_score")),
    )  # fmt: skip


@shape(
    "comparisons of summaries", "info.post|info.article", "summaries.0.text", "choice",
    example={"info": {"id": "i", "post": "2+2?", "title": "t"}, "summaries": [{"text": "4", "policy": "p"}, {"text": "5", "policy": "q"}], "choice": 0},
    takes="two rows in one group: the text of info with each summary; `chosen` marks the one of choice",
)  # fmt: skip
def summaries(row: Row) -> list[ShapedRow]:
    """Both summaries of a text."""
    return [
        ShapedRow(
            prompt=first_of(row, "info.post", "info.article"), completion=one.get("text"), group=str(first_of(row, "info.id", "info.post")),
            columns={"chosen": place == row["choice"], "policy": one.get("policy"), "title": at(row, "info.title")},
        )
        for place, one in enumerate(objects(row["summaries"]))
    ]  # fmt: skip


def _text_of_turn(said: Any) -> Any:
    """The text of a message of garak, or of one in plain text."""
    return at(said, "text") if isinstance(said, Mapping) else said


_ENTRIES = frozenset({"attempt", "init", "start_run setup", "digest", "eval", "completion"})
"""Types of the entries of garak's report."""


def _are_entries(_: Sequence[str], rows: Sequence[Row]) -> bool:
    """Whether rows are entries of garak's report: of known types, with the outputs of a probe in each attempt."""
    kinds = {str(row.get("entry_type")) for row in rows}
    attempts = [row for row in rows if row.get("entry_type") == "attempt"]
    return (
        kinds <= _ENTRIES
        and bool(kinds & {"attempt", "start_run setup"})
        and all("probe_classname" in row and "outputs" in row for row in attempts)
    )


@shape(
    "garak attempts", "entry_type", fits=_are_entries,
    example={"entry_type": "attempt", "uuid": "u", "status": 2, "probe_classname": "p", "prompt": "2+2?", "outputs": ["4"], "detector_results": {"d": [0.0]}},
    left="entries other than attempts", takes="a row per output of an attempt, with its score of each detector as an old grader",
)  # fmt: skip
def attempt(row: Row) -> list[ShapedRow]:
    """The outputs of an attempt."""
    if row["entry_type"] != "attempt":
        return []
    turns = objects(at(row, "prompt.turns"))
    asked = [{"role": one.get("role"), "content": _text_of_turn(one.get("content"))} for one in turns]
    detectors = dict(items(row.get("detector_results")))
    return [
        ShapedRow(
            prompt=asked or _text_of_turn(row.get("prompt")), completion=_text_of_turn(said), group=f"{row.get('uuid')}",
            columns={name: row[name] for name in ("probe_classname", "goal") if name in row}, error="an attempt without an output",
            scores={name: Score(values[place]) for name, values in detectors.items() if isinstance(values, list) and place < len(values)},
        )
        for place, said in enumerate(row.get("outputs") or [])
    ]  # fmt: skip


@shape(
    "HELM predictions", "instance_id", "predicted_text",
    example={"instance_id": "id1", "predicted_text": "4", "stats": {"exact_match": 1.0, "num_prompt_tokens": 9.0}},
    takes="completion from predicted_text, stats as old graders; the prompts are in instances.json",
)  # fmt: skip
def prediction(row: Row) -> ShapedRow:
    """A prediction; its counts and times are not scores."""
    stats = {
        name: cell for name, cell in items(row.get("stats")) if not name.startswith(("num_", "inference_"))
    }
    names = ("instance_id", "predicted_text", "stats")
    return ShapedRow(
        prompt=at(row, "input.text"), completion=row["predicted_text"], id=row["instance_id"], scores=scores_in(stats), columns=without(row, *names),
    )  # fmt: skip


@document("OpenCompass results")
def opencompass_details(value: Row) -> list[Any] | None:
    """The predictions below the accuracy."""
    details = value.get("details")
    rows = list(details.values()) if isinstance(details, Mapping) else details
    found = [
        one for one in objects(rows) if {"pred", "prediction", "predictions", "origin_prediction"} & set(one)
    ]
    return found or None


@shape(
    "OpenCompass results", "origin_prediction|predictions|pred", "references|reference|answer|gold", "correct",
    fits=lambda names, _: not {"response", "completion", "output", "model_output", "model_outputs"} & set(names),
    example={"prompt": "2+2?", "origin_prediction": "It is 4", "predictions": "4", "references": "4", "correct": True},
    takes="prompt from prompt, completion from origin_prediction, reference from references, correct as an old grader",
)  # fmt: skip
def opencompass_detail(row: Row) -> ShapedRow:
    """A prediction with its verdict."""
    asked = from_json(first_of(row, "prompt", "origin_prompt"))
    if objects(asked):
        asked = [
            {"role": one.get("role"), "content": first_of(one, "content", "prompt")} for one in objects(asked)
        ]
    correct = from_json(row.get("correct"))
    return ShapedRow(
        prompt=asked, completion=first_of(row, "origin_prediction", "predictions", "pred"), reference=first_of(row, "references", "reference", "answer", "gold"),
        scores={"correct": Score(correct[0] if isinstance(correct, list) and len(correct) == 1 else correct)},
        columns={"prediction": first_of(row, "predictions", "pred")}, error="no prediction",
    )  # fmt: skip


@shape(
    "math harness outputs", "gt", "code", "pred", "question|problem",
    example={"idx": 0, "question": "2+2?", "gt": "4", "code": ["It is 4"], "pred": ["4"], "score": [True]},
    takes="prompt from question, a completion per entry of code, reference from gt, score as an old grader",
)  # fmt: skip
def harness_output(row: Row) -> list[ShapedRow]:
    """The completions of a problem, with the verdict on each."""
    said, verdicts = from_json(row["code"]), from_json(row.get("score"))
    texts = said if isinstance(said, list) else [said]
    scores = verdicts if isinstance(verdicts, list) and len(verdicts) == len(texts) else [None] * len(texts)
    return [
        ShapedRow(
            prompt=first_of(row, "question", "problem"), completion=text, reference=row["gt"], id=f"{row.get('idx', '')}_{number}",
            scores={} if score is None else {"score": Score(score)}, columns={"choice": number},
        )
        for number, (text, score) in enumerate(zip(texts, scores, strict=True))
    ]  # fmt: skip


@shape(
    "BFCL results", "id", "result", "input_token_count|output_token_count|latency",
    example={"id": "simple_0", "result": [{"area": "{}"}], "input_token_count": 9, "latency": 0.5},
    takes="completion from result, calls as JSON; the prompts are in the benchmark's files",
)  # fmt: skip
def bfcl_result(row: Row) -> ShapedRow:
    """The calls of a model, as the benchmark writes them."""
    said = row["result"]
    names = ("id", "result", "inference_log")
    return ShapedRow(
        completion=said if isinstance(said, str) else json.dumps(said, ensure_ascii=False), id=row["id"], columns=without(row, *names),
    )  # fmt: skip


@shape(
    "BFCL scores", "valid|accuracy", "model_result_raw|model_result|correct_count",
    example={"id": "simple_1", "valid": False, "model_result_raw": "f()", "prompt": {"question": []}, "possible_answer": []},
    no_completions="it lists the failed rows only; read the results of the model: result/MODEL/BFCL_..._result.json",
    takes="nothing: it lists failed rows only",
)  # fmt: skip
def bfcl_score(row: Row) -> ShapedRow:
    """A failed row, or the accuracy."""
    return ShapedRow(prompt=json.dumps(at(row, "prompt.question") or ""), id=row.get("id"))


@shape(
    "Phoenix experiments", "example_id", "output", "annotations|reference_output|repetition_number",
    example={"example_id": "a", "repetition_number": 1, "input": {"question": "2+2?"}, "reference_output": {"answer": "4"}, "output": "4", "annotations": [{"name": "near", "score": 1.0}]},
    takes="prompt from input, completion from output, reference from reference_output, annotations as old graders",
)  # fmt: skip
def experiment_run(row: Row) -> ShapedRow:
    """One run of an example."""
    return ShapedRow(
        prompt=only_text(row.get("input")), completion=only_text(row.get("output")), reference=only_text(first_of(row, "reference_output", "expected")),
        id=f"{row['example_id']}_{row.get('repetition_number', 1)}", group=str(row["example_id"]), scores=scores_in(row.get("annotations")),
        columns=dict(items(row.get("metadata"))), error=f"a run without an output: {row.get('error') or 'no output'}"[:500],
    )  # fmt: skip


_ABOUT_RUNS = frozenset({
    "id", "run", "run_id", "status", "error", "latency", "tokens", "total_tokens", "total_cost", "start_time", "end_time", "example_id", "inputs", "outputs",
    "reference_outputs", "reference_output", "name",
})  # fmt: skip


@shape(
    "LangSmith experiments as rows", "inputs", "outputs", "reference_outputs|reference_output",
    example={"id": "a", "inputs": {"question": "2+2?"}, "outputs": {"answer": "4"}, "reference_outputs": {"answer": "4"}, "correct": 1},
    fits=lambda names, _: "run_type" not in names and "trace_id" not in names,
    takes="prompt from inputs, completion from outputs, reference from reference_outputs, other numbers as old graders",
)  # fmt: skip
def experiment_row(row: Row) -> ShapedRow:
    """A row of an experiment, whose objects may be JSON texts."""
    numbers = {name: cell for name, cell in row.items() if name not in _ABOUT_RUNS and _is_number(cell)}
    return ShapedRow(
        prompt=only_text(row["inputs"]), completion=only_text(row["outputs"]), reference=only_text(first_of(row, "reference_outputs", "reference_output")),
        id=row.get("id"), scores={**{name: Score(cell) for name, cell in numbers.items()}, **scores_in(row.get("feedback_stats"), value_name="avg|score|value")},
        error=f"a row without outputs: {row.get('error', '')}"[:500],
    )  # fmt: skip


def _is_number(cell: Any) -> bool:
    if isinstance(cell, str):
        return cell.strip().replace(".", "", 1).isdecimal()
    return isinstance(cell, bool | int | float)


def _is_flat(names: Sequence[str], _: Sequence[Row]) -> bool:
    """Whether columns have the parts of a data set's row, next to an output, and no separate references."""
    heads = {name.partition(".")[0] for name in names if "." in name}
    outputs = {name for name in names if name == "output" or name.startswith(("output.", "outputs."))}
    if heads & {"reference", "reference_outputs", "feedback", "example"} or any(
        name.count(".") > 1 for name in outputs
    ):
        return False
    return bool(outputs) and ({"inputs", "outputs"} <= heads or "dataset" in heads)


@shape(
    "experiments with dotted columns",
    example={"dataset.question": "2+2?", "dataset.answer": "4", "output": '{"output": "4"}', "near": 1.0},
    fits=_is_flat,
    takes="prompt and reference from dataset.* or inputs.*, completion from output or outputs.*, other numbers as old graders",
)  # fmt: skip
def flat_row(row: Row) -> ShapedRow:
    """A row of Opik's export, or of promptflow's details."""
    asked = {
        name.partition(".")[2]: cell
        for name, cell in row.items()
        if name.startswith(("dataset.", "inputs.")) and not name.endswith("line_number")
    }
    reference = next((name for name in asked if is_name_of("reference", name)), None)
    said = {
        name: cell
        for name, cell in row.items()
        if name == "output" or (name.startswith(("output.", "outputs.")) and not name.endswith("line_number"))
    }
    rest = {name: cell for name, cell in asked.items() if name != reference}
    prompt = next((name for name in rest if is_name_of("prompt", name)), None)
    return ShapedRow(
        prompt=only_text(rest) if prompt is None else rest[prompt], completion=only_text(only_text(said)), columns=rest,
        reference=None if reference is None else asked[reference], error="a row without an output",
        scores={name: Score(cell) for name, cell in row.items() if "." not in name and name not in _ABOUT_RUNS and _is_number(cell)},
    )  # fmt: skip


def _are_choices(_: Sequence[str], rows: Sequence[Row]) -> bool:
    return any("_view_id" in row or "_task_hash" in row for row in rows)


@shape(
    "Prodigy choices", "options", "accept|answer", fits=_are_choices,
    example={"text": "2+2?", "options": [{"id": 0, "text": "4"}], "accept": [0], "answer": "accept", "_task_hash": 1},
    no_completions="its options are completions or labels, and their texts do not distinguish these; if they are completions, pass a row each: {'prompt': text, 'completion': option, 'label': whether its id is in accept}",
    takes="prompt from text; its options are completions or labels, so they are not read",
)  # fmt: skip
def prodigy_choice(row: Row) -> ShapedRow:
    """A task with options to choose from."""
    return ShapedRow(prompt=first_of(row, "text", "prompt", "question"))
