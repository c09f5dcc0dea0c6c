"""Five prompt template languages, rendered in one pass within bounds.

| name | who writes it | syntax |
|---|---|---|
| jinja2 | the workbench | `{{ name }}`, `{% if %}`, `{% for %}` |
| handlebars | Adaptive | `{{{name}}}`, `{{#if}}`, `{{#each}}`, `{{#with}}` |
| mustache | vLLora | `{{name}}`, `{{#section}}`, `{{^inverted}}` |
| braces | Letta | `{name}` |
| openai | OpenAI | `{{ item.path[0] }}`, `{{ sample.output_text }}` |

A rendering never escapes HTML, because a judge reads text. It never renders the content of a value, even if it looks like a
template. It always ends: its output and steps are counted.

`Template` is a template of any of them, parsed once, rendered with plain values, and translated to another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

from workbench.core.display_text import did_you_mean
from workbench.core.thread import StringThread
from workbench.data.samples import Sample
from workbench.data.templates.handlebars import Handlebars
from workbench.data.templates.native import Jinja
from workbench.data.templates.neutral import (
    LOOP_NAMES,
    READERS,
    Branch,
    LiteralText,
    Name,
    Part,
    Parts,
    Placeholder,
    Repeat,
)
from workbench.data.templates.small_dialects import Braces, Mustache, OpenAI
from workbench.data.templates.values import (
    MAX_SOURCE,
    JsonList,
    Page,
    TemplateError,
    TemplateRunError,
    plain_values,
)

DIALECTS = ("braces", "handlebars", "jinja2", "mustache", "openai")


class _Engine(Protocol):
    variables: frozenset[str]

    def render(self, values: Mapping[str, Any], page: Page) -> None: ...


@dataclass(frozen=True)
class Template:
    r"""A parsed template: it has no error that can be detected without values.

    Attributes:
        text: As written.
        dialect: One of `DIALECTS`.
        variables: The names of its variables, as far as the text shows.

    Example:
        >>> compile("{{#each turns}}{{role}} {{/each}}", "handlebars").render({"turns": [{"role": "user"}]})
        'user '
    """

    text: str
    dialect: str
    variables: frozenset[str]
    _engine: _Engine = field(repr=False, compare=False)

    def render(self, variables: Mapping[str, Any]) -> str:
        """The text, filled in one pass.

        Raises:
            TemplateRunError: A required value that is missing, a value that is not plain data, or
                a rendering that exceeds a limit on characters or time.
        """
        page = Page()
        try:
            self._engine.render(plain_values(variables), page)
        except RecursionError:
            raise TemplateRunError("the values are nested too deeply to be rendered") from None
        return page.text()


def compile(text: str, dialect: str = "jinja2", **options: Any) -> Template:  # noqa: A001 (what `re` calls it)
    """Parse a template.

    Args:
        text: The template, at most a mebibyte of characters.
        dialect: One of `DIALECTS`.
        options: `names` and `release` for braces, `lenient` for openai; see `placeholders`.

    Raises:
        TemplateError: It breaks the dialect's grammar or bounds; line, column and what was expected are named.
    """
    if not isinstance(text, str):
        raise TemplateError("a template is text", found=type(text).__name__)
    if len(text) > MAX_SOURCE:
        raise TemplateError(
            "the template is too long", found=f"{len(text):,} characters", expected=f"{MAX_SOURCE:,}"
        )
    if dialect not in DIALECTS:
        raise TemplateError(
            "unknown dialect", found=repr(dialect)[:80], expected=", ".join(DIALECTS),
            hint=did_you_mean(str(dialect), DIALECTS),
        )  # fmt: skip
    frozen = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
    return _compiled(text, dialect, tuple(sorted(frozen.items())))


@lru_cache(maxsize=128)
def _compiled(text: str, dialect: str, options: tuple[tuple[str, Any], ...]) -> Template:
    try:
        engine = _engine(dialect)(text, **dict(options))
    except RecursionError:
        raise TemplateError("the template is nested too deeply", hint="nest it less deeply") from None
    except TypeError as error:
        raise TemplateError(f"the dialect {dialect} has no such option", found=str(error)) from None
    return Template(text, dialect, engine.variables, engine)


def _engine(dialect: str) -> Any:
    engines = {"braces": Braces, "handlebars": Handlebars, "mustache": Mustache, "openai": OpenAI}
    return engines.get(dialect, Jinja)


Turns = list[dict[str, Any]]


def thread_variables(
    sample: Sample | StringThread, platform: str = "adaptive", *, completion: str | None = None, **custom: Any
) -> dict[str, Any]:
    """The built-in variables of a platform's prompts.

    Args:
        sample: The row, or its thread alone.
        platform: adaptive, vllora or openai.
        completion: The judged text, if it is not the thread's last turn (an extractor's).
        custom: Further variables, at top level; for Adaptive criteria, examples, output_schema.

    Returns:
        Names to plain data. vLLora's lists are written as JSON in an output, are lists in sections, and are "" if
        they are empty.

    Raises:
        TemplateError: Another platform.
    """
    if platform not in PLATFORMS:
        raise TemplateError(
            "no such platform's variables", found=repr(platform), expected=", ".join(PLATFORMS)
        )
    if isinstance(sample, StringThread):
        sample = Sample(id="0", thread=sample, reference=None, group="0")
    return {**PLATFORMS[platform](sample, completion), **custom}


def context_text(turns: Turns) -> str:
    """Adaptive's context text: a line with the role, the content, a blank line."""
    return "\n\n".join(f"[{turn['role']}]\n{turn['content']}" for turn in turns)


