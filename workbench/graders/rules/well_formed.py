"""Whether a text is well-formed XML or JSON, or consists of tags in order. Standard library only."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from xml.parsers import expat

from workbench.graders.rules.json_compare import plain_json
from workbench.graders.rules.text import Verdict

_FENCES = re.compile(
    r"\A\s*(`{3,}|~{3,})[ \t]*\w*[ \t]*\n(.*?)^[ \t]*\1[ \t]*\s*\Z", re.DOTALL | re.MULTILINE
)
_MAX_DEPTH = 500
"""Depth of elements."""


def without_fence(text: str, fenced: str) -> str:
    """The content of the only code block of a text, if it is allowed to be one."""
    block = _FENCES.match(text) if fenced == "allow" else None
    return block[2] if block else text


def well_formed_json(text: str, *, root: str = "", fenced: str = "reject") -> Verdict:
    """Whether a text is strict JSON without repeated keys."""
    try:
        value = plain_json(text, fenced)
    except ValueError as error:
        return 0.0, str(error), {}
    return root_verdict(value, root, "JSON")


def root_verdict(value: Any, root: str, name: str) -> Verdict:
    """Whether a value is an object or a list, as required."""
    kinds = {"object": dict, "list": list}
    if root and not isinstance(value, kinds[root]):
        return 0.0, f"The {name} is not {'an object' if root == 'object' else 'a list'}", {}
    return 1.0, f"Well-formed {name}", {}


def well_formed_xml(text: str, *, fenced: str = "reject") -> Verdict:
    """Whether a text is an XML document without document types, whose entities may expand without limit."""
    parser = expat.ParserCreate()
    depth = [0]

    def start(name: str, attributes: Any) -> None:  # noqa: ARG001
        depth[0] += 1
        if depth[0] > _MAX_DEPTH:
            raise ValueError(f"more than {_MAX_DEPTH} nested elements")

    def end(name: str) -> None:  # noqa: ARG001
        depth[0] -= 1

    def refuse(*_: Any) -> None:
        raise ValueError("document types are not accepted")

    parser.StartElementHandler, parser.EndElementHandler, parser.StartDoctypeDeclHandler = start, end, refuse
    try:
        parser.Parse(without_fence(text, fenced).strip().encode("utf-8", "replace"), True)
    except (expat.ExpatError, ValueError) as error:
        return 0.0, f"Invalid XML: {error}", {}
    return 1.0, "Well-formed XML", {}


def tag_format(
    text: str, *, tags: Sequence[str], outside: str = "reject", opened: bool = False, empty: str = "reject"
) -> Verdict:
    """Whether a text is the tags in order, each opened and closed once, none inside another.

    Args:
        text: The completion.
        tags: Names of the tags.
        outside: "allow" text around the tags, or "reject" it.
        opened: Whether the prompt has opened the first tag.
        empty: "allow" tags without text, or "reject" them.
    """
    text = f"<{tags[0]}>{text}" if opened else text
    names = "|".join(map(re.escape, tags))
    marks = [(found[1], found[2]) for found in re.finditer(rf"<(/?)({names})>", text)]
    wanted = [(slash, name) for name in tags for slash in ("", "/")]
    if marks != wanted:
        return 0.0, f"The tags are {_listed(marks)}, expected {_listed(wanted)}"[:300], {"failure": "tags"}
    parts = re.split(rf"</?(?:{names})>", text)
    if outside == "reject" and (around := next((part for part in parts[::2] if part.strip()), "")):
        return 0.0, f"Text outside the tags: {around.strip()[:60]!r}", {"failure": "outside"}
    if empty == "reject" and (
        name := next((tags[at] for at, part in enumerate(parts[1::2]) if not part.strip()), "")
    ):
        return 0.0, f"<{name}> is empty", {"failure": "empty"}
    return 1.0, "The expected tags", {}


def _listed(marks: Sequence[tuple[str, str]]) -> str:
    return " ".join(f"<{slash}{name}>" for slash, name in marks[:20]) or "none"
