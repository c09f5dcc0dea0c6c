"""Letta's own grader functions: `file.py:function`, a module beside the suite."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from workbench.errors import FormatError
from workbench.formats.base import Reading
from workbench.formats.node import Node
from workbench.formats.shims import unwrap
from workbench.graders import FunctionGrader
from workbench.sandbox.capture import capture

__all__ = ["function_grader"]

# The built-in rules as Letta functions, for a suite that gives them an extractor of its own.
_BUILTIN = {
    "exact_match": "submission.strip() == sample.ground_truth.strip()",
    "contains": "sample.ground_truth.lower() in submission.lower()",
    "regex_match": "re.search(sample.ground_truth, submission) is not None",
    "ascii_printable_only": "all(32 <= ord(c) <= 126 or c in '\\r\\n' for c in submission)",
}


def function_grader(node: Node, reading: Reading, told: Any) -> FunctionGrader:
    """The function grader behind a spec's `function`, with its extractor where that is a function too.

    Raises:
        FormatError: A name that is no built-in and no `file.py:function`, a file that cannot be read, or a
            module without that function.
    """
    function, chosen = node.text("function"), node.text("extractor", "last_assistant")
    files = [one.partition(":")[0] for one in (function, chosen) if ":" in one]
    if len(set(files)) > 1:
        raise node.refuse(
            "the grader and its extractor live in two files",
            found=", ".join(files),
            hint="put both functions into one file",
        )
    if not files:
        raise node.at("function").refuse(
            "there is no such grader function",
            found=repr(function),
            expected=", ".join((*_BUILTIN, "file.py:function")),
        )
    text = reading.companion(files[0], node.at("function").path)
    name = function.partition(":")[2] if ":" in function else function
    if ":" not in chosen and (own := unwrap(text, "letta", name=name)) is not None:
        return _taken(node, own, reading, told)
    if ":" not in function:
        text += _with_builtin(node, function)
    extraction: dict[str, Any] = {}
    if ":" in chosen:
        config = node.at("extractor_config")
        extraction = {
            "extractor": chosen.partition(":")[2],
            "extractor_config": dict(config.mapping()) if config.value is not None else {},
        }
        _check_function(node.at("extractor"), text, extraction["extractor"])
    return _taken(node, text, reading, told, function=name, signature="letta", **extraction)


def _with_builtin(node: Node, function: str) -> str:
    if function not in _BUILTIN:
        raise node.at("function").refuse(
            "there is no such grader function", found=repr(function), expected=", ".join(_BUILTIN)
        )
    needs = "" if function == "ascii_printable_only" else " if sample.ground_truth else 0.0"
    return (
        "\n\nimport re\n\nfrom letta_evals.decorators import grader\nfrom letta_evals.models import GradeResult, Sample\n"
        f"\n\n@grader\ndef {function}(sample: Sample, submission: str) -> GradeResult:\n"
        f"    return GradeResult(score=float({_BUILTIN[function]}){needs}, rationale='')\n"
    )


def _taken(
    node: Node, text: str, reading: Reading, told: Any, *, function: str = "grade", **how: Any
) -> FunctionGrader:
    _check_function(node.at("function"), text, function)
    try:
        source = replace(capture(text, name=function), imported=True)
        grader = FunctionGrader(source=source, **how, **told)
    except (ValueError, TypeError) as error:
        if isinstance(error, FormatError):
            raise
        raise node.at("function").refuse(
            "the function cannot be taken", found=str(error).splitlines()[0]
        ) from error
    return grader.trusted() if reading.trust else grader


def _check_function(node: Node, text: str, name: str) -> None:
    if not re.search(rf"^(async[ \t]+)?def[ \t]+{re.escape(name)}\b", text, re.MULTILINE):
        raise node.refuse(f"the file has no function {name!r} at its top level")
