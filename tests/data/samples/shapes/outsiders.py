"""Shapes that an outsider collected, of which each shows a rule: before the rules, these were read wrongly, or refused without need."""

from __future__ import annotations

from typing import Any

from tests.data.samples.shapes.catalogue import (
    ONE,
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
)

Q2, A2 = "What is 2+2?", "It is four."
TWO = [(Q, A, None), (Q2, A2, None)]
P4 = [(Q, A, None), (Q, B, None), (Q2, "four", None), (Q2, "five", None)]
U, S = USER, SAID
AGENT = [
    {"role": "system", "system_prompt": "You are an agent.", "text": None},
    {"role": "user", "text": Q},
    {"role": "ai", "text": A},
]
COPILOT = {
    "responderUsername": "GitHub Copilot", "requesterUsername": "me",
    "requests": [{"message": {"text": Q, "parts": []}, "response": [{"value": "The "}, {"kind": "progressTask", "content": {"value": "Searching"}}, {"kind": "inlineReference", "name": "Vltava"}, {"value": "."}], "modelId": "m"}],
}  # fmt: skip


def tsv(names: list[str], *rows: list[str]) -> tuple[str, bytes]:
    return csv("".join("\t".join(row) + "\n" for row in (names, *rows)), "x.tsv")


def two(first: Any, second: Any) -> tuple[str, bytes]:
    return jsonl(first, second)


def pr(first: dict, second: dict, names: tuple[str, str] = ("response_a", "response_b")) -> tuple[str, bytes]:
    left, right = names
    return two(
        {"prompt": Q, left: A, right: B, **first}, {"prompt": Q2, left: "four", right: "five", **second}
    )


