"""Graders of one text: compare it, search it, measure it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind, Skip
from workbench.core.patterns import SECONDS, Pattern, PatternError, python_spelling
from workbench.core.thread import StringThread
from workbench.graders.arguments import (
    HANDLING,
    LIMIT,
    as_texts,
    check_choice,
    check_optional_text,
    check_time_limit,
)
from workbench.graders.base import kind
from workbench.graders.portable_rule import (
    PythonBody,
    Rule,
    javascript_literal,
    no_skip,
    refusal,
    search_in_javascript,
)
from workbench.graders.rule_grader import ColumnVerdicts, UngradedReason, Unscored
from workbench.graders.rules.text import (
    Verdict,
    ascii_printable,
    contains,
    exact_match,
    folded,
    label_set,
    length,
    length_within,
    measured,
    normalized,
    regex_match,
)
from workbench.graders.text.text_grader import (
    MatchGrader,
    ReferenceGrader,
    TextGrader,
    WordedGrader,
    checked_steps,
)


@kind("exact-match", family="text")
@dataclass(frozen=True, kw_only=True)
class ExactMatch(MatchGrader):
    """1.0 if the text equals the expected one, else 0.0.

    Attributes:
        expected: The expected text, or a list of accepted ones; None takes each sample's reference (a number as its JSON text).
        ignore_case: Whether letters match either case, compared by `str.lower`.
        trim: Whether white space around both sides is ignored.
        several: "any" if the reference is a list of accepted texts.
        normalize: Typographic differences to ignore: "nfc", "nfkc", "spaces", "quotes", "dashes".
        negate: Whether an equal text scores 0.0, and any other 1.0.

    Error kinds: sample (no reference), and what an extractor raises.

    Source: Letta (`exact_match`: trim, case-sensitive), Umbraco (`exact-match`: trim, ignores case).

    Example:
        >>> from workbench import StringThread
        >>> ExactMatch(expected="4")(StringThread([("assistant", " 4 ")])).score
        1.0
    """

    rule: ClassVar[Rule] = Rule("text.exact_match", "exactMatch", ("ignore_case", "trim"))
    letta_reasons: ClassVar[tuple[str, str]] = ("Exact match: True", "Exact match: False")

    ignore_case: bool = False
    trim: bool = True

    def passes(self, texts: Sequence[str], expected: Sequence[str]) -> list[bool] | None:
        """Whether each text passes, (m,); None with options."""
        if not self.is_plain:
            return None
        if self.ignore_case or not self.trim:
            fold = partial(folded, ignore_case=self.ignore_case, trim=self.trim)
            return [fold(text) == fold(other) for text, other in zip(texts, expected, strict=True)]
        return [text.strip() == other.strip() for text, other in zip(texts, expected, strict=True)]

    def compare(self, text: str, expected: str) -> Verdict:
        """Whether the text equals the expected one."""
        if not self.is_plain:
            return self.matched(text, expected)
        return exact_match(text, expected, ignore_case=self.ignore_case, trim=self.trim)


@kind("contains", family="text")
@dataclass(frozen=True, kw_only=True)
class Contains(MatchGrader):
    """1.0 if the expected text occurs in the text, else 0.0. Nothing is trimmed.

    Attributes:
        expected: The text to find, or a list of texts; None takes each sample's reference. An empty one always occurs.
        ignore_case: Whether letters match either case, by `str.lower` without folding: "ß" is not "ss".
        where: "anywhere", "start" or "end" of the text; white space around it then does not count.
        words: Whether letters and digits may not directly precede or follow: "cat" is not in "category".
        several: "any" or "all" of a list, which `expected` or the reference is.
        normalize: Typographic differences to ignore: "nfc", "nfkc", "spaces", "quotes", "dashes".
        negate: Whether the text must not occur.

    Error kinds: sample (no reference), and what an extractor raises.

    Source: Letta (`contains`), Umbraco (`contains`).
    """

    rule: ClassVar[Rule] = Rule("text.contains", "contains", ("ignore_case",))
    letta_reasons: ClassVar[tuple[str, str]] = ("Contains ground_truth: True", "Contains ground_truth: False")

    option_names: ClassVar[tuple[str, ...]] = ("where", "words", *MatchGrader.option_names)

    ignore_case: bool = False
    where: str = "anywhere"
    words: bool = False

    def __post_init__(self) -> None:
        check_choice("where", self.where, ("anywhere", "start", "end"))
        super().__post_init__()

    @property
    def options(self) -> dict[str, Any]:
        """The settings of the rule `matches`."""
        how = {"anywhere": "contains", "start": "starts", "end": "ends"}[self.where]
        return {**super().options, "how": how, "trim": self.where != "anywhere"}

    def passes(self, texts: Sequence[str], expected: Sequence[str]) -> list[bool] | None:
        """Whether each text passes, (m,); None with options."""
        if not self.is_plain:
            return None
        if self.ignore_case:
            return [other.lower() in text.lower() for text, other in zip(texts, expected, strict=True)]
        return [other in text for text, other in zip(texts, expected, strict=True)]

    def compare(self, text: str, expected: str) -> Verdict:
        """Whether the expected text occurs."""
        if not self.is_plain:
            return self.matched(text, expected)
        return contains(text, expected, ignore_case=self.ignore_case)


@kind("label-set", family="text")
@dataclass(frozen=True, kw_only=True)
class LabelSet(TextGrader):
    """1.0 if the text is a label that passes; 0.0 for other labels and other texts.

    Attributes:
        labels: Every allowed completion.
        passing_labels: Those of them that pass; all of them by default.
        ignore_case: Whether letters match either case.
        trim: Whether white space around the text and the labels is ignored.
        normalize: Typographic differences to ignore: "nfc", "nfkc", "spaces", "quotes", "dashes".

    The details contain the `label` found, None for other texts.

    Source: OpenAI (`label_model`: passing labels are a subset), here without a model.
    """

    rule: ClassVar[Rule] = Rule(
        "text.label_set", "labelSet", ("labels", "passing_labels", "ignore_case", "trim", "normalize")
    )

    labels: tuple[str, ...] = field(kw_only=False)
    # None until the labels are known: then all of them.
    passing_labels: tuple[str, ...] = field(default=None, kw_only=False)  # type: ignore[arg-type]
    ignore_case: bool = False
    trim: bool = True
    normalize: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "normalize", checked_steps(self.normalize))
        object.__setattr__(self, "labels", as_texts("labels", self.labels, least=1))
        passing_labels = self.labels
        if self.passing_labels is not None:
            passing_labels = as_texts("passing_labels", self.passing_labels, least=1)
        object.__setattr__(self, "passing_labels", passing_labels)
        if strange := [label for label in self.passing_labels if label not in self.labels]:
            raise FormatError(
                "passing_labels must contain only labels",
                found=repr(strange[0]),
                expected=", ".join(self.labels),
            )

    def grade_text(self, text: str, thread: StringThread, reference: Any) -> Verdict:  # noqa: ARG002
        """Whether the text is one of the labels, and one that passes."""
        return label_set(
            text,
            labels=self.labels,
            passing_labels=self.passing_labels,
            ignore_case=self.ignore_case,
            trim=self.trim,
            normalize=self.normalize,
        )


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
        normalize: Typographic differences of the text to remove before the search: "nfc", "nfkc", "spaces", "quotes",
            "dashes". The pattern stays unchanged; details count in the normalised text.

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
    normalize: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "normalize", checked_steps(self.normalize))
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
        text = normalized(text, self.normalize)
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
        rules, lines = (*expected.rules, "text.plain_search", f"text.{rule}"), expected.lines
        if self.normalize:
            rules, lines = (
                (*rules, "text.normalized"),
                (*lines, f"text = normalized(text, {self.normalize!r})"),
            )
        return PythonBody(rules, (*lines, f"return {rule}(text, expected, {search})[0]"))

    def javascript_rest(self, reference_names: tuple[str, ...]) -> list[str]:  # noqa: ARG002
        """The lines of the JavaScript function once `text` is known."""
        if self.pattern is None:
            why = "patterns from the samples are Python's"
            raise refusal(self, "pattern", why, "use a constant pattern")
        search = search_in_javascript(self, self.pattern, dotnet=self.flavor == "dotnet")
        if not self.normalize:
            return [search]
        # In a block, as `text` is a constant outside.
        text = f"normalized(given, {javascript_literal(self.normalize)})"
        return ["const given = text;", "{", f"  const text = {text};", f"  {search}", "}"]


@kind("length", family="text")
@dataclass(frozen=True, kw_only=True)
class Length(TextGrader):
    """1.0 if the text's length is within the bounds, both included, else 0.0.

    Attributes:
        minimum: Minimum length; None for no bound.
        maximum: Maximum length; None for no bound. One of the two must be given.
        unit: "characters" (code points), "words" (separated by white space) or "utf16" (units, as
            JavaScript's and .NET's length).

    Source: the length checks of the vLLora and Umbraco documents.
    """

    rule: ClassVar[Rule] = Rule("text.length", "lengthWithin", ("minimum", "maximum", "unit"))

    minimum: int | None = field(default=None, kw_only=False)
    maximum: int | None = field(default=None, kw_only=False)
    unit: str = "characters"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("unit", self.unit, ("characters", "words", "utf16"))
        bounds = [value for value in (self.minimum, self.maximum) if value is not None]
        # By type and not `isinstance`, to which a bool is an int.
        are_counts = all(type(value) is int and value >= 0 for value in bounds)
        if not bounds or not are_counts or bounds != sorted(bounds):
            raise FormatError(
                "minimum and maximum must be whole numbers from 0 on, in order, at least one of them given",
                found=f"minimum={self.minimum!r}, maximum={self.maximum!r}",
            )

    def compare_texts(self, texts: Sequence[str], references: Sequence[Any]) -> ColumnVerdicts:  # noqa: ARG002
        """The verdicts on the texts, which depend only on their lengths."""
        counts = np.array([measured(text, self.unit) for text in texts] if self.unit != "characters" else list(map(len, texts)), np.int64)  # fmt: skip
        fits = np.ones(len(counts), np.bool_)
        if self.minimum is not None:
            fits &= counts >= self.minimum
        if self.maximum is not None:
            fits &= counts <= self.maximum
        return ColumnVerdicts(fits.astype(np.float64), counts, self._reason, self._details)

    def _reason(self, count: int) -> str:
        return length_within(count, minimum=self.minimum, maximum=self.maximum, unit=self.unit)[1]

    def _details(self, count: int) -> dict[str, Any]:
        return length_within(count, minimum=self.minimum, maximum=self.maximum, unit=self.unit)[2]

    def grade_text(self, text: str, thread: StringThread, reference: Any) -> Verdict:  # noqa: ARG002
        """Whether the text's length is within both bounds."""
        return length(text, minimum=self.minimum, maximum=self.maximum, unit=self.unit)


@kind("ascii-printable", family="text")
@dataclass(frozen=True, kw_only=True)
class AsciiPrintable(WordedGrader):
    r"""1.0 if every character is printable ASCII (32 to 126), `\n` or `\r`; a tab fails.

    The reason lists up to five other characters. Needs no reference.

    Source: Letta (`ascii_printable_only`).
    """

    rule: ClassVar[Rule] = Rule("text.ascii_printable", "asciiPrintable")
    letta_reasons: ClassVar[tuple[str, str]] = ("All characters printable ASCII (ignoring newlines)", "")

    def grade_text(self, text: str, thread: StringThread, reference: Any) -> Verdict:  # noqa: ARG002
        """Whether all characters are printable ASCII or line ends."""
        return ascii_printable(text)
