"""Shapes of model APIs, of platforms of annotators, of chat apps and of spreadsheets with a title, which had been refused by name."""

from __future__ import annotations

import io

import pandas as pd

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


def ai21(*texts: str) -> dict:
    return {"id": "j", "prompt": {"text": Q, "tokens": []}, "completions": [{"data": {"text": one, "tokens": []}, "finishReason": {"reason": "stop"}} for one in texts]}  # fmt: skip


def watsonx(text: str) -> dict:
    return {"model_id": "m", "results": [{"generated_text": text, "generated_token_count": 5, "input_token_count": 9, "stop_reason": "eos_token"}]}  # fmt: skip


APIS = {
    "AI21 responses": Held(jsonl(ai21(A)), ONE),
    "AI21 responses with several completions": Held(jsonl(ai21(A, B)), PAIR, groups=1),
    "AI21 response next to a prompt": Held(jsonl({"prompt": Q, "response": ai21(A)}), ONE),
    "watsonx responses next to their input": Held(jsonl({"input": Q, **watsonx(A)}), ONE),
    "watsonx responses in a column": Held(jsonl({"question": Q, "response": watsonx(A), "expected": R}), WITH_REFERENCE),
    "Cohere generations": Held(jsonl({"id": "c", "prompt": Q, "generations": [{"id": "g", "text": A, "finish_reason": "COMPLETE"}]}), ONE),
    "results of a search are no completion": Held(jsonl({"query": Q, "results": [{"text": A, "url": "u"}]}), refused=("completion",)),
}  # fmt: skip


def episode(*said: dict, name: str = "t:0") -> dict:
    trajectories = [
        {"uid": str(at), "name": "solver", "task": None, "reward": float(one is SAID), "info": {}, "steps": [{"chat_completions": [USER, one], "observation": Q, "thought": "", "action": None, "model_response": one["content"], "reward": 0.0, "done": True}]}
        for at, one in enumerate(said)
    ]  # fmt: skip
    return {"id": name, "task": {"question": Q, "ground_truth": R}, "termination_reason": "env_done", "is_correct": True, "trajectories": trajectories, "metrics": {"n": 1}, "info": {}}  # fmt: skip


WRONG = {"role": "assistant", "content": B}
EPISODES = {
    "rLLM episodes": Held(jsonl(episode(SAID), episode(WRONG, name="t:1")), [(Q, A, R), (Q, B, R)], groups=1, old={"reward": [1.0, 0.0], "is_correct": [1.0, 1.0], "n": [1.0, 1.0]}),
    "rLLM episodes of several trajectories": Held(jsonl(episode(SAID, WRONG)), [(Q, A, R), (Q, B, R)], groups=1),
    "rLLM steps without messages": Held(
        jsonl({"id": "t:0", "task": {"question": Q}, "is_correct": False, "trajectories": [{"name": "a", "reward": None, "steps": [{"chat_completions": [], "observation": Q, "model_response": A}]}]}),
        ONE, old={"is_correct": [0.0]},
    ),
}  # fmt: skip


def version(role: str, text: str) -> dict:
    if role == "user":
        return {"type": "singleStep", "role": role, "content": [{"type": "text", "text": text}]}
    steps = [
        {"type": "contentBlock", "style": {"type": "thinking"}, "content": [{"type": "text", "text": "Hm."}]},
        {"type": "contentBlock", "content": [{"type": "text", "text": text}], "genInfo": {}},
    ]
    return {"type": "multiStep", "role": role, "senderInfo": {"senderName": "m"}, "steps": steps}


STUDIO = {
    "name": "c", "createdAt": 1, "systemPrompt": "", "perChatPredictionConfig": {"fields": [{"key": "llm.prediction.systemPrompt", "value": "Be brief."}]},
    "messages": [{"versions": [version("user", Q)], "currentlySelected": 0}, {"versions": [version("assistant", B), version("assistant", A)], "currentlySelected": 1}],
}  # fmt: skip


