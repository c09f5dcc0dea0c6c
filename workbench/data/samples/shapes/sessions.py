"""Logs of chats, coding agents and model servers: Codex, SWE-agent, character chats, LM Studio, LibreChat, Bedrock, llama.cpp, groups of conversations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.data.samples.chats import is_dialogue, turns_of_texts
from workbench.data.samples.shapes import (
    Row,
    Score,
    ShapedRow,
    at,
    document,
    first_of,
    from_json,
    has,
    items,
    objects,
    shape,
    without,
)


def _by_file(rows: list[Row]) -> list[Row]:
    """One object for a file of events: its messages in order."""
    chat = [one["payload"] for one in rows if at(one, "payload.type") == "message"]
    name = next((at(one, "payload.id") for one in rows if one.get("type") == "session_meta"), None)
    return [{"type": "session", "payload": {"id": name, "messages": chat}}] if chat else []


@shape(
    "Codex sessions", "type", "payload.type|payload.id", prepare=_by_file,
    fits=lambda _, rows: any(row.get("type") in ("response_item", "session_meta") for row in rows),
    example={"timestamp": "t", "type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "2+2?"}]}},
    left="events other than messages", takes="one row: the messages of the file in order",
)  # fmt: skip
def codex_session(row: Row) -> ShapedRow:
    """A session of a coding agent."""
    return ShapedRow(messages=at(row, "payload.messages"), id=at(row, "payload.id"))


def _as_one_chat(rows: list[Row]) -> list[Row]:
    """One object for a file of messages, without its header."""
    return [{"messages": [row for row in rows if has(row, "mes")], **without(rows[0], "mes", "is_user")}]


@shape(
    "character chats", "is_user", "mes", prepare=_as_one_chat,
    example={"name": "Me", "is_user": True, "mes": "2+2?", "send_date": "d"},
    takes="one row: the messages of the file in order, by is_user",
)  # fmt: skip
def character_chat(row: Row) -> ShapedRow:
    """A chat with a character."""
    roles = {True: "user", False: "assistant"}
    chat = [
        {"role": "system" if one.get("is_system") else roles[bool(one.get("is_user"))], "content": one["mes"]}
        for one in row["messages"]
    ]
    return ShapedRow(messages=chat, columns={"character": first_of(row, "character_name", "name")})


def _shown_version(message: Row) -> dict[str, Any] | None:
    """The turn of the version that is shown; None for one without a role."""
    versions = objects(message.get("versions"))
    place = message.get("currentlySelected")
    shown = versions[place] if isinstance(place, int) and 0 <= place < len(versions) else versions[0]
    steps = [one for one in objects(shown.get("steps")) if at(one, "style.type") != "thinking"]
    parts = [
        part
        for one in (steps or [shown])
        for part in objects(one.get("content"))
        if part.get("type") == "text"
    ]
    content = (
        shown.get("content")
        if isinstance(shown.get("content"), str)
        else "\n".join(str(part.get("text")) for part in parts)
    )
    return {"role": shown["role"], "content": content} if shown.get("role") else None


@shape(
    "LM Studio chats", "messages.0.versions.0.role",
    example={"name": "c", "messages": [{"versions": [{"type": "singleStep", "role": "user", "content": [{"type": "text", "text": "2+2?"}]}], "currentlySelected": 0}, {"versions": [{"type": "multiStep", "role": "assistant", "steps": [{"type": "contentBlock", "content": [{"type": "text", "text": "4"}]}]}], "currentlySelected": 0}]},
    takes="one row per chat: of each message the version that is shown, without its thinking",
)  # fmt: skip
def studio_chat(row: Row) -> ShapedRow:
    """A chat of LM Studio."""
    fields = objects(at(row, "perChatPredictionConfig.fields"))
    prompts = [one.get("value") for one in fields if one.get("key") == "llm.prediction.systemPrompt"]
    turns = [_shown_version(one) for one in objects(row["messages"]) if objects(one.get("versions"))]
    return ShapedRow(
        messages=[turn for turn in turns if turn], system=next(filter(None, [*prompts, row.get("systemPrompt")]), None),
        columns={name: value for name, value in {"name": row.get("name"), "model": at(row, "lastUsedModel.identifier")}.items() if value},
    )  # fmt: skip


def _turn_of_agent(one: Row) -> dict[str, Any]:
    """A turn, whose text may be under another name for the system's."""
    role = str(one.get("role"))
    return {"role": _SPEAKERS.get(role, role), "content": first_of(one, "text", "content", f"{role}_prompt")}


