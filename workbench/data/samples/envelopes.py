"""API objects that wrap a completion or a prompt: extracts their messages, or explains why there are none.

OpenAI's batch output has one object per request, `{"custom_id", "response": {"status_code", "body": {...}}}`; the body is
a chat completion (`choices`) or a response (`output`). Anthropic's has `{"type": "succeeded", "message": {...}}`, Gemini's
responses have `candidates`, Bedrock's `output.message`. Text APIs have a list of texts: AI21's `completions`, watsonx's `results`,
Cohere's `generations`. A request has `messages`, `contents` or `input`. Sources: OpenAI's API reference, "Batch", "Chat
Completions" and "Responses"; Anthropic's "Message Batches"; Google's "GenerateContentResponse"; AI21's "Jurassic-2 Complete";
IBM's "TextGenResult".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.data.samples.chats import chat_of
from workbench.data.samples.plain import is_missing

_SAID = frozenset({"generated_text", "output", "response", "text"})
"""Names of a text that may be accompanied by metadata about it."""
_OF_PARTS = frozenset({
    "bbox", "begin", "end", "entity", "input", "instruction", "label", "name", "offset", "page", "prompt", "query", "question", "role", "start",
    "title", "type",
})  # fmt: skip
"""Keys next to a text that is a part of one completion, such as a span, or a prompt with its reference."""
_SETTINGS = frozenset({"max_gen_len", "max_tokens", "max_tokens_to_sample", "model"})
"""Keys of a request with a text as `prompt`: of a legacy completion, or of a model on Bedrock."""
_ABOUT = frozenset({
    "annotations", "citations", "completion_tokens", "confidence_scores", "correct", "cost", "created", "created_at",
    "cumulative_logprob", "details", "duration", "duration_ms", "elapsed", "feedback", "finish_details",
    "finish_reason", "generated_tokens", "generator", "id", "index", "input_tokens", "is_correct", "latency",
    "latency_ms", "logprobs", "meta", "meta_info", "metadata", "model", "model_id", "model_name", "note",
    "num_tokens", "output_tokens", "overall_score", "passed", "policy", "prompt_token_ids", "prompt_tokens",
    "provider", "rank", "rating", "request_id", "reward", "score", "scores", "seed", "stop", "stop_reason",
    "temperature", "time", "timestamp", "token_ids", "tokens", "total_tokens", "truncated", "usage",
})  # fmt: skip
"""Metadata that tools add to a completion."""


class EnvelopeError(ValueError):
    """An envelope without a completion; the message describes its content instead."""


def message_in(value: Mapping[str, Any]) -> list[Any] | None:
    """The messages inside an object; None if it is not an envelope but arbitrary data.

    Args:
        value: A cell that is an object, such as batch output's `response`, its `body`, or a chat completion.

    Raises:
        EnvelopeError: An envelope of a failed request, or one without a message.
    """
    if (message := chat_of(value)) is not None:
        return message
    if (turns := _last_turns(next((value[name] for name in _CHATS if name in value), None))) is not None:
        return turns
    body = _body(value)
    if body is None:
        return None
    status = value.get("status_code", value.get("status"))
    if isinstance(status, int | float) and status != 200:
        raise EnvelopeError(f"a request that failed with status {status:g}{_reason(body)}")
    messages = next(iter(_answers(body)), None)
    if not messages and body.get("object") == "list":
        raise EnvelopeError("embeddings, which have no text")
    if not messages and value.get("type") in _UNANSWERED:
        raise EnvelopeError(f"a request that was {value['type']}{_reason(body)}")
    if not messages:
        raise EnvelopeError(
            f"a response without a message (keys {', '.join(map(str, list(body)[:10]))}){_reason(body)}"
        )
    return messages


_CHATS = ("messages", "history", "conversation", "trajectory", "transcript")
"""Names of the messages in an object around a completion."""


def _last_turns(messages: Any) -> list[Any] | None:
    """The turns of the assistant and of tools at the end of messages in a completion; None if the assistant is not last."""
    chat = chat_of(messages) if isinstance(messages, list) else None
    if chat is None or chat[-1].get("role") != "assistant":
        return None
    first = max(
        (at for at, turn in enumerate(chat) if turn.get("role") not in ("assistant", "tool")), default=-1
    )
    return chat[first + 1 :]


def choices_in(value: Any) -> list[Any]:
    """An API's response to a request for several completions: an envelope for each; none if there are fewer than two."""
    body = _body(value) if isinstance(value, Mapping) else None
    if body is None:
        return []
    lists = ("choices", "candidates", *TEXT_LISTS)
    name = next((key for key in lists if isinstance(body.get(key), list)), "")
    choices = body.get(name, [])
    if len(choices) < 2:
        return []
    bodies = [{**body, name: [choice]} for choice in choices]
    return [{**value, "body": one} for one in bodies] if isinstance(value.get("body"), Mapping) else bodies


