"""Which part of a conversation a grader looks at: a named rule from a thread to a text.

The nine of Letta Evals (0.4.x), with their names, settings and search direction, and whatever is
registered with `@extractor("name")`. An *assistant message* is an assistant turn that says something; a
turn that only calls tools is none, as in Letta's trajectories.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.errors import FormatError
from workbench.patterns import Pattern
from workbench.thread import StringThread

__all__ = ["EXTRACTORS", "LETTA", "Extractor", "as_extractor", "extractor"]

Rule = Callable[..., str]

EXTRACTORS: dict[str, Rule] = {}
"""Every rule by its name: a function of the thread and, keyword-only, its settings."""
LETTA = (
    "last_assistant", "first_assistant", "all_assistant", "last_turn", "pattern", "tool_arguments", "tool_output",
    "after_marker", "memory_block",
)  # fmt: skip
"""The extractors that Letta Evals has (0.4.x). Only these leave for it, wherever others were defined."""

_PLAIN = {"str": str, "int": int, "bool": bool}
"""Annotations of settings that are held to their type."""


def extractor(name: str) -> Callable[[Rule], Rule]:
    r"""Register a rule: a function of a `StringThread`, with its settings keyword-only, that returns text.

    Raises:
        ValueError: The name is taken by another function, or is one of Letta's.

    Example:
        >>> @extractor("first_line")
        ... def first_line(thread):
        ...     return (thread.completion() or "").partition("\n")[0]
        >>> Extractor("first_line").extract(StringThread([("assistant", "yes\nno")]))
        'yes'
    """

    def register(rule: Rule) -> Rule:
        # A cell that runs again registers anew; Letta's names keep their rules.
        again = (
            name not in LETTA and name in EXTRACTORS and EXTRACTORS[name].__qualname__ == rule.__qualname__
        )
        if name in EXTRACTORS and not again:
            raise ValueError(f"extractor {name!r} is taken by {EXTRACTORS[name].__qualname__}")
        EXTRACTORS[name] = rule
        return rule

    return register


@dataclass(frozen=True)
class Extractor:
    r"""A rule with its settings.

    Attributes:
        name: Out of `EXTRACTORS`.
        config: The rule's settings.

    Raises:
        FormatError: An unknown name (what exists is listed), an unknown or missing setting.

    Example:
        >>> rule = Extractor("pattern", {"pattern": r"\d+"})
        >>> rule.extract(StringThread([("assistant", "The answer is 42")]))
        '42'
    """

    name: str = "last_assistant"
    config: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.name not in EXTRACTORS:
            raise FormatError(
                "unknown extractor",
                found=repr(self.name)[:80],
                expected=", ".join(sorted(EXTRACTORS)),
                hint='register your own with @workbench.extractor("name")',
            )
        object.__setattr__(self, "config", dict(self.config))
        _check_settings(self.name, self.config)

    def __hash__(self) -> int:
        return hash(self.name)  # the settings are a dict; equal extractors share a name

    def extract(self, thread: StringThread) -> str:
        """The text to grade; "" where the rule finds nothing.

        Raises:
            ValueError: A setting does not fit, such as a pattern that cannot be read.
            RuntimeError: `memory_block` on a thread without agent state.
        """
        text = EXTRACTORS[self.name](thread, **self.config)
        if not isinstance(text, str):
            raise TypeError(f"extractor {self.name!r} must return text, not {type(text).__name__}")
        return text

    def spec(self) -> str | dict[str, Any]:
        """The name alone, or a dict of `name` and the settings."""
        return {"name": self.name, **self.config} if self.config else self.name


def as_extractor(value: Extractor | str | Mapping[str, Any]) -> Extractor:
    """An extractor out of its name or its spec.

    Raises:
        FormatError: As `Extractor`, or `value` is neither.
    """
    if isinstance(value, Extractor):
        return value
    if isinstance(value, str):
        return Extractor(value)
    if isinstance(value, Mapping) and isinstance(value.get("name"), str):
        return Extractor(value["name"], {key: item for key, item in value.items() if key != "name"})
    raise FormatError("an extractor is a name, or a dict with a name", found=repr(value)[:80])


def _check_settings(name: str, config: Mapping[str, Any]) -> None:
    settings = list(inspect.signature(EXTRACTORS[name]).parameters.values())[1:]
    known = {one.name for one in settings if one.kind is not one.VAR_KEYWORD}
    needed = [one.name for one in settings if one.default is one.empty and one.kind is one.KEYWORD_ONLY]
    missing = [one for one in needed if one not in config]
    open_ended = any(one.kind is one.VAR_KEYWORD for one in settings)
    unknown = [] if open_ended else sorted(set(config) - known)
    if missing or unknown:
        raise FormatError(
            f"extractor {name!r} has no setting {unknown[0]!r}"
            if unknown
            else f"extractor {name!r} needs {missing[0]!r}",
            found=", ".join(sorted(config)) or "no settings",
            expected=", ".join(sorted(known)) or "no settings",
        )
    for one in settings:
        wanted = _PLAIN.get(getattr(one.annotation, "__name__", one.annotation))
        if wanted and one.name in config and type(config[one.name]) is not wanted:
            raise FormatError(
                f"setting {one.name!r} of extractor {name!r} must be {wanted.__name__}",
                found=repr(config[one.name])[:80],
            )


def _said(thread: StringThread) -> list[tuple[int, str]]:
    """Assistant messages, oldest first, with their place among the turns."""
    turns = thread.get_turns()
    return [
        (at, turn.content)
        for at, turn in enumerate(turns)
        if turn.role == "assistant" and (turn.content or not thread.turn_calls(at))
    ]


@extractor("last_assistant")
def last_assistant(thread: StringThread) -> str:
    """The last assistant message, "" where there is none."""
    said = _said(thread)
    return said[-1][1] if said else ""


@extractor("first_assistant")
def first_assistant(thread: StringThread) -> str:
    """The first assistant message, "" where there is none."""
    said = _said(thread)
    return said[0][1] if said else ""


@extractor("all_assistant")
def all_assistant(thread: StringThread, *, separator: str = "\n") -> str:
    """All assistant messages, joined."""
    return separator.join(text for _, text in _said(thread))


@extractor("last_turn")
def last_turn(thread: StringThread, *, separator: str = "\n") -> str:
    """The assistant messages since the user last spoke, joined."""
    asked = [at for at, turn in enumerate(thread.get_turns()) if turn.role == "user"]
    return separator.join(text for at, text in _said(thread) if at > (asked[-1] if asked else -1))


@extractor("pattern")
def pattern(thread: StringThread, *, pattern: str, group: int | str = 0, search_all: bool = False) -> str:
    """What a regular expression finds in the newest assistant message that has it.

    With `search_all` every find in that one message, joined by a space; of several groups `group` then
    picks by place from 0, so that the default picks the first one.
    """
    rule = Pattern(pattern)
    for _, text in reversed(_said(thread)):
        if match := rule.search(text):
            return _finds(rule, text, group) if search_all else match.group(group) or ""
    return ""


def _finds(rule: Pattern, text: str, group: Any) -> str:
    return " ".join(one[group] if isinstance(one, tuple) else one for one in rule.findall(text))


@extractor("after_marker")
def after_marker(thread: StringThread, *, marker: str, include_marker: bool = False) -> str:
    """What follows the marker's first place in the newest assistant message that has it, stripped."""
    for _, text in reversed(_said(thread)):
        at = text.find(marker)
        if at >= 0:
            return text[at if include_marker else at + len(marker) :].strip()
    return ""


