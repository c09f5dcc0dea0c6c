"""The regex grader."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind, Skip
from workbench.core.patterns import SECONDS, Pattern, PatternError, python_spelling
from workbench.graders.arguments import HANDLING, LIMIT, check_choice, check_optional_text, check_time_limit
from workbench.graders.base import kind
from workbench.graders.portable_rule import PythonBody, no_skip, refusal, search_in_javascript
from workbench.graders.rule_grader import UngradedReason, Unscored
from workbench.graders.rules.text import Verdict, regex_match
from workbench.graders.text.base import ReferenceGrader


@kind("regex", family="text")
@dataclass(frozen=True, kw_only=True)
class Regex(ReferenceGrader):
    r"""1.0 if the pattern is found anywhere in the text, else 0.0.

    The details of a match are Umbraco's: `matchValue`, `matchIndex` and `matchLength` in UTF-16 units, `groups`
    as a list of `name` and `value`, unnamed ones first. A search that takes too long fails its row.

    Attributes:
        pattern: The pattern; None takes each sample's reference.
        ignore_case: Whether letters match either case.
        multiline: Whether ^ and $ match at line ends inside the text.
        flavor: "python", or "dotnet" whose named groups are spelled `(?<name>...)`.
        on_bad_pattern: Handling of an invalid pattern: "fail" (refused here if it is a constant, a
            failed grade if it is a reference), "skip" (the same for a constant, a skipped row for a reference) or
            "zero" (Letta and Umbraco: score 0.0).
        timeout: Time limit of one search, above 0, at most 60.

    Error kinds: timeout, sample (no reference, or one that is not a valid pattern).

    Source: Letta (`regex_match`: search, no flags), Umbraco (`regex`).

    Example:
        >>> from workbench import StringThread
        >>> Regex(pattern=r"\d{4}")(StringThread([("assistant", "in 2026")])).metadata["matchValue"]
        '2026'
    """

    letta_reasons: ClassVar[tuple[str, str]] = ("Regex match: True", "Regex match: False")

    pattern: str | None = field(default=None, kw_only=False)
    ignore_case: bool = False
    multiline: bool = False
    flavor: str = "python"
    on_bad_pattern: str = field(default="fail", metadata=HANDLING)
    timeout: float = field(default=SECONDS, metadata=LIMIT)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_optional_text("pattern", self.pattern)
        check_choice("flavor", self.flavor, ("python", "dotnet"))
        check_choice("on_bad_pattern", self.on_bad_pattern, ("fail", "skip", "zero"))
        check_time_limit(self.timeout)
        if self.pattern is not None and self.on_bad_pattern != "zero":
            try:
                self._pattern(self.pattern).check()
            except PatternError as error:
                raise FormatError(
                    "the pattern cannot be read",
                    found=f"{self.pattern[:80]!r}: {error}",
                    hint='correct it, or pass on_bad_pattern="zero" to count it as no match',
                ) from None

    @property
    def constant(self) -> str | None:
        """The grader's constant; None if the sample's reference is used."""
        return self.pattern

    def _in_lettas_words(self, score: float, reason: str) -> str:
        words = super()._in_lettas_words(score, reason)
        return (
            UngradedReason("No ground_truth regex pattern provided")
            if words.startswith("No ground_truth")
            else words
        )

    def _pattern(self, text: str) -> Pattern:
        spelled = python_spelling(text) if self.flavor == "dotnet" else text
        return Pattern(spelled, self.ignore_case, self.multiline, self.timeout)

    def compare(self, text: str, expected: str) -> Verdict:
        """Whether the pattern is found in the text."""
        if self.on_bad_pattern == "zero":
            try:
                return regex_match(text, expected, self._pattern(expected).search)
            except ValueError as error:
                return 0.0, UngradedReason(error), {}
        try:
            return regex_match(text, expected, self._pattern(expected).search)
        except PatternError as error:
            if self.on_bad_pattern == "skip":
                raise Skip(f"the reference is not a valid pattern: {error}") from None
            raise Unscored(ErrorKind.SAMPLE, f"the reference is not a valid pattern: {error}") from None

    def python_rest(self, reference_names: tuple[str, ...]) -> PythonBody:
        """The body of the Python function once `text` is known."""
        expected = self.expected_in_python(reference_names)
        if self.flavor == "dotnet":
            if self.pattern is None:
                why = "patterns from the samples would need .NET's engine"
                raise refusal(self, "flavor", why, 'use flavor="python"')
            expected = PythonBody((), (f"expected = {python_spelling(self.pattern)!r}",))
        flags = f"ignore_case={self.ignore_case!r}, multiline={self.multiline!r}"
        if self.on_bad_pattern == "skip":
            raise no_skip(self, "on_bad_pattern")
        if self.on_bad_pattern == "fail":
            rule, search = "regex_match", f"plain_search(expected, {flags})"
        else:
            rule, search = "regex_or_nothing", f"lambda pattern: plain_search(pattern, {flags})"
        rules = (*expected.rules, "text.plain_search", f"text.{rule}")
        return PythonBody(rules, (*expected.lines, f"return {rule}(text, expected, {search})[0]"))

    def javascript_rest(self, reference_names: tuple[str, ...]) -> list[str]:  # noqa: ARG002
        """The lines of the JavaScript function once `text` is known."""
        if self.pattern is None:
            why = "patterns from the samples are Python's"
            raise refusal(self, "pattern", why, "use a constant pattern")
        return [search_in_javascript(self, self.pattern, dotnet=self.flavor == "dotnet")]
