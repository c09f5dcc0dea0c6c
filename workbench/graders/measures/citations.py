"""The grader of citations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind
from workbench.core.thread import StringThread
from workbench.graders.arguments import check_choice
from workbench.graders.base import kind
from workbench.graders.portable_rule import PythonBody
from workbench.graders.rule_grader import Unscored
from workbench.graders.rules.citations import citations, column_of
from workbench.graders.rules.text import Verdict
from workbench.graders.text.text_grader import TextGrader

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
        return PythonBody(("citations.citations", "citations.column_of"), (line,))
