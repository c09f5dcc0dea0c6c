"""The register of extractors: named rules from a thread to the text that is graded."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.errors import FormatError
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

_BUILTIN = "workbench.extractors.builtin."
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

    @property
    def module(self) -> str:
        """The module of ours whose text holds the rule; "" for one that was registered elsewhere."""
        rule = EXTRACTORS[self.name]
        place = sys.modules.get(rule.__module__)
        built_in = rule.__module__.startswith(_BUILTIN) and getattr(place, self.name, None) is rule
        return rule.__module__ if built_in else ""

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
