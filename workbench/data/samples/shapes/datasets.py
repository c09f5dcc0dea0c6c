"""Public data sets and their judgements: trees of messages, steps of a solution, judges' files, sets of expected completions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.data.samples.chats import MESSAGE_ROLES, chat_of
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
    shape,
    without,
)

_TURN = {"prompter": "user"}
"""OASST's roles that differ from OpenAI's."""


def _turn(node: Row) -> dict[str, Any]:
    role = str(node.get("role"))
    return {"role": _TURN.get(role, role), "content": node.get("text")}


def _completions_below(node: Row, before: list[dict[str, Any]]) -> Iterator[ShapedRow]:
    """A row for each assistant's message of a tree, with the messages before it."""
    chat = [*before, _turn(node)]
    if chat[-1]["role"] == "assistant":
        columns = {name: node[name] for name in ("rank", "lang") if node.get(name) is not None}
        yield ShapedRow(
            prompt=before, completion=chat[-1:], id=node.get("message_id"), columns=columns,
            group=str(node.get("parent_id") or before[-1]["content"]) if before else None,
        )  # fmt: skip
    for reply in objects(node.get("replies")):
        yield from _completions_below({"parent_id": node.get("message_id"), **reply}, chat)


@shape(
    "OASST trees", "message_tree_id", "prompt.text", "prompt.replies",
    example={"message_tree_id": "t", "prompt": {"message_id": "t", "text": "2+2?", "role": "prompter", "replies": [{"message_id": "a", "text": "4", "role": "assistant", "replies": []}]}},
    takes="a row per message of the assistant, with the messages before it; replies to one message are a group",
)  # fmt: skip
def message_tree(row: Row) -> list[ShapedRow]:
    """All of the assistant's messages of a tree."""
    return list(_completions_below(dict(items(row["prompt"])), []))


def _with_parents(rows: list[Row]) -> list[Row]:
    """The assistant's messages, each with the messages from the root to it."""
    by_id = {str(row.get("message_id")): row for row in rows}
    found: list[Row] = []
    for row in rows:
        if row.get("role") != "assistant":
            continue
        chat, seen, place = list[Row](), set[str](), str(row.get("parent_id"))
        while place in by_id and place not in seen:
            seen.add(place)
            chat.append(by_id[place])
            place = str(by_id[place].get("parent_id"))
        found.append({**row, "before": chat[::-1]})
    return found


@shape(
    "OASST messages", "message_id", "message_tree_id", "role", "text",
    example={"message_id": "t", "message_tree_id": "t", "role": "prompter", "text": "2+2?"}, prepare=_with_parents,
    takes="a row per message of the assistant, with the messages before it by parent_id; replies to one message are a group",
)  # fmt: skip
def message_of_tree(row: Row) -> ShapedRow:
    """A message of the assistant."""
    columns = {name: row[name] for name in ("rank", "lang", "message_tree_id") if row.get(name) is not None}
    return ShapedRow(
        prompt=[_turn(one) for one in row["before"]], completion=[_turn(row)], id=row.get("message_id"), columns=columns,
        group=str(row["parent_id"]) if row.get("parent_id") else None,
    )  # fmt: skip


def _by_session(rows: list[Row]) -> list[Row]:
    """One object per session, with its messages in the order of the file."""
    sessions: dict[str, list[Any]] = {}
    for row in rows:
        message = dict(items(row.get("message")))
        if (
            row.get("sessionId")
            and message.get("role") in ("user", "assistant")
            and not row.get("isSidechain")
        ):
            sessions.setdefault(str(row["sessionId"]), []).append(message)
    return [{"sessionId": name, "messages": messages} for name, messages in sessions.items()]


@shape(
    "agent session logs", "sessionId", "message.role", "uuid", "type",
    example={"type": "user", "sessionId": "s", "uuid": "a", "parentUuid": None, "message": {"role": "user", "content": "2+2?"}}, prepare=_by_session,
    left="events other than messages",
    takes="a row per session: its messages in order, without those of other agents that it called",
)  # fmt: skip
def session(row: Row) -> ShapedRow:
    """A session of a coding agent."""
    return ShapedRow(messages=row["messages"], id=row["sessionId"])


