"""The regex grader."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from workbench.errors import FormatError
from workbench.grade import ErrorKind
from workbench.graders.base import kind
from workbench.graders.rules.patterns import regex_match
from workbench.graders.rules.verdict import Verdict
from workbench.graders.text.base import ByRule, ReferenceGrader, Unscored, choice
from workbench.graders.text.compare import check_text
from workbench.patterns import SECONDS, Pattern, PatternError, python_spelling

__all__ = ["Regex", "check_timeout"]


def check_timeout(value: object) -> None:
    """Refuse a time limit that is no positive number of seconds.

    Raises:
        FormatError: With the value found.
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value <= 60:  # type: ignore[operator]
        raise FormatError("timeout must be a number of seconds above 0, at most 60", found=repr(value)[:80])


@kind("regex", family="text")
@dataclass(frozen=True, kw_only=True)
class Regex(ReferenceGrader):
    r"""1.0 where the pattern is found anywhere in the text, else 0.0.

    The details of a match are Umbraco's: `matchValue`, `matchIndex` and `matchLength` in UTF-16 units, `groups`
    as a list of `name` and `value`, unnamed ones first. A search that takes too long fails its row.

    Attributes:
        pattern: The pattern; None takes each sample's reference.
        ignore_case: Whether letters match either case.
        multiline: Whether ^ and $ match at line ends inside the text.
        flavor: "python", or "dotnet" whose named groups are spelled `(?<name>...)`.
        on_bad_pattern: What a pattern that cannot be read means: "fail" (refused here when it is a constant, a
            failed grade when it is a reference) or "zero" (Letta and Umbraco: score 0.0).
        timeout: Time limit of one search, above 0, at most 60.

    Error kinds: timeout, sample (no reference, or one that is no pattern).

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
    on_bad_pattern: str = "fail"
    timeout: float = SECONDS

    def __post_init__(self) -> None:
        super().__post_init__()
        check_text("pattern", self.pattern)
        choice("flavor", self.flavor, ("python", "dotnet"))
        choice("on_bad_pattern", self.on_bad_pattern, ("fail", "zero"))
        check_timeout(self.timeout)
        if self.pattern is not None and self.on_bad_pattern == "fail":
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
        """See `ReferenceGrader.constant`."""
        return self.pattern

    def _in_lettas_words(self, score: float, reason: str) -> str:
        words = super()._in_lettas_words(score, reason)
        return (
            ByRule("No ground_truth regex pattern provided") if words.startswith("No ground_truth") else words
        )

    def _pattern(self, text: str) -> Pattern:
        spelled = python_spelling(text) if self.flavor == "dotnet" else text
        return Pattern(spelled, self.ignore_case, self.multiline, self.timeout)

    def compare(self, text: str, expected: str) -> Verdict:
        """See `rules.patterns.regex_match`."""
        if self.on_bad_pattern == "zero":
            try:
                return regex_match(text, expected, self._pattern(expected).search)
            except ValueError as error:
                return 0.0, ByRule(error), {}
        try:
            return regex_match(text, expected, self._pattern(expected).search)
        except PatternError as error:
            raise Unscored(ErrorKind.SAMPLE, f"the reference is no pattern: {error}") from None