def message(name: str, before: str, said: str, **more) -> dict:
    is_user = said == Q
    return {"messageId": name, "parentMessageId": before, "isCreatedByUser": is_user, "sender": "User" if is_user else "GPT-4", "text": said, "error": False, **more}  # fmt: skip


LIBRE = {
    "conversationId": "c",
    "endpoint": "openAI",
    "title": "t",
    "exportAt": "x",
    "branches": True,
    "recursive": False,
}
BRANCHES = [message("1", "0", Q), message("2", "1", A), message("3", "1", B)]
TREE = [{**BRANCHES[0], "children": [{**BRANCHES[1], "children": []}, {**BRANCHES[2], "children": []}]}]
PARTS = [
    BRANCHES[0],
    message("2", "1", "", content=[{"type": "think", "think": "Hm."}, {"type": "text", "text": A}]),
]

CHAT_APPS = {
    "LM Studio chat": Held(doc(STUDIO), ONE, roles=["system", "user", "assistant"]),
    "LibreChat export": Held(doc({**LIBRE, "messages": BRANCHES[:2]}), ONE, roles=["user", "assistant"]),
    "LibreChat export with branches": Held(doc({**LIBRE, "messages": BRANCHES}), PAIR, groups=1),
    "LibreChat export as a tree": Held(doc({**LIBRE, "recursive": True, "messages": TREE}), PAIR, groups=1),
    "LibreChat export as messagesTree": Held(doc({**LIBRE, "recursive": True, "messagesTree": TREE}), PAIR, groups=1),
    "LibreChat export with parts": Held(doc({**LIBRE, "messages": PARTS}), ONE),
    "LibreChat export with an error": Held(doc({**LIBRE, "messages": [*BRANCHES[:2], message("3", "1", "503", error=True)]}), ONE),
    "LibreChat export as CSV": Held(
        csv(f"sender,text,isCreatedByUser,error,unfinished,messageId,parentMessageId,createdAt\nUser,{Q},true,false,false,1,0,t\nGPT-4,{A},false,false,false,2,1,t\n"), ONE, roles=["user", "assistant"]
    ),
}  # fmt: skip


ANNOTATORS = {
    "Toloka side by side": Held(
        csv(f"INPUT:prompt\tINPUT:left\tINPUT:right\tOUTPUT:result\tGOLDEN:result\tASSIGNMENT:worker_id\n{Q}\t{A}\t{B}\tright\t\tw\n", "x.tsv"), PAIR, chosen=[False, True], groups=1, said=("Toloka",),
    ),
    "Toloka ratings": Held(csv(f"INPUT:question\tINPUT:response\tOUTPUT:quality\tASSIGNMENT:worker_id\n{Q}\t{A}\t4\tw\n", "x.tsv"), ONE, old={"quality": [4.0]}),
    "Toloka without a completion": Held(csv(f"INPUT:question\tOUTPUT:topic\tASSIGNMENT:worker_id\n{Q}\trivers of Europe\tw\n", "x.tsv"), refused=("completion", "generate them")),
    "Mechanical Turk ratings": Held(csv(f"HITId,WorkerId,Input.prompt,Input.response,Answer.rating\nh,w,{Q},{A},4\n"), ONE, old={"rating": [4.0]}),
    "Mechanical Turk texts": Held(csv(f"HITId,WorkerId,Input.prompt,Answer.response\nh,w,{Q},{A}\n"), ONE),
}  # fmt: skip


def workbook(*rows: list) -> tuple[str, bytes]:
    content = io.BytesIO()
    pd.DataFrame(rows).to_excel(content, index=False, header=False)
    return "x.xlsx", content.getvalue()


