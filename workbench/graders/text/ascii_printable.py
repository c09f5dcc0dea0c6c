"""The grader of printable ASCII."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from workbench.core.thread import StringThread
from workbench.graders.base import kind
from workbench.graders.portable.rule import Rule
from workbench.graders.rules.text import ascii_printable
from workbench.graders.rules.verdict import Verdict
from workbench.graders.text.base import WordedGrader

__all__ = ["AsciiPrintable"]


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
