"""Code blocks of the five platforms' grader documents, as printed, and how to find one."""

from __future__ import annotations

import json
from pathlib import Path

HERE = Path(__file__).parent


def block(document: str, under: str, *, language: str | None = None, at: int = 0) -> str:
    """The text of one block: of a document, under a heading, of a language, the `at`-th of those."""
    found = [
        one["text"]
        for one in json.loads((HERE / f"{document}.json").read_text("utf-8"))
        if one["under"] == under and language in {None, one["language"]}
    ]
    return found[at]


def blocks(document: str, language: str) -> list[tuple[str, str]]:
    """Headings and texts of every block of a language."""
    held = json.loads((HERE / f"{document}.json").read_text("utf-8"))
    return [(one["under"], one["text"]) for one in held if one["language"] == language]
