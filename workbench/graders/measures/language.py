"""The grader of a text's language."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from workbench.core.display_text import did_you_mean
from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind
from workbench.core.thread import StringThread
from workbench.graders.arguments import HANDLING, as_texts, check_choice
from workbench.graders.base import is_number, kind
from workbench.graders.portable_rule import Rule
from workbench.graders.rule_grader import Unscored
from workbench.graders.rules.language import LANGUAGES, language
from workbench.graders.rules.text import Verdict
from workbench.graders.text.text_grader import TextGrader


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

    rule: ClassVar[Rule] = Rule("language.language", settings=("languages", "on_unclear", "share"))

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
