"""Public data sets, judgements, logs and exports, collected after the readers were written: their right readings."""

from __future__ import annotations

import json

from tests.data.samples.shapes.catalogue import (
    CHAT,
    GEMINI,
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
    batch,
    csv,
    doc,
    jsonl,
)

BOTH = [(Q, A, R), (Q, B, R)]
REQUEST = {"contents": [{"parts": [{"text": Q}]}]}


def _gemini(*parts):
    return {"candidates": [{"content": {"parts": list(parts), "role": "model"}}]}


PROMPTS_ALONE = {
    "TRL stepwise supervision": Held(jsonl({"prompt": Q, "completions": ["One step.", A], "labels": [True, False]}), refused=("stepwise", "join the steps")),
    "PRM800K": Held(
        jsonl({"labeler": "x", "question": {"problem": Q, "ground_truth_answer": R}, "label": {"steps": [{"completions": [{"text": A, "rating": 1}], "chosen_completion": 0}]}}),
        refused=("PRM800K",),
    ),
    "MT-Bench judgements": Held(
        jsonl({"question_id": 81, "model": "m", "judge": ["j", "single-v1"], "user_prompt": "Rate it", "judgment": "[[9]]", "score": 9, "turn": 1}),
        refused=("judgements", "model_answer"),
    ),
    "Arena-Hard judgements": Held(jsonl({"question_id": "x", "model": "m", "judge": "j", "games": [{"user_prompt": "p", "judgment": "[[A>B]]", "score": "A>B"}]}), refused=("judgements",)),
    "MT-Bench questions": Held(jsonl({"question_id": 81, "category": "geo", "turns": [Q, "And then?"], "reference": [R, ""]}), refused=("questions", "model_answer")),
    "ADK eval set": Held(
        doc({"eval_set_id": "e", "eval_cases": [{"eval_id": "c", "conversation": [{"user_content": {"parts": [{"text": Q}]}, "final_response": {"parts": [{"text": R}]}}], "session_input": {"app_name": "a"}}]}),
        refused=("Agent Development Kit", "expected ones"),
    ),
    "NeMo Gym tasks": Held(jsonl({"responses_create_params": {"input": [USER]}, "expected_answer": R}), refused=("generate them first",)),
    "OpenRLHF rows": Held(jsonl({"context_messages": [USER], "answer": R}), refused=("generate them first",)),
    "FLAN": Held(jsonl({"inputs": Q, "targets": R}), refused=("generate them first",)),
    "Langfuse data set": Held(doc([{"id": "d", "input": {"question": Q}, "expectedOutput": R}]), refused=("generate them first",)),
    "grade-school solutions by model": Held(jsonl({"question": Q, "ground_truth": R, "small": {"solution": B, "is_correct": False}}), refused=("small.solution",)),
    "two models side by side": Held(csv(f"prompt,gpt_output,claude_output\n{Q},{A},{B}\n"), refused=("gpt_output", "claude_output")),
    "lists of texts without names": Held(doc([["one", "two"], ["three"]]), refused=("a dict for each row",)),
    "German headings": Held(csv(f"Frage;Antwort\n{Q};{A}\n"), refused=("'prompt': ...", "'completion': ...")),
    "embeddings": Held(jsonl({"custom_id": "r", "response": {"status_code": 200, "body": {"object": "list", "data": [{"object": "embedding", "embedding": [0.1]}]}}}), refused=("embeddings",)),
    "reference alone": Held(jsonl({"answer": R, "lang": "en"}), refused=("'completion': ...",)),
}  # fmt: skip

