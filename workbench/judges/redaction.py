"""Removes API keys from server responses: some repeat what they were sent, literally or escaped as in JSON."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

_KEY_PATTERN = re.compile(r"\b(?:(?:sk|pk)[-_]|Bearer )[\w*.-]{6,}")

_WORDS = re.compile(r"[^\W\d_]+(?: [^\W\d_]+)*|[\d.]+")
_MIN_LENGTH, _MIN_LENGTH_IN_WORDS = 3, 8
"""Minimum characters of a key to remove it: as a whole word, and inside a longer word. Shorter ones are not secret."""
_RUN = r"\\{1,32}"
"""Maximum consecutive backslashes: each depth of JSON in JSON doubles them, so this is depth 5. Keeps the search linear."""
_PLACEHOLDERS = re.compile(
    r"(?:(?:sk-)?no[-_ ]?key(?:[-_ ]required)?|not[-_ ](?:needed|used)|api[-_]?key|change-?me|lm[-_]studio|token-abc123)"
    r"|(?:sk-)?x+|abc|anything|dummy|empty|fake|key|llama|local(?:host)?|nil|none|null|ollama|placeholder|required|test|token"
    r"|unused|vllm",
    re.IGNORECASE,
)
"""Keys that the documentation of local servers gives as examples. They are not secret, and occur in many completions."""


def hide_secrets(text: str, secrets: Sequence[str]) -> str:
    """A text without the secrets, and without anything that looks like a key.

    Example:
        >>> hide_secrets("bad key hunter2hunter2, not sk-abc123456", ["hunter2hunter2"])
        'bad key ***, not ***'
    """
    return _KEY_PATTERN.sub("***", _hidden(text, secrets))


def hide_secrets_in_data(data: Any, secrets: Sequence[str]) -> Any:
    r"""Decoded JSON data without the secrets; the same object if it contains none. Keys of objects are searched, too.

    Example:
        >>> hide_secrets_in_data(["an \\u0068unter2hunter2"], ["hunter2hunter2"])
        ['an ***']
    """
    box = [data]
    pending: list[Any] = [box]
    changed = False
    while pending:  # a loop, since data may be nested more deeply than Python can call
        holder = pending.pop()
        for key, value in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
            new: Any = value
            if isinstance(value, str):
                new = _hidden(value, secrets)
                changed = changed or new != value
            elif isinstance(value, dict):
                new = {
                    _hidden(name, secrets) if isinstance(name, str) else name: one
                    for name, one in value.items()
                }
                changed = changed or new.keys() != value.keys()
                pending.append(new)
            elif isinstance(value, list | tuple):
                new = list(value)
                pending.append(new)
            holder[key] = new
    return box[0] if changed else data


def hide_secrets_in_reply(data: Any, secrets: Sequence[str]) -> Any:
    """Like `hide_secrets_in_data`, for a reply that is not parsed yet: keys that are words or numbers stay.

    Such a key ("score", "100") may be a part of the verdict. It is removed from the grade, after the reply was parsed.
    """
    return hide_secrets_in_data(data, [secret for secret in secrets if not _WORDS.fullmatch(secret)])


def _hidden(text: str, secrets: Sequence[str]) -> str:
    for secret in secrets:
        # Escapes need one of these characters: most texts are done after a few searches.
        if (secret in text or any(sign in text for sign in "\\%&")) and (
            pattern := _spellings(secret)
        ) is not None:
            text = pattern.sub("***", text)
    return text


@lru_cache(maxsize=64)
def _spellings(secret: str) -> re.Pattern[str] | None:
    """Finds a secret literally, and with any characters escaped as in JSON, or in JSON inside JSON; None if it is not a secret."""
    if len(secret) < _MIN_LENGTH or _PLACEHOLDERS.fullmatch(secret):
        return None
    # From the first backslash of a run on: otherwise each of a million would be tried.
    spelled = _character(secret[0], r"(?<!\\)" + _RUN) + "".join(
        _character(char, _RUN) for char in secret[1:]
    )
    if len(secret) < _MIN_LENGTH_IN_WORDS:
        # "\n" and "\u0020" before the secret are not part of its word.
        before = r"(?:(?<!\w)|(?<=\\[bfnrt])|(?<=\\u[0-9a-fA-F]{4}))" if re.match(r"\w", secret) else ""
        spelled = f"{before}{spelled}" + (r"(?!\w)" if re.search(r"\w\Z", secret) else "")
    return re.compile(spelled)


def _character(char: str, run: str) -> str:
    """A pattern of one character as it is spelled at any depth of JSON in JSON: each depth doubles the backslashes."""
    units = char.encode("utf-16-be", "surrogatepass")
    escaped = "".join(rf"{run}u(?i:{units[at : at + 2].hex()})" for at in range(0, len(units), 2))
    short = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}.get(char)
    plain = run if char == "\\" else (rf"(?:{run})?" if char in "\"'/" else "") + re.escape(char)
    others = [rf"{run}{short}"] if short else []
    if not char.isalnum():  # as in addresses, and in HTML
        others += ["".join(f"%(?i:{byte:02x})" for byte in char.encode("utf-8", "surrogatepass"))]
        others += [html.escape(char)] if html.escape(char) != char else []
    return f"(?:{'|'.join([plain, escaped, *others])})"


_key_variables: set[str] = set()
"""Environment variables from which keys were read in this process."""


def register_key_variable(variable: str) -> None:
    """Keep the value of an environment variable out of every grade and error text of this process."""
    if variable:
        _key_variables.add(variable)


def keys_in_use() -> list[str]:
    """The present values of all registered variables, whole and without the word before them ("Bearer ..."), longest first."""
    values = {os.environ.get(name, "").strip() for name in list(_key_variables)}
    parts = {part for value in values for part in value.split() if len(part) >= _MIN_LENGTH_IN_WORDS}
    return sorted((values | parts) - {""}, key=lambda value: (-len(value), value))
