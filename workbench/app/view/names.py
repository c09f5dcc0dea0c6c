"""Names of graders as the page shows them, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from workbench.core.display_text import one_line

__all__ = ["find_name", "shown_name", "with_real_names"]

_MAX_CHARACTERS = 200  # the longest name a store accepts


def shown_name(name: str) -> str:
    """A grader's name on the page and in its messages: on one line, hidden characters as code points."""
    return one_line(name, _MAX_CHARACTERS)


def find_name(shown: str, names: Iterable[str]) -> str | None:
    """The name with this text on the page; None if there is none."""
    known = list(names)
    if shown in known:
        return shown
    return next((name for name in known if shown_name(name) == shown), None)


def with_real_names(message: Mapping[str, Any], graders: Iterable[str]) -> Mapping[str, Any]:
    """A message with graders' real names, if the page has a name without its hidden characters."""
    names = {shown_name(name): name for name in graders if shown_name(name) != name}
    return _renamed(message, names) if names else message


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """A message with names replaced wherever they are complete values."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, Mapping):
        return {key: _renamed(item, names) for key, item in value.items()}
    return [_renamed(item, names) for item in value] if isinstance(value, list) else value
