"""Shapes collected after those of `tools.py` were read: before any change for the first 34, 27 were read right or refused with the way out."""

from __future__ import annotations

import gzip
import io
import json

import pyarrow as pa
import pyarrow.parquet

from tests.data.samples.shapes.catalogue import (
    CHAT,
    ONE,
    OTHER,
    PAIR,
    SAID,
    USER,
    WITH_REFERENCE,
    A,
    B,
    Held,
    Q,
    R,
    csv,
    doc,
    jsonl,
    parquet,
)
from tests.data.samples.shapes.tools import ANSWER_ALONE, parts, table


def bytes_of_texts() -> tuple[str, bytes]:
    content = io.BytesIO()
    pa.parquet.write_table(
        pa.table({"prompt": pa.array([Q]).dictionary_encode(), "completion": pa.array([A.encode()])}), content
    )
    return "x.parquet", content.getvalue()


CHOICES = {
    "id": "c",
    "object": "chat.completion",
    "choices": [{"index": 0, "message": SAID, "finish_reason": "stop"}],
}

FIRST = {
    "Datadog experiment": Held(
        jsonl({"idx": 0, "span_id": "s", "trace_id": "t", "timestamp": 1, "input": {"question": Q}, "output": A, "expected_output": R,
               "evaluations": {"near": {"value": 0.5, "error": None}}, "metadata": {"tags": []}, "error": {"message": None, "type": None, "stack": None}}),
        WITH_REFERENCE, old={"near": [0.5]},
    ),
    "TruLens records": Held(table("records.csv", {"app_id": "a", "record_id": "r", "input": Q, "output": A, "Answer Relevance": 0.9, "Groundedness": 1.0, "latency": 2, "total_cost": 0.1}), ONE),
    "promptflow details": Held(table("details.csv", {"inputs.line_number": 0, "inputs.question": Q, "inputs.groundtruth": R, "outputs.line_number": 0, "outputs.answer": A}), WITH_REFERENCE),
    "Opik experiment as CSV": Held(table("opik.csv", {"dataset.question": Q, "dataset.expected_answer": R, "output": json.dumps({"output": A}), "equals_metric": 0.0}), WITH_REFERENCE),
    "Humanloop logs": Held(
        jsonl({"id": "log_1", "prompt": {"id": "pr_1", "version_id": "prv_1", "path": "x"}, "inputs": {"question": Q}, "messages": [USER], "output": A, "output_message": SAID, "evaluator_logs": [], "source": "sdk"}), ONE
    ),
    "PromptLayer requests": Held(
        jsonl({"request_id": 1, "provider": "openai", "model": "m", "input": {"type": "chat", "messages": [{"role": "user", "content": parts(Q)}], "tools": None},
               "output": {"type": "chat", "messages": [{"role": "assistant", "content": parts(A)}]}, "score": 90}),
        ONE,
    ),
    "AI gateway logs": Held(jsonl({"RequestBody": json.dumps({"messages": [USER]}), "ResponseBody": json.dumps(CHOICES), "Model": "m", "StatusCode": 200}), ONE),
    "tau2-bench simulations": Held(
        doc({"timestamp": "t", "info": {"seed": 1}, "tasks": [{"id": "0", "description": {"purpose": "x"}}],
             "simulations": [{"id": "s", "task_id": "0", "messages": [{**USER, "turn_idx": 0}, {**SAID, "turn_idx": 1}], "reward_info": {"reward": 1.0}, "termination_reason": "user_stop", "trial": 0}]}),
        ONE,
    ),
    "Terminal-Bench results": Held(doc({"id": "r", "results": [{"task_id": "t", "instruction": Q, "is_resolved": True, "failure_mode": "unset", "parser_results": {"a": "passed"}}], "accuracy": 1.0}), refused=("completion",)),
    "WildBench outputs": Held(doc([{"session_id": "s", "chat_history": [Q], "model_input": f"user: {Q}", "output": [A], "generator": "m", "configs": {}, "dataset": "w"}]), ONE),
    "ToolBench answers": Held(doc({"q1": {"query": Q, "available_tools": [], "answer": {"method": "CoT", "final_answer": A, "answer_details": []}}}), refused=("completion",)),
    "preference messages with ratings": Held(jsonl({"chosen": [USER, SAID], "rejected": [USER, OTHER], "rating_chosen": 5.0, "rating_rejected": 3.0, "source": "s"}), PAIR, chosen=[True, False], groups=1),
    "KTO messages": Held(jsonl({"messages": CHAT, "label": True}, {"messages": [USER, OTHER], "label": False}), PAIR),
    "segments with a mask": Held(jsonl({"segments": [{"label": False, "text": Q}, {"label": True, "text": A}]}), refused=("segments",)),
    "messages with weights": Held(jsonl({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello.", "weight": 0}, USER, {**SAID, "weight": 1}]}), ONE, roles=["user", "assistant"] * 2),
    "TRL prompts alone": Held(parquet({"prompt": [USER], "ground_truth": R}), refused=("generate",)),
    "MLflow evaluation table": Held(doc({"columns": ["inputs", "outputs", "targets", "token_count", "toxicity/v1/score"], "data": [[Q, A, R, 4, 0.1]]}, "eval_results_table.json"), WITH_REFERENCE),
    "trailing commas": Held(csv(f",prompt,completion,\n0,{Q},{A},\n"), ONE),
    "a title above the header": Held(csv(f"My evaluation,,\nprompt,completion,reference\n{Q},{A},{R}\n"), refused=("column",)),
    "Elasticsearch dump": Held(jsonl({"_index": "i", "_id": "1", "_source": {"prompt": Q, "completion": A, "lang": "en"}}), ONE),
    "MongoDB export": Held(jsonl({"_id": {"$oid": "65a"}, "prompt": Q, "response": A, "created": {"$date": "2026-01-01T00:00:00Z"}, "n": {"$numberInt": "3"}}), ONE),
    "DynamoDB export": Held(jsonl({"Item": {"id": {"S": "1"}, "prompt": {"S": Q}, "completion": {"S": A}, "n": {"N": "3"}}}), ONE),
    "CloudWatch events": Held(jsonl({"timestamp": 1, "logStream": "s", "message": json.dumps({"prompt": Q, "completion": A, "level": "INFO"})}), ONE),
    "AI SDK results": Held(jsonl({"prompt": Q, "text": A, "finishReason": "stop", "usage": {"totalTokens": 9}, "response": {"id": "r", "modelId": "m", "messages": [{"role": "assistant", "content": parts(A)}]}}), ONE),
    "logging payload of a proxy": Held(jsonl({"id": "1", "call_type": "acompletion", "messages": [USER], "response": CHOICES, "model": "m", "response_cost": 0.1, "status": "success", "error_str": None}), ONE),
    "Langfuse run items": Held(
        doc([{"id": "1", "datasetRunId": "d", "datasetItem": {"input": {"question": Q}, "expectedOutput": R}, "trace": {"id": "t", "output": A, "scores": [{"name": "near", "value": 0.5}]}}]), WITH_REFERENCE
    ),
    "LangSmith bulk export": Held(
        parquet({"id": "1", "trace_id": "1", "is_root": True, "name": "Chain", "run_type": "chain", "inputs": json.dumps({"question": Q}), "outputs": json.dumps({"answer": A}), "error": None, "tenant_id": "t", "dotted_order": "x"}), ONE
    ),
    "Mistral conversation": Held(jsonl({"inputs": Q, "outputs": [{"type": "message.output", "role": "assistant", "content": A, "model": "m"}], "conversation_id": "c", "usage": {}}), ONE),
    "Cohere version 2": Held(jsonl({"id": "1", "finish_reason": "COMPLETE", "message": {"role": "assistant", "content": parts(A)}, "usage": {"tokens": {}}}), ANSWER_ALONE),
    "red team rows": Held(jsonl({"attack_success": True, "attack_technique": "base64", "risk_category": "x", "conversation": {"messages": CHAT}, "risk_assessment": None}), ONE),
    "AI Studio prompt": Held(doc({"runSettings": {"model": "m"}, "systemInstruction": {}, "chunkedPrompt": {"chunks": [{"text": Q, "role": "user"}, {"text": A, "role": "model"}], "pendingInputs": []}}), ONE),
    "messages of a channel": Held(doc([{"user": "U1", "type": "message", "text": Q, "ts": "1.0"}, {"user": "U2", "type": "message", "text": A, "ts": "2.0"}]), refused=("completion",)),
    "comparison of three models": Held(csv(f"prompt,gpt,claude,gemini\n{Q},{A},{B},x y\n"), refused=("completion",)),
    "Bedrock agent trace": Held(jsonl({"sessionId": "s", "inputText": Q, "completion": [{"chunk": {"bytes": A}}]}), [(Q, json.dumps([{"chunk": {"bytes": A}}]), None)], said=("JSON text",)),
}  # fmt: skip

LATER = {
 "Galileo CSV": Held(table("galileo.csv", {"input": Q, "output": A, "ground_truth": R, "correctness": 0.8, "context_adherence": 0.7, "created_at": "2026-01-01"}), WITH_REFERENCE),
 "Vellum executions": Held(jsonl({"execution_id": "1", "inputs": [{"name": "question", "type": "STRING", "value": Q}], "outputs": [{"name": "answer", "type": "STRING", "value": A}]}), ONE),
 "Patronus rows": Held(jsonl({"evaluated_model_input": Q, "evaluated_model_output": A, "evaluated_model_gold_answer": R, "pass": True, "score_raw": 0.9}), WITH_REFERENCE),
 "Confident export": Held(table("t.csv", {"Input": Q, "Actual Output": A, "Expected Output": R, "Retrieval Context": "[]", "Success": True}), WITH_REFERENCE),
 "evals of Inspect by scout transcripts": Held(jsonl({"transcript_id": "t", "source_id": "s", "messages": [{"id": "1", **USER}, {"id": "2", **SAID}], "metadata": {}}), ONE),
 "AgentBench": Held(jsonl({"index": 0, "error": None, "output": {"index": 0, "status": "completed", "result": {"score": 1}, "history": [{"role": "user", "content": Q}, {"role": "agent", "content": A}]}}), ANSWER_ALONE, said=("no prompt was found",)),
 "GSM8K generations by index": Held(doc([{"idx": 0, "question": Q, "gt": R, "code": [A], "pred": ["Vltava"], "score": [True]}]), WITH_REFERENCE),
 "math harness samples": Held(jsonl({"idx": 0, "question": Q, "gt_cot": "x", "gt": R, "answer": R, "code": [A, B], "pred": ["1", "2"], "report": [None, None], "score": [True, False]}), [(Q, A, R), (Q, B, R)]),
 "CRUXEval": Held(doc({"sample_0": [A, B], "sample_1": [A]}), refused=("sample_0",)),
 "translation outputs": Held(csv(f"source,target,hypothesis\n{Q},{R},{A}\n"), [(None, A, R)], said=("no prompt was found", "source")),
 "summaries with article": Held(jsonl({"article": Q, "highlights": R, "summary": A, "id": "1"}), refused=("article",)),
 "two-turn columns": Held(csv(f"turn1_user,turn1_assistant,turn2_user,turn2_assistant\nHi,Hello.,{Q},{A}\n"), refused=("turn1_user",)),
 "RLHF log with query/response/reward": Held(jsonl({"query": Q, "response": A, "env/reward": 0.5, "objective/kl": 0.1}), ONE),
 "judge rows": Held(jsonl({"question": Q, "response": A, "judge_response": "Yes", "judge_score": 1}), ONE),
 "simple QA csv": Held(csv(f"metadata,problem,answer,response,grade\nx,{Q},{R},{A},A\n"), WITH_REFERENCE),
 "OpenAI stored responses with input items": Held(doc({"object": "list", "data": [{"id": "r", "object": "response", "input": [USER], "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": A}]}], "metadata": {}}]}), ONE),
 "dictionaries and bytes": Held(bytes_of_texts(), ONE),
 "JSON with comments": Held(("x.json", f'// rows\n[{{"prompt": "{Q}", "completion": "{A}"}}]'.encode()), refused=("JSON",)),
 "JSON with NaN": Held(("x.jsonl", f'{{"prompt": "{Q}", "completion": "{A}", "score": NaN}}'.encode()), ONE),
 "single quotes lines": Held(("x.jsonl", f"{{'prompt': '{Q}', 'completion': '{A}'}}\n".encode()), refused=("line 1",)),
 "gzip of a tar": Held(("x.tar.gz", gzip.compress(b"x.jsonl" + b"\0" * 600)), refused=("tar",)),
 "csv with a comment line": Held(csv(f"# exported by x\nprompt,completion\n{Q},{A}\n"), ONE, said=("above the header",)),
 "WhatsApp text": Held(("chat.txt", f"01.01.26, 10:00 - Me: {Q}\n01.01.26, 10:01 - Bot: {A}\n".encode()), refused=("chat.txt",)),
}  # fmt: skip
"""Collected after the rules for `FIRST`: before any change for them, 21 of 23 were read right or refused with the way out."""

UNSEEN = {**FIRST, **LATER}
