"""The grader of JSON keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from workbench.core.thread import StringThread
from workbench.data.extractors import Extractor, as_extractor
from workbench.graders.base import kind
from workbench.graders.portable.rule import Rule
from workbench.graders.rules.structure import json_keys
from workbench.graders.rules.verdict import Verdict
from workbench.graders.settings import as_texts
from workbench.graders.text.base import TextGrader

__all__ = ["JsonKeys"]


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
