"""The grader of OpenAI's string checks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from workbench.data.samples import Samples
from workbench.graders.base import kind
from workbench.graders.portable.refusals import refusal
from workbench.graders.portable.rule import Rule, javascript_literal, javascript_score
from workbench.graders.rule_grader import ColumnVerdicts
from workbench.graders.rules.text import string_check, string_check_holds
from workbench.graders.rules.verdict import Verdict
from workbench.graders.settings import check_choice
from workbench.graders.text.base import two_reasons
from workbench.graders.text.templated import OUTPUT, REFERENCE, TemplatedGrader

__all__ = ["StringCheck"]

_MAX_CHARACTERS = 2**20
"""Maximum characters of a reference that a template certainly reproduces unchanged."""
_ONE_VALUE = re.compile(r"\{\{\s*(item\.[\w-]+|sample\.output_text)\s*\}\}")


@kind("string-check", family="text")
@dataclass(frozen=True, kw_only=True)
class StringCheck(TemplatedGrader):
    """1.0 if the comparison of two rendered templates is true, else 0.0. Nothing is trimmed.

    Attributes:
        operation: "eq" or "ne" (equal or not), "like" (input contains reference) or "ilike" (the same,
            ignoring case).

    Error kinds: template, sample (`item.reference` if the sample has none).

    Source: OpenAI (`string_check`).
    """

    rule: ClassVar[Rule] = Rule("text.string_check", "stringCheck", ("operation",))

    operation: str = "eq"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("operation", self.operation, ("eq", "ne", "like", "ilike"))

    @property
    def needs_reference(self) -> bool:
        """Whether `grade_texts` compares with the reference."""
        return "{{" in self.reference

    def compare_texts(self, texts: Sequence[str], references: Sequence[Any]) -> ColumnVerdicts | None:
        """The verdicts on completions compared with their references, or with a constant."""
        if not set(map(type, references)) <= {str} or max(map(len, references), default=0) > _MAX_CHARACTERS:
            return None  # number formatting and length limits are up to the template
        expected = references if self.needs_reference else [self.reference] * len(texts)
        pairs = zip(texts, expected, strict=True)
        passed = [string_check_holds(text, other, self.operation) for text, other in pairs]
        return two_reasons(passed, self.compare)

    def reads_columns(self, samples: Samples) -> bool:
        """Whether the templates contain only the completion and its reference, or a constant."""
        if not self.has_own_rule:
            return False
        constant = "{" not in self.reference
        if self.input != OUTPUT or not (constant or self.reference == REFERENCE):
            return False
        # A key of that name in the metadata outranks the reference.
        named = samples.columns.get("reference") == "reference" or "reference" not in samples.metadata_names
        return constant or (named and "metadata" not in samples.columns)

    def compare(self, text: str, reference: str) -> Verdict:
        """Apply the operation to both rendered texts."""
        return string_check(text, reference, operation=self.operation)

    def javascript_rest(self, reference_names: tuple[str, ...]) -> list[str]:
        """The lines of the JavaScript function once `text` is known."""
        sides = [self._in_javascript(name, reference_names) for name in ("input", "reference")]
        return [javascript_score(self.rule.javascript_call(self, *sides))]

    def _in_javascript(self, field_name: str, reference_names: tuple[str, ...]) -> str:
        """A template as an expression: a constant, the output's text, or one value of the item."""
        template: str = getattr(self, field_name)
        match = _ONE_VALUE.fullmatch(template)
        if match is None and "{{" in template:
            why = "its template contains more than one plain value"
            raise refusal(self, field_name, why, "use {{sample.output_text}}, one {{item.x}}, or a constant")
        if match is None:
            return javascript_literal(template)
        if match[1] == "sample.output_text":
            return "text"
        key = match[1].removeprefix("item.")
        # The key itself first: a column of that name outranks the reference.
        keys = (key, *reference_names) if key == "reference" else (key,)
        return f"itemText(input, {javascript_literal(keys)})"
