"""Translates a template to another dialect, if that dialect supports its features.

The result is parsed again: if its parts have another meaning, nothing is returned. Names are unchanged; the variable names
of a platform are the responsibility of its format. Texts render equally in every dialect; other values (a list, a boolean, a
missing one) follow the rules of each dialect.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from workbench.core.display_text import did_you_mean
from workbench.data.templates.errors import TemplateError
from workbench.data.templates.neutral import (
    LOOP_NAMES,
    Branch,
    LiteralText,
    Name,
    Part,
    Parts,
    Placeholder,
    Repeat,
)
from workbench.data.templates.template import compile as compile_template
from workbench.data.templates.translate_read import READERS

__all__ = ["translate"]

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def translate(text: str, source: str, target: str) -> str:
    """The template in another dialect.

    Args:
        text: The template.
        source: Its dialect.
        target: The dialect wanted.

    Raises:
        TemplateError: It cannot be parsed, or the other dialect does not support it; the position or the part is named.

    Example:
        >>> translate("{{#each turns}}{{@index}}: {{role}} {{/each}}", "handlebars", "jinja2")
        "{% for item in turns %}{{ loop.index0|default('') }}: {{ item.role|default('') }} {% endfor %}"
    """
    for dialect in (source, target):
        if dialect not in READERS:
            raise TemplateError(
                "unknown dialect",
                found=repr(dialect)[:80],
                expected=", ".join(sorted(READERS)),
                hint=did_you_mean(str(dialect), READERS),
            )
    if source == target:
        return compile_template(text, source).text
    parts = READERS[source](text)
    translated = _WRITERS[target](parts)
    if READERS[target](translated) != parts:
        raise TemplateError(
            f"{target} does not support this template unchanged", found=translated[:80],
            hint="text that looks like a tag, or a tag alone on its line, would have another meaning there",
        )  # fmt: skip
    return translated


def _refuse(construct: str, target: str, hint: str = "") -> TemplateError:
    return TemplateError(f"{construct} is not supported in {target}", hint=hint)


def _dotted(name: Name) -> str:
    return ".".join(name.steps)


def _jinja(parts: Parts, names: tuple[str, ...] = ()) -> str:
    return "".join(_jinja_part(part, names) for part in parts)


def _jinja_part(part: Part, names: tuple[str, ...]) -> str:
    if isinstance(part, LiteralText):
        return re.sub(r"\{(?=[{%#])", "{{ '{' }}", part.text)
    name = _jinja_name(part.name, names)
    if isinstance(part, Placeholder):
        return f"{{{{ {name}|default('') }}}}"
    if isinstance(part, Branch):
        if not part.then:
            return f"{{% if not {name} %}}{_jinja(part.other, names)}{{% endif %}}"
        other = f"{{% else %}}{_jinja(part.other, names)}" if part.other else ""
        return f"{{% if {name} %}}{_jinja(part.then, names)}{other}{{% endif %}}"
    if part.word == "with":
        raise _refuse("{{#with}}", "jinja2", "write the whole path of each name")
    item = "item" if not names else f"item{len(names) + 1}"
    other = f"{{% else %}}{_jinja(part.other, names)}" if part.other else ""
    return f"{{% for {item} in {name} %}}{_jinja(part.then, (*names, item))}{other}{{% endfor %}}"


def _jinja_name(name: Name, names: tuple[str, ...]) -> str:
    steps = name.steps
    if steps[:1] and steps[0] in LOOP_NAMES:
        if name.level != len(names):
            raise _refuse(f"an outer loop's {steps[0]}", "jinja2")
        return f"loop.{LOOP_NAMES[steps[0]]}"
    variable, attributes = (names[name.level - 1], steps) if name.level else (steps[0], steps[1:])
    if not _WORD.fullmatch(variable) or (not name.level and variable in (*names, "loop")):
        raise _refuse(f"a variable called {variable!r}", "jinja2", "rename it")
    return variable + "".join(_jinja_step(step) for step in attributes)


def _jinja_step(step: str) -> str:
    if step.isascii() and step.isdigit():
        return f"[{step}]"
    return f".{step}" if _WORD.fullmatch(step) else f"[{step!r}]"


def _handlebars(parts: Parts, level: int = 0) -> str:
    return "".join(_handlebars_part(part, level) for part in parts)


def _handlebars_part(part: Part, level: int) -> str:
    if isinstance(part, LiteralText):
        return part.text.replace("{{", "\\{{")
    name = _handlebars_name(part.name, level)
    if isinstance(part, Placeholder):
        return f"{{{{{{{name}}}}}}}"
    inside = level + isinstance(part, Repeat)
    word, body, other = (part.word if isinstance(part, Repeat) else "if"), part.then, part.other
    if not body and isinstance(part, Branch):
        word, body, other = "unless", part.other, ()
    middle = f"{{{{else}}}}{_guarded(other, level)}" if other else ""
    return f"{{{{#{word} {name}}}}}{_guarded(body, inside)}{middle}{{{{/{word}}}}}"


def _guarded(parts: Parts, level: int) -> str:
    """A block's inside, with comments where its line breaks would be taken for those of a lone tag."""
    text = _handlebars(parts, level)
    before = "{{!}}" if re.match(r"\s*\n", text) else ""
    after = "{{!}}" if "\n" in text[len(text.rstrip()) :] else ""
    return f"{before}{text}{after}"