READ = {
    "texts as turns": Held(jsonl({"conversations": [Q, A], "source": "s"}), ONE),
    "UltraChat": Held(jsonl({"id": "0", "data": ["Hi", "Hello.", Q, A]}), ONE, roles=["user", "assistant"] * 2),
    "OASST trees": Held(
        jsonl({"message_tree_id": "t", "prompt": {"message_id": "p", "text": Q, "role": "prompter", "replies": [
            {"message_id": "a", "text": A, "role": "assistant", "rank": 0, "replies": []}, {"message_id": "b", "text": B, "role": "assistant", "rank": 1, "replies": []}]}}),
        PAIR, groups=1,
    ),
    "OASST messages": Held(
        jsonl({"message_id": "p", "parent_id": None, "text": Q, "role": "prompter", "message_tree_id": "p"}, {"message_id": "a", "parent_id": "p", "text": A, "role": "assistant", "message_tree_id": "p"}),
        ONE,
    ),
    "OASST messages in a circle": Held(jsonl({"message_id": "a", "parent_id": "a", "text": A, "role": "assistant", "message_tree_id": "a"}), [(None, A, None)]),
    "agent session": Held(
        jsonl({"type": "summary", "summary": "s"}, {"type": "user", "sessionId": "s", "uuid": "1", "message": USER},
              {"type": "assistant", "sessionId": "s", "uuid": "2", "message": {"role": "assistant", "content": [{"type": "text", "text": A}]}}),
        ONE,
    ),
    "Claude export": Held(doc([{"uuid": "c", "chat_messages": [{"uuid": "1", "text": Q, "sender": "human"}, {"uuid": "2", "text": "", "content": [{"type": "text", "text": A}], "sender": "assistant"}]}]), ONE),
    "tau-bench": Held(doc([{"task_id": 0, "reward": 1.0, "info": {}, "traj": CHAT, "trial": 0}]), ONE, old={"reward": [1.0]}),
    "content as an object with an answer": Held(jsonl({"uid": "x", "messages": [USER, {"role": "assistant", "content": {"answer": A}}]}), ONE),
    "OpenCompass": Held(doc({"0": {"origin_prompt": [{"role": "HUMAN", "prompt": Q}], "prediction": A, "gold": R}}), WITH_REFERENCE),
    "Label Studio": Held(doc([{"id": 1, "data": {"prompt": Q, "response": A}, "annotations": [{"result": []}]}]), ONE, said=("column 'data'",)),
    "Argilla": Held(doc([{"id": "1", "fields": {"prompt": Q, "response": A}, "responses": {"rating": [{"value": 4}]}}]), ONE, said=("column 'fields'",)),
    "HelpSteer3": Held(jsonl({"context": [USER], "response1": A, "response2": B, "overall_preference": -2}), PAIR, chosen=[True, False], groups=1),
    "RewardBench scores by column": Held(
        doc({"model": "rm", "prompt": [Q], "text_chosen": [A], "text_rejected": [B], "scores_chosen": [1.5], "scores_rejected": [-1.0]}), PAIR, chosen=[True, False], old={"scores": [1.5, -1.0]},
    ),
    "several completions next to a conversation": Held(
        jsonl({"problem": Q, "answer": R, "generations": [A, B], "correctness_math_verify": [True, False], "messages": [USER, SAID]}),
        BOTH, groups=1, old={"correctness_math_verify": [1.0, 0.0]}, said=("replaced",),
    ),
    "responses with a score each": Held(
        jsonl({"prompt": Q, "responses": [{"text": A, "score": 1.0, "correct": True}, {"text": B, "score": 0.0, "correct": False}]}), PAIR, old={"score": [1.0, 0.0], "correct": [1.0, 0.0]}, groups=1
    ),
    "ratings of generations": Held(jsonl({"instruction": Q, "generations": [A, B], "ratings": [5, 1]}), PAIR, old={"ratings": [5.0, 1.0]}),
    "summaries": Held(jsonl({"prompt": Q, "summaries": [{"text": A, "policy": "p", "note": "n"}, {"text": B, "policy": "q"}]}), PAIR),
    "legacy completions in a batch": Held(jsonl({**batch(A), "response": {"status_code": 200, "body": {"object": "text_completion", "choices": [{"index": 0, "text": A}]}}}), [(None, A, None)]),
    "legacy completions' input and output": Held(
        jsonl({"custom_id": "r", "body": {"model": "m", "prompt": Q}, "response": {"status_code": 200, "body": {"object": "text_completion", "choices": [{"index": 0, "text": A}]}}}), ONE
    ),
    "Gemini's thoughts": Held(jsonl({"key": "r", "request": REQUEST, "response": _gemini({"text": "hm", "thought": True}, {"text": A})}), ONE),
    "Titan": Held(jsonl({"recordId": "1", "modelInput": {"inputText": Q}, "modelOutput": {"results": [{"tokenCount": 3, "outputText": A}]}}), ONE),
    "Llama on Bedrock": Held(jsonl({"recordId": "1", "modelInput": {"prompt": Q, "max_gen_len": 9}, "modelOutput": {"generation": A, "stop_reason": "stop"}}), ONE),
    "Bedrock evaluation job": Held(
        jsonl({"automatedEvaluationResult": {"scores": [{"metricName": "Correct", "result": 1.0, "evaluatorDetails": [{"explanation": "so"}]}]},
               "inputRecord": {"prompt": Q, "referenceResponse": R}, "modelResponses": [{"response": A, "modelIdentifier": "m"}]}),
        WITH_REFERENCE, old={"Correct": [1.0]},
    ),
    "Gemini evaluation cases": Held(
        doc({"eval_cases": [{"prompt": GEMINI[0], "responses": [{"response": GEMINI[1]}], "reference": {"response": {"parts": [{"text": R}]}}}]}), WITH_REFERENCE
    ),
    "Prometheus": Held(
        jsonl({"instruction": "Grade it", "output": "[RESULT] 5", "orig_instruction": Q, "orig_response": A, "orig_reference_answer": R, "orig_score": "5", "orig_feedback": "Good."}),
        WITH_REFERENCE, old={"orig_score": [5.0]},
    ),
    "Braintrust's CSV": Held(csv(f"id,input,output,expected,scores.Fact\n1,{Q},{A},{R},0.6\n"), WITH_REFERENCE, old={"Fact": [0.6]}),
    "HumanEval results": Held(jsonl({"task_id": "t/0", "completion": A, "passed": True}), [(None, A, None)], old={"passed": [1.0]}),
    "EvalPlus samples": Held(jsonl({"task_id": "t/0", "solution": A}), [(None, A, None)]),
    "a verdict under answer": Held(jsonl({"prompt": Q, "response": A, "answer": "accept", "_task_hash": 1}), ONE, said=("verdicts",)),
    "a verdict under gold": Held(csv(f"prompt,response,gold\n{Q},{A},good\n{Q}!,{B},bad\n"), [(Q, A, None), (Q + "!", B, None)], said=("verdicts",)),
    "an answer of truth values is a reference": Held(jsonl({"question": Q, "response": "It is true.", "answer": "true"}), [(Q, "It is true.", "true")]),
    "answer next to correct_answer": Held(csv(f"question,answer,correct_answer\n{Q},{A},{R}\n"), WITH_REFERENCE, said=("read as the completion",)),
    "names with spaces": Held(csv(f"Timestamp,User Question,Model Response,Expected Answer\n2024,{Q},{A},{R}\n"), WITH_REFERENCE),
    "names in camel case": Held(csv(f"input,actualOutput,expectedOutput\n{Q},{A},{R}\n"), WITH_REFERENCE),
    "a failed and a good request": Held(
        jsonl({"custom_id": "r1", "result": {"type": "expired"}}, {"custom_id": "r2", "result": {"type": "succeeded", "message": {"type": "message", **SAID}}}),
        [(None, None, None), (None, A, None)],
    ),
    "messages as a list with another speaker": Held(jsonl({"chat_messages": [{"sender": "human", "text": Q}, {"sender": "assistant", "text": B}]}), [(Q, OTHER["content"], None)]),
    "requests with an empty column of messages": Held(jsonl({"id": "l", "inputs": {"question": Q}, "output": A, "messages": None}), ONE),
    "a proxy's request and response": Held(
        jsonl({"request": {"url": "u", "body": {"model": "m", "messages": [USER]}}, "response": {"status": 200, "body": {"object": "chat.completion", "choices": [{"index": 0, "message": SAID}]}}}), ONE
    ),
    "requests and responses as JSON text": Held(
        (
            "x.csv",
            ("request,response\n" + ",".join('"' + json.dumps(one).replace('"', '""') + '"' for one in (
                {"messages": [USER]}, {"object": "chat.completion", "choices": [{"index": 0, "message": SAID}]})) + "\n").encode(),
        ),
        ONE,
    ),
    "JSON text with choices of its own": Held(csv(f'prompt,completion\n{Q},"{{""choices"": [""a""]}}"\n'), [(Q, '{"choices": ["a"]}', None)]),
    "replies with a score each": Held(
        jsonl({"question": Q, "answers": [{"text": A, "pm_score": 5, "selected": True}, {"text": B, "pm_score": 0, "selected": False}]}), PAIR, groups=1
    ),
    "references with their place": Held(jsonl({"question": Q, "response": A, "answers": [{"text": R, "answer_start": 4}]}), [(Q, A, [{"text": R, "answer_start": 4}])]),
    "messages, a row each": Held(jsonl(*CHAT), ONE),
    "messages, a row each, of two conversations": Held(
        jsonl({**USER, "conversation_id": "a"}, {**USER, "conversation_id": "b"}, {**OTHER, "conversation_id": "b"}, {**SAID, "conversation_id": "a"}), [(Q, A, None), (Q, B, None)]
    ),
    "messages, a row each, after system prompts": Held(
        doc([{"role": "system", "content": "s"}, *CHAT, {"role": "system", "content": "t"}, USER, OTHER]), [(Q, A, None), (Q, B, None)], roles=["system", "user", "assistant"]
    ),
    "messages of a thread, the newest first": Held(
        doc({"object": "list", "data": [{"object": "thread.message", "role": role, "created_at": at, "content": [{"type": "text", "text": {"value": said, "annotations": []}}]}
                                        for role, at, said in (("assistant", 2, A), ("user", 1, Q))], "has_more": False}), ONE,
    ),
    "labels of 0 and 1 of free texts": Held(jsonl({"prompt": Q, "completion": A, "label": 1}, {"prompt": Q, "completion": B, "label": 0}), PAIR, said=("verdicts",)),
    "classes of 0 and 1": Held(jsonl({"prompt": Q, "completion": "So it is 1.", "label": 1}, {"prompt": Q, "completion": "0", "label": 0}), [(Q, "So it is 1.", 1), (Q, "0", 0)]),
    "turns as columns": Held(csv(f"user_1,assistant_1,user_2,assistant_2\nHi,Hello.,{Q},{A}\n"), ONE, roles=["user", "assistant"] * 2),
    "model_outputs": Held(doc([{"question": Q, "options": ["x"], "answer": "A", "pred": "A", "model_outputs": "It is (A)."}]), [(Q, "It is (A).", "A")]),
}  # fmt: skip

DATASETS = {**PROMPTS_ALONE, **READ}
