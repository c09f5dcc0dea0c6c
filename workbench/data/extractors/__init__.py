"""Extractors: named functions from a thread to the text that a grader grades.

Each module of this package registers extractors with `@extractor("name")`, as users may.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.core.discovery import load_modules, refuse_taken
from workbench.core.display_text import did_you_mean
from workbench.core.errors import FormatError
from workbench.core.thread import StringThread

ExtractorFunction = Callable[..., str]

EXTRACTORS: dict[str, ExtractorFunction] = {}
"""Every extractor by its name: a function of the thread and, keyword-only, its settings."""
LETTA = (
    "last_assistant", "first_assistant", "all_assistant", "last_turn", "pattern", "tool_arguments", "tool_output",
    "after_marker", "memory_block",
)  # fmt: skip
"""The extractors of Letta Evals (0.4.x). Only these can be exported to it."""

_BUILTIN = f"{__name__}."
_SETTING_TYPES = {"str": str, "int": int, "bool": bool}
"""Annotations of settings whose type is checked."""


def extractor(name: str) -> Callable[[ExtractorFunction], ExtractorFunction]:
    r"""Register an extractor: a function of a `StringThread`, with its settings keyword-only, that returns text.

    Raises:
        ValueError: The name is taken by another function, or is one of Letta's.

    Example:
        >>> @extractor("first_line")
        ... def first_line(thread):
        ...     return (thread.completion() or "").partition("\n")[0]
        >>> Extractor("first_line").extract(StringThread([("assistant", "yes\nno")]))
        'yes'
    """

    def register(function: ExtractorFunction) -> ExtractorFunction:
        # Letta's names cannot be replaced, not even by a function of the same name.
        if name in LETTA and name in EXTRACTORS:
            raise ValueError(f"extractor {name!r} is taken by {EXTRACTORS[name].__qualname__}")
        refuse_taken("extractor", name, EXTRACTORS.get(name), function)
        EXTRACTORS[name] = function
        return function

    return register


@dataclass(frozen=True)
class Extractor:
    r"""An extractor's name with its settings.

    Attributes:
        name: A key of `EXTRACTORS`.
        config: The settings.

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
                hint=did_you_mean(self.name, EXTRACTORS)
                or 'register your own with @extractor("name"), from workbench.data.extractors',
            )
        object.__setattr__(self, "config", dict(self.config))
        _check_settings(self.name, self.config)

    def __hash__(self) -> int:
        return hash(self.name)  # the settings are a dict; equal extractors share a name

    @property
    def module(self) -> str:
        """The module of the workbench that defines the function, for export; "" for one registered by the user."""
        function = EXTRACTORS[self.name]
        module = sys.modules.get(function.__module__)
        is_builtin = function.__module__.startswith(_BUILTIN) and getattr(module, self.name, None) is function
        return function.__module__ if is_builtin else ""

    def extract(self, thread: StringThread) -> str:
        """The text to grade; "" if there is none.

        Raises:
            ValueError: A setting is invalid, such as a pattern that cannot be parsed.
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
    """An extractor from its name or its spec.

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
    setting_names = {setting.name for setting in settings if setting.kind is not setting.VAR_KEYWORD}
    needed = [
        setting.name
        for setting in settings
        if setting.default is setting.empty and setting.kind is setting.KEYWORD_ONLY
    ]
    missing = [setting for setting in needed if setting not in config]
    open_ended = any(setting.kind is setting.VAR_KEYWORD for setting in settings)
    unknown = [] if open_ended else sorted(set(config) - setting_names)
    if missing or unknown:
        raise FormatError(
            f"extractor {name!r} has no setting {unknown[0]!r}"
            if unknown
            else f"extractor {name!r} needs {missing[0]!r}",
            found=", ".join(sorted(config)) or "no settings",
            expected=", ".join(sorted(setting_names)) or "no settings",
            hint=did_you_mean(unknown[0], setting_names) if unknown else "",
        )
    for setting in settings:
        # A module that postpones its annotations has them as text.
        expected_type = _SETTING_TYPES.get(getattr(setting.annotation, "__name__", setting.annotation))
        # By type and not `isinstance`, to which a bool is an int.
        if expected_type and setting.name in config and type(config[setting.name]) is not expected_type:
            raise FormatError(
                f"setting {setting.name!r} of extractor {name!r} must be {expected_type.__name__}",
                found=repr(config[setting.name])[:80],
            )


# Every module of this package registers its extractors when it is loaded.
load_modules(sys.modules[__name__])
