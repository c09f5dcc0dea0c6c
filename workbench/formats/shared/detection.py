"""Detect which platform wrote a text: every format reports its confidence."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

from workbench.core.errors import FormatError
from workbench.formats.shared.base import FORMATS, Format
from workbench.formats.shared.other_python import no_grader
from workbench.formats.shared.parsing import MAX_PYTHON, parse_json, parse_python, parse_yaml
from workbench.graders.capture.statements import parsed

__all__ = ["detect"]


def detect(text: str, where: str = "text") -> Format:
    """The format with the highest confidence for a text.

    Raises:
        FormatError: No format fits, or two fit equally well; the formats tried are listed.
    """
    document, complaint = _parsed(text, where)
    sure = {name: chosen.detect(document, text) for name, chosen in FORMATS.items()}
    best = max(sure.values())
    names = [name for name, degree in sure.items() if degree == best and best > 0]
    if len(names) == 1:
        return FORMATS[names[0]]
    if not names and where.lower().endswith(".js"):
        return FORMATS["javascript"]
    if not names and (where.lower().endswith(".py") or _is_python(text)):
        raise _no_python(text, where)
    if complaint is not None and not names:
        raise complaint
    raise FormatError(
        "cannot detect the platform of this document",
        where=where,
        found=_looks(document, text) + (f"; it could be {' or '.join(names)}" if names else ""),
        expected="one of " + ", ".join(FORMATS),
        hint=_NAME_IT,
    )


_NAME_IT = "name it: format=..., or --from on the command line"


def _no_python(text: str, where: str) -> FormatError:
    try:
        parse_python(text, where)
    except FormatError as error:
        return error
    return no_grader(text, where, f"if it is a platform's, {_NAME_IT}; there are {', '.join(FORMATS)}")


def _is_python(text: str) -> bool:
    """Whether a text that no format reads is meant as Python; a line such as `name: value` is YAML as well."""
    if _looks_like_python(text):
        return True
    tree = parsed(text) if len(text) <= MAX_PYTHON else None
    called = (
        getattr(node, "value", None) if isinstance(node, ast.Expr) else node
        for node in (tree.body if tree else ())
    )
    return any(
        not isinstance(node, ast.AnnAssign) and isinstance(node, ast.stmt | ast.Call) for node in called
    )


def _parsed(text: str, where: str) -> tuple[Any, FormatError | None]:
    """The document as JSON or YAML, None if it is neither, with the error if it looks like one of them."""
    if text.lstrip()[:1] in {"{", "["}:
        return _or_complaint(parse_json, text, where)
    if _looks_like_python(text):
        return None, None
    document, complaint = _or_complaint(parse_yaml, text, where)
    return (document if isinstance(document, dict | list) else None), complaint


_SURELY = re.compile(r"\s*(?:[{\[]\s*[\"\[{]|(?:[#-].*\n\s*)*[\w\"']+\s*:(?:\s|$))")
"""Text that starts like this is JSON or YAML, so its parse error is the message to show."""


def _or_complaint(parse: Callable[[str, str], Any], text: str, where: str) -> tuple[Any, FormatError | None]:
    try:
        return parse(text, where), None
    except FormatError as error:
        # "Extra data": the text starts with a JSON value and continues, so it may not be JSON.
        if error.found != "Extra data" and _SURELY.match(text[:2000]):
            return None, error
        platforms = f"if it is another kind of file, {_NAME_IT}; there are {', '.join(FORMATS)}"
        hint = "; ".join(filter(None, [error.hint, platforms]))
        return None, FormatError(
            error.what, where=error.where, found=error.found, expected=error.expected, hint=hint
        )


def _looks_like_python(text: str) -> bool:
    """Whether some line can only be Python."""
    return (
        re.search(r"^(import |from \S+ import |def |async def |class |@\w|#!|\"\"\")", text, re.MULTILINE)
        is not None
    )


def _looks(document: Any, text: str) -> str:
    if isinstance(document, dict):
        return "an object with the keys " + ", ".join(map(repr, list(document)[:8]))
    if not text.strip():
        return "an empty file"
    return "a list" if isinstance(document, list) else "neither JSON nor YAML with a known key"
