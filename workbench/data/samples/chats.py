"""Converts chat messages of other tools to OpenAI's chat messages.

Supported: ShareGPT's `from`/`value`, LangChain's `type`/`data`, Gemini's and OpenTelemetry's `parts`, Phoenix's
`message.role`, the items of OpenAI's Responses API; as lists, as JSON text, or as Python's repr of a list.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

MESSAGE_ROLES = frozenset({"assistant", "developer", "system", "tool", "user"})
"""Roles that messages keep unchanged."""

_SPEAKERS = {
    **{role: role for role in MESSAGE_ROLES},
    **dict.fromkeys(("human", "prompter", "customer", "usermessage"), "user"),
    **dict.fromkeys(("agent", "ai", "apimessage", "bot", "chatbot", "gpt", "model"), "assistant"),
    **dict.fromkeys(("observation", "tool_response", "tool_result"), "tool"),
}
"""Speaker name in lower case to the role of OpenAI's messages."""

_SENDERS = ("sender", "speaker", "author", "source", "from")
"""Keys of a message's speaker in exports of chats."""

_LANGCHAIN = frozenset({"ai", "chat", "function", "human", "system", "tool"})
_ITEMS = frozenset({"function_call", "function_call_output", "message", "reasoning"})
_FOREIGN_KEYS = frozenset({"functionCall", "functionResponse", "function_call", "inlineData"})
_UNSAID = frozenset({"reasoning", "reasoning_text", "step-finish", "step-start", "summary_text", "thought"})
"""Types of parts that are not part of a message's text."""
_ITEM_ENDINGS = ("_call", "_call_output")
_BEGIN = 1_000
"""Characters searched for the start of a list of objects."""
_MAX_REPR = 1_000_000
"""Maximum characters of a Python repr: `ast.literal_eval` takes about 100 bytes for each."""
_MAX_DEPTH = 100
"""Maximum levels of brackets in a Python repr."""

_TEXT = re.compile(r"""('(?:[^'\\]|\\.)*(?:'|\\?\Z)|"(?:[^"\\]|\\.)*(?:"|\\?\Z))""", re.DOTALL)
"""A text inside a Python repr; one without an end is matched up to the end, since a search from each quote takes quadratic time."""
_BETWEEN_OBJECTS = re.compile(r"(?<=[\]})])\s+(?=[\[{])")
"""Where numpy's repr has no comma between lists and objects."""
_ARRAY_END = re.compile(r"(?<=\])\s*(?:,\s*dtype=\w+\s*)?\)")
"""The end of numpy's `array([...], dtype=object)`."""

_NAMES_A_SPEAKER = re.compile(r"""(['"])(?:role|from|message\.role|type)\1\s*:""")
_REPR_OF_CHAT = re.compile(r"\s*\[\s*\{\s*'(?:role|content|from|value|parts)'\s*:")


def chat_of(value: Any, *, strict: bool = False) -> list[Any] | None:
    """The messages of a message or of a list of messages, plain data; None if the value is something else.

    Args:
        value: Plain data.
        strict: Whether every role must be a known one: for texts, which may be a completion in JSON format.
    """
    messages = _listed(value)
    if (
        not isinstance(messages, list)
        or not messages
        or not all(isinstance(one, Mapping) for one in messages)
    ):
        return None
    if _are_items(messages):
        return _of_items(messages)
    found = [_of_message(message) for message in messages]
    if any(one is None for one in found):
        return None
    chat = list(chain.from_iterable(one for one in found if one is not None))
    return None if strict and not all(_is_certain(message) for message in chat) else chat


def is_dialogue(value: Any) -> bool:
    """Whether a value is a list of messages with a turn of a user and one of the assistant."""
    chat = chat_of(value) if isinstance(value, list) else None
    return chat is not None and {turn.get("role") for turn in chat} >= {"user", "assistant"}


def _listed(value: Any) -> Any:
    """A list of messages: one of a single message, of messages by their number, or of columns of their parts."""
    if not isinstance(value, Mapping):
        return value
    if value and all(isinstance(one, Mapping) for one in value.values()) and _are_indices(value):
        return list(value.values())
    for names in (("role", "content"), ("from", "value")):
        columns = [column for name in names if isinstance(column := value.get(name), list)]
        if len(columns) == len(names) and len(set(map(len, columns))) == 1:
            return [dict(zip(names, turn, strict=True)) for turn in zip(*columns, strict=True)]
    return [value]


def _are_indices(keys: Iterable[Any]) -> bool:
    return all(str(key) == str(number) for number, key in enumerate(keys))