_SPEAKERS = {"ai": "assistant", "human": "user"}


@shape(
    "SWE-agent trajectories in rows", "instance_id", "trajectory.0.role", "exit_status|generated_text",
    example={"instance_id": "i", "model_name": "m", "target": True, "trajectory": [{"role": "user", "text": "2+2?"}, {"role": "ai", "text": "4"}], "exit_status": "submitted", "generated_text": "diff"},
    takes="the turns of trajectory, `target`, whether the tests passed, as an old grader",
)  # fmt: skip
def trajectory_row(row: Row) -> ShapedRow:
    """A run of an agent on an issue."""
    passed = first_of(row, "target", "resolved")
    turns = [_turn_of_agent(one) for one in objects(row["trajectory"])]
    return ShapedRow(
        messages=turns, group=row["instance_id"], scores={"target": Score(passed)} if isinstance(passed, bool) else {},
        columns=without(row, "trajectory", "target", "resolved"),
    )  # fmt: skip


@document("Copilot chat")
def copilot_chat(value: Row) -> list[Any] | None:
    """The session of a chat, whose requests are its turns."""
    return [value] if has(value, "responderUsername") and objects(value.get("requests")) else None


def _text_of_reply(parts: Any) -> str:
    """The text of a reply in parts, with the names of the places that it refers to."""
    texts = [
        one if isinstance(one, str) else first_of(one, "value", "content.value", "name")
        for one in (parts if isinstance(parts, list) else [parts])
        if isinstance(one, str) or (isinstance(one, Mapping) and at(one, "kind") in _TEXT_KINDS)
    ]
    return "".join(one for one in texts if isinstance(one, str))


_TEXT_KINDS = (None, "markdownContent", "markdownVuln", "inlineReference")
"""Kinds of parts that the user reads as the reply; others are progress, tools and edits."""


@shape(
    "Copilot chats", "requests.0.message", "responderUsername",
    example={"requesterUsername": "me", "responderUsername": "GitHub Copilot", "requests": [{"message": {"text": "2+2?"}, "response": [{"value": "4"}]}]},
    takes="one row per chat: each request a user's turn, the text of its reply the assistant's",
)  # fmt: skip
def copilot(row: Row) -> ShapedRow:
    """A chat of an editor."""
    turns: list[Any] = []
    for one in objects(row["requests"]):
        said = _text_of_reply(one.get("response"))
        turns.append({"role": "user", "content": first_of(one, "message.text", "message")})
        turns += [{"role": "assistant", "content": said}] if said else []
    return ShapedRow(
        messages=turns, id=row.get("sessionId"), columns={"model": at(row, "requests.0.modelId")}
    )


@document("LibreChat export")
def libre_export(value: Row) -> list[Any] | None:
    """The messages of a conversation, also of its tree, each with the id of the one that it replies to."""
    found = value.get("messagesTree", value.get("messages"))
    roots = objects(found if isinstance(found, list) else at(found, "children"))
    if not roots or not has(value, "conversationId") or "isCreatedByUser" not in roots[0]:
        return None
    flat: list[Any] = []
    waiting = [(root, root.get("parentMessageId")) for root in roots[::-1]]
    while waiting:
        message, parent = waiting.pop()
        flat.append({**without(message, "children"), "parentMessageId": parent})
        waiting += [(reply, message.get("messageId")) for reply in objects(message.get("children"))[::-1]]
    return [{"conversationId": value["conversationId"], **message} for message in flat]


