"""What people hold: one small invented example of each public shape of rows, with its right reading."""

from __future__ import annotations

import gzip
import io
import json
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import yaml

Q, A, B, R = "Which river flows through Prague?", "The Vltava.", "The Elbe.", "Vltava"
USER, SAID, OTHER = (
    {"role": "user", "content": Q},
    {"role": "assistant", "content": A},
    {"role": "assistant", "content": B},
)
CHAT = [USER, SAID]
ONE = [(Q, A, None)]
WITH_REFERENCE = [(Q, A, R)]
PAIR = [(Q, A, None), (Q, B, None)]


@dataclass(frozen=True)
class Held:
    """One shape.

    Attributes:
        data: Rows in memory, or a file as (name, content).
        rows: Last user turn, completion and reference of each row.
        refused: Words of the refusal, when read or run; "" if it is read.
        chosen: The metadata `chosen` of each row.
        old: Old scores by grader.
        groups: Number of groups.
        said: Words of the notes.
        columns: The mapping that is passed.
        roles: Roles of the first row's turns.
        call: Further arguments.
    """

    data: Any
    rows: list[tuple[str | None, str | None, Any]] = field(default_factory=list)
    refused: tuple[str, ...] = ()
    chosen: list[Any] | None = None
    old: dict[str, list[float | None]] | None = None
    groups: int | None = None
    said: tuple[str, ...] = ()
    columns: dict[str, str | None] | None = None
    roles: list[str] | None = None
    call: dict[str, Any] = field(default_factory=dict)
    warns: bool | None = None


def jsonl(*rows: Any, name: str = "x.jsonl") -> tuple[str, bytes]:
    return name, "\n".join(json.dumps(row) for row in rows).encode()


def doc(value: Any, name: str = "x.json") -> tuple[str, bytes]:
    return name, json.dumps(value).encode()


def parquet(*rows: Any) -> tuple[str, bytes]:
    content = io.BytesIO()
    pa.parquet.write_table(pa.Table.from_pylist(list(rows)), content)
    return "x.parquet", content.getvalue()


def csv(text: str, name: str = "x.csv") -> tuple[str, bytes]:
    return name, text.encode()


def completion(*texts: str) -> dict[str, Any]:
    choices = [
        {"index": at, "message": {"role": "assistant", "content": one}, "finish_reason": "stop"}
        for at, one in enumerate(texts)
    ]
    return {
        "object": "chat.completion",
        "id": "c1",
        "model": "m",
        "choices": choices,
        "usage": {"total_tokens": 9},
    }


def batch(*texts: str) -> dict[str, Any]:
    return {
        "id": "b",
        "custom_id": "r4",
        "response": {"status_code": 200, "body": completion(*texts)},
        "error": None,
    }


PARTS = [{"type": "text", "text": A}]
GEMINI = [{"role": "user", "parts": [{"text": Q}]}, {"role": "model", "parts": [{"text": A}]}]
NODES = [
    {"message": USER, "sampled": False},
    {"parent": 0, "message": SAID, "sampled": True},
]


def _feather() -> tuple[str, bytes]:
    content = io.BytesIO()
    pa.feather.write_feather(pa.table({"prompt": [Q], "completion": [A]}), content)
    return "x.feather", content.getvalue()


def _arrow_stream() -> tuple[str, bytes]:
    table, content = pa.table({"prompt": [Q], "completion": [A]}), io.BytesIO()
    with pa.ipc.new_stream(content, table.schema) as writer:
        writer.write_table(table)
    return "data-00000-of-00001.arrow", content.getvalue()


def _zst(name: str, content: bytes) -> tuple[str, bytes]:
    return f"{name}.zst", pa.compress(content, codec="zstd", asbytes=True)


LINE = json.dumps({"prompt": Q, "completion": A})

CONVERSATIONS: dict[str, Held] = {
    "R1 ShareGPT": Held(
        jsonl({"id": "z1", "conversations": [{"from": "human", "value": Q}, {"from": "gpt", "value": A}]}), ONE
    ),
    "R2 LLaMA-Factory": Held(
        doc([{
            "conversations": [
                {"from": "system", "value": "Be brief."}, {"from": "human", "value": Q},
                {"from": "function_call", "value": '{"name": "map", "arguments": {}}'},
                {"from": "observation", "value": "3"}, {"from": "gpt", "value": A},
            ],
            "tools": "[]",
        }]), ONE, roles=["system", "user", "assistant", "tool", "assistant"],
    ),
    "R2 system column": Held(
        doc([{"conversations": [{"from": "human", "value": Q}, {"from": "gpt", "value": A}], "system": "Be brief.", "tools": ""}]),
        ONE, roles=["system", "user", "assistant"],
    ),
    "R3 conversation": Held(
        jsonl({"conversation_id": "z1", "model": "m", "conversation": CHAT, "turn": 1, "redacted": False}), ONE
    ),
    "R3 conversations": Held(jsonl({"conversations": CHAT}), ONE),
    "R4 ChatML": Held(
        jsonl({"text": f"<|im_start|>user\n{Q}<|im_end|>\n<|im_start|>assistant\n{A}<|im_end|>"}), ONE
    ),
    "R4 Llama 3": Held(
        jsonl({"text": f"<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\n{Q}<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n{A}<|eot_id|>"}), ONE
    ),
    "R4 Mistral": Held(jsonl({"text": f"<s>[INST] {Q} [/INST] {A}</s>"}), ONE),
    "R4 Alpaca text": Held(
        jsonl({"text": f"Below is an instruction.\n\n### Instruction:\n{Q}\n\n### Response:\n{A}"}), ONE
    ),
    "R4 Guanaco": Held(jsonl({"text": f"### Human: {Q}### Assistant: {A}"}), ONE),
    "R4 plain text": Held(jsonl({"text": "A text of no template."}), refused=("text",)),
    "R5 LangChain": Held(
        jsonl({"messages": [{"type": "human", "data": {"content": Q}}, {"type": "ai", "data": {"content": A}}]}), ONE
    ),
    "R6 fine-tuning": Held(
        jsonl({
            "messages": [
                {"role": "developer", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": Q}, {"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}]},
                {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "map", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "c", "content": "3"},
                {"role": "assistant", "content": A, "reasoning_content": "hm"},
            ],
            "tools": [], "parallel_tool_calls": False,
        }), [(None, A, None)], roles=["developer", "user", "assistant", "tool", "assistant"],
    ),
    "R7 user, model": Held(jsonl({"messages": [USER, {"role": "model", "content": A}]}), ONE),
    "R7 human, ai": Held(jsonl({"messages": [{"role": "human", "content": Q}, {"role": "ai", "content": A}]}), ONE),
    "R7 unknown last role": Held(
        jsonl({"messages": [USER, {"role": "narrator", "content": A}]}), refused=("no row has a completion",)
    ),
    "R8 RFT rows": Held(jsonl({"messages": [USER], "reference_answer": R}), refused=("completion",)),
    "R9 Cohere v1": Held(
        jsonl({"message": Q, "chat_history": [{"role": "USER", "message": "hi"}, {"role": "CHATBOT", "message": "Hello."}], "text": A}),
        ONE, roles=["user", "assistant", "user", "assistant"],
    ),
}  # fmt: skip