def _adaptive_variables(sample: Sample, completion: str | None) -> dict[str, Any]:
    thread = sample.thread
    turns = [{"role": turn.role, "content": turn.content} for turn in thread.get_turns()]
    context = turns[: len(thread.messages())]
    last_user = max((at for at, turn in enumerate(context) if turn["role"] == "user"), default=None)
    before = [turn for at, turn in enumerate(context) if at != last_user]
    return {
        "completion": (thread.completion() or "") if completion is None else completion,
        "last_user_turn_content": "" if last_user is None else context[last_user]["content"],
        "context_str": context_text(context),
        "context_str_without_last_user": context_text(before),
        "turns": turns,
        "context_turns": context,
        "context_turns_without_last_user": before,
        "metadata": thread.metadata if isinstance(thread.metadata, Mapping) else {},
    }


def _vllora_variables(sample: Sample, completion: str | None) -> dict[str, Any]:
    thread = sample.thread
    messages = chat_messages(thread)[: len(thread.messages())]
    texts = {role: [m["content"] for m in messages if m["role"] == role] for role in ("user", "system")}
    return {
        "messages": JsonList(messages),
        "response": (thread.completion() or "") if completion is None else completion,
        "lastUserMessage": texts["user"][-1] if texts["user"] else "",
        "systemPrompt": texts["system"][0] if texts["system"] else "",
        "tools": JsonList(thread.tools),
        "toolCalls": JsonList(last_calls(thread)),
    }


def _openai_variables(sample: Sample, completion: str | None) -> dict[str, Any]:
    thread = sample.thread
    text = (thread.completion() or "") if completion is None else completion
    calls = _plain_calls(thread.tool_calls())
    message = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
    answer = {"output_text": text, "output_tools": calls, "choices": [{"index": 0, "message": message}]}
    # The namespace has output_json only if the text is JSON, so that its use elsewhere fails.
    with suppress(ValueError, RecursionError):
        answer["output_json"] = json.loads(text, parse_constant=_no_constant)
    return {"item": _item(sample), "sample": answer}


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _item(sample: Sample) -> dict[str, Any]:
    """The row's columns, and its reference if no column has that name."""
    metadata = sample.thread.metadata
    item = dict(metadata) if isinstance(metadata, Mapping) else {}
    return item if sample.reference is None else {"reference": sample.reference, **item}


def chat_messages(thread: StringThread) -> Turns:
    """All turns as OpenAI chat messages, with their tool calls and the ids that tool turns refer to."""
    messages: Turns = []
    for at, turn in enumerate(thread.get_turns()):
        message: dict[str, Any] = {"role": turn.role, "content": turn.content}
        if calls := thread.turn_calls(at):
            message["tool_calls"] = _plain_calls(calls)
        if (answered := thread.turn_answers(at)) is not None:
            message["tool_call_id"] = answered
        messages.append(message)
    return messages


def last_calls(thread: StringThread) -> list[dict[str, Any]]:
    """The tool calls since the last user turn: those of the response."""
    roles = [turn.role for turn in thread.get_turns()]
    start = max((at for at, role in enumerate(roles) if role == "user"), default=-1)
    return _plain_calls([call for at in range(start + 1, len(roles)) for call in thread.turn_calls(at)])


def _plain_calls(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in call.items() if key != "toolUse"} for call in calls]


PLATFORMS: dict[str, Callable[[Sample, str | None], dict[str, Any]]] = {
    "adaptive": _adaptive_variables,
    "openai": _openai_variables,
    "vllora": _vllora_variables,
}
"""The variables that each platform's prompts can use."""


_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def translate(text: str, source: str, target: str) -> str:
    """The template in another dialect.

    The result is parsed again: if its parts have another meaning, nothing is returned. Names are unchanged; the variable names
    of a platform are the responsibility of its format. Texts render equally in every dialect; other values (a list, a boolean, a
    missing one) follow the rules of each dialect.

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
        return compile(text, source).text
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
