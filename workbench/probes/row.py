"""The input of a transformation: one row, the references of the others, and what the grader's source reveals."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Any

from workbench.probes.mining import Mined
from workbench.probes.right import number_in, parsed_json, plainly

__all__ = ["ProbeRow"]

_CODE = re.compile(r"[(){};=<>\[\]\\]|^\s*(?:def|return|import|SELECT|class)\b")


@dataclass(frozen=True)
class ProbeRow:
    """One row as transformations see it.

    Attributes:
        number: Its position among the rows drawn.
        prompt: The user's prompt; "" if there is none.
        completion: What the model wrote; "" if there is none.
        reference: The correct completion as text; "" if unknown.
        others: Completions that are surely wrong here, at least two if there is a reference: other rows' references
            first.
        mined: What the grader's source reveals.
        say: Puts a text into the form in which the grader accepts the reference.
        seed: Makes random choices for this row reproducible.
        good: A text known to be correct, or else accepted by the grader; None if there is neither.
        mended: Whether that form changes how the reference is written, such as its capital letters.
        wants_nothing: Whether the reference is the empty text while others are not: an empty completion is correct.
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
        """A separate random generator, the same at each use."""
        return Random(f"{self.seed}-{self.number}")  # noqa: S311 (no secret)

    @cached_property
    def value(self) -> float | None:
        """The reference as a number; None if it is not one."""
        return number_in(self.reference)

    @cached_property
    def json(self) -> Any:
        """The reference as an object or list of JSON; None if it is not one."""
        return parsed_json(self.reference)

    @property
    def is_plain(self) -> bool:
        """Whether the grader accepts the reference as written, with nothing around it."""
        return bool(self.reference) and self.say(self.reference) == self.reference

    @property
    def is_letter(self) -> bool:
        """Whether the reference is one letter, as in multiple choice."""
        return len(self.reference) == 1 and self.reference.isalpha()

    @property
    def is_verdict(self) -> bool:
        """Whether the reference is yes, no, true or false: a completion may start with it and then continue."""
        return self.reference.lower() in {"yes", "no", "true", "false"}

    @property
    def is_code(self) -> bool:
        """Whether the reference looks like code, markup or a formula, where every character may matter."""
        return self.json is None and _CODE.search(self.reference) is not None

    @property
    def words(self) -> Sequence[str]:
        """A plain-language reference's words; none for a number, a letter, JSON and code."""
        if self.value is not None or self.is_letter or self.is_code or self.json is not None:
            return ()
        return self.reference.split()

    def is_right(self, text: str | None) -> bool:
        """Whether a text is the row's reference itself, as written or in the form in which it is accepted."""
        said = (text or "").strip()
        if self.wants_nothing:
            return not plainly(said) or said == self.say("").strip()
        return bool(self.reference) and said in {self.reference, self.say(self.reference).strip()}

    @property
    def other(self) -> str:
        """A completion that is surely wrong."""
        return self.others[0]
