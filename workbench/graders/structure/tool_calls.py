"""The grader of tool calls with their arguments."""

from __future__ import annotations

import json
from dataclasses import Field, dataclass, field
from typing import Any, Self

from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind, Skip
from workbench.core.thread import StringThread
from workbench.graders.arguments import HANDLING, as_texts, check_choice
from workbench.graders.base import kind
from workbench.graders.portable_rule import PythonBody, no_skip, refusal
from workbench.graders.rule_grader import RuleGrader, Unscored, no_reference
from workbench.graders.rules.calls import expected_calls, last_calls, tool_calls
from workbench.graders.rules.json_compare import general
from workbench.graders.rules.text import Verdict, as_text
from workbench.graders.structure.json_match import (
    built_matchers,
    call_matcher,
    check_margin,
    check_matchers,
    matcher_specs,
)


@kind("tool-calls", family="structure")
@dataclass(frozen=True, kw_only=True)
class ToolCalls(RuleGrader):
    """1.0 if the tool calls are the expected ones, names and arguments, else 0.0; or the F1 of the calls.

    Calls are those of the conversation, never text that looks like one; arguments are parsed. 12 equals 12.0, `true` is not
    1, "12" is not 12; arguments that are not a JSON object, or have a key twice, fit nothing.

    | mode | passes if |
    | --- | --- |
    | unordered | the calls are the expected ones, in any order; a repeated call counts |
    | strict | they are, in this order |
    | superset | every expected call was made; others may have been |
    | subset | every call made is an expected one, and at least one was made |

    An empty list of expected calls means that no call is right, in every mode.

    Attributes:
        expected: Calls: a list of `{"name": ..., "arguments": {...}}`, OpenAI's records, or BFCL's `{"name": {...}}`; None takes each
            sample's reference.
        mode: See the table.
        arguments: "exact" (the same keys), "superset" (others may be given), "subset" (some may be missing) or "ignore".
        optional: Arguments that may be missing or given: "limit", or "search.limit" for one tool.
        allowed_lists: Whether each expected argument is a list of allowed values, as in BFCL; "" in it makes the argument optional.
        keys: Matchers by argument ("q" or "search.q"), as those of `JsonMatch`.
        order: Whether lists in arguments have an order.
        tolerance: Largest accepted difference of numbers, from 0 on.
        relative: Largest accepted difference of numbers as a share of the expected one, from 0 on.
        ignore_case: Whether letters of texts in arguments match either case.
        measure: "equal" or "f1".
        turns: "last" (calls after the last user turn) or "all".
        on_no_reference: Handling of a sample without a required reference: "fail", "skip" or "zero".

    The details contain the number `matched`, and the calls that are `missing` and `extra`.

    Error kinds: sample (no reference, or one that is not a list of calls).
    """

    hidden_from_dir = "inner_graders"

    expected: Any = field(default=None, kw_only=False)
    mode: str = "unordered"
    arguments: str = "exact"
    optional: tuple[str, ...] = ()
    allowed_lists: bool = False
    keys: dict[str, Any] = field(default_factory=dict)
    order: bool = True
    tolerance: float = 0.0
    relative: float = 0.0
    ignore_case: bool = False
    measure: str = "equal"
    turns: str = "last"
    on_no_reference: str = field(default="fail", metadata=HANDLING)

    @classmethod
    def example(cls) -> Self:
        """The grader that the tests over every kind use."""
        return cls([{"name": "search", "arguments": {"q": "a"}}], mode="superset", optional=("limit",))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.expected is not None and not isinstance(self.expected, str):
            object.__setattr__(self, "expected", _as_json(self.expected))
        object.__setattr__(self, "optional", as_texts("optional", self.optional))
        for name, allowed in _CHOICES.items():
            check_choice(name, getattr(self, name), allowed)
        for name in ("tolerance", "relative"):
            check_margin(name, getattr(self, name))
        check_matchers("keys", self.keys)
        if self.expected is not None:
            try:
                expected_calls(self.expected)
            except ValueError as error:
                raise FormatError("expected must be a list of calls", found=str(error)) from None

    def _field_spec(self, f: Field[Any]) -> Any:
        value = getattr(self, f.name)
        if f.name == "keys":
            return matcher_specs(value)
        return list(value) if isinstance(value, tuple) else value

    @classmethod
    def build(cls, values: dict[str, Any]) -> Self:
        """Create the grader from a spec's fields, without `kind`."""
        return super().build(
            {**values, "keys": built_matchers(values["keys"])} if "keys" in values else values
        )

    @property
    def inner_graders(self) -> tuple[RuleGrader, ...]:
        """The graders of single arguments."""
        return tuple(matcher for matcher in self.keys.values() if isinstance(matcher, RuleGrader))

    @property
    def needs_answer(self) -> str:
        """Required content of a row; a row without it fails."""
        return "turn"

    def grade_thread(self, thread: StringThread, reference: Any) -> Verdict:
        """Whether the calls of the thread are the expected ones."""
        expected = self.expected
        if expected is None:
            if reference is None or reference == "":
                if self.on_no_reference == "skip":
                    raise Skip("no reference to compare with")
                if self.on_no_reference == "zero":
                    return 0.0, "No reference", {}
                raise no_reference()
            expected = as_text(reference)
        try:
            return tool_calls(last_calls(thread, self.turns), expected, call=self._call, **self._settings())
        except ValueError as error:
            raise Unscored(ErrorKind.SAMPLE, str(error)) from None

    def _settings(self) -> dict[str, Any]:
        names = (
            "mode",
            "arguments",
            "measure",
            "keys",
            "optional",
            "allowed_lists",
            "order",
            "tolerance",
            "relative",
            "ignore_case",
        )
        return {name: getattr(self, name) for name in names}

    def _call(self, path: str, found: Any, expected: Any) -> float:
        names = {path, general(path), path.partition(".")[2]}
        return call_matcher(
            next(one for name, one in self.keys.items() if name in names), path, found, expected
        )

    def python_body(self, reference_names: tuple[str, ...]) -> PythonBody:
        """The body of a Python function that scores the same."""
        if self.inner_graders:
            raise refusal(
                self,
                "keys",
                "graders of single arguments have no form in one function",
                "use matchers that are texts or tolerances",
            )
        if self.on_no_reference == "skip" and self.expected is None:
            raise no_skip(self, "on_no_reference")
        rules, lines = ["calls.last_calls", "calls.tool_calls"], [f"expected = {self.expected!r}"]
        if self.expected is None:
            missing = (
                "    return 0.0" if self.on_no_reference == "zero" else "    raise ValueError('no reference')"
            )
            rules += ["threads.reference_of", "text.as_text"]
            lines = [
                f"reference = reference_of(thread, {reference_names!r})",
                "if reference is None or reference == '':",
                missing,
                "expected = as_text(reference)",
            ]
        settings = ", ".join(f"{name}={value!r}" for name, value in self._settings().items())
        call = f"return tool_calls(last_calls(thread, {self.turns!r}), expected, {settings})[0]"
        return PythonBody(tuple(rules), (*lines, call))


_CHOICES = {
    "mode": ("unordered", "strict", "subset", "superset"), "arguments": ("exact", "superset", "subset", "ignore"),
    "measure": ("equal", "f1"), "turns": ("last", "all"), "on_no_reference": ("fail", "skip", "zero"),
}  # fmt: skip


def _as_json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise FormatError("expected must be a list of calls", found=str(error)[:120]) from None
