"""Outputs, exports and logs of tools, and odd variants of files: their right readings, written before they were read."""

from __future__ import annotations

import io
import json
import zipfile

import pandas as pd
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

BOTH = [(Q, A, R), (Q, B, R)]
ANSWER_ALONE = [(None, A, None)]


def table(name: str, *rows: dict, sep: str = ",", **settings) -> tuple[str, bytes]:
    """A file as pandas writes it."""
    return name, pd.DataFrame(list(rows)).to_csv(index=False, sep=sep, **settings).encode()


def excel(*sheets: tuple[str, list[dict]]) -> tuple[str, bytes]:
    content = io.BytesIO()
    with pd.ExcelWriter(content) as writer:
        for name, rows in sheets:
            pd.DataFrame(rows).to_excel(writer, sheet_name=name, index=False)
    return "x.xlsx", content.getvalue()


def zipped(name: str, **files: str) -> tuple[str, bytes]:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for inner, text in files.items():
            archive.writestr(inner.replace("__", "."), text)
    return name, content.getvalue()


def lc(kind: str, text: str) -> dict:
    """A message as LangChain serialises it."""
    return {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", kind],
        "kwargs": {"content": text, "additional_kwargs": {}},
    }


def parts(text: str) -> list[dict]:
    return [{"type": "text", "text": text}]