_CONVERSATION = (
    "conversation_id", "session_id", "thread_id", "dialog_id", "dialogue_id", "chat_id", "conversation", "session", "dialogue",
    "conversationId", "sessionId", "threadId", "chatId",
)  # fmt: skip
_SPEAKER, _SAID = ("role", "speaker", "sender"), ("content", "text", "utterance", "message")
_ABOUT_TURNS = (
    *_SPEAKER, *_SAID, *_CONVERSATION, "timestamp", "created_at", "time", "date", "turn", "turn_id", "turn_index", "turn_number", "index",
    "message_id", "id", "createdAt", "createdDate", "updatedAt", "object", "status", "attachments", "completed_at", "run_id", "assistant_id",
)  # fmt: skip
_ABOUT_MESSAGES = frozenset(
    {
        *_ABOUT_TURNS,
        "tokenCount",
        "finishReason",
        "isThought",
        "name",
        "tool_calls",
        "tool_call_id",
        "refusal",
    }
)
"""Columns of messages that are a row each."""


def _are_messages(names: Sequence[str], rows: Sequence[Row]) -> bool:
    known = set(names) <= _ABOUT_MESSAGES or (
        set(names) & set(_CONVERSATION) and not _have_other_roles(names)
    )
    if not known or len(rows) < 2 or any(isinstance(row.get("message"), Mapping) for row in rows):
        return False
    chat = [chat_of({"role": first_of(row, *_SPEAKER), "content": first_of(row, *_SAID)}) for row in rows]
    roles = [turns[0].get("role") for turns in chat if turns]
    return (
        len(roles) == len(rows)
        and set(roles) <= MESSAGE_ROLES
        and (len(set(names) & set(_CONVERSATION)) > 0 or "role" in names)
    )


def _have_other_roles(names: Sequence[str]) -> bool:
    """Whether columns other than those of messages have a prompt or a completion by their names."""
    others = set(names) - _ABOUT_MESSAGES
    return any(
        is_name_of(role, name)
        for name in others
        for role in ("messages", "prompt", "completion", "reference")
    )


def _by_conversation(rows: list[Row]) -> list[Row]:
    """One object per conversation: by its id, or else from one system prompt to the next."""
    found: dict[str, list[Any]] = {}
    part = 0
    for row in rows:
        if row.get("isThought") is True:
            continue
        name = first_of(row, *_CONVERSATION)
        part += name is None and row.get("role") in ("system", "developer") and bool(found)
        found.setdefault(str(part if name is None else name), []).append(row)
    return [{"role": "", "content": "", "id": name, "messages": messages} for name, messages in found.items()]


@shape(
    "messages, a row each", "|".join(_SPEAKER), "|".join(_SAID), fits=_are_messages, prepare=_by_conversation,
    example={"role": "user", "content": "2+2?"},
    takes="a row per conversation: by conversation_id or the like, or else from one system prompt to the next",
)  # fmt: skip
def conversation(row: Row) -> ShapedRow:
    """A conversation whose messages were rows; further columns are those of the assistant's last message."""
    said = [one for one in row["messages"] if _is_assistant(one)]
    return ShapedRow(
        columns=without(said[-1], *_ABOUT_MESSAGES) if said else {},
        messages=[
            {
                "role": first_of(one, *_SPEAKER),
                "content": first_of(one, *_SAID),
                **without(one, *_ABOUT_TURNS),
            }
            for one in row["messages"]
        ],
        id=row["id"],
    )


def _is_assistant(message: Row) -> bool:
    turns = chat_of({"role": first_of(message, *_SPEAKER), "content": first_of(message, *_SAID)})
    return any(turn.get("role") == "assistant" for turn in turns or ())


def _place(turn: Row) -> int:
    """The number of a turn; -1 if it has none."""
    number = turn.get("turn")
    return number if isinstance(number, int) else -1


def _alternatives(row: Row) -> tuple[list[Row], list[Row]]:
    """The turns before the last one, of which only the chosen ones count, and the replies to the last one."""
    turns = objects(row["conversation_history"])
    last = max((_place(one) for one in turns if one.get("role") == "model"), default=0)
    before = [
        one for one in turns if one.get("role") != "model" or (_place(one) < last and one.get("if_chosen"))
    ]
    return before, [one for one in turns if one.get("role") == "model" and _place(one) == last]


