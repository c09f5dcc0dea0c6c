"""The manifest of the field corpus: packages, functions, how each is called, and rows. It contains no third-party code."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]
"""A prompt with `prompt`, `reference`, `right` and `wrong` (final results as completions state them), and columns."""


@dataclass(frozen=True, kw_only=True)
class Hole:
    """A hole that is known before a probe: from an issue tracker, or from reading the function.

    Attributes:
        text: A completion; RESULT is replaced by the right result of its row.
        row: Position of its row in the function's rows.
        accepted: Whether the function rewards the text. A repaired version does not.
        names: A regular expression: a finding that it matches names the hole.
        claim: What is wrong, in one sentence.
        fix: How to repair it.
        source: Where the hole is known from.
    """

    text: str
    accepted: bool
    names: str
    claim: str
    fix: str
    row: int = 0
    source: str = "read in the source"


@dataclass(frozen=True, kw_only=True)
class Function:
    """One function of a package.

    Attributes:
        name: Unique in its package.
        target: `module:attribute`.
        call: A Python expression of `fn`, `text`, `row`, `reference` and `prompt`; its value is a number, or contains one.
        rows: The rows.
        shape: How a completion states a final result: RESULT is replaced.
        description: What the function grades, in a few words.
        holes: Known holes.
        direct: Whether the function itself is given to `wb.probe`; otherwise a function of a sample that evaluates `call`.
        setup: A Python expression of the imported `target`; its value is `fn`. "" for the target.
        history: Whether the earlier versions of the package are probed too.
        slow: A probe takes minutes; it runs with `--slow` only.
    """

    name: str
    target: str
    call: str
    rows: Sequence[Row] | str
    shape: str = "RESULT"
    description: str = ""
    holes: tuple[Hole, ...] = ()
    direct: bool = False
    setup: str = ""
    history: bool = False
    slow: bool = False


@dataclass(frozen=True, kw_only=True)
class Package:
    """A package by exact versions.

    Attributes:
        name: Its name in the package index.
        versions: The newest first. Earlier ones show which findings a release closed or opened.
        functions: Its functions.
        needs: Further packages with versions that the functions import.
        bare: Root packages whose `__init__` files are not run, because they import what the functions do not need.
        stands_in: Modules that are imported but not used by the functions: an empty module is imported instead.
    """

    name: str
    versions: tuple[str, ...]
    functions: tuple[Function, ...]
    needs: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()
    stands_in: tuple[str, ...] = ()


def packages() -> Iterator[Package]:
    """All packages, by the names of their files."""
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda one: one.name):
        found = getattr(importlib.import_module(f"{__name__}.{module.name}"), "PACKAGE", None)
        if found is not None:
            yield found


def rows_of(function: Function, made: Sequence[Row] | None = None) -> list[dict[str, Any]]:
    """One row per prompt and completion, as rollouts of a trainer: right ones and wrong ones, without labels."""
    return [
        {**_columns(row), "completion": function.shape.replace("RESULT", result)}
        for row in (made if made is not None else function.rows)
        for result in [*row["right"], *row.get("wrong", ())]
    ]


def _columns(row: Row) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in {"right", "wrong"}}
