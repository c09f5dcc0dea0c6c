"""The grader of multiple choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind
from workbench.core.thread import StringThread
from workbench.graders.arguments import as_texts
from workbench.graders.base import kind
from workbench.graders.portable_rule import PythonBody, no_skip
from workbench.graders.rule_grader import Unscored
from workbench.graders.rules.choices import as_options, choice, options_in, user_texts
from workbench.graders.rules.text import Verdict
from workbench.graders.text.text_grader import ExpectedGrader


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