def notebook() -> tuple[str, bytes]:
    cell = {
        "cell_type": "code",
        "source": ["rows = []\n"],
        "outputs": [],
        "metadata": {},
        "execution_count": 1,
    }
    return doc({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, "rows.ipynb")


def large_strings() -> tuple[str, bytes]:
    content = io.BytesIO()
    pa.parquet.write_table(
        pa.table({"messages": pa.array([CHAT]), "reference": pa.array([R], pa.large_string())}), content
    )
    return "x.parquet", content.getvalue()


LINE = json.dumps({"prompt": Q, "completion": A})
LINES = f"{LINE}\n{json.dumps({'prompt': Q, 'completion': B})}\n"
SPAN = {
    "context.span_id": "5a",
    "context.trace_id": "7b",
    "parent_id": None,
    "name": "ChatCompletion",
    "attributes.openinference.span.kind": "LLM",
    "latency_ms": 12.0,
}
TEXT_OUT = [{"type": "output_text", "text": A, "annotations": []}]

OBSERVED = {
    "LangSmith llm runs of LangChain messages": Held(
        jsonl({"id": "1", "name": "ChatOpenAI", "run_type": "llm", "inputs": {"messages": [[lc("HumanMessage", Q)]]}, "error": None, "dotted_order": "x",
               "outputs": {"generations": [[{"text": A, "type": "ChatGeneration", "message": lc("AIMessage", A)}]], "llm_output": None}}),
        ONE,
    ),
    "LangSmith llm runs of OpenAI": Held(
        jsonl({"id": "1", "name": "ChatOpenAI", "run_type": "llm", "inputs": {"messages": [USER], "model": "m"}, "error": None, "session_id": "s",
               "outputs": {"id": "c", "object": "chat.completion", "choices": [{"index": 0, "message": SAID}]}, "feedback_stats": {"near": {"n": 1, "avg": 0.5}}}),
        ONE, old={"near": [0.5]},
    ),
    "LangSmith runs as CSV": Held(
        table("runs.csv", {"id": "1", "name": "Chain", "run_type": "chain", "start_time": "2026-01-01T00:00:00", "inputs": json.dumps({"question": Q}), "outputs": json.dumps({"output": A}), "error": ""}), ONE
    ),
    "LangSmith experiment as CSV": Held(
        table("exp.csv", {"id": "1", "inputs": json.dumps({"question": Q}), "reference_outputs": json.dumps({"answer": R}), "outputs": json.dumps({"answer": A}), "run": "r", "status": "success", "correctness": 1}),
        WITH_REFERENCE,
    ),
    "Braintrust fetched events": Held(
        doc({"events": [{"id": "e", "span_id": "e", "root_span_id": "e", "is_root": True, "input": [USER], "output": A, "expected": R, "scores": {"Fact": 0.5, "Kind": None}, "span_attributes": {"type": "eval"}, "metrics": {"start": 1.0}}], "cursor": None}),
        WITH_REFERENCE, old={"Fact": [0.5]},
    ),
    "Weave calls as CSV": Held(
        table("weave.csv", {"id": "1", "op_name": "weave:///e/p/op/Evaluation.predict_and_score:v0", "inputs.example.question": Q, "inputs.example.expected": R, "output.output": A, "output.scores.near.score": 0.5, "trace_id": "t"}),
        WITH_REFERENCE,
    ),
    "Arize spans": Held(
        parquet({**SPAN, "attributes.input.value": Q, "attributes.output.value": A, "eval.Fact.label": "correct", "eval.Fact.score": 1.0, "eval.Fact.explanation": "so"}),
        ONE, old={"Fact": [1.0]},
    ),
    "Phoenix experiment as JSON": Held(
        doc([{"example_id": "RXg6MQ==", "repetition_number": 1, "input": {"question": Q}, "reference_output": {"answer": R}, "output": A, "error": None, "latency_ms": 3.0,
              "annotations": [{"name": "near", "annotator_kind": "CODE", "label": "yes", "score": 0.5, "explanation": "so"}]}]),
        WITH_REFERENCE, old={"near": [0.5]},
    ),
    "Phoenix data set for OpenAI's evals": Held(jsonl({"messages": [{"role": "system", "content": "s"}, USER], "ideal": R}), refused=("generate completions for the prompts first",)),
    "Databricks agent evaluation": Held(
        parquet({"request_id": "1", "request": Q, "response": A, "expected_response": R, "response/llm_judged/correctness/rating": "yes", "response/llm_judged/correctness/rationale": "so", "response/overall_assessment/rating": "yes"}),
        WITH_REFERENCE, old={"response/llm_judged/correctness/rating": [1.0], "response/overall_assessment/rating": [1.0]},
    ),
    "Databricks inference table": Held(
        parquet({"databricks_request_id": "1", "status_code": 200, "request": json.dumps({"messages": [USER]}), "response": json.dumps({"object": "chat.completion", "choices": [{"index": 0, "message": SAID}]})}), ONE
    ),
    "Vertex metrics table": Held(
        table("metrics_table.csv", {"prompt": Q, "reference": R, "response": A, "coherence/explanation": "so", "coherence/score": 4.0, "exact_match/score": 0.0}),
        WITH_REFERENCE, old={"coherence/score": [4.0], "exact_match/score": [0.0]},
    ),
    "Bedrock retrieval evaluation": Held(
        jsonl({"conversationTurns": [{"prompt": {"content": [{"text": Q}]}, "referenceResponses": [{"content": [{"text": R}]}],
                                      "output": {"text": A, "knowledgeBaseIdentifier": "k", "retrievedPassages": {"retrievalResults": [{"content": {"text": "c"}}]}}}]}),
        WITH_REFERENCE,
    ),
    "Bedrock invocation log": Held(
        jsonl({"schemaType": "ModelInvocationLog", "schemaVersion": "1.0", "requestId": "1", "operation": "Converse", "modelId": "m",
               "input": {"inputContentType": "application/json", "inputBodyJson": {"messages": [{"role": "user", "content": [{"text": Q}]}]}, "inputTokenCount": 9},
               "output": {"outputContentType": "application/json", "outputBodyJson": {"output": {"message": {"role": "assistant", "content": [{"text": A}]}}, "stopReason": "end_turn"}}}),
        ONE,
    ),
    "Open WebUI export": Held(
        doc([{"id": "1", "user_id": "u", "title": "t", "chat": {"title": "t", "models": ["m"], "messages": [{"id": "a", **USER, "childrenIds": ["b"], "parentId": None}, {"id": "b", "parentId": "a", **SAID}], "history": {"messages": {}, "currentId": "b"}}}]), ONE
    ),
    "text-generation-webui history": Held(doc({"internal": [["Hi", "Hello."], [Q, A]], "visible": [["Hi", "Hello."], [Q, A]]}), ONE, roles=["user", "assistant"] * 2),
    "LangGraph state": Held(
        jsonl({"thread_id": "t", "values": {"messages": [{"type": "human", "content": Q, "id": "1"}, {"type": "ai", "content": A, "id": "2"}]}, "next": []}), ONE
    ),
    "messages of a graph": Held(jsonl({"messages": [{"type": "human", "content": Q, "id": "1"}, {"type": "ai", "content": A, "tool_calls": [], "id": "2"}]}), ONE),
    "UI messages with parts": Held(
        jsonl({"id": "c", "messages": [{"id": "1", "role": "user", "parts": parts(Q)}, {"id": "2", "role": "assistant", "parts": [{"type": "step-start"}, {"type": "reasoning", "text": "hm"}, *parts(A)]}]}), ONE
    ),
    "Codex session": Held(
        jsonl({"timestamp": "t", "type": "session_meta", "payload": {"id": "s", "cwd": "/x"}},
              {"timestamp": "t", "type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": Q}]}},
              {"timestamp": "t", "type": "event_msg", "payload": {"type": "token_count"}},
              {"timestamp": "t", "type": "response_item", "payload": {"type": "message", "role": "assistant", "content": TEXT_OUT}}, name="rollout.jsonl"),
        ONE,
    ),
    "character chat log": Held(
        jsonl({"user_name": "Me", "character_name": "Guide", "chat_metadata": {}}, {"name": "Me", "is_user": True, "mes": Q, "send_date": "d"}, {"name": "Guide", "is_user": False, "mes": A, "send_date": "d"}), ONE
    ),
    "Gradio flags": Held(csv(f"Question,Output,flag,username,timestamp\n{Q},{A},good,,2026-01-01 10:00:00\n"), ONE),
}  # fmt: skip

