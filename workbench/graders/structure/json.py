"""Graders of JSON: its keys, and its schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from workbench.core.grade import ErrorKind
from workbench.core.thread import StringThread
from workbench.data.extractors import Extractor, as_extractor
from workbench.graders.arguments import as_texts
from workbench.graders.base import kind
from workbench.graders.portable_rule import PythonBody, Rule, refusal
from workbench.graders.rule_grader import Unscored
from workbench.graders.rules.structure import json_keys, strict_json
from workbench.graders.rules.text import Verdict
from workbench.graders.structure.schema import Schema, plain_schema
from workbench.graders.text.base import TextGrader


@kind("json-keys", family="structure")
@dataclass(frozen=True, kw_only=True, init=False)
class JsonKeys(TextGrader):
    """1.0 if the text is JSON that has the keys, else 0.0.

    The text must be strict JSON: no NaN, no trailing comma. Dots traverse objects, never arrays; case counts;
    a null value counts as present. Missing keys are in the details as `missingKeys`, even if the text passes.

    Attributes:
        keys: Paths such as "metadata.author", passed one by one. Without any, a text passes if all are required and fails if not.
        require_all: Whether every key must be present; if not, one is enough.

    Source: Umbraco (`json-schema`).

    Example:
        >>> from workbench import StringThread
        >>> grader = JsonKeys("title", "meta.author")
        >>> grader(StringThread([("assistant", '{"title": "t"}')])).reasoning
        'Missing required JSON keys: [meta.author]'
    """

    rule: ClassVar[Rule] = Rule("structure.json_keys", "jsonKeys", ("keys", "require_all"))

    keys: tuple[str, ...]
    require_all: bool = True

    def __init__(
        self,
        *names: str | list[str] | tuple[str, ...],
        keys: Sequence[str] = (),
        require_all: bool = True,
        extractor: Extractor | Mapping[str, Any] | str = "last_assistant",
        on_empty: str = "grade",
        name: str = "",
        description: str = "",
    ) -> None:
        # The paths one by one, JsonKeys("a", "b"), or as one list; `keys` is how a spec gives them.
        paths: Any = names[0] if len(names) == 1 and not isinstance(names[0], str) else names
        if names and keys:
            raise TypeError(
                "JsonKeys takes its keys one by one, JsonKeys('a', 'b'), or as keys=[...], not both"
            )
        object.__setattr__(self, "keys", paths or keys)
        object.__setattr__(self, "require_all", require_all)
        TextGrader.__init__(
            self, extractor=as_extractor(extractor), on_empty=on_empty, name=name, description=description
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "keys", as_texts("keys", self.keys))

    def grade_text(self, text: str, thread: StringThread, reference: Any) -> Verdict:  # noqa: ARG002
        """Whether the text is JSON with the required keys."""
        return json_keys(text, keys=self.keys, require_all=self.require_all)


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
