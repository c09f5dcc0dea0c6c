"""The options that graders share which look for a text: several texts, normalisation, negation."""

from __future__ import annotations

import json
from dataclasses import Field, dataclass
from typing import Any, ClassVar

from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind
from workbench.graders.arguments import as_texts, check_choice
from workbench.graders.portable_rule import PythonBody, javascript_score
from workbench.graders.rule_grader import Unscored
from workbench.graders.rules.matches import matches
from workbench.graders.rules.text import Verdict
from workbench.graders.text.text_grader import ExpectedGrader

STEPS = ("nfc", "nfkc", "spaces", "quotes", "dashes")
"""Steps of normalisation."""


@dataclass(frozen=True, kw_only=True)
class MatchGrader(ExpectedGrader):
    """A grader that looks for an expected text, or for several.

    Attributes:
        several: "any" or "all": `expected` is a list of texts, or the reference is; "" for one text. A list given as `expected`
            means "any" by default.
        normalize: What is made equal on both sides, in this order: "nfc" or "nfkc" (Unicode forms), "spaces" (kinds and runs
            of white space, invisible characters), "quotes" and "dashes" (typographic ones). Nothing by default.
        negate: Whether a match scores 0.0, and no match 1.0. A row that fails still fails.
    """

    hidden_from_dir = "match_rule option_names is_plain options"

    option_names: ClassVar[tuple[str, ...]] = ("several", "normalize", "negate")
    """Settings that other platforms do not have."""

    several: str = ""
    normalize: tuple[str, ...] = ()
    negate: bool = False

    def __post_init__(self) -> None:
        texts = _as_list(self.expected)
        if texts is not None:
            object.__setattr__(self, "expected", json.dumps(texts, ensure_ascii=False))
            object.__setattr__(self, "several", self.several or "any")
        super().__post_init__()
        check_choice("several", self.several, ("", "any", "all"))
        object.__setattr__(self, "normalize", checked_steps(self.normalize))
        if self.several and self.expected is not None:
            try:
                self.matched("", self.expected)
            except Unscored as error:
                raise FormatError("expected must be a list of texts", found=str(error)) from None

    def _field_spec(self, f: Field[Any]) -> Any:
        if f.name == "expected" and self.several and self.expected is not None:
            return json.loads(self.expected)
        return super()._field_spec(f)

    @property
    def is_plain(self) -> bool:
        """Whether no option is set."""
        return all(
            getattr(self, name) == type(self).__dataclass_fields__[name].default for name in self.option_names
        )

    @property
    def options(self) -> dict[str, Any]:
        """The settings of the rule `matches`."""
        names = ("ignore_case", "trim", "words", "normalize", "several", "negate")
        return {"how": "equals", **{name: getattr(self, name) for name in names if hasattr(self, name)}}

    def matched(self, text: str, expected: str) -> Verdict:
        """The verdict with options."""
        try:
            return matches(text, expected, **self.options)
        except ValueError as error:
            raise Unscored(ErrorKind.SAMPLE, str(error)) from None

    def python_rest(self, reference_names: tuple[str, ...]) -> PythonBody:
        """The Python lines for the expected text, then those of the rule."""
        if self.is_plain:
            return super().python_rest(reference_names)
        expected = self.expected_in_python(reference_names)
        settings = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        line = f"return matches(text, expected, {settings})[0]"
        return PythonBody((*expected.rules, "matches.matches"), (*expected.lines, line))

    def javascript_rest(self, reference_names: tuple[str, ...]) -> list[str]:
        """The JavaScript lines for the expected text, then those of the rule."""
        if self.is_plain:
            return super().javascript_rest(reference_names)
        options = json.dumps({"words": False, **self.options})
        score = javascript_score(f"matches(text, expected, {options})")
        return [*self.expected_in_javascript(reference_names), score]


def checked_steps(value: Any) -> tuple[str, ...]:
    """The steps of a `normalize` setting.

    Raises:
        FormatError: One of them is unknown.
    """
    steps = as_texts("normalize", [value] if isinstance(value, str) else value)
    for step in steps:
        check_choice("normalize", step, STEPS)
    return steps


def _as_list(value: Any) -> tuple[str, ...] | None:
    return as_texts("expected", value, least=1) if isinstance(value, list | tuple) else None
