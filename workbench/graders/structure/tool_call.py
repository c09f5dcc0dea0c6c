"""The grader of tool calls."""

from __future__ import annotations

from dataclasses import Field, dataclass, field
from typing import Any, ClassVar

from workbench.core.thread import StringThread
from workbench.graders.arguments import as_texts, check_choice
from workbench.graders.base import kind
from workbench.graders.portable_rule import PythonBody, Rule, javascript_score
from workbench.graders.rule_grader import RuleGrader
from workbench.graders.rules.structure import tool_call, tool_names
from workbench.graders.rules.text import Verdict


@kind("tool-call", family="structure")
@dataclass(frozen=True, kw_only=True)
class ToolCallMatch(RuleGrader):
    """1.0 if the thread's tool calls are the expected ones, else 0.0. Records without a name do not count.

    | mode | passes when |
    | --- | --- |
    | any | at least one expected tool was called; nothing expected fails |
    | all | every expected tool was called; nothing expected passes |
    | exact | as many calls as names, and every name called (so a,a passes for calls of a and b) |
    | set | the tools called, each once, are the expected ones |
    | none | no expected tool was called |
    | (empty) | never: Umbraco's behaviour for an unknown mode |

    Attributes:
        expected: Tool names.
        mode: See the table.
        order: For all and exact: the calls of expected tools must be the expected list, in order. Other tools
            may be in between, a repeated one breaks it. Other modes ignore it.
        ignore_case: Whether names match either case.

    Source: Umbraco (`tool-call`, as its code counts); the mode set is the workbench's.
    """

    rule: ClassVar[Rule] = Rule(
        "structure.tool_call", "toolCall", ("expected", "mode", "order", "ignore_case")
    )

    expected: tuple[str, ...] = field(kw_only=False)
    mode: str = "any"
    order: bool = False
    ignore_case: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "expected", as_texts("expected", self.expected))
        check_choice("mode", self.mode, ("any", "all", "exact", "set", "none", ""))

    def _field_spec(self, f: Field[Any]) -> Any:
        value = getattr(self, f.name)
        return list(value) if isinstance(value, tuple) else value

    @property
    def needs_answer(self) -> str:
        """Required content of a row; a row without it fails."""
        return "turn"

    def grade_thread(self, thread: StringThread, reference: Any) -> Verdict:  # noqa: ARG002
        """Whether the tools called are the expected ones, in the grader's mode."""
        return tool_call(
            tool_names(thread.tool_calls()),
            expected=self.expected,
            mode=self.mode,
            order=self.order,
            ignore_case=self.ignore_case,
        )

    def python_body(self, reference_names: tuple[str, ...]) -> PythonBody:  # noqa: ARG002
        """The body of a Python function that scores the same."""
        rules = ("threads.calls_of", "structure.tool_names", self.rule.python)
        return PythonBody(
            rules, (f"return {self.rule.python_call(self, 'tool_names(calls_of(thread))')}[0]",)
        )

    def javascript_body(self, reference_names: tuple[str, ...]) -> list[str]:  # noqa: ARG002
        """The lines of a JavaScript function that scores the same."""
        return [javascript_score(self.rule.javascript_call(self, "toolNames(callsOf(input))"))]
