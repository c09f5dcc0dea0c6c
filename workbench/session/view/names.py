"""Names of graders as the page shows them, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from workbench.display_text import one_line

__all__ = ["find_name", "shown_name", "with_real_names"]

_LONGEST = 200  # what a store takes as a name


def shown_name(name: str) -> str:
    """A grader's name as the page shows it, and calls it in messages: on one line, hidden characters as code points."""
    return one_line(name, _LONGEST)


def find_name(shown: str, names: Iterable[str]) -> str | None:
    """The name that the page shows so; None for none of these."""
    known = list(names)
    if shown in known:
        return shown
    return next((name for name in known if shown_name(name) == shown), None)


def with_real_names(message: Mapping[str, Any], graders: Iterable[str]) -> Mapping[str, Any]:
    """A message whose graders are called as they are, where a page was told a name without its hidden characters."""
    names = {shown_name(name): name for name in graders if shown_name(name) != name}
    return _renamed(message, names) if names else message


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """A message with other names in it, wherever they stand by themselves."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, Mapping):
        return {key: _renamed(item, names) for key, item in value.items()}
    return [_renamed(item, names) for item in value] if isinstance(value, list) else value
