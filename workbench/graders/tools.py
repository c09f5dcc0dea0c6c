"""The grader of tool calls."""

from __future__ import annotations

from dataclasses import Field, dataclass, field
from typing import Any

from workbench.graders.base import kind
from workbench.graders.rules.tools import tool_call, tool_names
from workbench.graders.rules.verdict import Verdict
from workbench.graders.text.base import CodeGrader, choice
from workbench.graders.text.compare import check_texts
from workbench.thread import StringThread

__all__ = ["ToolCallMatch"]


@kind("tool-call")
@dataclass(frozen=True, kw_only=True)
class ToolCallMatch(CodeGrader):
    """1.0 where the thread's tool calls are the expected ones, else 0.0. Records without a name do not count.

    | mode | passes when |
    | --- | --- |
    | any | at least one expected tool was called; nothing expected fails |
    | all | every expected tool was called; nothing expected passes |
    | exact | as many calls as names, and every name called (so a,a passes for calls of a and b) |
    | set | the tools called, each once, are the expected ones |
    | none | no expected tool was called |
    | (empty) | never: what Umbraco makes of a mode it does not know |

    Attributes:
        expected: Tool names.
        mode: See the table.
        order: For all and exact: the calls of expected tools must be the expected list, in order. Other tools
            may stand between, a repeated one breaks it. Other modes ignore it.
        ignore_case: Whether names match either case.

    Source: Umbraco (`tool-call`, as its code counts); the mode set is ours.
    """

    expected: tuple[str, ...] = field(kw_only=False)
    mode: str = "any"
    order: bool = False
    ignore_case: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "expected", check_texts("expected", self.expected))
        choice("mode", self.mode, ("any", "all", "exact", "set", "none", ""))

    def _field_spec(self, f: Field[Any]) -> Any:
        value = getattr(self, f.name)
        return list(value) if isinstance(value, tuple) else value

    def judge(self, thread: StringThread, reference: Any) -> Verdict:  # noqa: ARG002
        """See `rules.tools.tool_call`."""
        return tool_call(
            tool_names(thread.tool_calls()),
            expected=self.expected,
            mode=self.mode,
            order=self.order,
            ignore_case=self.ignore_case,
        )