@shape(
    "PRISM conversations", "conversation_history.0.turn", "conversation_history.1.if_chosen",
    example={"conversation_id": "c", "conversation_history": [{"turn": 0, "role": "user", "content": "2+2?"}, {"turn": 0, "role": "model", "content": "4", "score": 90, "if_chosen": True}, {"turn": 0, "role": "model", "content": "5", "score": 20, "if_chosen": False}]},
    takes="a row per reply to the last turn, after the chosen ones before it; `chosen` marks the chosen one, score an old grader",
)  # fmt: skip
def conversation_with_alternatives(row: Row) -> list[ShapedRow]:
    """A conversation whose turns have replies of several models."""
    before, replies = _alternatives(row)
    return [
        ShapedRow(
            prompt=[{"role": str(turn.get("role")), "content": turn.get("content")} for turn in before], completion=one.get("content"),
            group=row.get("conversation_id"), columns={"chosen": one.get("if_chosen"), "model": one.get("model_name")},
            scores={"score": Score(one.get("score"))}, error="a conversation without a reply",
        )
        for one in replies
    ]  # fmt: skip


@document("messages of an OpenAI thread")
def thread_messages(page: Row) -> list[Any] | None:
    """One row: the messages of the page, the oldest first."""
    messages = objects(page.get("data"))
    if not messages or any(one.get("object") != "thread.message" for one in messages):
        return None
    if all(isinstance(one.get("created_at"), int | float) for one in messages):
        messages = sorted(messages, key=lambda one: float(one["created_at"]))
    elif messages[-1].get("role") == "user":
        messages = messages[::-1]
    return [{"messages": [{"role": one.get("role"), "content": one.get("content")} for one in messages]}]


def _are_numbered(names: Sequence[str], _: Sequence[Row]) -> bool:
    return {"user_1", "assistant_1", "user_2"} <= set(names)


@shape(
    "numbered turns", "user_1", "assistant_1", fits=_are_numbered,
    example={"user_1": "Hi", "assistant_1": "Hello.", "user_2": "2+2?", "assistant_2": "4"},
    takes="turns from user_1, assistant_1, user_2 and so on",
)  # fmt: skip
def numbered_turns(row: Row) -> ShapedRow:
    """A conversation with a column per turn."""
    chat, names, number = [], list[str](), 1
    while f"user_{number}" in row or f"assistant_{number}" in row:
        names += [f"{role}_{number}" for role in ("user", "assistant")]
        chat += [
            {"role": role, "content": str(row[f"{role}_{number}"])}
            for role in ("user", "assistant")
            if f"{role}_{number}" in row
        ]
        number += 1
    return ShapedRow(messages=chat or None, system=row.get("system"), columns=without(row, "system", *names))


@shape(
    "Gemini evaluation cases", "prompt", "responses.0.response",
    example={"prompt": {"role": "user", "parts": [{"text": "2+2?"}]}, "responses": [{"response": {"role": "model", "parts": [{"text": "4"}]}}], "reference": {"response": {"parts": [{"text": "4"}]}}},
    takes="prompt, a completion per entry of responses, reference from reference.response",
)  # fmt: skip
def evaluation_case(row: Row) -> ShapedRow:
    """A case with the contents of Google's SDK."""
    said = [
        [{"role": "model", **dict(items(one["response"]))}]
        for one in objects(row["responses"])
        if one.get("response")
    ]
    return ShapedRow(
        prompt=[{"role": "user", **dict(items(row["prompt"]))}] if dict(items(row["prompt"])) else row["prompt"],
        completion=said[0] if len(said) == 1 else said or None,
        reference=_text_of(at(row, "reference.response")), id=first_of(row, "eval_case_id", "id"),
        columns=without(row, "prompt", "responses", "reference", "eval_case_id", "id"),
    )  # fmt: skip


def _text_of(content: Any) -> Any:
    """The text of Google's content; any other value unchanged."""
    parts = objects(at(content, "parts"))
    return "".join(str(part.get("text", "")) for part in parts) if parts else content


@shape(
    "Agent Development Kit eval sets", "eval_id", "conversation.0.user_content",
    example={"eval_id": "a", "conversation": [{"user_content": {"parts": [{"text": "2+2?"}]}, "final_response": {"parts": [{"text": "4"}]}}]},
    no_completions="its responses are the expected ones; run the agent, and read the conversations that it had",
    takes="prompt from the turns before the last response, reference from the last final_response; it has no completions",
)  # fmt: skip
def agent_case(row: Row) -> ShapedRow:
    """An expected conversation."""
    turns = [
        {"role": role, "content": _text_of(one[name])}
        for one in objects(row["conversation"])
        for role, name in (("user", "user_content"), ("assistant", "final_response"))
        if one.get(name)
    ]
    is_answered = bool(turns) and turns[-1]["role"] == "assistant"
    return ShapedRow(
        prompt=turns[:-1] if is_answered else turns, reference=turns[-1]["content"] if is_answered else None, id=row["eval_id"],
    )  # fmt: skip


