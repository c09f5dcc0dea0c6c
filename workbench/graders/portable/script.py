"""Code graders as a JavaScript function that stands alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from workbench.graders.base import Grader
from workbench.graders.guardrail import Guardrail
from workbench.graders.portable.expression import script_pattern
from workbench.graders.portable.refusals import refusal
from workbench.graders.structure import JsonKeys
from workbench.graders.text import (
    AsciiPrintable,
    Contains,
    ExactMatch,
    LabelSet,
    Length,
    Regex,
    StringCheck,
    TextGrader,
)
from workbench.graders.text.base import ReferenceGrader
from workbench.graders.tools import ToolCallMatch
from workbench.patterns import python_spelling
from workbench.samples.columns import ROLES

__all__ = ["portable_javascript"]

_RULES = Path(__file__).parents[1] / "rules" / "rules.js"
_FUNCTION = re.compile(r"^function (\w+)\(.*?^\}$", re.MULTILINE | re.DOTALL)
_SIDE = re.compile(r"\{\{\s*(item\.[\w-]+|sample\.output_text)\s*\}\}")


def portable_javascript(grader: Grader, *, reference_field: str | None = None, negate: bool = False) -> str:
    """A `function grade(input)` that scores the same, for vLLora and for script graders.

    The text graded is `input.response`, or, where the last turn only calls tools, what the assistant said
    before; a conversation the assistant does not end is graded as "". The reference is found in
    `input.metadata`, where JavaScript cannot tell 4.0 from 4. A row that fails here throws there. Regular
    expressions travel if every sign of theirs means the same in both languages or can be spelled so that it
    does.

    Args:
        grader: A code grader.
        reference_field: Key of the reference in the metadata; None for the first of reference, expected,
            ground_truth, label, answer.
        negate: Give 1 - score, as a negated entry of a suite does; a row that fails still throws.

    Raises:
        FormatError: This grader, or a setting of it, cannot travel; the field and the way out are named.
    """
    make = _RECIPES.get(type(grader))
    if make is None:
        raise refusal(grader, "", "this kind has no JavaScript form")
    names = (reference_field,) if reference_field else ROLES["reference"]
    lines = make(grader, names)
    if isinstance(grader, TextGrader):
        if grader.extractor.spec() != "last_assistant":
            raise refusal(grader, "extractor", "a script is given the response only", 'use "last_assistant"')
        empty = ["if (!text) return 0.0;"] if grader.on_empty == "zero" else []
        lines = ["const text = lastAssistant(input);", *empty, *lines]
    body = "\n".join(f"  {line}" for line in lines)
    name = "scoreBeforeNegation" if negate else "grade"
    main = [f"function {name}(input) {{\n{body}\n}}\n"]
    if negate:
        main.append(f"function grade(input) {{\n  return 1.0 - {name}(input);\n}}\n")
    return "\n\n".join([*_needed(body), *main])


@lru_cache(maxsize=1)
def _functions() -> dict[str, str]:
    return {match[1]: match[0] for match in _FUNCTION.finditer(_RULES.read_text("utf-8"))}


def _needed(text: str) -> list[str]:
    """The rules a text calls, and those they call, in the order of their file."""
    known, found = _functions(), set[str]()
    waiting = [text]
    while waiting:
        called = set(re.findall(r"\b(\w+)\b", waiting.pop())) & set(known)
        waiting += [known[name] for name in called - found]
        found |= called
    return [source for name, source in known.items() if name in found]


def _js(value: Any) -> str:
    """A setting as a JavaScript literal."""
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def _score(call: str) -> str:
    return f"return {call} ? 1.0 : 0.0;"


def _plain(rule: str, *settings: str) -> Callable[[Any, tuple[str, ...]], list[str]]:
    def make(grader: Any, names: tuple[str, ...]) -> list[str]:  # noqa: ARG001
        return [_score(f"{rule}({', '.join(['text', *(_js(getattr(grader, name)) for name in settings)])})")]

    return make


def _compared(rule: str, *settings: str) -> Callable[[Any, tuple[str, ...]], list[str]]:
    def make(grader: Any, names: tuple[str, ...]) -> list[str]:
        values = ["text", "expected", *(_js(getattr(grader, name)) for name in settings)]
        return [*_expected(grader, names), _score(f"{rule}({', '.join(values)})")]

    return make


def _expected(grader: ReferenceGrader, names: tuple[str, ...]) -> list[str]:
    if grader.constant is not None:
        return [f"const expected = {_js(grader.constant)};"]
    if grader.on_no_reference == "fail":
        return [f"const expected = textOfReference(input, {_js(names)});"]
    return [
        f"const reference = referenceOf(input, {_js(names)});",
        'if (reference === null || reference === "") return 0.0;',
        "const expected = asText(reference);",
    ]


def _string_check(grader: StringCheck, names: tuple[str, ...]) -> list[str]:
    sides = [_side(grader, field, names) for field in ("input", "reference")]
    return [_score(f"stringCheck({', '.join(sides)}, {_js(grader.operation)})")]


def _side(grader: StringCheck, field: str, names: tuple[str, ...]) -> str:
    """A template as an expression: a constant, the output's text, or one value of the item."""
    template: str = getattr(grader, field)
    match = _SIDE.fullmatch(template)
    if match is None and "{{" in template:
        why = "its template holds more than one plain value"
        raise refusal(grader, field, why, "use {{sample.output_text}}, one {{item.x}}, or a constant")
    if match is None:
        return _js(template)
    if match[1] == "sample.output_text":
        return "text"
    key = match[1].removeprefix("item.")
    # The key itself first: a column of that name outranks the reference.
    return f"itemText(input, {_js((key, *names) if key == 'reference' else (key,))})"


