"""What the pages list, in which order, and with which address: the simplest form first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from workbench.serve.wire_form import WireForm

__all__ = ["PAGES", "in_order", "with_host", "with_pages"]

_FIRST = ("/score", "/batch_score")
"""One thread, then many: what whoever has no trainer yet asks."""
PAGES = {
    "/info": "What the server says of itself, as Adaptive's reward servers do.",
    "/health": "Whether the server is ready.",
    "/metrics": "Counts and times in Prometheus' text form.",
}
"""Pages beside the forms: the first stands behind the forms it belongs to, the others at the end."""

_HOST = re.compile(r"\bHOST\b")


def in_order(forms: Iterable[type[WireForm]]) -> list[type[WireForm]]:
    """Forms as they are listed: those of `_FIRST`, then the others by their paths."""
    known = {form.path: form for form in forms}
    first = [known.pop(path) for path in _FIRST if path in known]
    return [*first, *(known[path] for path in sorted(known))]


def with_pages(forms: Sequence[type[WireForm]]) -> list[type[WireForm] | str]:
    """Forms that are in order, with the paths of `PAGES` in their places."""
    first = sum(form.path in _FIRST for form in forms)
    info, *others = PAGES
    return [*forms[:first], info, *forms[first:], *others]


def with_host(recipe: str, base: str) -> str:
    """A recipe with an address in the place of HOST."""
    return _HOST.sub(lambda _: base, recipe)