SERVED = {
    "OpenAI batch errors": Held(
        jsonl({"id": "b", "custom_id": "r1", "response": {"status_code": 400, "request_id": "q", "body": {"error": {"message": "no such model", "type": "invalid_request_error", "code": "x"}}}, "error": None},
              {"id": "b2", "custom_id": "r2", "response": None, "error": {"code": "batch_expired", "message": "expired"}}, name="errors.jsonl"),
        refused=("no such model",),
    ),
    "OpenAI responses with search": Held(
        jsonl({"id": "resp_1", "object": "response", "status": "completed", "instructions": None, "error": None, "output": [
            {"type": "web_search_call", "id": "w", "status": "completed"}, {"type": "reasoning", "id": "r", "summary": []}, {"type": "message", "role": "assistant", "content": TEXT_OUT}]}),
        ANSWER_ALONE,
    ),
    "OpenAI conversation items": Held(
        doc({"object": "list", "data": [{"type": "message", "id": "1", "role": "user", "status": "completed", "content": [{"type": "input_text", "text": Q}]},
                                        {"type": "message", "id": "2", "role": "assistant", "status": "completed", "content": TEXT_OUT}], "has_more": False, "first_id": "1", "last_id": "2"}),
        ONE,
    ),
    "Anthropic batch with thinking and an expired request": Held(
        jsonl({"custom_id": "r1", "result": {"type": "succeeded", "message": {"id": "m", "type": "message", "role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, *parts(A)], "stop_reason": "end_turn"}}},
              {"custom_id": "r2", "result": {"type": "canceled"}}),
        [(None, A, None), (None, None, None)],
    ),
    "Anthropic batch requests": Held(jsonl({"custom_id": "r1", "params": {"model": "m", "max_tokens": 9, "messages": [USER]}}), refused=("generate completions for the prompts first",)),
    "Gemini batch with an error": Held(
        jsonl({"key": "r1", "response": {"candidates": [{"content": {"parts": [{"text": A}], "role": "model"}, "finishReason": "STOP"}], "modelVersion": "m"}}, {"key": "r2", "error": {"code": 8, "message": "quota"}}),
        [(None, A, None), (None, None, None)],
    ),
    "Gemini batch as CSV": Held(
        table("batch.csv", {"status": "", "processed_time": "2026-01-01", "request": json.dumps({"contents": [{"role": "user", "parts": [{"text": Q}]}]}),
                            "response": json.dumps({"candidates": [{"content": {"role": "model", "parts": [{"text": A}]}}]})}),
        ONE,
    ),
    "vLLM request outputs": Held(
        jsonl({"request_id": "0", "prompt": Q, "prompt_token_ids": [1, 2], "prompt_logprobs": None, "finished": True,
               "outputs": [{"index": 0, "text": A, "token_ids": [3], "cumulative_logprob": None, "finish_reason": "stop"}, {"index": 1, "text": B, "token_ids": [4], "cumulative_logprob": None, "finish_reason": "stop"}]}),
        PAIR, groups=1,
    ),
    "SGLang outputs": Held(jsonl({"prompt": Q, "output": {"text": A, "meta_info": {"id": "1", "finish_reason": {"type": "stop"}, "completion_tokens": 4}}}), ONE),
    "llama.cpp completions": Held(jsonl({"content": A, "prompt": Q, "stop": True, "model": "m", "tokens_predicted": 4, "generation_settings": {"n_ctx": 9}, "timings": {}}), ONE),
    "Ollama generate": Held(jsonl({"model": "m", "prompt": Q, "created_at": "2026-01-01T00:00:00Z", "response": A, "done": True, "done_reason": "stop", "context": [1, 2], "eval_count": 4}), ONE),
    "Ollama chat": Held(jsonl({"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": SAID, "done": True, "eval_count": 4}), ANSWER_ALONE),
    "text-generation-inference": Held(jsonl({"inputs": Q, "generated_text": A, "details": {"finish_reason": "eos_token", "generated_tokens": 4, "seed": None}}), ONE),
}  # fmt: skip

EVALUATED = {
    "HELM predictions": Held(
        doc([{"instance_id": "id1", "predicted_text": A, "mapped_output": "x", "train_trial_index": 0, "stats": {"exact_match": 0.0, "num_prompt_tokens": 9.0}}], "display_predictions.json"),
        ANSWER_ALONE, old={"exact_match": [0.0]},
    ),
    "lm-eval details of version 0.3": Held(doc([{"doc_id": 0, "prompt_0": Q, "logit_0": -3.2, "truth": "0", "acc": "True"}]), refused=("completion",)),
    "lm-eval with repeats": Held(
        jsonl({"doc_id": 0, "doc": {"question": Q}, "target": R, "arguments": {"gen_args_0": {"arg_0": Q, "arg_1": {"until": ["\n"]}}}, "resps": [[A, B]], "filtered_resps": [[A, B]], "filter": "all", "metrics": ["acc"], "acc": 0.5}, name="samples_x.jsonl"),
        BOTH, groups=1,
    ),
    "lighteval details of version 0.6": Held(
        parquet({"example": Q, "instruction": "", "full_prompt": Q, "num_effective_few_shots": 0, "num_asked_few_shots": 0, "predictions": [A], "input_tokens": [[1]], "cont_tokens": [[2]], "truncated": 0, "padded": 0,
                 "pred_logits": [], "gold": [R], "choices": [R], "gold_index": [0], "metrics": {"em": 0.0}}),
        WITH_REFERENCE, old={"em": [0.0]},
    ),
    "OpenCompass results with details": Held(
        doc({"accuracy": 50.0, "details": {"0": {"prompt": [{"role": "HUMAN", "prompt": Q}], "origin_prediction": A, "predictions": "V", "references": R, "correct": True}}}),
        WITH_REFERENCE, old={"correct": [1.0]},
    ),
    "MMLU-Pro outputs": Held(doc([{"question_id": 70, "question": Q, "options": ["x", "y"], "answer": "B", "answer_index": 1, "cot_content": "", "category": "geo", "pred": "A", "model_outputs": A}]), [(Q, A, "B")]),
    "LiveCodeBench outputs": Held(
        doc([{"question_title": "t", "question_content": Q, "platform": "p", "question_id": "1", "difficulty": "easy", "output_list": [A, B], "code_list": ["a", "b"], "graded_list": [True, False], "pass@1": 0.5}]),
        PAIR, old={"graded_list": [1.0, 0.0]}, groups=1,
    ),
    "IFEval results": Held(
        jsonl({"follow_all_instructions": True, "follow_instruction_list": [True, True], "instruction_id_list": ["a:b", "c:d"], "prompt": Q, "response": A}, name="eval_results_strict.jsonl"),
        ONE,
    ),
    "GAIA submission": Held(jsonl({"task_id": "1", "model_answer": A, "reasoning_trace": "hm"}), ANSWER_ALONE),
    "SQuAD predictions": Held(doc({"56ddde6b9a695914005b9628": A, "56ddde6b9a695914005b9629": B}, "predictions.json"), refused=("prompt", "completion")),
    "SWE-bench predictions as a list": Held(doc([{"instance_id": "r__z-9", "model_name_or_path": "m", "model_patch": "diff --git a b"}]), [(None, "diff --git a b", None)]),
    "SWE-bench report": Held(doc({"total_instances": 2, "submitted_instances": 2, "resolved_ids": ["r__z-9"], "unresolved_ids": ["r__z-8"], "schema_version": 2}), refused=("SWE-bench",)),
    "mini-SWE-agent trajectory": Held(
        doc({"info": {"exit_status": "Submitted", "submission": "diff --git a b", "mini_version": "1.9"}, "messages": [{"role": "system", "content": "s"}, USER, SAID], "trajectory_format": "mini-swe-agent-1"}), ONE
    ),
    "SWE-agent trajectory": Held(
        doc({"trajectory": [{"action": "ls", "observation": "x", "response": "r", "thought": "t", "state": {}}], "history": [{"role": "system", "content": "s", "agent": "main"}, {**USER, "agent": "main"}, {**SAID, "agent": "main"}],
             "info": {"submission": "diff", "exit_status": "submitted"}}, "x.traj"),
        ONE,
    ),
    "BFCL results": Held(
        jsonl({"id": "simple_0", "result": [{"area": '{"base": 10, "height": 5}'}], "input_token_count": 9, "output_token_count": 4, "latency": 0.5}), [(None, '[{"area": "{\\"base\\": 10, \\"height\\": 5}"}]', None)]
    ),
    "BFCL questions": Held(jsonl({"id": "simple_0", "question": [[USER]], "function": [{"name": "area", "parameters": {}}]}), refused=("generate them first",)),
    "BFCL scores": Held(
        jsonl({"accuracy": 0.5, "correct_count": 1, "total_count": 2}, {"id": "simple_1", "model_name": "m", "test_category": "simple", "valid": False, "error": ["x"], "model_result_raw": A, "prompt": {"id": "simple_1", "question": [[USER]]}, "possible_answer": [{"area": {"base": [10]}}]}),
        refused=("BFCL",),
    ),
    "NeMo-Skills output": Held(
        jsonl({"problem": Q, "expected_answer": R, "generation": A, "predicted_answer": "Vltava!", "num_generated_tokens": 4, "generation_time": 0.1, "symbolic_correct": False}), WITH_REFERENCE
    ),
    "inspect log of version 1": Held(
        doc({"version": 1, "status": "success", "eval": {"task": "t", "model": "m"}, "samples": [{"id": 1, "epoch": 1, "input": Q, "target": R, "messages": CHAT,
             "output": {"model": "m", "choices": [{"message": SAID, "stop_reason": "stop"}]}, "score": {"value": "C", "explanation": "so"}}]}),
        WITH_REFERENCE,
    ),
    "FAISS index": Held(("index.npz", b"PK\x03\x04nothing"), refused=(".npz",)),
    "DeepEval goldens": Held(doc([{"input": Q, "actual_output": None, "expected_output": R, "context": ["c"], "source_file": None}]), refused=("generate completions for the prompts first",)),
    "DeepEval conversations": Held(doc([{"scenario": "s", "expected_outcome": "o", "turns": [USER, SAID]}]), ONE),
    "LangChain QA pairs": Held(doc([{"query": Q, "answer": R, "result": A}]), WITH_REFERENCE),
    "LlamaIndex predictions": Held(doc({"predictions": [{"response": A, "contexts": ["c"]}]}), ANSWER_ALONE),
    "LlamaIndex examples": Held(doc({"examples": [{"query": Q, "query_by": {"type": "ai"}, "reference_contexts": ["c"], "reference_answer": R, "reference_answer_by": {"type": "ai"}}]}), refused=("generate them first",)),
    "ragas test set": Held(table("testset.csv", {"user_input": Q, "reference_contexts": "['c']", "reference": R, "synthesizer_name": "s"}), refused=("generate them first",)),
    "Giskard test set": Held(jsonl({"id": "1", "question": Q, "reference_answer": R, "reference_context": "c", "conversation_history": [], "metadata": {"question_type": "simple"}}), refused=("generate them first",)),
    "Argilla records flattened": Held(
        doc([{"id": "1", "status": "completed", "_server_id": "2", "prompt": Q, "response": A, "quality.responses": [4], "quality.responses.users": ["u"], "quality.responses.status": ["submitted"], "quality.suggestion": None}]), ONE
    ),
    "Label Studio JSON-MIN": Held(doc([{"id": 1, "prompt": Q, "response": A, "rating": 4, "annotator": 1, "annotation_id": 1, "created_at": "2026-01-01T00:00:00Z", "lead_time": 3.0}]), ONE),
    "Prodigy choices": Held(
        jsonl({"text": Q, "options": [{"id": "a", "text": A}, {"id": "b", "text": B}], "accept": ["a"], "answer": "accept", "_input_hash": 1, "_task_hash": 2, "_view_id": "choice", "_session_id": "s"}), refused=("Prodigy", "completions or labels"),
    ),
}  # fmt: skip

TRAINED = {
    "LLaMA-Factory predictions": Held(jsonl({"prompt": f"<|im_start|>user\n{Q}<|im_end|>\n<|im_start|>assistant\n", "predict": A, "label": R}, name="generated_predictions.jsonl"), WITH_REFERENCE),
    "ms-swift inference": Held(jsonl({"response": A, "labels": R, "logprobs": None, "messages": CHAT}), WITH_REFERENCE),
    "Atropos groups": Held(
        jsonl({"tokens": [[1], [2]], "masks": [[1], [1]], "scores": [1.0, -1.0], "messages": [CHAT, [USER, OTHER]]}), PAIR, groups=1, old={"scores": [1.0, -1.0]}
    ),
    "OpenRLHF inference with rewards": Held(jsonl({"input": Q, "output": A, "reward": 0.7}), ONE, old={"reward": [0.7]}),
    "prime-rl rollouts": Held(
        jsonl({"example_id": 1, "task": "t", "prompt": [USER], "completion": [SAID], "answer": R, "reward": 0.5, "advantage": 0.1, "is_truncated": False, "metrics": {"near": 0.5}, "timing": {"total_ms": 3}}),
        WITH_REFERENCE,
    ),
    "verl validation dump with an object": Held(
        jsonl({"input": f"user\n{Q}\nassistant\n", "output": A, "gts": {"target": [R]}, "score": 1.0, "step": 3, "acc": True, "pred": "V"}, name="3.jsonl"), [(f"user\n{Q}\nassistant\n", A, {"target": [R]})]
    ),
    "TRL completions with several rewards": Held(
        parquet({"step": 1, "prompt": [USER], "completion": [SAID], "accuracy_reward": 1.0, "think_format_reward": 0.0, "advantage": 0.5}), ONE, old={"accuracy_reward": [1.0], "think_format_reward": [0.0]}
    ),
    "rollouts of torch": Held(("rollout_3.pt", b"PK\x03\x04x"), refused=(".pt",)),
    "RewardBench 2": Held(
        parquet({"id": "1", "prompt": Q, "chosen": [A], "rejected": [B, "The Oder."], "num_correct": 1, "num_incorrect": 2, "total_completions": 3, "models": ["x", "y", "z"], "subset": "Factuality"}),
        [(Q, A, None), (Q, B, None), (Q, "The Oder.", None)], chosen=[True, False, False], groups=1,
    ),
    "SHP": Held(
        jsonl({"post_id": "p", "domain": "d", "history": Q, "human_ref_A": A, "human_ref_B": B, "labels": 1, "score_A": 9, "score_B": 2, "seconds_difference": 3.0, "score_ratio": 4.5}), PAIR, chosen=[True, False], groups=1
    ),
    "Orca pairs with generations": Held(
        jsonl({"system": "s", "input": Q, "chosen": A, "rejected": B, "generations": [A, B], "order": ["chosen", "rejected"], "rating": [9, 4], "status": "unchanged", "chosen_score": 9.0, "in_gsm8k_train": False}),
        PAIR, chosen=[True, False], groups=1,
    ),
    "arena battles with parts and both bad": Held(
        parquet({"id": "1", "model_a": "x", "model_b": "y", "winner": "both_bad", "conversation_a": [{"role": "user", "content": parts(Q)}, {"role": "assistant", "content": parts(A)}],
                 "conversation_b": [{"role": "user", "content": parts(Q)}, {"role": "assistant", "content": parts(B)}], "language": "en"}),
        PAIR, chosen=[None, None], groups=1,
    ),
    "BeaverTails": Held(jsonl({"prompt": Q, "response": A, "category": {"animal_abuse": False}, "is_safe": True}), ONE),
    "Magpie": Held(jsonl({"uuid": "1", "model": "m", "instruction": Q, "response": A, "conversations": [{"from": "human", "value": Q}, {"from": "gpt", "value": A}], "instruct_reward": 1.5, "task_category": "geo"}), ONE),
    "OpenPipe preference": Held(jsonl({"messages": CHAT, "rejected_message": OTHER, "split": "TRAIN"}), PAIR, chosen=[True, False], groups=1),
    "OpenR1": Held(
        parquet({"problem": Q, "solution": "long", "answer": R, "problem_type": "geo", "uuid": "1", "is_reasoning_complete": [True, True], "generations": [A, B], "correctness_math_verify": [True, False], "messages": CHAT, "finish_reasons": None}),
        BOTH, groups=1, old={"correctness_math_verify": [1.0, 0.0]},
    ),
    "numbered completions": Held(jsonl({"prompt": Q, "response_1": A, "response_2": B, "response_3": "The Oder."}), [(Q, A, None), (Q, B, None), (Q, "The Oder.", None)], groups=1),
    "lettered answers": Held(csv(f"question,answer_a,answer_b,answer_c\n{Q},{A},{B},The Oder.\n"), [(Q, A, None), (Q, B, None), (Q, "The Oder.", None)], groups=1),
    "numbered completions with a reference": Held(csv(f"prompt,completion_1,completion_2,reference\n{Q},{A},{B},{R}\n"), BOTH, groups=1),
}  # fmt: skip

WRITTEN = {
    "pandas index orient": Held(doc({"r1": {"prompt": Q, "completion": A}, "r2": {"prompt": Q, "completion": B}}), PAIR),
    "pandas table orient of JSON": Held(doc({"schema": {"fields": [{"name": "index", "type": "integer"}, {"name": "prompt", "type": "string"}, {"name": "completion", "type": "string"}], "primaryKey": ["index"]}, "data": [{"index": 0, "prompt": Q, "completion": A}]}), ONE),
    "lines with blank lines and a mark": Held(("x.jsonl", b"\xef\xbb\xbf\n" + LINE.encode() + b"\r\n\r\n  \r\n"), ONE),
    "objects without a line between": Held(("x.jsonl", (LINE + LINE.replace(A, B)).encode()), PAIR),
    "records with a separator": Held(("x.jsonl", f"\x1e{LINE}\n\x1e{LINE.replace(A, B)}\n".encode()), PAIR),
    "semicolons with a mark and CRLF": Held(("x.csv", f'﻿prompt;completion;reference\r\n{Q};"{A}";{R}\r\n'.encode()), WITH_REFERENCE),
    "pipes": Held(("x.csv", f"prompt|completion|reference\n{Q}|{A}|{R}\n".encode()), WITH_REFERENCE),
    "CSV with CR alone": Held(("x.csv", f"prompt,completion\r{Q},{A}\r".encode()), ONE),
    "CSV with cells of several lines": Held(csv(f'prompt,completion\n"{Q}","Two\nlines, and ""quotes""."\n'), [(Q, 'Two\nlines, and "quotes".', None)]),
    "TSV with quotes that are text": Held(("x.tsv", f'prompt\tcompletion\n{Q}\tThe "Vltava".\n{Q}\t5" of rain\n'.encode()), [(Q, 'The "Vltava".', None), (Q, '5" of rain', None)]),
    "UTF-32": Held(("x.jsonl", LINE.encode("utf-32")), ONE),
    "Excel with two sheets": Held(excel(("notes", [{"remark": "see data"}]), ("data", [{"prompt": Q, "completion": A}])), ONE, said=("'data'", "left out 'notes'")),
    "Excel with one sheet": Held(excel(("rows", [{"prompt": Q, "completion": A, "reference": R}])), WITH_REFERENCE),
    "zip of lines": Held(zipped("rows.zip", rows__jsonl=LINES), refused=("zip",)),
    "pickle": Held(("rows.pkl", b"\x80\x04]\x94."), refused=("pickle",)),
    "notebook": Held(notebook(), refused=("notebook",)),
    "web page": Held(("rows.html", b"<html><table><tr><td>x</td></tr></table></html>"), refused=("HTML",)),
    "Markdown table": Held(("rows.md", f"| prompt | completion |\n| --- | --- |\n| {Q} | {A} |\n".encode()), refused=("Markdown",)),
    "an error of an API": Held(doc({"error": {"message": "Incorrect API key provided", "type": "invalid_request_error", "code": "invalid_api_key"}}), refused=("Incorrect API key",)),
    "an empty list": Held(doc([])),
    "Git LFS pointer": Held(("x.parquet", b"version https://git-lfs.github.com/spec/v1\noid sha256:1234\nsize 123\n"), refused=("LFS",)),
    "messages as an object by number": Held(jsonl({"messages": {"0": USER, "1": SAID}}), ONE),
    "Parquet with struct lists and large strings": Held(
        large_strings(), WITH_REFERENCE
    ),
}  # fmt: skip

TOOLS = {**OBSERVED, **SERVED, **EVALUATED, **TRAINED, **WRITTEN}