TITLES = {
    "a title above the header": Held(csv(f"Results of run 7\n\nprompt,response\n{Q},{A}\n"), ONE, said=("skipped 1 line above the header",)),
    "a title next to empty cells": Held(csv(f"Results;;\n;;\nPrompt;Response;Score\n{Q};{A};0,5\n"), ONE, old={"Score": [0.5]}, said=("skipped 2 lines",)),
    "a title above semicolons": Held(csv(f"Results of run 7\nPrompt;Response\n{Q};{A}\n"), ONE),
    "a column of prompts with a comma": Held(csv("prompt\nHello, response\nHi, there\n"), refused=("another number of cells",)),
    "a title in a workbook": Held(workbook(["Results of run 7", None], [None, None], ["Prompt", "Response"], [Q, A]), ONE, said=("skipped 2 lines above the header",)),
    "empty cells around the rows of a workbook": Held(workbook([None, None, None], [None, "Prompt", "Response"], [None, Q, A]), ONE),
    "a header of two lines": Held(csv(f",Model,,\nprompt,response,score,note\n{Q},{A},1,\n"), ONE, old={"score": [1.0]}),
}  # fmt: skip

HEADER = "ID,Pregunta,Respuesta_Esperada,Respuesta_Modelo,BLEU"
LANGUAGES = {
    "German names": Held(csv(f"Frage;Antwort des Modells;Erwartete Antwort;Bewertung\n{Q};{A};{R};0,5\n"), WITH_REFERENCE, old={"score": [0.5]}, said=("another language",)),
    "German names next to English ones": Held(csv(f"Prompt;KI-Antwort;Musterlösung;Punkte\n{Q};{A};{R};3\n"), WITH_REFERENCE, old={"score": [3.0]}),
    "French names": Held(csv(f"Question;Réponse du modèle;Réponse attendue;Note\n{Q};{A};{R};4\n"), WITH_REFERENCE, old={"score": [4.0]}),
    "Spanish names": Held(csv(f"{HEADER}\n1,{Q},{R},{A},78.45\n"), WITH_REFERENCE),
    "Portuguese names": Held(csv(f"Pergunta,Resposta do modelo,Resposta esperada\n{Q},{A},{R}\n"), WITH_REFERENCE),
    "Russian names": Held(csv(f"Вопрос;Ответ модели;Эталон\n{Q};{A};{R}\n"), WITH_REFERENCE),
    "Chinese names": Held(csv(f"问题,模型回答,参考答案,得分\n{Q},{A},{R},1\n"), WITH_REFERENCE, old={"score": [1.0]}),
    "Japanese names": Held(csv(f"質問,回答,正解\n{Q},{A},{R}\n"), WITH_REFERENCE),
    "an answer that may be the reference": Held(csv(f"Pregunta,Respuesta\n{Q},{R}\n"), refused=("'Pregunta'", "'completion': ...")),
}  # fmt: skip

TREE_OF_WEBUI = {
    "a": {"id": "a", "parentId": None, "childrenIds": ["b", "c"], **USER},
    "c": {"id": "c", "parentId": "a", **WRONG},
    "b": {"id": "b", "parentId": "a", **SAID},
}
SESSION = [
    {"type": "session", "id": "c", "name": "n", "currNode": "2"},
    {"type": "message", "id": "1", "convId": "c", "parent": "root", **USER},
    {"type": "message", "id": "2", "convId": "c", "parent": "1", **SAID},
]

