"""A text as a grader: Python, JavaScript, or a spec as JSON."""

from __future__ import annotations

import json
import re

from workbench.errors import FormatError, WorkbenchError
from workbench.graders import FunctionGrader, Grader, ScriptGrader
from workbench.records import from_record

__all__ = ["code_of", "written"]

_SCRIPT = re.compile(r"^\s*(export\s+)?(async\s+)?function\s+\w+\s*\(", re.MULTILINE)


def written(source: str, name: str = "") -> Grader:
    """The grader of a text that a person typed. Nothing of it runs.

    Raises:
        WorkbenchError: It is empty, no JSON object of a known kind, or no module with a grade function.
    """
    if not source.strip():
        raise WorkbenchError("there is no text to make a grader of", hint="choose something to start from")
    if source.lstrip().startswith("{"):
        return _from_spec(source, name)
    make = ScriptGrader.from_source if _SCRIPT.search(source) else FunctionGrader.from_source
    return make(source, name=name)


def _from_spec(source: str, name: str) -> Grader:
    try:
        spec = json.loads(source)
    except (ValueError, RecursionError) as error:
        raise FormatError(
            "the spec is no JSON", found=str(error)[:200], expected='{"kind": ..., ...}'
        ) from None
    return from_record({**spec, **({"name": name} if name else {})})


def code_of(source: str, name: str) -> str:
    """The lines that would make the same grader in a cell."""
    if source.lstrip().startswith("{"):
        return f"grader = wb.loads({{'graders': [{source.strip()}]}})[0]"
    if _SCRIPT.search(source):
        return f"%%grader --js {name}\n{source}"
    return f"%%grader {name}\n{source}"
