"""Convert a text to a grader and back: Python, JavaScript, or a spec as JSON."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import NamedTuple

from workbench.app.session.notebook import notebook_names, taken_by
from workbench.core.errors import FormatError, WorkbenchError
from workbench.core.python_text import parse
from workbench.graders import FunctionGrader, Grader, SandboxedGrader, ScriptGrader
from workbench.graders.serialization import from_record

__all__ = ["GraderText", "cell_of", "grader_from_text", "text_of"]

_SCRIPT = re.compile(r"^\s*(export\s+)?(async\s+)?function\s+\w+\s*\(", re.MULTILINE)


class GraderText(NamedTuple):
    """A grader as text: its code if it has some, else its spec.

    Attributes:
        text: `grader_from_text` creates the same grader from it; for a function of the notebook, why there is none.
        language: "python", "javascript", "json" or "".
        file: A name for its file; "" for none.
    """

    text: str
    language: str
    file: str


def text_of(grader: Grader) -> GraderText:
    """The text of a grader."""
    if isinstance(grader, SandboxedGrader):
        ending = "js" if grader.language == "javascript" else "py"
        return GraderText(grader.source.text, grader.language, f"{_file(grader.name)}.{ending}")
    try:
        spec = json.dumps(grader.spec(), indent=2, ensure_ascii=False, default=repr)
    except WorkbenchError as error:  # a function without an import path has no spec
        return GraderText(str(error), "", "")
    return GraderText(spec, "json", f"{_file(grader.name)}.json")


def _file(name: str) -> str:
    """A name for a file, without characters that a path or a shell would interpret."""
    safe = "".join(character if character.isalnum() or character in "-_." else "_" for character in name)[:80]
    return safe.strip(".") or "grader"


def grader_from_text(source: str, name: str = "") -> Grader:
    """Create a grader from a text that a user typed. Nothing of it runs.

    Raises:
        WorkbenchError: It is empty, not a JSON object of a known kind, or not a module with a grade function.
    """
    if not source.strip():
        raise WorkbenchError("the text is empty", hint="choose a template to start from")
    if source.lstrip().startswith("{"):
        return _from_spec(source, name)
    make = ScriptGrader.from_source if _is_script(source) else FunctionGrader.from_source
    return make(source, name=name)


def _from_spec(source: str, name: str) -> Grader:
    try:
        spec = json.loads(source)
    except (ValueError, RecursionError) as error:
        raise FormatError(
            "the spec is not valid JSON", found=str(error)[:200], expected='{"kind": ..., ...}'
        ) from None
    return from_record({**spec, **({"name": name} if name else {})})


def cell_of(source: str, name: str) -> str:
    """The lines that create the same grader in a cell."""
    if source.lstrip().startswith("{"):
        spec = {**json.loads(source), "name": name}
        document = {"format": "grader-workbench", "version": 1, "graders": [spec]}
        return f"grader = wb.loads({document!r})[0]\napp.add(grader)"
    script = _is_script(source)
    if not _heads_a_cell(name):
        kind = "ScriptGrader" if script else "FunctionGrader"
        return f"grader = wb.{kind}.from_source({source!r}, name={name!r})\napp.add(grader)"
    return f"%%grader {'--js ' if script else ''}{name}\n{source}"


def _heads_a_cell(name: str) -> bool:
    """Whether `%%grader` accepts a name without changing it."""
    normalized = unicodedata.normalize("NFKC", name)  # as Python reads a name
    return name.isidentifier() and normalized == name and not taken_by(name, notebook_names())


def _is_script(source: str) -> bool:
    """Whether a text is JavaScript: a Python module may mention a function in its docstring."""
    if not _SCRIPT.search(source):
        return False
    try:
        parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    return False
