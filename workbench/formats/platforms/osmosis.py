"""Osmosis rollout modules: a Python file with a `Grader` subclass, or with a decorated reward function.

The file is the grader: it is read as text and nothing is run. A grade function is exported as such a module
around the function's text, which is restored unchanged on import.
Source: osmosis-ai 0.2.27 (`rollout`), and 0.2.17 for `@osmosis_reward`.
"""

from __future__ import annotations

import ast
import re
from pathlib import PurePath
from typing import Any

from workbench.core.errors import FormatError
from workbench.formats.frame.wrapping import unwrap, wrapped
from workbench.formats.shared import Document, Format, Losses, Reading, register
from workbench.formats.shared.parsing import parse_python
from workbench.formats.shared.unsupported import (
    add_gate_loss,
    add_kind_loss,
    check_entry,
    check_reads,
    check_signature,
    note_limits,
    rule_text,
    settings_of_code,
    settings_without_effect,
    without_unused_settings,
)
from workbench.graders import FunctionGrader, Grader, RolloutGrader
from workbench.graders.combine import Entry
from workbench.graders.portable import portable
from workbench.graders.rule_grader import RuleGrader
from workbench.run.suite import Suite

_WAY_OUT = "an Osmosis module contains one Grader class; write it as RolloutGrader or async def grade(thread)"
_ROLLOUT = re.compile(
    r"^[ \t]*(from\s+osmosis_ai(\.rollout\S*)?\s+import\b.*\bGrader\b|import\s+osmosis_ai\b)", re.MULTILINE
)
_BARE = re.compile(r"^class\s+\w+\s*\(\s*Grader\s*\)\s*:", re.MULTILINE)
_LEGACY = re.compile(r"^@\s*(osmosis_ai\.)?(utils\.)?osmosis_(reward|rubric)\b", re.MULTILINE)


def read(reading: Reading) -> Suite:
    """A suite with the module's one grader.

    Raises:
        FormatError: No grader class and no reward function in it.
    """
    text = reading.text
    tree = parse_python(text, reading.where)
    if not (_LEGACY.search(text) or any(isinstance(node, ast.ClassDef) for node in tree.body)):
        raise FormatError(
            "the module contains no grader", where=reading.where,
            expected="a subclass of osmosis_ai.rollout.Grader, or a function under @osmosis_reward",
        )  # fmt: skip
    # Nothing in a module names the grader, so it is named after its file, if there is one.
    name = PurePath(reading.where).stem if reading.folder else ""
    grader: FunctionGrader | RolloutGrader
    try:
        if (own := unwrap(text, "osmosis")) is not None:
            grader = FunctionGrader.from_source(own, imported=True, name=name)
        elif _LEGACY.search(text):
            grader = FunctionGrader.from_source(text, imported=True, signature="osmosis", name=name)
        else:
            grader = RolloutGrader.from_source(text, imported=True, name=name)
    except ValueError as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError("cannot capture the module", where=reading.where, found=str(error)[:300]) from error
    return Suite(grader.trusted() if reading.trust else grader)


def write(suite: Suite, losses: Losses) -> Document:
    """One module for one grader."""
    suite = without_unused_settings(suite, losses)
    if len(suite) > 1:
        names = ", ".join(entry.name for entry in suite.entries)
        losses.add("", "entries", f"a module has one grader, and the suite has {names}",
                   hint="export each to a separate file")  # fmt: skip
    for at, entry in enumerate(suite.entries):
        text = _module(entry, losses)
        if text is not None:
            _check_combination(suite, losses)
            _note_graders_left_out(suite, at, losses)
            return Document(text)
    raise FormatError("no grader can be written", hint=_WAY_OUT)


def _check_combination(suite: Suite, losses: Losses) -> None:
    if suite.combine is not None:
        losses.add("", "combine", "a module has one grader and no way to combine several",
                   hint="combine inside the class")  # fmt: skip
    add_gate_loss(suite, losses)


def _note_graders_left_out(suite: Suite, chosen: int, losses: Losses) -> None:
    for entry in suite.entries[chosen + 1 :]:
        losses.add(entry.name, "grader", f"omitted: the module contains {suite.entries[chosen].name}")
    name = suite.entries[chosen].name
    if losses.stem and losses.stem != name:
        losses.note(
            name,
            "name",
            f"a module does not store a name: imported again, it is named {losses.stem!r} after the file",
        )
    if description := suite.entries[chosen].grader.description:
        losses.note(name, "description", f"{description!r} is not exported"[:200])


def _module(entry: Entry, losses: Losses) -> str | None:
    grader = entry.grader
    if not isinstance(grader, RolloutGrader | FunctionGrader | RuleGrader):
        add_kind_loss(entry, losses, hint=_WAY_OUT)
        return None
    if not check_entry(entry, losses, knows=(*settings_without_effect(entry), *settings_of_code(entry))):
        return None
    note_limits(grader, losses, entry.name)
    return _text(grader, entry, losses)


def _text(grader: Grader, entry: Entry, losses: Losses) -> str | None:
    if isinstance(grader, RolloutGrader) or getattr(grader, "signature", "") == "osmosis":
        return str(getattr(grader, "source").text)  # noqa: B009 (both have one)
    if isinstance(grader, FunctionGrader):
        return _wrapped(grader.source.text, entry, losses)
    text = rule_text(lambda: portable(grader, negate=entry.negate), entry, losses, hint=_WAY_OUT)
    return None if text is None else _wrapped(text, entry, losses)


def _wrapped(text: str, entry: Entry, losses: Losses) -> str | None:
    if not check_signature(entry, losses):
        return None
    if not check_reads(text, "osmosis", losses, entry.name):
        return None
    return wrapped(text, "osmosis", entry.name, losses)


def _detect(document: Any, text: str) -> int:
    return 2 if document is None and any(mark.search(text) for mark in (_ROLLOUT, _BARE, _LEGACY)) else 0


register(Format("osmosis", "Osmosis rollout modules", ".py", read, write, _detect))
