"""Letta's grader functions: `file.py:function`, a module in the suite's folder."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from workbench.core.errors import FormatError
from workbench.formats.shared.base import Reading
from workbench.formats.shared.node import Node
from workbench.formats.shared.wrapping import unwrap
from workbench.graders import FunctionGrader
from workbench.graders.capture import capture

__all__ = ["function_grader"]

# The built-in rules as Letta functions, for a suite that gives them a custom extractor: the condition, and the start
# of the rationale.
_BUILTIN = {
    "exact_match": ("submission.strip() == sample.ground_truth.strip()", "Exact match"),
    "contains": ("sample.ground_truth.lower() in submission.lower()", "Contains ground_truth"),
    "regex_match": ("re.search(sample.ground_truth, submission) is not None", "Regex match"),
}
_WITH_TRUTH = """
    if not sample.ground_truth:
        return GradeResult(score=0.0, rationale="No ground_truth {missing} provided")
    try:
        met = {rule}
    except re.error as error:
        return GradeResult(score=0.0, rationale=f"Invalid regex pattern: {{error}}")
    return GradeResult(score=float(met), rationale=f"{words}: {{met}}")
"""
_ASCII = """
    bad = sorted({one for one in submission if not " " <= one <= "~" and one not in "\\r\\n"})
    more = f" (+{len(bad) - 5} more)" if len(bad) > 5 else ""
    shown = ", ".join(map(repr, bad[:5])) + more
    problem = f"Found non-printable ASCII characters: {shown}"
    return GradeResult(
        score=float(not bad), rationale=problem if bad else "All characters printable ASCII (ignoring newlines)"
    )
"""
_NAMES = (*_BUILTIN, "ascii_printable_only")


def function_grader(node: Node, reading: Reading, titles: Any) -> FunctionGrader:
    """The function grader for a spec's `function`, with its extractor if that is a function too.

    Raises:
        FormatError: A name that is neither a built-in nor `file.py:function`, a file that cannot be read, or a
            module without that function.
    """
    function, chosen = node.text("function"), node.text("extractor", "last_assistant")
    # Grader and extractor become one captured module, and two files could define the same names.
    files = [reference.partition(":")[0] for reference in (function, chosen) if ":" in reference]
    if len(set(files)) > 1:
        raise node.refuse(
            "the grader and its extractor are in two files",
            found=", ".join(files),
            hint="put both functions into one file",
        )
    if not files:
        raise node.at("function").refuse(
            "unknown grader function",
            found=repr(function),
            expected=", ".join((*_NAMES, "file.py:function")),
        )
    text = reading.companion(files[0], node.at("function").path)
    name = function.partition(":")[2] if ":" in function else function
    # A module that the workbench wrote is restored as its function; with a custom extractor it stays Letta's.
    if ":" not in chosen and (own := unwrap(text, "letta", name=name)) is not None:
        return _taken(node, own, reading, titles)
    # A built-in rule with an extractor in a file is written out as code, since one module contains both.
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
    return _taken(node, text, reading, titles, function=name, signature="letta", **extraction)


def _with_builtin(node: Node, function: str) -> str:
    if function not in _NAMES:
        raise node.at("function").refuse(
            "unknown grader function", found=repr(function), expected=", ".join(_NAMES)
        )
    rule, words = _BUILTIN.get(function, ("", ""))
    missing = "regex pattern" if function == "regex_match" else "answer"
    body = _WITH_TRUTH.format(rule=rule, words=words, missing=missing) if rule else _ASCII
    return (
        "\n\nimport re\n\nfrom letta_evals.decorators import grader\nfrom letta_evals.models import GradeResult, Sample\n"
        f"\n\n@grader\ndef {function}(sample: Sample, submission: str) -> GradeResult:{body}"
    )


def _taken(
    node: Node, text: str, reading: Reading, titles: Any, *, function: str = "grade", **settings: Any
) -> FunctionGrader:
    _check_function(node.at("function"), text, function)
    try:
        source = replace(capture(text, name=function), imported=True)
        grader = FunctionGrader(source=source, **settings, **titles)
    except (ValueError, TypeError) as error:
        if isinstance(error, FormatError):
            raise
        raise node.at("function").refuse(
            "cannot capture the function", found=str(error).splitlines()[0]
        ) from error
    return grader.trusted() if reading.trust else grader


def _check_function(node: Node, text: str, name: str) -> None:
    if not re.search(rf"^(async[ \t]+)?def[ \t]+{re.escape(name)}\b", text, re.MULTILINE):
        raise node.refuse(f"the file has no function {name!r} at its top level")