PAIRS: dict[str, Held] = {
    "R10 explicit prompt": Held(jsonl({"prompt": Q, "chosen": A, "rejected": B}), PAIR, chosen=[True, False], groups=1),
    "R11 prompt inside": Held(jsonl({"chosen": CHAT, "rejected": [USER, OTHER]}), PAIR, chosen=[True, False], groups=1),
    "R11 hh-rlhf": Held(
        jsonl({"chosen": f"\n\nHuman: {Q}\n\nAssistant: {A}", "rejected": f"\n\nHuman: {Q}\n\nAssistant: {B}"}),
        PAIR, chosen=[True, False], groups=1,
    ),
    "R12 ultrafeedback_binarized": Held(
        jsonl({"prompt": Q, "chosen": CHAT, "rejected": [USER, OTHER], "messages": CHAT, "score_chosen": 9.0, "score_rejected": 4.0}),
        PAIR, chosen=[True, False], groups=1, old={"score": [9.0, 4.0]},
    ),
    "R13 OpenAI's preferences": Held(
        jsonl({"input": {"messages": [USER]}, "preferred_output": [SAID], "non_preferred_output": [OTHER]}),
        PAIR, chosen=[True, False], groups=1,
    ),
    "R14 arena": Held(
        jsonl({"question_id": "z", "model_a": "x", "model_b": "y", "winner": "model_b", "turn": 1, "conversation_a": CHAT, "conversation_b": [USER, OTHER]}),
        PAIR, chosen=[False, True], groups=1,
    ),
    "R14 arena tie": Held(
        jsonl({"question_id": "z", "model_a": "x", "model_b": "y", "winner": "tie", "conversation_a": CHAT, "conversation_b": [USER, OTHER]}),
        PAIR, chosen=[None, None], groups=1,
    ),
    "R15 AlpacaEval": Held(
        doc([{"instruction": Q, "output_1": A, "generator_1": "ref", "output_2": B, "generator_2": "m", "preference": 1.1}]),
        PAIR, chosen=[True, False], groups=1,
    ),
    "R16 KTO": Held(jsonl({"prompt": Q, "completion": A, "label": True}), ONE),
    "R17 verdicts": Held(csv(f"prompt,response,label\n{Q},{A},pass\n{Q},{B},fail\n"), PAIR),
    "human preference 55k": Held(
        csv(f'id,model_a,model_b,prompt,response_a,response_b,winner_model_a,winner_model_b,winner_tie\n1,x,y,"[""{Q}""]","[""{A}""]","[""{B}""]",0,1,0\n'),
        PAIR, chosen=[False, True], groups=1,
    ),
    "SafeRLHF": Held(
        jsonl({"prompt": Q, "response_0": A, "response_1": B, "better_response_id": 1, "safer_response_id": 0}),
        PAIR, chosen=[False, True], groups=1,
    ),
    "HelpSteer preference": Held(
        jsonl({"prompt": Q, "response_1": A, "response_2": B, "preference_strength": -2}),
        PAIR, chosen=[True, False], groups=1,
    ),
    "JudgeBench": Held(
        jsonl({"pair_id": "p", "question": Q, "response_A": A, "response_B": B, "label": "A>B"}),
        PAIR, chosen=[True, False], groups=1,
    ),
}  # fmt: skip

SEVERAL: dict[str, Held] = {
    **{
        f"R18 {name}": Held(jsonl({"prompt": Q, name: [A, B], "answer": R}), [(Q, A, R), (Q, B, R)], groups=1)
        for name in ("completions", "responses", "generations", "samples")
    },
    "R18 lists along": Held(
        jsonl({"prompt": Q, "completions": [A, B], "correctness": [True, False]}), PAIR, groups=1,
        old={"correctness": [1.0, 0.0]},
    ),
    "R19 output a list": Held(jsonl({"prompt": Q, "output": [A, B]}), PAIR, groups=1),
    "R20 a list of one": Held(jsonl({"prompt": Q, "completion": [A]}), ONE),
    "R21 pipeline": Held(jsonl({"prompt": Q, "response": [{"generated_text": A}]}), ONE),
    "R22 batch of two": Held(jsonl(batch(A, B)), [(None, A, None), (None, B, None)], groups=1),
    "R23 UltraFeedback": Held(
        jsonl({"instruction": Q, "models": ["x", "y"], "completions": [{"model": "x", "response": A, "overall_score": 7.5}, {"model": "y", "response": B, "overall_score": 2.0}]}),
        PAIR, groups=1, old={"overall_score": [7.5, 2.0]},
    ),
    "R24 MT-Bench": Held(
        jsonl({"question_id": 9, "answer_id": "a", "model_id": "m", "choices": [{"index": 0, "turns": [B, A]}], "tstamp": 1.5}),
        [(None, A, None)],
    ),
    "Nectar": Held(
        jsonl({"prompt": Q, "answers": [{"answer": A, "model": "x", "rank": 1.0}, {"answer": B, "model": "y", "rank": 2.0}]}),
        PAIR, groups=1,
    ),
}  # fmt: skip

