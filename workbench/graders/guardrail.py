"""The guardrail grader: passes where an evaluator flags the text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from workbench.errors import FormatError
from workbench.graders.base import kind
from workbench.graders.rules.patterns import guardrail_contains, guardrail_regex
from workbench.graders.rules.verdict import Verdict
from workbench.graders.text.base import TextGrader, choice
from workbench.graders.text.regex import check_timeout
from workbench.patterns import SECONDS, Pattern, python_spelling
from workbench.thread import StringThread

__all__ = ["Guardrail"]


@kind("guardrail")
@dataclass(frozen=True, kw_only=True)
class Guardrail(TextGrader):
    """1.0 where the evaluator flags the text, else 0.0; negate its entry to demand that nothing is flagged.

    An empty pattern and one that cannot be read flag nothing. A search that takes too long flags: a text
    that cannot be checked is not let through.

    Attributes:
        evaluator: "contains", "regex" (patterns of .NET), or "" for none, which never passes.
        pattern: What to find.
        ignore_case: Whether letters match either case.
        multiline: For regex: whether ^ and $ match at line ends inside the text.
        timeout: For regex: time limit of one search, above 0, at most 60.

    Source: Umbraco (`guardrail`); its `llm-judge` evaluator is a kind of its own.
    """

    evaluator: str = field(default="", kw_only=False)
    pattern: str = field(default="", kw_only=False)
    ignore_case: bool = False
    multiline: bool = False
    timeout: float = SECONDS

    def __post_init__(self) -> None:
        super().__post_init__()
        hint = "use a guardrail-judge grader" if self.evaluator == "llm-judge" else ""
        choice("evaluator", self.evaluator, ("contains", "regex", ""), hint)
        check_timeout(self.timeout)
        if not isinstance(self.pattern, str):
            raise FormatError("pattern must be text", found=repr(self.pattern)[:80])

    def judge_text(self, text: str, thread: StringThread, reference: Any) -> Verdict:  # noqa: ARG002
        """See `rules.patterns`."""
        if self.evaluator == "contains":
            return guardrail_contains(text, self.pattern, ignore_case=self.ignore_case)
        if self.evaluator == "regex":
            return guardrail_regex(text, self.pattern, self._search)
        return 0.0, "No evaluator ID specified in guardrail grader configuration", {}

    def _search(self, pattern: str) -> Any:
        return Pattern(python_spelling(pattern), self.ignore_case, self.multiline, self.timeout).search
