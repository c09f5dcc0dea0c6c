"""The guardrail grader: passes if an evaluator flags the text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from workbench.core.errors import FormatError
from workbench.core.patterns import SECONDS, Pattern, python_spelling
from workbench.core.thread import StringThread
from workbench.graders.arguments import LIMIT, check_choice, check_time_limit
from workbench.graders.base import kind
from workbench.graders.portable_rule import (
    PythonBody,
    javascript_literal,
    javascript_score,
    search_in_javascript,
)
from workbench.graders.rules.text import Verdict, guardrail_contains, guardrail_regex
from workbench.graders.text.base import TextGrader


@kind("guardrail", family="structure")
@dataclass(frozen=True, kw_only=True)
class Guardrail(TextGrader):
    """1.0 if the evaluator flags the text, else 0.0; negate its entry to require that nothing is flagged.

    An empty or invalid pattern flags nothing. A search that takes too long flags: a text
    that cannot be checked is not accepted.

    Attributes:
        evaluator: "contains", "regex" (patterns of .NET), or "" for none, which never passes.
        pattern: What to find.
        ignore_case: Whether letters match either case.
        multiline: For regex: whether ^ and $ match at line ends inside the text.
        timeout: For regex: time limit of one search, above 0, at most 60.

    Source: Umbraco (`guardrail`); its `llm-judge` evaluator is a separate kind.
    """

    evaluator: str = field(default="", kw_only=False)
    pattern: str = field(default="", kw_only=False)
    ignore_case: bool = False
    multiline: bool = False
    timeout: float = field(default=SECONDS, metadata=LIMIT)

    def __post_init__(self) -> None:
        super().__post_init__()
        hint = "use a guardrail-judge grader" if self.evaluator == "llm-judge" else ""
        check_choice("evaluator", self.evaluator, ("contains", "regex", ""), hint)
        check_time_limit(self.timeout)
        if not isinstance(self.pattern, str):
            raise FormatError("pattern must be text", found=repr(self.pattern)[:80])

    def grade_text(self, text: str, thread: StringThread, reference: Any) -> Verdict:  # noqa: ARG002
        """Whether the evaluator flags the text."""
        if self.evaluator == "contains":
            return guardrail_contains(text, self.pattern, ignore_case=self.ignore_case)
        if self.evaluator == "regex":
            return guardrail_regex(text, self.pattern, self._search)
        return 0.0, "No evaluator ID specified in guardrail grader configuration", {}

    def _search(self, pattern: str) -> Any:
        return Pattern(python_spelling(pattern), self.ignore_case, self.multiline, self.timeout).search

    def python_rest(self, reference_names: tuple[str, ...]) -> PythonBody:  # noqa: ARG002
        """The body of the Python function once `text` is known."""
        if not self.evaluator:
            return PythonBody((), ("return 0.0",))
        if self.evaluator == "contains":
            call = f"guardrail_contains(text, {self.pattern!r}, ignore_case={self.ignore_case!r})"
            return PythonBody(("text.guardrail_contains",), (f"return {call}[0]",))
        flags = f"ignore_case={self.ignore_case!r}, multiline={self.multiline!r}"
        search = f"lambda pattern: plain_search(pattern, {flags})"
        call = f"guardrail_regex(text, {python_spelling(self.pattern)!r}, {search})"
        return PythonBody(("text.guardrail_regex", "text.plain_search"), (f"return {call}[0]",))

    def javascript_rest(self, reference_names: tuple[str, ...]) -> list[str]:  # noqa: ARG002
        """The lines of the JavaScript function once `text` is known."""
        # An empty pattern flags nothing, though JavaScript would find it in every text.
        if not self.evaluator or not self.pattern:
            return ["return 0.0;"]
        if self.evaluator == "contains":
            settings = f"{javascript_literal(self.pattern)}, {javascript_literal(self.ignore_case)}"
            return [javascript_score(f"contains(text, {settings})")]
        return [search_in_javascript(self, self.pattern, dotnet=True)]