STRUCTURE = {
    "a chat as a tree of messages": Held(doc([{"id": "1", "chat": {"title": "t", "history": {"currentId": "b", "messages": TREE_OF_WEBUI}}}]), ONE, roles=["user", "assistant"]),
    "lines of a session and its messages": Held(jsonl(*SESSION), ONE, roles=["user", "assistant"]),
    "parts under contentParts": Held(doc({"id": "s", "messages": [{"role": "user", "contentParts": [{"type": "text", "text": Q}]}, {"role": "assistant", "contentParts": [{"type": "text", "text": A}]}]}), ONE),
    "questions in a list of each row": Held(
        doc([{"sample_id": "c", "qa": [{"question": Q, "answer": R, "category": 1, "model_prediction": A}, {"question": Q, "answer": R, "model_prediction": B}]}]),
        [(Q, A, R), (Q, B, R)], said=("lists of column 'qa'",),
    ),
    "messages inside an object of one entry": Held(jsonl({"inputs": {"chat_history": [USER]}, "outputs": SAID}), ONE),
    "a form about two responses": Held(
        csv(f"Timestamp,Prompt,Response A,Response B,Which response is better?\n1,{Q},{A},{B},Response B\n"), PAIR, chosen=[False, True], groups=1,
    ),
    "solutions of one model": Held(jsonl({"question": Q, "final_answer": R, "r1_solution_1": A, "r1_solution_2": B}), PAIR, groups=1),
    "outputs of a task's tests": Held(jsonl({"question": Q, "sample_output_1": A, "sample_output_2": B}), refused=("completion",)),
    "solutions of people": Held(jsonl({"question": Q, "correct_solution_1": A, "correct_solution_2": B}), refused=("completion",)),
    "two lines of names in a workbook": Held(workbook(["Input", None, "Output", None], ["id", "Prompt", "Response", "Score"], [1, Q, A, 5]), ONE, old={"Score": [5.0]}, said=("above the header",)),
}  # fmt: skip
"""Of a set of 73 with these, before any change 69 were read right or refused with the way out, one wrongly without a word."""

LATER = {
    "Dutch names": Held(csv(f"Vraag;Antwoord van het model;Verwacht antwoord\n{Q};{A};{R}\n"), WITH_REFERENCE),
    "Turkish names": Held(csv(f"Soru,Model Cevabı,Doğru Cevap\n{Q},{A},{R}\n"), WITH_REFERENCE),
    "Korean names": Held(csv(f"질문,모델 답변,정답,점수\n{Q},{A},{R},1\n"), WITH_REFERENCE, old={"score": [1.0]}),
    "Arabic names": Held(csv(f"السؤال,إجابة النموذج,الإجابة الصحيحة\n{Q},{A},{R}\n"), WITH_REFERENCE),
    "messages of an app, a row each": Held(
        doc([{"id": "1", "role": "userMessage", "content": Q, "chatId": "c", "createdDate": "x"}, {"id": "2", "role": "apiMessage", "content": A, "chatId": "c", "createdDate": "y"}]), ONE
    ),
    "spans next to their evaluation": Held(csv(f"context.span_id,attributes.input.value,attributes.output.value,label,score,explanation\ns,{Q},{A},factual,1,x\n"), ONE, old={"score": [1.0]}),
    "logged completions of a batch in one line": Held(
        jsonl({"step": ["1", "1"], "prompt": [Q, Q], "completion": [A, B], "accuracy_reward": [1.0, 0.0], "advantage": [0.7, -0.7]}), PAIR, groups=1, old={"accuracy_reward": [1.0, 0.0]},
    ),
    "a pair of texts in a chat template": Held(
        jsonl({"prompt": Q, "text_chosen": f"<|user|>\n{Q}</s>\n<|assistant|>\n{A}</s>", "text_rejected": f"<|user|>\n{Q}</s>\n<|assistant|>\n{B}</s>", "scores": [1.2, -0.5]}), PAIR, chosen=[True, False], groups=1,
    ),
    "an extracted prediction next to the output": Held(jsonl({"question": Q, "model_output": A, "prediction": "4"}), ONE, said=("was extracted from it",)),
    "a prediction next to a short output": Held(jsonl({"question": Q, "model_output": "ok", "prediction": A}), ONE),
}  # fmt: skip
"""Of a further set of 51 with these, before any change 47 were read right or refused with the way out, one wrongly without a word."""

REFUSED_BEFORE = {**LATER, **APIS, **EPISODES, **CHAT_APPS, **ANNOTATORS, **TITLES, **LANGUAGES, **STRUCTURE}
