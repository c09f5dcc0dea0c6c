"""`{name}`, the placeholders of Letta's rubrics, in the two ways that Letta has parsed them.

Generation "0.4" (0.4 to 0.16): the listed names are replaced everywhere, and nothing else is changed:
not `{other}`, not `{{` or `}}`. Generation "0.17" (since): `{input}`, `{submission}` and `{ground_truth}` are replaced
too, a name without a value is an error, `{{` and `}}` are one brace, and no variable may have the name of one of
the three. A brace that belongs to no name is text in both. One pass: `{name}` inside a value is not replaced.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from workbench.data.templates.bounds import Page
from workbench.data.templates.errors import MissingVariableError, TemplateError

__all__ = ["RESERVED", "Braces"]

RESERVED = ("input", "submission", "ground_truth")
"""Variables that Letta fills itself."""

_NAME = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)\}")


class Braces:
    """A template with its names.

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
