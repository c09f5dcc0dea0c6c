"""The schema judge: vLLora's, a mustache prompt and the JSON schema of the reply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.core.grade import ErrorKind, Grade
from workbench.core.thread import StringThread
from workbench.data.samples import Sample
from workbench.data.templates import compile as compile_template
from workbench.data.templates import thread_variables
from workbench.data.templates.values import json_text
from workbench.graders.base import as_sample, kind
from workbench.graders.structure.schema import Fault, Schema, plain_schema
from workbench.judges.kinds import Judge, json_schema
from workbench.judges.prompts import check_template_names, prompt
from workbench.judges.protocol import Messages, refuse_unless
from workbench.judges.verdicts import AnswerError, score_value, verdict_object

_RANGE_KEYWORDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})


@kind("schema-judge", family="judges")
@dataclass(frozen=True, kw_only=True)
class SchemaJudge(Judge):
    """The `score`, from 0 to 1, of a reply that matches a JSON schema; `reasoning` if there is one.

    Attributes:
        prompt: A mustache template with messages, response, lastUserMessage, tools, toolCalls, systemPrompt.
        output_schema: JSON schema of the reply. A reply that does not match it is a failed grade.
        max_tokens: As in `Judge`. The default is vLLora's.

    Source: vLLora (`llm-judge`).
    """

    prompt: str = field(kw_only=False)
    output_schema: dict[str, Any] = field(kw_only=False)
    max_tokens: int | None = 256

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_unless(isinstance(self.prompt, str), "prompt must be text", self.prompt)
        refuse_unless(
            isinstance(self.output_schema, Mapping), "output_schema must be a JSON schema", self.output_schema
        )
        object.__setattr__(self, "output_schema", plain_schema(dict(self.output_schema)))
        compile_template(self.prompt, "mustache")

    def answer_format(self) -> dict[str, Any] | None:
        """The schema itself."""
        return json_schema(self.output_schema)

    def preview(self, sample: Sample | StringThread) -> Messages:
        """The schema as system message, the rendered prompt as user message."""
        sample = as_sample(sample)
        values = thread_variables(sample, "vllora", completion=self.judged_text(sample))
        template = compile_template(self.prompt, "mustache")
        check_template_names(template, values, self.platform)
        text = template.render(values)
        system = prompt("schema_system", schema=json_text(self.output_schema))
        return [{"role": "system", "content": system}, {"role": "user", "content": text}]

    def read(self, text: str) -> Grade:
        """The score of a reply that matches the schema."""
        answer = verdict_object(text, "score", self.platform)
        if fault := self._fault(answer):
            path, message, keyword = fault
            out_of_range = path == "$.score" and keyword in _RANGE_KEYWORDS
            error_kind = ErrorKind.OUT_OF_RANGE if out_of_range else ErrorKind.JUDGE_PARSE
            raise AnswerError(error_kind, f"the judge's reply does not match the schema: {message}"[:300])
        return Grade(
            score_value(answer.get("score"), self.platform), reasoning=str(answer.get("reasoning") or "")
        )

    def _fault(self, answer: Any) -> Fault | None:
        try:
            return Schema.of(self.output_schema).first_fault(answer)
        except TimeoutError as error:
            raise AnswerError(ErrorKind.TIMEOUT, str(error)) from None
        except RecursionError:
            raise AnswerError(ErrorKind.RUNTIME, "output_schema refers to itself without end") from None