def request_in(value: Mapping[str, Any]) -> list[Any] | None:
    """The messages of an API request; None if the object is not a request."""
    body = value.get("body") if isinstance(value.get("body"), Mapping) else value
    assert isinstance(body, Mapping)
    name = next((key for key in ("messages", "contents", "input") if isinstance(body.get(key), list)), "")
    said = body.get(name)
    if name == "contents" and isinstance(said, list):
        said = [{"role": "user", **one} if isinstance(one, Mapping) else one for one in said]
    text = body.get("prompt") if _SETTINGS & body.keys() else body.get("inputText")
    chat = [{"role": "user", "content": text}] if isinstance(text, str) and not name else chat_of(said)
    if chat is None:
        return None
    first = next(
        (
            body[key]
            for key in ("system", "instructions", "systemInstruction", "system_instruction")
            if body.get(key)
        ),
        None,
    )
    return [*_system(first), *chat]


def text_in(value: Mapping[str, Any], names: Sequence[str], *, listed: bool = False) -> str | None:
    """The text of an object with one text: under one of some names, accompanied only by metadata about it.

    None for arbitrary data, such as a completion in JSON format.

    Args:
        value: The object.
        names: Possible names of the text.
        listed: Whether it is an element of a list of completions: then the text may be accompanied by anything but the keys of a
            part of one completion.
    """
    found = [key for key in value if key in names and isinstance(value[key], str)]
    if len(found) != 1:
        return None
    rest = {str(key) for key in value if key != found[0] and not is_missing(value[key])}
    is_whole = not rest or (found[0] in _SAID and rest <= _ABOUT) or (listed and not rest & _OF_PARTS)
    return value[found[0]] if is_whole else None


def only_value(content: Any) -> Any:
    """The value in a list of one named value, such as `{"name": "answer", "type": "STRING", "value": "4"}`; else the content."""
    one = content[0] if isinstance(content, list) and len(content) == 1 else None
    is_named = (
        isinstance(one, dict)
        and {"name", "value"} <= one.keys()
        and one.keys() <= {"id", "name", "type", "value"}
    )
    return one["value"] if is_named and one is not None else content


def unpacked(cell: Any) -> Any:
    """The value of a batch output cell that CSV stores as JSON text; any other cell unchanged."""
    if not isinstance(cell, str) or not cell.lstrip().startswith(("{", "null")):
        return cell
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return cell


def failed_request(response: Any, error: Any) -> str:
    """Why a request of a batch has no response; "" if it has one, or no error is recorded."""
    if not is_missing(response) or not isinstance(error, Mapping):
        return ""
    return f"a request without a response{_reason({'error': error})}"


