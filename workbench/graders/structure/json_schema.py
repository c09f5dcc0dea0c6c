"""The grader of JSON that must conform to a schema."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from workbench.core.grade import ErrorKind
from workbench.core.thread import StringThread
from workbench.graders.base import kind
from workbench.graders.portable.refusals import refusal
from workbench.graders.portable.rule import PythonBody
from workbench.graders.rule_grader import Unscored
from workbench.graders.rules.structure import strict_json
from workbench.graders.rules.verdict import Verdict
from workbench.graders.structure.schema import Schema, plain_schema
from workbench.graders.text.base import TextGrader

__all__ = ["JsonSchema"]


@kind("json-schema", family="structure")
@dataclass(frozen=True, kw_only=True)
class JsonSchema(TextGrader):
    """1.0 if the text is JSON that conforms to a JSON Schema, else 0.0; the reason names the first error.

    The schema's `$schema` decides the draft, 2020-12 without one. `format` is an annotation, as in the standard.
    Nothing is ever fetched: a `$ref` must refer to the schema itself. One row may take two seconds,
    patterns included.

    Attributes:
        schema: The schema, an object; checked against its draft's meta-schema when the grader is created.

    Error kinds: timeout, runtime (a schema with circular references).

    Source: JSON Schema 2020-12 and before, by the `jsonschema` package.
    """

    schema: dict[str, Any] = field(kw_only=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "schema", plain_schema(self.schema))

    def grade_text(self, text: str, thread: StringThread, reference: Any) -> Verdict:  # noqa: ARG002
        """Parse the text, then find the first error."""
        try:
            value = strict_json(text)
        except ValueError as error:
            return 0.0, str(error), {}
        try:
            fault = Schema.of(self.schema).first_fault(value)
        except RecursionError:
            raise Unscored(ErrorKind.RUNTIME, "the schema refers to itself without end") from None
        if fault is None:
            return 1.0, "Meets the schema", {}
        path, message, keyword = fault
        return 0.0, f"{path}: {message}", {"path": path, "keyword": keyword}

    def python_rest(self, reference_names: tuple[str, ...]) -> PythonBody:  # noqa: ARG002
        """Not supported: always raises."""
        why, hint = (
            "JSON Schema needs a package that is not in the standard library",
            "list the required keys with a json-keys grader",
        )
        raise refusal(self, "schema", why, hint)
