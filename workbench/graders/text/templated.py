"""Base class of graders with two OpenAI templates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from workbench.core.errors import FormatError, WorkbenchError
from workbench.core.grade import ErrorKind
from workbench.core.thread import StringThread
from workbench.data.templates import compile as compile_template
from workbench.graders.portable.refusals import refusal
from workbench.graders.portable.rule import PythonBody
from workbench.graders.rule_grader import Unscored, no_reference
from workbench.graders.rules import templates as rules
from workbench.graders.rules.verdict import Verdict
from workbench.graders.text.base import TextGrader

__all__ = ["OUTPUT", "REFERENCE", "TemplatedGrader"]

OUTPUT = "{{sample.output_text}}"
REFERENCE = "{{item.reference}}"


@lru_cache(maxsize=512)
def _template(text: str) -> Any:
    return compile_template(text, "openai")


@dataclass(frozen=True, kw_only=True)
class TemplatedGrader(TextGrader):
    """A grader that compares two OpenAI templates, filled in from the sample.

    `item` is the sample's metadata, with its reference under `reference` unless a column has that name.
    `sample` has `output_text` (the extracted text), `output_json` (if that text is valid JSON),
    `output_tools` (the thread's tool calls) and `choices`.

    Attributes:
        input: Template of the text being graded.
        reference: Template of what it is compared with.
    """

    hidden_from_dir = "score_in_python"

    input: str = OUTPUT
    reference: str = REFERENCE

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("input", "reference"):
            text = getattr(self, name)
            if not isinstance(text, str):
                raise FormatError(f"{name} must be a template's text", found=repr(text)[:80])
            _template(text)

    def grade_text(self, text: str, thread: StringThread, reference: Any) -> Verdict:
        """The verdict on the extracted text."""
        item = rules.template_item(thread.metadata, reference)
        if "reference" not in item and "item.reference" in self.input + self.reference:
            raise no_reference()
        values = {"item": item, "sample": rules.template_sample(text, thread.tool_calls())}
        return self.compare(self._fill(self.input, values), self._fill(self.reference, values))

    def _fill(self, template: str, values: Mapping[str, Any]) -> str:
        if template == OUTPUT:
            return str(values["sample"]["output_text"])  # the most common template; no engine needed
        engine = _template(template)
        try:
            return str(engine.render({name: values[name] for name in engine.variables}))
        except WorkbenchError as error:
            raise Unscored(ErrorKind.TEMPLATE, str(error)) from None

    def compare(self, text: str, reference: str) -> Verdict:
        """The verdict on both rendered texts."""
        raise NotImplementedError

    def python_rest(self, reference_names: tuple[str, ...]) -> PythonBody:
        """The Python lines that fill in both templates, then those of the rule."""
        assert self.rule is not None
        for name in ("input", "reference"):
            if not rules.is_plain_template(getattr(self, name)):
                why = "its template contains more than paths"
                raise refusal(self, name, why, "use {{item.x}} and {{sample.x}} only")
        texts = [f"fill_template({template!r}, values)" for template in (self.input, self.reference)]
        lines = (
            f"item = template_item(thread.metadata, reference_of(thread, {reference_names!r}))",
            'values = {"item": item, "sample": template_sample(text, calls_of(thread))}',
            f"return {self.score_in_python(self.rule.python_call(self, *texts))}",
        )
        helpers = ("template_item", "template_sample", "fill_template")
        called = ("threads.reference_of", "threads.calls_of", self.rule.python)
        return PythonBody((*called, *(f"templates.{name}" for name in helpers)), lines)

    def score_in_python(self, call: str) -> str:
        """The score in the rule's return value: the first part of a `Verdict`."""
        return f"{call}[0]"
