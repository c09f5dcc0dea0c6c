"""Convert one cell to what its role needs (messages, a prompt, tools, ...), or explain why that fails."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

from workbench.core.thread import StringThread
from workbench.data.samples.chat_templates import prompt_in_template
from workbench.data.samples.chats import (
    chat_in_text,
    chat_of,
    data_in_text,
    ends_with_user,
    is_chat_text,
    turns_of_texts,
)
from workbench.data.samples.envelopes import (
    EnvelopeError,
    choices_in,
    message_in,
    only_value,
    request_in,
    text_in,
)
from workbench.data.samples.plain import NotPlainError, is_missing, plain, text

_CONTENT_TYPES = {
    "text",
    "thinking",
    "redacted_thinking",
    "tool_use",
    "server_tool_use",
    "web_search_tool_result",
}


PROMPT_KEYS = (
    "prompt",
    "question",
    "input",
    "query",
    "user_input",
    "problem",
    "instruction",
    "text",
    "content",
    "message",
    "q",
    "user_query",
    "user_message",
    "input_text",
    "inputs",
    "value",
)
"""Names of the text in an object with one prompt."""
COMPLETION_KEYS = ("text", "output", "answer", "content", "generated_text", "response", "completion", "value")
"""Names of the text in an object with one text."""
_WRAPPED_OUTPUTS = frozenset({"expected", "expected_output", "reference_output", "reference_outputs"})
"""Columns of references that evaluators write as the object that a completion would be."""
WRAPPED_REFERENCES = frozenset({"answers", "expectations", "reward_model"}) | _WRAPPED_OUTPUTS
"""Columns whose objects contain the reference; see `reference_of_cell`."""
_MESSAGES = "text or a list of chat messages"


class CellError(ValueError):
    """A cell does not contain what its role needs.

    Args:
        found: The actual content.
        expected: What its role needs.
    """

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(f"{found}, expected {expected}")
        self.found, self.expected = found, expected


class UnreadableChat(str):
    """A text in a column of messages: an unreadable Python repr of messages, such as one that numpy truncated."""

    __slots__ = ()


def are_chat_texts(cells: Sequence[Any], role: str) -> bool:
    """Whether the texts of a column are messages: every first cell that is neither missing nor blank must be.

    Args:
        cells: The first cells.
        role: "completion", whose messages end with the assistant's, or "prompt".
    """
    said = [
        cell for cell in cells if not is_missing(cell) and not (isinstance(cell, str) and not cell.strip())
    ]
    is_text = [isinstance(cell, str) for cell in said]
    return any(is_text) and all(
        _is_chat_text(cell, role) if text else _is_chat(cell)
        for cell, text in zip(said, is_text, strict=True)
    )


def _is_chat_text(cell: str, role: str) -> bool:
    if role == "prompt":
        return isinstance(_question_in(cell), list | UnreadableChat)
    return answer_in_text(cell, has_prompt=False) is not None


def _is_chat(cell: Any) -> bool:
    try:
        return chat_of(plain(cell)) is not None
    except NotPlainError:
        return False


def looks_like_chat(cell: Any) -> bool:
    """Whether a cell is a text that contains messages, or an unreadable repr of messages."""
    try:
        return isinstance(cell, str) and chat_in_text(cell) is not None
    except ValueError:
        return True


def chat_cells(cells: Sequence[Any], role: str, *, has_prompt: bool) -> list[Any]:
    """The cells of a column whose texts are messages, with those texts replaced by their messages.

    Args:
        cells: Cells of any kind.
        role: "completion" or "prompt".
        has_prompt: Whether the prompt is in another column. Then a completion may contain only turns of the assistant and
            of tools, and none that would change the prompt.
    """
    if role == "prompt":
        return [_question_in(cell) if isinstance(cell, str) else cell for cell in cells]
    found = (answer_in_text(cell, has_prompt=has_prompt) if isinstance(cell, str) else None for cell in cells)
    return [cell if chat is None else chat for cell, chat in zip(cells, found, strict=True)]


def _question_in(text: str) -> Any:
    """The messages in a text prompt, also in a chat template; a single object only if it is the user's."""
    if (turns := prompt_in_template(text)) is not None:
        return turns
    try:
        chat = chat_in_text(text)
    except ValueError:
        return UnreadableChat(text)
    is_one = text.lstrip().startswith("{")
    if chat is None and is_one and (request := _api_object(text)) is not None:
        return request_in(request) or text
    return text if chat is None or (is_one and _speakers(chat) != {"user"}) else chat


