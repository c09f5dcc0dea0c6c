"""What writers share: telling, by name, which settings of a grader or an entry a platform does not know."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import MISSING, fields
from typing import Any

from workbench.extractors import Extractor
from workbench.formats.base import Losses
from workbench.graders import Grader
from workbench.graders.combine import Entry

__all__ = ["check_entry", "check_fields", "identifier", "no_kind", "unique"]

_SHARED = {"name", "description"}
# What only says how a failure is handled or how long a row may take: no score of a row that works depends on it.
_HANDLING = {
    "no_reference",
    "bad_pattern",
    "seconds",
    "timeout",
    "memory_mb",
    "trusted_sha256",
    "imported",
    "trust",
}


def check_entry(entry: Entry, losses: Losses, *, knows: Collection[str] = ()) -> None:
    """Tell the settings of an entry that a platform does not have.

    How failures count is left to the platform: `on_error` and `negate_errors` are never told.
    """
    for f in fields(Entry):
        value = getattr(entry, f.name)
        if f.name in {"grader", "name", "_", "on_error", "negate_errors", *knows} or value == f.default:
            continue
        shown = value.spec() if isinstance(value, Extractor) else value
        losses.add(
            entry.name,
            f.name,
            f"there is no {f.name} there (it is {shown!r})",
            way_out=_ENTRY_WAYS.get(f.name, ""),
        )


_ENTRY_WAYS = {
    "weight": "combine in the platform's own settings, or export as a format with weights",
    "severity": "export as umbraco",
    "negate": "write the opposite as a grader of its own",
    "pass_threshold": "set the threshold in the platform",
    "extractor": "put the extraction into the grader itself",
}


def check_fields(
    grader: Grader, losses: Losses, name: str, *, knows: Collection[str], way_out: str = ""
) -> None:
    """Tell the fields of a grader that are not at their default and that the platform cannot say."""
    for f in fields(grader):
        if not f.init or f.name.startswith("_") or f.name in {*_SHARED, *_HANDLING, *knows}:
            continue
        value = getattr(grader, f.name)
        default = f.default_factory() if f.default_factory is not MISSING else f.default
        if value != default:
            shown: Any = value.spec() if isinstance(value, Extractor) else value
            losses.add(name, f.name, f"{f.name}={shown!r} has no counterpart there"[:300], way_out=way_out)


def no_kind(entry: Entry, losses: Losses, *, way_out: str) -> None:
    """Tell that a platform has nothing like a grader; on request the grader is dropped."""
    losses.add(entry.name, "kind", f"it has nothing like a {entry.grader.kind} grader", way_out=way_out)


def unique(name: str, taken: Collection[str]) -> str:
    """The name, or with a number behind it where it is taken."""
    if name not in taken:
        return name
    number = 2
    while f"{name} {number}" in taken:
        number += 1
    return f"{name} {number}"


def identifier(name: str, taken: Collection[str] = ()) -> str:
    """The name as an identifier of Python, JavaScript and formulas: ASCII letters, digits, underscores."""
    import keyword

    plain = (
        "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name).strip("_") or "grader"
    )
    plain = f"g_{plain}" if plain[0].isdigit() or keyword.iskeyword(plain) else plain
    return unique(plain, taken).replace(" ", "_")
