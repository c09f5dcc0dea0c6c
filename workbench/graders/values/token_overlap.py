"""The graders of tokens and lists."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self

from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind
from workbench.graders.arguments import check_choice
from workbench.graders.base import kind
from workbench.graders.portable_rule import Rule
from workbench.graders.rule_grader import Unscored
from workbench.graders.rules.text import Verdict
from workbench.graders.rules.tokens import items_in, list_match, set_match, token_f1
from workbench.graders.text.text_grader import ExpectedGrader


@kind("token-f1", family="values")
@dataclass(frozen=True, kw_only=True)
class TokenF1(ExpectedGrader):
    """Token overlap with the reference, from 0 to 1: F1, precision or recall. Returns no verdict: a suite's threshold does.

    Repetitions count: "Paris Paris" has precision 0.5 for "Paris". Two texts without tokens score 1.0, one of them 0.0. Text in
    `<think>` is not read. A reference that is a list of texts gives the best score over them.

    | normalization | tokens |
    | --- | --- |
    | squad | SQuAD's script: lower case, ASCII punctuation removed ("3.14" is "314"), then a, an, the, unless nothing else is there |
    | words | any language: NFKC, case folded, punctuation around words removed, numbers by value ("3.14." is 3.14, "42.0" is 42, "-5" is not 5) |
    | none | split at white space |

    Attributes:
        expected: The text; None takes each sample's reference, a text or a list of accepted texts.
        measure: "f1", "precision" or "recall".
        normalization: See the table.

    The details contain `precision`, `recall` and `f1`.

    Source: Rajpurkar et al. 2016, evaluate-v1.1.py and evaluate-v2.0.py.
    """

    rule: ClassVar[Rule] = Rule("tokens.token_f1", settings=("measure", "normalization"))
    gives_verdict: ClassVar[bool] = False

    expected: str | None = field(default=None, kw_only=False)
    measure: str = "f1"
    normalization: str = "squad"

    @classmethod
    def example(cls) -> Self:
        """The grader that the tests over every kind use."""
        return cls("4 and 44")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("measure", self.measure, ("f1", "precision", "recall"))
        check_choice("normalization", self.normalization, ("squad", "words", "none"))

    def compare(self, text: str, expected: str) -> Verdict:
        """The overlap of the two texts' tokens."""
        return token_f1(text, expected, measure=self.measure, normalization=self.normalization)


@dataclass(frozen=True, kw_only=True)
class _ItemsGrader(ExpectedGrader):
    """A grader of a list of items."""

    measures: ClassVar[tuple[str, ...]] = ()

    expected: str | None = field(default=None, kw_only=False)
    measure: str = "equal"
    ignore_case: bool = True
    separator: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("measure", self.measure, self.measures)
        if not isinstance(self.separator, str):
            raise FormatError("separator must be text", found=repr(self.separator)[:80])
        if self.expected is not None and items_in(self.expected, self.separator) is None:
            raise FormatError(
                "expected must be a list", found=repr(self.expected)[:80], expected='such as "a, b"'
            )

    def compare(self, text: str, expected: str) -> Verdict:
        """How far the text's items are the expected ones."""
        try:
            return self._compare(text, expected)
        except ValueError as error:
            raise Unscored(ErrorKind.SAMPLE, str(error)) from None

    def _compare(self, text: str, expected: str) -> Verdict:
        raise NotImplementedError


@kind("set-match", family="values")
@dataclass(frozen=True, kw_only=True)
class SetMatch(_ItemsGrader):
    r"""1.0 if the text lists the reference's items in any order and no others; or F1, precision, recall, Jaccard.

    A list is read from the last `\boxed{}`, a JSON or Python list (also in a code block), lines with bullets or numbers, lines,
    or one line with semicolons, commas and "and". "none" and `[]` are lists without items; an empty text is not a list.
    Items are compared without outer punctuation and case; numbers by value (2.0 is 2).

    Attributes:
        expected: The items as a text; None takes each sample's reference, a list or a text.
        measure: "equal", "f1", "precision", "recall" or "jaccard".
        duplicates: "ignore" (a set), "count" (each item as often as in the reference) or "reject" (one too many scores 0.0).
        ignore_case: Whether letters match either case.
        separator: What separates items, if it is none of the above.

    The details contain `missing`, `extra` and `duplicates`.

    Error kinds: sample (no reference, or one that is not a list).
    """

    rule: ClassVar[Rule] = Rule(
        "tokens.set_match", settings=("measure", "duplicates", "ignore_case", "separator")
    )
    measures: ClassVar[tuple[str, ...]] = ("equal", "f1", "precision", "recall", "jaccard")

    duplicates: str = "ignore"

    @classmethod
    def example(cls) -> Self:
        """The grader that the tests over every kind use."""
        return cls("4, 44", measure="f1")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("duplicates", self.duplicates, ("ignore", "count", "reject"))

    def _compare(self, text: str, expected: str) -> Verdict:
        return set_match(
            text, expected, measure=self.measure, duplicates=self.duplicates, ignore_case=self.ignore_case, separator=self.separator
        )  # fmt: skip


@kind("list-match", family="values")
@dataclass(frozen=True, kw_only=True)
class ListMatch(_ItemsGrader):
    """1.0 if the text lists the reference's items in its order; or the share of items in order or at their position.

    Lists are read and items compared as by `SetMatch`; repetitions count.

    Attributes:
        expected: The items as a text; None takes each sample's reference, a list or a text.
        measure: "equal"; "f1", "precision" or "recall" of the longest common subsequence; "positions" (share of positions
            with the right item, of the longer list).
        ignore_case: Whether letters match either case.
        separator: What separates items, if it is none of the usual ones.

    The details contain the lengths, `in_order` (items in common, in order) and the `first_difference`, an index from 0.

    Error kinds: sample (no reference, or one that is not a list).
    """

    rule: ClassVar[Rule] = Rule("tokens.list_match", settings=("measure", "ignore_case", "separator"))
    measures: ClassVar[tuple[str, ...]] = ("equal", "f1", "precision", "recall", "positions")

    @classmethod
    def example(cls) -> Self:
        """The grader that the tests over every kind use."""
        return cls("4, 44", measure="positions")

    def _compare(self, text: str, expected: str) -> Verdict:
        return list_match(
            text, expected, measure=self.measure, ignore_case=self.ignore_case, separator=self.separator
        )