def _handlebars_name(name: Name, level: int) -> str:
    steps = [step if _WORD.fullmatch(step) and step != "this" else f"[{step}]" for step in name.steps]
    if name.steps[:1] and name.steps[0] in LOOP_NAMES:
        if name.level != level:
            raise _refuse(f"an outer loop's {name.steps[0]}", "handlebars")
        return name.steps[0]
    path = ".".join(steps)
    if name.level == level:
        return f"this.{path}" if path in _HELPERS else path or "this"
    if not name.level:
        return f"@root.{path}"
    return "/".join([".."] * (level - name.level)) + (f"/{path}" if path else "")


_HELPERS = frozenset({"if", "unless", "each", "with", "lookup", "log"})


def _mustache(parts: Parts) -> str:
    def write(part: Part) -> str:
        if isinstance(part, LiteralText):
            return part.text
        if isinstance(part, Placeholder):
            return f"{{{{{{{_dotted(part.name)}}}}}}}"
        if isinstance(part, Branch) and not part.then:
            return f"{{{{^{_dotted(part.name)}}}}}{_mustache(part.other)}{{{{/{_dotted(part.name)}}}}}"
        word = part.word if isinstance(part, Repeat) else "if"
        raise _refuse(
            f"{word} {_dotted(part.name)}", "mustache", "its sections test, enter or repeat by the value"
        )

    return "".join(map(write, parts))


def _flat(parts: Parts, target: str) -> Iterator[LiteralText | Placeholder]:
    for part in parts:
        if not isinstance(part, LiteralText | Placeholder):
            word = part.word if isinstance(part, Repeat) else "if"
            raise _refuse(f"{word} {_dotted(part.name)}", target, "it has names only")
        yield part


def _braces(parts: Parts) -> str:
    def write(part: LiteralText | Placeholder) -> str:
        if isinstance(part, LiteralText):
            return re.sub(r"\{\{|\}\}|\{(?=[A-Za-z_][A-Za-z0-9_]*\})", lambda match: match[0] * 2, part.text)
        if len(part.name.steps) != 1 or not _WORD.fullmatch(part.name.steps[0]):
            raise _refuse(f"the path {_dotted(part.name)}", "braces", "it has single names only")
        return f"{{{part.name.steps[0]}}}"

    return "".join(map(write, _flat(parts, "braces")))


def _openai(parts: Parts) -> str:
    def write(part: LiteralText | Placeholder) -> str:
        if isinstance(part, LiteralText):
            return part.text
        first, *rest = part.name.steps
        if first not in {"item", "sample"}:
            raise _refuse(f"the variable {first!r}", "openai", "its names start with item or sample")
        steps = (f"[{step}]" if step.isdigit() else f".{step}" for step in rest)
        return f"{{{{ {first}{''.join(steps)} }}}}"

    return "".join(map(write, _flat(parts, "openai")))


_WRITERS: dict[str, Callable[[Parts], str]] = {
    "braces": _braces,
    "handlebars": _handlebars,
    "jinja2": _jinja,
    "mustache": _mustache,
    "openai": _openai,
}
