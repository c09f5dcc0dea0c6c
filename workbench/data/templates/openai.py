"""`{{ item.path[0].x }}`, the templates of OpenAI's graders.

Two namespaces, `item` (the row) and `sample` (the model's output), dots and indices in square brackets. Text
is inserted unchanged, everything else as JSON. OpenAI does not document the output of a missing path; here it is an
error that names the path, or "" with `lenient`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from workbench.data.templates.bounds import Page
from workbench.data.templates.errors import TemplateRunError, at, place
from workbench.data.templates.values import json_text

__all__ = ["NAMESPACES", "OpenAI", "path_parts"]

NAMESPACES = ("item", "sample")

_PATH = re.compile(r"[A-Za-z_][\w-]*(?:\.[\w-]+|\[\d{1,9}\])*")
_MISSING = object()


class OpenAI:
    """A parsed template.

    Raises:
        TemplateError: Another namespace, or text that is not a path.
    """

    def __init__(self, text: str, *, lenient: bool = False) -> None:
        self.lenient = lenient
        self.pieces: list[str | tuple[str, tuple[str | int, ...], int]] = []
        start = 0
        while (opening := text.find("{{", start)) >= 0 and (closing := text.find("}}", opening + 2)) >= 0:
            inside = text[opening + 2 : closing].strip()
            self.pieces += [text[start:opening], (inside, path_parts(text, inside, opening), opening)]
            start = closing + 2
        self.pieces.append(text[start:])
        self.text = text
        self.variables = frozenset(str(piece[1][0]) for piece in self.pieces if isinstance(piece, tuple))

    def render(self, values: Mapping[str, Any], page: Page) -> None:
        """Write the text."""
        for piece in self.pieces:
            page.step()
            page.write(piece if isinstance(piece, str) else self._text(piece, values))

    def _text(self, piece: tuple[str, tuple[str | int, ...], int], values: Mapping[str, Any]) -> str:
        path, parts, position = piece
        value: Any = values
        for part in parts:
            value = _step(value, part)
        if value is _MISSING and not self.lenient:
            line, column = place(self.text, position)
            raise TemplateRunError(
                f"the path {path!r} does not exist", where=f"line {line}, column {column}",
                hint="a sample has output_json only if its text is JSON" if "output_json" in path else "",
            )  # fmt: skip
        return "" if value is _MISSING else value if isinstance(value, str) else json_text(value)


def path_parts(text: str, path: str, position: int) -> tuple[str | int, ...]:
    """A tag's path, checked.

    Raises:
        TemplateError: Not a path, or it starts with another name than item or sample.
    """
    if not _PATH.fullmatch(path):
        raise at(
            text,
            position,
            "this is not a path",
            expected="such as {{ item.prompt }} or {{ sample.choices[0] }}",
        )
    if (root := re.split(r"[.\[]", path)[0]) not in NAMESPACES:
        raise at(text, position, f"there is no {root!r} here", expected=", ".join(NAMESPACES))
    return tuple(int(number) if number else name for number, name in re.findall(r"\[(\d+)\]|([\w-]+)", path))


def _step(value: Any, part: str | int) -> Any:
    if isinstance(value, Mapping):
        return value.get(str(part), _MISSING)
    place = part if isinstance(part, int) else int(part) if part.isascii() and part.isdigit() else None
    if isinstance(value, list | tuple) and place is not None and place < len(value):
        return value[place]
    return _MISSING
