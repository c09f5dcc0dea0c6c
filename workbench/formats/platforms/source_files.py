"""Plain source files: a Python module with grade functions, or a JavaScript file with one.

Such a file is handwritten. It is read as text and nothing is run: every function under
`@wb.grader`, else the module's one grade function, with any signature that `FunctionGrader` takes. A file without one
is refused with a list of what it contains.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from workbench.core.errors import CaptureError, FormatError
from workbench.formats.shared import Document, Format, Losses, Reading, register
from workbench.formats.shared.evaluator_calls import evaluators_in, has_evaluators
from workbench.formats.shared.named_functions import CALLED_BY_NAMES, named_functions, with_call
from workbench.formats.shared.parsing import MAX_PYTHON
from workbench.formats.shared.training_code import essential
from workbench.formats.shared.unsupported import (
    add_kind_loss,
    check_entry,
    note_limits,
    rule_text,
    settings_of_code,
    settings_without_effect,
    without_unused_settings,
)
from workbench.formats.shared.writing import check_grader
from workbench.graders import FunctionGrader, Grader, ScriptGrader
from workbench.graders.capture import capture
from workbench.graders.capture.analysis import signature_of
from workbench.graders.capture.module_text import decorated, grade_function
from workbench.graders.capture.source_edit import parsed
from workbench.graders.combine import Entry
from workbench.graders.portable import portable, portable_javascript
from workbench.graders.rule_grader import RuleGrader
from workbench.run.suite import Suite

_PYTHON_FUNCTION = re.compile(r"^(async[ \t]+)?def[ \t]+\w+", re.MULTILINE)
_SCRIPT = re.compile(
    r"^(async[ \t]+)?function[ \t]+\w+[ \t]*\(|^(const|let|var)[ \t]+(grade|evaluate)[ \t]*=", re.MULTILINE
)


def _read_python(reading: Reading) -> Suite:
    if len(reading.text) > MAX_PYTHON:
        raise FormatError(
            "the module is too large", where=reading.where, expected=f"at most {MAX_PYTHON:,} characters"
        )
    try:
        functions = decorated(reading.text) or {"": {}}
        # With `@wb.grader` the author marks graders; else the function may be a trainer's.
        if "" in functions:
            evaluators = evaluators_in(reading.text, reading.where)
            named = _named(reading.text, reading.where)
            if evaluators or named:
                return Suite([
                    *evaluators, *(_named_grader(reading, name, call) for name, call in named.items()),
                ])  # fmt: skip
            check_grader(reading.text, reading.where)
        return Suite([_function(reading, name, settings) for name, settings in functions.items()])
    except CaptureError as error:
        raise FormatError(
            error.what,
            where=reading.where,
            found=error.found,
            expected=error.expected,
            hint=error.hint,
        ) from error
    except (ValueError, TypeError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError("cannot capture the module", where=reading.where, found=str(error)[:300]) from error


def _function(reading: Reading, name: str, settings: dict[str, Any]) -> Grader:
    # A grader from a file is untrusted unless the caller sets `trust`.
    source = replace(capture(reading.text, name=name or None), imported=True)
    grader = FunctionGrader(source=source, signature=signature_of(source.text), **settings)
    return grader.trusted() if reading.trust else grader


def _named(text: str, where: str) -> dict[str, str]:
    """The functions that are called by the names of their parameters, if the module has no grade function."""
    named = named_functions(text)
    tree = parsed(text) if named else None
    if tree is None:
        return {}
    meant = grade_function(tree, None)
    if meant is not None and (meant.name == "grade" or meant.name not in named):
        try:
            check_grader(text, where)
        except FormatError:
            return named
        return {}
    return named


def _named_grader(reading: Reading, name: str, call: str) -> Grader:
    text = with_call(essential(reading.text, name), name)
    grader = FunctionGrader.from_source(
        text, name=name, imported=True, signature="thread", function="_by_names_grade",
        description=f"{CALLED_BY_NAMES}: {call}",
    )  # fmt: skip
    reading.note(name, f"is called by the names of its parameters: {call}")
    return grader.trusted() if reading.trust else grader


def _read_script(reading: Reading) -> Suite:
    try:
        grader = ScriptGrader.from_source(reading.text, imported=True)
    except ValueError as error:
        raise FormatError("cannot capture the script", where=reading.where, found=str(error)[:300]) from error
    return Suite(grader.trusted() if reading.trust else grader)


def _only(
    suite: Suite, losses: Losses, own: type[Any], write: Callable[[Entry, Losses], str | None]
) -> Document:
    """The file of the first grader that can be written; the others, rule and gate are reported as losses."""
    suite, written = without_unused_settings(suite, losses), None
    for entry in suite.entries:
        if written is not None:
            losses.add(
                entry.name, "grader", "a file contains one grader", hint="export each to a separate file"
            )
        elif not isinstance(entry.grader, own | RuleGrader):
            add_kind_loss(entry, losses, hint="export as native")
        elif check_entry(entry, losses, knows=(*settings_without_effect(entry), *settings_of_code(entry))):
            note_limits(entry.grader, losses, entry.name)
            written = write(entry, losses)
            _note_name(entry, written, own, losses)
    if written is None:
        raise FormatError("no grader can be written", hint="export as native")
    for field, value in (("combine", suite.combine), ("gate", suite.gate)):
        if value is not None:
            losses.add("", field, "a file contains one grader and nothing else", hint="export as native")
    return Document(written)


def _note_name(entry: Entry, text: str | None, own: type[Any], losses: Losses) -> None:
    """A file stores no name other than the function's."""
    if text is None:
        return
    name = own.from_source(text).name
    if name != entry.name:
        losses.note(
            entry.name,
            "name",
            f"a file does not store a name: imported again, it is named {name!r} after its function",
        )


def _python_of(entry: Entry, losses: Losses) -> str | None:
    grader = entry.grader
    if not isinstance(grader, FunctionGrader):
        make = partial(portable, entry.grader, negate=entry.negate)
        return rule_text(make, entry, losses, hint="export as native")
    if grader.extractor or grader.extractor_config:
        losses.add(entry.name, "extractor", "a module does not store it", hint="export as letta")
    return grader.source.text


def _script_of(entry: Entry, losses: Losses) -> str | None:
    if isinstance(entry.grader, ScriptGrader):
        return entry.grader.script
    make = partial(portable_javascript, entry.grader, negate=entry.negate)
    return rule_text(make, entry, losses, hint="export as native")


def _detect_python(document: Any, text: str) -> int:
    if document is not None or len(text) > MAX_PYTHON:
        return 0
    if not _PYTHON_FUNCTION.search(text):
        return int(has_evaluators(text))
    tree = parsed(text)
    if tree is None:  # a syntax error is reported by the checks
        return 1
    # Never certain: a platform that recognises its own functions in this module takes precedence.
    return int(any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in tree.body))


def _detect_script(document: Any, text: str) -> int:  # noqa: ARG001 (YAML takes some scripts for its own)
    return int(text.lstrip()[:1] not in {"{", "["} and bool(_SCRIPT.search(text)))


register(
    Format(
        "python",
        "a Python module with grade functions",
        ".py",
        _read_python,
        lambda suite, losses: _only(suite, losses, FunctionGrader, _python_of),
        _detect_python,
        handwritten=True,
        label="Python",
    )
)
register(
    Format(
        "javascript",
        "a JavaScript file: grade(input)",
        ".js",
        _read_script,
        lambda suite, losses: _only(suite, losses, ScriptGrader, _script_of),
        _detect_script,
        handwritten=True,
        label="JavaScript",
    )
)