NAMES: dict[str, Held] = {
    **{
        f"R25 {name}": Held(jsonl({"input": Q, name: A, "ideal": R}), WITH_REFERENCE)
        for name in ("generated_text", "prediction", "model_output", "actual_output", "outputs", "model_response")
    },
    **{
        f"R26 {name}": Held(jsonl({name: Q, "response": A, "reference": R}), WITH_REFERENCE)
        for name in ("user_input", "query", "problem", "inputs", "request")
    },
    "R26 solution": Held(jsonl({"problem": Q, "completion": A, "solution": R}), WITH_REFERENCE),
    "R27 correct_answer": Held(jsonl({"problem": Q, "model_response": A, "correct_answer": R}), WITH_REFERENCE),
    "R27 MLflow": Held(
        jsonl({"inputs": {"question": Q}, "outputs": A, "expectations": {"expected_response": R}}), WITH_REFERENCE
    ),
    **{
        f"R28 {name}": Held(jsonl({"input": Q, "output": A, name: R}), WITH_REFERENCE)
        for name in ("target", "expected_output", "reference_answer", "ideal", "gold_answer", "gold")
    },
    "R29 ragas 0.1": Held(
        jsonl({"question": Q, "answer": A, "contexts": ["Prague lies on it."], "ground_truth": R}), WITH_REFERENCE
    ),
    "R29 a source as reference": Held(
        jsonl({"question": Q, "reference": "guide.pdf", "answer": A}), refused=("completion",)
    ),
    "R30 Dolly": Held(
        jsonl({"instruction": Q, "context": "Prague lies on a river.", "response": A, "category": "closed_qa"}),
        ONE, said=("context",),
    ),
    "R31 AlpacaEval outputs": Held(doc([{"instruction": Q, "output": A, "generator": "m"}]), ONE),
    "R31 HumanEval": Held(jsonl({"task_id": "HumanEval/7", "completion": "    return n\n"}), [(None, "    return n\n", None)]),
    "R31 slime": Held(jsonl({"prompt": [USER], "label": R, "response": A}), WITH_REFERENCE),
    "R32 SQuAD": Held(
        jsonl({"question": Q, "answers": {"text": [R], "answer_start": [4]}, "response": A}), WITH_REFERENCE
    ),
    "R32 verl": Held(
        jsonl({"data_source": "s", "prompt": [USER], "reward_model": {"style": "rule", "ground_truth": R}, "response": A}),
        WITH_REFERENCE,
    ),
    "R33 objects": Held(
        jsonl({"input": {"q": Q}, "output": {"text": A}, "meta": {"gold": {"river": R}}}), ONE
    ),
    "R34 dotted": Held(
        jsonl({"input": {"q": Q}, "output": {"text": A}, "meta": {"gold": {"river": R}}}), WITH_REFERENCE,
        columns={"prompt": "input.q", "completion": "output.text", "reference": "meta.gold.river"},
    ),
    "R34 dotted index": Held(
        jsonl({"turns": [{"text": Q}, {"text": A}]}), ONE, columns={"prompt": "turns.0.text", "completion": "turns.1.text"}
    ),
    "R34 dotted, nothing there": Held(
        jsonl({"input": {"q": Q}, "output": A}), refused=("input.question",), columns={"prompt": "input.question"}
    ),
    "R35 Braintrust": Held(
        jsonl({"id": "z", "input": {"q": Q}, "output": A, "expected": R, "scores": {"Factuality": 0.6}, "span_id": "s", "root_span_id": "s"}),
        WITH_REFERENCE, old={"Factuality": [0.6]},
    ),
}  # fmt: skip

FRAME = pd.DataFrame({"prompt": [Q], "completion": [A]})

FILES: dict[str, Held] = {
    "R36 data": Held(doc({"data": [{"prompt": Q, "completion": A}]}), ONE),
    "R36 HF viewer": Held(doc({"rows": [{"row_idx": 0, "row": {"prompt": Q, "completion": A}, "truncated_cells": []}], "features": [{"name": "prompt"}], "num_rows_total": 1}), ONE),
    "R36 W&B table": Held(doc({"columns": ["prompt", "completion"], "data": [[Q, A]], "ncols": 2, "nrows": 1}), ONE),
    "R36 nested list": Held(doc({"meta": {"model": "m"}, "results": {"rows": [{"prompt": Q, "completion": A}]}}), ONE),
    "R36 two lists": Held(
        doc({"train": [{"prompt": Q, "completion": A}], "test": [{"prompt": Q, "completion": B}]}), refused=("train", "test")
    ),
    "R37 lists": Held(doc({"prompt": [Q], "completion": [A]}), ONE),
    "R37 to_json": Held(doc({"prompt": {"0": Q}, "completion": {"0": A}}), ONE),
    "R37 split": Held(doc({"columns": ["prompt", "completion"], "index": [0], "data": [[Q, A]]}), ONE),
    "R37 table": Held(("x.json", FRAME.to_json(orient="table").encode()), ONE),
    "R37 index": Held(("x.json", FRAME.to_json(orient="index").encode()), ONE),
    "R37 values": Held(("x.json", FRAME.to_json(orient="values").encode()), refused=("prompt",)),
    "R38 lines under .json": Held(jsonl({"prompt": Q, "completion": A}, {"prompt": Q, "completion": B}, name="x.json"), PAIR),
    "R38 one line under .json": Held(doc({"prompt": Q, "completion": A}), ONE),
    "R39 list under .jsonl": Held(doc([{"prompt": Q, "completion": A}, {"prompt": Q, "completion": B}], "x.jsonl"), PAIR),
    "R39 objects over lines": Held(
        ("x.jsonl", (json.dumps({"prompt": Q, "completion": A}, indent=2) + "\n" + json.dumps({"prompt": Q, "completion": B}, indent=2)).encode()), PAIR
    ),
    "R40 .jsonl.gz": Held(("x.jsonl.gz", gzip.compress(LINE.encode())), ONE),
    "R40 .json.gz": Held(("x.json.gz", gzip.compress(f"[{LINE}]".encode())), ONE),
    "R40 .csv.gz": Held(("x.csv.gz", gzip.compress(f"prompt,completion\n{Q},{A}\n".encode())), ONE),
    "R40 .jsonl.zst": Held(("x.jsonl.zst", b"\x28\xb5\x2f\xfd" + b"" if False else _zst("x", LINE.encode())[1]), ONE),
    "R40 .feather": Held(_feather(), ONE),
    "R40 gzip under .jsonl": Held(("x.jsonl", gzip.compress(LINE.encode())), ONE),
    "R40 .txt with tabs": Held(("x.txt", f"prompt\tcompletion\n{Q}\t{A}\n".encode()), ONE),
    "R40 .sqlite": Held(("x.sqlite", b"SQLite format 3\0" + bytes(100)), refused=("read_sql",)),
    "R41 Arrow stream": Held(_arrow_stream(), ONE),
    "R42 UTF-16": Held(("x.csv", f"prompt,completion\n{Q},Größe\n".encode("utf-16")), [(Q, "Größe", None)]),
    "R42 UTF-16 tabs": Held(("x.csv", f"prompt\tcompletion\n{Q}\tGröße\n".encode("utf-16")), [(Q, "Größe", None)]),
    "R42 latin-1": Held(("x.csv", f"prompt,completion\n{Q},Größe\n".encode("latin-1")), refused=("encoding=",)),
    "R42 latin-1 by choice": Held(
        ("x.csv", f"prompt,completion\n{Q},Größe\n".encode("latin-1")), [(Q, "Größe", None)], call={"encoding": "latin-1"}
    ),
    "R42 UTF-16 JSON": Held(("x.jsonl", LINE.encode("utf-16")), ONE),
    "R43 semicolons": Held(csv(f'prompt;completion;answer\n{Q};"Vltava, the longest";3,5\n'), [(Q, "Vltava, the longest", "3,5")]),
    "R43 commas inside": Held(csv(f"prompt;completion;answer\n{Q};Vltava, the longest, of all;Vltava\n"), [(Q, "Vltava, the longest, of all", R)]),
    "R43 sep=": Held(("x.csv", f"\ufeffsep=;\nprompt;completion\n{Q};{A}\n".encode()), ONE),
    "R43 tabs under .csv": Held(csv(f"prompt\tcompletion\n{Q}\t{A}, yes\n"), [(Q, A + ", yes", None)]),
    "R44 TSV": Held(csv(f"prompt\tcompletion\n{Q}\t{A}\n", "x.tsv"), ONE),
    "R44 index column": Held(csv(f",prompt,completion\n0,{Q},{A}\n"), ONE),
    "R44 Parquet": Held(parquet({"prompt": Q, "completion": A}), ONE),
    "R45 chat as JSON": Held(("x.csv", pd.DataFrame({"prompt": [json.dumps([USER])], "completion": [json.dumps([SAID])]}).to_csv(index=False).encode()), ONE),
    "R46 chat as repr": Held(("x.csv", pd.DataFrame({"prompt": [[USER]], "completion": [[SAID]]}).to_csv(index=False).encode()), ONE),
    "R47 messages as repr": Held(("x.csv", pd.DataFrame({"messages": [CHAT]}).to_csv(index=False).encode()), ONE),
    "YAML": Held(("x.yaml", yaml.safe_dump([{"prompt": Q, "completion": A}]).encode()), refused=("wb.load",)),
}  # fmt: skip