def turns_of_texts(value: Any) -> list[Any] | None:
    """The messages of a list of texts, one for each turn, the user's first, or of pairs of both; None for anything else."""
    if isinstance(value, list) and value and all(map(_is_pair, value)):
        value = [said for pair in value for said in pair]
    if not isinstance(value, list) or len(value) < 2 or not all(isinstance(one, str) for one in value):
        return None
    return [
        {"role": "assistant" if number % 2 else "user", "content": said} for number, said in enumerate(value)
    ]


def ends_with_user(value: Any) -> bool:
    """Whether a value is a list of texts, one for each turn, of which the first and the last are the user's."""
    return isinstance(value, list) and len(value) % 2 == 1 and all(isinstance(one, str) for one in value)


def _is_pair(value: Any) -> bool:
    """Whether a value is a turn of the user and one of the assistant, rather than a role and its turn."""
    is_pair = isinstance(value, list) and len(value) == 2 and all(isinstance(one, str) for one in value)
    return is_pair and value[0].casefold() not in _SPEAKERS


def is_chat_text(text: str) -> bool:
    """Whether a text may be messages as JSON text or as Python's repr: a quick check."""
    begin = text.lstrip()[:_BEGIN]
    # Without a regular expression, which would take minutes for a megabyte of white space.
    is_open = begin.startswith("{") or (begin.startswith("[") and begin[1:].lstrip().startswith("{"))
    return is_open and _NAMES_A_SPEAKER.search(text) is not None


def chat_in_text(text: str) -> list[Any] | None:
    """The messages in a text in the form of JSON or Python's repr; None for any other text.

    Raises:
        ValueError: Python's repr of messages that cannot be read, such as one that pandas or numpy truncated.
    """
    if not is_chat_text(text):
        return None
    try:
        data = data_in_text(text)
    except ValueError:
        if _REPR_OF_CHAT.match(text):
            raise
        return None
    return chat_of(data, strict=True)


def data_in_text(text: str) -> Any:
    """The value of a text as JSON, or else as the repr of Python's built-in lists, dicts, texts and numbers.

    Raises:
        ValueError: The text is neither.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        if text.lstrip()[:1] not in ("[", "{") or len(text) > _MAX_REPR or _depth(text) > _MAX_DEPTH:
            raise ValueError(f"not JSON ({error})") from None
        reason = str(error)
    try:
        return ast.literal_eval(_with_commas(text.strip()))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        raise ValueError(f"not JSON ({reason})") from None


def _with_commas(text: str) -> str:
    """A repr with the commas that numpy omits between elements, and without the `array(...)` around them."""
    pieces = _TEXT.split(text)
    has_arrays = any("array(" in between for between in pieces[::2])
    for at in range(0, len(pieces), 2):
        between = pieces[at]
        if has_arrays:
            between = _ARRAY_END.sub("", between.replace("array(", ""))
        is_gap = 0 < at < len(pieces) - 1 and not between.strip()
        pieces[at] = ", " if is_gap else _BETWEEN_OBJECTS.sub(", ", between)
    return "".join(pieces)


def _depth(text: str) -> int:
    """Levels of brackets, including those inside texts: an upper bound that needs no parser."""
    depth = deepest = 0
    for bracket in re.findall(r"[\[\](){}]", text):
        depth += 1 if bracket in "[({" else -1
        deepest = max(deepest, depth)
    return deepest


def images_of(chat: Iterable[Any]) -> list[Any]:
    """The images in the parts of messages, as addresses or data URIs, in the forms of OpenAI, Anthropic and Gemini."""
    contents = (message.get("content") for message in chat if isinstance(message, Mapping))
    parts = chain.from_iterable(content for content in contents if isinstance(content, list))
    images = (_image_of(part) for part in parts if isinstance(part, Mapping))
    return [image for image in images if image is not None]


def _image_of(part: Mapping[str, Any]) -> Any:
    if part.get("type") in ("image_url", "input_image"):
        return part.get("image_url")
    source = part.get("source") if part.get("type") == "image" else None
    if not isinstance(source, Mapping):
        return None
    if isinstance(source.get("data"), str):
        return f"data:{source.get('media_type')};base64,{source['data']}"
    return source.get("url")


def answers(message: Any) -> bool:
    """Whether an assistant's message has a completion: a text (may be empty), parts or tool calls."""
    if not isinstance(message, Mapping):
        return True
    calls = any(message.get(key) for key in ("tool_calls", "function_call", "audio"))
    content = message.get("content")
    return calls or not (content is None or (isinstance(content, list) and not content))