_API_KEYS = frozenset({"candidates", "choices", "contents", "messages"})


def _api_object(text: str) -> dict[str, Any] | None:
    """The object in a text that is a request to an API, or its response; None for any other text."""
    if not is_chat_text(text):
        return None
    try:
        data = data_in_text(text)
    except ValueError:
        return None
    return (
        data if isinstance(data, dict) and any(isinstance(data.get(key), list) for key in _API_KEYS) else None
    )


def answer_in_text(text: str, *, has_prompt: bool) -> list[Any] | None:
    """The messages in a text completion; None if the text itself is the completion."""
    try:
        chat = chat_in_text(text)
        if chat is None and (response := _api_object(text)) is not None and "messages" not in response:
            return message_in(response)
        if chat is None or not isinstance(chat[-1], dict) or chat[-1].get("role") != "assistant":
            return None
        is_answer = _speakers(chat) <= {"assistant", "tool"}
        is_one = text.lstrip().startswith("{")
        return completion_of(chat) if is_answer or not (has_prompt or is_one) else None
    except ValueError:  # includes `CellError` and `NotPlainError`
        return None


def _speakers(chat: Sequence[Any]) -> set[Any]:
    return {message.get("role") for message in chat}


def joined_prompts(instructions: Sequence[Any], inputs: Sequence[Any] | None) -> list[Any]:
    """Alpaca's prompts: instructions with their inputs, if any, after a blank line."""
    return list(map(_joined, instructions, inputs if inputs is not None else repeat(None)))


def _joined(instruction: Any, question: Any) -> Any:
    parts = [part for part in (instruction, question) if not is_missing(part)]
    nonblank = [part for part in parts if not isinstance(part, str) or part.strip()]
    if len(nonblank) < 2:
        return next(iter(nonblank or parts), None)
    try:
        return "\n\n".join(str(text(part)) for part in nonblank)
    except NotPlainError:
        return nonblank[1]  # its conversion will report the fault


def messages_of(value: Any) -> list[Any] | None:
    """The chat messages of a cell, a list, its JSON text or its repr; None for a missing or blank one.

    Raises:
        CellError: The cell contains anything else.
    """
    expected = "a list of chat messages, each with role and content, or its JSON text"
    chat = _unpacked(value, expected)
    if chat is None:
        return None
    if isinstance(chat, list) or (isinstance(chat, dict) and not isinstance(chat.get("role"), str)):
        chat = chat_of(chat) or turns_of_texts(chat) or chat
    return _checked_chat(chat, expected)


def prompt_of(value: Any) -> list[Any] | None:
    """A prompt as messages: messages unchanged, those of an API request, other values as one user turn; None if missing.

    Raises:
        CellError: Messages that cannot be read.
    """
    if isinstance(value, UnreadableChat):
        raise CellError(f"{_short(str(value))}, Python's repr of messages, cut or of another kind", _MESSAGES)
    if isinstance(value, str) or is_missing(value):
        return _of_text(value, "user")
    content = only_value(plain(value))
    if content == []:
        return None
    chat = chat_of(content)
    if chat is None and ends_with_user(content):
        chat = turns_of_texts(content) or [{"role": "user", "content": content[0]}]
    if chat is None and isinstance(content, dict):
        chat = request_in(content)
    if chat is not None:
        return _checked_chat(chat, _MESSAGES)
    inner = text_in(content, PROMPT_KEYS) if isinstance(content, dict) else None
    if isinstance(content, dict) and len(content) == 1:
        (only,) = content.values()
        chat = chat_of(only) if isinstance(only, list) else None
        if chat is not None:
            return _checked_chat(chat, _MESSAGES)
    return [{"role": "user", "content": text(content) if inner is None else inner}]


