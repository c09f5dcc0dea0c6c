"""The grader of repetition."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from workbench.core.errors import FormatError
from workbench.core.thread import StringThread
from workbench.graders.arguments import check_choice
from workbench.graders.base import is_number, kind
from workbench.graders.portable_rule import Rule
from workbench.graders.rules.repetition import repetition
from workbench.graders.rules.text import Verdict
from workbench.graders.text.text_grader import TextGrader


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

    rule: ClassVar[Rule] = Rule("repetition.repetition", settings=("n", "limit", "measure"))

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
