"""Graders of measured properties: repetition, citations, language, and the row's latency, cost and tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from workbench.core.display_text import did_you_mean
from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind
from workbench.core.thread import StringThread
from workbench.graders.arguments import HANDLING, as_texts, check_choice
from workbench.graders.base import is_number, kind
from workbench.graders.portable_rule import PythonBody, Rule
from workbench.graders.rule_grader import RuleGrader, Unscored
from workbench.graders.rules.measures import (
    LANGUAGES,
    citations,
    column_of,
    language,
    repetition,
    usage_within,
)
from workbench.graders.rules.text import Verdict
from workbench.graders.text.text_grader import TextGrader

_MEASURES = ("latency", "cost", "tokens")


@kind("latency-cost-tokens", family="measures")
@dataclass(frozen=True, kw_only=True)
class LatencyCostTokens(RuleGrader):
    """1.0 if the row's latency, cost and tokens are at most their limits, else 0.0. They are columns of the row.

    A row without one of them fails: a value that was not measured is not 0. Columns are found by the usual names, also inside
    `usage`; names that end in `_ms` are milliseconds.

    Attributes:
        max_latency: Limit in seconds; None for no limit. At least one limit must be given.
        max_cost: Limit in the currency of the column; None for no limit.
        max_tokens: Limit; None for no limit.
        columns: Names of columns: `{"latency": "took_ms"}`.

    The details contain the values, in seconds, currency and tokens.

    Error kinds: sample (a value that is missing, or not a number from 0 on).
    """

    max_latency: float | None = None
    max_cost: float | None = None
    max_tokens: float | None = None
    columns: dict[str, str] = field(default_factory=dict)

    @classmethod
    def example(cls) -> Self:
        """The grader that the tests over every kind use."""
        return cls(max_tokens=3, columns={"tokens": "n"})

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self._limits:
            raise FormatError(
                "at least one limit must be given", expected="max_latency, max_cost or max_tokens"
            )
        for name, limit in self._limits.items():
            if not is_number(limit) or limit < 0:
                raise FormatError(f"max_{name} must be a finite number from 0 on", found=repr(limit)[:80])
        named: Any = self.columns
        if (
            not isinstance(named, Mapping)
            or not set(named) <= set(_MEASURES)
            or not all(isinstance(one, str) and one for one in named.values())
        ):
            raise FormatError(
                "columns must be a dict of latency, cost or tokens and a column's name",
                found=repr(named)[:80],
            )

    @property
    def _limits(self) -> dict[str, float]:
        limits = {name: getattr(self, f"max_{name}") for name in _MEASURES}
        return {name: limit for name, limit in limits.items() if limit is not None}

    @property
    def needs_answer(self) -> str:
        """Nothing: only columns are read."""
        return ""

    def grade_thread(self, thread: StringThread, reference: Any) -> Verdict:  # noqa: ARG002
        """Whether the row's values are within the limits."""
        try:
            return usage_within(thread.metadata, limits=self._limits, names=self.columns)
        except ValueError as error:
            raise Unscored(ErrorKind.SAMPLE, str(error)) from None

    def python_body(self, reference_names: tuple[str, ...]) -> PythonBody:  # noqa: ARG002
        """The body of a Python function that scores the same."""
        line = (
            f"return usage_within(thread.metadata, limits={self._limits!r}, names={dict(self.columns)!r})[0]"
        )
        return PythonBody(("measures.usage_within",), (line,))


@kind("language", family="measures")
@dataclass(frozen=True, kw_only=True)
class Language(TextGrader):
    """1.0 if the text is written in one of the languages, else 0.0.

    Languages are distinguished by their script and their frequent words; code, formulas, tags and addresses are not read, and neither
    is text in `<think>`. A text of fewer than four words, or of several languages, is unclear.

    Attributes:
        languages: Codes such as "en", passed as one text or a list; the error of an unknown one lists all.
        share: Least share of letters in the language's script, from 0 to 1.
        on_unclear: "zero", "pass" or "fail" (the grade fails, kind sample).

    The details contain the `language` found, and the `share` of letters in its script.
    """

    rule: ClassVar[Rule] = Rule("measures.language", settings=("languages", "on_unclear", "share"))

    languages: tuple[str, ...] = field(kw_only=False)
    share: float = 0.8
    on_unclear: str = field(default="zero", metadata=HANDLING)

    @classmethod
    def example(cls) -> Self:
        """The grader that the tests over every kind use."""
        return cls(("en", "de"))

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "languages", _as_codes(self.languages))
        if unknown := next((code for code in self.languages if code not in LANGUAGES), ""):
            raise FormatError(
                "languages must be codes of known languages", found=repr(unknown), expected=", ".join(LANGUAGES),
                hint=did_you_mean(unknown, LANGUAGES),
            )  # fmt: skip
        check_choice("on_unclear", self.on_unclear, ("zero", "pass", "fail"))
        if not is_number(self.share) or not 0 <= self.share <= 1:
            raise FormatError("share must be a number from 0 to 1", found=repr(self.share)[:80])

    def grade_text(self, text: str, thread: StringThread, reference: Any) -> Verdict:  # noqa: ARG002
        """Whether the text is in one of the languages."""
        try:
            return language(text, languages=self.languages, on_unclear=self.on_unclear, share=self.share)
        except ValueError as error:
            raise Unscored(ErrorKind.SAMPLE, str(error)) from None