def system_of(value: Any) -> str | None:
    """A system prompt as text; parts of Gemini's or Anthropic's are joined.

    Raises:
        NotPlainError: No plain form.
    """
    if isinstance(value, str) or is_missing(value):
        return text(value)
    content = plain(value)
    parts = content.get("parts", [content]) if isinstance(content, dict) else content
    found = (
        [part.get("text", part.get("content")) for part in parts if isinstance(part, dict)]
        if isinstance(parts, list)
        else []
    )
    texts = [one for one in found if isinstance(one, str)]
    return "\n".join(texts) if texts and len(texts) == len(found) else text(content)


def _of_text(value: Any, role: str) -> list[Any] | None:
    """A text cell as one turn, without parsing (see `chat_cells`); None for a missing one."""
    return [{"role": role, "content": str.__str__(value)}] if isinstance(value, str) else None


def completion_of(value: Any, column: str = "") -> list[Any] | None:
    """A completion as messages: a value that is not a message as one assistant turn; None for a missing cell.

    Args:
        value: The cell.
        column: Its column's name: an object in a column `response` is an API response and must contain a message.

    Raises:
        CellError: Messages that cannot be read, several completions, or an API response without a message.
    """
    if isinstance(value, str) or is_missing(value):
        return _of_text(value, "assistant")
    content = only_value(plain(value))
    if content == []:
        return None  # no message, no part: there is no completion
    several = completions_of(content)
    if len(several) > 1:
        raise CellError(
            f"{len(several)} completions in one cell",
            "one completion per row, or in-memory data, where each becomes a row",
        )
    content = answer_in(several[0]) if several else content
    if isinstance(content, str):
        return [{"role": "assistant", "content": content}]
    chat = _unwrapped(content, column) if isinstance(content, dict) else content
    if _is_content(chat):
        chat = [{"role": "assistant", "content": chat}]
    found = chat if isinstance(content, dict) else chat_of(chat)
    if found is not None:
        return _checked_chat(found, _MESSAGES)
    return [{"role": "assistant", "content": text(content)}]


def answer_in(value: Any) -> Any:
    """An element of a list of completions: the text of an object with one text, any other value unchanged."""
    if not isinstance(value, dict):
        return value
    inner = text_in(value, COMPLETION_KEYS, listed=True)
    return (_message_in(value) or value) if inner is None else inner


def _message_in(value: dict[str, Any]) -> Any:
    """The assistant's message in an object about a completion, such as `{"score": 1, "completion": {"role": "model", "parts": [...]}}`."""
    found = [
        value[key] for key in COMPLETION_KEYS if isinstance(value.get(key), dict) and "role" in value[key]
    ]
    chat = chat_of(found[0]) if len(found) == 1 and "role" not in value else None
    return found[0] if chat is not None and chat[-1].get("role") == "assistant" else None


def completions_of(content: Any) -> list[Any]:
    """The completions in a cell of plain data: texts, objects with one text, chats, API choices; none for a single completion."""
    if isinstance(content, dict):
        return choices_in(content)
    if not isinstance(content, list) or not content or _is_content(content):
        return []
    if all(isinstance(one, str) for one in content):
        return content
    if all(isinstance(one, dict) and "role" not in one and answer_in(one) is not one for one in content):
        return content
    return content if all(isinstance(one, list) and chat_of(one) for one in content) else []


