"""What a transformation is given: one row, the answers of the others, and what the grader's text gave away."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Any

from workbench.probes.mining import Mined
from workbench.probes.right import number_in, parsed_json, plainly

__all__ = ["Row"]

_CODE = re.compile(r"[(){};=<>\[\]\\]|^\s*(?:def|return|import|SELECT|class)\b")


@dataclass(frozen=True)
class Row:
    """One row as transformations see it.

    Attributes:
        number: Its position among the rows drawn.
        prompt: What the user asked; "" where nothing was.
        completion: What the model wrote; "" where nothing is there.
        reference: The right answer as text; "" where it is not known.
        others: Answers that are surely wrong here, at least two where there is a reference: other rows' references
            first.
        mined: What the grader's own text gives away.
        say: Puts an answer into the form in which the grader takes the right one.
        seed: Makes what is drawn for this row the same each time.
        good: A text known to be right, or else accepted by the grader; None where there is neither.
        mended: Whether that form takes back how the reference is written, such as its capital letters.
        wants_nothing: Whether the reference is the empty text while others are not: an answer without content is right.
    """

    number: int
    prompt: str
    completion: str
    reference: str
    others: tuple[str, ...]
    mined: Mined
    say: Callable[[str], str] = field(repr=False)
    seed: int = 0
    good: str | None = None
    mended: bool = False
    wants_nothing: bool = False

    @property
    def random(self) -> Random:
        """A generator of its own, the same at each use."""
        return Random(f"{self.seed}-{self.number}")  # noqa: S311 (no secret)

    @cached_property
    def value(self) -> float | None:
        """The reference as a number; None where it is none."""
        return number_in(self.reference)

    @cached_property
    def json(self) -> Any:
        """The reference as an object or list of JSON; None where it is none."""
        return parsed_json(self.reference)

    @property
    def is_plain(self) -> bool:
        """Whether the grader takes the reference as it is written, with nothing around it."""
        return bool(self.reference) and self.say(self.reference) == self.reference

    @property
    def is_letter(self) -> bool:
        """Whether the reference is one letter, as in multiple choice."""
        return len(self.reference) == 1 and self.reference.isalpha()

    @property
    def is_verdict(self) -> bool:
        """Whether the reference is yes, no, true or false: such an answer may begin with it and then go on."""
        return self.reference.lower() in {"yes", "no", "true", "false"}

    @property
    def is_code(self) -> bool:
        """Whether the reference looks like code, markup or a formula, where every character may matter."""
        return self.json is None and _CODE.search(self.reference) is not None

    @property
    def words(self) -> Sequence[str]:
        """The words of a reference in plain language; none for a number, a letter, JSON and code."""
        if self.value is not None or self.is_letter or self.is_code or self.json is not None:
            return ()
        return self.reference.split()

    def is_right(self, text: str | None) -> bool:
        """Whether a text is the row's reference itself, as it is written or in the form in which it is accepted."""
        said = (text or "").strip()
        if self.wants_nothing:
            return not plainly(said) or said == self.say("").strip()
        return bool(self.reference) and said in {self.reference, self.say(self.reference).strip()}

    @property
    def other(self) -> str:
        """An answer that is surely wrong."""
        return self.others[0]