def _body(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """An API's response; None if it is not from an API: a list of `choices` alone may be a multiple-choice prompt."""
    if "body" in value and {"status", "status_code"} & set(value):
        body = value.get("body")
        return body if isinstance(body, Mapping) else value
    if value.get("object") == "chat.completion" or any(_answers(value)):
        return value
    is_response = value.get("object") == "response" and isinstance(value.get("output"), list)
    is_result = str(value.get("type")) in _RESULTS and len(value) <= _RESULT_KEYS
    return value if is_response or is_result else None


_RESULTS = frozenset({"canceled", "errored", "expired", "succeeded"})
_UNANSWERED = _RESULTS - {"succeeded"}
_RESULT_KEYS = 2
"""Keys of a result of Anthropic's batches: `type`, and `message` or `error`."""


def _answers(body: Mapping[str, Any]) -> list[list[Any]]:
    """The messages in an API's response, by each of its known shapes."""
    output = body.get("output")
    inner = output.get("message") if isinstance(output, Mapping) else None
    # A Responses object and a chat message both name their type; anything else with these keys is arbitrary data.
    items = output if body.get("object") == "response" or "choices" not in body else None
    found = [
        _of_choices(body.get("choices")),
        _of_candidates(body.get("candidates")),
        _of_bedrock(body),
        _of_text_list(body),
        chat_of(inner) if isinstance(inner, Mapping) else None,
        chat_of(body["message"]) if isinstance(body.get("message"), Mapping) else None,
        chat_of(items) if isinstance(items, list) else None,
    ]
    return [one for one in found if one]


def _of_choices(choices: Any) -> list[Any] | None:
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if isinstance(choice, Mapping) and message is None:
        # A legacy completion has a text, Snowflake's choice a text called messages.
        said = choice.get("text" if "index" in choice else "messages")
        return [{"role": "assistant", "content": said}] if isinstance(said, str) else None
    return chat_of(message) if isinstance(message, Mapping) else None


def _of_bedrock(body: Mapping[str, Any]) -> list[Any] | None:
    """The text of a model of Amazon's, Meta's or Mistral's in the form in which Bedrock returns it."""
    results, outputs = body.get("results"), body.get("outputs")
    found = (
        body.get("generation") if {"generation", "stop_reason"} <= set(body) else None,
        _text_of_first(results, "outputText"),
        _text_of_first(outputs, "text") if set(body) == {"outputs"} else None,
    )
    text = next((one for one in found if isinstance(one, str)), None)
    return None if text is None else [{"role": "assistant", "content": text}]


TEXT_LISTS: Mapping[str, tuple[str, ...]] = {
    "completions": ("data", "text"), "results": ("generated_text",), "generations": ("text",)
}  # fmt: skip
"""Names of the lists of texts that AI21, watsonx and Cohere return, with the keys of the text in an element."""
_ABOUT_TEXTS = frozenset({"finishReason", "finish_reason", "stop_reason"})
"""Keys next to the text, of which each element has one."""


def _of_text_list(body: Mapping[str, Any]) -> list[Any] | None:
    """The first text of a text API."""
    texts = texts_of(body)
    return [{"role": "assistant", "content": texts[0]}] if texts else None


def texts_of(body: Mapping[str, Any]) -> list[str]:
    """The texts in a response of a text API; none of anything else."""
    for name, keys in TEXT_LISTS.items():
        values = body.get(name)
        found = [_said_by_text_api(one, keys) for one in values] if isinstance(values, list) else []
        texts = [text for text in found if text is not None]
        if texts and len(texts) == len(found):
            return texts
    return []


def _said_by_text_api(value: Any, keys: Sequence[str]) -> str | None:
    if not isinstance(value, Mapping) or not _ABOUT_TEXTS & value.keys():
        return None
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, str) else None


def _text_of_first(values: Any, name: str) -> Any:
    first = values[0] if isinstance(values, list) and values else None
    return first.get(name) if isinstance(first, Mapping) else None


def _of_candidates(candidates: Any) -> list[Any] | None:
    candidate = candidates[0] if isinstance(candidates, list) and candidates else None
    content = candidate.get("content") if isinstance(candidate, Mapping) else None
    return (
        chat_of({"role": "model", **content}) if isinstance(content, Mapping) and "parts" in content else None
    )


def _system(content: Any) -> list[Any]:
    if isinstance(content, Mapping):
        return (
            chat_of(
                {
                    "role": "system",
                    **{key: content[key] for key in ("parts", "content", "text") if key in content},
                }
            )
            or []
        )
    return [{"role": "system", "content": content}] if isinstance(content, str | list) else []


def _reason(body: Mapping[str, Any]) -> str:
    error = body.get("error")
    message = error.get("message") if isinstance(error, Mapping) else error
    return f": {str(message)[:200]}" if message else ""
