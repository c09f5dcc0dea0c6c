"""Exact match, contains, printable ASCII, length and label set."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from workbench.errors import FormatError
from workbench.graders.base import kind
from workbench.graders.rules import text as rules
from workbench.graders.rules.verdict import Verdict
from workbench.graders.text.base import ReferenceGrader, TextGrader, WordedGrader, choice
from workbench.thread import StringThread

__all__ = ["AsciiPrintable", "Contains", "ExactMatch", "LabelSet", "Length", "check_texts"]


def check_texts(field_name: str, value: Any, *, least: int = 0) -> tuple[str, ...]:
    """A list of texts as a tuple.

    Raises:
        FormatError: Not a list of texts, or too few of them.
    """
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise FormatError(f"{field_name} must be a list of texts", found=repr(value)[:80])
    wrong = next((item for item in value if not isinstance(item, str)), None)
    if wrong is not None or len(value) < least:
        found = f"{len(value)} of them" if wrong is None else repr(wrong)[:80]
        raise FormatError(
            f"{field_name} must be a list of {f'at least {least} ' if least else ''}texts", found=found
        )
    return tuple(value)


def check_text(field_name: str, value: Any) -> None:
    """Refuse what is neither text nor None.

    Raises:
        FormatError: With the value found.
    """
    if value is not None and not isinstance(value, str):
        raise FormatError(
            f"{field_name} must be text, or None for the sample's reference", found=repr(value)[:80]
        )


@kind("exact-match")
@dataclass(frozen=True, kw_only=True)
class ExactMatch(ReferenceGrader):
    """1.0 where the text is the expected one, else 0.0.

    Attributes:
        expected: The text wanted; None takes each sample's reference (a number as its JSON text).
        ignore_case: Whether letters match either case, compared by `str.lower`.
        trim: Whether white space around both sides counts not.

    Error kinds: sample (no reference), and what an extractor raises.

    Source: Letta (`exact_match`: trim, case-sensitive), Umbraco (`exact-match`: trim, ignores case).

    Example:
        >>> from workbench import StringThread
        >>> ExactMatch(expected="4")(StringThread([("assistant", " 4 ")])).score
        1.0
    """

    letta_reasons: ClassVar[tuple[str, str]] = ("Exact match: True", "Exact match: False")

    expected: str | None = field(default=None, kw_only=False)
    ignore_case: bool = False
    trim: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_text("expected", self.expected)

    @property
    def constant(self) -> str | None:
        """See `ReferenceGrader.constant`."""
        return self.expected

    def compare(self, text: str, expected: str) -> Verdict:
        """See `rules.text.exact_match`."""
        return rules.exact_match(text, expected, ignore_case=self.ignore_case, trim=self.trim)


@kind("contains")
@dataclass(frozen=True, kw_only=True)
class Contains(ReferenceGrader):
    """1.0 where the expected text occurs in the text, else 0.0. Nothing is trimmed.

    Attributes:
        expected: The text to find; None takes each sample's reference. An empty one always occurs.
        ignore_case: Whether letters match either case, by `str.lower` and no folding: "ß" is not "ss".

    Error kinds: sample (no reference), and what an extractor raises.

    Source: Letta (`contains`), Umbraco (`contains`).
    """

    letta_reasons: ClassVar[tuple[str, str]] = ("Contains ground_truth: True", "Contains ground_truth: False")

    expected: str | None = field(default=None, kw_only=False)
    ignore_case: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_text("expected", self.expected)

    @property
    def constant(self) -> str | None:
        """See `ReferenceGrader.constant`."""
        return self.expected

    def compare(self, text: str, expected: str) -> Verdict:
        """See `rules.text.contains`."""
        return rules.contains(text, expected, ignore_case=self.ignore_case)


@kind("ascii-printable")
@dataclass(frozen=True, kw_only=True)
class AsciiPrintable(WordedGrader):
    r"""1.0 where every character is printable ASCII (32 to 126), `\n` or `\r`; a tab fails.

    The reason lists up to five of the others. Needs no reference.

    Source: Letta (`ascii_printable_only`).
    """

    letta_reasons: ClassVar[tuple[str, str]] = ("All characters printable ASCII (ignoring newlines)", "")

    def judge_text(self, text: str, thread: StringThread, reference: Any) -> Verdict:  # noqa: ARG002
        """See `rules.text.ascii_printable`."""
        return rules.ascii_printable(text)


@kind("length")
@dataclass(frozen=True, kw_only=True)
class Length(TextGrader):
    """1.0 where the text's length is within the bounds, both included, else 0.0.

    Attributes:
        minimum: Least length; None for no bound.
        maximum: Greatest length; None for no bound. One of the two must be given.
        unit: "characters" (code points), "words" (parted by white space) or "utf16" (units, as
            JavaScript's and .NET's length).

    Source: the length checks of the vLLora and Umbraco documents.
    """

    minimum: int | None = field(default=None, kw_only=False)
    maximum: int | None = field(default=None, kw_only=False)
    unit: str = "characters"

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("unit", self.unit, ("characters", "words", "utf16"))
        bounds = [value for value in (self.minimum, self.maximum) if value is not None]
        whole = all(type(value) is int and value >= 0 for value in bounds)
        if not bounds or not whole or bounds != sorted(bounds):
            raise FormatError(
                "minimum and maximum must be whole numbers from 0 on, in order, at least one of them given",
                found=f"minimum={self.minimum!r}, maximum={self.maximum!r}",
            )

    def judge_text(self, text: str, thread: StringThread, reference: Any) -> Verdict:  # noqa: ARG002
        """See `rules.text.length`."""
        return rules.length(text, minimum=self.minimum, maximum=self.maximum, unit=self.unit)


@kind("label-set")
@dataclass(frozen=True, kw_only=True)
class LabelSet(TextGrader):
    """1.0 where the text is a label that passes; 0.0 for other labels and for what is no label.

    Attributes:
        labels: Every answer allowed.
        passing: Those of them that pass; all of them by default.
        ignore_case: Whether letters match either case.
        trim: Whether white space around the text and the labels counts not.

    The details hold the `label` found, None where the text is none.

    Source: OpenAI (`label_model`: passing labels are a subset), here without a model.
    """

    labels: tuple[str, ...] = field(kw_only=False)
    # None until the labels are known: then all of them.
    passing: tuple[str, ...] = field(default=None, kw_only=False)  # type: ignore[arg-type]
    ignore_case: bool = False
    trim: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "labels", check_texts("labels", self.labels, least=1))
        passing = self.labels if self.passing is None else check_texts("passing", self.passing, least=1)
        object.__setattr__(self, "passing", passing)
        if strange := [one for one in self.passing if one not in self.labels]:
            raise FormatError(
                "passing must hold labels only", found=repr(strange[0]), expected=", ".join(self.labels)
            )

    def judge_text(self, text: str, thread: StringThread, reference: Any) -> Verdict:  # noqa: ARG002
        """See `rules.text.label_set`."""
        return rules.label_set(
            text,
            labels=self.labels,
            passing=self.passing,
            ignore_case=self.ignore_case,
            trim=self.trim,
        )
