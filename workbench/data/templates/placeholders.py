"""The two dialects that have placeholders only: Letta's `{name}`, and OpenAI's `{{ item.path[0].x }}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from workbench.data.templates.values import (
    MissingVariableError,
    Page,
    TemplateError,
    TemplateRunError,
    at,
    json_text,
    place,
)

RESERVED = ("input", "submission", "ground_truth")
"""Variables that Letta fills itself."""

_NAME = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)\}")


class Braces:
    """A template with its names.

    Generation "0.4" (0.4 to 0.16): the listed names are replaced everywhere, and nothing else is changed:
    not `{other}`, not `{{` or `}}`. Generation "0.17" (since): `{input}`, `{submission}` and `{ground_truth}` are replaced
    too, a name without a value is an error, `{{` and `}}` are one brace, and no variable may have the name of one of
    the three. A brace that belongs to no name is text in both. One pass: `{name}` inside a value is not replaced.

    Args:
        text: The template.
        names: Variables to replace, in addition to the reserved ones of release "0.17".
        release: "0.4" or "0.17".

    Raises:
        TemplateError: Another release; a name like a reserved one in "0.17".
    """

    def __init__(self, text: str, *, names: tuple[str, ...] = (), release: str = "0.4") -> None:
        if release not in {"0.4", "0.17"}:
            raise TemplateError("unknown release of braces", found=repr(release), expected="0.4, 0.17")
        self.text, self.names, self.release = text, tuple(names), release
        if release == "0.17":
            check_names(names)
        self.pattern = _NAME if release == "0.17" else _listed(self.names)
        names_in_text = (match[1] for match in self.pattern.finditer(text) if match.lastindex)
        self.variables = frozenset(names_in_text)

    def render(self, values: Mapping[str, Any], page: Page) -> None:
        """Write the text."""
        place = 0
        for match in self.pattern.finditer(self.text):
            page.step()
            page.write(self.text[place : match.start()])
            page.write(match[0][0] if not match.lastindex else _value(match[1], values))
            place = match.end()
        page.write(self.text[place:])


def check_names(names: tuple[str, ...]) -> None:
    """Reject variables that hide one of Letta's own.

    Raises:
        TemplateError: One is named input, submission or ground_truth.
    """
    if reserved := [name for name in names if name in RESERVED]:
        raise TemplateError(
            f"a rubric variable cannot be named {reserved[0]!r}",
            expected=f"a name other than {', '.join(RESERVED)}",
        )


def _listed(names: tuple[str, ...]) -> re.Pattern[str]:
    # Longest first, so that no name hides a longer one; a pattern that never matches when there are none.
    listed = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.compile(rf"\{{({listed})\}}" if names else r"(?!)()")


def _value(name: str, values: Mapping[str, Any]) -> str:
    if name not in values:
        raise MissingVariableError(
            f"the prompt needs the variable {name!r}", found=", ".join(sorted(values)) or "no variables",
            hint=f"give it a value, or write {{{{{name}}}}} for the text {{{name}}}",
        )  # fmt: skip
    value = values[name]
    return value if isinstance(value, str) else "" if value is None else str(value)


NAMESPACES = ("item", "sample")

_PATH = re.compile(r"[A-Za-z_][\w-]*(?:\.[\w-]+|\[\d{1,9}\])*")
_MISSING = object()


class OpenAI:
    """A parsed template.

    Two namespaces, `item` (the row) and `sample` (the model's output), dots and indices in square brackets. Text
    is inserted unchanged, everything else as JSON. OpenAI does not document the output of a missing path; here it is an
    error that names the path, or "" with `lenient`.

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