def without_no_answer(chat: Sequence[Any]) -> list[Any]:
    """The chat without a final assistant message that is empty: no content, or an empty list of parts."""
    is_empty = bool(chat) and _role(chat[-1]) == "assistant" and not answers(chat[-1])
    return list(chat[:-1] if is_empty else chat)


def _role(message: Any) -> Any:
    return message.get("role") if isinstance(message, Mapping) else None


def _type(part: Mapping[str, Any]) -> str:
    kind = part.get("type")
    return kind if isinstance(kind, str) else ""


def _is_certain(message: Mapping[str, Any]) -> bool:
    """Whether a message has a known role, and content or a call."""
    known = message.get("role") in MESSAGE_ROLES | {"function"}
    return known and any(key in message for key in ("content", "tool_calls"))


def _of_message(message: Mapping[str, Any]) -> list[Any] | None:
    """A message in OpenAI's shape, with tool results in separate turns; None for an object of another kind."""
    if isinstance(message.get("role"), str):
        return _named(message)
    if isinstance(message.get("from"), str) and "value" in message:
        return _sharegpt(message)
    if (name := _sender(message)) is not None:
        return _named({**{key: part for key, part in message.items() if key not in _SENDERS}, "role": name})
    if _type(message) in _LANGCHAIN and (isinstance(message.get("data"), Mapping) or "content" in message):
        return _langchain(message)
    if isinstance(message.get("message.role"), str):
        flat = {key.removeprefix("message."): part for key, part in message.items()}
        return _named(flat)
    inner = message.get("message")
    is_choice = {"message", "finish_reason"} <= message.keys()
    is_wrapped = is_choice or set(message) == {"message"}
    return _of_message(inner) if is_wrapped and isinstance(inner, Mapping) else None


def _sender(message: Mapping[str, Any]) -> str | None:
    """The speaker of a message under another name than `role`, if it is a known one and the message has content."""
    name = next((message[key] for key in _SENDERS if isinstance(message.get(key), str)), "")
    is_said = any(key in message for key in ("content", "text", "parts", "message"))
    return name if is_said and name.casefold() in _SPEAKERS else None


def _speaker(name: str) -> str:
    return name if name in MESSAGE_ROLES else _SPEAKERS.get(name.casefold(), name)


def _named(message: Mapping[str, Any]) -> list[Any]:
    """A message with a role."""
    named = {**message, "role": _speaker(message["role"])}
    if "content" not in message:
        parts = next(
            (
                message[key]
                for key in ("parts", "contentParts", "message", "text", "prompt")
                if key in message
            ),
            None,
        )
        named["content"] = parts
    content = named["content"]
    if isinstance(content, Mapping) and ("type" in content or isinstance(content.get("text"), str)):
        content = named["content"] = [content]  # one part
    elif isinstance(content, Mapping) and len(content) == 1 and isinstance(content.get("answer"), str):
        content = named["content"] = content["answer"]
    if content is None and isinstance(message.get("refusal"), str):
        named["content"] = message["refusal"]  # the model refused
    if not isinstance(content, list) or not any(map(_is_foreign_part, content)):
        return [named]
    return _of_parts(named, content)


def _is_foreign_part(part: Any) -> bool:
    """Whether a part is Gemini's or OpenTelemetry's."""
    if not isinstance(part, Mapping):
        return False
    if _is_thought(part) or (_type(part) == "text" and not isinstance(part.get("text"), str)):
        return True
    return bool(_FOREIGN_KEYS & part.keys()) or _type(part) in {"tool_call", "tool_call_response"}


def _of_parts(message: Mapping[str, Any], parts: Sequence[Any]) -> list[Any]:
    """A message of Gemini's or OpenTelemetry's parts, after the tool results among them."""
    calls, results, kept = list(message.get("tool_calls") or []), [], []
    for part in parts:
        call, result = _call_of(part), _result_of(part)
        if _is_thought(part):
            continue
        if call is not None:
            calls.append(call)
        elif result is not None:
            results.append(result)
        else:
            kept.append(_plain_part(part))
    own = {**message, "content": kept, **({"tool_calls": calls} if calls else {})}
    return [*results, *([own] if kept or calls or not results else [])]


def _is_thought(part: Any) -> bool:
    """Whether a part is a model's reasoning or marks a step: neither is part of the completion."""
    return isinstance(part, Mapping) and (part.get("thought") is True or _type(part) in _UNSAID)


