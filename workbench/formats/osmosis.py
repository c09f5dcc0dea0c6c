"""Osmosis rollout modules: a Python file with a `Grader` subclass, or with a decorated reward function.

The file is the grader: it is read as text and nothing is run. What the workbench writes for a grade function
is such a module around the function's own text, which comes back unchanged.

Source: osmosis-ai 0.2.27 (`rollout`), and 0.2.17 for `@osmosis_reward`.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any

from workbench.errors import FormatError
from workbench.formats.base import Document, Format, Losses, Reading, register
from workbench.formats.limits import check_entry, no_kind
from workbench.formats.shims import check_reads, unwrap, wrap
from workbench.graders import FunctionGrader, Grader, RolloutGrader
from workbench.graders.combine import Entry
from workbench.graders.portable import portable
from workbench.graders.text import CodeGrader
from workbench.suite import Suite

__all__ = ["read", "write"]

_WAY_OUT = "an Osmosis module holds one Grader class; write it as RolloutGrader or async def grade(thread)"
_ROLLOUT = re.compile(
    r"^\s*(from\s+osmosis_ai(\.rollout\S*)?\s+import\b.*\bGrader\b|import\s+osmosis_ai\b)", re.MULTILINE
)
_LEGACY = re.compile(r"^@\s*(osmosis_ai\.)?(utils\.)?osmosis_(reward|rubric)\b", re.MULTILINE)


def read(reading: Reading) -> Suite:
    """A suite of the module's one grader.

    Raises:
        FormatError: No grader class and no reward function in it.
    """
    text = reading.text
    name = PurePath(reading.where).stem if reading.folder else ""
    grader: FunctionGrader | RolloutGrader
    try:
        if (own := unwrap(text)) is not None:
            grader = FunctionGrader.from_source(own, imported=True, name=name)
        elif _LEGACY.search(text):
            grader = FunctionGrader.from_source(text, imported=True, signature="osmosis", name=name)
        else:
            grader = RolloutGrader.from_source(text, imported=True, name=name)
    except ValueError as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(
            "the module cannot be taken", where=reading.where, found=str(error)[:300]
        ) from error
    return Suite(grader.trusted() if reading.trust else grader)


def write(suite: Suite, losses: Losses) -> Document:
    """One module for one grader."""
    for field, value in (("combine", suite.combine), ("gate", suite.gate)):
        if value is not None:
            losses.add(
                "",
                field,
                "a module has one grader and no way to combine several",
                way_out="combine inside the class",
            )
    if len(suite) > 1:
        names = ", ".join(entry.name for entry in suite.entries[1:])
        losses.add(
            "",
            "entries",
            f"a module has one grader; {names} would be left out",
            way_out="export each to a file of its own",
        )
    return Document(_module(suite.entries[0], losses))


def _module(entry: Entry, losses: Losses) -> str:
    grader = entry.grader
    limit = entry.pass_threshold
    harmless = limit is not None and 0 < limit <= 1 and isinstance(grader, CodeGrader)
    check_entry(entry, losses, knows=("pass_threshold",) if harmless else ())
    text = _text(grader, entry, losses)
    if text is None:
        no_kind(entry, losses, way_out=_WAY_OUT)
        raise FormatError("nothing is left to write", hint=_WAY_OUT)
    return text


def _text(grader: Grader, entry: Entry, losses: Losses) -> str | None:
    if isinstance(grader, RolloutGrader):
        return grader.source.text
    if isinstance(grader, FunctionGrader) and grader.signature == "osmosis":
        return grader.source.text
    if isinstance(grader, FunctionGrader) and grader.signature == "thread":
        text = grader.source.text
    elif isinstance(grader, CodeGrader):
        text = portable(grader)
    else:
        return None
    check_reads(text, "osmosis", losses, entry.name)
    return wrap(text, "osmosis")


def _detect(document: Any, text: str) -> int:
    return 2 if document is None and (_ROLLOUT.search(text) or _LEGACY.search(text)) else 0


register(Format("osmosis", "Osmosis rollout modules", ".py", read, write, _detect))
