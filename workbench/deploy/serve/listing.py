"""The list of forms and pages, in order, with their addresses: the simplest form first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from workbench.deploy.serve.wire_form import WireForm

__all__ = ["PAGES", "in_order", "with_host", "with_pages"]

_FIRST = ("/score", "/batch_score")
"""One thread, then many: the form for a user without a trainer."""
PAGES = {
    "/info": "The server's description, as of Adaptive's reward servers.",
    "/health": "Whether the server is ready.",
    "/metrics": "Counts and times in Prometheus' text format.",
}
"""Pages in addition to the forms: the first follows the forms it belongs to, the others are at the end."""

_HOST = re.compile(r"\bHOST\b")


def in_order(forms: Iterable[type[WireForm]]) -> list[type[WireForm]]:
    """Forms in the order of the list: those of `_FIRST`, then the others by their paths."""
    known = {form.path: form for form in forms}
    first = [known.pop(path) for path in _FIRST if path in known]
    return [*first, *(known[path] for path in sorted(known))]


def with_pages(forms: Sequence[type[WireForm]]) -> list[type[WireForm] | str]:
    """Forms in order, with the paths of `PAGES` at their positions."""
    first = sum(form.path in _FIRST for form in forms)
    info, *others = PAGES
    return [*forms[:first], info, *forms[first:], *others]


def with_host(recipe: str, base: str) -> str:
    """A recipe with an address instead of HOST."""
    return _HOST.sub(lambda _: base, recipe)