APIS: dict[str, Held] = {
    "R53 batch output": Held(jsonl(batch(A)), [(None, A, None)], said=("prompt",)),
    "R54 batch input": Held(
        jsonl({"custom_id": "r4", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": [USER]}}), refused=("batch",)
    ),
    "R55 stored completions": Held(
        doc({"object": "list", "data": [{**completion(A), "metadata": {"k": "v"}}], "has_more": False}), [(None, A, None)]
    ),
    "R55 lines": Held(jsonl(completion(A)), [(None, A, None)]),
    "R56 LiteLLM": Held(jsonl({"request": {"messages": [USER]}, "response": completion(A)}), ONE),
    "R56 Helicone": Held(jsonl({"request_id": "h", "request_body": {"messages": [USER]}, "response_body": completion(A)}), ONE),
    "R57 messages in, message out": Held(jsonl({"input": [USER], "output": SAID}), ONE),
    "R58 Responses items": Held(
        jsonl({"input": Q, "output": [{"type": "reasoning", "summary": []}, {"type": "function_call", "call_id": "c", "name": "map", "arguments": "{}"}, {"type": "function_call_output", "call_id": "c", "output": "3"}, {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": A}]}]}),
        ONE,
    ),
    "R59 Agents SDK": Held(
        jsonl({"items": [USER, {"type": "function_call", "call_id": "c", "name": "map", "arguments": "{}"}, {"type": "function_call_output", "call_id": "c", "output": "3"}, {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": A}]}]}),
        ONE,
    ),
    "R60 Anthropic": Held(
        jsonl({"system": "Be brief.", "messages": [USER], "response": {"type": "message", "role": "assistant", "content": PARTS}}), ONE
    ),
    "R61 Anthropic batch": Held(
        jsonl(
            {"custom_id": "r4", "result": {"type": "succeeded", "message": {"role": "assistant", "content": PARTS}}},
            {"custom_id": "r5", "result": {"type": "errored", "error": {"type": "overloaded", "message": "too busy"}}},
        ), [(None, A, None), (None, None, None)],
    ),
    "R62 Gemini tuning": Held(
        jsonl({"systemInstruction": {"parts": [{"text": "Be brief."}]}, "contents": GEMINI}), ONE, roles=["system", "user", "assistant"]
    ),
    "R63 Gemini batch": Held(
        jsonl({"key": "k1", "request": {"contents": GEMINI[:1]}, "response": {"candidates": [{"content": GEMINI[1]}]}}), ONE
    ),
    "R64 Bedrock batch": Held(
        jsonl({"recordId": "R4", "modelInput": {"messages": [USER]}, "modelOutput": {"role": "assistant", "content": PARTS}}), ONE
    ),
    "R64 Bedrock evaluation": Held(
        jsonl({"prompt": Q, "referenceResponse": R, "modelResponses": [{"response": A, "modelIdentifier": "m"}]}), WITH_REFERENCE
    ),
    "Bedrock Converse": Held(
        jsonl({"messages": [{"role": "user", "content": [{"text": Q}]}], "response": {"output": {"message": {"role": "assistant", "content": [{"text": A}]}}, "stopReason": "end_turn"}}), ONE
    ),
}  # fmt: skip

OTLP = {
    "resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": [{
        "traceId": "t", "spanId": "s", "name": "chat m", "attributes": [
            {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
            {"key": "gen_ai.input.messages", "value": {"stringValue": json.dumps([{"role": "user", "parts": [{"type": "text", "content": Q}]}])}},
            {"key": "gen_ai.output.messages", "value": {"stringValue": json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": A}]}])}},
        ],
    }, {"traceId": "t", "spanId": "u", "name": "db", "attributes": []}]}]}]
}  # fmt: skip

TRACES: dict[str, Held] = {
    "R65 LangSmith chain": Held(
        jsonl({"id": "z", "run_type": "chain", "inputs": {"input": Q}, "outputs": {"output": A}, "error": None, "feedback_stats": {"near": {"n": 1, "avg": 0.5}}}),
        ONE, old={"near": [0.5]},
    ),
    "R65 LangSmith llm": Held(
        jsonl({
            "id": "z", "run_type": "llm", "inputs": {"messages": [[{"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "HumanMessage"], "kwargs": {"content": Q, "type": "human"}}]]},
            "outputs": {"generations": [[{"text": A, "message": {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "AIMessage"], "kwargs": {"content": A, "type": "ai"}}}]]},
            "error": None,
        }), ONE,
    ),
    "R66 mapped": Held(
        jsonl({"id": "z", "inputs": {"input": Q}, "outputs": {"output": A}}), ONE, columns={"prompt": "inputs", "completion": "outputs"}
    ),
    "R67 LangSmith examples": Held(
        jsonl({"id": "e", "dataset_id": "d", "inputs": {"q": Q}, "outputs": {"answer": R}, "created_at": "2026-01-01"}), refused=("LangSmith",)
    ),
    "R67 evaluate().to_pandas()": Held(
        pd.DataFrame([{"inputs.q": Q, "outputs.answer": A, "error": None, "reference.answer": R, "feedback.near": 0.5, "execution_time": 0.1, "example_id": "e", "id": "r"}]),
        WITH_REFERENCE, old={"near": [0.5]},
    ),
    "R68 OTLP": Held(doc(OTLP), ONE),
    "R69 GenAI mapped": Held(
        jsonl({"gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": Q}]}], "gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": A}]}]}),
        ONE, columns={"prompt": "gen_ai.input.messages", "completion": "gen_ai.output.messages"},
    ),
    "R70 Phoenix": Held(
        parquet({"context.span_id": "s", "context.trace_id": "t", "span_kind": "LLM", "attributes.llm.input_messages": [{"message.role": "user", "message.content": Q}], "attributes.output.value": A}),
        ONE,
    ),
    "R71 Phoenix mapped": Held(
        jsonl({"context.span_id": "s", "attributes.llm.input_messages": [{"message.role": "user", "message.content": Q}], "attributes.llm.output_messages": [{"message.role": "assistant", "message.content": A}]}),
        ONE, columns={"prompt": "attributes.llm.input_messages", "completion": "attributes.llm.output_messages"},
    ),
    "R72 Langfuse CSV": Held(
        ("x.csv", pd.DataFrame({"id": ["z"], "input": [json.dumps([USER])], "output": [json.dumps(SAID)]}).to_csv(index=False).encode()), ONE
    ),
    "R73 promptfoo tests": Held(csv(f"q,__expected,__description\n{Q},contains:Vltava,first\n"), refused=("promptfoo",)),
}  # fmt: skip

RUNS: dict[str, Held] = {
    "P2 inspect log": Held(
        doc({
            "version": 2, "status": "success", "eval": {"task": "rivers", "model": "m"}, "results": {},
            "samples": [
                {"id": "z", "epoch": epoch, "input": Q, "target": [R, "Moldau"], "messages": CHAT, "output": {"model": "m", "choices": [{"message": SAID}], "completion": A}, "scores": {"match": {"value": value, "answer": A, "explanation": "so"}}, "metadata": {"level": 3}}
                for epoch, value in ((1, "C"), (2, "I"))
            ],
        }),
        [(Q, A, [R, "Moldau"])] * 2, groups=1, old={"match": [1.0, 0.0]},
    ),
    "P3 samples_df": Held(
        parquet({"sample_id": "s", "eval_id": "e", "log": "x.eval", "id": "z", "epoch": 1, "input": f"user:\n{Q}", "target": R, "score_match": "C"}), refused=("inspect",)
    ),
    "P4 promptfoo json": Held(
        doc({"evalId": "e", "results": {"version": 3, "timestamp": "t", "prompts": [], "results": [{
            "vars": {"q": Q, "river": R}, "prompt": {"raw": Q, "label": "{{q}}"}, "provider": {"id": "p"}, "response": {"output": A}, "success": True, "score": 1, "namedScores": {"fact": 1},
            "gradingResult": {"pass": True, "score": 1, "reason": "All assertions passed", "componentResults": [{"pass": True, "score": 1, "reason": "Assertion passed", "assertion": {"type": "contains", "value": R, "metric": "fact"}}]},
        }]}, "config": {"tests": [{"vars": {"q": Q}}]}}),
        ONE, old={"fact": [1.0], "promptfoo": [1.0]},
    ),
    "P4 promptfoo jsonl": Held(
        jsonl({
            "vars": {"q": Q, "river": R}, "prompt": {"raw": json.dumps([USER]), "label": "{{q}}"}, "provider": {"id": "p"}, "response": {"output": A}, "success": False, "score": 0.5, "namedScores": {},
            "gradingResult": {"pass": False, "score": 0.5, "componentResults": [{"pass": True, "score": 1, "assertion": {"type": "contains", "value": R}}, {"pass": False, "score": 0, "reason": "no", "assertion": {"type": "regex", "value": "x"}}]},
        }),
        ONE, old={"contains": [1.0], "regex": [0.0], "promptfoo": [0.5]},
    ),
    "P5 promptfoo csv": Held(
        csv(f"q,river,[openai:m] {{{{q}}}},Status,Score,Named Scores,Metric: fact,Grader Reason\n{Q},{R},{A},PASS,1.00,,1.00,ok\n"),
        ONE, old={"promptfoo": [1.0], "fact": [1.0]},
    ),
    "P6 verifiers traces": Held(
        jsonl({"version": 1, "num_total_tokens": 9, "task": {"type": "T", "data": {"prompt": Q, "answer": R}}, "nodes": NODES, "rewards": {"near": {"score": 0.7, "weight": 2.0}}, "metrics": {"length": 11.0}}),
        WITH_REFERENCE, old={"near": [0.7], "length": [11.0]},
    ),
    "P7 verifiers results": Held(
        jsonl({"example_id": 0, "prompt": [USER], "completion": [SAID], "answer": R, "task": "default", "reward": 0.7, "near": 0.7, "generation_ms": 4.0, "total_ms": 5.0}),
        WITH_REFERENCE, old={"reward": [0.7], "near": [0.7]},
    ),
    "P8 MLflow traces": Held(
        doc([{
            "info": {"trace_id": "tr-1", "state": "OK", "trace_metadata": {"mlflow.traceInputs": json.dumps({"q": Q}), "mlflow.traceOutputs": json.dumps(A)},
                     "assessments": [{"assessment_name": "kind", "feedback": {"value": True}, "rationale": "it is"}, {"assessment_name": "expected", "expectation": {"value": R}}]},
            "data": {"spans": []},
        }]), WITH_REFERENCE, old={"kind": [1.0]},
    ),
    "P9 search_traces": Held(
        parquet({"trace_id": "tr-1", "state": "OK", "request": json.dumps({"q": Q}), "response": json.dumps(A), "spans": [{"name": "x"}], "assessments": [{"assessment_name": "kind", "feedback": {"value": True}}]}),
        ONE, old={"kind": [1.0]},
    ),
    "P10 lm-eval": Held(
        jsonl({"doc_id": 3, "doc": {"question": Q}, "target": R, "arguments": {"gen_args_0": {"arg_0": Q, "arg_1": {"until": []}}}, "resps": [["Hm. " + A]], "filtered_resps": [A], "filter": "strict", "metrics": ["exact_match"], "doc_hash": "d", "exact_match": 1.0}),
        WITH_REFERENCE, old={"exact_match": [1.0]},
    ),
    "P10 lm-eval 0.4.0": Held(
        doc([{"doc_id": 3, "doc": {"question": Q}, "target": R, "arguments": [[Q, {"until": []}]], "resps": [["Hm. " + A]], "filtered_resps": [A], "exact_match": 1.0}]),
        WITH_REFERENCE, old={"exact_match": [1.0]},
    ),
    "P10 lm-eval likelihoods": Held(
        jsonl({"doc_id": 3, "doc": {"question": Q}, "target": "0", "arguments": {"gen_args_0": {"arg_0": Q, "arg_1": " a"}, "gen_args_1": {"arg_0": Q, "arg_1": " b"}}, "resps": [[["-1.5", "False"]], [["-2.5", "False"]]], "filtered_resps": [["-1.5", "False"], ["-2.5", "False"]], "acc": 1.0}),
        refused=("lm-eval",),
    ),
    "P11 lighteval": Held(
        parquet({"doc": {"query": Q, "choices": [R], "gold_index": 0, "id": "4"}, "model_response": {"text": [A]}, "metric": {"em": 0.0}}),
        WITH_REFERENCE, old={"em": [0.0]},
    ),
    "P12 output items": Held(
        jsonl({"object": "eval.run.output_item", "id": "o", "status": "pass", "datasource_item": {"q": Q, "river": R}, "sample": {"input": [USER], "output": [SAID]}, "results": [{"name": "same", "score": 1.0, "passed": True}]}),
        ONE, old={"same": [1.0]},
    ),
    "P12 page": Held(
        doc({"object": "list", "data": [{"object": "eval.run.output_item", "id": "o", "status": "pass", "datasource_item": {"q": Q}, "sample": {"input": [USER], "output": [SAID]}, "results": [{"name": "same-1a2b3c4d-1111-2222-3333-444455556666", "score": 1.0, "passed": True}]}], "has_more": False}),
        ONE,
    ),
    "P12 API export": Held(
        doc({"eval": {"object": "eval", "id": "eval_9", "testing_criteria": []}, "rows": [{"item": {"q": Q}}], "runs": [{"run": {"id": "r"}, "output_items": [{"object": "eval.run.output_item", "id": "o", "status": "fail", "datasource_item": {"q": Q}, "sample": {"input": [USER], "output": [SAID]}, "results": [{"name": "same", "score": 0.0, "passed": False}]}]}]}),
        ONE, old={"same": [0.0]},
    ),
    "P12 item, sample": Held(
        jsonl({"item": {"q": Q, "river": R}, "sample": {"output_text": A, "output_json": None}}), [(None, A, None)]
    ),
    "P13 Azure output items": Held(
        jsonl({"object": "eval.run.output_item", "id": 1, "datasource_item": {"query": Q, "sample.output_text": A}, "sample": {}, "results": [{"name": "fluency", "score": 4.0, "passed": True, "reason": "good"}], "status": "completed"}),
        ONE, old={"fluency": [4.0]},
    ),
    "P13 azure-ai-evaluation": Held(
        doc({"rows": [{"inputs.query": Q, "inputs.response": A, "inputs.ground_truth": R, "outputs.f1.f1_score": 0.5, "line_number": 0}], "metrics": {"f1.f1_score": 0.5}, "studio_url": None}),
        WITH_REFERENCE, old={"f1": [0.5]},
    ),
    "P14 openai/evals": Held(
        jsonl(
            {"spec": {"completion_fns": ["m"], "eval_name": "t"}},
            {"run_id": "x", "event_id": 0, "sample_id": "t.3", "type": "sampling", "data": {"prompt": [USER], "sampled": [A]}, "created_by": "", "created_at": "2026"},
            {"run_id": "x", "event_id": 1, "sample_id": "t.3", "type": "match", "data": {"correct": True, "expected": R, "picked": A}, "created_by": "", "created_at": "2026"},
            {"final_report": {"accuracy": 1.0}},
        ), WITH_REFERENCE, old={"match": [1.0]},
    ),
    "P15 DeepEval": Held(
        doc({"testCases": [{"name": "t", "input": Q, "actualOutput": A, "expectedOutput": R, "success": True, "metricsData": [{"name": "Kind (GEval)", "score": 0.8, "threshold": 0.5, "success": True, "reason": "so"}]}], "conversationalTestCases": [], "metricsScores": [{"metric": "Kind (GEval)", "scores": [0.8], "passes": 1}], "testPassed": 1}),
        WITH_REFERENCE, old={"Kind (GEval)": [0.8]},
    ),
    "P16 pydantic_evals": Held(
        doc({"name": "t", "cases": [{"name": "a", "inputs": Q, "output": A, "expected_output": R, "metadata": None, "metrics": {}, "attributes": {}, "scores": {"near": {"name": "near", "value": 0.5, "reason": "so"}}, "labels": {}, "assertions": {"Contains": {"name": "Contains", "value": True, "reason": None}}, "task_duration": 0.1, "total_duration": 0.2}], "failures": []}),
        WITH_REFERENCE, old={"near": [0.5], "Contains": [1.0]},
    ),
    "P17 Letta": Held(
        jsonl({"type": "header", "suite": "s"}, {"type": "result", "result": {"sample": {"id": 4, "input": Q, "ground_truth": R}, "submission": A, "grades": {"said": {"score": 1.0, "rationale": "so"}}}}, {"type": "summary", "metrics": {}}),
        WITH_REFERENCE, old={"said": [1.0]},
    ),
    "P18 Weave": Held(
        jsonl({"id": "w", "op_name": "weave:///e/p/op/Evaluation.predict_and_score:v1", "trace_id": "t", "started_at": "2026", "inputs": {"example": {"q": Q, "expected": R}, "model": "m"}, "output": {"output": A, "scores": {"near": {"score": 0.5}}, "model_latency": 0.1}}),
        [(Q, A, R)], old={"near": [0.5]},
    ),
    "P19 SWE-bench": Held(
        doc({"repo__z-9": {"instance_id": "repo__z-9", "model_name_or_path": "m", "model_patch": "diff --git a b"}}), [(None, "diff --git a b", None)]
    ),
    "P20 verl dump": Held(
        jsonl({"input": f"user\n{Q}\nassistant\n", "output": A, "gts": R, "score": 0.0, "step": 7}), [(f"user\n{Q}\nassistant\n", A, R)], old={"score": [0.0]}
    ),
}  # fmt: skip

MORE: dict[str, Held] = {
    "inspect log without a header": Held(
        doc({"version": 2, "status": "success", "samples": [{"id": "z", "input": Q, "target": R, "scores": {"match": {"value": "I"}}, "output": {"choices": [{"message": {"role": "assistant", "content": A}}]}}]}),
        WITH_REFERENCE, old={"match": [0.0]},
    ),
    "inspect sample that failed": Held(
        doc({"eval": {"task": "t"}, "status": "success", "samples": [
            {"id": "z", "epoch": 1, "input": Q, "target": R, "messages": [USER], "output": {"model": "m", "choices": [], "completion": ""}, "error": {"message": "boom"}},
            {"id": "y", "epoch": 1, "input": Q, "target": R, "messages": CHAT, "output": {"choices": [{"message": SAID}], "completion": A}, "scores": {"match": {"value": "C"}}},
        ]}), [(None, None, None), (Q, A, R)], old={"match": [None, 1.0]}, said=("1 without a completion",),
    ),
    "promptfoo rows without vars": Held(
        doc({"results": {"results": [{"testCase": {"vars": {"q": Q}}, "success": True, "gradingResult": {"componentResults": [{"type": "contains", "metric": "fact", "pass": True}]}, "response": {"output": A}}]}}),
        [(None, A, None)], old={"fact": [1.0], "promptfoo": [1.0]},
    ),
    "promptfoo provider error": Held(
        doc({"results": {"results": [{"vars": {"q": Q}, "prompt": {"raw": Q}, "success": False, "score": 0, "error": "API call error", "gradingResult": None, "namedScores": {}},
                                     {"vars": {"q": Q}, "prompt": {"raw": Q}, "success": True, "score": 1, "response": {"output": A}, "namedScores": {}}]}}),
        [(None, None, None), (Q, A, None)], said=("1 without a completion",),
    ),
    "promptfoo csv of two providers": Held(
        csv(f"q,[a:m] {{{{q}}}},Status,Score,[b:n] {{{{q}}}},Status,Score\n{Q},{A},PASS,1.00,{B},FAIL,0.00\n"), PAIR, old={"promptfoo": [1.0, 0.0]},
    ),
    "lm-eval chat": Held(
        jsonl({"doc_id": 3, "filter": "strict", "target": R, "arguments": {"gen_args_0": {"arg_0": [json.dumps([USER])]}}, "resps": [["x"]], "filtered_resps": [[A]], "exact_match": 0.0, "doc": {}}),
        WITH_REFERENCE, old={"exact_match": [0.0]},
    ),
    "lm-eval results": Held(doc({"results": {"t": {"alias": "t", "acc,none": 0.5}}, "n-shot": {"t": 0}, "configs": {}}), refused=("lm-eval", "--log_samples")),
    "lm-eval samples in results": Held(
        doc({"results": {"t": {"acc": 0.5}}, "n-shot": {"t": 0}, "samples": {"t": [{"doc_id": 0, "doc": {}, "arguments": [[Q, {}]], "target": R, "filtered_resps": [A], "resps": [[A]], "pass@1": 1.0}]}}),
        WITH_REFERENCE, old={"pass@1": [1.0]},
    ),
    "HELM": Held(
        doc({"adapter_spec": {}, "request_states": [{"instance": {"id": "i", "input": {"text": Q}, "references": [{"output": {"text": R}, "tags": ["correct"]}]}, "request": {"prompt": Q, "model": "m"}, "result": {"completions": [{"text": A}]}}]}),
        WITH_REFERENCE,
    ),
    "LangSmith tool runs": Held(
        jsonl({"id": "a", "run_type": "chain", "inputs": {"q": Q}, "outputs": {"answer": A}}, {"id": "b", "parent_run_id": "a", "run_type": "tool", "inputs": {"x": 1}, "outputs": {"output": "3"}}),
        ONE, said=("1 left out",),
    ),
    "Langfuse observations of all types": Held(
        jsonl({"id": "a", "traceId": "t", "type": "SPAN", "input": {"x": 1}, "output": ["doc"]}, {"id": "b", "traceId": "t", "type": "GENERATION", "input": [USER], "output": SAID}),
        ONE, said=("1 left out",),
    ),
    "Langfuse traces with scores": Held(
        jsonl({"id": "a", "projectId": "p", "name": "chat", "input": [USER], "output": SAID, "scores": [{"name": "near", "value": 0.5, "comment": "so"}]}), ONE, old={"near": [0.5]}
    ),
    "Phoenix spans of all kinds": Held(
        parquet(
            {"context.span_id": "s", "span_kind": "RETRIEVER", "attributes.input.value": Q, "attributes.output.value": "docs"},
            {"context.span_id": "u", "span_kind": "LLM", "attributes.input.value": Q, "attributes.output.value": A},
        ), ONE, said=("1 left out",),
    ),
    "OpenInference in OTLP": Held(
        jsonl({"resourceSpans": [{"scopeSpans": [{"spans": [{"spanId": "s", "attributes": [
            {"key": "openinference.span.kind", "value": {"stringValue": "LLM"}},
            {"key": "llm.input_messages.0.message.role", "value": {"stringValue": "user"}}, {"key": "llm.input_messages.0.message.content", "value": {"stringValue": Q}},
            {"key": "llm.output_messages.0.message.role", "value": {"stringValue": "assistant"}}, {"key": "llm.output_messages.0.message.content", "value": {"stringValue": A}},
        ]}]}]}]}), ONE,
    ),
    "Traceloop in OTLP": Held(
        jsonl({"resourceSpans": [{"scopeSpans": [{"spans": [{"spanId": "s", "attributes": [
            {"key": "gen_ai.prompt.0.role", "value": {"stringValue": "user"}}, {"key": "gen_ai.prompt.0.content", "value": {"stringValue": Q}},
            {"key": "gen_ai.completion.0.role", "value": {"stringValue": "assistant"}}, {"key": "gen_ai.completion.0.content", "value": {"stringValue": A}},
        ]}]}]}]}), ONE,
    ),
    "OTLP without model calls": Held(
        doc({"resourceSpans": [{"scopeSpans": [{"spans": [{"spanId": "s", "name": "db", "attributes": []}]}]}]}), refused=("OpenTelemetry",)
    ),
    "Braintrust spans": Held(
        jsonl({"id": "1", "span_id": "s", "root_span_id": "s", "is_root": True, "span_attributes": {"type": "eval"}, "input": Q, "output": A, "expected": R, "scores": {"near": 0.5}},
              {"id": "2", "span_id": "t", "root_span_id": "s", "is_root": False, "span_attributes": {"type": "score"}, "input": {"output": A}, "output": 0.5}),
        WITH_REFERENCE, old={"near": [0.5]}, said=("1 left out",),
    ),
    "Opik traces": Held(
        jsonl({"id": "a", "name": "t", "input": {"input": Q}, "output": {"output": A}, "feedback_scores": [{"name": "near", "value": 0.5, "reason": "so"}]}), ONE, old={"near": [0.5]}
    ),
    "ragas results": Held(
        csv(f"user_input,retrieved_contexts,response,reference,faithfulness,factual_correctness(mode=f1)\n{Q},['x'],{A},{R},0.5,1.0\n"),
        WITH_REFERENCE, old={"faithfulness": [0.5], "factual_correctness(mode=f1)": [1.0]},
    ),
    "TRL logged completions": Held(
        parquet({"step": 3, "prompt": Q, "completion": A, "accuracy": 1.0, "format": 0.0, "advantage": 0.5}), ONE, old={"accuracy": [1.0], "format": [0.0]}
    ),
    "NeMo Gym": Held(
        jsonl({"responses_create_params": {"input": [USER]}, "response": {"object": "response", "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": A}]}]}, "reward": 1.0, "expected_answer": R}),
        WITH_REFERENCE, old={"reward": [1.0]},
    ),
    "ChatGPT export": Held(
        doc([{"title": "t", "current_node": "c", "mapping": {
            "a": {"id": "a", "parent": None, "message": None}, "b": {"id": "b", "parent": "a", "message": {"author": {"role": "user"}, "content": {"content_type": "text", "parts": [Q]}}},
            "c": {"id": "c", "parent": "b", "message": {"author": {"role": "assistant"}, "content": {"content_type": "text", "parts": [A]}}},
            "d": {"id": "d", "parent": "b", "message": {"author": {"role": "assistant"}, "content": {"content_type": "text", "parts": [B]}}}}}]), ONE,
    ),
    "Capybara": Held(jsonl({"source": "s", "conversation": [{"input": Q, "output": A}]}), ONE),
    "multiple choice": Held(jsonl({"question": Q, "choices": ["a", "b"], "answer": 1}), refused=("completion",)),
    "GSM8K": Held(jsonl({"question": Q, "answer": "so\n#### 4"}), refused=("completion",)),
    "openai/evals samples": Held(jsonl({"input": [USER], "ideal": R}), refused=("completion",)),
    "three responses": Held(jsonl({"prompt": Q, "response_1": A, "response_2": B, "response_3": "x"}), [*PAIR, (Q, "x", None)], groups=1),
    "options of a question": Held(jsonl({"question": Q, "answer_a": "x", "answer_b": "y", "answer_c": "z", "correct": "a"}), refused=("completion",)),
    "WebGPT": Held(
        jsonl({"question": Q, "answer_0": A, "answer_1": B, "score_0": 1.0, "score_1": -1.0}), PAIR, old={"score": [1.0, -1.0]}, chosen=[None, None], groups=1
    ),
    "argilla": Held(jsonl({"instruction": Q, "chosen_response": A, "rejected_response": B}), PAIR, chosen=[True, False], groups=1),
    "Stack Exchange": Held(jsonl({"question": Q, "response_j": A, "response_k": B}), PAIR, chosen=[True, False], groups=1),
    "a metric named like an answer": Held(jsonl({"prompt": Q, "completion": A, "answer": R, "score": 0.5}), WITH_REFERENCE, old={"score": [0.5]}),
    "system prompt as a column": Held(jsonl({"system_prompt": "Be brief.", "question": Q, "response": A}), ONE, roles=["system", "user", "assistant"]),
    "items, samples of a fine-tuning grader": Held(jsonl({"item": {"question": Q, "reference": R}, "sample": {"output_text": A}}), WITH_REFERENCE),
    "pydantic_evals dataset": Held(doc({"name": "d", "cases": [{"name": "a", "inputs": Q, "expected_output": R}], "evaluators": ["EqualsExpected"]}), refused=("pydantic_evals",)),
    "DeepEval snake case": Held(
        doc({"test_results": [{"name": "t", "success": False, "input": Q, "actual_output": A, "expected_output": R, "metrics_data": [{"name": "Kind", "score": 0.2, "success": False, "error": None}]}]}),
        WITH_REFERENCE, old={"Kind": [0.2]},
    ),
    "Hugging Face viewer": Held(doc({"features": [], "rows": [{"row_idx": 0, "row": {"messages": CHAT}, "truncated_cells": []}], "num_rows_total": 9}), ONE),
    "MLflow eval table": Held(
        csv(f"inputs,outputs,ground_truth,exact_match/v1/score,kind/v1/justification\n{Q},{A},{R},0.0,so\n"), WITH_REFERENCE, old={"exact_match/v1/score": [0.0]}
    ),
    "gpt-oss harmony": Held(jsonl({"text": f"<|start|>user<|message|>{Q}<|end|><|start|>assistant<|channel|>final<|message|>{A}<|return|>"}), refused=("text",)),
}  # fmt: skip

CATALOGUE = {
    **CONVERSATIONS, **PAIRS, **SEVERAL, **NAMES, **FILES, **APIS, **TRACES, **RUNS, **MORE,
}  # fmt: skip