_TRUE = (True, "true", "True", "TRUE")


_ID, _PARENT = (
    ("messageId", "id", "uuid", "message_id"),
    ("parentMessageId", "parentId", "parent", "parent_id"),
)


def _is_of_user(message: Row) -> bool:
    return (
        message["isCreatedByUser"] in _TRUE if "isCreatedByUser" in message else message.get("role") == "user"
    )


def _branch_to(known: Mapping[str, Row], last: str) -> list[dict[str, Any]]:
    """The turns from the first message to one, by their parents."""
    branch = list[Row]()
    while last in known and len(branch) < len(known):
        branch.append(known[last])
        last = str(first_of(known[last], *_PARENT))
    return [
        {
            "role": one["role"] if "role" in one else "user" if _is_of_user(one) else "assistant",
            "content": one.get("text") or one.get("content"),
        }
        for one in branch[::-1]
    ]


_CHAT = ("conversationId", "convId", "conversation_id", "chat_id", "thread_id", "session_id")


def _by_last_reply(rows: list[Row]) -> list[Row]:
    """One object for each message without replies: the messages from the first one to it. Ids count inside a conversation."""
    chats: dict[str, dict[str, Row]] = {}
    for row in rows:
        name = first_of(row, *_ID)
        if name is not None and row.get("error") not in _TRUE and ("role" in row or "isCreatedByUser" in row):
            chats.setdefault(str(first_of(row, *_CHAT)), {})[str(name)] = row
    found = list[Row]()
    for known in chats.values():
        parents = {str(first_of(row, *_PARENT)) for row in known.values()}
        found += [
            {**without(known[name], "children"), "branch": _branch_to(known, name), "id": name}
            for name in known
            if name not in parents
        ]
    return found


def _are_linked(_: Sequence[str], rows: Sequence[Row]) -> bool:
    """Whether a message has the id of another one as its parent."""
    names = {str(first_of(row, *_ID)) for row in rows}
    return any(str(first_of(row, *_PARENT)) in names for row in rows)


_OF_MESSAGES = frozenset(
    {*_ID, *_PARENT, "branch", "role", "isCreatedByUser", "text", "content", "children", "error", "sender"}
)
"""What the turns of a branch have; every other field of its last message is a column."""


@shape(
    "messages by parent, a row each", "|".join(_ID), "|".join(_PARENT), "isCreatedByUser|role", "text|content", prepare=_by_last_reply, fits=_are_linked,
    example={"messageId": "a", "parentMessageId": "0", "isCreatedByUser": True, "sender": "User", "text": "2+2?"},
    takes="a row per message without replies: the messages from the first one to it (LibreChat, llama.cpp and others)",
)  # fmt: skip
def linked_branch(row: Row) -> ShapedRow:
    """A branch of a conversation."""
    return ShapedRow(
        messages=row["branch"], id=row["id"],
        columns={name: value for name, value in row.items() if name not in _OF_MESSAGES and has(row, name)},
    )  # fmt: skip


@shape(
    "Open WebUI chats", "chat.history.messages", "chat.history.currentId",
    example={"id": "c", "chat": {"history": {"currentId": "b", "messages": {"a": {"id": "a", "parentId": None, "role": "user", "content": "2+2?"}, "b": {"id": "b", "parentId": "a", "role": "assistant", "content": "4"}}}}},
    takes="one row per chat: the messages from the first one to currentId",
)  # fmt: skip
def webui_chat(row: Row) -> ShapedRow:
    """The branch of a chat that was shown last."""
    known = dict(items(at(row, "chat.history.messages")))
    chat = _branch_to(known, str(at(row, "chat.history.currentId"))) or objects(at(row, "chat.messages"))
    return ShapedRow(messages=chat or None, id=row.get("id"), columns={"title": row.get("title")})