def is_own_object(value: Any, role: str) -> bool:
    """Whether a cell is a list or an object of unknown shape, which is read as its JSON text."""
    if isinstance(value, str) or is_missing(value):
        return False
    try:
        content = plain(value)
        if not content or not isinstance(content, dict | list):
            return False
        turns = prompt_of(content) if role == "prompt" else completion_of(content)
    except (CellError, NotPlainError):
        return False
    return turns is not None and len(turns) == 1 and turns[0].get("content") == text(content)


def reference_of_cell(value: Any, column: str) -> Any:
    """The reference in a cell: from verl's `reward_model`, SQuAD's `answers`, MLflow's `expectations` or an evaluator's object with one text, else the cell."""
    content = plain(value)
    name = column.casefold()
    if not isinstance(content, dict):
        return content
    if name == "reward_model" and "ground_truth" in content:
        return content["ground_truth"]
    if name == "answers" and isinstance(texts := content.get("text"), list):
        return texts[0] if len(texts) == 1 else texts
    if name == "expectations" and set(content) == {"expected_response"}:
        return content["expected_response"]
    if name in _WRAPPED_OUTPUTS and (inner := text_in(content, COMPLETION_KEYS)) is not None:
        return inner
    return content


def _unwrapped(content: dict[str, Any], column: str) -> list[Any] | None:
    """The messages in an object; None for data to be encoded as JSON, which a column `response` never contains."""
    expected = "text, a chat message, or an API response with one"
    try:
        messages = message_in(content)
    except EnvelopeError as error:
        raise CellError(str(error), expected) from None
    if messages is None and (inner := text_in(content, COMPLETION_KEYS)) is not None:
        return [{"role": "assistant", "content": inner}]
    if messages is None and column.casefold() == "response":
        raise CellError(f"an object that is not a message, {_short(content)}", expected)
    return messages


def tools_of(value: Any) -> list[Any] | None:
    """Tool definitions of a cell, a list of dicts or its JSON text; None for a missing or blank one.

    Raises:
        CellError: The cell contains anything else.
    """
    expected = "a list of tool definitions (dicts), or its JSON text"
    tools = _unpacked(value, expected)
    if tools is None:
        return None
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise CellError(_short(tools), expected)
    return tools


def mapping_of(value: Any) -> dict[str, Any] | None:
    """The dict of a cell, or of its JSON text; None for a missing or blank one.

    Raises:
        CellError: The cell contains anything else.
    """
    expected = "a dict, or the JSON text of one"
    unpacked = _unpacked(value, expected)
    if unpacked is not None and not isinstance(unpacked, dict):
        raise CellError(_short(unpacked), expected)
    return unpacked


def _unpacked(value: Any, expected: str) -> Any:
    """The plain data of a cell, parsed if it is JSON text; a blank cell counts as missing."""
    value = plain(value)
    if isinstance(value, bytes):
        value = text(value)
    if not isinstance(value, str):
        return value
    try:
        return plain(data_in_text(value)) if value.strip() else None
    except (ValueError, RecursionError) as error:
        raise CellError(f"{_short(value)}, which is {error}", expected) from None


def _checked_chat(chat: Any, expected: str) -> list[Any]:
    if not isinstance(chat, list):
        raise CellError(_short(chat), expected)
    try:
        StringThread.from_messages(chat)
    except (TypeError, ValueError) as error:
        raise CellError(str(error), expected) from None
    return chat


def _is_content(value: Any) -> bool:
    """A list of content parts, as in Anthropic's responses: with a text or a tool call, and nothing of another type."""
    if not isinstance(value, list) or not all(
        isinstance(part, dict) and "role" not in part for part in value
    ):
        return False
    types = {str(part.get("type")) for part in value}
    return bool(types & {"text", "tool_use"}) and types <= _CONTENT_TYPES


def _short(value: Any, limit: int = 80) -> str:
    description = repr(value[: limit + 1] if isinstance(value, str | list) else value)
    cut = description if len(description) <= limit else description[: limit - 1] + "…"
    return f"{cut} ({type(value).__name__})"
