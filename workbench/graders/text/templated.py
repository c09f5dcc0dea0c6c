"""String check, and what graders with OpenAI templates share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from workbench.errors import FormatError, WorkbenchError
from workbench.grade import ErrorKind
from workbench.graders.base import kind
from workbench.graders.rules import templates as rules
from workbench.graders.rules.text import string_check
from workbench.graders.rules.verdict import Verdict
from workbench.graders.text.base import TextGrader, Unscored, choice, no_reference
from workbench.templates import compile as compile_template
from workbench.thread import StringThread

__all__ = ["StringCheck", "TemplatedGrader"]

OUTPUT = "{{sample.output_text}}"
REFERENCE = "{{item.reference}}"


@lru_cache(maxsize=512)
def _template(text: str) -> Any:
    return compile_template(text, "openai")


@dataclass(frozen=True, kw_only=True)
class TemplatedGrader(TextGrader):
    """A grader that compares two OpenAI templates, filled in from the sample.

    `item` is the sample's metadata, with its reference under `reference` where no column has that name.
    `sample` has `output_text` (the extracted text), `output_json` (where that text is valid JSON),
    `output_tools` (the thread's tool calls) and `choices`.

    Attributes:
        input: Template of the text being graded.
        reference: Template of what it is compared with.
    """

    input: str = field(default=OUTPUT, kw_only=False)
    reference: str = field(default=REFERENCE, kw_only=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("input", "reference"):
            text = getattr(self, name)
            if not isinstance(text, str):
                raise FormatError(f"{name} must be a template's text", found=repr(text)[:80])
            _template(text)

    def judge_text(self, text: str, thread: StringThread, reference: Any) -> Verdict:
        """See `TextGrader.judge_text`."""
        item = rules.template_item(thread.metadata, reference)
        if "reference" not in item and "item.reference" in self.input + self.reference:
            raise no_reference()
        values = {"item": item, "sample": rules.template_sample(text, thread.tool_calls())}
        return self.compare(self._fill(self.input, values), self._fill(self.reference, values))

    def _fill(self, template: str, values: Mapping[str, Any]) -> str:
        if template == OUTPUT:
            return str(values["sample"]["output_text"])  # what nearly every grader says; no engine needed
        engine = _template(template)
        try:
            return str(engine.render({name: values[name] for name in engine.variables}))
        except WorkbenchError as error:
            raise Unscored(ErrorKind.TEMPLATE, str(error)) from None

    def compare(self, text: str, reference: str) -> Verdict:
        """The verdict on both rendered texts."""
        raise NotImplementedError


@kind("string-check")
@dataclass(frozen=True, kw_only=True)
class StringCheck(TemplatedGrader):
    """1.0 where the comparison of two rendered templates holds, else 0.0. Nothing is trimmed.

    Attributes:
        operation: "eq" or "ne" (the same text or not), "like" (input contains reference) or "ilike" (so,
            ignoring case).

    Error kinds: template, sample (`item.reference` where the sample has none).

    Source: OpenAI (`string_check`).
    """

    operation: str = "eq"

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("operation", self.operation, ("eq", "ne", "like", "ilike"))

    def compare(self, text: str, reference: str) -> Verdict:
        """See `rules.text.string_check`."""
        return string_check(text, reference, operation=self.operation)