def _regex(grader: Regex, names: tuple[str, ...]) -> list[str]:  # noqa: ARG001
    if grader.pattern is None:
        raise refusal(
            grader, "pattern", "patterns out of the samples are Python's", "give it a constant pattern"
        )
    return [_search(grader, grader.pattern)]


def _search(grader: Regex | Guardrail, pattern: str) -> str:
    if grader.multiline:
        raise refusal(
            grader, "multiline", "line ends are not the same in JavaScript", "write (?:^|\\n) instead"
        )
    dotnet = isinstance(grader, Guardrail) or grader.flavor == "dotnet"
    try:
        spelled = script_pattern(
            python_spelling(pattern) if dotnet else pattern, ignore_case=grader.ignore_case
        )
    except (ValueError, RecursionError, OverflowError) as error:
        raise refusal(grader, "pattern", str(error), "simplify the pattern, or export it as Python") from None
    except re.error as error:
        raise refusal(grader, "pattern", f"it cannot be read: {error}", "mend the pattern") from None
    flags = "iu" if grader.ignore_case else "u"
    return _score(f"new RegExp({_js(spelled)}, {_js(flags)}).test(text)")


def _guardrail(grader: Guardrail, names: tuple[str, ...]) -> list[str]:  # noqa: ARG001
    if not grader.evaluator or not grader.pattern:
        return ["return 0.0;"]
    if grader.evaluator == "contains":
        return [_score(f"contains(text, {_js(grader.pattern)}, {_js(grader.ignore_case)})")]
    return [_search(grader, grader.pattern)]


def _tool_call(grader: ToolCallMatch, names: tuple[str, ...]) -> list[str]:  # noqa: ARG001
    values = (grader.expected, grader.mode, grader.order, grader.ignore_case)
    return [_score(f"toolCall(toolNames(callsOf(input)), {', '.join(map(_js, values))})")]


_RECIPES: dict[type[Grader], Callable[[Any, tuple[str, ...]], list[str]]] = {
    ExactMatch: _compared("exactMatch", "ignore_case", "trim"),
    Contains: _compared("contains", "ignore_case"),
    AsciiPrintable: _plain("asciiPrintable"),
    Length: _plain("lengthWithin", "minimum", "maximum", "unit"),
    LabelSet: _plain("labelSet", "labels", "passing", "ignore_case", "trim"),
    JsonKeys: _plain("jsonKeys", "keys", "require_all"),
    StringCheck: _string_check,
    Regex: _regex,
    Guardrail: _guardrail,
    ToolCallMatch: _tool_call,
}
