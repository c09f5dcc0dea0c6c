"""Keep credentials out of captured sources: they are recognised by name or by shape, and never shown."""

from __future__ import annotations

import os
import re
from typing import Any

from workbench.errors import CaptureError

__all__ = ["refuse_credentials", "refuse_credentials_in"]

_SECRET_NAME = re.compile(
    r"(?:^|_)(api_?keys?|secrets?|secret_?keys?|passwords?|passwd|pwd|credentials?|private_?keys?|access_?keys?"
    r"|(?:auth|access|api|bearer|refresh|hf|hub|github|gitlab|slack|openai|session|id)_?tokens?)(?:$|_)",
    re.IGNORECASE,
)
_TOKEN_NAME = re.compile(r"(?:^|_)tokens?(?:$|_)", re.IGNORECASE)
# In grading a token is often a word or a mark such as "<eos>"; a key is one long run of mixed characters.
_OPAQUE = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[A-Za-z0-9_\-.+/=]{8,}")
_SHAPES = re.compile(
    r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[\w-]{30,}|\bxox[abeprs]-[\w-]{10,}|\bhf_[A-Za-z0-9]{20,}"
    r"|\bsk_(?:live|test)_[A-Za-z0-9]{16,}|-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]+|://[^/\s:@'\"{}]+:[^/\s:@'\"{}]{3,}@"
)
_LOOKS = "the value is not shown here"


def refuse_credentials(name: str, value: Any) -> None:
    """Stop if a plain value that is about to be written out looks like a credential.

    Raises:
        CaptureError: By its name, its shape, or because the environment keeps it under a secret name.
    """
    for label, text in _texts(name, value):
        if _is_secret(label, text):
            raise _error(name, f"a text called {label.strip()}" if label != name else _LOOKS)


def refuse_credentials_in(text: str, where: str) -> None:
    """Stop if source text holds something that has the shape of a known kind of credential.

    Raises:
        CaptureError: With the line number, never the text.
    """
    if match := _shaped_like_one(text):
        line = text.count("\n", 0, match.start()) + 1
        raise _error(f"a text in line {line}", _LOOKS, where)


def _texts(name: str, value: Any) -> list[tuple[str, str]]:
    """Every text inside a plain value with the nearest name it has."""
    if isinstance(value, bytes | bytearray):
        # latin-1 reads any bytes, and leaves a key in them readable.
        return [(name, bytes(value).decode("latin-1"))]
    if isinstance(value, str):
        return [(name, value)]
    if isinstance(value, dict):
        keys = [pair for key in value for pair in _texts(name, key)] if value else []
        return keys + [
            p for k, item in value.items() for p in _texts(k if isinstance(k, str) else name, item)
        ]
    if isinstance(value, list | tuple | set | frozenset):
        return [pair for item in value for pair in _texts(name, item)]
    return []


def _shaped_like_one(text: str) -> re.Match[str] | None:
    """The first part of a text with the shape of a credential, but for those of documentation: AKIAIOSFODNN7EXAMPLE."""
    return next((match for match in _SHAPES.finditer(text) if "EXAMPLE" not in match.group()), None)


def _is_secret(name: str, text: str) -> bool:
    if not text.strip():
        return False
    if _shaped_like_one(text):
        return True
    if _SECRET_NAME.search(name):
        # With blanks it is a sentence that speaks of passwords, such as a prompt.
        return not any(char.isspace() for char in text)
    if _TOKEN_NAME.search(name) and _OPAQUE.fullmatch(text):
        return True
    # Shorter values of such variables ("test", "1") would be found in harmless constants.
    return len(text) >= 8 and text in _environment_secrets()


def _environment_secrets() -> set[str]:
    variables = {**os.environ}.items()
    return {value for name, value in variables if _SECRET_NAME.search(name) or _TOKEN_NAME.search(name)}


def _error(name: str, found: str, where: str = "") -> CaptureError:
    return CaptureError(
        f"{name} looks like a credential",
        where=where,
        found=found,
        expected="a source that can be shown to anybody: it is saved and exported as text",
        hint="graders have no network and need no key; rename the constant if it is none",
    )
