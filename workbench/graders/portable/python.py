"""Code graders as a Python module that stands alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from workbench.graders.base import Grader
from workbench.graders.guardrail import Guardrail
from workbench.graders.portable.refusals import WAY_OUT, article, refusal
from workbench.graders.portable.slices import sliced
from workbench.graders.rules.templates import is_plain_template
from workbench.graders.similarity import TextSimilarity
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
from workbench.graders.text.templated import TemplatedGrader
from workbench.graders.tools import ToolCallMatch
from workbench.patterns import python_spelling
from workbench.samples.columns import ROLES

__all__ = ["portable"]


_NEGATED = "score_before_negation"


@dataclass(frozen=True)
class _Recipe:
    """How a kind is written down: the rules it uses, and the lines of its body after `text` is known."""

    rules: tuple[tuple[str, str], ...]
    body: tuple[str, ...]


def portable(grader: Grader, *, reference_field: str | None = None, negate: bool = False) -> str:
    """A self-contained Python module `async def grade(thread: StringThread) -> float` that scores the same.

    The rules are sliced from our own files with their helpers and imports; only the standard library is
    used, and the module loads where there is no `StringThread`: only annotations name it. A row that fails here raises there. Patterns have no time limit of their own: the platform's holds.

    Args:
        grader: A code grader.
        reference_field: Key of the reference in the thread's metadata; None for the first of reference,
            expected, ground_truth, label, answer.
        negate: Give 1 - score, as a negated entry of a suite does; a row that fails still raises.

    Raises:
        FormatError: This grader, or a setting of it, cannot travel; the field and the way out are named.
    """
    recipe = _recipe(grader, (reference_field,) if reference_field else ROLES["reference"])
    lines = list(recipe.body)
    wanted = [(f"workbench.graders.rules.{file}", name) for file, name in recipe.rules]
    if isinstance(grader, TextGrader):
        call, needed = _extraction(grader)
        wanted = [needed, *wanted]
        lines = [f"text = {call}", *_empty(grader), *lines]
    imports, pieces = sliced(wanted)
    title = f'"""{article(grader.kind).capitalize()} grader, written by the grader workbench."""'
    head = [title, "", "from __future__ import annotations", "", *imports]
    body = "\n".join(f"    {line}" for line in lines)
    if negate:
        pieces = [*pieces, f"def {_NEGATED}(thread: StringThread) -> float:\n{body}"]
        body = f"    return 1.0 - {_NEGATED}(thread)"
    main = f"async def grade(thread: StringThread) -> float:\n{body}\n"
    return "\n".join(head) + "\n\n\n" + "\n\n\n".join([*pieces, main])


def _recipe(grader: Grader, names: tuple[str, ...]) -> _Recipe:
    make = _RECIPES.get(type(grader))
    if make is None:
        why = {
            "json-schema": "JSON Schema needs a package the standard library lacks",
            "per-turn": "it grades each turn on its own",
        }
        hint = "list what must be there with a json-keys grader" if grader.kind == "json-schema" else WAY_OUT
        raise refusal(
            grader,
            "schema" if grader.kind == "json-schema" else "",
            why.get(grader.kind, "it is no code grader"),
            hint,
        )
    return make(grader, names)


def _extraction(grader: TextGrader) -> tuple[str, tuple[str, str]]:
    name = grader.extractor.name
    module = grader.extractor.module
    if not module:
        raise refusal(grader, "extractor", f"{name!r} is an extractor of your own")
    settings = "".join(f", {key}={value!r}" for key, value in grader.extractor.config.items())
    return f"{name}(thread{settings})", (module, name)


def _empty(grader: TextGrader) -> list[str]:
    return ["if not text:", "    return 0.0"] if grader.on_empty == "zero" else []


def _expected(grader: ReferenceGrader, names: tuple[str, ...]) -> tuple[list[str], list[tuple[str, str]]]:
    """The lines that say what is expected, and what they need."""
    if grader.constant is not None:
        return [f"expected = {grader.constant!r}"], []
    if grader.on_no_reference == "zero":
        found = f"reference = reference_of(thread, {names!r})"
        empty = [
            "if reference is None or reference == '':",
            "    return 0.0",
            "expected = as_text(reference)",
        ]
        return [found, *empty], [("threads", "reference_of"), ("text", "as_text")]
    return [f"expected = text_of_reference(thread, {names!r})"], [("threads", "text_of_reference")]


def _compared(rule: str, *settings: str) -> Callable[[Any, tuple[str, ...]], _Recipe]:
    def make(grader: Any, names: tuple[str, ...]) -> _Recipe:
        lines, needed = _expected(grader, names)
        call = f"return {rule}(text, expected{_settings(grader, settings)})[0]"
        return _Recipe((*needed, ("text", rule)), (*lines, call))

    return make


def _plain(file: str, rule: str, *settings: str) -> Callable[[Any, tuple[str, ...]], _Recipe]:
    def make(grader: Any, names: tuple[str, ...]) -> _Recipe:  # noqa: ARG001
        return _Recipe(((file, rule),), (f"return {rule}(text{_settings(grader, settings)})[0]",))

    return make


def _settings(grader: Any, names: tuple[str, ...]) -> str:
    return "".join(f", {name}={getattr(grader, name)!r}" for name in names)


def _regex(grader: Regex, names: tuple[str, ...]) -> _Recipe:
    lines, needed = _expected(grader, names)
    needed = [*needed, ("patterns", "plain_search")]
    spelled = "expected"
    if grader.flavor == "dotnet" and grader.pattern is not None:
        lines = [f"expected = {python_spelling(grader.pattern)!r}"]
    elif grader.flavor == "dotnet":
        raise refusal(
            grader, "flavor", "patterns out of the samples would need .NET's engine", 'use flavor="python"'
        )
    flags = f"ignore_case={grader.ignore_case!r}, multiline={grader.multiline!r}"
    if grader.on_bad_pattern == "fail":
        call = f"return regex_match(text, expected, plain_search({spelled}, {flags}))[0]"
        return _Recipe((*needed, ("patterns", "regex_match")), (*lines, call))
    call = f"return regex_or_nothing(text, expected, lambda one: plain_search(one, {flags}))[0]"
    return _Recipe((*needed, ("patterns", "regex_or_nothing")), (*lines, call))


def _guardrail(grader: Guardrail, names: tuple[str, ...]) -> _Recipe:  # noqa: ARG001
    if not grader.evaluator:
        return _Recipe((), ("return 0.0",))
    if grader.evaluator == "contains":
        call = f"return guardrail_contains(text, {grader.pattern!r}, ignore_case={grader.ignore_case!r})[0]"
        return _Recipe((("patterns", "guardrail_contains"),), (call,))
    flags = f"ignore_case={grader.ignore_case!r}, multiline={grader.multiline!r}"
    spelled = python_spelling(grader.pattern)
    call = f"return guardrail_regex(text, {spelled!r}, lambda one: plain_search(one, {flags}))[0]"
    return _Recipe((("patterns", "guardrail_regex"), ("patterns", "plain_search")), (call,))


def _tool_call(grader: ToolCallMatch, names: tuple[str, ...]) -> _Recipe:  # noqa: ARG001
    settings = _settings(grader, ("expected", "mode", "order", "ignore_case"))
    needed = (("threads", "calls_of"), ("tools", "tool_names"), ("tools", "tool_call"))
    return _Recipe(needed, (f"return tool_call(tool_names(calls_of(thread)){settings})[0]",))


def _templated(file: str, rule: str, setting: str, result: str) -> Callable[[Any, tuple[str, ...]], _Recipe]:
    def make(grader: TemplatedGrader, names: tuple[str, ...]) -> _Recipe:
        for name in ("input", "reference"):
            _check_template(grader, name)
        sides = ", ".join(
            f"fill_template({getattr(grader, name)!r}, values)" for name in ("input", "reference")
        )
        lines = (
            f"item = template_item(thread.metadata, reference_of(thread, {names!r}))",
            'values = {"item": item, "sample": template_sample(text, calls_of(thread))}',
            f"return {rule}({sides}{_settings(grader, (setting,))}){result}",
        )
        helpers = [("threads", "reference_of"), ("threads", "calls_of"), (file, rule)]
        helpers += [("templates", name) for name in ("template_item", "template_sample", "fill_template")]
        return _Recipe(tuple(helpers), lines)

    return make


def _check_template(grader: TemplatedGrader, field: str) -> None:
    if not is_plain_template(getattr(grader, field)):
        raise refusal(
            grader, field, "its template holds more than paths", "use {{item.x}} and {{sample.x}} only"
        )


_RECIPES: dict[type[Grader], Callable[[Any, tuple[str, ...]], _Recipe]] = {
    ExactMatch: _compared("exact_match", "ignore_case", "trim"),
    Contains: _compared("contains", "ignore_case"),
    AsciiPrintable: _plain("text", "ascii_printable"),
    Length: _plain("text", "length", "minimum", "maximum", "unit"),
    LabelSet: _plain("text", "label_set", "labels", "passing", "ignore_case", "trim"),
    JsonKeys: _plain("structure", "json_keys", "keys", "require_all"),
    Regex: _regex,
    Guardrail: _guardrail,
    ToolCallMatch: _tool_call,
    StringCheck: _templated("text", "string_check", "operation", "[0]"),
    TextSimilarity: _templated("similarity", "similarity", "metric", ""),
}