@document("text-generation-webui history")
def webui_history(value: Row) -> list[Any] | None:
    """One row: the pairs of a turn of the user and one of the model."""
    said = value.get("internal")
    return (
        [{"messages": said}]
        if "visible" in value and isinstance(said, list) and turns_of_texts(said)
        else None
    )


@shape(
    "SWE-agent trajectories", "trajectory", "history.0.role", "info",
    example={"trajectory": [{"action": "ls"}], "history": [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}], "info": {"submission": "diff"}},
    takes="turns from history; the submission and its exit status are columns",
)  # fmt: skip
def agent_trajectory(row: Row) -> ShapedRow:
    """The messages of an agent that worked on an issue."""
    chat = [{"role": one.get("role"), "content": one.get("content")} for one in objects(row["history"])]
    return ShapedRow(
        messages=chat, id=row.get("instance_id"),
        columns={name: value for name in ("submission", "exit_status") if (value := at(row, f"info.{name}")) is not None},
    )  # fmt: skip


@shape(
    "Bedrock invocation logs", "input.inputBodyJson", "output.outputBodyJson",
    example={"schemaType": "ModelInvocationLog", "requestId": "r", "input": {"inputBodyJson": {"messages": [{"role": "user", "content": [{"text": "2+2?"}]}]}}, "output": {"outputBodyJson": {"output": {"message": {"role": "assistant", "content": [{"text": "4"}]}}}}},
    takes="prompt from inputBodyJson, completion from outputBodyJson",
)  # fmt: skip
def invocation(row: Row) -> ShapedRow:
    """A call of a model, in its own form."""
    said = from_json(at(row, "output.outputBodyJson"))
    if at(said, "finish_reason") is not None and isinstance(at(said, "text"), str):
        said = said["text"]  # Cohere's
    asked = from_json(at(row, "input.inputBodyJson"))
    return ShapedRow(
        prompt=at(asked, "message") if isinstance(at(asked, "message"), str) else asked,
        completion=said, id=row.get("requestId"), columns={"model": row.get("modelId"), "operation": row.get("operation")},
        error="a call without an output",
    )  # fmt: skip


def _of_bedrock(content: Any) -> str | None:
    texts = [str(part["text"]) for part in objects(content) if isinstance(part.get("text"), str)]
    return "\n".join(texts) if texts else None


@shape(
    "Bedrock retrieval evaluations", "conversationTurns.0.prompt.content",
    example={"conversationTurns": [{"prompt": {"content": [{"text": "2+2?"}]}, "referenceResponses": [{"content": [{"text": "4"}]}], "output": {"text": "4"}}]},
    takes="turns from prompt and output.text of each turn, reference from the last referenceResponses, results as old graders",
)  # fmt: skip
def retrieval(row: Row) -> ShapedRow:
    """A conversation with a knowledge base."""
    turns = objects(row["conversationTurns"])
    chat: list[Any] = []
    for turn in turns:
        chat.append({"role": "user", "content": _of_bedrock(at(turn, "prompt.content"))})
        if has(turn, "output.text"):
            chat.append({"role": "assistant", "content": at(turn, "output.text")})
    scores = {
        str(one.get("metricName")): Score(
            one.get("result"), None, str(at(one, "evaluatorDetails.0.explanation") or "")
        )
        for one in objects(at(turns[-1], "results"))
    }
    is_answered = chat[-1]["role"] == "assistant"
    return ShapedRow(
        prompt=chat[:-1] if is_answered else chat, completion=chat[-1]["content"] if is_answered else None, scores=scores,
        reference=_of_bedrock(at(turns[-1], "referenceResponses.0.content")), error="a turn without an output",
        columns={"retrieved": at(turns[-1], "output.retrievedPassages.retrievalResults")},
    )  # fmt: skip


