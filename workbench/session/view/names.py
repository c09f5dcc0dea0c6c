"""Names of graders as the page shows them, and back."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.display_text import one_line

__all__ = ["find_name", "shown_name"]

_LONGEST = 200  # what a store takes as a name


def shown_name(name: str) -> str:
    """A grader's name as the page shows it: on one line, hidden characters as code points."""
    return one_line(name, _LONGEST)


def find_name(shown: str, names: Iterable[str]) -> str | None:
    """The name that the page shows so; None for none of these."""
    known = list(names)
    if shown in known:
        return shown
    return next((name for name in known if shown_name(name) == shown), None)