OUTSIDERS = {
    "RULER data": Held(jsonl({"index":0,"input":Q,"outputs":["Vltava"],"length":4096,"answer_prefix":"So"}), refused=("completion",)),
    "RULER pred several": Held(jsonl({"index":0,"pred":A,"input":Q,"outputs":["Vltava","Moldau"],"others":{},"truncation":-1,"length":4096}), [(Q,A,["Vltava","Moldau"])]),
    "SWE-agent trajectories": Held(jsonl({"instance_id":"i","model_name":"m","target":True,"trajectory":AGENT,"exit_status":"submitted","generated_text":"diff --git","eval_logs":"x"}), [(Q,A,None)], roles=["system","user","assistant"]),
    "Copilot chat two": Held(doc({**COPILOT,"requests":[{"message":{"text":"Hi"},"response":[{"value":"Hello."}]},*COPILOT["requests"]]}), ONE, roles=["user","assistant"]*2),
    "SageMaker ranking 3": Held(jsonl({"prompt":Q,"responses":[A,B],"rank":[2,1],"rank-metadata":{"human-annotated":"yes"}}), PAIR),
    "Toloka rated answer": Held(tsv(["INPUT:question","INPUT:answer","OUTPUT:result","GOLDEN:result","HINT:text","ASSIGNMENT:worker_id"],[Q,A,"good","","","w"]), ONE),
    "prompt of one odd key": Held(jsonl({"prompt":{"category":"geography"},"completion":A}), [('{"category": "geography"}',A,None)]),
    "title with comma above semicolons": Held(csv(f"Results, run 7\nPrompt;Response;Score\n{Q};{A};0,5\n"), ONE),
    "title with comma above commas": Held(csv(f"Results, run 7\nPrompt,Response,Score\n{Q},{A},1\n"), ONE),
    "RAGTruth": Held(jsonl({"id":"0","source_id":"1","model":"gpt-4","temperature":0.7,"labels":[{"start":219,"end":229,"text":"x","label_type":"Evident Conflict"}],"split":"train","quality":"good","response":A}), [(None,A,None)]),
    "Jan messages": Held(jsonl({"id":"1","object":"thread.message","thread_id":"t","role":"user","content":[{"type":"text","text":{"value":Q,"annotations":[]}}],"status":"ready","created_at":1},{"id":"2","object":"thread.message","thread_id":"t","role":"assistant","content":[{"type":"text","text":{"value":A,"annotations":[]}}],"status":"ready","created_at":2}), ONE),
    "PaLM batch": Held(jsonl({"instance":{"content":Q},"predictions":[{"content":A,"safetyAttributes":{"blocked":False}}],"status":""}), ONE),
    "FlashRAG": Held(doc([{"id":"0","question":Q,"golden_answers":[R],"output":{"retrieval_result":[{"id":"1","contents":"c"}],"prompt":"p","pred":A,"metric_score":{"em":1.0}}}]), [(Q,A,[R])], old={"em": [1.0]}),
    "KILT": Held(jsonl({"id":"0","input":Q,"output":[{"answer":R,"provenance":[{"wikipedia_id":"1"}]}]}), refused=("completion", "the path of their texts")),
    "XSTest completions": Held(csv(f"id,prompt,type,label,note,completion,annotation_1,annotation_2,agreement,final_label\nv1,{Q},homonyms,safe,,{A},1_full_compliance,1_full_compliance,True,1_full_compliance\nv2,How?,contrast,unsafe,,No.,2_full_refusal,2_full_refusal,True,2_full_refusal\n"), [(Q,A,None),("How?","No.",None)]),
    "StrongREJECT": Held(csv(f"category,source,forbidden_prompt,response,jailbreak,score\nx,s,{Q},{A},none,0.5\n"), ONE),
    "Swedish sheet": Held(csv(f"Fråga;Modellsvar;Facit;Poäng\n{Q};{A};{R};1\n"), WITH_REFERENCE),
    "Greek sheet": Held(csv(f"Ερώτηση;Απάντηση μοντέλου;Σωστή απάντηση\n{Q};{A};{R}\n"), WITH_REFERENCE),
    "smolagents GAIA": Held(jsonl({"agent_name":"m","question":Q,"augmented_question":"aug "+Q,"prediction":A,"intermediate_steps":["x"],"parsing_error":False,"iteration_limit_exceeded":False,"agent_error":None,"start_time":"t","end_time":"t","task":1,"task_id":"t","true_answer":R}), WITH_REFERENCE),
    "HuggingChat": Held(jsonl({"_id":"1","title":"t","model":"m","messages":[{"id":"a","from":"user","content":Q},{"id":"b","from":"assistant","content":A,"files":[]}]}), ONE),
    "Le Chat export": Held(doc([{"id":"1","version":0,"chatId":"c","role":"user","content":Q,"createdAt":"2026-01-01"},{"id":"2","version":0,"chatId":"c","role":"assistant","content":A,"createdAt":"2026-01-02"}]), ONE),
    "OlympiadBench": Held(jsonl({"id":1,"question":Q,"final_answer":["4"],"model_output":A,"answer_type":"Numerical","unit":None}), ONE, said=("'final_answer'",)),
    "NLI rows": Held(jsonl({"premise":"A river flows.","hypothesis":"It is wet.","label":0},{"premise":"P","hypothesis":"It is dry.","label":2}), refused=("'premise'",)),
    "AutoSxS judgements": Held(jsonl({"id":"1","inference_instruction":Q,"inference_context":"c","response_a":A,"response_b":B,"choice":"A","confidence":0.9,"explanation":"e"}), PAIR, chosen=[True,False]),
    "garak report": Held(jsonl({"entry_type":"start_run setup","x":1},{"entry_type":"attempt","uuid":"u","seq":0,"status":2,"probe_classname":"p","prompt":Q,"outputs":[A,B],"detector_results":{"d":[0.0,1.0]},"notes":{},"goal":"g"}), [(Q,A,None),(Q,B,None)]),
    "garak report with turns": Held(jsonl({"entry_type":"attempt","uuid":"u","seq":0,"status":2,"probe_classname":"p","prompt":{"turns":[{"role":"user","content":{"text":Q,"lang":"en"}}]},"outputs":[{"text":A,"lang":"en"},{"text":B,"lang":"en"}],"detector_results":{"d":[0.0,1.0]},"goal":"g"}), PAIR),
    "summarize from feedback": Held(jsonl({"info":{"id":"i","post":Q,"title":"t","subreddit":"s"},"summaries":[{"text":A,"policy":"p","note":"n"},{"text":B,"policy":"q","note":"n"}],"choice":0,"worker":"w","batch":"b","split":"train","extra":{}}), PAIR),
    "system is a name": Held(two({"system":"gpt-4","input":Q,"output":A},{"system":"claude-3","input":Q2,"output":A2}), TWO, roles=["user","assistant"], said=("not read as the system prompt",)),
    "user is a name": Held(two({"user":"alice","response":A},{"user":"bob_2","response":A2}), [("alice",A,None),("bob_2",A2,None)], said=("names of accounts",)),
    "assistant is a name": Held(two({"prompt":Q,"assistant":"gpt-4","text":A},{"prompt":Q2,"assistant":"gpt-4","text":A2}), [(Q,"gpt-4",None),(Q2,"gpt-4",None)], said=("look like names of models",)),
    "assistant is a name next to another completion": Held(two({"prompt":Q,"assistant":"gpt-4","model_reply":A},{"prompt":Q2,"assistant":"gpt-4","model_reply":A2}), TWO),
    "output is a path": Held(two({"prompt":Q,"output":"outputs/0001.txt"},{"prompt":Q2,"output":"outputs/0002.txt"}), [(Q,"outputs/0001.txt",None),(Q2,"outputs/0002.txt",None)], said=("names of files",)),
    "generation is a number": Held(two({"prompt":Q,"generation":1,"text":A},{"prompt":Q2,"generation":2,"text":A2}), [(Q,"1",None),(Q2,"2",None)], said=("look like numbers",)),
    "prompt is a version": Held(csv(f"prompt,input,output\nsummarize_v2,{Q},{A}\nsummarize_v2,{Q2},{A2}\n"), TWO),
    "prompt is an instruction": Held(csv(f"prompt,input,output\nAnswer briefly.,{Q},{A}\nAnswer briefly.,{Q2},{A2}\n"), [("Answer briefly.",A,None),("Answer briefly.",A2,None)], said=("{'prompt': 'input'}",)),
    "two completions": Held(csv(f"prompt,output,response\n{Q},{A},{B}\n{Q2},{A2},five\n"), TWO, said=("{'completion': 'response'}",)),
    "label is a class of the prompt": Held(csv(f"prompt,response,label\n{Q},{A},geography\n{Q2},{A2},math\n3-1?,2,math\n"), [(Q,A,"geography"),(Q2,A2,"math"),("3-1?","2","math")], said=("class of the prompt",)),
    "chosen is a letter": Held(pr({"chosen":"a"},{"chosen":"b"}), P4, chosen=[True,False,False,True]),
    "winner 0/1 over 1/2": Held(pr({"winner":0},{"winner":1},names=("response_1","response_2")), P4, chosen=[None]*4),
    "preference of -1 and 1": Held(pr({"preference":-1},{"preference":1},names=("response_1","response_2")), P4, chosen=[None]*4),
    "winner by model": Held(pr({"model_a":"x","model_b":"y","winner":"y"},{"model_a":"x","model_b":"y","winner":"x"}), P4, chosen=[False,True,True,False]),
    "a judge's output": Held(two({"question":Q,"answer":A,"output":"[[7]]"},{"question":Q2,"answer":A2,"output":"[[3]]"}), [(Q,"[[7]]",A),(Q2,"[[3]]",A2)], said=("ratings of a judge",)),
    "an error in Excel": Held(csv(f"prompt,response,score\n{Q},{A},1\n{Q2},#N/A,#DIV/0!\n"), [(Q,A,None),(Q2,"#N/A",None)], said=("as missing, in columns of numbers: 'score'",)),
    "a prompt by its noun": Held(jsonl({"writing_prompt": Q, "model_response": A}), ONE, said=("'writing_prompt'", "no other column")),
    "a judge's prompt is none": Held(jsonl({"judge_prompt": Q, "model_response": A}), [(None, A, None)], said=("no prompt was found",)),
    "a context alone": Held(jsonl({"context": Q, "response": A}), ONE, said=("'context'", "no other column")),
    "a request under another name": Held(jsonl({"kwargs": {"model": "m", "messages": [USER]}, "response": {"choices": [{"message": SAID}]}}), ONE),
    "attributes of a span": Held(jsonl({"name": "x", "attributes": {"ai.prompt": Q, "ai.response.text": A}}), ONE),
    "a prompt around a value": Held(jsonl({"prompt": {"value": Q}, "response": A}), ONE),
    "possible answers": Held(csv(f"question,possible_answers,pred,is_correct\n{Q},{R},{A},True\n"), WITH_REFERENCE),
    "an output answer may be expected": Held(csv(f"input_question,output_answer\n{Q},{R}\n"), refused=("output_answer",)),
    "pieces that end with a blank": Held(jsonl({"prompt": Q, "output": ["The ", "Vltava."]}), ONE, said=("pieces",)),
    "PRISM conversations": Held(
        jsonl({"conversation_id": "c", "conversation_history": [{"turn": 0, "role": "user", "content": Q}, {"turn": 0, "role": "model", "content": A, "score": 90, "if_chosen": True}, {"turn": 0, "role": "model", "content": B, "score": 20, "if_chosen": False}]}),
        PAIR, chosen=[True, False], groups=1, old={"score": [90.0, 20.0]},
    ),
    "Czech names": Held(csv(f"Otázka;Odpověď modelu;Správná odpověď\n{Q};{A};{R}\n"), WITH_REFERENCE),
    "a prompt in a compound": Held(csv(f"Kundenanfrage;Antwort der KI;Freigabe\n{Q};{A};ja\n"), ONE),
    "a type of entries that is not garak's": Held(two({"entry_type":"faq","prompt":Q,"completion":A},{"entry_type":"attempt","prompt":Q2,"completion":A2}), TWO),
    "samples of which one ends with a blank": Held(two({"prompt":Q,"completions":["yes ","no","no"]},{"prompt":Q2,"completions":["4","5"]}), [(Q,"yes ",None),(Q,"no",None),(Q,"no",None),(Q2,"4",None),(Q2,"5",None)]),
    "samples that all end with a blank": Held(jsonl({"prompt":Q,"completions":["no ","no ","no"]}), [(Q,"no ",None),(Q,"no ",None),(Q,"no",None)]),
    "completions of one word": Held(two({"prompt":Q,"assistant":"yes","reference":R},{"prompt":Q2,"assistant":"no","reference":R}), [(Q,"yes",R),(Q2,"no",R)]),
    "completions that are numbers": Held(jsonl({"question":Q,"generation":4,"answer":"4"}), [(Q,"4","4")]),
    "a system prompt of one word": Held(jsonl({"system":"Concise","input":Q,"output":A}), [(Q,A,None)], roles=["system","user","assistant"]),
    "prompts of one word": Held(jsonl({"user":"Hello","response":A}), [("Hello",A,None)]),
    "an instance next to a prompt": Held(two({"instance":"i1","prompt":Q,"prediction":A},{"instance":"i2","prompt":Q2,"prediction":A2}), TWO),
    "rollouts with their lengths": Held(jsonl({"index":0,"input":Q,"outputs":[A,B],"length":9}), [(Q,A,None),(Q,B,None)]),
    "an answer next to an expected one": Held(jsonl({"question":Q,"answer":A,"expected":R}), [(Q,A,R)], said=("is read as the completion",)),
    "PRISM without the number of a turn": Held(jsonl({"conversation_id":"c","conversation_history":[{"turn":0,"role":"user","content":Q},{"turn":0,"role":"model","content":A,"if_chosen":True},{"turn":"x","role":"model","content":B,"if_chosen":False},{"turn":None,"role":"model","content":B,"if_chosen":False}]}), [(Q,A,None)]),
}  # fmt: skip
"""Of six further sets of 40 each, before any change for it, 38, 35, 36, 37, 32 and 34 were read right or refused; three rows lost something
without a note: a list of references next to a completion, an `output_answer` that was the reference, alternatives in a conversation."""