@extractor("tool_arguments")
def tool_arguments(thread: StringThread, *, tool_name: str) -> str:
    """The arguments of the first call of a tool, as the JSON text it was called with; "{}" where none."""
    call = _first_call(thread, tool_name)
    return "{}" if call is None else _text(call.get("function", call).get("arguments", "{}"))


@extractor("tool_output")
def tool_output(thread: StringThread, *, tool_name: str) -> str:
    """What the first call of a tool returned, found by the call's id; "" where nothing was."""
    call = _first_call(thread, tool_name)
    if call is None:
        return ""
    turns = thread.get_turns()
    answers = (turn.content for at, turn in enumerate(turns) if thread.turn_answers(at) == call.get("id"))
    return next(answers, "") if call.get("id") is not None else ""


@extractor("memory_block")
def memory_block(thread: StringThread, *, block_label: str) -> str:
    """A memory block of the agent, out of `metadata["agent_state"]`; "" where no block has the label.

    Raises:
        RuntimeError: The thread's metadata has no agent state.
    """
    metadata = thread.metadata if isinstance(thread.metadata, Mapping) else {}
    state = metadata.get("agent_state")
    if not isinstance(state, Mapping):
        raise RuntimeError("memory_block needs agent state: there is no metadata['agent_state']")  # noqa: TRY004 (as upstream)
    # Before Letta 0.8 the blocks lie under `memory`, since then beside it.
    held = state["memory"] if isinstance(state.get("memory"), Mapping) else state
    blocks = [one for one in held.get("blocks") or () if isinstance(one, Mapping)]
    return next((_text(one.get("value")) for one in blocks if one.get("label") == block_label), "")


def _first_call(thread: StringThread, name: str) -> dict[str, Any] | None:
    for call in thread.tool_calls():
        function = call.get("function", call) if isinstance(call, Mapping) else {}
        if isinstance(function, Mapping) and function.get("name") == name:
            return dict(call)
    return None


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    import json

    return "" if value is None else json.dumps(value, ensure_ascii=False)