def _plain_part(part: Any) -> Any:
    if isinstance(part, Mapping) and "inlineData" in part:
        inline = part["inlineData"] if isinstance(part["inlineData"], Mapping) else {}
        is_image = str(inline.get("mimeType")).startswith("image/")
        return {
            "type": "image",
            "source": {"media_type": inline.get("mimeType"), "data": inline.get("data")}
            if is_image
            else None,
        }
    if isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("content"), str):
        return {"type": "text", "text": part["content"]}
    inner = part.get("text") if isinstance(part, Mapping) else None
    if isinstance(inner, Mapping) and isinstance(inner.get("value"), str):
        return {"type": "text", "text": inner["value"]}  # a message of OpenAI's threads
    return part


def _call_of(part: Any) -> dict[str, Any] | None:
    if not isinstance(part, Mapping):
        return None
    call = part.get("functionCall") or part.get("function_call")
    if isinstance(call, Mapping):
        return _call(call.get("id"), call.get("name"), call.get("args", call.get("arguments")))
    if part.get("type") == "tool_call":
        return _call(part.get("id"), part.get("name"), part.get("arguments"))
    return None


def _call(name_of_call: Any, name: Any, arguments: Any) -> dict[str, Any]:
    """A tool call in OpenAI's shape."""
    text = arguments if isinstance(arguments, str) else json.dumps({} if arguments is None else arguments)
    return {"id": name_of_call, "type": "function", "function": {"name": name, "arguments": text}}


def _result_of(part: Any) -> dict[str, Any] | None:
    if not isinstance(part, Mapping):
        return None
    if isinstance(result := part.get("functionResponse"), Mapping):
        return _result(result.get("id"), result.get("response"))
    if part.get("type") == "tool_call_response":
        return _result(part.get("id"), part.get("response", part.get("result")))
    return None


def _result(call: Any, content: Any) -> dict[str, Any]:
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return {"role": "tool", "content": text, **({"tool_call_id": call} if isinstance(call, str) else {})}


def _sharegpt(message: Mapping[str, Any]) -> list[Any]:
    """A turn of ShareGPT's; LLaMA-Factory encodes a tool call as a turn with the call as JSON text."""
    value = message["value"]
    if message["from"] != "function_call":
        return _named({"role": message["from"], "content": value})
    try:
        calls = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        calls = None
    listed = [one for one in (calls if isinstance(calls, list) else [calls]) if isinstance(one, Mapping)]
    if not listed:
        return [{"role": "assistant", "content": value}]
    return [{"role": "assistant", "content": "", "tool_calls": [_call(one.get("id"), one.get("name"), one.get("arguments")) for one in listed]}]  # fmt: skip


def _langchain(message: Mapping[str, Any]) -> list[Any]:
    """A message of LangChain's, as `messages_to_dict` or `model_dump` write it."""
    data = message["data"] if isinstance(message.get("data"), Mapping) else message
    role = (
        data.get("role")
        if message["type"] == "chat"
        else "tool"
        if message["type"] == "function"
        else message["type"]
    )
    calls = [
        one if "function" in one else _call(one.get("id"), one.get("name"), one.get("args"))
        for one in data.get("tool_calls") or ()
        if isinstance(one, Mapping)
    ]
    kept = {key: data[key] for key in ("tool_call_id",) if data.get(key)}
    called = {"tool_calls": calls} if calls else {}
    return _named({"role": str(role), "content": data.get("content"), **kept, **called})


def _are_items(messages: Iterable[Mapping[str, Any]]) -> bool:
    """Whether these are items of the Responses API: at least one is not a message."""
    kinds = [_type(message) if "role" not in message else "message" for message in messages]
    are_items = all(kind in _ITEMS or kind.endswith(_ITEM_ENDINGS) for kind in kinds)
    return are_items and any(kind != "message" for kind in kinds)


def _of_items(items: Iterable[Mapping[str, Any]]) -> list[Any]:
    """The messages of a response's items, function calls and their results in order; reasoning is omitted."""
    chat: list[dict[str, Any]] = []
    for item in items:
        if isinstance(item.get("role"), str):
            chat += _named(item)
        elif item.get("type") == "function_call":
            call = _call(item.get("call_id"), item.get("name"), item.get("arguments"))
            if not chat or chat[-1]["role"] != "assistant":
                chat.append({"role": "assistant", "content": ""})
            chat[-1] = {**chat[-1], "tool_calls": [*chat[-1].get("tool_calls", []), call]}
        elif item.get("type") == "function_call_output":
            chat.append(_result(item.get("call_id"), item.get("output")))
    return chat