def _as_codes(value: Any) -> tuple[str, ...]:
    return as_texts("languages", [value] if isinstance(value, str) else value, least=1)


_COLUMNS = ("documents", "contexts", "context", "sources")


@kind("citations", family="measures")
@dataclass(frozen=True, kw_only=True)
class Citations(TextGrader):
    """1.0 if every citation of the text exists in the row's documents, else 0.0; or the share that exists.

    Citations are numbers of documents (`[1]`, `[1, 3]`, `[2-4]`; not links) and quoted spans. A quote must occur in a document, in
    the one whose number directly follows it if there is one; kinds of spaces, quotes and dashes, case and a full stop at its end do
    not count, and `...` marks omitted text. Whether a document supports a statement is not checked: `FaithfulnessJudge` does.

    Attributes:
        column: The metadata column with the documents: a list of texts or of objects with their text; "" for the usual names.
        minimum: Number of citations required, from 0 on.
        min_words: Words from which a quoted text is a quote, from 1 on; shorter ones are names or emphasis.
        first: Number of the first document, 0 or 1.
        measure: "all" or "share".

    The details contain the number of `citations`, and those that are `wrong`.

    Error kinds: sample (no documents).
    """

    column: str = field(default="", kw_only=False)
    minimum: int = 1
    min_words: int = 3
    first: int = 1
    measure: str = "all"

    @classmethod
    def example(cls) -> Self:
        """The grader that the tests over every kind use."""
        return cls()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("measure", self.measure, ("all", "share"))
        check_choice("first", self.first, (0, 1))  # type: ignore[arg-type]
        if not isinstance(self.column, str):
            raise FormatError("column must be text", found=repr(self.column)[:80])
        for name, least in (("minimum", 0), ("min_words", 1)):
            if type(getattr(self, name)) is not int or getattr(self, name) < least:
                raise FormatError(
                    f"{name} must be a whole number from {least} on", found=repr(getattr(self, name))[:80]
                )

    @property
    def _columns(self) -> tuple[str, ...]:
        return (self.column,) if self.column else _COLUMNS

    def _settings(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("minimum", "min_words", "first", "measure")}

    def grade_text(self, text: str, thread: StringThread, reference: Any) -> Verdict:  # noqa: ARG002
        """Whether the text's citations exist."""
        try:
            return citations(text, column_of(thread, self._columns), **self._settings())
        except ValueError as error:
            raise Unscored(
                ErrorKind.SAMPLE, f"{error}: no column {' or '.join(map(repr, self._columns))}"
            ) from None

    def python_rest(self, reference_names: tuple[str, ...]) -> PythonBody:  # noqa: ARG002
        """The lines of the Python function once `text` is known."""
        settings = ", ".join(f"{name}={value!r}" for name, value in self._settings().items())
        line = f"return citations(text, column_of(thread, {self._columns!r}), {settings})[0]"
        return PythonBody(("measures.citations", "measures.column_of"), (line,))


@kind("repetition", family="measures")
@dataclass(frozen=True, kw_only=True)
class Repetition(TextGrader):
    """1.0 if at most a share of the text's n-grams repeat earlier ones, else 0.0; or one minus that share.

    Words are compared without case and punctuation. Characters of Chinese, Japanese and Thai count as words, and runs of more than
    20 letters are cut, so that "aaaa..." is a repetition. A text of fewer than n words has none.

    Attributes:
        limit: Largest accepted share, from 0 to 1.
        n: Number of words per n-gram, from 1 to 20.
        measure: "limit" or "share".

    The details contain the share `repeated`, the number of `n_grams`, and the `most_frequent` one.
    """

    rule: ClassVar[Rule] = Rule("measures.repetition", settings=("n", "limit", "measure"))

    limit: float = field(default=0.2, kw_only=False)
    n: int = 4
    measure: str = "limit"

    @classmethod
    def example(cls) -> Self:
        """The grader that the tests over every kind use."""
        return cls(n=1, measure="share")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("measure", self.measure, ("limit", "share"))
        if not is_number(self.limit) or not 0 <= self.limit <= 1:
            raise FormatError("limit must be a number from 0 to 1", found=repr(self.limit)[:80])
        if type(self.n) is not int or not 1 <= self.n <= 20:
            raise FormatError("n must be a whole number from 1 to 20", found=repr(self.n)[:80])

    def grade_text(self, text: str, thread: StringThread, reference: Any) -> Verdict:  # noqa: ARG002
        """The share of repeated n-grams, against the limit."""
        return repetition(text, n=self.n, limit=self.limit, measure=self.measure)
