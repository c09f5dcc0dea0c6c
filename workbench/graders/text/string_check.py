"""The grader of OpenAI's string checks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from workbench.graders.base import kind
from workbench.graders.portable.refusals import refusal
from workbench.graders.portable.rule import Rule, javascript_literal, javascript_score
from workbench.graders.rules.text import string_check
from workbench.graders.rules.verdict import Verdict
from workbench.graders.settings import check_choice
from workbench.graders.text.templated import TemplatedGrader

__all__ = ["StringCheck"]

_ONE_VALUE = re.compile(r"\{\{\s*(item\.[\w-]+|sample\.output_text)\s*\}\}")


@kind("string-check", family="text")
@dataclass(frozen=True, kw_only=True)
class StringCheck(TemplatedGrader):
    """1.0 where the comparison of two rendered templates holds, else 0.0. Nothing is trimmed.

    Attributes:
        operation: "eq" or "ne" (the same text or not), "like" (input contains reference) or "ilike" (so,
            ignoring case).

    Error kinds: template, sample (`item.reference` where the sample has none).

    Source: OpenAI (`string_check`).
    """

    rule: ClassVar[Rule] = Rule("text.string_check", "stringCheck", ("operation",))

    operation: str = "eq"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("operation", self.operation, ("eq", "ne", "like", "ilike"))

    def compare(self, text: str, reference: str) -> Verdict:
        """See `rules.text.string_check`."""
        return string_check(text, reference, operation=self.operation)

    def javascript_rest(self, reference_names: tuple[str, ...]) -> list[str]:
        """See `TextGrader.javascript_rest`."""
        sides = [self._in_javascript(name, reference_names) for name in ("input", "reference")]
        return [javascript_score(self.rule.javascript_call(self, *sides))]

    def _in_javascript(self, field_name: str, reference_names: tuple[str, ...]) -> str:
        """A template as an expression: a constant, the output's text, or one value of the item."""
        template: str = getattr(self, field_name)
        match = _ONE_VALUE.fullmatch(template)
        if match is None and "{{" in template:
            why = "its template holds more than one plain value"
            raise refusal(self, field_name, why, "use {{sample.output_text}}, one {{item.x}}, or a constant")
        if match is None:
            return javascript_literal(template)
        if match[1] == "sample.output_text":
            return "text"
        key = match[1].removeprefix("item.")
        # The key itself first: a column of that name outranks the reference.
        keys = (key, *reference_names) if key == "reference" else (key,)
        return f"itemText(input, {javascript_literal(keys)})"