@shape(
    "llama.cpp completions", "prompt", "content", "tokens_predicted|generation_settings",
    example={"prompt": "2+2?", "content": "4", "stop": True, "tokens_predicted": 1},
    takes="prompt from prompt, completion from content",
)  # fmt: skip
def server_completion(row: Row) -> ShapedRow:
    """A response of llama.cpp's server."""
    return ShapedRow(prompt=row["prompt"], completion=row["content"], columns={"model": row.get("model")})


@shape(
    "chat replies, a line each", "message.role", "message.content", "done|usage|finish_reason|logprobs|model",
    example={"model": "m", "message": {"role": "assistant", "content": "4"}, "done": True},
    fits=lambda _, rows: all(at(row, "message.role") == "assistant" for row in rows),
    takes="completion from message, prompt from messages or prompt where it is stored",
)  # fmt: skip
def chat_reply(row: Row) -> ShapedRow:
    """A reply of Ollama, or a choice of a chat completion."""
    return ShapedRow(
        prompt=first_of(row, "messages", "prompt", "request"), completion=row["message"], id=row.get("id"), columns={"model": row.get("model")},
    )  # fmt: skip


_GROUPS = (
    "messages",
    "content",
    "contents",
    "conversations",
    "chats",
    "trajectories",
    "rollouts",
    "responses",
)
"""Names of a list of conversations."""


def _group_in(row: Row) -> str:
    """The name of the list of conversations of a row; "" if there is none."""
    lists = {
        name: several for name in _GROUPS if isinstance(several := from_json(row.get(name)), list) and several
    }
    return next((name for name, several in lists.items() if all(map(is_dialogue, several))), "")


@shape(
    "groups of conversations", "|".join(f"{name}.0.0.role" for name in _GROUPS), fits=lambda _, rows: all(map(_group_in, rows)),
    example={"messages": [[{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}]], "scores": [1.0]},
    takes="a row per conversation of `messages`, `content` or the like; lists of numbers with one for each are old graders",
)  # fmt: skip
def grouped(row: Row) -> list[ShapedRow]:
    """Rollouts of one prompt, as trainers write them."""
    own = _group_in(row)
    chats = from_json(row[own])
    lists = {name: from_json(cell) for name, cell in row.items() if name != own}
    each = {
        name: cell
        for name, cell in lists.items()
        if isinstance(cell, list)
        and len(cell) == len(chats)
        and all(isinstance(one, int | float) for one in cell)
    }
    given = first_of(row, "group_id", "prompt_id", "id")
    if given is None and all(chat[0] == chats[0][0] for chat in chats):
        given = chats[0][0]  # rollouts of one prompt
    group = None if given is None else str(given)
    return [
        ShapedRow(
            messages=chat, group=group, scores={key: Score(cell[number]) for key, cell in each.items()},
            columns={key: cell for key, cell in lists.items() if not isinstance(cell, list)},
        )
        for number, chat in enumerate(chats)
    ]  # fmt: skip


@shape(
    "earlier turns as pairs", "instruction|prompt|query", "history.0.0", "output|response",
    example={"instruction": "And 3+3?", "output": "6", "history": [["2+2?", "4"]]},
    fits=lambda _, rows: all(turns_of_texts(from_json(row.get("history"))) for row in rows if row.get("history")),
    takes="turns from history, then instruction with input, or prompt; completion from output or response",
)  # fmt: skip
def with_history(row: Row) -> ShapedRow:
    """A turn after others, as LLaMA-Factory and chat templates of several tools write them."""
    names = ("instruction", "prompt", "query", "input", "output", "response", "history", "system")
    asked = [str(row[name]) for name in ("instruction", "prompt", "query", "input") if row.get(name)]
    return ShapedRow(
        prompt=[*(turns_of_texts(from_json(row.get("history"))) or []), {"role": "user", "content": "\n\n".join(asked)}],
        completion=first_of(row, "output", "response"), system=row.get("system"), columns=without(row, *names),
    )  # fmt: skip