def _are_labelled_steps(_: Sequence[str], rows: Sequence[Row]) -> bool:
    """Whether each row has a truth value for each of its texts."""
    cells = [(from_json(row.get("completions")), from_json(row.get("labels"))) for row in rows]
    return all(
        isinstance(steps, list) and isinstance(labels, list) and len(steps) == len(labels)
        and all(isinstance(one, str) for one in steps) and all(isinstance(one, bool) for one in labels)
        for steps, labels in cells
    )  # fmt: skip


@shape(
    "stepwise supervision", "prompt", "completions", "labels", fits=_are_labelled_steps,
    example={"prompt": "2+2?", "completions": ["2+2 is 4.", "So 5."], "labels": [True, False]},
    no_completions="its completions are the steps of one solution with a label each; join the steps of each row to one completion, and read these rows",
    takes="prompts only: its completions are the labelled steps of one solution",
)  # fmt: skip
def labelled_steps(row: Row) -> ShapedRow:
    """The prompt of a solution whose steps are labelled."""
    return ShapedRow(prompt=row["prompt"], columns=without(row, "prompt", "completions"))


@shape(
    "PRM800K", "label.steps", "question.problem",
    example={"question": {"problem": "2+2?", "ground_truth_answer": "4", "pre_generated_steps": ["4"]}, "label": {"steps": []}},
    no_completions="its steps are labelled alternatives; join the chosen step of each to one completion, and read these rows",
    takes="prompt from question.problem, reference from question.ground_truth_answer; it has no whole completions",
)  # fmt: skip
def labelled_alternatives(row: Row) -> ShapedRow:
    """A problem whose steps are labelled."""
    return ShapedRow(prompt=at(row, "question.problem"), reference=at(row, "question.ground_truth_answer"))


@shape(
    "judgements of MT-Bench or Arena-Hard", "question_id|uid", "judge", "judgment|games",
    example={"question_id": 81, "model": "m", "judge": ["j", "single-v1"], "user_prompt": "Rate ...", "judgment": "[[9]]", "score": 9, "turn": 1},
    no_completions="the judged completions are in another file: read model_answer/*.jsonl with wb.read_samples",
    takes="the judge's prompt; the judged completions are in another file",
)  # fmt: skip
def judgement(row: Row) -> ShapedRow:
    """A request to a judge about a completion, and its reply."""
    return ShapedRow(
        prompt=first_of(row, "user_prompt", "games.0.user_prompt") or "", id=f"{first_of(row, 'question_id', 'uid')}/{row.get('turn', '')}",
        scores={"judgement": Score(row.get("score"), None, str(row.get("judgment") or ""))}, columns={"model": row.get("model")},
    )  # fmt: skip


@shape(
    "questions of MT-Bench or Arena-Hard", "question_id|uid", "turns.0", "category|cluster",
    example={"question_id": 81, "category": "math", "turns": ["2+2?", "And 3+3?"], "reference": ["4", "6"]},
    fits=lambda names, _: "choices" not in names,
    no_completions="the completions are in another file; read it with these prompts: wb.read_samples('model_answer/MODEL.jsonl', join='question.jsonl')",
    takes="prompt from the first of turns; the completions are in another file",
)  # fmt: skip
def bench_question(row: Row) -> ShapedRow:
    """The first prompt; later ones follow the model's reply."""
    return ShapedRow(
        prompt=first_of(row, "turns.0.content", "turns.0"), reference=first_of(row, "reference.0", "reference"),
        id=str(first_of(row, "question_id", "uid")), columns={"category": first_of(row, "category", "cluster")},
    )  # fmt: skip


@shape(
    "Prometheus feedback", "orig_instruction", "orig_response",
    example={"instruction": "Grade ...", "output": "Good. [RESULT] 5", "orig_instruction": "2+2?", "orig_response": "4", "orig_reference_answer": "4", "orig_score": "5"},
    takes="prompt, completion and reference from orig_*, orig_score as an old grader; instruction and output are the judge's",
)  # fmt: skip
def judged_response(row: Row) -> ShapedRow:
    """A graded response."""
    score = Score(row.get("orig_score"), None, str(row.get("orig_feedback") or ""))
    return ShapedRow(
        prompt=row["orig_instruction"], completion=row["orig_response"], reference=row.get("orig_reference_answer"), scores={"orig_score": score},
        columns={name: row[name] for name in ("orig_criteria", "orig_score1_description", "orig_score5_description") if name in row},
    )  # fmt: skip
