"""Graders of values: numbers, choices, lists and expressions that a text states as its result."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind
from workbench.core.thread import StringThread
from workbench.graders.arguments import as_texts, check_choice
from workbench.graders.base import is_number, kind
from workbench.graders.portable_rule import PythonBody, Rule, no_skip
from workbench.graders.rule_grader import Unscored
from workbench.graders.rules.amounts import number
from workbench.graders.rules.choices import as_options, choice, options_in, user_texts
from workbench.graders.rules.numbers import LOCALES
from workbench.graders.rules.text import Verdict
from workbench.graders.rules.tokens import items_in, list_match, set_match, token_f1
from workbench.graders.rules.units import unit_of
from workbench.graders.text.text_grader import ExpectedGrader


@kind("number", family="values")
@dataclass(frozen=True, kw_only=True)
class Number(ExpectedGrader):
    r"""1.0 if the number that the text states as its result equals the expected one, else 0.0.

    Numbers are exact: no float is compared unless a tolerance is given. Fractions (`1/2`, `3 1/2`, `½`, `\frac{1}{2}`), powers
    of ten (`4.2e1`, `4.2 x 10^1`), percent, currency signs, LaTeX and Markdown are read; `nan` is not a number. Text in
    `<think>` is not read. A negated number ("not 42") is not a result. Two different results ("42 or 43", two boxes) score 0.0
    with `failure: "ambiguous"` in the details, an expression ("35 + 7") too.

    | which | number |
    | --- | --- |
    | final | the one in `\boxed{}`; without a box the first one after the last `answer is`, `Answer:` or `####`; without these the last one |
    | last | the last one |
    | only | the only one: others must be equal |
    | boxed, labelled | the one in `\boxed{}`, or after the label |

    Attributes:
        expected: The number, or its text; None takes each sample's reference. It may have a unit, be a range that includes its
            ends (`9.5 to 10.5`), an interval (`[0, 1)`), a value with a margin (`10 ± 0.5`), or a solution with `#### 42`.
        which: See the table.
        label: The label for "labelled" and "final"; "" for the common ones.
        tolerance: Largest accepted difference, in the reference's unit, from 0 on.
        relative: Largest accepted difference as a share of the reference, from 0 on; the larger of both tolerances counts.
        unit: "convert" (another unit of the same quantity is converted, a missing one is accepted), "required" (the
            reference's unit must be stated) or "ignored".
        percent: Value of "42%" if the reference has no unit: "share" (0.42), "number" (42) or "either".
        locale: Marks of the text: "en" (1,234.5), "de" (1.234,5), "fr" (1 234,5), "ch" (1'234.5), "si" (1 234.5), "in" (12,34,567.8).
        reference_locale: Marks of the reference.
        units: More units: `{"furlong": ["m", 201.168]}`.

    The details contain `value`, `unit`, where it was `read`, and the `failure`: missing, ambiguous, unreadable or unit.

    Error kinds: sample (no reference, or one that is not a number).

    Example:
        >>> from workbench import StringThread
        >>> Number("1.5 km")(StringThread([("assistant", "It is 1,500 m away.")])).score
        1.0
    """

    rule: ClassVar[Rule] = Rule(
        "amounts.number",
        settings=(
            "which",
            "label",
            "tolerance",
            "relative",
            "unit",
            "percent",
            "locale",
            "reference_locale",
            "units",
        ),
    )

    expected: str | None = field(default=None, kw_only=False)
    which: str = "final"
    label: str = ""
    tolerance: float = 0.0
    relative: float = 0.0
    unit: str = "convert"
    percent: str = "share"
    locale: str = "en"
    reference_locale: str = "en"
    units: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def example(cls) -> Self:
        """The grader that the tests over every kind use."""
        return cls("4", relative=0.01)

    def __post_init__(self) -> None:
        if is_number(self.expected):
            object.__setattr__(self, "expected", str(self.expected))
        super().__post_init__()
        check_choice("which", self.which, ("final", "last", "only", "boxed", "labelled"))
        check_choice("unit", self.unit, ("convert", "required", "ignored"))
        check_choice("percent", self.percent, ("share", "number", "either"))
        for name in ("locale", "reference_locale"):
            check_choice(name, getattr(self, name), tuple(LOCALES))
        for name in ("tolerance", "relative"):
            value = getattr(self, name)
            if not is_number(value) or value < 0:
                raise FormatError(f"{name} must be a finite number from 0 on", found=repr(value)[:80])
        if not isinstance(self.label, str):
            raise FormatError("label must be text", found=repr(self.label)[:80])
        _check_units(self.units)
        if self.expected is not None:
            try:
                self.compare("", self.expected)
            except Unscored as error:
                raise FormatError("expected must be a number", found=str(error)) from None

    def compare(self, text: str, expected: str) -> Verdict:
        """Whether the text's result is the expected number."""
        settings = {name: getattr(self, name) for name in self.rule.settings}
        try:
            return number(text, expected, **settings)
        except ValueError as error:
            raise Unscored(ErrorKind.SAMPLE, str(error)) from None


def _check_units(units: object) -> None:
    if not isinstance(units, Mapping):
        raise FormatError(
            "units must be a dict", found=repr(units)[:80], expected='{"furlong": ["m", 201.168]}'
        )
    for name, value in units.items():
        is_pair = isinstance(value, list | tuple) and len(value) == 2 and isinstance(value[0], str)
        if (
            not isinstance(name, str)
            or not is_pair
            or not is_number(value[1])
            or not math.copysign(1, value[1]) > 0
        ):
            raise FormatError(
                "a unit must be a known unit's name and a number above 0",
                where=f"units[{name!r}]", found=repr(value)[:80], expected='["m", 201.168]',
            )  # fmt: skip
        if unit_of(value[0]) is None:
            raise FormatError(
                "a unit must be defined by a unit of the table", where=f"units[{name!r}]", found=repr(value[0])[:80],
                expected="a name such as m, kg, s",
            )  # fmt: skip


@kind("choice", family="values")
@dataclass(frozen=True, kw_only=True)
class Choice(ExpectedGrader):
    r"""1.0 if the text chooses the expected option, else 0.0.

    The options are the grader's, a column's, or those that the prompt lists (`A) Paris`, one a line or in one line). Read in this
    order: `\boxed{B}`; the whole text or its start as an option's text; the last `answer is B`, `Answer: (B)`, `I choose B`;
    a letter at the start (`B. Paris`); the only option whose text is named; letters in brackets or at the end of a sentence.
    The article "a", the pronoun "I" and letters inside words are not options; Cyrillic, Greek and full-width look-alikes are.
    Negated options ("not B", "B is wrong") are not choices. "A or B", and a letter with the text of another option, score 0.0.

    Attributes:
        expected: A letter or an option's text; None takes each sample's reference.
        options: The options' texts, in order; empty takes `column`, else the prompt's.
        column: The metadata column with the options: a list, a dict by letter, or `{"text": [...], "label": [...]}`.
        several: Whether the expected options are a set, such as `AC`, `A, C` or `["A", "C"]`: all of them and no others.
        index: Whether the reference is an index from 0, as in MMLU's files.
        texts: Whether an option's text is read as its letter; if not, only letters are choices.

    The details contain the `choice`, where it was `read`, and the `failure`: missing or ambiguous.

    Error kinds: sample (no reference, or one that is not an option).

    Example:
        >>> from workbench import StringThread
        >>> thread = StringThread([("user", "Capital of France?\nA) Lyon\nB) Paris"), ("assistant", "It is Paris.")])
        >>> Choice("B")(thread).reasoning
        'Chose B (text), expected B'
    """

    expected: str | None = field(default=None, kw_only=False)
    options: tuple[str, ...] = ()
    column: str = ""
    several: bool = False
    index: bool = False
    texts: bool = True

    @classmethod
    def example(cls) -> Self:
        """The grader that the tests over every kind use."""
        return cls("B", options=("3", "4", "44"))

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "options", as_texts("options", self.options))
        if not isinstance(self.column, str) or (self.column and self.options):
            raise FormatError(
                "column must be a column's name, and options must then be empty", found=repr(self.column)[:80]
            )
        if self.expected is not None and self.options:
            try:
                self._grade("", self.expected, self.options)
            except Unscored as error:
                raise FormatError("expected must be one of the options", found=str(error)) from None

    def compare_in(self, thread: StringThread, text: str, expected: str) -> Verdict:
        """Whether the text chooses the expected one of the row's options."""
        return self._grade(text, expected, self.options or self._options_of(thread))

    def compare(self, text: str, expected: str) -> Verdict:
        """Whether the text chooses the expected option of the grader's."""
        return self._grade(text, expected, self.options)

    def _options_of(self, thread: StringThread) -> tuple[str, ...]:
        if not self.column:
            return options_in(user_texts(thread))
        options = as_options((thread.metadata or {}).get(self.column))
        if not options:
            raise Unscored(ErrorKind.SAMPLE, f"the column {self.column!r} has no list of options in this row")
        return options

    def _grade(self, text: str, expected: str, options: Sequence[str]) -> Verdict:
        try:
            return choice(
                text, expected, options=options, several=self.several, index=self.index, texts=self.texts
            )
        except ValueError as error:
            raise Unscored(ErrorKind.SAMPLE, str(error)) from None

    def python_rest(self, reference_names: tuple[str, ...]) -> PythonBody:
        """The lines of the Python function once `text` is known."""
        if self.on_no_reference == "skip":
            raise no_skip(self, "on_no_reference")
        expected = self.expected_in_python(reference_names)
        options, rules = repr(self.options), ["choices.choice"]
        if self.column:
            options = f"as_options((thread.metadata or {{}}).get({self.column!r}))"
            rules.append("choices.as_options")
        elif not self.options:
            options = "options_in(user_texts(thread))"
            rules += ["choices.options_in", "choices.user_texts"]
        required = (
            ("if not options:", "    raise ValueError('the row has no list of options')")
            if self.column
            else ()
        )
        call = f"return choice(text, expected, options=options, several={self.several!r}, index={self.index!r}, texts={self.texts!r})[0]"
        return PythonBody(
            (*expected.rules, *rules), (*expected.lines, f"options = {options}", *required, call)
        )


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
