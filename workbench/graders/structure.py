"""Graders that read the text as JSON: keys that must be there, or a whole JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.extractors import Extractor, as_extractor
from workbench.grade import ErrorKind
from workbench.graders.base import kind
from workbench.graders.rules.structure import json_keys, strict_json
from workbench.graders.rules.verdict import Verdict
from workbench.graders.schema import Schema, plain_schema
from workbench.graders.text.base import TextGrader, Unscored
from workbench.graders.text.compare import check_texts
from workbench.thread import StringThread

__all__ = ["JsonKeys", "JsonSchema"]


@kind("json-keys")
@dataclass(frozen=True, kw_only=True, init=False)
class JsonKeys(TextGrader):
    """1.0 where the text is JSON that has the keys, else 0.0.

    The text must be strict JSON: no NaN, no trailing comma. Dots walk objects, arrays never; case counts;
    a null value counts as there. Missing keys are in the details as `missingKeys`, even where the text passes.

    Attributes:
        keys: Paths such as "metadata.author", given one by one. Without any, a text passes if all are required and fails if not.
        require_all: Whether every key must be there; if not, one is enough.

    Source: Umbraco (`json-schema`).

    Example:
        >>> from workbench import StringThread
        >>> grader = JsonKeys("title", "meta.author")
        >>> grader(StringThread([("assistant", '{"title": "t"}')])).reasoning
        'Missing required JSON keys: [meta.author]'
    """

    keys: tuple[str, ...]
    require_all: bool = True

    def __init__(
        self,
        *names: str,
        keys: Sequence[str] = (),
        require_all: bool = True,
        extractor: Extractor | Mapping[str, Any] | str = "last_assistant",
        on_empty: str = "grade",
        name: str = "",
        description: str = "",
    ) -> None:
        # The paths one by one, JsonKeys("a", "b"); `keys` is how a spec gives them.
        if names and keys:
            raise TypeError(
                "JsonKeys takes its keys one by one, JsonKeys('a', 'b'), or as keys=[...], not both"
            )
        object.__setattr__(self, "keys", names or keys)
        object.__setattr__(self, "require_all", require_all)
        TextGrader.__init__(
            self, extractor=as_extractor(extractor), on_empty=on_empty, name=name, description=description
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "keys", check_texts("keys", self.keys))

    def judge_text(self, text: str, thread: StringThread, reference: Any) -> Verdict:  # noqa: ARG002
        """See `rules.structure.json_keys`."""
        return json_keys(text, keys=self.keys, require_all=self.require_all)


@kind("json-schema")
@dataclass(frozen=True, kw_only=True)
class JsonSchema(TextGrader):
    """1.0 where the text is JSON that meets a JSON Schema, else 0.0; the reason names the first fault.

    The schema's own `$schema` decides the draft, 2020-12 without one. `format` is a remark, as the standard
    has it. Nothing is ever fetched: a `$ref` must lead into the schema itself. One row may take two seconds,
    patterns included.

    Attributes:
        schema: The schema, an object; checked against its draft's own schema when the grader is made.

    Error kinds: timeout, runtime (a schema that goes round in circles).

    Source: JSON Schema 2020-12 and before, by the `jsonschema` package.
    """

    schema: dict[str, Any] = field(kw_only=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "schema", plain_schema(self.schema))

    def judge_text(self, text: str, thread: StringThread, reference: Any) -> Verdict:  # noqa: ARG002
        """Parse the text, then look for the first fault."""
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
